//! Published results, reproduced: one experiment each, base against patched, on the allocator of
//! this repository and a machine of stated costs.
//!
//! An experiment is a function that gives an [`Experiment`]: rows with the published and the
//! simulated figure, the cost model that they rest on, and how the ratios move when a parameter is
//! halved or doubled: those without a source, in R2 all. Nothing is fitted: costs and loads are fixed
//! first, from their sources or from the middle of a stated range, and a ratio outside its window
//! stays. All of it is a function of the code: two runs give the same bytes.

mod known;
mod r1;
mod r2;
mod r3;
mod r4;
mod r5;
mod render;

pub use render::{csv, json, text};

use serde::Serialize;

/// Base and patched.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct Pair {
    /// Before the change. `None` where there is no figure.
    pub base: Option<f64>,
    /// After it.
    pub patched: Option<f64>,
}

impl Pair {
    /// Both figures.
    #[must_use]
    pub const fn of(base: f64, patched: f64) -> Self {
        Self { base: Some(base), patched: Some(patched) }
    }

    /// patched / base.
    #[must_use]
    pub fn ratio(&self) -> Option<f64> {
        match (self.base, self.patched) {
            (Some(base), Some(patched)) if base != 0.0 => Some(patched / base),
            _ => None,
        }
    }
}

/// Which way a figure must go from base to patched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// It falls.
    Down,
    /// It rises.
    Up,
    /// It does not rise by more than one in a hundred.
    NotUp,
    /// Nothing is said of it.
    Any,
}

impl Direction {
    /// The way that the published figures went.
    #[must_use]
    pub fn published(pair: Pair) -> Self {
        match (pair.base, pair.patched) {
            (Some(base), Some(patched)) if patched < base => Self::Down,
            (Some(base), Some(patched)) if patched > base => Self::Up,
            _ => Self::Any,
        }
    }

    /// Whether simulated figures went that way.
    #[must_use]
    pub fn holds(self, simulated: Pair) -> bool {
        let (Some(base), Some(patched)) = (simulated.base, simulated.patched) else {
            return self == Self::Any;
        };
        match self {
            Self::Down => patched < base,
            Self::Up => patched > base,
            Self::NotUp => patched <= base * 1.01,
            Self::Any => true,
        }
    }
}

/// One figure.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Row {
    /// Its name, with the unit.
    pub figure: String,
    /// Its direction must agree with the published one.
    pub starred: bool,
    /// As published.
    pub published: Pair,
    /// As simulated.
    pub simulated: Pair,
    /// It went the published way, or no way was published.
    pub direction_ok: bool,
    /// A way was published.
    #[serde(skip)]
    pub judged: bool,
}

impl Row {
    /// A row whose direction is that of the published figures.
    #[must_use]
    pub fn new(figure: &str, starred: bool, published: Pair, simulated: Pair) -> Self {
        Self::directed(figure, starred, published, simulated, Direction::published(published))
    }

    /// A row whose direction was published in words.
    #[must_use]
    pub fn directed(
        figure: &str,
        starred: bool,
        published: Pair,
        simulated: Pair,
        direction: Direction,
    ) -> Self {
        let direction_ok = direction.holds(simulated);
        let judged = direction != Direction::Any;
        Self { figure: figure.to_owned(), starred, published, simulated, direction_ok, judged }
    }
}

/// A number that the simulation rests on.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Parameter {
    /// What it is.
    pub name: String,
    /// The value used.
    pub value: f64,
    /// Its unit.
    pub unit: String,
    /// Where it is from; "no source" if it is the middle of its range.
    pub source: String,
    /// What is plausible, where there is no source.
    pub range: Option<(f64, f64)>,
}

/// How a ratio moves with a parameter.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Sensitivity {
    /// The parameter.
    pub parameter: String,
    /// The figure.
    pub figure: String,
    /// patched / base with the parameter halved, as it is, and doubled.
    pub halved: Option<f64>,
    /// As in the rows.
    pub as_is: Option<f64>,
    /// Doubled.
    pub doubled: Option<f64>,
}

/// A count for each bucket.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Histogram {
    /// What is counted.
    pub figure: String,
    /// The upper end of each bucket, not included; the last has none.
    pub below: Vec<f64>,
    /// Counts by bucket.
    pub base: Vec<u64>,
    /// The same, patched.
    pub patched: Vec<u64>,
}

/// What an experiment found.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Experiment {
    /// Its name on the command line.
    pub name: String,
    /// The figures.
    pub rows: Vec<Row>,
    /// What they rest on.
    pub cost_model: Vec<Parameter>,
    /// What is to be said of them.
    pub notes: Vec<String>,
    /// Distributions behind them.
    pub histograms: Vec<Histogram>,
    /// How they move with the parameters.
    pub sensitivity: Vec<Sensitivity>,
}

impl Experiment {
    /// Every starred row went the published way.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.rows.iter().all(|row| row.direction_ok || !row.starred)
    }
}

/// Why an experiment could not run.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ExperimentError {
    /// Its machine does not boot.
    #[error("the simulated machine does not boot: {0}")]
    Boot(#[from] mmspec_impl::SetupError),
}

/// An experiment that can be run by name.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The name on the command line.
    pub name: &'static str,
    /// One line on what is reproduced.
    pub about: &'static str,
    /// Run it; the argument is told what goes on.
    pub run: Run,
    /// The same on less, where the whole takes minutes: what tests run and review.
    pub brief: Run,
}

/// Runs an experiment, telling what goes on.
pub type Run = fn(&mut dyn FnMut(String)) -> Result<Experiment, ExperimentError>;

/// Every experiment.
pub const EXPERIMENTS: [Entry; 5] = [r1::R1, r2::R2, r3::R3, r4::R4, r5::R5];

/// The experiment of that name.
#[must_use]
pub fn by_name(name: &str) -> Option<Entry> {
    EXPERIMENTS.into_iter().find(|entry| entry.name == name)
}

/// `value` to three places: enough for any figure, and free of noise in the last bits.
#[must_use]
pub fn rounded(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_goes_the_published_way_or_not() {
        let published = Pair::of(4.3468, 2.9838);
        assert!(Row::new("elapsed", true, published, Pair::of(10.0, 9.0)).direction_ok);
        assert!(!Row::new("elapsed", true, published, Pair::of(10.0, 10.0)).direction_ok);
        let gone = Pair { base: Some(1.0), patched: None };
        assert!(Row::new("waits", false, gone, Pair::of(1.0, 2.0)).direction_ok);
        let directed = |pair| Row::directed("path", true, Pair::default(), pair, Direction::NotUp);
        assert!(directed(Pair::of(100.0, 100.9)).direction_ok);
        assert!(!directed(Pair::of(100.0, 102.0)).direction_ok);
        assert!(!Direction::Up.holds(Pair::default()));
    }

    #[test]
    fn only_starred_rows_decide() {
        let published = Pair::of(2.0, 1.0);
        let wrong = |starred| Row::new("f", starred, published, Pair::of(1.0, 2.0));
        let of = |rows| Experiment {
            name: "x".to_owned(),
            rows,
            cost_model: Vec::new(),
            notes: Vec::new(),
            histograms: Vec::new(),
            sensitivity: Vec::new(),
        };
        assert!(of(vec![wrong(false)]).holds());
        assert!(!of(vec![wrong(false), wrong(true)]).holds());
    }
}
