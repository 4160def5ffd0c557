//! Shrinking of a script with its schedule: fewer operations first, then fewer context switches.

use super::body::concurrent_script;
use super::engine::{Strategy, explore};
use super::schedulers::Schedule;
use super::subject::{Boot, Subject};
use crate::engine::Finding;
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
    runs: usize,
) -> (Finding, Script, Schedule) {
    let mut best = (finding, script.clone(), schedule);
    let mut shrinker = Shrinker::new(script.clone());
    // A candidate costs many schedules, so there are fewer of them.
    for _ in 0..runs.div_ceil(40) {
        let Some(candidate) = shrinker.next_candidate() else { break };
        let candidate = concurrent_script(candidate);
        match find(&candidate, boot, &best.0.kind) {
            Some((finding, schedule)) => {
                shrinker.accept();
                best = (finding, candidate, schedule);
            }
            None => shrinker.reject(),
        }
    }
    fewer_switches(best, boot)
}

fn find<S: Subject>(script: &Script, boot: Boot<S>, kind: &str) -> Option<(Finding, Schedule)> {
    // Always the same seeds: shrinking is a function of the case.
    [Strategy::Random(1), Strategy::Pct(2, 3)]
        .into_iter()
        .filter_map(|strategy| explore(script, boot, strategy, TRIES).found)
        .find(|(finding, _)| finding.kind == kind)
}

/// Drop runs of threads, one at a time: the current thread goes on where the schedule cannot be
/// followed. What was really run is kept if it has fewer switches.
fn fewer_switches<S: Subject>(
    mut best: (Finding, Script, Schedule),
    boot: Boot<S>,
) -> (Finding, Script, Schedule) {
    let mut at = 0;
    while at < best.2.runs().len() {
        let mut runs = best.2.runs();
        runs.remove(at);
        let candidate = Schedule::from_runs(&runs);
        let strategy = Strategy::Replay(candidate);
        match explore(&best.1, boot, strategy, 1).found {
            Some((finding, ran))
                if finding.kind == best.0.kind && ran.switches() < best.2.switches() =>
            {
                (best.0, best.2) = (finding, ran);
            }
            _ => at += 1,
        }
    }
    best
}
