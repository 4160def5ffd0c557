//! The laws: what must hold for any allocator with a capability, whatever its policy.
//!
//! A law is an id, one sentence, a level, when it holds, and a function from an [`Observation`] to
//! `Result<(), Violation>`. It looks only at what the contract shows, and it recomputes what it
//! judges: no law calls the reference or an implementation. An observation carries what its maker
//! could see; a law whose part is missing, or that has nothing to say about this step, holds
//! without counting as exercised.
//!
//! | family | file |
//! |---|---|
//! | who owns which frame | `ownership` |
//! | blocks and lists | `buddy` |
//! | marks and decisions | `watermark` |
//! | per-CPU lists and drains | `drain` |
//! | requests that must be served, bounded work | `progress` |
//! | the slow path and kswapd | `slow` |
//! | nodes: counters, reserves, turns | `nodes` |
//! | compaction | `compaction` |
//! | memory cgroups | `memcg` |
//! | slab caches | `slab` |
//! | counters | `counters` |

mod buddy;
mod compaction;
mod counters;
mod drain;
mod live;
mod memcg;
mod nodes;
mod observation;
mod ownership;
mod progress;
mod reach;
mod slab;
mod slow;
mod watermark;
mod work;

pub use compaction::{CompactGoal, CompactPhase, CompactPicture, CompactSeen, Home};
pub use live::{Live, LiveBlock, Runs};
pub use memcg::{MemcgDid, MemcgHeld, MemcgPicture, MemcgSeen};
pub use observation::{
    Ask, CachedBlock, Decision, FreeBlock, LinuxView, Lists, Numbers, Observation, Past, Probe,
    RunRequest, RunView, Setting, Step, World,
};
pub use slab::{CachePicture, PageAsked, SlabDid, SlabSeen};
pub use slow::{KswapdSeen, SlowSeen};
pub use watermark::{decides_fast, decides_full};

use crate::vocab::Pfn;
use alloc::format;
use alloc::string::String;
use core::fmt;

/// What counts as a bug depends on the allocator's contract: the levels, each stronger in its own
/// way. An allocator is tested at the levels that it promises.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Level {
    /// Blocks lie in managed memory, are aligned, and overlap no live block.
    Safe,
    /// Free + live + cached = managed, and every counter shown is right.
    Conserved,
    /// A request that can be served is served.
    Complete,
    /// After all is freed the state is as at the start, in any order of frees.
    Returns,
    /// The policy's own rules, to the frame.
    Exact,
    /// Misuse and odd input are answered as the contract says.
    Contract,
}

impl Level {
    /// All levels.
    pub const ALL: [Self; 6] =
        [Self::Safe, Self::Conserved, Self::Complete, Self::Returns, Self::Exact, Self::Contract];

    /// The name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Safe => "safe",
            Self::Conserved => "conserved",
            Self::Complete => "complete",
            Self::Returns => "returns",
            Self::Exact => "exact",
            Self::Contract => "contract",
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// When a law can be asked.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum When {
    /// At any moment, also between steps of concurrent callers.
    Always,
    /// While no call runs.
    Quiescent,
    /// While calls come one after another: it compares before and after of one call.
    Sequential,
}

impl When {
    /// The name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Always => "always",
            Self::Quiescent => "quiescent",
            Self::Sequential => "sequential",
        }
    }
}

/// What a law is about.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Family {
    /// Who owns which frame.
    Ownership,
    /// Blocks and free lists.
    Buddy,
    /// Watermarks.
    Watermark,
    /// Per-CPU lists and their drains.
    Drain,
    /// Requests that must be served, and bounded work.
    Progress,
    /// Several nodes and the turns of their zones.
    Nodes,
    /// Compaction.
    Compaction,
    /// Memory cgroups.
    Memcg,
    /// Slab caches.
    Slab,
    /// Counters.
    Counters,
}

