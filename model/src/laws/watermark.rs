//! Watermarks: recomputed from the observed numbers (page_alloc.md §3.2 to §3.6).

use super::reach::{Reach, scoped};
use super::{
    Broken, Decision, Family, Law, Level, LinuxView, Observation, Probe, Step, When, broken, equal,
    holds,
};
use crate::contract::Request;
use crate::vocab::{
    AllocFlags, FreeCheck, Gfp, Mark, MarkGaps, MigrateType, Order, ReserveFlags, ReserveIndex,
    Rules, ZoneIdx, ZoneKind, ZoneState,
};
use alloc::format;

/// The laws of this family.
pub(super) const LAWS: &[Law] = &[
    Law {
        id: "marks-even",
        family: Family::Watermark,
        statement: "LOW - MIN = HIGH - LOW = PROMO - HIGH in every zone; by quarters, to the page that division drops, and without PROMO.",
        level: Level::Exact,
        when: When::Quiescent,
        check: marks_even,
    },
    Law {
        id: "boost-bounded",
        family: Family::Watermark,
        statement: "The boost stays within its factor of the high mark, or one pageblock.",
        level: Level::Exact,
        when: When::Quiescent,
        check: boost_bounded,
    },
    Law {
        id: "watermark-full",
        family: Family::Watermark,
        statement: "The full watermark check answers what the zone's numbers say.",
        level: Level::Exact,
        when: When::Quiescent,
        check: full,
    },
    Law {
        id: "watermark-fast",
        family: Family::Watermark,
        statement: "The fast watermark check answers what the zone's numbers say.",
        level: Level::Exact,
        when: When::Quiescent,
        check: fast,
    },
    Law {
        id: "watermark-monotone",
        family: Family::Watermark,
        statement: "A smaller order, a lower mark or one more reserve flag never turns a yes into a no.",
        level: Level::Exact,
        when: When::Quiescent,
        check: monotone,
    },
    Law {
        id: "watermark-more-free",
        family: Family::Watermark,
        statement: "More free pages never turn a yes into a no.",
        level: Level::Exact,
        when: When::Sequential,
        check: more_free,
    },
    Law {
        id: "mark-respected",
        family: Family::Watermark,
        statement: "A request is served only from a zone that is allowed to it and passes the mark of the attempt.",
        level: Level::Exact,
        when: When::Sequential,
        check: mark_respected,
    },
];

/// The full check, recomputed from what a zone shows.
#[must_use]
pub fn decides_full(zone: &ZoneState, probe: &Probe, rules: &Rules) -> bool {
    let mark = zone.marks[probe.mark.index()] + zone.boost;
    against(zone, probe, mark, rules)
}

/// The fast check, recomputed from what a zone shows.
#[must_use]
pub fn decides_fast(zone: &ZoneState, probe: &Probe, rules: &Rules) -> bool {
    let mark = zone.marks[probe.mark.index()] + zone.boost;
    if probe.order == Order::ZERO {
        let free = zone.nr_free_pages.max(0);
        let usable = free - out_of_reach(zone, probe, rules).min(free);
        if usable > (mark + zone.lowmem_reserve[probe.highest.index()]) as i64 {
            return true;
        }
    }
    if against(zone, probe, mark, rules) {
        return true;
    }
    // A boosted MIN is forgiven to single pages for callers of the high-priority reserve (§3.5).
    let urgent = match rules.reserve_flags {
        ReserveFlags::MinReserve => probe.flags.contains(AllocFlags::MIN_RESERVE),
        // docs/decisions.md 27.
        ReserveFlags::Harder => {
            probe.gfp.contains(Gfp::ATOMIC) && !probe.gfp.contains(Gfp::DIRECT_RECLAIM)
        }
    };
    let forgiven =
        probe.order == Order::ZERO && urgent && zone.boost > 0 && probe.mark == Mark::Min;
    forgiven && against(zone, probe, zone.marks[Mark::Min.index()], rules)
}

