//! Situations of nodes, the slow path and kswapd.

use super::{Mark, Marks, Moment};
use crate::drive::{Answer, Call};
use mmspec_model::contract::{KswapdStep, Outcome, SlowStep};

/// Note what an operation shows of them.
pub(super) fn watch(marks: &mut Marks, moment: &Moment<'_>) {
    match (moment.call, moment.answer) {
        (Call::Slow(..), Answer::Walk(steps, outcome)) => walk(marks, steps, *outcome),
        (Call::Kswapd(..), Answer::Kswapd(step)) => kswapd(marks, moment, *step),
        (Call::Rebuild, _) => marks.hit(Mark::ZonelistsRebuilt),
        _ => {}
    }
    let sums = |count: fn(&mmspec_model::vocab::ZoneState) -> u64| {
        let of =
            |numbers: &mmspec_model::laws::Numbers| numbers.zones.iter().map(count).sum::<u64>();
        of(moment.now) > of(moment.before)
    };
    if sums(|zone| zone.numa.miss) {
        marks.hit(Mark::NodeMissed);
    }
    if sums(|zone| zone.numa.other) {
        marks.hit(Mark::OtherNode);
    }
    if moment.now.events.fair_resets > moment.before.events.fair_resets {
        marks.hit(Mark::BatchesReset);
    }
    let zones = moment.now.zones.iter().zip(&moment.before.zones);
    let flag = mmspec_model::vocab::ZoneFlags::FAIR_DEPLETED;
    if zones.clone().any(|(now, before)| now.flags.contains(flag) && !before.flags.contains(flag)) {
        marks.hit(Mark::BatchDepleted);
    }
    if let (Call::Tick(_), true) = (moment.call, expired(moment)) {
        marks.hit(Mark::RemoteExpired);
    }
}

/// A worker drained lists of another node's zone: they expired.
fn expired(moment: &Moment<'_>) -> bool {
    let pairs = moment.now.pcps.iter().zip(&moment.before.pcps);
    pairs
        .into_iter()
        .any(|(now, before)| before.expire == 1 && now.expire == 0 && now.count < before.count)
}

fn walk(marks: &mut Marks, steps: &[SlowStep], outcome: Outcome) {
    for step in steps {
        match step {
            SlowStep::Throttle { .. } => marks.hit(Mark::Throttled),
            SlowStep::OomKill { .. } => marks.hit(Mark::KillAsked),
            SlowStep::Yield => marks.hit(Mark::Yielded),
            SlowStep::DrainWait => marks.hit(Mark::WalkWaitedForWork),
            SlowStep::Reclaim { .. } | SlowStep::Compact { .. } => {}
            SlowStep::OomLock | SlowStep::Done(_) => {}
        }
    }
    match outcome {
        Outcome::Page(_) if steps.len() > 1 => marks.hit(Mark::WalkServed),
        Outcome::Failed => marks.hit(Mark::WalkGaveUp),
        _ => {}
    }
    if steps.len() > 40 {
        marks.hit(Mark::WalkWasLong);
    }
}

fn kswapd(marks: &mut Marks, moment: &Moment<'_>, step: KswapdStep) {
    let Call::Kswapd(node, _) = moment.call else { return };
    match step {
        KswapdStep::Nap => marks.hit(Mark::KswapdNapped),
        KswapdStep::Shrink { may_write: false, .. } => marks.hit(Mark::BoostWorkedOff),
        KswapdStep::Shrink { priority: ..=9, .. } => marks.hit(Mark::KswapdUrgent),
        KswapdStep::Shrink { .. } => {}
        KswapdStep::Asleep => {
            let awake = |numbers: &mmspec_model::laws::Numbers| {
                numbers.nodes.get(node.index()).is_some_and(|node| node.kswapd_awake)
            };
            if awake(moment.before) {
                marks.hit(Mark::KswapdSlept);
            }
        }
    }
}
