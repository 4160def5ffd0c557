//! The slow path and kswapd: that they end, whom they kill, what they ask for (page_alloc.md §4.4,
//! compaction.md §4.4).

use super::reach::{Reach, scoped};
use super::watermark::{decides_fast, holds_block};
use super::{
    Broken, Family, Law, Level, LinuxView, Numbers, Observation, Probe, Step, When, equal, holds,
};
use crate::contract::{KswapdStep, Request, SlowStep};
use crate::vocab::{
    AllocFlags, CpuId, Gfp, Mark, MigrateType, NodeId, NodeState, ZoneIdx, ZoneState,
};
use alloc::format;

/// One step of a walk through the slow path.
#[derive(Clone, Copy, Debug)]
pub struct SlowSeen<'a> {
    /// Where the walk runs.
    pub cpu: CpuId,
    /// What it is for, with the task's nodes as they are now.
    pub request: Request,
    /// What it said.
    pub step: SlowStep,
    /// Which step of the walk this is, from 1.
    pub steps: u64,
    /// No reply so far was progress: nothing reclaimed or killed, the OOM lock free, no fatal signal in
    /// a wait, compaction never successful; and nothing but this walk ran since it began.
    pub fruitless: bool,
    /// The numbers when the walk began.
    pub begun: &'a Numbers,
}

/// One step of a node's kswapd.
#[derive(Clone, Copy, Debug)]
pub struct KswapdSeen {
    /// The node.
    pub node: NodeId,
    /// What kswapd said.
    pub step: KswapdStep,
    /// Shrinks answered with nothing reclaimed, in a row, since it was last at rest (asleep or at a
    /// nap), if nothing but this kswapd ran since the first of them; else 0.
    pub in_vain: u64,
    /// The node before the step.
    pub before: NodeState,
    /// The node now.
    pub now: NodeState,
}

/// MAX_RECLAIM_RETRIES: rounds of a walk that may be fruitless, and of kswapd until it gives up.
const RETRIES: u64 = 16;
/// Shrinks of one round of kswapd: one for each priority.
const PRIORITIES: u64 = 12;
/// SWAP_CLUSTER_MAX.
const CLUSTER: u64 = 32;

/// The laws of this family.
pub(super) const LAWS: &[Law] = &[
    Law {
        id: "slow-bounded",
        family: Family::Progress,
        statement: "A walk through the slow path whose answers are no progress ends within a fixed number of steps, unless it may not fail.",
        level: Level::Complete,
        when: When::Sequential,
        check: slow_bounded,
    },
    Law {
        id: "slow-events",
        family: Family::Progress,
        statement: "Stalls and throttles are counted when a walk asks for them, and at no other time.",
        level: Level::Conserved,
        when: When::Sequential,
        check: slow_events,
    },
    Law {
        id: "no-needless-kill",
        family: Family::Progress,
        statement: "Nobody is killed while a zone that the request may use passes the high mark and lists a block for it.",
        level: Level::Complete,
        when: When::Sequential,
        check: no_needless_kill,
    },
    Law {
        id: "kswapd-ends",
        family: Family::Progress,
        statement: "kswapd rests when shrinks give nothing: within a fixed number of them, with the node balanced or hopeless.",
        level: Level::Complete,
        when: When::Sequential,
        check: kswapd_ends,
    },
    Law {
        id: "kswapd-target",
        family: Family::Progress,
        statement: "kswapd asks for the high marks of its node's zones, at priorities from 12 to 1, and for boosts no harder than 10.",
        level: Level::Exact,
        when: When::Sequential,
        check: kswapd_target,
    },
];

fn slow_bounded(seen: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    let (Step::Slow(walk), Some(linux)) = (seen.step, seen.linux) else { return Ok(()) };
    if !walk.fruitless || walk.request.gfp.contains(Gfp::NOFAIL) {
        return Ok(());
    }
    // Each round: a wait, a reclaim, a compaction. A reserve that is given up brings one round more;
    // each time at least one block leaves its list.
    let atomic = MigrateType::HighAtomic.index();
    let of_zone =
        |zone: &ZoneState| zone.nr_free.iter().map(|by_type| by_type[atomic]).sum::<u64>();
    let reserved: u64 = walk.begun.zones.iter().map(of_zone).sum();
    let zones = linux.now.zones.len() as u64;
    let rounds = RETRIES + 1 + reserved + zones;
    // And the first compaction, the OOM lock, the kill, the end.
    let most = 3 * rounds + 4;
    holds(count, walk.steps <= most, || {
        format!(
            "{:?} goes on without progress after {} steps, above {most}",
            walk.request, walk.steps
        )
    })
}

