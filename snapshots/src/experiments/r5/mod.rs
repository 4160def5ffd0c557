//! R5: free lists locate a migration source (January 2019, Linux 5.1), and the series that this was the
//! ninth patch of.
//!
//! thpscale (compaction.md §7.1), scaled down, on the allocator, reclaim and compaction of this repository.
//! Scans, migrations and huge pages are what these do under the rules of each kernel; time is virtual, by
//! stated costs.

mod machine;
mod model;
mod schedule;
mod series;
mod threads;

use super::{Direction, Entry, Experiment, ExperimentError, Pair, Row, Sensitivity, rounded};
use machine::{Kernel, Outcome, THREADS, run_all};
use mmspec_model::contract::{CompactLock, CompactResult};
use mmspec_model::vocab::CompactRules;
use model::Model;
use series::{PATCH_09, PATCHES, WHOLE};

/// R5 by name.
pub(super) const R5: Entry = Entry {
    name: "r5",
    about: "compaction: free lists locate a migration source (Linux 5.1), and the whole series",
    run: experiment,
    brief,
};

/// A figure of a run.
type Figure = fn(&Outcome, &Model) -> f64;

fn migrate_scanned(run: &Outcome, _: &Model) -> f64 {
    run.compact.migrate_scanned as f64
}

fn free_scanned(run: &Outcome, _: &Model) -> f64 {
    run.compact.free_scanned as f64
}

fn system(run: &Outcome, model: &Model) -> f64 {
    run.meter.cost(&model.costs()) as f64 / 1e6
}

fn compaction(run: &Outcome, model: &Model) -> f64 {
    run.meter.compaction(&model.costs()) as f64 / 1e6
}

fn huge(run: &Outcome, _: &Model) -> f64 {
    run.percent()
}

fn ended(run: &Outcome, result: CompactResult) -> f64 {
    run.results[result as usize] as f64
}

/// Figures of whole runs for which nothing but words was published.
const FIGURES: [(&str, Figure); 15] = [
    ("pages migrated", |run, _| run.compact.pgmigrate_success as f64),
    ("pages not migrated", |run, _| run.compact.pgmigrate_fail as f64),
    ("direct compactions", |run, _| run.stalls as f64),
    ("direct compactions that gave a page", |run, _| run.successes as f64),
    ("direct compactions, skipped", |run, _| ended(run, CompactResult::Skipped)),
    ("direct compactions, deferred", |run, _| ended(run, CompactResult::Deferred)),
    ("direct compactions, contended", |run, _| ended(run, CompactResult::Contended)),
    ("direct compactions, complete", |run, _| {
        ended(run, CompactResult::Complete) + ended(run, CompactResult::PartialSkipped)
    }),
    ("direct compactions, success", |run, _| ended(run, CompactResult::Success)),
    ("zone lock tried", |run, _| run.meter.tries[CompactLock::Zone as usize] as f64),
    ("zone lock found taken", |run, _| run.meter.taken[CompactLock::Zone as usize] as f64),
    ("LRU lock tried", |run, _| run.meter.tries[CompactLock::Lru as usize] as f64),
    ("LRU lock found taken", |run, _| run.meter.taken[CompactLock::Lru as usize] as f64),
    ("pages reclaimed", |run, _| run.meter.reclaimed as f64),
    ("threads without memory", |run, _| {
        run.samples.iter().map(|samples| samples.died).sum::<u64>() as f64
    }),
];

fn pair(runs: [&Outcome; 2], model: &Model, figure: Figure) -> Pair {
    let [base, patched] = runs.map(|run| rounded(figure(run, model)));
    Pair::of(base, patched)
}

/// Mean of a published column.
fn mean(table: &[(u32, Pair, Pair)]) -> Pair {
    let of = |get: fn(&Pair) -> Option<f64>| {
        let sum: f64 = table.iter().filter_map(|(_, _, huge)| get(huge)).sum();
        rounded(sum / table.len() as f64)
    };
    Pair::of(of(|pair| pair.base), of(|pair| pair.patched))
}

/// What is published of two kernels.
struct Published {
    name: &'static str,
    table: &'static [(u32, Pair, Pair)],
    /// Rows of latency whose direction must agree.
    starred: &'static [u32],
    migrate: Pair,
    free: Pair,
    system: Pair,
}

const NOTHING: Pair = Pair { base: None, patched: None };

const ALONE: Published = Published {
    name: "patch 09",
    table: &PATCH_09,
    starred: &[24, 30, 32],
    // Published as a share: 31 % fewer, 8 % less.
    migrate: Pair::of(1.0, 0.69),
    free: NOTHING,
    system: Pair::of(1.0, 0.92),
};

