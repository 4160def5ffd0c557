//! The fair zone allocation policy (page_alloc.md §5; docs/decisions.md, 38 to 41).
//!
//! Each zone has a batch of pages to hand out (NR_ALLOC_BATCH) before the node's next zone has its
//! turn. Under rules without the policy nothing here runs.

use super::attempt::Attempt;
use crate::{
    allocator::PageAllocator,
    pcp::Count,
    platform::{Platform, Word},
    storage::Backing,
    vmstat::Item,
    zonelist::{Entry, Next},
};
use mmspec_model::vocab::{CpuId, FairPolicy, Gfp, Mark, ZoneFlags};

/// What the fair pass does about a zone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum FairStep {
    /// Look at its watermarks.
    Look,
    /// Go on to the next one.
    Skip,
    /// The pass ends here.
    Stop,
    /// The pass ends here, but the scan goes on with this zone.
    LookUnfairly,
}

impl<P: Platform, B: Backing> PageAllocator<P, B> {
    /// Whether a first attempt takes turns.
    pub(super) fn is_fair(&self, attempt: &Attempt) -> bool {
        match self.geometry.rules.fair_policy {
            FairPolicy::None => false,
            FairPolicy::Draft => {
                // Only if there is a second zone on the node to take turns with.
                let this_node = attempt.gfp.contains(Gfp::THISNODE);
                let mut cursor = self.list_start(attempt.node, this_node);
                self.next_entry(&mut cursor);
                match self.next_entry(&mut cursor) {
                    Next::Entry(second) => second.node == attempt.preferred.node,
                    Next::End | Next::Changed => false,
                }
            }
            FairPolicy::V3_16 | FairPolicy::V3_17 | FairPolicy::V4_7 => true,
        }
    }

    /// Look at a zone in the fair pass.
    pub(super) fn fair_step(
        &self,
        cpu: CpuId,
        attempt: &Attempt,
        entry: Entry,
        skipped: &mut bool,
    ) -> FairStep {
        let zone = self.zone(entry.zone);
        let local = entry.node == attempt.preferred.node;
        let flagged = || zone.flags().contains(ZoneFlags::FAIR_DEPLETED);
        match self.geometry.rules.fair_policy {
            FairPolicy::None => FairStep::LookUnfairly,
            FairPolicy::V3_16 if !local => FairStep::Skip,
            FairPolicy::V3_16 => {
                self.cpu(cpu).count(Count::BatchReads);
                if zone.batch() > 0 { FairStep::Look } else { FairStep::Skip }
            }
            FairPolicy::Draft | FairPolicy::V3_17 if !local => FairStep::Stop,
            FairPolicy::V4_7 if !local && !flagged() => {
                if *skipped {
                    FairStep::Stop
                } else {
                    FairStep::LookUnfairly
                }
            }
            FairPolicy::Draft | FairPolicy::V3_17 | FairPolicy::V4_7 => {
                let flagged = flagged();
                *skipped |= flagged;
                if flagged { FairStep::Skip } else { FairStep::Look }
            }
        }
    }

    /// The fair pass found nothing; whether zones were given new batches or there is another reason
    /// to scan again without fairness.
    pub(super) fn ends_fair_pass(&self, cpu: CpuId, attempt: &Attempt, skipped: bool) -> bool {
        let policy = self.geometry.rules.fair_policy;
        let (highest, only_flagged, resets, again) = match policy {
            FairPolicy::None => return false,
            FairPolicy::V3_16 => (attempt.highest, false, true, true),
            FairPolicy::Draft => (attempt.preferred.kind, true, skipped, self.nr_nodes > 1),
            FairPolicy::V3_17 => (attempt.preferred.kind, false, skipped, self.nr_nodes > 1),
            FairPolicy::V4_7 => (attempt.highest, false, skipped, false),
        };
        if resets {
            for at in self.node(attempt.preferred.node).zones() {
                let zone = self.zone(at);
                let depleted = zone.flags().contains(ZoneFlags::FAIR_DEPLETED);
                if zone.info.managed > 0 && zone.info.kind <= highest && (depleted || !only_flagged)
                {
                    self.reset_batch(cpu, at);
                }
            }
        }
        resets || again
    }

    /// Give a zone a new batch; what it is overdrawn by is forgiven. The change goes through the
    /// CPU's diff and may stay there (page_alloc.md §5.2, quirk).
    fn reset_batch(&self, cpu: CpuId, at: usize) {
        let zone = self.zone(at);
        let batch = zone.base_mark(Mark::High) as i64 - zone.base_mark(Mark::Low) as i64;
        self.add_to_batch(cpu, at, batch - zone.batch());
        zone.clear_flag(ZoneFlags::FAIR_DEPLETED);
        self.cpu(cpu).count(Count::FairResets);
    }

    fn add_to_batch(&self, cpu: CpuId, at: usize, delta: i64) {
        let zone = self.zone(at);
        let threshold = zone.rare.threshold.load() as i64;
        let pushed = self.slot(cpu, at).diff.add_unlocked(Item::Batch, delta, threshold);
        if pushed != 0 {
            zone.counters.batch.fetch_add(pushed as u64);
        }
    }

    /// `pages` pages were got from a zone.
    pub(super) fn take_batch(&self, cpu: CpuId, at: usize, pages: i64) {
        self.add_to_batch(cpu, at, -pages);
        let zone = self.zone(at);
        if self.geometry.rules.fair_policy != FairPolicy::V3_16 && zone.batch() <= 0 {
            zone.set_flag(ZoneFlags::FAIR_DEPLETED);
        }
    }
}
