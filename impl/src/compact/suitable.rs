//! Whether a run is worth it, and whether it may end (compaction.md §1.8, §1.9, §1.11).

use super::{Compactor, Goal, run::Run, state::Span};
use crate::{
    platform::{Platform, Word},
    storage::Backing,
    zone::{Check, FreeLists},
};
use mmspec_model::{
    contract::{CompactEvent, CompactResult},
    vocab::{AllocFlags, CompactFeatures, Mark, MigrateType, NR_PAGE_ORDERS, Order, ZoneIdx},
};

/// `sysctl_extfrag_threshold`: below it a failure is for want of memory, not for fragmentation.
const EXTFRAG_THRESHOLD: i64 = 500;

/// Pages that must be free for a run to have room (compact_gap).
pub(super) const fn gap(order: u8) -> u64 {
    2 << order
}

/// Free blocks of a zone in numbers.
pub(super) struct Blocks {
    free: u64,
    blocks: u64,
    /// Blocks of the order asked for, each larger one as many times as it holds it.
    suitable: u64,
}

impl Blocks {
    pub(super) fn of(lists: &FreeLists, order: u8) -> Self {
        let mut sum = Self { free: 0, blocks: 0, suitable: 0 };
        for at in 0..NR_PAGE_ORDERS as u8 {
            let blocks = lists.blocks_of(at);
            sum.blocks += blocks;
            sum.free += blocks << at;
            if at >= order {
                sum.suitable += blocks << (at - order);
            }
        }
        sum
    }

    /// The fragmentation index in thousandths: towards 1000 an allocation fails for fragmentation,
    /// towards 0 for want of memory; −1000 if it would not fail.
    pub(super) fn fragmentation_index(&self, order: u8) -> i64 {
        if self.blocks == 0 {
            return 0;
        }
        if self.suitable > 0 {
            return -1000;
        }
        let per_block = (1000 + ((1000 * self.free) >> order)) / self.blocks;
        1000 - per_block as i64
    }

    /// Free memory that is not in blocks of the order, in percent.
    pub(super) fn external_fragmentation(&self, order: u8) -> u64 {
        if self.free == 0 {
            return 0;
        }
        (self.free - (self.suitable << order)) * 100 / self.free
    }
}

