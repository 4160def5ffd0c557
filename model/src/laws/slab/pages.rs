//! Pages, requests for them, and statistics.

use super::{SlabDid, SlabSeen, seen};
use crate::laws::{Broken, Observation, equal, holds};
use crate::vocab::{Gfp, HighOrderSlabs, Order, Pfn, SlabStat};
use alloc::format;
use alloc::vec::Vec;

/// L18.
pub(super) fn held(observation: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    let Some(seen) = seen(observation) else { return Ok(()) };
    let mut slabs: Vec<(Pfn, Order)> =
        seen.after.slabs.iter().map(|slab| (slab.pfn, slab.order)).collect();
    slabs.sort_unstable();
    for block in &slabs {
        let known = seen.blocks.binary_search(block).is_ok();
        holds(count, known, || format!("a slab at {}, order {}, not given", block.0, block.1))?;
    }
    let all = slabs.len() as u64 + seen.waiting;
    equal(count, || "blocks that slabs use or that wait".into(), seen.blocks.len() as u64, all)
}

pub(super) fn returns(observation: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    let Some(seen) = seen(observation).filter(|seen| seen.before.is_some()) else { return Ok(()) };
    let SlabDid::Shrink(left) = seen.did else { return Ok(()) };
    let slabs = &seen.after.slabs;
    equal(count, || "slabs left after shrinking".into(), !slabs.is_empty(), left)?;
    for slab in slabs {
        let used = seen.live_in(slab) > 0;
        holds(count, used, || format!("the slab at {} is empty and stayed", slab.pfn))?;
    }
    if seen.live.is_empty() {
        equal(count, || "slabs without live objects".into(), 0, slabs.len())?;
    }
    Ok(())
}

pub(super) fn served(observation: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    let Some(seen) = seen(observation).filter(|seen| seen.before.is_some()) else { return Ok(()) };
    let SlabDid::Alloc { asked, got, bulk, .. } = seen.did else { return Ok(()) };
    if got < asked {
        let refused = seen.asked.last().is_some_and(|ask| ask.got.is_none());
        holds(count, refused, || {
            format!("{got} of {asked} objects came, and the last request for pages was served")
        })?;
        holds(count, !bulk || got == 0, || format!("{got} of {asked} objects of one call"))?;
    }
    Ok(())
}

/// Flags that a request for slab pages keeps of its caller's: how it may wait and where it may look.
const KEPT: Gfp = Gfp::RECLAIM
    .union(Gfp::HIGH)
    .union(Gfp::IO)
    .union(Gfp::FS)
    .union(Gfp::NOWARN)
    .union(Gfp::RETRY_MAYFAIL)
    .union(Gfp::NOFAIL)
    .union(Gfp::NORETRY)
    .union(Gfp::MEMALLOC)
    .union(Gfp::NOMEMALLOC);

/// Requests for pages, each that has one with its fallback.
fn attempts<'a>(seen: &SlabSeen<'a>) -> Option<(Gfp, Vec<&'a [super::PageAsked]>)> {
    seen.before?;
    let SlabDid::Alloc { gfp, .. } = seen.did else { return None };
    let mut tries = Vec::new();
    let mut rest = seen.asked;
    while let [first, ..] = rest {
        let len = if first.got.is_none() && rest.len() > 1 { 2 } else { 1 };
        let (one, others) = rest.split_at(len);
        tries.push(one);
        rest = others;
    }
    Some((gfp, tries))
}

/// §4.4, bug S1.
pub(super) fn first_order(observation: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    let Some(seen) = seen(observation) else { return Ok(()) };
    let Some((gfp, tries)) = attempts(seen) else { return Ok(()) };
    let layout = &seen.layout;
    let weakened = layout.order > layout.min_order && gfp.contains(Gfp::DIRECT_RECLAIM);
    let mut expected = (gfp & KEPT | Gfp::NOWARN | Gfp::NORETRY) - Gfp::NOFAIL;
    match seen.rules.high_order {
        HighOrderSlabs::WakeOnly if weakened => {
            expected = (expected | Gfp::NOMEMALLOC) - Gfp::DIRECT_RECLAIM;
        }
        HighOrderSlabs::Neither if weakened => {
            expected = (expected | Gfp::NOMEMALLOC) - Gfp::RECLAIM;
        }
        _ => {}
    }
    for attempt in tries {
        let first = attempt[0];
        let shown = (first.order, first.gfp & KEPT);
        equal(count, || "the first request for a slab".into(), (layout.order, expected), shown)?;
    }
    Ok(())
}

pub(super) fn fallback(observation: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    let Some(seen) = seen(observation) else { return Ok(()) };
    let (Some(before), Some((gfp, tries))) = (seen.before, attempts(seen)) else { return Ok(()) };
    let mut served = 0;
    for attempt in tries.iter().filter(|attempt| attempt[0].got.is_none()) {
        let Some(second) = attempt.get(1) else {
            return holds(count, false, || "a refused request was not followed by another".into());
        };
        let shown = (second.order, second.gfp & KEPT);
        let expected = (seen.layout.min_order, gfp & KEPT);
        equal(count, || "the second request for a slab".into(), expected, shown)?;
        served += u64::from(second.got.is_some());
    }
    equal(count, || "order_fallback".into(), served, seen.rose(before, SlabStat::OrderFallback))
}

/// L20, bug S2.
pub(super) fn stat_allocs(observation: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    let Some(seen) = seen(observation) else { return Ok(()) };
    let Some(before) = seen.before else { return Ok(()) };
    let SlabDid::Alloc { asked, got, bulk, .. } = seen.did else { return Ok(()) };
    let rose =
        seen.rose(before, SlabStat::AllocFastpath) + seen.rose(before, SlabStat::AllocSlowpath);
    if bulk && got < asked {
        // How far it came before it gave up is its own affair.
        return holds(count, rose <= asked, || format!("{rose} of {asked} attempts counted"));
    }
    equal(count, || "attempts counted".into(), asked, rose)
}

pub(super) fn stat_frees(observation: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    let Some(seen) = seen(observation) else { return Ok(()) };
    let (Some(before), SlabDid::Free(freed)) = (seen.before, seen.did) else { return Ok(()) };
    let fast = seen.rose(before, SlabStat::FreeFastpath);
    let slow = seen.rose(before, SlabStat::FreeSlowpath);
    // A slow call frees one object at least.
    let fits = fast <= freed && slow <= freed - fast && (fast + slow > 0 || freed == 0);
    holds(count, fits, || format!("{freed} objects were freed: {fast} fast, {slow} slow calls"))?;
    if freed == 1 {
        equal(count, || "a free counted".into(), 1, fast + slow)?;
    }
    Ok(())
}

/// L19: shrinking and destroying do not count what they free.
pub(super) fn stat_slabs(observation: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    let Some(seen) = seen(observation) else { return Ok(()) };
    let Some(before) = seen.before else { return Ok(()) };
    if matches!(seen.did, SlabDid::Shrink(_)) {
        return Ok(());
    }
    let made = seen.rose(before, SlabStat::AllocSlab);
    let freed = seen.rose(before, SlabStat::FreeSlab);
    let expected = (before.slabs.len() as u64 + made).checked_sub(freed);
    equal(count, || "slabs".into(), expected, Some(seen.after.slabs.len() as u64))
}
