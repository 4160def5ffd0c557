//! Migration of a batch (compaction.md §1.6, "Migration itself").

use super::{
    Compactor, Place,
    run::{Moved, Run},
    state::Count,
};
use crate::{frame::Allocated, platform::Platform, storage::Backing};
use mmspec_model::{
    contract::{CompactEvent, CompactMode, Migrated, Request},
    vocab::{CompactFeatures, Gfp, Order, Pfn},
};

/// Times that a page which said "again" is tried.
const PASSES: u8 = 10;

impl<P: Platform, B: Backing> Compactor<'_, P, B> {
    /// Move all sources, highest first; what cannot be moved is put back.
    pub(super) fn move_sources(&self, run: &mut Run) -> Moved {
        let (mut migrated, mut failed, mut stuck) = (0, 0, None);
        'passes: for pass in 0..PASSES {
            let mut at = run.sources.highest(None);
            if at.is_none() {
                break;
            }
            while let Some(source) = at {
                at = run.sources.highest(Some(source));
                let order = self.order_at(source);
                match self.move_page(run, source, order, pass) {
                    None => {
                        stuck = Some(1_u64 << order);
                        break 'passes;
                    }
                    Some(Migrated::Done | Migrated::Freed) => {
                        run.sources.remove(source, 1 << order);
                        migrated += 1 << order;
                    }
                    Some(Migrated::Again | Migrated::NoHandler) => {}
                    Some(Migrated::Busy) => {
                        run.sources.remove(source, 1 << order);
                        self.owner.put_back(self.pfn(source));
                        failed += 1 << order;
                    }
                }
            }
        }
        let left = u64::from(run.sources.pages());
        self.put_back_sources(run);
        self.state.count(Count::MigrateSuccess, migrated);
        // Of a batch that ran out of targets only the page that found none is counted.
        self.state.count(Count::MigrateFail, failed + stuck.unwrap_or(left));
        failed += left;
        self.owner.trace(CompactEvent::Migrate { migrated, failed });
        if stuck.is_some() {
            Moved::NoTarget
        } else if failed > 0 {
            Moved::Failed
        } else {
            Moved::All
        }
    }

    /// Move one page; `None`: there is no target for it.
    fn move_page(&self, run: &mut Run, source: Place, order: u8, pass: u8) -> Option<Migrated> {
        let from = self.pfn(source);
        let to = self.target_for(run, order)?;
        let outcome = match self.owner.migrate(from, to, run.goal.mode, pass) {
            // Since patch 06 only who waits for writes tries such a page again.
            Migrated::NoHandler if self.is_busy_without_handler(run) => Migrated::Busy,
            Migrated::NoHandler => Migrated::Again,
            outcome => outcome,
        };
        match outcome {
            Migrated::Done => {
                self.owner.trace(CompactEvent::Moved { from, to, order: Order::of(order) });
            }
            Migrated::Freed => self.owner.trace(CompactEvent::Freed { pfn: from }),
            Migrated::Again | Migrated::NoHandler | Migrated::Busy => {}
        }
        if outcome != Migrated::Done {
            self.untarget(run, to, order);
        }
        if matches!(outcome, Migrated::Done | Migrated::Freed) {
            self.pages.free_pages(run.cpu, from, Order::of(order));
        }
        Some(outcome)
    }

    fn is_busy_without_handler(&self, run: &Run) -> bool {
        self.has(CompactFeatures::F06) && run.goal.mode != CompactMode::Sync
    }

    /// A target, allocated: it is the owner's as soon as it looks at it. Ranges are moved to wherever the
    /// allocator likes.
    fn target_for(&self, run: &mut Run, order: u8) -> Option<Pfn> {
        if run.goal.alloc_contig {
            let request = Request::new(Order::of(order), Gfp::HIGHUSER_MOVABLE);
            return self.pages.alloc_pages(run.cpu, request).page();
        }
        let frame = self.take_target(run, order)?;
        self.pages.tables().hand_out(frame, Allocated { order, movable: true });
        Some(self.geometry().pfn(frame))
    }

    /// A target that was not used.
    fn untarget(&self, run: &mut Run, to: Pfn, order: u8) {
        if run.goal.alloc_contig {
            return self.pages.free_pages(run.cpu, to, Order::of(order));
        }
        self.return_target(run, self.geometry().index(to), order);
    }

    /// The order of an isolated page.
    fn order_at(&self, source: Place) -> u8 {
        let frame = source as u32;
        self.pages.records().at(frame).allocated(frame).map_or(0, |block| block.order)
    }

    /// Put all sources back on their lists.
    pub(super) fn put_back_sources(&self, run: &mut Run) {
        while let Some(source) = run.sources.highest(None) {
            self.owner.put_back(self.pfn(source));
            run.sources.remove(source, 1 << self.order_at(source));
        }
    }
}
