//! Memory cgroups: where every charged page is, and what a call may do (memcg-slub.md §5).
//!
//! A ledger of what the harness charged stands against what the groups show. Nothing is recomputed by the
//! rules of a charge: the laws hold for any order of batches, stocks and drains.

mod calls;
mod conserve;

use super::{Family, Law, Level, Observation, When};
use crate::contract::{MemcgCall, MemcgDone, MemcgStep};
use crate::vocab::{MemcgId, MemcgRules, MemcgState, StockState};
use alloc::vec::Vec;

/// All that is to be seen of memory cgroups at one moment.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct MemcgPicture {
    /// Groups by id.
    pub groups: Vec<MemcgState>,
    /// Stocks by CPU.
    pub stocks: Vec<StockState>,
}

/// What the harness holds of one group, or of the objcg made with it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct MemcgHeld {
    /// Pages of folios.
    pub folios: u64,
    /// Objects.
    pub objects: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Kernel pages.
    pub kernel_pages: u64,
    /// Swap entries.
    pub swap: u64,
}

/// What was just done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MemcgDid<'a> {
    /// A call was begun, and went on to its end.
    Call {
        /// Which.
        call: MemcgCall,
        /// What it asked for on the way.
        steps: &'a [MemcgStep],
        /// How it ended.
        done: MemcgDone,
    },
    /// Effective protection was computed.
    Protection {
        /// Root of the reclaim.
        root: MemcgId,
        /// Of whom.
        memcg: MemcgId,
        /// emin and elow.
        effective: (u64, u64),
    },
    /// Something else.
    Other,
}

/// One operation on memory cgroups, looked at while no other is underway.
#[derive(Clone, Copy, Debug)]
pub struct MemcgSeen<'a> {
    /// The switches.
    pub rules: MemcgRules,
    /// Before it; `None`: calls ran side by side.
    pub before: Option<&'a MemcgPicture>,
    /// After it.
    pub after: &'a MemcgPicture,
    /// What the harness holds, by group.
    pub held: &'a [MemcgHeld],
    /// What was done.
    pub did: MemcgDid<'a>,
}

impl MemcgSeen<'_> {
    /// Groups with their ids.
    fn groups(&self) -> impl Iterator<Item = (MemcgId, &MemcgState)> {
        self.after.groups.iter().enumerate().map(|(id, group)| (MemcgId(id as u16), group))
    }

    fn held(&self, memcg: MemcgId) -> MemcgHeld {
        self.held.get(usize::from(memcg.0)).copied().unwrap_or_default()
    }

    /// Pages that stocks keep for a group.
    fn stocked(&self, memcg: MemcgId) -> u64 {
        let slots = self.after.stocks.iter().flat_map(|stock| stock.slots.iter().flatten());
        slots.filter(|slot| slot.memcg == memcg).map(|slot| u64::from(slot.pages)).sum()
    }
}

impl MemcgPicture {
    /// A group; ids come from the pictures themselves.
    fn group(&self, memcg: MemcgId) -> Option<&MemcgState> {
        self.groups.get(usize::from(memcg.0))
    }

    /// From a group to the root.
    fn levels(&self, memcg: MemcgId) -> Vec<MemcgId> {
        let mut levels = Vec::new();
        let mut at = Some(memcg);
        // A tree that is no tree must not hang the judge.
        while let Some(level) = at.filter(|_| levels.len() <= self.groups.len()) {
            levels.push(level);
            at = self.group(level).and_then(|group| group.parent);
        }
        levels
    }
}

const fn law(
    id: &'static str,
    statement: &'static str,
    level: Level,
    when: When,
    check: super::Check,
) -> Law {
    Law { id, family: Family::Memcg, statement, level, when, check }
}

/// The call that an observation shows.
fn seen<'a>(observation: &Observation<'a>) -> Option<&'a MemcgSeen<'a>> {
    observation.memcg
}

pub(super) const LAWS: &[Law] = &[
    law(
        "memcg-usage",
        "A group's usage is what is in use, stocked and charged for objects in it and below it, through whichever walk it was charged.",
        Level::Conserved,
        When::Quiescent,
        conserve::usage,
    ),
    law(
        "memcg-swap",
        "A group's swap usage is the swap entries recorded for it and below it.",
        Level::Conserved,
        When::Quiescent,
        conserve::swap,
    ),
    law(
        "memcg-objects",
        "Pages charged for objects are the objects' bytes, the bytes in stocks, and those kept centrally.",
        Level::Conserved,
        When::Quiescent,
        conserve::objects,
    ),
    law(
        "memcg-objects-whole",
        "Without live objects an objcg keeps whole pages.",
        Level::Conserved,
        When::Quiescent,
        conserve::whole,
    ),
    law(
        "memcg-references",
        "A group is held by its pages, objects, swap entries, stocks and children, and by nothing else.",
        Level::Conserved,
        When::Quiescent,
        conserve::references,
    ),
    law(
        "memcg-stock",
        "A CPU keeps at most a batch of pages for a group, in one slot, and none for the root.",
        Level::Safe,
        When::Always,
        conserve::stock,
    ),
    law(
        "memcg-children",
        "What a group counts as claimed by its children is the sum of their claims.",
        Level::Conserved,
        When::Quiescent,
        conserve::children,
    ),
    law(
        "memcg-claims",
        "A group claims its usage, up to its setting.",
        Level::Exact,
        When::Sequential,
        conserve::claims,
    ),
    law(
        "memcg-peaks",
        "A peak is never below usage, and a peak since a reset never above the peak of all time.",
        Level::Conserved,
        When::Sequential,
        conserve::peaks,
    ),
    law(
        "memcg-events",
        "Events of a group are its own and those of its children.",
        Level::Conserved,
        When::Quiescent,
        conserve::events,
    ),
    law(
        "memcg-removed",
        "A removed group protects nothing, and its objects belong to the nearest group online.",
        Level::Exact,
        When::Quiescent,
        conserve::removed,
    ),
    law(
        "memcg-limit",
        "What a charge within limits adds fits every limit on its way.",
        Level::Safe,
        When::Sequential,
        calls::limit,
    ),
    law(
        "memcg-failed",
        "A charge that fails without waiting leaves usage as it was, on every level.",
        Level::Conserved,
        When::Sequential,
        calls::failed,
    ),
    law(
        "memcg-nofail",
        "A charge that may not fail does not.",
        Level::Complete,
        When::Always,
        calls::nofail,
    ),
    law(
        "memcg-nowait",
        "A charge that may not wait does not ask for reclaim, for a victim, or for sleep.",
        Level::Exact,
        When::Always,
        calls::nowait,
    ),
    law(
        "memcg-goal",
        "Reclaim for a charge is asked for the whole of it, and for 32 pages at least.",
        Level::Exact,
        When::Always,
        calls::goal,
    ),
    law(
        "memcg-patience",
        "NORETRY reclaims at most twice for each level and kills nobody; RETRY_MAYFAIL kills nobody; no charge of more than eight pages does.",
        Level::Exact,
        When::Always,
        calls::patience,
    ),
    law(
        "memcg-sleep",
        "A task over memory.high sleeps more than a hundredth of a second and at most two seconds, and only after reclaim.",
        Level::Exact,
        When::Always,
        calls::sleep,
    ),
    law(
        "memcg-root",
        "The root has no limit, and a charge of it changes nothing.",
        Level::Contract,
        When::Sequential,
        calls::root,
    ),
    law(
        "memcg-protection",
        "Effective protection is within the parent's, within usage where only claims count, and nothing for the target of a reclaim.",
        Level::Exact,
        When::Sequential,
        calls::protection,
    ),
];
