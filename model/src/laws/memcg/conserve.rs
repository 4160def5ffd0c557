//! Where every page and byte is.

use super::seen;
use crate::laws::{Broken, Observation, equal, holds};
use crate::vocab::{CounterKind, MemcgId, MemcgState, StockForm};
use alloc::format;
use alloc::vec;
use alloc::vec::Vec;

const PAGE: i64 = 4096;

/// L1, L2: kernel pages count where they were charged, which a removed group's objects outlive: the sum
/// is over walks, not over owners. Walks that begin at the root touch no counter.
pub(super) fn usage(observation: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    let Some(seen) = seen(observation) else { return Ok(()) };
    let mut expected = vec![0_i64; seen.after.groups.len()];
    for (memcg, group) in seen.groups().filter(|(memcg, _)| *memcg != MemcgId::ROOT) {
        let own = (seen.held(memcg).folios + seen.stocked(memcg)) as i64 + group.kernel;
        for level in seen.after.levels(memcg) {
            expected[usize::from(level.0)] += own;
        }
    }
    for ((memcg, group), expected) in seen.groups().zip(expected) {
        equal(count, || format!("usage of {memcg}"), expected, group.memory.usage as i64)?;
    }
    Ok(())
}

pub(super) fn swap(observation: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    let Some(seen) = seen(observation) else { return Ok(()) };
    let mut expected = vec![0; seen.after.groups.len()];
    for (memcg, _) in seen.groups() {
        for level in seen.after.levels(memcg) {
            expected[usize::from(level.0)] += seen.held(memcg).swap;
        }
    }
    for ((memcg, group), expected) in seen.groups().zip(expected) {
        equal(count, || format!("swap usage of {memcg}"), expected, group.swap.usage)?;
    }
    Ok(())
}

/// L4, L23.
pub(super) fn objects(observation: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    let Some(seen) = seen(observation) else { return Ok(()) };
    let charged: i64 = seen.groups().map(|(_, group)| group.kernel).sum();
    let stocked: i64 = seen.after.stocks.iter().map(|stock| i64::from(stock.bytes)).sum();
    let mut bytes = stocked;
    for (memcg, group) in seen.groups() {
        let held = seen.held(memcg);
        bytes += (held.bytes + group.charged_bytes) as i64 + held.kernel_pages as i64 * PAGE;
    }
    equal(count, || "bytes charged for objects".into(), bytes, charged * PAGE)
}

/// L5.
pub(super) fn whole(observation: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    let Some(seen) = seen(observation) else { return Ok(()) };
    for (memcg, group) in seen.groups().filter(|(memcg, _)| seen.held(*memcg).objects == 0) {
        let stocks = seen.after.stocks.iter().filter(|stock| stock.objcg == Some(memcg));
        let bytes = stocks.map(|stock| u64::from(stock.bytes)).sum::<u64>() + group.charged_bytes;
        equal(count, || format!("bytes beyond whole pages of {memcg}"), 0, bytes % PAGE as u64)?;
    }
    Ok(())
}

pub(super) fn references(observation: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    let Some(seen) = seen(observation) else { return Ok(()) };
    let mut expected: Vec<u64> = seen
        .groups()
        .map(|(memcg, _)| {
            let held = seen.held(memcg);
            held.folios + held.objects + held.kernel_pages + held.swap
        })
        .collect();
    for stock in &seen.after.stocks {
        for memcg in stock.slots.iter().flatten().map(|slot| slot.memcg).chain(stock.objcg) {
            expected[usize::from(memcg.0)] += 1;
        }
    }
    for (_, group) in seen.groups().filter(|(_, group)| group.online || group.references > 0) {
        if let Some(parent) = group.parent {
            expected[usize::from(parent.0)] += 1;
        }
    }
    for ((memcg, group), expected) in seen.groups().zip(expected) {
        equal(count, || format!("references of {memcg}"), expected, group.references)?;
    }
    Ok(())
}

