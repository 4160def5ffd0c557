//! How long an engine runs.

use crate::generate::Limits;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// When an engine stops. Whatever comes first; an engine with neither limit runs until cancelled.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Budget {
    /// Most cases.
    pub cases: Option<u64>,
    /// Most time.
    pub time: Option<Duration>,
}

impl Budget {
    /// So many cases.
    #[must_use]
    pub const fn cases(cases: u64) -> Self {
        Self { cases: Some(cases), time: None }
    }

    /// So much time.
    #[must_use]
    pub const fn time(time: Duration) -> Self {
        Self { cases: None, time: Some(time) }
    }
}

/// What an engine says while it runs.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Progress {
    /// The engine.
    pub engine: &'static str,
    /// Cases, states or schedules so far.
    pub done: u64,
    /// Operations so far.
    pub operations: u64,
    /// The share of the budget that is used, 0 to 1.
    pub share: f64,
}

/// How an engine is asked to run.
#[derive(Clone, Copy)]
pub struct Config<'a> {
    /// Fixes every case.
    pub seed: u64,
    /// When to stop.
    pub budget: Budget,
    /// How large scripts get.
    pub limits: Limits,
    /// Set from outside to stop early.
    pub cancel: Option<&'a AtomicBool>,
    /// Called now and then.
    pub progress: Option<&'a dyn Fn(Progress)>,
    /// Most failures to collect before stopping.
    pub failures: usize,
    /// Most trials of one shrink.
    pub shrink_runs: usize,
}

impl Config<'_> {
    /// Seed and budget, everything else by default.
    #[must_use]
    pub fn new(seed: u64, budget: Budget) -> Self {
        Self {
            seed,
            budget,
            limits: Limits::default(),
            cancel: None,
            progress: None,
            failures: 1,
            shrink_runs: 20_000,
        }
    }

    /// Start the clock.
    #[must_use]
    pub fn clock(&self, engine: &'static str) -> Clock<'_> {
        Clock { config: *self, engine, started: Instant::now(), told: Duration::ZERO }
    }
}

/// Watches the budget of one run. Time decides only when to stop, never what is done.
pub struct Clock<'a> {
    config: Config<'a>,
    engine: &'static str,
    started: Instant,
    told: Duration,
}

impl Clock<'_> {
    /// Whether another case may begin after `done` of them.
    pub fn goes_on(&mut self, done: u64, operations: u64) -> bool {
        let budget = self.config.budget;
        let elapsed = self.started.elapsed();
        let share_of = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 1.0 };
        let by_cases = budget.cases.map_or(0.0, |cases| share_of(done as f64, cases as f64));
        let by_time =
            budget.time.map_or(0.0, |time| share_of(elapsed.as_secs_f64(), time.as_secs_f64()));
        let share = by_cases.max(by_time).min(1.0);
        if let Some(progress) = self.config.progress
            && (elapsed - self.told > Duration::from_millis(100) || share >= 1.0)
        {
            self.told = elapsed;
            progress(Progress { engine: self.engine, done, operations, share });
        }
        share < 1.0 && !self.cancelled()
    }

    /// Whether the run was cancelled.
    #[must_use]
    pub fn cancelled(&self) -> bool {
        self.config.cancel.is_some_and(|flag| flag.load(Ordering::Relaxed))
    }

    /// Seconds since the start.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        self.started.elapsed().as_secs_f64()
    }
}
