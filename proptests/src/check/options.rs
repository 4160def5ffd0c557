//! What to run and for how long.

use crate::engine::{Budget, Progress};
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// An engine by name.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Engine {
    /// Stored cases first.
    Regressions,
    /// Reference and implementation in lockstep.
    Differential,
    /// Both, judged by the laws.
    Laws,
    /// Allocators of frames by the smallest contract.
    Conformance,
    /// All sequences up to a bound.
    Explorer,
    /// Threads under chosen schedules.
    Schedules,
    /// Small concurrent histories against the reference.
    Histories,
    /// Runs of compaction over small machines, judged by the laws.
    Compaction,
    /// Memory cgroups, in lockstep and by the laws.
    Memcg,
    /// Slab caches, by the laws.
    Slab,
    /// Scripts recorded as kernel traces, and explained.
    Trace,
}

impl Engine {
    /// All engines, in the order in which they run.
    pub const ALL: [Self; 11] = [
        Self::Regressions,
        Self::Differential,
        Self::Laws,
        Self::Conformance,
        Self::Explorer,
        Self::Schedules,
        Self::Histories,
        Self::Compaction,
        Self::Memcg,
        Self::Slab,
        Self::Trace,
    ];

    /// The name on the command line and in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Regressions => "regressions",
            Self::Differential => "differential",
            Self::Laws => "laws",
            Self::Conformance => "conformance",
            Self::Explorer => "explorer",
            Self::Schedules => "schedules",
            Self::Histories => "histories",
            Self::Compaction => "compaction",
            Self::Memcg => "memcg",
            Self::Slab => "slab",
            Self::Trace => "trace",
        }
    }

    /// The engine with that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|engine| engine.name() == name)
    }

    /// Its share of the time, in a hundred.
    pub(super) const fn share(self) -> u32 {
        match self {
            // They take what they need, which is little.
            Self::Regressions => 0,
            Self::Differential => 22,
            Self::Laws => 16,
            Self::Conformance => 7,
            Self::Explorer => 16,
            Self::Schedules => 16,
            Self::Histories => 10,
            Self::Compaction => 4,
            Self::Memcg => 2,
            Self::Slab => 2,
            Self::Trace => 5,
        }
    }
}

/// How to run [`super::check`].
#[derive(Clone)]
pub struct Options<'a> {
    /// Fixes every case.
    pub seed: u64,
    /// Time for all engines together, canaries and shrinking not counted.
    pub time: Duration,
    /// Instead of a time, this many cases of each engine: scripts, schedules, or transitions of
    /// each machine of the explorer. Two such runs with one seed report the same but for the seconds.
    pub cases: Option<u64>,
    /// Which engines; empty: all.
    pub engines: Vec<Engine>,
    /// Stored cases, run first. `None`: those that come with the crate.
    pub regressions: Option<PathBuf>,
    /// Where failures are saved. `None`: nowhere.
    pub failures: Option<PathBuf>,
    /// Set from outside to stop early.
    pub cancel: Option<&'a AtomicBool>,
    /// Called now and then.
    pub progress: Option<&'a dyn Fn(Progress)>,
}

impl Options<'_> {
    /// All engines, failures saved under `failures/`.
    #[must_use]
    pub fn new(seed: u64, time: Duration) -> Self {
        Self {
            seed,
            time,
            cases: None,
            engines: Vec::new(),
            regressions: None,
            failures: Some(PathBuf::from("failures")),
            cancel: None,
            progress: None,
        }
    }

    pub(super) fn wants(&self, engine: Engine) -> bool {
        self.engines.is_empty() || self.engines.contains(&engine)
    }

    /// All engines run.
    pub(super) fn is_full(&self) -> bool {
        Engine::ALL.into_iter().all(|engine| self.wants(engine))
    }

    /// The budget of one engine: the cases, or its share of the time among those that run.
    pub(super) fn budget_of(&self, engine: Engine) -> Budget {
        self.cases.map_or_else(|| Budget::time(self.time_of(engine)), Budget::cases)
    }

    fn time_of(&self, engine: Engine) -> Duration {
        let all: u32 =
            Engine::ALL.into_iter().filter(|other| self.wants(*other)).map(Engine::share).sum();
        self.time * engine.share() / all.max(1)
    }
}