impl<P: Platform, B: Backing> Compactor<'_, P, B> {
    /// Whether the request would be served as things are.
    pub(super) fn is_allocatable(&self, zone: usize, order: u8, goal: &Goal) -> bool {
        let check =
            Check { order, mark: goal.mark, extra: 0, highest: goal.highest, flags: goal.flags };
        self.pages.zone(zone).watermark_ok(&self.pages.geometry.rules, &check)
    }

    /// Whether a run for `order` has room to work in, and fragmentation is what is wrong.
    pub(super) fn is_suitable(
        &self,
        zone: usize,
        order: u8,
        highest: mmspec_model::vocab::ZoneKind,
    ) -> bool {
        let costly = order > Order::COSTLY.get();
        let mark = if costly { Mark::Low } else { Mark::Min };
        let check = Check { order: 0, mark, extra: gap(order), highest, flags: AllocFlags::CMA };
        let info = self.pages.zone(zone);
        if !info.watermark_ok(&self.pages.geometry.rules, &check) {
            return false;
        }
        if !costly {
            return true;
        }
        let index = info.peek(|lists| Blocks::of(lists, order).fragmentation_index(order));
        !(0..=EXTFRAG_THRESHOLD).contains(&index)
    }

    /// What there is to do for a goal in a zone: `Continue`, or why a run is not made.
    pub(super) fn verdict(&self, zone: usize, goal: &Goal) -> CompactResult {
        let Some(order) = goal.order else { return CompactResult::Continue };
        if self.is_allocatable(zone, order.get(), goal) {
            return CompactResult::Success;
        }
        if self.is_suitable(zone, order.get(), goal.highest) {
            CompactResult::Continue
        } else {
            CompactResult::Skipped
        }
    }

    /// Whether the run may end, at the beginning of an iteration: `Continue` if not.
    pub(super) fn finish_test(&self, run: &mut Run) -> CompactResult {
        let result = self.judge(run);
        self.owner.trace(CompactEvent::Finished { zone: ZoneIdx(run.zone as u8), result });
        result
    }

    fn judge(&self, run: &mut Run) -> CompactResult {
        let late = self.has(CompactFeatures::F07);
        if !late && (run.contended || self.owner.fatal_signal()) {
            return CompactResult::Contended;
        }
        if self.scanners_met(run) {
            let span = run.span;
            let zone = self.state.zone(run.zone);
            self.reset_cached(zone, span.start, span.last_block());
            if run.goal.direct {
                zone.flush.store(1);
            }
            return if run.whole_zone {
                CompactResult::Complete
            } else {
                CompactResult::PartialSkipped
            };
        }
        if let Some(proactiveness) = run.goal.proactive {
            let node = self.pages.zone(run.zone).info.node;
            if self.pages.node(node).is_awake() {
                return CompactResult::PartialSkipped;
            }
            let low = super::daemon::low_target(proactiveness);
            return if self.zone_score(run.zone) > low {
                self.interrupted(run)
            } else {
                CompactResult::Success
            };
        }
        let Some(order) = run.goal.order else { return self.interrupted(run) };
        if late {
            // A pageblock is always finished.
            if !run.span.is_block_start(run.migrate) {
                return CompactResult::Continue;
            }
        } else if run.finishing_block {
            if !run.span.is_block_start(run.migrate) {
                return CompactResult::Continue;
            }
            run.finishing_block = false;
        }
        match self.has_block(run, order.get()) {
            Found::Block => CompactResult::Success,
            Found::AfterBlock => {
                run.finishing_block = true;
                CompactResult::Continue
            }
            Found::Nothing => self.interrupted(run),
        }
    }

    /// Contention and signals end a run only where nothing else did.
    fn interrupted(&self, run: &Run) -> CompactResult {
        let late = self.has(CompactFeatures::F07);
        if late && (run.contended || self.owner.fatal_signal()) {
            CompactResult::Contended
        } else {
            CompactResult::Continue
        }
    }

    /// Whether a block of at least `order` is there that the request could have.
    fn has_block(&self, run: &Run, order: u8) -> Found {
        let (geometry, wanted) = (&self.pages.geometry, run.goal.migratetype);
        let stealable = |order: u8| {
            order >= geometry.pageblock_order / 2
                || matches!(wanted, MigrateType::Reclaimable | MigrateType::Unmovable)
                || !geometry.grouping
        };
        let others = match wanted {
            MigrateType::Unmovable => [MigrateType::Reclaimable, MigrateType::Movable],
            MigrateType::Reclaimable => [MigrateType::Unmovable, MigrateType::Movable],
            _ => [MigrateType::Reclaimable, MigrateType::Unmovable],
        };
        self.pages.zone(run.zone).peek(|lists| {
            let has = |order: u8, of: MigrateType| lists.list(order, of).nr_free > 0;
            for order in order..=geometry.max_order {
                if has(order, wanted)
                    || (wanted == MigrateType::Movable && has(order, MigrateType::Cma))
                {
                    return Found::Block;
                }
                if stealable(order) && others.into_iter().any(|of| has(order, of)) {
                    // Up to 5.0 a sync run for other types does not leave a pageblock half done.
                    let whole = self.has(CompactFeatures::F07)
                        || wanted == MigrateType::Movable
                        || run.goal.is_async()
                        || run.span.is_block_start(run.migrate);
                    return if whole { Found::Block } else { Found::AfterBlock };
                }
            }
            Found::Nothing
        })
    }

    /// External fragmentation of a zone for huge pages, in percent.
    pub(super) fn zone_score(&self, zone: usize) -> u64 {
        let order = self.pages.geometry.pageblock_order;
        self.pages.zone(zone).peek(|lists| Blocks::of(lists, order).external_fragmentation(order))
    }

    pub(super) fn scanners_met(&self, run: &Run) -> bool {
        run.free >> run.span.shift <= run.migrate >> run.span.shift
    }

    /// The span of a zone.
    pub(super) fn span(&self, zone: usize) -> Span {
        Span::of(&self.pages.zone(zone).info, self.pages.geometry.pageblock_order)
    }
}

/// What the free lists have for a run.
enum Found {
    Block,
    /// A block, but the pageblock is to be finished first.
    AfterBlock,
    Nothing,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The vectors of compaction.md §1.8, order 9.
    #[test]
    fn the_index_tells_fragmentation_from_want() {
        for (blocks, expected) in [
            (&[(512, 0)][..], 997),
            (&[(64, 0)], 983),
            (&[(8, 6)], 750),
            (&[(4, 7)], 500),
            (&[(2, 5)], 438),
            (&[(3, 8)], 167),
            (&[(1, 8), (1, 0)], 250),
            (&[(1, 8)], -500),
            (&[], 0),
            (&[(1, 9)], -1000),
            (&[(1, 9), (1, 0)], -1000),
        ] {
            let mut sum = Blocks { free: 0, blocks: 0, suitable: 0 };
            for (count, order) in blocks {
                sum.blocks += count;
                sum.free += count << order;
                sum.suitable += if *order >= 9 { count << (order - 9) } else { 0 };
            }
            assert_eq!(sum.fragmentation_index(9), expected, "{blocks:?}");
        }
    }
}
