//! Several nodes: their counters, reserves, and the turns of their zones.

use super::{Broken, Family, Law, Level, LinuxView, Observation, Step, When, equal, holds};
use crate::vocab::{FairPolicy, NumaCounters, ZoneFlags, ZoneState};
use alloc::format;

/// The cap of both thresholds of per-CPU statistics (page_alloc.md §3.8).
const LARGEST_THRESHOLD: u64 = 125;

/// The laws of this family.
pub(super) const LAWS: &[Law] = &[
    Law {
        id: "numa-identities",
        family: Family::Nodes,
        statement: "Over all zones misses are as many as foreigns, and hits and misses as many as locals and others.",
        level: Level::Conserved,
        when: When::Quiescent,
        check: numa_identities,
    },
    Law {
        id: "reserve-by-node",
        family: Family::Nodes,
        statement: "lowmem_reserve is the managed pages of the higher zones of the same node over the zone's ratio.",
        level: Level::Exact,
        when: When::Quiescent,
        check: reserve_by_node,
    },
    Law {
        id: "fair-batch",
        family: Family::Nodes,
        statement: "A zone's batch is never above HIGH - LOW but for what diffs may hide, and a zone that served with nothing left of it is flagged.",
        level: Level::Exact,
        when: When::Sequential,
        check: fair_batch,
    },
];

fn numa_identities(seen: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    let Some(linux) = seen.linux else { return Ok(()) };
    let zones = &linux.now.zones;
    let sum = |of: fn(&NumaCounters) -> u64| zones.iter().map(|zone| of(&zone.numa)).sum::<u64>();
    equal(count, || "numa_miss and numa_foreign".into(), sum(|n| n.miss), sum(|n| n.foreign))?;
    equal(
        count,
        || "hits and misses against locals and others".into(),
        sum(|n| n.hit + n.miss),
        sum(|n| n.local + n.other),
    )
}

fn reserve_by_node(seen: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    let Some(linux) = seen.linux else { return Ok(()) };
    for (z, zone) in linux.now.zones.iter().enumerate() {
        let ratios = &linux.tunables.lowmem_reserve_ratio;
        let ratio = ratios.get(zone.kind.index()).map_or(0, |ratio| u64::from(*ratio));
        for (against, reserve) in zone.lowmem_reserve.iter().enumerate() {
            let between = |other: &&ZoneState| {
                other.node == zone.node && other.kind > zone.kind && other.kind.index() <= against
            };
            let above: u64 =
                linux.now.zones.iter().filter(between).map(|other| other.managed).sum();
            let keeps = ratio > 0 && zone.managed > 0;
            let expected = if keeps { above / ratio } else { 0 };
            equal(
                count,
                || format!("reserve of zone {z} against requests up to zone kind {against}"),
                expected,
                *reserve,
            )?;
        }
    }
    Ok(())
}

/// Whether the step may have handed a page of zone `z` out.
fn served(seen: &Observation<'_>, linux: &LinuxView<'_>, z: usize) -> bool {
    let calls = matches!(seen.step, Step::Alloc(..) | Step::Bulk(..) | Step::Slow(_));
    let machine = linux.setting.machine.as_ref();
    calls
        && seen
            .granted
            .iter()
            .any(|(pfn, _)| machine.zone_of(*pfn).is_some_and(|at| at.index() == z))
}

fn fair_batch(seen: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    let Some(linux) = seen.linux else { return Ok(()) };
    let policy = linux.setting.rules.fair_policy;
    for (z, zone) in linux.now.zones.iter().enumerate() {
        let flagged = zone.flags.contains(ZoneFlags::FAIR_DEPLETED);
        if policy == FairPolicy::None {
            let nothing = (zone.nr_alloc_batch, zone.nr_alloc_batch_exact, flagged);
            equal(
                count,
                || format!("the batch of zone {z} without fair rules"),
                (0, 0, false),
                nothing,
            )?;
            continue;
        }
        // A reset brings the shared part to HIGH - LOW; what hides in the diffs comes on top when it
        // is pushed. (Under pressure the threshold may be any up to its cap.)
        let [_, low, high, _] = zone.marks;
        let hidden = linux.now.online.len() as u64 * LARGEST_THRESHOLD;
        let most = (high.saturating_sub(low) + hidden) as i64;
        holds(count, zone.nr_alloc_batch <= most, || {
            format!("zone {z} has {} pages left of its turn, above {most}", zone.nr_alloc_batch)
        })?;
        let before = linux.before.zones[z].flags.contains(ZoneFlags::FAIR_DEPLETED);
        if policy == FairPolicy::V3_16 {
            holds(count, !flagged, || format!("zone {z} is flagged under 3.16's rules"))?;
            continue;
        }
        if flagged && !before {
            holds(count, zone.nr_alloc_batch <= 0, || {
                format!("zone {z} was flagged with {} pages left of its turn", zone.nr_alloc_batch)
            })?;
        }
        if served(seen, &linux, z) && zone.nr_alloc_batch <= 0 {
            holds(count, flagged, || {
                format!(
                    "zone {z} served with {} pages left and is not flagged",
                    zone.nr_alloc_batch
                )
            })?;
        }
    }
    Ok(())
}
