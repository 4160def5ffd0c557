//! R1: high-order slab pages are not waited for (August 2015, Linux 4.3).
//!
//! hackbench on a machine whose memory is taken at random places: slabs of order 1 and 2 are hard to come by. The
//! base compacts for them, the patched kernel falls back to single pages at once (memcg-slub.md §4.4).

mod machine;
mod model;

use super::{Direction, Entry, Experiment, ExperimentError, Pair, Row, Sensitivity, rounded};
use machine::{Outcome, run};
use mmspec_model::vocab::SlabRules;
use model::Model;

/// R1 by name.
pub(super) const R1: Entry = Entry {
    name: "r1",
    about: "SLUB: high-order slab pages are not waited for (Linux 4.3)",
    run: experiment,
    brief,
};

type Figure = fn(&Outcome) -> f64;

const NOTHING: Pair = Pair { base: None, patched: None };

const FIGURES: [(&str, bool, Pair, Figure); 8] = [
    ("elapsed (s)", true, Pair::of(4.3468, 2.9838), |run| run.elapsed_ns as f64 / 1e9),
    ("compact_stall", true, Pair::of(461.7, 73.6), |run| run.compact_stall as f64),
    ("pgmigrate_success", true, Pair::of(28_315.9, 7_256.1), |run| run.pgmigrate_success as f64),
    ("compact_success", false, NOTHING, |run| run.compact_success as f64),
    ("allocstall", false, NOTHING, |run| run.allocstall as f64),
    ("order_fallback", false, NOTHING, |run| run.order_fallback as f64),
    ("slabs made", false, NOTHING, |run| run.slabs as f64),
    ("requests without memory", false, NOTHING, |run| run.refused as f64),
];

/// Base and patched; sums of all runs.
fn both(model: &Model) -> Result<[Outcome; 2], ExperimentError> {
    let of = |rules| {
        (0..model.runs).try_fold(Outcome::default(), |sum, seed| {
            run(model, rules, seed).map(|outcome| sum.plus(outcome))
        })
    };
    Ok([of(SlabRules::LINUX_4_2)?, of(SlabRules::LINUX_4_3)?])
}

fn pair(runs: &[Outcome; 2], model: &Model, figure: Figure) -> Pair {
    let [base, patched] = runs.each_ref().map(|run| rounded(figure(run) / model.runs as f64));
    Pair::of(base, patched)
}

fn on(model: Model, progress: &mut dyn FnMut(String)) -> Result<Experiment, ExperimentError> {
    progress("r1: 4.2 and 4.3".to_owned());
    let runs = both(&model)?;
    let rows = FIGURES
        .iter()
        .map(|(figure, starred, published, get)| {
            let direction = Direction::published(*published);
            Row::directed(figure, *starred, *published, pair(&runs, &model, *get), direction)
        })
        .collect();
    let notes = [
        "hackbench as compaction.md §7.5 has it: of a message the head (256 bytes) and the data (512). Sockets, inodes, \
         descriptors and page tables are pages of the kernel. Processes stay on their CPU",
        "the figures are of the time from the first fork on; elapsed is the clock of the CPU that worked longest: \
         messages, objects, slabs, and what the slow path and compaction did",
        "allocator: linux_3_17, above order 0 with the check of 4.4 that looks for a block; compaction: linux_5_0, \
         the oldest there is; kcompactd does what kswapd did then",
        "pages taken at random places are of the kernel, and stay; page cache was read before and is clean (the \
         first run had neither that nor the kernel's pages of processes: nothing was short); no swap",
    ];
    Ok(Experiment {
        name: R1.name.to_owned(),
        rows,
        cost_model: model.parameters(),
        notes: notes.map(str::to_owned).to_vec(),
        histograms: Vec::new(),
        sensitivity: Vec::new(),
    })
}

/// Run R1. `progress` is told what goes on.
///
/// # Errors
/// None in practice: the machine is fixed and boots.
fn experiment(progress: &mut dyn FnMut(String)) -> Result<Experiment, ExperimentError> {
    let mut whole = on(Model::STATED, progress)?;
    progress("r1: parameters halved and doubled".to_owned());
    let model = Model::STATED.short(100);
    let as_is = both(&model)?;
    for (parameter, half, double) in model.variations() {
        let runs = [both(&half)?, both(&double)?];
        for (figure, _, _, get) in &FIGURES[..3] {
            // A ratio to nothing says nothing.
            let ratio = |runs: &[Outcome; 2]| pair(runs, &model, *get).ratio().map(rounded);
            whole.sensitivity.push(Sensitivity {
                parameter: parameter.to_owned(),
                figure: (*figure).to_owned(),
                halved: ratio(&runs[0]),
                as_is: ratio(&as_is),
                doubled: ratio(&runs[1]),
            });
        }
    }
    Ok(whole)
}

/// A twentieth of the messages.
fn brief(progress: &mut dyn FnMut(String)) -> Result<Experiment, ExperimentError> {
    on(Model::STATED.short(50), progress)
}