/// Whether `target` pages, and the reserve for `highest`, are free for an order-0 request.
#[must_use]
pub(super) fn passes_order_zero(
    rules: &Rules,
    zone: &ZoneState,
    target: u64,
    highest: ZoneKind,
    flags: AllocFlags,
) -> bool {
    let probe = Probe {
        zone: ZoneIdx(0),
        order: Order::ZERO,
        mark: Mark::Min,
        highest,
        flags,
        gfp: Gfp::empty(),
    };
    against(zone, &probe, target, rules)
}

/// Pages that count as free but are not for this caller.
fn out_of_reach(zone: &ZoneState, probe: &Probe, rules: &Rules) -> i64 {
    let reserve_flags = match rules.reserve_flags {
        ReserveFlags::MinReserve => AllocFlags::RESERVES,
        ReserveFlags::Harder => AllocFlags::RESERVES.difference(AllocFlags::MIN_RESERVE),
    };
    let mut pages = (probe.order.pages() - 1) as i64;
    if !probe.flags.intersects(reserve_flags) {
        pages += match rules.highatomic_free_only {
            true => zone.nr_free_highatomic,
            false => zone.nr_reserved_highatomic,
        } as i64;
    }
    if !probe.flags.contains(AllocFlags::CMA) {
        pages += zone.nr_free_cma.max(0);
    }
    pages
}

fn against(zone: &ZoneState, probe: &Probe, mark: u64, rules: &Rules) -> bool {
    let flags = probe.flags;
    let (high, oom) = (flags.contains(AllocFlags::MIN_RESERVE), flags.contains(AllocFlags::OOM));
    let harder = flags.intersects(AllocFlags::NON_BLOCK | AllocFlags::HIGHATOMIC);
    let mut min = mark as i64;
    if high {
        min -= min / 2;
    }
    match rules.reserve_flags {
        ReserveFlags::MinReserve => {
            if high && flags.contains(AllocFlags::NON_BLOCK) {
                min -= min / 4;
            }
            if oom {
                min -= min / 2;
            }
        }
        ReserveFlags::Harder if oom => min -= min / 2,
        ReserveFlags::Harder if harder => min -= min / 4,
        ReserveFlags::Harder => {}
    }
    let free = zone.nr_free_pages.max(0) - out_of_reach(zone, probe, rules);
    if free <= min + zone.lowmem_reserve[probe.highest.index()] as i64 {
        return false;
    }
    if rules.free_check == FreeCheck::HalvePerOrder {
        return by_halves(zone, probe.order, min, free);
    }
    let reserve_lists = flags.intersects(AllocFlags::HIGHATOMIC | AllocFlags::OOM)
        || (rules.reserve_flags == ReserveFlags::Harder && flags.contains(AllocFlags::NON_BLOCK));
    probe.order == Order::ZERO
        || holds_block(zone, probe.order, |mt| match mt {
            MigrateType::HighAtomic => reserve_lists,
            MigrateType::Cma => flags.contains(AllocFlags::CMA),
            MigrateType::Isolate => false,
            _ => true,
        })
}

/// 3.16: whatever lies in lower orders does not count, against half the mark for each.
fn by_halves(zone: &ZoneState, order: Order, mut min: i64, mut free: i64) -> bool {
    for lower in Order::ZERO.up_to(Order::MAX) {
        if lower >= order {
            break;
        }
        free -= (zone.blocks(lower) * lower.pages()) as i64;
        min /= 2;
        if free <= min {
            return false;
        }
    }
    true
}

/// Whether a zone lists a block of at least `order` of a type that `may_take` admits.
pub(super) fn holds_block(
    zone: &ZoneState,
    order: Order,
    may_take: impl Fn(MigrateType) -> bool,
) -> bool {
    zone.nr_free[order.index()..].iter().any(|by_type| {
        MigrateType::ALL.into_iter().any(|mt| by_type[mt.index()] > 0 && may_take(mt))
    })
}

