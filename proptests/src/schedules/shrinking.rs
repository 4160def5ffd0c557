//! Shrinking of a script with its schedule: fewer operations first, then fewer context switches,
//! then a shorter schedule.

use super::body::concurrent_script;
use super::engine::{ENDLESS, Oracle, Strategy, explore};
use super::schedulers::Schedule;
use super::subject::{Boot, Subject};
use crate::engine::Finding;
use crate::histories;
use crate::script::Script;
use crate::shrink::Shrinker;

/// Schedules tried for each smaller script.
const TRIES: u64 = 150;

/// The smallest script and schedule found that show a finding of the same kind.
pub fn shrink_case<S: Subject>(
    script: &Script,
    boot: Boot<S>,
    finding: Finding,
    schedule: Schedule,
    oracle: Oracle,
    runs: usize,
) -> (Finding, Script, Schedule) {
    let mut best = (finding, script.clone(), schedule);
    let mut shrinker = Shrinker::new(script.clone());
    // A candidate costs many schedules, so there are fewer of them.
    for _ in 0..runs.div_ceil(40) {
        let Some(candidate) = shrinker.next_candidate() else { break };
        let candidate = concurrent_script(candidate);
        let judged = oracle == Oracle::Laws || histories::fits(&candidate);
        let found = judged.then(|| find(&candidate, boot, &best.0.kind, oracle)).flatten();
        match found {
            Some((finding, schedule)) => {
                shrinker.accept();
                best = (finding, candidate, schedule);
            }
            None => shrinker.reject(),
        }
    }
    shorter(fewer_switches(cut_endless(best, boot, oracle), boot, oracle), boot, oracle)
}

/// A run without end is not written down to the bound: only its beginning, as far as it is needed
/// so that what goes on by itself has no end either.
fn cut_endless<S: Subject>(mut best: Best, boot: Boot<S>, oracle: Oracle) -> Best {
    if best.0.kind != ENDLESS {
        return best;
    }
    let ran = std::mem::take(&mut best.2.0);
    let mut length = 0;
    while length < ran.len() {
        let written = Schedule(ran[..length].to_vec());
        let strategy = Strategy::Replay(written.clone());
        let found = explore(&best.1, boot, strategy, 1, oracle).found;
        if found.is_some_and(|(finding, _)| finding.kind == ENDLESS) {
            best.2 = written;
            return best;
        }
        length = (2 * length).max(16);
    }
    best.2 = Schedule(ran);
    best
}

fn find<S: Subject>(
    script: &Script,
    boot: Boot<S>,
    kind: &str,
    oracle: Oracle,
) -> Option<(Finding, Schedule)> {
    // Always the same seeds: shrinking is a function of the case.
    [Strategy::Random(1), Strategy::Pct(2, 3)]
        .into_iter()
        .filter_map(|strategy| explore(script, boot, strategy, TRIES, oracle).found)
        .find(|(finding, _)| finding.kind == kind)
}

/// The case with its finding and schedule.
type Best = (Finding, Script, Schedule);

/// Drop runs of threads, one at a time: the current thread goes on where the schedule cannot be
/// followed. What was really run is kept if it has fewer switches.
fn fewer_switches<S: Subject>(mut best: Best, boot: Boot<S>, oracle: Oracle) -> Best {
    let mut at = 0;
    while at < best.2.runs().len() {
        let mut runs = best.2.runs();
        runs.remove(at);
        let fewer = |ran: &Schedule, best: &Schedule| ran.switches() < best.switches();
        if !try_schedule(&mut best, boot, oracle, Schedule::from_runs(&runs), fewer) {
            at += 1;
        }
    }
    best
}

/// Then a shorter schedule: cut where the rest goes by itself, and no run longer than it must be.
fn shorter<S: Subject>(mut best: Best, boot: Boot<S>, oracle: Oracle) -> Best {
    let better = |ran: &Schedule, best: &Schedule| {
        (ran.switches(), ran.0.len()) < (best.switches(), best.0.len())
    };
    let mut at = 0;
    while at < best.2.runs().len() {
        let runs = best.2.runs();
        let shrunk = [runs[at].1 / 2, 1].into_iter().filter(|take| *take > 0).any(|take| {
            let mut runs = runs.clone();
            runs[at].1 -= take;
            try_schedule(&mut best, boot, oracle, Schedule::from_runs(&runs), better)
        });
        if !shrunk {
            at += 1;
        }
    }
    // What is run after the written end goes on by itself: only as much as is needed is written.
    let runs = best.2.runs();
    for length in 0..runs.len() {
        let written = Schedule::from_runs(&runs[..length]);
        let strategy = Strategy::Replay(written.clone());
        if explore(&best.1, boot, strategy, 1, oracle)
            .found
            .is_some_and(|(f, _)| f.kind == best.0.kind)
        {
            best.2 = written;
            break;
        }
    }
    best
}

/// Run `candidate`; what was really run is kept if it shows the same kind of finding and is better.
fn try_schedule<S: Subject>(
    best: &mut Best,
    boot: Boot<S>,
    oracle: Oracle,
    candidate: Schedule,
    better: impl Fn(&Schedule, &Schedule) -> bool,
) -> bool {
    match explore(&best.1, boot, Strategy::Replay(candidate.clone()), 1, oracle).found {
        Some((finding, _)) if finding.kind == ENDLESS && best.0.kind == ENDLESS => {
            let better = better(&candidate, &best.2);
            if better {
                (best.0, best.2) = (finding, candidate);
            }
            better
        }
        Some((finding, ran)) if finding.kind == best.0.kind && better(&ran, &best.2) => {
            (best.0, best.2) = (finding, ran);
            true
        }
        _ => false,
    }
}