/// The kernels that were measured.
const ON_8: Published = Published { name: "patch 09 on 01 to 08", ..ALONE };

const SERIES: Published = Published {
    name: "series",
    table: &WHOLE,
    starred: &[],
    migrate: Pair::of(55_893_379.0, 19_341_254.0),
    free: Pair::of(474_739_990.0, 11_903_963.0),
    system: NOTHING,
};

fn rows(published: &Published, runs: [&Outcome; 2], model: &Model) -> Vec<Row> {
    let name = |figure: &str| format!("{}: {figure}", published.name);
    let mut rows = Vec::new();
    for (threads, latency, percent) in published.table {
        let at = THREADS.iter().position(|count| count == threads).unwrap_or(0);
        let of = |get: fn(&machine::Samples) -> f64| {
            let [base, patched] = runs.map(|run| rounded(get(&run.samples[at])));
            Pair::of(base, patched)
        };
        let (us, huge) = (of(machine::Samples::both_us), of(machine::Samples::percent));
        let starred = published.starred.contains(threads);
        rows.push(Row::new(
            &name(&format!("region, {threads} threads (µs)")),
            starred,
            *latency,
            us,
        ));
        rows.push(Row::new(&name(&format!("huge, {threads} threads (%)")), false, *percent, huge));
    }
    let percent = mean(published.table);
    rows.extend(whole_rows(published, &name, percent, runs, model));
    let of = |figure| pair(runs, model, figure);
    for (figure, get) in FIGURES {
        rows.push(Row::directed(&name(figure), false, NOTHING, of(get), Direction::Any));
    }
    rows
}

/// Figures of whole runs that something was published of.
fn whole_rows(
    published: &Published,
    name: &dyn Fn(&str) -> String,
    percent: Pair,
    runs: [&Outcome; 2],
    model: &Model,
) -> Vec<Row> {
    let starred = !published.starred.is_empty();
    let row = |figure: &str, starred, published, get: Figure| {
        Row::new(&name(figure), starred, published, pair(runs, model, get))
    };
    vec![
        row("huge, all (%)", false, percent, huge),
        row("frames scanned for sources", starred, published.migrate, migrate_scanned),
        row("frames scanned for targets", false, published.free, free_scanned),
        row("system (ms)", starred, published.system, system),
        row("compaction (ms)", false, NOTHING, compaction),
    ]
}

/// Rows of one patch: scans and huge pages without and with it.
fn patch_rows(name: &str, published: [Pair; 2], runs: [&Outcome; 2], model: &Model) -> Vec<Row> {
    let row = |figure: &str, published, get| {
        Row::new(&format!("{name}: {figure}"), false, published, pair(runs, model, get))
    };
    vec![
        row("sources", published[0], migrate_scanned),
        row("targets", published[1], free_scanned),
        row("huge (%)", NOTHING, huge),
    ]
}

/// The series patch by patch: each on those before it, and each on 5.0.
fn patches(model: &Model, progress: &mut dyn FnMut(String)) -> Result<Vec<Row>, ExperimentError> {
    progress("r5: patch by patch".to_owned());
    let mut kernels: Vec<Kernel> = Vec::new();
    let mut number = |rules: CompactRules| {
        let known = kernels.iter().position(|kernel| kernel.1 == rules);
        known.unwrap_or_else(|| {
            kernels.push((*model, rules));
            kernels.len() - 1
        })
    };
    let pairs: Vec<[usize; 4]> = PATCHES
        .iter()
        .enumerate()
        .map(|(at, patch)| {
            let [base, with] = patch.alone();
            [series::up_to(at), series::up_to(at + 1), base, with].map(&mut number)
        })
        .collect();
    let runs = run_all(&kernels)?;
    let (mut rows, mut alone) = (Vec::new(), Vec::new());
    for (patch, [before, after, base, with]) in PATCHES.iter().zip(pairs) {
        let name = format!("on those before, {}", patch.name);
        let published = [patch.migrate, patch.free];
        rows.extend(patch_rows(&name, published, [&runs[before], &runs[after]], model));
        let name = format!("on 5.0, {}", patch.name);
        alone.extend(patch_rows(&name, [NOTHING; 2], [&runs[base], &runs[with]], model));
    }
    rows.extend(alone);
    Ok(rows)
}

/// Patch by patch and for the sensitivity there is less memory, and fewer runs: there are many kernels.
const fn small(model: Model) -> Model {
    Model { memory_mib: 256, runs: 2, ..model }
}

