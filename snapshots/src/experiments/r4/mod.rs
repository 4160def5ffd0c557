//! R4: remote drain of per-CPU lists (Linux 6.0, 2022-06).
//!
//! CPUs are busy for stretches without a reschedule, drains are triggered 100 times a second. Up to
//! 5.19 a drain waits until every CPU that has pages comes to its worker; from 6.0 on the drainer
//! takes the locks of the lists itself (page_alloc.md §2.7, §2.9). Both run on the allocator of this
//! repository, under the rules of Linux 6.1 but for this one switch.

mod machine;
mod model;

use super::{
    Direction, Entry, Experiment, ExperimentError, Histogram, Pair, Row, Sensitivity, rounded,
};
use machine::{Outcome, run};
use mmspec_model::vocab::DrainScheme;
use model::Model;

/// R4 by name.
pub(super) const R4: Entry = Entry {
    name: "r4",
    about: "remote drain of per-CPU lists (Linux 6.0): how long drains wait",
    run: experiment,
    brief: experiment,
};

/// Ends of the buckets: powers of ten from a microsecond to a second.
const BELOW: [f64; 7] = [1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9];

/// Base and patched.
fn both(model: &Model) -> Result<(Outcome, Outcome), ExperimentError> {
    Ok((run(model, DrainScheme::WorkItem)?, run(model, DrainScheme::Remote)?))
}

fn pair(runs: &(Outcome, Outcome), figure: impl Fn(&Outcome) -> f64) -> Pair {
    Pair::of(rounded(figure(&runs.0)), rounded(figure(&runs.1)))
}

fn gone(base: f64) -> Pair {
    Pair { base: Some(base), patched: None }
}

fn rows(runs: &(Outcome, Outcome)) -> Vec<Row> {
    let pairs = runs.0.pairs.max(1) as f64;
    let failures =
        |run: &Outcome| run.trylock_failures as f64 * 1e6 / (2.0 * run.pairs.max(1) as f64);
    vec![
        Row::directed(
            "worst wait of a drain (ns)",
            true,
            gone(166_713_013.0),
            pair(runs, Outcome::worst),
            Direction::Down,
        ),
        Row::directed(
            "mean wait of a drain (ns)",
            true,
            gone(487_511.8),
            pair(runs, Outcome::mean),
            Direction::Down,
        ),
        Row::directed(
            "drains waited for",
            false,
            gone(1283.0),
            pair(runs, |run| run.waits.len() as f64),
            Direction::Any,
        ),
        Row::directed(
            "drains given up, another was underway",
            false,
            Pair::default(),
            pair(runs, |run| run.busy as f64),
            Direction::Any,
        ),
        Row::new(
            "throughput (base = 1)",
            true,
            Pair::of(1.0, 1.05),
            Pair::of(1.0, runs.1.pairs as f64 / pairs),
        ),
        Row::directed(
            "fast path (ns for a pair of requests)",
            false,
            Pair::default(),
            pair(runs, Outcome::ns_per_pair),
            Direction::NotUp,
        ),
        Row::directed(
            "trylock failures (in a million requests)",
            false,
            Pair::default(),
            pair(runs, failures),
            Direction::Any,
        ),
    ]
}

fn histogram(runs: &(Outcome, Outcome)) -> Histogram {
    let counts = |run: &Outcome| {
        let mut counts = vec![0; BELOW.len() + 1];
        for wait in &run.waits {
            counts[BELOW.iter().take_while(|end| **end <= *wait as f64).count()] += 1;
        }
        counts
    };
    Histogram {
        figure: "waits of drains (ns), in powers of ten".to_owned(),
        below: BELOW.to_vec(),
        base: counts(&runs.0),
        patched: counts(&runs.1),
    }
}

/// What of an outcome the sensitivity is asked for.
type Figure = (&'static str, fn(&Outcome) -> f64);

const FIGURES: [Figure; 3] = [
    ("worst wait", Outcome::worst),
    ("mean wait", Outcome::mean),
    ("throughput", |run| run.pairs as f64),
];

/// For the sensitivity a part of the time is simulated, with all parameters as they are as well.
const SENSITIVITY_S: u64 = 10;

fn sensitivity(
    model: Model,
    progress: &mut dyn FnMut(String),
) -> Result<Vec<Sensitivity>, ExperimentError> {
    let model = Model { simulated_s: SENSITIVITY_S, ..model };
    let as_is = both(&model)?;
    let mut all = Vec::new();
    for (parameter, half, double) in model.variations() {
        progress(format!("r4: {parameter} halved and doubled"));
        let (halved, doubled) = (both(&half)?, both(&double)?);
        for (figure, of) in FIGURES {
            let ratio = |runs: &(Outcome, Outcome)| Pair::of(of(&runs.0), of(&runs.1)).ratio();
            all.push(Sensitivity {
                parameter: parameter.to_owned(),
                figure: figure.to_owned(),
                halved: ratio(&halved),
                as_is: ratio(&as_is),
                doubled: ratio(&doubled),
            });
        }
    }
    Ok(all)
}

/// Run R4. `progress` is told what goes on.
///
/// # Errors
/// None in practice: the machine is fixed and boots.
fn experiment(progress: &mut dyn FnMut(String)) -> Result<Experiment, ExperimentError> {
    let model = Model::STATED;
    progress("r4: base and patched".to_owned());
    let runs = both(&model)?;
    let notes = [
        "base: rules of Linux 6.1 with drain_scheme=work_item; patched: drain_scheme=remote",
        "published: drain_all_pages met 1283 times in the base; after the change these waits are \
         gone, without figures; throughput about 5 % better under netperf and hackbench; no \
         regression of the fast path",
        "throughput here is that of bursts of requests with fixed time between them: only the time \
         that workers and busy locks take from them is seen, not what else netperf and hackbench do",
        "the fast path costs the same hit under both schemes: what disabling interrupts costs is \
         not part of the switch",
        "the sensitivity is that of the first 10 simulated seconds",
        "stretches: log-uniform from 1 microsecond to the longest short one; one in so many \
         log-uniform from there to the longest",
    ];
    Ok(Experiment {
        name: R4.name.to_owned(),
        rows: rows(&runs),
        cost_model: model.parameters(),
        notes: notes.map(str::to_owned).to_vec(),
        histograms: vec![histogram(&runs)],
        sensitivity: sensitivity(model, progress)?,
    })
}
