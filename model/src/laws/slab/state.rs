//! Objects, slabs and their places.

use super::{SlabDid, seen};
use crate::laws::{Broken, Observation, equal, holds};
use crate::vocab::{CpuPartialLimit, SlabPlace};
use alloc::format;
use alloc::vec::Vec;

pub(super) fn in_place(observation: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    let Some(seen) = seen(observation) else { return Ok(()) };
    let mut slabs: Vec<_> = seen.after.slabs.iter().collect();
    slabs.sort_by_key(|slab| slab.pfn);
    for (at, object) in seen.live.iter().enumerate() {
        let next = slabs.partition_point(|slab| slab.pfn <= object.pfn());
        let slab = next.checked_sub(1).map(|at| slabs[at]);
        let fits = slab.is_some_and(|slab| {
            let offset = object.0 - (slab.pfn.0 << 12);
            let stride = u64::from(seen.layout.stride);
            offset % stride == 0 && offset / stride < u64::from(slab.objects)
        });
        holds(count, fits, || format!("{object:?} is no object of any slab ({slab:?})"))?;
        let twice = at > 0 && seen.live[at - 1] == *object;
        holds(count, !twice, || format!("{object:?} was handed out twice"))?;
    }
    Ok(())
}

/// L13.
pub(super) fn free_list(observation: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    let Some(seen) = seen(observation) else { return Ok(()) };
    for slab in &seen.after.slabs {
        let sum = slab.inuse + slab.free;
        equal(count, || format!("objects of the slab at {}", slab.pfn), slab.objects, sum)?;
    }
    Ok(())
}

/// L14, and with it L17.
pub(super) fn in_use(observation: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    let Some(seen) = seen(observation) else { return Ok(()) };
    let mut all = 0;
    for slab in &seen.after.slabs {
        let live = u64::from(slab.inuse).checked_sub(slab.cpu_free.into());
        let expected = seen.live_in(slab);
        equal(count, || format!("live objects at {}", slab.pfn), Some(expected), live)?;
        all += expected;
    }
    equal(count, || "live objects in slabs".into(), seen.live.len() as u64, all)
}

/// L15. Slabs on CPU partial lists were frozen up to 6.7 \[mem\]; both are allowed there.
pub(super) fn place(observation: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    let Some(seen) = seen(observation) else { return Ok(()) };
    for slab in &seen.after.slabs {
        let fits = match slab.place {
            SlabPlace::Cpu(_) => !slab.on_node && (slab.frozen || slab.free == 0),
            SlabPlace::CpuPartial(_) => !slab.on_node && slab.cpu_free == 0,
            SlabPlace::NodePartial => slab.on_node && !slab.frozen && slab.free > 0,
            SlabPlace::Full => !slab.on_node && !slab.frozen && slab.free == 0,
        };
        let fits = fits && (matches!(slab.place, SlabPlace::Cpu(_)) || slab.cpu_free == 0);
        holds(count, fits, || format!("{slab:?}"))?;
    }
    let mut owners: Vec<u16> = seen
        .after
        .slabs
        .iter()
        .filter_map(|slab| match slab.place {
            SlabPlace::Cpu(cpu) => Some(cpu),
            _ => None,
        })
        .collect();
    owners.sort_unstable();
    let twice = owners.windows(2).find(|pair| pair[0] == pair[1]);
    holds(count, twice.is_none(), || format!("a CPU allocates from two slabs: {twice:?}"))
}

/// L16. There is one node where the harness cannot tell nodes apart: sums are compared.
pub(super) fn counts(observation: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    let Some(seen) = seen(observation) else { return Ok(()) };
    let slabs = &seen.after.slabs;
    let partial = || slabs.iter().filter(|slab| slab.place == SlabPlace::NodePartial);
    let expected = (
        slabs.len() as u64,
        slabs.iter().map(|slab| u64::from(slab.objects)).sum(),
        partial().count() as u64,
        partial().map(|slab| u64::from(slab.free)).sum(),
    );
    let shown = seen.after.nodes.iter().fold((0, 0, 0, 0), |sum: (u64, u64, u64, u64), node| {
        (
            sum.0 + node.nr_slabs,
            sum.1 + node.total_objects,
            sum.2 + node.nr_partial,
            sum.3 + node.partial_free,
        )
    });
    let what = || "slabs, objects, partial slabs and free objects in them".into();
    equal(count, what, expected, shown)
}

pub(super) fn sizes(observation: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    let Some(seen) = seen(observation) else { return Ok(()) };
    let first = (seen.layout.order, seen.layout.objects);
    let least = (seen.layout.min_order, seen.layout.min_objects);
    for slab in &seen.after.slabs {
        let shown = (slab.order, slab.objects);
        holds(count, shown == first || shown == least, || {
            format!("the slab at {} has {shown:?}, not {first:?} or {least:?}", slab.pfn)
        })?;
    }
    Ok(())
}

/// L21. Objects that a CPU has taken are in use for its slab; slabs that were empty on a CPU's list come
/// to the node in one go, each judged when it comes.
pub(super) fn empty(observation: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    let Some(seen) = seen(observation).filter(|seen| seen.before.is_some()) else { return Ok(()) };
    if seen.did == SlabDid::Limits {
        return Ok(());
    }
    let empties = |picture: &super::CachePicture| {
        let empty = |slab: &&crate::vocab::SlabState| {
            slab.place == SlabPlace::NodePartial && slab.inuse == 0
        };
        picture.slabs.iter().filter(empty).count() as u64
    };
    let (before, after) = (seen.before.map_or(0, empties), empties(seen.after));
    // After min_partial was lowered those that are there stay.
    let most = u64::from(seen.min_partial) * seen.after.nodes.len() as u64;
    holds(count, after <= most.max(before), || format!("{after} empty slabs, {most} may stay"))
}

/// Bug S4.
pub(super) fn cpu_partial(observation: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    let Some(seen) = seen(observation) else { return Ok(()) };
    if seen.rules.cpu_partial == CpuPartialLimit::Objects {
        return Ok(());
    }
    let mut lists: Vec<u16> = seen
        .after
        .slabs
        .iter()
        .filter_map(|slab| match slab.place {
            SlabPlace::CpuPartial(cpu) => Some(cpu),
            _ => None,
        })
        .collect();
    lists.sort_unstable();
    for list in lists.chunk_by(|one, other| one == other) {
        // An allocation may move half the limit and one more to a list (memcg-slub.md §4.6, 4).
        let most = (seen.cpu_partial_slabs as usize).max(seen.cpu_partial_slabs as usize / 2 + 1);
        holds(count, list.len() <= most, || {
            format!("cpu {} has {} partial slabs, {most} may be", list[0], list.len())
        })?;
    }
    Ok(())
}
