//! What the threads of a case have, and what may be charged at each level while they run.

use super::language::{Memcg, Verb};
use crate::engine::Finding;
use crate::flat::Case;
use mmspec_model::contract::{ChargeTask, MemcgCall, MemcgDone, MemcgStep};
use mmspec_model::laws::MemcgHeld;
use mmspec_model::vocab::{Gfp, MemcgId, MemcgState};

/// A call that ended.
pub(super) type Ended = (MemcgCall, Vec<MemcgStep>, MemcgDone);

/// Shared by the threads. Its lock is a plain one: it is not held where others may run.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    /// Parents by group.
    pub(super) parents: Vec<Option<u16>>,
    pub(super) held: Vec<MemcgHeld>,
    /// Of the folios, how many can be reclaimed.
    pub(super) cache: Vec<u64>,
    /// Bytes of live objects.
    pub(super) objects: Vec<Vec<u32>>,
    /// Pages that one reclaim has at most.
    pub(super) most: u64,
    pub(super) killer: bool,
    /// Groups that somebody removes or removed.
    pub(super) removed: Vec<bool>,
    /// The first thing found.
    pub(super) finding: Option<Finding>,
    /// Calls that ended while threads ran.
    pub(super) ended: Vec<Ended>,
    /// What usage may be at most, by level: what is held, attempts under way, and what is being uncharged.
    upper: Vec<u64>,
    /// By thread: the highest that `upper` was during its charge.
    flights: Vec<Option<Vec<u64>>>,
    /// What the case allows to be judged.
    pub(super) rules: Judged,
}

/// What can be said of a case's levels while threads run.
#[derive(Clone, Debug, Default)]
pub(super) struct Judged {
    /// Limits after the part done alone.
    max: Vec<u64>,
    /// Levels whose limit no thread writes, and below which nothing is forced (memcg-slub.md §1.5, strong property).
    strict: Vec<bool>,
    /// Levels whose usage is within the limit when threads are done: limits may be set by version 1's rule.
    pub(super) within: Vec<bool>,
    /// Levels whose limit is constant.
    constant: Vec<bool>,
    /// What stocks may keep of a level.
    stock: Vec<u64>,
    /// Failures can be explained: no object is charged, no group comes or goes.
    failures: bool,
    batch: u64,
}

/// Whether a charge may go over limits.
fn is_forced(gfp: Gfp, flags: u8) -> bool {
    gfp.intersects(Gfp::NOFAIL | Gfp::HIGH) || flags & ChargeTask::MEMALLOC.bits() != 0
}

impl Judged {
    /// Of a case whose groups are as in `states` when threads begin.
    pub(super) fn of(case: &Case<Memcg>, states: &[MemcgState]) -> Self {
        let verbs = |wanted: &[Verb]| case.ops.iter().any(|op| wanted.contains(&op.verb));
        let charges = |verb: Verb| matches!(verb, Verb::Charge | Verb::Object | Verb::Pages);
        let forced = verbs(&[Verb::Replace])
            || case.ops.iter().any(|op| charges(op.verb) && is_forced(op.gfp, op.flags));
        let begins = case.ops.iter().position(|op| op.verb == Verb::Together).unwrap_or(0);
        let threads = &case.ops[begins..];
        let writes = |verb: Verb, level: usize| {
            threads.iter().any(|op| op.verb == verb && usize::from(op.id) == level)
        };
        let batch = u64::from(case.rules.batch);
        let mut stock = vec![0; states.len()];
        for (group, _) in states.iter().enumerate() {
            let stocks = case.ops.iter().any(|op| {
                let small = charges(op.verb) && op.n < batch || op.verb == Verb::Refill;
                usize::from(op.id) == group && small
            });
            let mut at = Some(group).filter(|_| stocks);
            while let Some(level) = at {
                stock[level] += batch * u64::from(case.cpus);
                at = states[level].parent.map(|parent| usize::from(parent.0));
            }
        }
        let levels = 0..states.len();
        let constant: Vec<bool> = levels
            .clone()
            .map(|level| !writes(Verb::Max, level) && !writes(Verb::MaxV1, level))
            .collect();
        let fits = |level: usize| states[level].memory.usage <= states[level].memory.max && !forced;
        Self {
            max: states.iter().map(|state| state.memory.max).collect(),
            strict: levels.clone().map(|level| constant[level] && fits(level)).collect(),
            within: levels.map(|level| !writes(Verb::Max, level) && fits(level)).collect(),
            constant,
            stock,
            failures: !verbs(&[Verb::Object, Verb::Remove])
                && !threads.iter().any(|op| op.verb == Verb::Create),
            batch,
        }
    }
}

