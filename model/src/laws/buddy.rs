//! Blocks and free lists.

use super::{
    Broken, Family, Law, Level, LinuxView, Lists, Observation, Step, When, block, broken, equal,
    holds,
};
use crate::vocab::{MergeRetype, MigrateType, Order, Pfn};
use alloc::collections::BTreeMap;
use alloc::format;

/// The laws of this family.
pub(super) const LAWS: &[Law] = &[
    Law {
        id: "blocks-fit",
        family: Family::Buddy,
        statement: "A listed block is aligned to its order, no larger than the largest, and lies inside its zone.",
        level: Level::Conserved,
        when: When::Quiescent,
        check: blocks_fit,
    },
    Law {
        id: "list-type",
        family: Family::Buddy,
        statement: "A free block is listed under the type of its pageblock.",
        level: Level::Exact,
        when: When::Quiescent,
        check: list_type,
    },
    Law {
        id: "merged",
        family: Family::Buddy,
        statement: "No two free buddies below the pageblock order stay apart.",
        level: Level::Complete,
        when: When::Quiescent,
        check: merged,
    },
    Law {
        id: "merged-above",
        family: Family::Buddy,
        statement: "No two free buddies of whole pageblocks with compatible types stay apart, unless a reserve or isolation retyped pageblocks without freeing them.",
        level: Level::Complete,
        when: When::Quiescent,
        check: merged_above,
    },
    Law {
        id: "cached-orders",
        family: Family::Buddy,
        statement: "Per-CPU lists hold aligned blocks of orders 0 to 3 and of the huge page order only.",
        level: Level::Exact,
        when: When::Quiescent,
        check: cached_orders,
    },
    Law {
        id: "returns-to-start",
        family: Family::Buddy,
        statement: "After everything is given back and drained, the free blocks of each order are as many as at boot, and the free pages are.",
        level: Level::Returns,
        when: When::Quiescent,
        check: returns_to_start,
    },
];

fn parts<'a>(seen: &'a Observation<'_>) -> Option<(&'a Lists, LinuxView<'a>)> {
    Some((seen.lists?, seen.linux?))
}

fn blocks_fit(seen: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    let Some((lists, linux)) = parts(seen) else { return Ok(()) };
    let machine = &linux.setting.machine;
    for free in &lists.free {
        let span = machine.zones[free.zone].span;
        let inside = span.start <= free.pfn && free.pfn.0 + free.order.pages() <= span.end.0;
        let fits = free.pfn.is_aligned(free.order) && free.order <= machine.max_order && inside;
        holds(count, fits, || {
            format!("block {} on a free list of zone {}", block(free.pfn, free.order), free.zone)
        })?;
    }
    Ok(())
}

fn list_type(seen: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    let Some((lists, linux)) = parts(seen) else { return Ok(()) };
    let rules = &linux.setting.rules;
    if !linux.setting.keeps_types() {
        return Ok(());
    }
    let machine = &linux.setting.machine;
    let pageblock = machine.pageblock_order;
    // Rules that do not retype all pageblocks of a merged block (page_alloc.md §1.3 e) leave types
    // behind that show when it is split again, unless a buddy never has more than one pageblock.
    let kept = match rules.merge_retype {
        MergeRetype::Never => machine.max_order <= pageblock,
        MergeRetype::FirstBlock => machine.max_order.get() <= pageblock.get() + 1,
        MergeRetype::AllBlocks => true,
    };
    // Blocks of per-CPU lists go back under their first pageblock's type.
    if !rules.split_large_frees || pageblock < Order::COSTLY {
        return Ok(());
    }
    // What never merges with anything else is told apart in any case: isolated or not.
    let whole = kept && linux.setting.groups_by_mobility();
    let seen_as = |of: MigrateType| {
        if whole || of == MigrateType::Isolate { of } else { MigrateType::Movable }
    };
    for free in &lists.free {
        let mut at = 0;
        while at < free.order.pages() {
            let stored = lists.type_at(free.pfn.add(at), pageblock);
            equal(
                count,
                || {
                    format!(
                        "type of the pageblock at {} under {}",
                        free.pfn.add(at),
                        block(free.pfn, free.order)
                    )
                },
                Some(seen_as(free.migratetype)),
                stored.map(seen_as),
            )?;
            at += pageblock.pages();
        }
    }
    Ok(())
}