/// L3.
pub(super) fn stock(observation: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    let Some(seen) = seen(observation) else { return Ok(()) };
    for stock in &seen.after.stocks {
        let slots: Vec<_> = stock.slots.iter().flatten().collect();
        let most = if seen.rules.stock == StockForm::Single { 1 } else { slots.len() };
        holds(count, slots.len() <= most, || {
            format!("{:?} uses {} slots", stock.cpu, slots.len())
        })?;
        for (at, slot) in slots.iter().enumerate() {
            holds(count, slot.pages <= seen.rules.batch, || {
                format!("{:?} keeps {} pages of {}", stock.cpu, slot.pages, slot.memcg)
            })?;
            let twice = slots[..at].iter().any(|other| other.memcg == slot.memcg);
            holds(count, !twice && slot.memcg != MemcgId::ROOT, || {
                format!("{:?} keeps {} in two slots, or it is the root", stock.cpu, slot.memcg)
            })?;
        }
    }
    Ok(())
}

/// L7.
pub(super) fn children(observation: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    let Some(seen) = seen(observation) else { return Ok(()) };
    let mut sums = vec![(0, 0); seen.after.groups.len()];
    for (_, group) in seen.groups() {
        if let Some(parent) = group.parent {
            let sum = &mut sums[usize::from(parent.0)];
            sum.0 += group.memory.min_usage;
            sum.1 += group.memory.low_usage;
        }
    }
    for ((memcg, group), sum) in seen.groups().zip(sums) {
        let shown = (group.memory.children_min_usage, group.memory.children_low_usage);
        equal(count, || format!("claims of the children of {memcg}"), sum, shown)?;
    }
    Ok(())
}

/// L8. The root has no parent to claim from.
pub(super) fn claims(observation: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    let Some(seen) = seen(observation).filter(|seen| seen.before.is_some()) else { return Ok(()) };
    for (memcg, group) in seen.groups().filter(|(_, group)| group.parent.is_some()) {
        let memory = &group.memory;
        let expected = (memory.usage.min(memory.min), memory.usage.min(memory.low));
        let shown = (memory.min_usage, memory.low_usage);
        equal(count, || format!("claims of {memcg}"), expected, shown)?;
    }
    Ok(())
}

/// L10.
pub(super) fn peaks(observation: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    let Some(seen) = seen(observation).filter(|seen| seen.before.is_some()) else { return Ok(()) };
    for (memcg, group) in seen.groups() {
        for (kind, counter) in
            [(CounterKind::Memory, group.memory), (CounterKind::Swap, group.swap)]
        {
            let fits = counter.usage <= counter.local_watermark
                && counter.local_watermark <= counter.watermark;
            holds(count, fits, || format!("peaks of {memcg}, {kind:?}: {counter:?}"))?;
        }
    }
    Ok(())
}

/// L12. The root shows none.
pub(super) fn events(observation: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    let Some(seen) = seen(observation) else { return Ok(()) };
    let mut expected: Vec<_> = seen.groups().map(|(_, group)| group.local).collect();
    if !seen.rules.local_events {
        for (_, group) in seen.groups() {
            if let Some(parent) = group.parent {
                for (sum, passed) in expected[usize::from(parent.0)].iter_mut().zip(group.events) {
                    *sum += passed;
                }
            }
        }
    }
    for ((memcg, group), expected) in
        seen.groups().zip(expected).filter(|((memcg, _), _)| *memcg != MemcgId::ROOT)
    {
        equal(count, || format!("events of {memcg}"), expected, group.events)?;
    }
    Ok(())
}

pub(super) fn removed(observation: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    let Some(seen) = seen(observation) else { return Ok(()) };
    let online =
        |memcg: &MemcgId| seen.after.group(*memcg).is_some_and(|group: &MemcgState| group.online);
    for (memcg, group) in seen.groups() {
        let nearest = seen.after.levels(memcg).into_iter().find(online);
        let owner = Some(group.objcg_owner);
        equal(count, || format!("who owns objects of {memcg}"), nearest, owner)?;
        if !group.online {
            let memory = &group.memory;
            let settings = (memory.min, memory.low);
            equal(count, || format!("protection of {memcg}, removed"), (0, 0), settings)?;
            // Who charges while it is removed may leave a stale claim (memcg-slub.md §1.5 T6).
            if seen.before.is_some() {
                let claims = (memory.min_usage, memory.low_usage);
                equal(count, || format!("claims of {memcg}, removed"), (0, 0), claims)?;
            }
        }
    }
    Ok(())
}