impl Ledger {
    /// The root alone.
    pub(super) fn new(threads: u16) -> Self {
        let mut ledger = Self { most: 1000, killer: true, ..Self::default() };
        ledger.add(0, None);
        ledger.flights = vec![None; usize::from(threads)];
        ledger
    }

    /// A group that was made.
    pub(super) fn add(&mut self, id: usize, parent: Option<u16>) {
        let groups = self.held.len().max(id + 1);
        self.held.resize(groups, MemcgHeld::default());
        self.cache.resize(groups, 0);
        self.objects.resize(groups, Vec::new());
        self.parents.resize(groups, None);
        self.removed.resize(groups, false);
        self.upper.resize(groups, 0);
        self.parents[id] = parent;
    }

    pub(super) fn levels(&self, memcg: MemcgId) -> Vec<usize> {
        let mut levels = Vec::new();
        let mut at = Some(memcg.0);
        while let Some(level) = at.map(usize::from) {
            levels.push(level);
            at = self.parents.get(level).copied().flatten();
        }
        levels
    }

    /// Groups at and below `root`.
    pub(super) fn below(&self, root: MemcgId) -> Vec<MemcgId> {
        let all = (0..self.held.len()).map(|id| MemcgId(id as u16));
        all.filter(|memcg| self.levels(*memcg).contains(&usize::from(root.0))).collect()
    }

    /// Usage may be higher by so much from here on.
    pub(super) fn raise(&mut self, memcg: MemcgId, pages: u64) {
        for level in self.levels(memcg) {
            self.upper[level] += pages;
            for flight in self.flights.iter_mut().flatten() {
                if flight.len() <= level {
                    flight.resize(level + 1, 0);
                }
                flight[level] = flight[level].max(self.upper[level]);
            }
        }
    }

    /// It cannot be any more.
    pub(super) fn lower(&mut self, memcg: MemcgId, pages: u64) {
        for level in self.levels(memcg) {
            self.upper[level] -= pages;
        }
    }

    /// A charge of `pages` begins.
    pub(super) fn begins(&mut self, thread: usize, memcg: MemcgId, pages: u64) {
        self.flights[thread] = Some(self.upper.clone());
        self.raise(memcg, pages.max(self.rules.batch));
    }

    /// It ends: with the pages, or it failed.
    pub(super) fn ends(&mut self, thread: usize, memcg: MemcgId, pages: u64, charged: bool) {
        let attempt = pages.max(self.rules.batch);
        self.lower(memcg, if charged { attempt - pages } else { attempt });
        let Some(peak) = self.flights[thread].take() else { return };
        if charged || !self.rules.failures || self.finding.is_some() {
            return;
        }
        let rules = &self.rules;
        let explained = self.levels(memcg).into_iter().any(|level| {
            let Some(max) = rules.max.get(level) else { return true };
            // The call's own attempt is in the peak.
            let others = peak[level].saturating_sub(attempt) + rules.stock[level];
            !rules.constant[level] || others + pages > *max
        });
        if !explained {
            let what = format!(
                "a charge of {pages} pages of {memcg} failed although all that others had and tried meanwhile left \
                 room for it: {:?}, with stocks of {:?}, limits {:?}",
                peak, rules.stock, rules.max
            );
            self.finding = Some(Finding { kind: "allowed-failure".to_owned(), what, at: None });
        }
    }

    /// It ends without having attempted anything, or what it charged is the root's.
    pub(super) fn rules_out(&mut self, thread: usize, memcg: MemcgId, pages: u64) {
        self.lower(memcg, pages.max(self.rules.batch));
        self.flights[thread] = None;
    }

    /// Something was charged: what is charged and not given back fits the limits (§1.5).
    pub(super) fn committed(&mut self) {
        let mut sums = vec![0; self.held.len()];
        for (group, held) in self.held.iter().enumerate() {
            // Kernel pages of removed groups count elsewhere.
            let kernel = if self.removed.contains(&true) { 0 } else { held.kernel_pages };
            for level in self.levels(MemcgId(group as u16)) {
                sums[level] += held.folios + kernel;
            }
        }
        let judged = self.rules.strict.iter().zip(&self.rules.max).zip(&sums).enumerate();
        let over = judged.into_iter().find(|(_, ((strict, max), sum))| **strict && *sum > *max);
        if let Some((level, ((_, max), sum))) = over {
            let what = format!(
                "{sum} pages are charged to g{level} and not given back, its limit is {max}"
            );
            let found = Finding { kind: "committed".to_owned(), what, at: None };
            self.finding.get_or_insert(found);
        }
    }
}
