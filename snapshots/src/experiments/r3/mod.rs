//! R3: huge pages under the pressure of a memory cgroup (September 2014, Linux 3.19).
//!
//! A group whose files fill it takes huge faults. The charge of a huge page reclaims in rounds of 32 pages until
//! one page is free (3.18), or asks for all 512 (3.19): memcg-slub.md §2.14.

mod machine;
mod model;

use super::{Direction, Entry, Experiment, ExperimentError, Pair, Row, Sensitivity, rounded};
use machine::{Outcome, run};
use mmspec_model::vocab::MemcgRules;
use model::Model;

/// R3 by name.
pub(super) const R3: Entry = Entry {
    name: "r3",
    about: "memory cgroups: huge pages under pressure (Linux 3.19)",
    run: experiment,
    brief,
};

type Figure = fn(&Outcome) -> u64;

const NOTHING: Pair = Pair { base: None, patched: None };

/// Figures, whether they are starred, and what was published.
const FIGURES: [(&str, bool, Pair, Figure); 10] = [
    ("pgalloc", false, Pair::of(4_717_530.8, 4_451_376.4), |run| run.pgalloc),
    ("pgfault", true, Pair::of(491_370.6, 225_477.4), |run| run.pgfault),
    ("thp_fault_alloc", true, Pair::of(0.0, 531.6), |run| run.thp_fault_alloc),
    ("thp_fault_fallback", true, Pair::of(749.0, 217.4), |run| run.thp_fault_fallback),
    ("compact_stall", false, NOTHING, |run| run.compact_stall),
    ("compact_success", false, NOTHING, |run| run.compact_success),
    ("pages migrated", false, NOTHING, |run| run.migrated),
    ("pages reclaimed", false, NOTHING, |run| run.reclaimed),
    ("events max", false, NOTHING, |run| run.max_events),
    ("faults and reads without memory", false, NOTHING, |run| run.failed),
];

fn both(model: &Model) -> Result<[Outcome; 2], ExperimentError> {
    Ok([run(model, MemcgRules::LINUX_3_18, 1)?, run(model, MemcgRules::LINUX_3_19, 1)?])
}

fn pair([base, patched]: &[Outcome; 2], figure: Figure) -> Pair {
    Pair::of(figure(base) as f64, figure(patched) as f64)
}

fn on(model: Model, progress: &mut dyn FnMut(String)) -> Result<Experiment, ExperimentError> {
    progress("r3: 3.18 and 3.19".to_owned());
    let runs = both(&model)?;
    let rows = FIGURES
        .iter()
        .map(|(figure, starred, published, get)| {
            let direction = Direction::published(*published);
            Row::directed(figure, *starred, *published, pair(&runs, *get), direction)
        })
        .collect();
    let [base, patched] = runs;
    let attempts = |run: &Outcome| run.thp_fault_alloc + run.thp_fault_fallback;
    let spared = base.pgfault.abs_diff(patched.pgfault);
    let notes = [
        format!(
            "identities: attempts at a huge page {} and {} (the same); {spared} faults fewer for {} huge pages \
             more (511 each)",
            attempts(&base),
            attempts(&patched),
            patched.thp_fault_alloc - base.thp_fault_alloc,
        ),
        "who the group was and what it ran on is not published. Here the load is computed from the published \
         counters, and others filled half of the memory outside the group with page cache before. With all of it \
         filled, which was the first assumption, huge pages are short in both kernels (the sensitivity)"
            .to_owned(),
        "allocator: linux_3_17; compaction: linux_5_0, the oldest there is; kcompactd does what kswapd did then. A \
         charge is one step: nobody else charges or frees while it reclaims. Global reclaim takes as much from \
         the group as from others"
            .to_owned(),
        "files are read, not mapped: no major faults. No swap".to_owned(),
    ];
    Ok(Experiment {
        name: R3.name.to_owned(),
        rows,
        cost_model: model.parameters(),
        notes: notes.to_vec(),
        histograms: Vec::new(),
        sensitivity: Vec::new(),
    })
}

/// Run R3. `progress` is told what goes on.
///
/// # Errors
/// None in practice: the machine is fixed and boots.
fn experiment(progress: &mut dyn FnMut(String)) -> Result<Experiment, ExperimentError> {
    let mut whole = on(Model::STATED, progress)?;
    progress("r3: parameters halved and doubled".to_owned());
    let model = Model::STATED.part(4);
    let as_is = both(&model)?;
    for (parameter, half, double) in model.variations() {
        let (half, double) = (both(&half)?, both(&double)?);
        for (figure, get) in [
            ("thp_fault_fallback", (|run: &Outcome| run.thp_fault_fallback) as Figure),
            ("pgfault", |run| run.pgfault),
        ] {
            let ratio = |runs: &[Outcome; 2]| pair(runs, get).ratio().map(rounded);
            whole.sensitivity.push(Sensitivity {
                parameter: parameter.to_owned(),
                figure: figure.to_owned(),
                halved: ratio(&half),
                as_is: ratio(&as_is),
                doubled: ratio(&double),
            });
        }
    }
    Ok(whole)
}

/// An eighth of machine and load.
fn brief(progress: &mut dyn FnMut(String)) -> Result<Experiment, ExperimentError> {
    on(Model::STATED.part(8), progress)
}
