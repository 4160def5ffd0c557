//! Who runs next: random, PCT, depth first, or as written down. All record their choices.

use super::chance;
use crate::generate::Rng;
use shuttle::scheduler::{DfsScheduler, Schedule as ShuttleSchedule, Scheduler, Task, TaskId};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};

/// The threads chosen at each scheduling point, in order. Thread 0 makes and judges, thread n runs
/// CPU n-1.
///
/// As text: runs of the same thread, `0*3 2*1 1*7`.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Schedule(pub Vec<u32>);

impl Schedule {
    /// The runs: thread and length.
    #[must_use]
    pub fn runs(&self) -> Vec<(u32, usize)> {
        let mut runs: Vec<(u32, usize)> = Vec::new();
        for &thread in &self.0 {
            match runs.last_mut() {
                Some((last, length)) if *last == thread => *length += 1,
                _ => runs.push((thread, 1)),
            }
        }
        runs
    }

    /// From runs.
    #[must_use]
    pub fn from_runs(runs: &[(u32, usize)]) -> Self {
        Self(
            runs.iter().flat_map(|&(thread, length)| std::iter::repeat_n(thread, length)).collect(),
        )
    }

    /// How often another thread goes on than before.
    #[must_use]
    pub fn switches(&self) -> usize {
        self.runs().len().saturating_sub(1)
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (thread, length)) in self.runs().iter().enumerate() {
            let blank = if at > 0 { " " } else { "" };
            write!(f, "{blank}{thread}*{length}")?;
        }
        Ok(())
    }
}

/// Why a text is no schedule.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("\"{0}\" is no run of a thread: write THREAD*STEPS, e.g. 1*7")]
pub struct ScheduleError(String);

/// Longest schedule that a text may spell.
const MAX_STEPS: usize = 10_000_000;

impl FromStr for Schedule {
    type Err = ScheduleError;

    fn from_str(text: &str) -> Result<Self, ScheduleError> {
        let mut steps = Vec::new();
        for word in text.split_whitespace() {
            let wrong = || ScheduleError(word.to_owned());
            let (thread, length) = word.split_once('*').ok_or_else(wrong)?;
            let thread: u32 = thread.parse().map_err(|_| wrong())?;
            let length: usize = length.parse().map_err(|_| wrong())?;
            if length > MAX_STEPS - steps.len() {
                return Err(wrong());
            }
            steps.extend(std::iter::repeat_n(thread, length));
        }
        Ok(Self(steps))
    }
}

/// Shared between a scheduler and its engine.
#[derive(Clone, Debug, Default)]
pub(super) struct Record {
    shared: Arc<Mutex<Recorded>>,
}

#[derive(Debug, Default)]
struct Recorded {
    choices: Vec<u32>,
    executions: u64,
    stop: bool,
    complete: bool,
}

