//! R2: the fair zone allocation policy at less cost (June 2014, Linux 3.16 and 3.17).
//!
//! Readers stream files larger than memory through the page cache. On each page they ask the allocator
//! for a page, under the fair policy of three kernels; kswapds take the oldest pages away. Which zones
//! are looked at, which counters are read and which batches reset is what the allocator of this
//! repository does under those rules. What is added is stated: cache lines that the fields of a zone
//! share, and what it costs to fetch them (page_alloc.md §5; `Model`).

mod kernel;
mod lines;
mod machine;
mod model;
mod touch;

use super::{Direction, Entry, Experiment, ExperimentError, Pair, Row, Sensitivity, rounded};
use kernel::Kernel;
use machine::{Sums, run};
use model::Model;
use std::panic::resume_unwind;
use std::thread;

/// R2 by name.
pub(super) const R2: Entry = Entry {
    name: "r2",
    about: "fair zone allocation policy at less cost (2014): system time and zones looked at",
    run: experiment,
    brief: experiment,
};

/// The two machines: their name and number of nodes.
const MACHINES: [(&str, u8); 2] = [("UMA", 1), ("NUMA", 4)];

/// Published system time: vanilla, checklow, fairzone; by machine.
const SYSTEM: [[f64; 3]; 2] = [[404.41, 393.60, 389.61], [70_148.60, 49_331.48, 44_905.73]];
/// Published user time.
const USER: [[f64; 3]; 2] = [[390.13, 400.85, 396.13], [744.05, 763.26, 778.53]];
/// Published elapsed time.
const ELAPSED: [[f64; 3]; 2] = [[5412.45, 5166.12, 5163.49], [28_094.08, 27_476.72, 27_378.98]];

/// Published system time of the kernels that only change how fields lie (9 July 2014, 3.16-rc3).
const LAYOUTS: [f64; 3] = [65_336.22, 58_350.98, 32_847.27];

/// A figure of a run, for each page read.
type Figure = fn(&Sums) -> f64;

const FIGURES: [(&str, Figure); 10] = [
    ("zones looked at (for each page)", |run| run.each(run.zones)),
    ("counters read (for each page)", |run| run.each(run.reads)),
    ("batches reset (for a thousand pages)", |run| 1000.0 * run.each(run.resets)),
    ("slow paths (for a thousand pages)", |run| 1000.0 * run.each(run.slow)),
    ("pages on another node (for a thousand)", |run| 1000.0 * run.each(run.remote)),
    ("pages taken from balanced zones (for a thousand)", |run| 1000.0 * run.each(run.needless)),
    ("kswapd's share (ns for each page)", |run| run.each(run.kswapd)),
    ("lines fetched (for each page)", |run| run.each(run.lines.transfers)),
    ("fetching lines (ns for each page)", |run| run.each(run.lines.time)),
    ("of it waits for busy lines (ns for each page)", |run| run.each(run.lines.waits)),
];

fn system(run: &Sums) -> f64 {
    run.each(run.readers + run.kswapd)
}

fn of(runs: [&Sums; 2], figure: impl Fn(&Sums) -> f64) -> Pair {
    Pair::of(rounded(figure(runs[0])), rounded(figure(runs[1])))
}

fn rows(name: &str, at: usize, runs: &[Sums; 3]) -> Vec<Row> {
    let mut rows = Vec::new();
    for (patch, kernel) in [(1, "checklow"), (2, "fairzone")] {
        let both = [&runs[0], &runs[patch]];
        let published = |table: [[f64; 3]; 2]| Pair::of(table[at][0], table[at][patch]);
        let row = |figure: &str| format!("{name}, {kernel}: {figure}");
        rows.push(Row::new(&row("system"), true, published(SYSTEM), of(both, system)));
        rows.push(Row::directed(
            &row("system without kswapd"),
            false,
            Pair::default(),
            of(both, |run| run.each(run.readers)),
            Direction::Any,
        ));
        for (figure, get) in FIGURES {
            let simulated = of(both, get);
            rows.push(Row::directed(
                &row(figure),
                false,
                Pair::default(),
                simulated,
                Direction::Any,
            ));
        }
        // Not simulated: user time is the readers' own, elapsed time that of the disk.
        for (figure, table) in [("user", USER), ("elapsed", ELAPSED)] {
            rows.push(Row::directed(
                &row(figure),
                false,
                published(table),
                Pair::default(),
                Direction::Any,
            ));
        }
    }
    rows
}