fn sensitivity(
    model: Model,
    progress: &mut dyn FnMut(String),
) -> Result<Vec<Sensitivity>, ExperimentError> {
    let model = small(model);
    progress("r5: parameters halved and doubled".to_owned());
    let variations = model.variations();
    let models = std::iter::once(model)
        .chain(variations.iter().flat_map(|(_, half, double)| [*half, *double]));
    let kernels: Vec<Kernel> = models
        .flat_map(|model| {
            [CompactRules::linux_5_0(), CompactRules::patch_09_alone()].map(|rules| (model, rules))
        })
        .collect();
    let runs = run_all(&kernels)?;
    let mut table = Vec::new();
    for (at, (parameter, half, double)) in variations.iter().enumerate() {
        for (figure, get) in
            [("sources", migrate_scanned as Figure), ("system", system), ("huge", huge)]
        {
            let ratio = |number: usize, model: &Model| {
                pair([&runs[2 * number], &runs[2 * number + 1]], model, get).ratio()
            };
            table.push(Sensitivity {
                parameter: (*parameter).to_owned(),
                figure: figure.to_owned(),
                halved: ratio(2 * at + 1, half),
                as_is: ratio(0, &model),
                doubled: ratio(2 * at + 2, double),
            });
        }
    }
    Ok(table)
}

/// Run R5. `progress` is told what goes on.
///
/// # Errors
/// None in practice: the machine is fixed and boots.
fn experiment(progress: &mut dyn FnMut(String)) -> Result<Experiment, ExperimentError> {
    let model = Model::STATED;
    let mut whole = on(model, progress)?;
    whole.rows.extend(patches(&small(model), progress)?);
    whole.sensitivity = sensitivity(model, progress)?;
    Ok(whole)
}

/// The three kernels on the small machine, without the rest.
fn brief(progress: &mut dyn FnMut(String)) -> Result<Experiment, ExperimentError> {
    on(Model { runs: 1, ..small(Model::STATED) }, progress)
}

/// The three kernels.
fn on(model: Model, progress: &mut dyn FnMut(String)) -> Result<Experiment, ExperimentError> {
    progress("r5: 5.0, patch 09, and the whole series".to_owned());
    let kernels = [
        CompactRules::linux_5_0(),
        CompactRules::patch_09_alone(),
        series::up_to(4),
        series::up_to(5),
        CompactRules::linux_5_1(),
    ];
    let runs = run_all(&kernels.map(|kernel| (model, kernel)))?;
    let [base, alone, before, after, whole] = &runs[..] else {
        unreachable!("one outcome for each kernel")
    };
    let mut found = rows(&ALONE, [base, alone], &model);
    found.extend(rows(&ON_8, [before, after], &model));
    found.extend(rows(&SERIES, [base, whole], &model));
    let notes = [
        "base: compaction of linux_5_0; patch 09: that and the patch alone (published: on patches 01 to \
         08); series: linux_5_1. Scans are sums over all numbers of threads, 1 included, published ones \
         are differences of /proc/vmstat over such a run",
        "which variant of thpscale was published is unknown. Here enabled=always, defrag=madvise, and the \
         second mapping is advised: without that, or defrag=always, a fault would not compact at all",
        "allocator: linux_6_1 with single pages alone on per-CPU lists. Reclaim goes on up to the gap, as up to \
         5.1. Not as in 5.0, for want of a rule: the sizes of per-CPU lists, the balance of reclaim (files \
         only here, so without effect), and \"no retry\" requests, which fail on SKIPPED as since 5.4 (none here)",
        "direct compactions: a deferred one counts as a stall, as from 5.13 on; in 5.0 it did not",
        "no swap; a file's page is mapped once; the tables of each 2 MiB are a page of the kernel",
        "a lock that async compaction tries is found taken if another CPU holds it at that moment of virtual \
         time: scanners, batches of per-CPU free lists (page_alloc.md §2.2), 15 pages that go to LRU lists at \
         once [mem], and reclaim (32 at once) hold them for what they do under them. A thread is told to let others run at the end of its slice if its CPU has others",
        "latency is the time from a region's first touch to its last page, waits for the CPU included",
        "patch by patch and in the sensitivity it is a machine of 256 MiB, and two runs",
    ];
    Ok(Experiment {
        name: R5.name.to_owned(),
        rows: found,
        cost_model: model.parameters(),
        notes: notes.map(str::to_owned).to_vec(),
        histograms: Vec::new(),
        sensitivity: Vec::new(),
    })
}
