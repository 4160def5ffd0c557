//! The fair zone allocation policy (§5, D38 to D41): allocations take turns between the zones of a
//! node, each for a batch of HIGH − LOW pages.

use super::Reference;
use super::scan::Scan;
use crate::vocab::{CpuId, FairPolicy, ZoneFlags};
use alloc::vec::Vec;

/// What a fair pass does about a zone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum FairTurn {
    /// Nothing: the zone is tried.
    Try,
    /// The zone is passed over.
    Pass,
    /// The pass ends here.
    Stop,
    /// The scan begins again at the preferred zone.
    Again,
}

/// The actions of spending: other CPUs may come between.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum SpendAt {
    /// The pages leave the batch.
    Account,
    /// The shared part is read.
    Read,
    /// The zone is flagged.
    Flag,
}

/// The actions of a zone's reset: other CPUs may come between.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum ResetAt {
    /// The shared part is read.
    Read,
    /// What it misses is added.
    Add(i64),
    /// The flag goes.
    Clear,
}

impl Reference {
    /// D40: whether a first attempt with this list is fair. The list is the whole one, before kind
    /// and mask.
    pub(super) fn is_fair(&self, list: &[usize], preferred: usize) -> bool {
        match self.rules.fair_policy {
            FairPolicy::None => false,
            FairPolicy::Draft => {
                let local = self.zones[preferred].node;
                list.get(1).is_some_and(|&second| self.zones[second].node == local)
            }
            FairPolicy::V3_16 | FairPolicy::V3_17 | FairPolicy::V4_7 => true,
        }
    }

    /// The batch that a reset gives a zone.
    fn full_batch(&self, z: usize) -> i64 {
        self.zones[z].marks[2] as i64 - self.zones[z].marks[1] as i64
    }

    /// New marks give every zone its batch, past the diffs; the flag stays (§5.2).
    pub(super) fn refill_batches(&mut self) {
        if self.rules.fair_policy != FairPolicy::None {
            for z in 0..self.zones.len() {
                self.zones[z].nr_alloc_batch = self.full_batch(z);
            }
        }
    }

    /// `pages` pages came from `z`: they leave its batch, and the set point is looked at.
    pub(super) fn spend_batch(&mut self, cpu: CpuId, z: usize, pages: u64) {
        let mut at = self.begin_spending();
        while let Some(now) = at {
            at = self.spend_step(cpu, z, pages, now);
        }
    }

    /// Where spending begins; not at all without the policy.
    pub(super) fn begin_spending(&self) -> Option<SpendAt> {
        (self.rules.fair_policy != FairPolicy::None).then_some(SpendAt::Account)
    }

    /// One action, and the next.
    pub(super) fn spend_step(
        &mut self,
        cpu: CpuId,
        z: usize,
        pages: u64,
        at: SpendAt,
    ) -> Option<SpendAt> {
        match at {
            SpendAt::Account => {
                self.account_batch(cpu, z, -(pages as i64));
                (self.rules.fair_policy != FairPolicy::V3_16).then_some(SpendAt::Read)
            }
            SpendAt::Read => (self.zones[z].nr_alloc_batch <= 0).then_some(SpendAt::Flag),
            SpendAt::Flag => {
                self.zones[z].flags |= ZoneFlags::FAIR_DEPLETED;
                None
            }
        }
    }

    /// Whether a fair scan tries this zone.
    pub(super) fn fair_turn(&mut self, z: usize, scan: &mut Scan) -> FairTurn {
        if !scan.attempt.fair {
            return FairTurn::Try;
        }
        let remote = self.is_remote(z, scan);
        let depleted = self.zones[z].flags.contains(ZoneFlags::FAIR_DEPLETED);
        match self.rules.fair_policy {
            FairPolicy::None => FairTurn::Try,
            FairPolicy::V3_16 if remote => FairTurn::Pass,
            FairPolicy::V3_16 => {
                self.events.batch_reads += 1;
                if self.zones[z].nr_alloc_batch.max(0) == 0 {
                    FairTurn::Pass
                } else {
                    FairTurn::Try
                }
            }
            FairPolicy::Draft | FairPolicy::V3_17 if remote => FairTurn::Stop,
            FairPolicy::V4_7 if remote && !depleted => {
                scan.attempt.fair = false;
                if !scan.fair_skipped {
                    return FairTurn::Try;
                }
                self.begin_resets(scan);
                FairTurn::Again
            }
            FairPolicy::Draft | FairPolicy::V3_17 | FairPolicy::V4_7 if depleted => {
                scan.fair_skipped = true;
                FairTurn::Pass
            }
            FairPolicy::Draft | FairPolicy::V3_17 | FairPolicy::V4_7 => FairTurn::Try,
        }
    }

    /// At the end of a fair pass without a page: fairness ends; whether the list is scanned again.
    pub(super) fn ends_fair_pass(&self, scan: &mut Scan) -> bool {
        if !scan.attempt.fair {
            return false;
        }
        scan.attempt.fair = false;
        let policy = self.rules.fair_policy;
        // 3.16 resets without asking whether a counter was used up.
        if policy == FairPolicy::V3_16 || scan.fair_skipped {
            self.begin_resets(scan);
            return true;
        }
        policy != FairPolicy::V4_7 && self.nodes.len() > 1
    }

    /// D39: the zones of the preferred node are to get their batch again.
    fn begin_resets(&self, scan: &mut Scan) {
        let preferred = scan.attempt.preferred;
        let (local, top) = (self.zones[preferred].node, self.zones[preferred].kind);
        let zones: Vec<usize> = match self.rules.fair_policy {
            FairPolicy::None => Vec::new(),
            FairPolicy::V3_16 | FairPolicy::V4_7 => {
                scan.list.iter().copied().filter(|&z| self.zones[z].node == local).collect()
            }
            policy @ (FairPolicy::Draft | FairPolicy::V3_17) => (0..self.zones.len())
                .filter(|&z| self.zones[z].node == local && self.zones[z].kind <= top)
                .filter(|&z| self.zones[z].managed > 0)
                .filter(|&z| {
                    policy == FairPolicy::V3_17
                        || self.zones[z].flags.contains(ZoneFlags::FAIR_DEPLETED)
                })
                .collect(),
        };
        scan.resets = zones.into_iter().map(|z| (z, ResetAt::Read)).collect();
    }

    /// One action of the resets that a scan has begun, through this CPU's diff; whether there was one.
    pub(super) fn reset_step(&mut self, cpu: CpuId, scan: &mut Scan) -> bool {
        let Some((z, at)) = scan.resets.front_mut() else { return false };
        match *at {
            ResetAt::Read => {
                *at = ResetAt::Add(self.full_batch(*z) - self.zones[*z].nr_alloc_batch)
            }
            ResetAt::Add(missing) => {
                self.account_batch(cpu, *z, missing);
                self.events.fair_resets += 1;
                *at = ResetAt::Clear;
            }
            ResetAt::Clear => {
                self.zones[*z].flags.remove(ZoneFlags::FAIR_DEPLETED);
                scan.resets.pop_front();
            }
        }
        true
    }
}
