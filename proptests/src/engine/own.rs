//! Cases of engines that have a language of their own.

use crate::compaction;
use crate::conformance;
use crate::flat;
use crate::memcg::Memcg;
use crate::schedules::Schedule;
use crate::slab::Slab;
use std::fmt;

/// A case in one of these languages.
#[derive(Clone, Debug)]
pub enum OwnCase {
    /// Of the conformance engine.
    Runs(conformance::Case),
    /// Of the compaction engine.
    Compaction(compaction::Case),
    /// Of memory cgroups.
    Memcg(flat::Case<Memcg>),
    /// Of slab caches.
    Slab(flat::Case<Slab>),
}

impl OwnCase {
    /// How many operations.
    #[must_use]
    pub fn operations(&self) -> usize {
        match self {
            Self::Runs(case) => case.steps.len(),
            Self::Compaction(case) => case.acts.len(),
            Self::Memcg(case) => case.ops.len(),
            Self::Slab(case) => case.ops.len(),
        }
    }

    /// The text of one operation.
    #[must_use]
    pub fn op_text(&self, at: usize) -> Option<String> {
        match self {
            Self::Runs(case) => case.steps.get(at).map(ToString::to_string),
            Self::Compaction(case) => case.acts.get(at).map(ToString::to_string),
            Self::Memcg(case) => case.op_text(at),
            Self::Slab(case) => case.op_text(at),
        }
    }

    /// Under which schedule its threads run.
    #[must_use]
    pub const fn schedule(&self) -> Option<&Schedule> {
        match self {
            Self::Runs(_) | Self::Compaction(_) => None,
            Self::Memcg(case) => case.schedule.as_ref(),
            Self::Slab(case) => case.schedule.as_ref(),
        }
    }

    /// The ending of its files.
    #[must_use]
    pub const fn ending(&self) -> &'static str {
        match self {
            Self::Runs(_) => "runs",
            Self::Compaction(_) => "mmc",
            Self::Memcg(_) => "mcg",
            Self::Slab(_) => "slb",
        }
    }

    /// Whether `mmspec replay` can play it: not where the allocator under test is its author's.
    #[must_use]
    pub const fn replays(&self) -> bool {
        !matches!(self, Self::Runs(_))
    }
}

impl fmt::Display for OwnCase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Runs(case) => case.fmt(f),
            Self::Compaction(case) => case.fmt(f),
            Self::Memcg(case) => case.fmt(f),
            Self::Slab(case) => case.fmt(f),
        }
    }
}

impl From<conformance::Case> for OwnCase {
    fn from(case: conformance::Case) -> Self {
        Self::Runs(case)
    }
}

impl From<compaction::Case> for OwnCase {
    fn from(case: compaction::Case) -> Self {
        Self::Compaction(case)
    }
}

impl From<flat::Case<Memcg>> for OwnCase {
    fn from(case: flat::Case<Memcg>) -> Self {
        Self::Memcg(case)
    }
}

impl From<flat::Case<Slab>> for OwnCase {
    fn from(case: flat::Case<Slab>) -> Self {
        Self::Slab(case)
    }
}
