//! What the specification leaves open: two right allocators may differ there.

use crate::script::{Op, Script};
use mmspec_model::vocab::{AllocFlags, HighatomicLimit, Order, ReserveFlags};

/// Why a script lies outside of what the specification decides to the frame, if it does.
#[must_use]
pub fn unspecified(script: &Script) -> Option<&'static str> {
    let small_pageblocks = script.machine.pageblock_order < Order::COSTLY;
    if small_pageblocks && script.rules.highatomic_limit == HighatomicLimit::PlusOneBlock {
        // Bug P18 reserves one pageblock of several; the block then comes back through a per-CPU
        // list as one.
        return Some("old reserves with pageblocks smaller than the blocks of per-CPU lists");
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

/// HIGHATOMIC came with 6.3; whether it counts as HARDER under the rules before is not said.
fn names_highatomic(op: &Op) -> bool {
    match op {
        Op::Alloc { request, .. } => {
            request.attempt.is_some_and(|(_, flags)| flags.contains(AllocFlags::HIGHATOMIC))
        }
        Op::Check { flags, .. } => flags.contains(AllocFlags::HIGHATOMIC),
        _ => false,
    }
}