/// The first pair of free buddies of one zone with an order in `orders` that `may_merge` says
/// should be one block.
fn apart(
    lists: &Lists,
    orders: core::ops::Range<usize>,
    count: &mut u64,
    may_merge: impl Fn(Pfn, Pfn) -> bool,
) -> Result<(), Broken> {
    let mut free: BTreeMap<(usize, Order, Pfn), ()> = BTreeMap::new();
    for each in lists.free.iter().filter(|each| orders.contains(&each.order.index())) {
        *count += 1;
        let buddy = Pfn(each.pfn.0 ^ each.order.pages());
        if free.contains_key(&(each.zone, each.order, buddy)) && may_merge(each.pfn, buddy) {
            return broken(format!(
                "free buddies {} and {} are not merged",
                block(each.pfn, each.order),
                block(buddy, each.order)
            ));
        }
        free.insert((each.zone, each.order, each.pfn), ());
    }
    Ok(())
}

fn merged(seen: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    let Some((lists, linux)) = parts(seen) else { return Ok(()) };
    let machine = &linux.setting.machine;
    let below = machine.pageblock_order.min(machine.max_order);
    apart(lists, 0..below.index(), count, |_, _| true)
}

fn merged_above(seen: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    let Some((lists, linux)) = parts(seen) else { return Ok(()) };
    if linux.past.isolated || linux.past.highatomic || !linux.setting.keeps_types() {
        return Ok(());
    }
    let machine = &linux.setting.machine;
    let pageblock = machine.pageblock_order;
    apart(lists, pageblock.index()..machine.max_order.index(), count, |one, other| {
        let (one, other) = (lists.type_at(one, pageblock), lists.type_at(other, pageblock));
        let mergeable = |mt: Option<MigrateType>| mt.is_some_and(MigrateType::is_pcp_type);
        one == other || (mergeable(one) && mergeable(other))
    })
}

fn cached_orders(seen: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    let Some((lists, linux)) = parts(seen) else { return Ok(()) };
    for cached in &lists.cached {
        let span = linux.setting.machine.zones[cached.zone].span;
        let fits = cached
            .order
            .is_some_and(|order| cached.pfn.is_aligned(order) && span.contains(cached.pfn));
        holds(count, fits, || {
            format!(
                "frame {} on a list of CPU {} in zone {} for order {:?}",
                cached.pfn, cached.cpu, cached.zone, cached.order
            )
        })?;
    }
    Ok(())
}

fn returns_to_start(seen: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    let (Step::Emptied, Some(linux)) = (seen.step, seen.linux) else { return Ok(()) };
    if !seen.live.is_empty() || linux.has_drifted() {
        return Ok(());
    }
    for (z, (boot, now)) in linux.setting.boot.zones.iter().zip(&linux.now.zones).enumerate() {
        equal(
            count,
            || format!("free and isolated pages of zone {z}"),
            boot.nr_free_pages_exact + boot.pages_of(MigrateType::Isolate) as i64,
            now.nr_free_pages_exact + now.pages_of(MigrateType::Isolate) as i64,
        )?;
        if linux.past.isolated || linux.past.highatomic || !linux.setting.keeps_types() {
            continue;
        }
        for order in Order::ZERO.up_to(linux.setting.machine.max_order) {
            equal(
                count,
                || format!("free blocks of order {order} in zone {z}"),
                boot.blocks(order),
                now.blocks(order),
            )?;
        }
    }
    Ok(())
}