/// The layouts alone, on four nodes, as the series was measured again in July.
fn layout_rows(vanilla: &Sums) -> Result<Vec<Row>, ExperimentError> {
    let kernels = [Kernel::Regrouped, Kernel::ScannedCounted];
    let runs = side_by_side(&Model::STATED, kernels, 4)?;
    let mut rows = Vec::new();
    for (patch, name) in [(1, "fields regrouped"), (2, "pages scanned counted")] {
        let both = [vanilla, &runs[patch - 1]];
        let row = |figure: &str| format!("NUMA, {name}: {figure}");
        let published = Pair::of(LAYOUTS[0], LAYOUTS[patch]);
        rows.push(Row::new(&row("system"), false, published, of(both, system)));
        for (figure, get) in &FIGURES[FIGURES.len() - 3..] {
            let (figure, simulated) = (row(figure), of(both, get));
            rows.push(Row::directed(&figure, false, Pair::default(), simulated, Direction::Any));
        }
    }
    Ok(rows)
}

/// Each run knows nothing of the others, so threads change no figure.
fn side_by_side<const N: usize>(
    model: &Model,
    kernels: [Kernel; N],
    nodes: u8,
) -> Result<[Sums; N], ExperimentError> {
    let mut sums = [Sums::default(); N];
    thread::scope(|scope| {
        let runs = kernels.map(|kernel| scope.spawn(move || run(model, kernel, nodes)));
        for (sums, run) in sums.iter_mut().zip(runs) {
            *sums = run.join().unwrap_or_else(|panic| resume_unwind(panic))?;
        }
        Ok(sums)
    })
}

fn all(model: &Model, nodes: u8) -> Result<[Sums; 3], ExperimentError> {
    side_by_side(model, Kernel::TABLE, nodes)
}

/// For the sensitivity nodes are smaller, with all parameters as they are as well.
const SENSITIVITY_MIB: u64 = 512;

fn sensitivity(progress: &mut dyn FnMut(String)) -> Result<Vec<Sensitivity>, ExperimentError> {
    let model = Model { node_mib: SENSITIVITY_MIB, ..Model::STATED };
    let as_is = all(&model, 4)?;
    let mut table = Vec::new();
    for (parameter, half, double) in model.variations() {
        progress(format!("r2: {parameter} halved and doubled"));
        let (halved, doubled) = (all(&half, 4)?, all(&double, 4)?);
        for (patch, figure) in [(1, "NUMA system, checklow"), (2, "NUMA system, fairzone")] {
            let ratio = |runs: &[Sums; 3]| of([&runs[0], &runs[patch]], system).ratio();
            table.push(Sensitivity {
                parameter: parameter.to_owned(),
                figure: figure.to_owned(),
                halved: ratio(&halved),
                as_is: ratio(&as_is),
                doubled: ratio(&doubled),
            });
        }
    }
    Ok(table)
}

/// Run R2. `progress` is told what goes on.
///
/// # Errors
/// None in practice: the machines are fixed and boot.
fn experiment(progress: &mut dyn FnMut(String)) -> Result<Experiment, ExperimentError> {
    let model = Model::STATED;
    let mut found = Vec::new();
    for (at, (name, nodes)) in MACHINES.into_iter().enumerate() {
        progress(format!("r2: three kernels on the {name} machine"));
        let runs = all(&model, nodes)?;
        found.extend(rows(name, at, &runs));
        if nodes > 1 {
            progress(format!("r2: layouts alone on the {name} machine"));
            found.extend(layout_rows(&runs[0])?);
        }
    }
    let notes = [
        "base: vanilla 3.16-rc2; patched: the kernel that the row names. fairzone is the end of the \
         series, so it has checklow too, and follows the posting of 30 June 2014 (fair_policy=draft)",
        "system is time in the kernel for each page read, readers and kswapds; published it is the \
         time of a whole run in seconds, so only ratios compare. The review asked whether kswapd's \
         share is in it: the next row leaves it out",
        "rules but for policy and checklow: preset linux_3_17. kswapd as of 3.16 [mem]: it works until \
         every zone of its node is above HIGH, on all zones up to the highest that is not; checklow \
         passes over those that are. Each turn takes a list's size >> 12, at least 32 pages",
        "lines: every line of a zone that several CPUs write is a queue with one server, whose service \
         is the measured transfer and whose load is that of the simulation; checklow and fairzone have \
         the fields regrouped, as their posting. Left out: the lines of the free lists and of pages, the \
         time that locks are held, and whatever all kernels do alike",
        "fields regrouped, pages scanned counted: the posting of 9 July 2014, 3.16-rc3, with NUMA \
         balancing off (it was on in the table of June)",
        "every page is read once, so what kswapd takes too early costs nothing later",
        "the sensitivity is that of nodes of 512 MiB",
    ];
    Ok(Experiment {
        name: R2.name.to_owned(),
        rows: found,
        cost_model: model.parameters(),
        notes: notes.map(str::to_owned).to_vec(),
        histograms: Vec::new(),
        sensitivity: sensitivity(progress)?,
    })
}
