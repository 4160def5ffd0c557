//! Counters: every number shown is right.

use super::{Broken, Family, Law, Level, LinuxView, Observation, Step, When, equal, holds};
use crate::vocab::{
    HighatomicLimit, MergeRetype, MigrateType, NR_MIGRATETYPES, NR_PAGE_ORDERS, NR_ZONES, Order,
    ZoneState,
};
use alloc::format;
use alloc::vec;
use alloc::vec::Vec;

const fn law(id: &'static str, statement: &'static str, when: When, check: super::Check) -> Law {
    Law { id, family: Family::Counters, statement, level: Level::Conserved, when, check }
}

/// The laws of this family.
pub(super) const LAWS: &[Law] = &[
    law(
        "conservation",
        "Free, isolated, cached and held pages of a zone together are its managed pages.",
        When::Quiescent,
        conservation,
    ),
    law(
        "sizes-constant",
        "Spanned, present, managed and CMA pages stay as at boot.",
        When::Always,
        sizes_constant,
    ),
    law(
        "nr-free-lists",
        "nr_free of each order and type is the length of its list.",
        When::Quiescent,
        nr_free_lists,
    ),
    law(
        "nr-free-pages",
        "NR_FREE_PAGES with all diffs folded is the pages on lists other than Isolate.",
        When::Quiescent,
        nr_free_pages,
    ),
    law(
        "nr-free-cma",
        "NR_FREE_CMA_PAGES with all diffs folded is the pages on CMA lists.",
        When::Quiescent,
        nr_free_cma,
    ),
    law(
        "nr-free-highatomic",
        "nr_free_highatomic is the pages on HighAtomic lists.",
        When::Quiescent,
        nr_free_highatomic,
    ),
    law(
        "nr-free-blocks",
        "NR_FREE_PAGES_BLOCKS is the pages in free blocks of at least a pageblock.",
        When::Quiescent,
        nr_free_blocks,
    ),
    law(
        "diffs-add-up",
        "An exact counter is its cached part plus the diffs of all CPUs.",
        When::Quiescent,
        diffs_add_up,
    ),
    law(
        "diff-threshold",
        "A diff beyond the threshold is pushed at the update that makes it so.",
        When::Sequential,
        diff_threshold,
    ),
    law(
        "tick-folds",
        "After its worker ran, a CPU's diffs are zero, but for what the worker itself gave back.",
        When::Sequential,
        tick_folds,
    ),
    law(
        "pcp-count",
        "The count of a CPU's lists is the pages on them.",
        When::Quiescent,
        pcp_count,
    ),
    law(
        "reserve-size",
        "nr_reserved_highatomic is the pages of HighAtomic pageblocks, within its limit.",
        When::Quiescent,
        reserve_size,
    ),
    law(
        "isolated-blocks",
        "nr_isolate_pageblock is the number of isolated pageblocks.",
        When::Quiescent,
        isolated_blocks,
    ),
    law(
        "pgalloc",
        "pgalloc of a zone's kind grows by exactly the pages handed out.",
        When::Quiescent,
        pgalloc,
    ),
    law("pgfree", "pgfree grows by exactly the pages given back.", When::Quiescent, pgfree),
    law(
        "numa-events",
        "Every allocation operation is a numa hit or a miss and a local or an other of its zone; on one node hits and locals.",
        When::Quiescent,
        numa_events,
    ),
];