/// The mark and the flags of a request's attempt (docs/decisions.md 8), without NOFRAGMENT on
/// first attempts, which decides placement only.
pub(super) fn attempt(linux: &LinuxView<'_>, request: &Request) -> (Mark, AllocFlags) {
    let (mark, mut flags) = request.attempt.unwrap_or((Mark::Low, AllocFlags::empty()));
    let gfp = scoped(request.gfp, &request.task);
    let movable =
        linux.setting.groups_by_mobility() && gfp.migratetype() == Ok(MigrateType::Movable);
    if linux.setting.machine.cma_built && movable {
        flags |= AllocFlags::CMA;
    }
    if gfp.contains(Gfp::KSWAPD_RECLAIM) {
        flags |= AllocFlags::KSWAPD;
    }
    (mark, flags)
}

/// The question that the request asks of a zone.
pub(super) fn probe_of(
    linux: &LinuxView<'_>,
    request: &Request,
    zone: usize,
    highest: ZoneKind,
) -> Probe {
    let (mark, flags) = attempt(linux, request);
    Probe {
        zone: ZoneIdx(zone as u8),
        order: request.order,
        mark,
        highest,
        flags,
        gfp: scoped(request.gfp, &request.task),
    }
}

fn marks_even(seen: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    let Some(linux) = seen.linux else { return Ok(()) };
    for (z, zone) in linux.now.zones.iter().enumerate() {
        let [min, low, high, promo] = zone.marks;
        let step = low.wrapping_sub(min);
        let next = high.wrapping_sub(low);
        let even = match linux.setting.rules.mark_gaps {
            MarkGaps::ScaleFactor => next == step && promo.wrapping_sub(high) == step,
            MarkGaps::Quarters => (next == step || next == step + 1) && promo == high,
        };
        let even = even && low >= min;
        holds(count, even, || format!("marks {:?} of zone {z} are not evenly spaced", zone.marks))?;
    }
    Ok(())
}

fn boost_bounded(seen: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    let Some(linux) = seen.linux else { return Ok(()) };
    let factor = u64::from(linux.tunables.watermark_boost_factor);
    let pageblock = linux.setting.machine.as_ref().pageblock_pages();
    for (z, zone) in linux.now.zones.iter().enumerate() {
        if zone.boost == 0 {
            continue;
        }
        let high = zone.marks[Mark::High.index()];
        let most = (high / 10_000 * factor + high % 10_000 * factor / 10_000).max(pageblock);
        holds(count, factor > 0 && zone.boost <= most, || {
            format!("zone {z} is boosted by {}, above {most}", zone.boost)
        })?;
    }
    Ok(())
}

/// What is nobody's promise: HIGHATOMIC came with 6.3, and whether HIGH alone opened the reserve
/// before is not said.
pub(super) fn unsaid(zone: &ZoneState, probe: &Probe, rules: &Rules) -> bool {
    let reserved = zone.nr_reserved_highatomic > 0;
    rules.reserve_flags == ReserveFlags::Harder
        && (probe.flags.contains(AllocFlags::HIGHATOMIC)
            || (probe.flags.contains(AllocFlags::MIN_RESERVE) && reserved))
}

/// The questions of this observation: those asked now and that of a check step.
fn decisions<'a>(
    seen: &Observation<'a>,
    linux: &LinuxView<'a>,
) -> impl Iterator<Item = Decision> + use<'a> {
    let of_step = match seen.step {
        Step::Check(decision) => Some(decision),
        _ => None,
    };
    let (zones, rules) = (&linux.now.zones, &linux.setting.rules);
    let said =
        move |asked: &Decision| !unsaid(&zones[asked.probe.zone.index()], &asked.probe, rules);
    linux.asked_now.iter().copied().chain(of_step).filter(said)
}

fn full(seen: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    let Some(linux) = seen.linux else { return Ok(()) };
    for asked in decisions(seen, &linux) {
        let zone = &linux.now.zones[asked.probe.zone.index()];
        let expected = decides_full(zone, &asked.probe, &linux.setting.rules);
        equal(count, || format!("full check {:?}", asked.probe), expected, asked.full)?;
    }
    Ok(())
}