fn slow_events(seen: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    let Some(linux) = seen.linux else { return Ok(()) };
    let (before, now) = (&linux.before.events, &linux.now.events);
    let stalls = |events: &crate::vocab::EventCounters| events.allocstall.iter().sum::<u64>();
    let said = match seen.step {
        Step::Slow(walk) => Some(walk.step),
        _ => None,
    };
    let reclaims = u64::from(matches!(said, Some(SlowStep::Reclaim { .. })));
    let waits = u64::from(matches!(said, Some(SlowStep::Throttle { .. })));
    equal(
        count,
        || format!("stalls and throttles of {said:?}"),
        (stalls(before) + reclaims, before.direct_throttle + waits),
        (stalls(now), now.direct_throttle),
    )
}

/// A single look at the high mark that cannot fail where this holds (docs/decisions.md 48).
fn must_serve(linux: &LinuxView<'_>, walk: &SlowSeen<'_>, z: usize, zone: &ZoneState) -> bool {
    let gfp = scoped(walk.request.gfp, &walk.request.task);
    let Ok(highest) = gfp.highest_zone() else { return false };
    let probe = Probe {
        zone: ZoneIdx(z as u8),
        order: walk.request.order,
        mark: Mark::High,
        highest,
        flags: AllocFlags::empty(),
        gfp: gfp.difference(Gfp::DIRECT_RECLAIM),
    };
    decides_fast(zone, &probe, &linux.setting.rules)
        && holds_block(zone, walk.request.order, |mt| mt.is_pcp_type())
}

fn no_needless_kill(seen: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    let (Step::Slow(walk), Some(linux)) = (seen.step, seen.linux) else { return Ok(()) };
    if !matches!(walk.step, SlowStep::OomKill { .. }) {
        return Ok(());
    }
    let mems = walk.request.task.mems;
    let reach = Reach::with(&linux, walk.cpu, &walk.request, walk.request.nodes, mems);
    let Ok(reach) = reach else { return Ok(()) };
    for (z, zone) in linux.now.zones.iter().enumerate() {
        if !reach.allows(zone) {
            continue;
        }
        // The look itself may fold a diff, so both numbers must say so.
        let needless = must_serve(&linux, &walk, z, zone)
            && must_serve(&linux, &walk, z, &linux.before.zones[z]);
        holds(count, !needless, || {
            format!(
                "{:?} kills although zone {z} passes with {} pages",
                walk.request, zone.nr_free_pages
            )
        })?;
    }
    Ok(())
}

fn kswapd_ends(seen: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    let Step::Kswapd(daemon) = seen.step else { return Ok(()) };
    // A round that was under way when it began to be in vain is no failure yet.
    let most = PRIORITIES * (RETRIES + 1);
    holds(count, daemon.in_vain <= most, || {
        format!("kswapd of node {} shrank {} times in vain", daemon.node, daemon.in_vain)
    })?;
    let rests = matches!(daemon.step, KswapdStep::Asleep);
    holds(count, rests != daemon.now.kswapd_awake, || {
        format!("kswapd of node {} says {:?} and is {:?}", daemon.node, daemon.step, daemon.now)
    })?;
    let Some(linux) = seen.linux else { return Ok(()) };
    if !rests || !daemon.before.kswapd_awake || u64::from(daemon.now.kswapd_failures) >= RETRIES {
        return Ok(());
    }
    // Asleep and not hopeless: some zone is above the high mark for a single page at least, by its
    // exact count or by the shared one.
    let zones =
        || linux.now.zones.iter().filter(|zone| zone.node == daemon.node && zone.managed > 0);
    let above = |zone: &ZoneState| {
        let high = (zone.marks[Mark::High.index()] + zone.boost) as i64;
        zone.nr_free_pages.max(zone.nr_free_pages_exact) > high
    };
    holds(count, zones().any(above) || zones().next().is_none(), || {
        format!("kswapd of node {} went to sleep with no zone above its high mark", daemon.node)
    })
}

fn kswapd_target(seen: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    let (Step::Kswapd(daemon), Some(linux)) = (seen.step, seen.linux) else { return Ok(()) };
    let KswapdStep::Shrink { priority, target, highest, may_write, may_swap, .. } = daemon.step
    else {
        return Ok(());
    };
    let zones = linux
        .now
        .zones
        .iter()
        .filter(|zone| zone.node == daemon.node && zone.managed > 0 && zone.kind <= highest);
    let expected =
        zones.map(|zone| (zone.marks[Mark::High.index()] + zone.boost).max(CLUSTER)).sum::<u64>();
    equal(count, || format!("target of kswapd of node {}", daemon.node), expected, target)?;
    let gentlest = PRIORITIES as u8;
    let hardest = if may_write { 1 } else { gentlest - 2 };
    holds(count, may_write == may_swap && (hardest..=gentlest).contains(&priority), || {
        format!("kswapd of node {} shrinks so: {:?}", daemon.node, daemon.step)
    })
}
