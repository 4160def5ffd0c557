//! The engines, each run twice: once for the time to the first finding, without shrinking, and once
//! more up to that very case, to shrink it.

use crate::watch;
use mmspec_impl::{OwnedAllocator, Platform};
use mmspec_model::reference::Reference;
use mmspec_proptests::engine::{Budget, Config, EngineReport, Failure, Folder};
use mmspec_proptests::explorer::{self, Bounds};
use mmspec_proptests::flat::{self, Language};
use mmspec_proptests::lawful::{self, Depth};
use mmspec_proptests::memcg::Memcg;
use mmspec_proptests::schedules::{self, Coarse, Fine, Schedule};
use mmspec_proptests::script::Script;
use mmspec_proptests::slab::Slab;
use mmspec_proptests::trace::selfcheck;
use mmspec_proptests::{compaction, differential};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// An engine by name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Engine {
    /// Reference and `impl` in lockstep.
    Differential,
    /// `impl` alone, judged by the laws.
    Laws,
    /// All sequences on small machines.
    Explorer,
    /// Threads; every lock is a scheduling point.
    Schedules,
    /// Threads; every access to a shared word is one too.
    FineSchedules,
    /// Small histories of threads, judged by order.
    Histories,
    /// Traces of `impl`, and of the reference, explained.
    Trace,
    /// Generated cases of compaction under the laws.
    Compaction,
    /// Memory cgroups in lockstep with the reference, and by the laws.
    Memcg,
    /// Memory cgroups by threads.
    MemcgThreads,
    /// Slab caches by the laws.
    Slab,
    /// Slab caches by threads.
    SlabThreads,
}

impl Engine {
    /// In the order in which they run if none is named.
    pub(crate) const ALL: [Self; 12] = [
        Self::Differential,
        Self::Laws,
        Self::Explorer,
        Self::Schedules,
        Self::FineSchedules,
        Self::Histories,
        Self::Trace,
        Self::Compaction,
        Self::Memcg,
        Self::MemcgThreads,
        Self::Slab,
        Self::SlabThreads,
    ];

    /// The name on the command line and in the lines printed.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Differential => "differential",
            Self::Laws => "laws",
            Self::Explorer => "explorer",
            Self::Schedules => "schedules",
            Self::FineSchedules => "schedules-fine",
            Self::Histories => "histories",
            Self::Trace => "trace",
            Self::Compaction => "compaction",
            Self::Memcg => "memcg",
            Self::MemcgThreads => "memcg-threads",
            Self::Slab => "slab",
            Self::SlabThreads => "slab-threads",
        }
    }

    /// The engine of that name.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|engine| engine.name() == name)
    }

    /// What its work is counted in.
    pub(crate) const fn unit(self) -> &'static str {
        match self {
            Self::Schedules
            | Self::FineSchedules
            | Self::Histories
            | Self::MemcgThreads
            | Self::SlabThreads => "schedules",
            Self::Trace => "events",
            Self::Compaction | Self::Memcg | Self::Slab => "cases",
            _ => "operations",
        }
    }
}

/// The first finding.
pub(crate) struct Found {
    pub(crate) kind: String,
    pub(crate) what: String,
    pub(crate) before: usize,
    pub(crate) after: usize,
    pub(crate) switches: Option<usize>,
    pub(crate) file: Option<PathBuf>,
}

/// What one engine did.
pub(crate) struct Hunted {
    pub(crate) seconds: f64,
    pub(crate) done: u64,
    pub(crate) found: Option<Found>,
    pub(crate) shrinking: Duration,
    /// The engine never came back: its thread is still in the allocator.
    pub(crate) hung: bool,
}

/// Scripts are valid before they are booted, so neither boot fails.
pub(crate) fn reference(script: &Script) -> Reference {
    Reference::new(&script.machine, script.rules, script.tunables)
        .unwrap_or_else(|error| panic!("{error}"))
}

/// The allocator under test; the watcher is told what runs on it.
pub(crate) fn owned<P: Platform>(script: &Script) -> OwnedAllocator<P> {
    watch::starts(script);
    OwnedAllocator::new(script.machine.as_ref(), script.rules, script.tunables)
        .unwrap_or_else(|error| panic!("{error}"))
}

/// The platform of sequential runs.
pub(crate) type Standard = mmspec_impl::platform::StdPlatform;

/// These do not say what runs.
fn unwatched<'a, 'c>(config: &'a Config<'c>) -> &'a Config<'c> {
    watch::unwatched();
    config
}