fn zones<'a>(linux: &LinuxView<'a>) -> impl Iterator<Item = (usize, &'a ZoneState)> + use<'a> {
    linux.now.zones.iter().enumerate()
}

fn conservation(seen: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    let Some(linux) = seen.linux else { return Ok(()) };
    if linux.has_drifted() {
        return Ok(());
    }
    for (z, zone) in zones(&linux) {
        let free = zone.nr_free_pages_exact + zone.pages_of(MigrateType::Isolate) as i64;
        let cached = linux.now.cached(z) as i64;
        let past = linux.past;
        let out = past.granted_pages[z] + past.taken_pages[z];
        let held = out as i64 - past.freed_pages[z] as i64;
        equal(
            count,
            || format!("managed pages of zone {z} ({free} free, {cached} cached, {held} held)"),
            zone.managed as i64,
            free + cached + held,
        )?;
    }
    Ok(())
}

fn sizes_constant(seen: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    let Some(linux) = seen.linux else { return Ok(()) };
    for (z, zone) in zones(&linux) {
        let boot = &linux.setting.boot.zones[z];
        let sizes = |zone: &ZoneState| {
            (zone.kind, zone.start_pfn, zone.spanned, zone.present, zone.managed, zone.cma_pages)
        };
        equal(count, || format!("sizes of zone {z}"), sizes(boot), sizes(zone))?;
    }
    let managed: u64 = linux.now.zones.iter().map(|zone| zone.managed).sum();
    equal(count, || "managed pages of all zones".into(), seen.world.managed(), managed)
}

fn nr_free_lists(seen: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    let (Some(linux), Some(lists)) = (seen.linux, seen.lists) else { return Ok(()) };
    let zones = linux.now.zones.len();
    let mut lengths = vec![[[0_u64; NR_MIGRATETYPES]; NR_PAGE_ORDERS]; zones];
    for free in &lists.free {
        lengths[free.zone][free.order.index()][free.migratetype.index()] += 1;
    }
    for (z, zone) in linux.now.zones.iter().enumerate() {
        for order in Order::ZERO.up_to(Order::MAX) {
            equal(
                count,
                || format!("blocks of order {order} in zone {z} by type"),
                lengths[z][order.index()],
                zone.nr_free[order.index()],
            )?;
        }
    }
    Ok(())
}

/// Pages on free lists of one zone, of lists that `wanted` admits.
fn listed(zone: &ZoneState, wanted: impl Fn(Order, MigrateType) -> bool) -> i64 {
    let mut pages = 0;
    for order in Order::ZERO.up_to(Order::MAX) {
        for mt in MigrateType::ALL {
            if wanted(order, mt) {
                pages += zone.nr_free[order.index()][mt.index()] * order.pages();
            }
        }
    }
    pages as i64
}

fn nr_free_pages(seen: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    let Some(linux) = seen.linux else { return Ok(()) };
    if linux.past.isolated && !linux.setting.keeps_types() {
        return Ok(());
    }
    for (z, zone) in zones(&linux) {
        let pages = listed(zone, |_, mt| mt != MigrateType::Isolate);
        equal(count, || format!("NR_FREE_PAGES of zone {z}"), pages, zone.nr_free_pages_exact)?;
    }
    Ok(())
}

fn nr_free_cma(seen: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    let Some(linux) = seen.linux else { return Ok(()) };
    if !linux.setting.keeps_types() {
        return Ok(());
    }
    for (z, zone) in zones(&linux) {
        let pages = listed(zone, |_, mt| mt == MigrateType::Cma);
        equal(count, || format!("NR_FREE_CMA_PAGES of zone {z}"), pages, zone.nr_free_cma_exact)?;
    }
    Ok(())
}

fn nr_free_highatomic(seen: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    let Some(linux) = seen.linux else { return Ok(()) };
    if !linux.setting.keeps_types() || !linux.setting.rules.highatomic_free_only {
        return Ok(());
    }
    for (z, zone) in zones(&linux) {
        let pages = listed(zone, |_, mt| mt == MigrateType::HighAtomic) as u64;
        equal(count, || format!("nr_free_highatomic of zone {z}"), pages, zone.nr_free_highatomic)?;
    }
    Ok(())
}

fn nr_free_blocks(seen: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    let Some(linux) = seen.linux else { return Ok(()) };
    if !linux.setting.rules.free_pages_blocks {
        return Ok(());
    }
    let pageblock = linux.setting.machine.pageblock_order;
    for (z, zone) in zones(&linux) {
        let pages = listed(zone, |order, mt| order >= pageblock && mt != MigrateType::Isolate);
        equal(
            count,
            || format!("NR_FREE_PAGES_BLOCKS of zone {z}"),
            pages,
            zone.nr_free_pages_blocks,
        )?;
    }
    Ok(())
}

fn diffs_add_up(seen: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    let Some(linux) = seen.linux else { return Ok(()) };
    for (z, zone) in zones(&linux) {
        let pcps = linux.now.pcps_of(z);
        let free: i64 = pcps.iter().map(|pcp| pcp.vm_stat_diff).sum();
        let cma: i64 = pcps.iter().map(|pcp| pcp.vm_cma_diff).sum();
        equal(
            count,
            || format!("exact NR_FREE_PAGES of zone {z}"),
            zone.nr_free_pages + free,
            zone.nr_free_pages_exact,
        )?;
        equal(
            count,
            || format!("exact NR_FREE_CMA_PAGES of zone {z}"),
            zone.nr_free_cma + cma,
            zone.nr_free_cma_exact,
        )?;
    }
    Ok(())
}

fn diff_threshold(seen: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    let Some(linux) = seen.linux else { return Ok(()) };
    for (z, zone) in zones(&linux) {
        // A CPU that goes lowers the threshold after its pages were accounted.
        let threshold = zone.stat_threshold.max(linux.before.zones[z].stat_threshold);
        let pairs = linux.before.pcps_of(z).iter().zip(linux.now.pcps_of(z));
        for (cpu, (before, now)) in pairs.enumerate() {
            for (before, now) in
                [(before.vm_stat_diff, now.vm_stat_diff), (before.vm_cma_diff, now.vm_cma_diff)]
            {
                // Thresholds may fall under a diff when CPUs go; the diff then waits.
                holds(count, now == before || now.unsigned_abs() <= threshold, || {
                    format!(
                        "a diff of CPU {cpu} in zone {z} went from {before} to {now}, threshold {}",
                        threshold
                    )
                })?;
            }
        }
    }
    Ok(())
}

fn tick_folds(seen: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    let (Step::Tick(cpu), Some(linux)) = (seen.step, seen.linux) else { return Ok(()) };
    for z in 0..linux.now.zones.len() {
        let (before, now) = (linux.before.pcp(cpu, z), linux.now.pcp(cpu, z));
        // Decay and expiry drain after the fold, on the same CPU.
        if before.count == now.count {
            let diffs = (now.vm_stat_diff, now.vm_cma_diff);
            equal(count, || format!("diffs of CPU {cpu} in zone {z}"), (0, 0), diffs)?;
        }
    }
    Ok(())
}

fn pcp_count(seen: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    let (Some(linux), Some(lists)) = (seen.linux, seen.lists) else { return Ok(()) };
    let cpus = linux.now.online.len();
    let mut pages: Vec<u64> = vec![0; linux.now.zones.len() * cpus];
    for cached in &lists.cached {
        let order = cached.order.map_or(0, |order| order.pages());
        pages[cached.zone * cpus + cached.cpu.index()] += order;
    }
    for (at, pcp) in linux.now.pcps.iter().enumerate() {
        let (zone, cpu) = (at / cpus, at % cpus);
        equal(count, || format!("count of CPU {cpu} in zone {zone}"), pages[at], pcp.count)?;
    }
    Ok(())
}

fn reserve_size(seen: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    let (Some(linux), Some(lists)) = (seen.linux, seen.lists) else { return Ok(()) };
    let rules = &linux.setting.rules;
    let exact = linux.setting.keeps_types()
        && rules.highatomic_limit == HighatomicLimit::RoundedUp
        && rules.merge_retype != MergeRetype::Never
        && rules.split_large_frees
        && rules.refuse_straddling
        && !linux.past.isolated;
    if !exact {
        return Ok(());
    }
    let machine = &linux.setting.machine;
    let pageblock = machine.as_ref().pageblock_pages();
    for (z, zone) in zones(&linux) {
        let reserved = blocks_typed(&linux, lists, z, MigrateType::HighAtomic) * pageblock;
        equal(
            count,
            || format!("nr_reserved_highatomic of zone {z}"),
            reserved,
            zone.nr_reserved_highatomic,
        )?;
        let limit = (zone.managed / 100).next_multiple_of(pageblock);
        // The limit is checked before a block is added, and a block may be larger than a pageblock.
        let most = limit + machine.max_order.pages().saturating_sub(pageblock);
        let within = reserved == 0 || (zone.managed / 100 >= pageblock && reserved <= most);
        holds(count, within, || format!("{reserved} pages reserved in zone {z}, limit {limit}"))?;
    }
    Ok(())
}

/// Pageblocks of one type that begin inside a zone.
fn blocks_typed(
    linux: &LinuxView<'_>,
    lists: &super::Lists,
    zone: usize,
    wanted: MigrateType,
) -> u64 {
    let machine = &linux.setting.machine;
    let (pages, span) = (machine.as_ref().pageblock_pages(), machine.zones[zone].span);
    let typed = lists.pageblocks.iter().enumerate().filter(|(at, stored)| {
        **stored == Some(wanted) && span.contains(crate::vocab::Pfn(*at as u64 * pages))
    });
    typed.count() as u64
}

fn isolated_blocks(seen: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    let (Some(linux), Some(lists)) = (seen.linux, seen.lists) else { return Ok(()) };
    let small = linux.setting.machine.pageblock_order < Order::COSTLY;
    if !linux.past.isolated || !linux.setting.keeps_types() || small {
        return Ok(());
    }
    for (z, zone) in zones(&linux) {
        let isolated = blocks_typed(&linux, lists, z, MigrateType::Isolate);
        equal(
            count,
            || format!("isolated pageblocks of zone {z}"),
            isolated,
            zone.nr_isolate_pageblock,
        )?;
    }
    Ok(())
}

fn pgalloc(seen: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    let Some(linux) = seen.linux else { return Ok(()) };
    let mut expected = linux.setting.boot.events.pgalloc;
    for (z, zone) in zones(&linux) {
        expected[zone.kind.index()] += linux.past.granted_pages[z];
    }
    let seen: [u64; NR_ZONES] = linux.now.events.pgalloc;
    equal(count, || "pgalloc by zone kind".into(), expected, seen)
}

fn pgfree(seen: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    let Some(linux) = seen.linux else { return Ok(()) };
    let given: u64 = linux.past.freed_pages.iter().sum();
    let counted = linux.now.events.pgfree.wrapping_sub(linux.setting.boot.events.pgfree);
    if linux.setting.rules.direct_free_counted {
        return equal(count, || "pgfree since boot".into(), given, counted);
    }
    // Bug P23: frees past the per-CPU lists of a pcp-sized block are not counted.
    holds(count, counted <= given, || format!("pgfree counts {counted} pages of {given}"))
}

fn numa_events(seen: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    let Some(linux) = seen.linux else { return Ok(()) };
    for (z, zone) in zones(&linux) {
        let (numa, grants) = (&zone.numa, linux.past.grants[z]);
        let sums = (numa.hit + numa.miss, numa.local + numa.other);
        equal(count, || format!("numa events of zone {z}"), (grants, grants), sums)?;
        if linux.setting.machine.nodes == 1 {
            let seen = (numa.hit, numa.local, numa.foreign);
            equal(count, || format!("numa events of zone {z}"), (grants, grants, 0), seen)?;
        }
    }
    Ok(())
}
