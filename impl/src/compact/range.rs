//! Contiguous ranges (alloc_contig_range): isolate, move everything out, take all of it
//! (compaction.md §1.1, last row).

use super::{
    Compactor, Goal,
    run::{Moved, Run},
    state::Span,
};
use crate::{frame::Allocated, platform::Platform, storage::Backing};
use mmspec_model::{
    contract::PageUse,
    vocab::{CpuId, MigrateType, Pfn, PfnRange},
};

/// Rounds over a range before it is given up.
const ROUNDS: u8 = 5;

/// Why a range could not be taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RangeError {
    /// It does not lie in one zone, or is not made of whole pageblocks.
    #[error("the range is not made of whole pageblocks of one zone")]
    Shape,
    /// A pageblock in it is isolated, or holds a page that cannot move.
    #[error("the pageblock of frame {0} cannot be isolated: a page in it cannot move")]
    Isolate(Pfn),
    /// A page would not move.
    #[error("a page at or behind frame {0} would not move")]
    Busy(Pfn),
}

impl<P: Platform, B: Backing> Compactor<'_, P, B> {
    /// Take all frames of `range`, whole pageblocks of type `migratetype`: what is in use is moved out.
    /// They are allocated pages of order 0 then, and their pageblocks have their types again.
    ///
    /// # Errors
    /// Nothing has changed but where pages lie.
    pub fn range(
        &self,
        cpu: CpuId,
        range: PfnRange,
        migratetype: MigrateType,
    ) -> Result<(), RangeError> {
        let (zone, span) = self.shape(range)?;
        let blocks = || (range.start.0..range.end.0).step_by(1 << span.shift).map(Pfn);
        for (done, block) in blocks().enumerate() {
            let movable = |pfn: Pfn| self.is_movable(pfn);
            if !self.pages.isolate(cpu, block, &movable) {
                self.unisolate(cpu, blocks().take(done), migratetype);
                return Err(RangeError::Isolate(block));
            }
        }
        let taken = self.empty(cpu, zone, span, range);
        self.unisolate(cpu, blocks(), migratetype);
        taken
    }

    fn unisolate(&self, cpu: CpuId, blocks: impl Iterator<Item = Pfn>, migratetype: MigrateType) {
        blocks.for_each(|block| {
            self.pages.unisolate(cpu, block, migratetype);
        });
    }

    fn shape(&self, range: PfnRange) -> Result<(usize, Span), RangeError> {
        let zone = self.pages.zone_of(range.start).ok_or(RangeError::Shape)?;
        let span = self.span(zone);
        let (start, end) = (self.geometry().index(range.start), self.geometry().index(range.end));
        let whole = range.start < range.end
            && span.is_block_start(start.into())
            && span.is_block_start(end.into())
            && span.contains(i64::from(end) - 1);
        if whole { Ok((zone, span)) } else { Err(RangeError::Shape) }
    }

    /// Whether the page that holds a frame can move: its owner knows it by its first frame.
    fn is_movable(&self, pfn: Pfn) -> bool {
        let frame = self.geometry().index(pfn);
        let holds = |head: &u32| {
            let state = self.pages.tables().frame(*head);
            state.is_head() && frame - head < 1 << state.order()
        };
        let mut heads = (0..=self.geometry().max_order).map(|order| frame >> order << order);
        let head = heads.find(holds).unwrap_or(frame);
        let page = self.owner.page(self.geometry().pfn(head));
        matches!(page, PageUse::Lru(_) | PageUse::Driver)
    }

    /// Move everything out, and take the free blocks.
    fn empty(
        &self,
        cpu: CpuId,
        zone: usize,
        span: Span,
        range: PfnRange,
    ) -> Result<(), RangeError> {
        let goal = Goal { no_set_skip_hint: true, alloc_contig: true, ..Goal::WHOLE };
        let mut run = Run::new(cpu, zone, goal, span);
        let (start, end) = (self.place_of(range.start), self.place_of(range.end));
        let mut rounds = 0;
        let mut block = start;
        while block < end {
            run.migrate = block;
            let stop = block + span.pageblock();
            while run.migrate < stop {
                let from = run.migrate;
                let aborted = self.isolate_in_block(&mut run, from, stop);
                let failed =
                    aborted || run.sources.pages() > 0 && self.move_sources(&mut run) != Moved::All;
                if failed {
                    rounds += 1;
                    run.migrate = from;
                    if rounds == ROUNDS || aborted {
                        // A scan that was cut short may have isolated some.
                        self.put_back_sources(&mut run);
                        return Err(RangeError::Busy(self.pfn(from)));
                    }
                }
            }
            block = stop;
        }
        self.owner.drain_lru();
        self.pages.drain_all(cpu, Some(run.zone()));
        let mut run = Run::new(cpu, zone, goal, span);
        let ended = self.isolate_free_in(&mut run, start, end, 1, true);
        if ended < end {
            self.release_targets(&mut run);
            return Err(RangeError::Busy(self.pfn(ended)));
        }
        self.hand_out_all(&mut run);
        Ok(())
    }

    fn place_of(&self, pfn: Pfn) -> i64 {
        i64::from(self.geometry().index(pfn))
    }

    /// All targets become allocated single pages.
    fn hand_out_all(&self, run: &mut Run) {
        for order in 0..run.targets.len() {
            while let Some(frame) = run.targets[order].pop_head(self.pages.records()) {
                let held = self.pages.tables().frame(frame).order();
                for single in frame..frame + (1 << held) {
                    self.set_target(single, 0);
                    self.pages.tables().hand_out(single, Allocated { order: 0, movable: true });
                }
            }
        }
        run.nr_targets = 0;
    }
}