fn run(engine: Engine, config: &Config<'_>) -> EngineReport {
    match engine {
        Engine::Differential => differential::run(config, reference, owned::<Standard>),
        Engine::Laws => lawful::run(config, Depth::default(), owned::<Standard>),
        Engine::Explorer => {
            let time = config.budget.time;
            let bounds = Bounds { time, depth: None, ..Bounds::default() };
            explorer::explore(config, bounds, reference, owned::<Standard>)
        }
        Engine::Schedules => schedules::run(config, owned::<Coarse>),
        Engine::FineSchedules => schedules::run(config, owned::<Fine>),
        Engine::Trace => {
            watch::unwatched();
            selfcheck::run(config)
        }
        Engine::Histories => schedules::run_histories(config, owned::<Coarse>),
        Engine::Compaction => {
            watch::unwatched();
            compaction::run(config)
        }
        Engine::Memcg => flat::hunt::<Memcg>(unwatched(config), &Memcg::play),
        Engine::MemcgThreads => flat::hunt_threads::<Memcg>(unwatched(config), &Memcg::explore),
        Engine::Slab => flat::hunt::<Slab>(unwatched(config), &Slab::play),
        Engine::SlabThreads => flat::hunt_threads::<Slab>(unwatched(config), &Slab::explore),
    }
}

/// Run `engine` for at most `time`.
pub(crate) fn hunt(engine: Engine, seed: u64, time: Duration, save: Option<&Path>) -> Hunted {
    let first = watch::guarded(move || {
        let mut config = Config::new(seed, Budget::time(time));
        config.shrink_runs = 0;
        run(engine, &config)
    });
    let (mut report, seconds) = match first {
        Ok((report, seconds)) => (report, seconds),
        Err(hang) => return hung(engine, *hang, save),
    };
    let done = match engine.unit() {
        "schedules" => report.schedules.unwrap_or(0),
        "cases" => report.cases,
        _ => report.operations,
    };
    let mut hunted = Hunted { seconds, done, found: None, shrinking: Duration::ZERO, hung: false };
    let Some(unshrunk) = report.failures.pop() else { return hunted };
    let begun = Instant::now();
    let again = watch::guarded(move || {
        let mut config = Config::new(seed, Budget::cases(unshrunk.case + 1));
        match engine {
            // Schedules count as cases there, and the explorer's bound is time.
            Engine::Explorer => config.budget = Budget::time(time),
            Engine::Schedules
            | Engine::FineSchedules
            | Engine::Histories
            | Engine::MemcgThreads
            | Engine::SlabThreads => {
                config.budget = Budget::cases(done + 1);
            }
            Engine::Differential
            | Engine::Laws
            | Engine::Trace
            | Engine::Compaction
            | Engine::Memcg
            | Engine::Slab => {}
        }
        run(engine, &config)
    });
    let failure = match again {
        Ok((report, _)) => report.failures.into_iter().next(),
        Err(hang) => return hung(engine, *hang, save),
    };
    hunted.shrinking = begun.elapsed();
    // The same seed shows the same case again; should it not, that is worth a line of its own.
    hunted.found = Some(failure.map_or_else(
        || Found {
            kind: "not-again".to_owned(),
            what: "found once, but not by the second run with the same seed".to_owned(),
            before: 0,
            after: 0,
            switches: None,
            file: None,
        },
        |failure| found(failure, save),
    ));
    hunted
}

fn found(mut failure: Failure, save: Option<&Path>) -> Found {
    if let Some(folder) = save
        && let Err(error) = Folder::new(folder).save(&mut failure)
    {
        eprintln!("hunt: {error}");
    }
    Found {
        switches: failure.schedule().map(Schedule::switches),
        after: failure.operations(),
        kind: failure.finding.kind,
        what: failure.finding.what,
        before: failure.operations_before,
        file: failure.file,
    }
}

fn hung(engine: Engine, hang: watch::Hang, save: Option<&Path>) -> Hunted {
    let before = hang.script.ops.len();
    let (script, shrinking) = watch::shrink(&hang.script);
    let mut found = Found {
        kind: "hang".to_owned(),
        what: "an operation did not end".to_owned(),
        before,
        after: script.ops.len(),
        switches: None,
        file: None,
    };
    if let Some(folder) = save {
        let path = folder.join(format!("{}-hang.mms", engine.name()));
        let text = format!("# hang: an operation does not end\n{}", script.to_text());
        match std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&path, text)) {
            Ok(()) => found.file = Some(path),
            Err(error) => eprintln!("hunt: {error}"),
        }
    }
    Hunted { seconds: hang.seconds, done: hang.cases, found: Some(found), shrinking, hung: true }
}