impl Record {
    fn with<T>(&self, body: impl FnOnce(&mut Recorded) -> T) -> T {
        body(&mut self.shared.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The choices of the current or last execution.
    pub(super) fn schedule(&self) -> Schedule {
        Schedule(self.with(|record| record.choices.clone()))
    }

    /// Begin no further execution.
    pub(super) fn stop(&self) {
        self.with(|record| record.stop = true);
    }

    pub(super) fn executions(&self) -> u64 {
        self.with(|record| record.executions)
    }

    /// Whether the scheduler ran out of schedules by itself.
    pub(super) fn complete(&self) -> bool {
        self.with(|record| record.complete)
    }
}

/// How one execution's choices are made.
pub(super) enum Choice {
    /// Any runnable thread.
    Random(Rng),
    /// Probabilistic concurrency testing: fixed random priorities, lowered at a few random steps.
    Pct {
        rng: Rng,
        depth: usize,
        /// The longest execution so far: where change points are drawn from.
        longest: u64,
        priorities: BTreeMap<usize, u64>,
        changes: Vec<u64>,
        steps: u64,
        low: u64,
    },
    /// All schedules, depth first.
    Dfs(DfsScheduler),
    /// As written; after the end or where it cannot be followed, the current thread goes on.
    Replay(Schedule, usize),
}

impl Choice {
    pub(super) fn pct(seed: u64, depth: usize) -> Self {
        Self::Pct {
            rng: Rng::new(seed),
            depth,
            longest: 100,
            priorities: BTreeMap::new(),
            changes: Vec::new(),
            steps: 0,
            low: 0,
        }
    }
}

/// The scheduler that shuttle drives.
pub(super) struct Recording {
    pub(super) choice: Choice,
    pub(super) record: Record,
    pub(super) most: u64,
}

impl Scheduler for Recording {
    fn new_execution(&mut self) -> Option<ShuttleSchedule> {
        let (stop, executions) = self.record.with(|record| (record.stop, record.executions));
        if stop || executions >= self.most {
            return None;
        }
        if let Choice::Dfs(inner) = &mut self.choice
            && inner.new_execution().is_none()
        {
            self.record.with(|record| record.complete = true);
            return None;
        }
        if let Choice::Pct { rng, depth, longest, priorities, changes, steps, low } =
            &mut self.choice
        {
            *longest = (*longest).max(*steps);
            priorities.clear();
            *changes = (1..*depth).map(|_| rng.below(*longest)).collect();
            (*steps, *low) = (0, u64::MAX / 2);
        }
        chance::begin();
        self.record.with(|record| {
            record.executions += 1;
            record.choices.clear();
        });
        Some(ShuttleSchedule::new(0))
    }

    fn next_task(
        &mut self,
        runnable: &[&Task],
        current: Option<TaskId>,
        is_yielding: bool,
    ) -> Option<TaskId> {
        let chosen = match &mut self.choice {
            Choice::Random(rng) => rng.pick(runnable).id(),
            Choice::Pct { rng, priorities, changes, steps, low, .. } => {
                // Steps without a choice, as while booting, would only take change points away.
                *steps += u64::from(runnable.len() > 1);
                if let Some(current) = current
                    && (changes.contains(steps) || is_yielding)
                {
                    // Priorities drawn are above the middle, lowered ones below it.
                    *low -= 1;
                    priorities.insert(usize::from(current), *low);
                }
                let mut priority = |task: &&Task| {
                    let fresh = u64::MAX / 2 + rng.below(u64::MAX / 2);
                    *priorities.entry(usize::from(task.id())).or_insert(fresh)
                };
                let mut best = runnable[0];
                let mut highest = priority(&best);
                for task in &runnable[1..] {
                    let own = priority(task);
                    if own > highest {
                        (best, highest) = (task, own);
                    }
                }
                best.id()
            }
            Choice::Dfs(inner) => inner.next_task(runnable, current, is_yielding)?,
            Choice::Replay(schedule, at) => {
                let wanted = schedule.0.get(*at).map(|thread| TaskId::from(*thread as usize));
                *at += 1;
                let can_run = |id: &TaskId| runnable.iter().any(|task| task.id() == *id);
                // Who waits for others lets the next one go on.
                let after = |id: TaskId| runnable.iter().find(|task| task.id() > id);
                let other = current.and_then(after).unwrap_or(&runnable[0]).id();
                let goes_on = current.filter(|id| can_run(id) && !is_yielding);
                wanted.filter(can_run).or(goes_on).unwrap_or(other)
            }
        };
        chance::chosen(usize::from(chosen) as u64);
        self.record.with(|record| record.choices.push(usize::from(chosen) as u32));
        Some(chosen)
    }

    fn next_u64(&mut self) -> u64 {
        // Nothing under test draws random numbers.
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedules_round_trip_as_text() {
        let schedule = Schedule(vec![0, 0, 2, 1, 1, 1, 0]);
        assert_eq!(schedule.to_string(), "0*2 2*1 1*3 0*1");
        assert_eq!(schedule.to_string().parse(), Ok(schedule.clone()));
        assert_eq!((schedule.switches(), Schedule::from_runs(&schedule.runs())), (3, schedule));
        assert!("0*x".parse::<Schedule>().is_err() && "7".parse::<Schedule>().is_err());
        assert!("0*99999999999".parse::<Schedule>().is_err());
    }
}