impl Family {
    /// The name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ownership => "ownership",
            Self::Buddy => "buddy",
            Self::Watermark => "watermark",
            Self::Drain => "drain",
            Self::Progress => "progress",
            Self::Nodes => "nodes",
            Self::Compaction => "compaction",
            Self::Memcg => "memcg",
            Self::Slab => "slab",
            Self::Counters => "counters",
        }
    }
}

/// A law's function: judge an observation, and count in the second argument how many times
/// something was really compared.
pub type Check = fn(&Observation<'_>, &mut u64) -> Result<(), Broken>;

/// One law.
#[derive(Clone, Copy, Debug)]
pub struct Law {
    /// Kebab-case, stable.
    pub id: &'static str,
    /// What it is about.
    pub family: Family,
    /// One sentence.
    pub statement: &'static str,
    /// The promise that it belongs to.
    pub level: Level,
    /// When it can be asked.
    pub when: When,
    /// Judges.
    pub check: Check,
}

/// What a law found wrong: what it expected and what it saw.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Broken(pub String);

/// A law that does not hold.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("law {law} ({level}): {what}")]
pub struct Violation {
    /// The law's id.
    pub law: &'static str,
    /// Its level.
    pub level: Level,
    /// What was expected and what was seen.
    pub what: String,
}

impl Law {
    /// Judge `observation`; `exercised` grows by the number of real comparisons.
    ///
    /// # Errors
    /// The law does not hold.
    pub fn judge(
        &self,
        observation: &Observation<'_>,
        exercised: &mut u64,
    ) -> Result<(), Violation> {
        (self.check)(observation, exercised).map_err(|broken| Violation {
            law: self.id,
            level: self.level,
            what: broken.0,
        })
    }
}

/// Every law, by family.
pub fn all() -> impl Iterator<Item = &'static Law> + Clone {
    ownership::LAWS
        .iter()
        .chain(buddy::LAWS)
        .chain(watermark::LAWS)
        .chain(drain::LAWS)
        .chain(work::LAWS)
        .chain(progress::LAWS)
        .chain(slow::LAWS)
        .chain(nodes::LAWS)
        .chain(compaction::LAWS)
        .chain(memcg::LAWS)
        .chain(slab::LAWS)
        .chain(counters::LAWS)
}

/// The law with that id.
#[must_use]
pub fn by_id(id: &str) -> Option<&'static Law> {
    all().find(|law| law.id == id)
}

/// A failed comparison in one form.
fn broken<T>(what: impl Into<String>) -> Result<T, Broken> {
    Err(Broken(what.into()))
}

/// Compare two values and count it.
fn equal<T: PartialEq + fmt::Debug>(
    count: &mut u64,
    what: impl FnOnce() -> String,
    expected: T,
    seen: T,
) -> Result<(), Broken> {
    *count += 1;
    if expected == seen {
        Ok(())
    } else {
        broken(format!("{}: expected {expected:?}, saw {seen:?}", what()))
    }
}

/// A condition, counted.
fn holds(count: &mut u64, condition: bool, what: impl FnOnce() -> String) -> Result<(), Broken> {
    *count += 1;
    if condition { Ok(()) } else { broken(what()) }
}

/// A block as it is printed in violations.
fn block(pfn: Pfn, order: crate::vocab::Order) -> String {
    format!("{pfn}@{order}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;

    #[test]
    fn ids_are_unique_kebab_case_and_every_law_says_a_sentence() {
        let mut seen = BTreeSet::new();
        for law in all() {
            assert!(seen.insert(law.id), "{}", law.id);
            let kebab = |byte: u8| byte.is_ascii_lowercase() || byte == b'-';
            assert!(law.id.bytes().all(kebab), "{}", law.id);
            assert!(law.statement.ends_with('.'), "{}", law.id);
            assert_eq!(by_id(law.id).map(|found| found.id), Some(law.id));
        }
        assert!(seen.len() > 30, "{} laws", seen.len());
    }

    #[test]
    fn every_level_has_a_law() {
        for level in Level::ALL {
            assert!(all().any(|law| law.level == level), "{level}");
        }
    }
}
