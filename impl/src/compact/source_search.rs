//! The search for a source by free lists: a pageblock that has larger free parts needs fewer migrations
//! to become empty (`fast_find_migrateblock`, compaction.md §2.2).

use super::{
    BATCH, Compactor, Place,
    run::{FastStart, Run},
};
use crate::{platform::Platform, storage::Backing};
use mmspec_model::{
    contract::CompactEvent,
    vocab::{CompactFeatures, CompactFixes, MigrateType, Order},
};

/// Smaller free parts tell nothing.
const LOWEST_ORDER: u8 = Order::COSTLY.get();

/// What a search has seen.
struct Search {
    limit: u64,
    scanned: u64,
    /// Candidates lie below.
    high: Place,
    found: Option<Place>,
}

/// How many entries a search may look at, after so many failures.
pub(super) fn search_limit(failures: u32) -> u64 {
    u64::from(BATCH).checked_shr(failures).unwrap_or(0) + 1
}

impl<P: Platform, B: Backing> Compactor<'_, P, B> {
    /// Where the migrate scanner goes on: at its place, or at a pageblock found by the free lists.
    pub(super) fn find_source(&self, run: &mut Run) -> Place {
        let Some(order) = self.searches_for(run) else { return run.migrate };
        let mut distance = (run.free - run.migrate) >> 1;
        if run.migrate != run.span.start {
            distance >>= 2;
        }
        let mut search = Search {
            limit: search_limit(run.fast_search_fail),
            scanned: 0,
            high: run.span.block_start(run.migrate + distance),
            found: None,
        };
        let mut order = order - 1;
        while order >= LOWEST_ORDER && search.found.is_none() && search.scanned < search.limit {
            self.search_list(run, order, &mut search);
            order -= 1;
        }
        run.migrate_scanned += search.scanned;
        self.owner.trace(CompactEvent::FastFindMigrate {
            scanned: search.scanned,
            limit: search.limit,
            found: search.found.map(|at| self.pfn(at)),
        });
        if let Some(found) = search.found {
            return found;
        }
        if self.fixed(CompactFixes::BOUNDED_SEARCH) {
            run.fast_search_fail += 1;
        }
        // From the lowest free part seen, once.
        if let FastStart::At(lowest) = run.fast_start {
            run.migrate = lowest;
            run.fast_start = FastStart::Used;
        }
        run.migrate
    }

    /// The order of a run that searches now.
    fn searches_for(&self, run: &Run) -> Option<u8> {
        let order = run.goal.order?.get();
        let span = run.span;
        let fresh = run.migrate == span.start || span.is_block_start(run.migrate);
        let finishing = self.fixed(CompactFixes::FINISH_FAILED) && run.finish_pageblock;
        let suits = self.has(CompactFeatures::F09)
            && !run.goal.ignore_skip_hint
            && fresh
            && order > Order::COSTLY.get()
            && !(run.goal.direct && run.goal.migratetype != MigrateType::Movable)
            && !finishing;
        suits.then_some(order)
    }

    /// Go along the Movable list of an order, head first.
    fn search_list(&self, run: &mut Run, order: u8, search: &mut Search) {
        let diff = &self.pages.slot(run.cpu, run.zone).diff;
        let zone = self.pages.zone(run.zone);
        if zone.peek(|lists| lists.blocks_of(order)) == 0 {
            return;
        }
        let mut locked = zone.lock(self.pages.tables(), diff);
        let mut buddy = locked.buddy();
        let bounded = self.fixed(CompactFixes::BOUNDED_SEARCH);
        let mut next = buddy.list_head(order, MigrateType::Movable);
        while let Some(frame) = next {
            let at = Place::from(frame);
            if bounded && search.scanned >= search.limit {
                buddy.turn_to_tail(frame, order, MigrateType::Movable);
                return;
            }
            search.scanned += 1;
            next = buddy.neighbours(frame, order, MigrateType::Movable).1;
            if at < search.high {
                if self.is_skipped(run, at) {
                    // Up to 5.11 such entries end no search.
                    continue;
                }
                buddy.turn_to_tail(frame, order, MigrateType::Movable);
                match run.fast_start {
                    FastStart::None => run.fast_start = FastStart::At(at),
                    FastStart::At(lowest) => run.fast_start = FastStart::At(lowest.min(at)),
                    FastStart::Used => {}
                }
                let mut block = run.span.block_start(at);
                if self.fixed(CompactFixes::SOURCE_IN_ZONE) {
                    block = block.max(run.span.start);
                }
                run.fast_search_fail = 0;
                if !self.fixed(CompactFixes::UNMARKED_PICK) {
                    self.state.set_skip(run.span.number(at));
                }
                // Up to 5.11 the pageblock where the scanner is counts as none.
                if bounded || block != run.migrate {
                    search.found = Some(block);
                }
                return;
            }
            if !bounded && search.scanned >= search.limit {
                run.fast_search_fail += 1;
                buddy.turn_to_tail(frame, order, MigrateType::Movable);
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::search_limit;

    #[test]
    fn failures_halve_the_limit() {
        let limits = [0, 1, 2, 3, 4, 5, 6, 63, 64, 1000].map(search_limit);
        assert_eq!(limits, [33, 17, 9, 5, 3, 2, 1, 1, 1, 1]);
    }
}