fn fast(seen: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    let Some(linux) = seen.linux else { return Ok(()) };
    for asked in decisions(seen, &linux) {
        let zone = &linux.now.zones[asked.probe.zone.index()];
        let expected = decides_fast(zone, &asked.probe, &linux.setting.rules);
        equal(count, || format!("fast check {:?}", asked.probe), expected, asked.fast)?;
    }
    Ok(())
}

fn monotone(seen: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    let Some(linux) = seen.linux else { return Ok(()) };
    // Under the older rules HARDER alone lowers the mark but OOM replaces its quarter: still more.
    for weaker in linux.asked_now {
        for stronger in linux.asked_now {
            let (w, s) = (&weaker.probe, &stronger.probe);
            let comparable = w.zone == s.zone
                && w.highest == s.highest
                && w.order >= s.order
                && w.mark >= s.mark
                && s.flags.contains(w.flags);
            if !comparable || w == s {
                continue;
            }
            holds(count, !weaker.full || stronger.full, || {
                format!("{w:?} passes, but {s:?}, which asks less, does not")
            })?;
        }
    }
    Ok(())
}

fn more_free(seen: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    let Some(linux) = seen.linux else { return Ok(()) };
    for earlier in linux.asked_before.iter().filter(|asked| asked.full) {
        let later = linux.asked_now.iter().find(|asked| asked.probe == earlier.probe);
        let Some(later) = later else { continue };
        let z = earlier.probe.zone.index();
        let (before, now) = (&linux.before.zones[z], &linux.now.zones[z]);
        let same_terms = before.marks == now.marks
            && before.boost == now.boost
            && before.lowmem_reserve == now.lowmem_reserve
            && before.nr_free_cma == now.nr_free_cma
            && before.nr_free_highatomic == now.nr_free_highatomic
            && before.nr_reserved_highatomic == now.nr_reserved_highatomic;
        // A free can only help, but merging moves blocks upwards and isolation takes them away:
        // compare only where no order lost its last block.
        let blocks_kept = earlier.probe.order == Order::ZERO;
        if same_terms && blocks_kept && now.nr_free_pages >= before.nr_free_pages {
            holds(count, later.full, || {
                format!(
                    "{:?} passed with {} free pages and fails with {}",
                    earlier.probe, before.nr_free_pages, now.nr_free_pages
                )
            })?;
        }
    }
    Ok(())
}

fn mark_respected(seen: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    let (Step::Alloc(cpu, request, outcome), Some(linux)) = (seen.step, seen.linux) else {
        return Ok(());
    };
    let (Some(pfn), Ok(reach)) = (outcome.page(), Reach::of(&linux, cpu, &request)) else {
        return Ok(());
    };
    let Some(zone) = linux.setting.machine.as_ref().zone_of(pfn) else { return Ok(()) };
    let state = &linux.before.zones[zone.index()];
    holds(count, reach.allows(state), || {
        format!("{request:?} was served from zone {} of node {}", state.kind, state.node)
    })?;
    let highest = reach.highest;
    let probe = probe_of(&linux, &request, zone.index(), highest);
    let rules = &linux.setting.rules;
    let free_pass = probe.flags.contains(AllocFlags::NO_WATERMARKS);
    if free_pass || unsaid(state, &probe, rules) {
        return Ok(());
    }
    // Whose reserve entry decides under 3.16's rules depends on the order of the list: any may.
    let entry = |kind: &ZoneKind| match rules.reserve_index {
        ReserveIndex::Highest => *kind == highest,
        ReserveIndex::Preferred => *kind <= highest,
    };
    // With BELOW_HIGH the test against HIGH comes first and is enough (§4.3 step 5).
    let marks = [Some(probe.mark), rules.below_high.then_some(Mark::High)];
    let passes = ZoneKind::ALL.into_iter().filter(entry).any(|highest| {
        let asked = marks.into_iter().flatten().map(|mark| Probe { highest, mark, ..probe });
        asked.into_iter().any(|probe| decides_fast(state, &probe, rules))
    });
    if passes {
        *count += 1;
        return Ok(());
    }
    broken(format!(
        "{pfn} was handed out from zone {} with {} pages free, below the mark of {probe:?}",
        state.kind, state.nr_free_pages
    ))
}
