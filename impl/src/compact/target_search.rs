//! The search for targets by free lists (`fast_isolate_freepages`, compaction.md §2.4, §2.7).

use super::{Compactor, Place, run::Run, source_search::search_limit, state::Count};
use crate::{platform::Platform, storage::Backing};
use mmspec_model::{
    contract::CompactEvent,
    vocab::{CompactFeatures, CompactFixes, MigrateType, PfnRange},
};

/// What a search has seen.
struct Search {
    limit: u64,
    scanned: u64,
    /// Entries of the order at hand.
    entries: u64,
    taken: u64,
    /// Entries from here on are taken at once.
    low: Place,
    /// Entries from here on are candidates.
    min: Place,
    /// The highest pageblock of an entry.
    highest: Option<Place>,
    /// The best candidate; up to 5.10 it outlives its order.
    candidate: Option<u32>,
    /// The block taken last.
    found: Option<Place>,
}

/// How a list was left.
#[derive(PartialEq, Eq)]
enum Left {
    Taken,
    Nothing,
    Refused,
}

impl<P: Platform, B: Backing> Compactor<'_, P, B> {
    /// Take free blocks from the lists, from high frames, if that helps.
    pub(super) fn search_targets(&self, run: &mut Run) {
        let Some(order) = run.goal.order.map(|order| order.get()).filter(|order| *order > 0) else {
            return;
        };
        if !self.has(CompactFeatures::F11) {
            return;
        }
        let at_start = self.is_at_start(run);
        let distance = run.free - run.migrate;
        let mut search = Search {
            limit: self.first_limit(run, at_start),
            scanned: 0,
            entries: 0,
            taken: 0,
            low: run.span.block_start(run.free - (distance >> 2)),
            min: run.span.block_start(run.free - (distance >> 1)),
            highest: None,
            candidate: None,
            found: None,
        };
        self.search_orders(run, order, &mut search);
        self.owner.trace(CompactEvent::FastIsolateFree {
            range: PfnRange { start: self.pfn(search.min), end: self.pfn(run.free) },
            scanned: search.scanned,
            taken: search.taken,
        });
        if search.found.is_none() {
            self.pull_free_scanner(run, &mut search, at_start);
        }
        self.raise_cached_free(run, search.highest);
        run.free_scanned += search.scanned;
        if let Some(at) = search.found {
            self.isolate_around(run, at);
        }
    }

    /// Whether the free scanner is where a whole scan begins.
    fn is_at_start(&self, run: &Run) -> bool {
        if self.has(CompactFeatures::F21) {
            let init = &self.state.zone(run.zone).init_free;
            self.cmp_cached(init, run.free).is_ge()
        } else {
            run.free == run.span.last_block()
        }
    }

    fn first_limit(&self, run: &Run, at_start: bool) -> u64 {
        if at_start {
            return run.span.pageblock() as u64 >> 1;
        }
        let half = search_limit(run.fast_search_fail) >> 1;
        if self.fixed(CompactFixes::LIMIT_MAX) { half.max(1) } else { half.min(1) }
    }

    /// The orders below the one wanted: downwards, and since patch 19 from where the last search was
    /// lucky, round in a circle.
    fn search_orders(&self, run: &mut Run, order: u8, search: &mut Search) {
        let top = order - 1;
        let circular = self.has(CompactFeatures::F19);
        run.search_order = if circular { run.search_order.min(top) } else { top };
        let mut at = run.search_order;
        loop {
            if self.fixed(CompactFixes::FRESH_CANDIDATE) {
                search.candidate = None;
            }
            let left = self.search_order(run, at, search);
            let enough = self.fixed(CompactFixes::MARK_REPRESENTATIVE)
                && run.nr_targets >= run.sources.pages();
            // One block is what the search is for; from 6.5 on it goes on until there is enough.
            let done = if self.fixed(CompactFixes::MARK_REPRESENTATIVE) {
                enough
            } else {
                left == Left::Taken
            };
            if done {
                return;
            }
            // A refusal ends a search as if it had been all round.
            let refused = left == Left::Refused && self.fixed(CompactFixes::REFUSAL_ENDS);
            if search.entries >= search.limit {
                search.limit >>= 1;
                search.limit = if self.fixed(CompactFixes::LIMIT_MAX) {
                    search.limit.max(1)
                } else {
                    search.limit.min(1)
                };
            }
            at = match at.checked_sub(1) {
                Some(next) => next,
                None if circular => top,
                None => return,
            };
            // All round since the last find: the next search begins elsewhere.
            if refused || circular && at == run.search_order {
                run.search_order = run.search_order.checked_sub(1).unwrap_or(top);
                return;
            }
        }
    }

    /// Go along the Movable list of an order, tail first.
    fn search_order(&self, run: &mut Run, order: u8, search: &mut Search) -> Left {
        let zone = self.pages.zone(run.zone);
        search.entries = 0;
        if zone.peek(|lists| lists.blocks_of(order)) == 0 {
            return Left::Nothing;
        }
        let diff = &self.pages.slot(run.cpu, run.zone).diff;
        let mut locked = zone.lock(self.pages.tables(), diff);
        let (mut last, mut chosen) = (None, None);
        {
            let buddy = locked.buddy();
            let mut next = buddy.list_tail(order, MigrateType::Movable);
            while let Some(frame) = next {
                let at = Place::from(frame);
                search.entries += 1;
                search.scanned += 1;
                last = Some(frame);
                let mut block = run.span.block_start(at);
                if self.fixed(CompactFixes::TARGETS_IN_ZONE) {
                    block = block.max(run.span.start);
                }
                search.highest = search.highest.max(Some(block));
                if at >= search.low {
                    run.fast_search_fail = 0;
                    run.search_order = order;
                    chosen = Some(frame);
                    break;
                }
                let best = search.candidate.map_or(-1, Place::from);
                if at >= search.min && at > best {
                    search.candidate = Some(frame);
                    search.limit >>= 1;
                }
                if search.entries >= search.limit {
                    break;
                }
                next = buddy.neighbours(frame, order, MigrateType::Movable).0;
            }
        }
        if chosen.is_none()
            && let Some(candidate) = search.candidate
        {
            // A candidate of another order is not on this list, and is used as if it were (up to 5.10);
            // here it is only used if it still is a block of this order.
            if self.pages.tables().frame(candidate).is_free_of(order) {
                chosen = Some(candidate);
                last = chosen;
            }
        }
        if let Some(last) = last {
            locked.buddy().turn_to_head(last, order, MigrateType::Movable);
        }
        let Some(frame) = chosen else { return Left::Nothing };
        if !locked.isolate_free(frame, order, !self.has(CompactFeatures::F08)) {
            return Left::Refused;
        }
        drop(locked);
        self.keep_target(run, frame, order);
        search.taken += 1 << order;
        if self.fixed(CompactFixes::COUNT_JUMPS) || self.fixed(CompactFixes::LIMIT_MAX) {
            search.scanned += (1 << order) - 1;
        }
        self.state.count(Count::Isolated, 1 << order);
        search.found = Some(Place::from(frame));
        Left::Taken
    }

    /// Nothing was found: the free scanner goes where something may be.
    fn pull_free_scanner(&self, run: &mut Run, search: &mut Search, at_start: bool) {
        run.fast_search_fail += 1;
        if !at_start {
            return;
        }
        let in_reach =
            |highest: &Place| !self.fixed(CompactFixes::TARGETS_IN_ZONE) || *highest >= search.min;
        if let Some(highest) = search.highest.filter(in_reach) {
            run.free = highest;
            search.found = Some(highest);
            return;
        }
        let valid = !self.fixed(CompactFixes::VALID_MIDPOINT)
            || self.is_block(
                search.min.max(run.span.start),
                run.span.block_end(search.min).min(run.span.end),
            );
        if run.goal.direct && valid {
            run.free = search.min;
            let suits =
                !self.fixed(CompactFixes::SUITABLE_FALLBACK) || self.may_be_target(run, search.min);
            search.found = suits.then_some(search.min);
        }
    }

    /// Nothing free lies above the highest block seen: the next run begins below it.
    fn raise_cached_free(&self, run: &Run, highest: Option<Place>) {
        let cached = &self.state.zone(run.zone).cached_free;
        let Some(highest) = highest else { return };
        if self.has(CompactFeatures::F18) {
            if self.cmp_cached(cached, highest).is_ge() {
                self.store(cached, highest - run.span.pageblock());
            }
        } else if self.cmp_cached(cached, highest).is_gt() {
            self.store(cached, highest);
        }
    }

    /// Isolate what else is free in the pageblock of a find (`fast_isolate_around`).
    fn isolate_around(&self, run: &mut Run, at: Place) {
        let enough = |run: &Run| run.nr_targets >= run.sources.pages();
        if enough(run) || run.goal.direct && run.goal.is_async() {
            return;
        }
        let span = run.span;
        let start = span.block_start(at).max(span.start);
        let end = span.block_end(at).min(span.end);
        if !self.is_block(start, end) {
            return;
        }
        if self.fixed(CompactFixes::AROUND_BLOCK) {
            let ended = self.isolate_free_in(run, start, end, 1, false);
            let marks =
                if self.fixed(CompactFixes::FINISH_FAILED) { ended == end } else { !enough(run) };
            if marks && !run.goal.no_set_skip_hint {
                self.state.set_skip(span.number(start));
            }
            return;
        }
        if start != at {
            self.isolate_free_in(run, start, at, 1, false);
            if enough(run) {
                return;
            }
        }
        // Behind the block that was taken. Up to 5.1 the scan may reach one page into the next pageblock.
        let after = at + 1;
        let bound =
            if self.fixed(CompactFixes::AROUND_END) { end } else { (end + 1).min(span.end) };
        if after < bound {
            self.isolate_free_in(run, after, bound, 1, false);
        }
        if !enough(run) && !run.goal.no_set_skip_hint {
            self.state.set_skip(span.number(start));
        }
    }
}
