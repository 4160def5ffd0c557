//! Canaries: allocators with one planted fault, which each engine must find in every full run. A
//! harness that lets one live is blind, however green it is.

mod caches;
mod fault;
mod groups;
mod locks;
mod planted;
mod races;
mod torn;
mod unordered;

pub use caches::{FaultyCaches, SlabFault, of_slab};
pub use fault::Fault;
pub use groups::{FaultyGroups, MemcgFault, of_memcg};
pub use locks::{TwoLists, WakesUnderLock, ZoneFirst};
pub use planted::Planted;
pub use races::{RACES, Race, RacyDeadlock, RacyLoss, RacyTwice, WeakOnce};
pub use torn::{Torn, TornWord};
pub use unordered::{DrainSkips, GivesUp, LostFree, TwiceOut, UNORDERED};

use crate::compaction;
use crate::differential;
use crate::drive::catch;
use crate::engine::{Budget, Config, EngineReport};
use crate::explorer::{self, Bounds};
use crate::lawful::{self, Depth};
use crate::script::Script;
use mmspec_model::contract::LinuxPolicy;
use mmspec_model::vocab::{CompactFixes, CompactRules};

/// Cases within which a canary must be found.
const CASES: u64 = 4_000;
/// Schedules within which a race must be found.
const SCHEDULES: u64 = 200 * 96;

fn hunt<'a>(config: &Config<'a>, cases: u64) -> Config<'a> {
    let budget = Budget::cases(cases);
    Config { budget, shrink_runs: 0, failures: 1, progress: None, ..*config }
}

/// Note what became of a canary; false if the hunt was cut short and says nothing.
fn fate(report: &mut EngineReport, name: &'static str, run: Result<EngineReport, String>) -> bool {
    let Ok(run) = run else {
        report.canary(name, false);
        return true;
    };
    if run.failures.is_empty() && run.cancelled {
        report.cancelled = true;
        return false;
    }
    report.canary(name, !run.failures.is_empty());
    true
}

/// Plant every fault in `boot`'s allocator and compare it with the right one.
pub fn of_differential<A: LinuxPolicy>(
    config: &Config<'_>,
    report: &mut EngineReport,
    boot: impl Fn(&Script) -> A + Copy,
) {
    for fault in Fault::ALL {
        let planted = |script: &Script| Planted::new(boot(script), script, *fault);
        let run = catch(|| differential::run(&hunt(config, CASES), boot, planted));
        if !fate(report, fault.name(), run) {
            return;
        }
    }
}

/// Plant every fault that breaks a law and judge.
pub fn of_laws<A: LinuxPolicy>(
    config: &Config<'_>,
    report: &mut EngineReport,
    boot: impl Fn(&Script) -> A + Copy,
) {
    for fault in Fault::ALL.iter().filter(|fault| fault.breaks_a_law()) {
        let planted = |script: &Script| Planted::new(boot(script), script, *fault);
        let run = catch(|| lawful::run(&hunt(config, CASES), Depth::default(), planted));
        if !fate(report, fault.name(), run) {
            return;
        }
    }
}

/// Plant a few faults in the allocator that the explorer carries along.
pub fn of_explorer<A>(config: &Config<'_>, report: &mut EngineReport, boot: fn(&Script) -> A)
where
    A: LinuxPolicy + Clone + Send + Sync + 'static,
{
    let faults = [
        Fault::LeavesPage,
        Fault::IgnoresTrylock,
        Fault::IdleWorker,
        Fault::ForgetsMark,
        Fault::IsolatesAnything,
    ];
    for fault in faults {
        // These show within three operations.
        let bounds = Bounds { depth: Some(3), ..Bounds::default() };
        let planted = move |script: &Script| Planted::new(boot(script), script, fault);
        let config = Config { shrink_runs: 0, progress: None, ..*config };
        let run = explorer::explore(&config, bounds, boot, planted);
        if !fate(report, fault.name(), Ok(run)) {
            return;
        }
    }
}

/// Run the racy allocators under schedules.
pub fn of_schedules(config: &Config<'_>, report: &mut EngineReport) {
    of_races(&RACES, config, report);
}

/// Run those whose histories have no order.
pub fn of_histories(config: &Config<'_>, report: &mut EngineReport) {
    of_races(&UNORDERED, config, report);
}

/// Rules of kernels whose compaction goes on without end.
pub fn of_compaction(config: &Config<'_>, report: &mut EngineReport) {
    let latest = CompactRules::linux_6_12();
    let without =
        |fix: CompactFixes| CompactRules { fixes: latest.fixes.difference(fix), ..latest };
    for (name, rules) in [
        ("compact-loops-on-a-signal", CompactRules::linux_5_1()),
        ("compact-picks-unmarked", CompactRules::linux_6_1()),
        ("compact-marks-first-pages-only", without(CompactFixes::MARK_REPRESENTATIVE)),
        ("compact-misses-the-zone-start", without(CompactFixes::ZONE_START)),
    ] {
        let run = catch(|| compaction::hunt(&hunt(config, 5 * CASES), Some(rules)));
        if !fate(report, name, run) {
            return;
        }
    }
}

fn of_races(races: &[Race], config: &Config<'_>, report: &mut EngineReport) {
    for race in races {
        let run = (race.hunt)(&hunt(config, SCHEDULES));
        if !fate(report, race.name, Ok(run)) {
            return;
        }
    }
}
