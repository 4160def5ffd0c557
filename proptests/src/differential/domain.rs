//! What the specification leaves open: two right allocators may differ there.

use crate::script::{Op, Script};
use mmspec_model::vocab::{
    AllocFlags, Gfp, HighatomicLimit, Order, PcpOrders, PcpTuning, ReserveFlags, Tunables,
};

/// Why a script lies outside of what the specification decides to the frame, if it does.
#[must_use]
pub fn unspecified(script: &Script) -> Option<&'static str> {
    if tunables(script).any(|each| each.min_free_kbytes > Some(MOST_MIN_FREE)) {
        // The kernel keeps list sizes in 32 bits and lets them wrap.
        return Some("marks far above any machine's memory");
    }
    let small_pageblocks = script.machine.pageblock_order < Order::COSTLY;
    if small_pageblocks && script.rules.highatomic_limit == HighatomicLimit::PlusOneBlock {
        // Bug P18 reserves one pageblock of several; the block then comes back through a per-CPU
        // list as one.
        return Some("old reserves with pageblocks smaller than the blocks of per-CPU lists");
    }
    let blocks_listed = script.rules.pcp_orders == PcpOrders::ToCostly;
    if script.rules.pcp_tuning == PcpTuning::Fixed && blocks_listed {
        // No kernel had both, and no sheet says how many blocks a refill then takes.
        return Some("lists of fixed size that hold blocks above order 0");
    }
    let isolates = script.ops.iter().any(|op| matches!(op, Op::Isolate { .. }));
    if isolates && small_pageblocks {
        // A block on a per-CPU list may then cover several pageblocks of which one is isolated; it
        // goes back under its first pageblock's type, and what is counted for it afterwards is not
        // the kernel's promise: its pageblocks are never that small.
        return Some("isolation with pageblocks smaller than the blocks of per-CPU lists");
    }
    if script.rules.reserve_flags == ReserveFlags::Harder && script.ops.iter().any(names_highatomic)
    {
        return Some("HIGHATOMIC, a flag of 6.3 and later, under the rules before it");
    }
    None
}

/// 64 GiB kept free.
const MOST_MIN_FREE: u32 = 1 << 26;

/// All tunables of a script.
fn tunables(script: &Script) -> impl Iterator<Item = &Tunables> {
    let written = script.ops.iter().filter_map(|op| match op {
        Op::Set { tunables } => Some(tunables),
        _ => None,
    });
    written.chain([&script.tunables])
}

/// HIGHATOMIC came with 6.3; whether it counts as HARDER under the rules before is not said.
fn names_highatomic(op: &Op) -> bool {
    match op {
        Op::Alloc { request, .. } => {
            request.attempt.is_some_and(|(_, flags)| flags.contains(AllocFlags::HIGHATOMIC))
        }
        Op::Check { flags, .. } => flags.contains(AllocFlags::HIGHATOMIC),
        // A walk that cannot wait gets the flag.
        Op::Slow { request, .. } => {
            request.order > Order::ZERO && !request.gfp.contains(Gfp::DIRECT_RECLAIM)
        }
        _ => false,
    }
}
