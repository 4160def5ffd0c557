//! The free lists as far as they are known: split, merge, placement, fallback.

use super::sequence::Answer;
use super::{FrameKnowledge, Knowledge, Source, TypeSet};
use crate::reference::arith::{buddy_of, fallbacks, may_claim, merge_likely, split_pieces};
use crate::vocab::{AllocFlags, MergeRetype, MigrateType, Order, Pfn, PfnRange};
use std::vec::Vec;

/// Which block a fallback would choose.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FallbackChoice {
    /// The head of this type's list of this order.
    Block {
        /// Its order.
        order: Order,
        /// Its list.
        migratetype: MigrateType,
        /// The block, if the list's head is known.
        head: Answer,
    },
    /// There is none.
    None,
    /// That depends on what is not known.
    Depends,
}

impl Knowledge {
    /// The free lists hold exactly these frames, cut into maximal aligned blocks. Their order is
    /// not known, their types are those of their pageblocks.
    pub fn load_free(&mut self, z: usize, is_free: &dyn Fn(Pfn) -> bool) {
        let span = self.shape.zones[z].1;
        for order in 0..self.free[z].len() {
            self.free[z][order].close(TypeSet::ALL);
        }
        let mut at = span.start.0;
        while at < span.end.0 {
            if !is_free(Pfn(at)) {
                self.frames.set(Pfn(at), FrameKnowledge::NotFree);
                at += 1;
                continue;
            }
            let mut end = at + 1;
            while end < span.end.0 && end < at + self.shape.max_order.pages() && is_free(Pfn(end)) {
                end += 1;
            }
            let order = Order::ZERO
                .up_to(self.shape.max_order)
                .rev()
                .find(|&order| Pfn(at).is_aligned(order) && at + order.pages() <= end)
                .unwrap_or(Order::ZERO);
            let pfn = Pfn(at);
            let source = Source::Cell(self.cells.current(pfn));
            let filed = self.types_of(source);
            let place = self.free[z][order.index()].add_unordered(pfn, filed);
            self.put(pfn, order, source, place, filed);
            at += order.pages();
        }
        self.complete = true;
    }

    /// Numbers of pageblocks by type (pagetypeinfo). `blocks` are the first frames of the zone's
    /// pageblocks as the file counts them.
    pub fn load_pageblock_counts(&mut self, z: usize, counts: [usize; 6], blocks: &[Pfn]) {
        let mut changed = Vec::new();
        self.cells.set_census(z, counts, blocks, &mut changed);
        for cell in changed {
            self.refile(cell);
        }
    }

    /// Lengths of the free lists of one order by type (pagetypeinfo): if they add up to what is
    /// listed, types that no list of this order has are ruled out, and so on. Whether anything was
    /// learnt.
    pub fn load_list_lengths(&mut self, z: usize, order: Order, lengths: [usize; 6]) -> bool {
        let sequence = &self.free[z][order.index()];
        if sequence.len() != lengths.iter().sum::<usize>() {
            return false;
        }
        let mut learnt = false;
        for migratetype in MigrateType::ALL {
            let sequence = &self.free[z][order.index()];
            let (sure, maybe) = sequence.all(migratetype);
            let wanted = lengths[migratetype.index()];
            let narrowed = if sure.len() == wanted {
                TypeSet::ALL.without(TypeSet::of(migratetype))
            } else if sure.len() + maybe.len() == wanted {
                TypeSet::of(migratetype)
            } else {
                continue;
            };
            for pfn in maybe {
                learnt |= self.learn_block(pfn, narrowed);
            }
        }
        learnt
    }

    fn put(&mut self, pfn: Pfn, order: Order, source: Source, place: i64, filed: TypeSet) {
        self.frames.set(pfn, FrameKnowledge::Free { order, source, place, filed });
        for offset in 1..order.pages() {
            self.frames.set(pfn.add(offset), FrameKnowledge::FreeTail);
        }
    }

    /// Put a block on a list. Only its first frame and those of its old parts are touched.
    fn list(&mut self, z: usize, pfn: Pfn, order: Order, source: Source, tail: bool) {
        let filed = self.types_of(source);
        let sequence = &mut self.free[z][order.index()];
        let place =
            if tail { sequence.push_tail(pfn, filed) } else { sequence.push_head(pfn, filed) };
        self.frames.set(pfn, FrameKnowledge::Free { order, source, place, filed });
    }

    /// Take a free block off its list; its first frame becomes part of a larger or taken block.
    fn unlist(&mut self, z: usize, pfn: Pfn) -> Option<(Order, Source)> {
        let FrameKnowledge::Free { order, source, place, filed } = self.frames.get(pfn) else {
            return None;
        };
        self.free[z][order.index()].remove(pfn, place, filed);
        self.frames.set(pfn, FrameKnowledge::FreeTail);
        Some((order, source))
    }

    /// A listed block's list has one of `types`. Whether anything was learnt.
    pub fn learn_block(&mut self, pfn: Pfn, types: TypeSet) -> bool {
        let source = match self.frames.get(pfn) {
            FrameKnowledge::Free { source, .. } | FrameKnowledge::Cached { source, .. } => source,
            _ => return false,
        };
        match source {
            Source::Cell(cell) if self.cells.types(cell).and(types) != self.cells.types(cell) => {
                self.learn_cell(cell, types)
            }
            _ => false,
        }
    }

    /// The block that the smallest fitting list of the type gives (§1.6).
    #[must_use]
    pub fn predict_take(&self, z: usize, order: Order, migratetype: MigrateType) -> Answer {
        if !self.complete {
            // A block freed beside frames of which nothing is known may have merged with them.
            return Answer::Depends;
        }
        for candidate in order.up_to(self.shape.max_order) {
            match self.free[z][candidate.index()].at_head(migratetype) {
                Answer::Nothing => {}
                answer => return answer,
            }
        }
        Answer::Nothing
    }

    /// The free block that contains `pfn`: its head and order.
    #[must_use]
    pub fn free_block_around(&self, pfn: Pfn) -> Option<(Pfn, Order)> {
        Order::ZERO.up_to(self.shape.max_order).find_map(|order| {
            let head = Pfn(pfn.0 & !(order.pages() - 1));
            match self.frames.get(head) {
                FrameKnowledge::Free { order: found, .. } if head.0 + found.pages() > pfn.0 => {
                    Some((head, found))
                }
                _ => None,
            }
        })
    }

    /// A block was taken from the lists of `migratetype`: learn from it, split, put back. Returns
    /// the blocks that should have been taken before it, of which the first is the one expected;
    /// `None` if the block was not known to be free.
    pub fn take(
        &mut self,
        z: usize,
        order: Order,
        migratetype: MigrateType,
        pfn: Pfn,
    ) -> Option<Vec<Pfn>> {
        let FrameKnowledge::Free { order: found, place, .. } = self.frames.get(pfn) else {
            self.take_unknown(pfn, order);
            return None;
        };
        if !self.complete {
            self.split_off(z, pfn, order, migratetype);
            return Some(Vec::new());
        }
        let mut passed_over = Vec::new();
        for candidate in order.up_to(found) {
            let sequence = &self.free[z][candidate.index()];
            let (sure, maybe) = if candidate < found {
                sequence.all(migratetype)
            } else {
                sequence.before(migratetype, place)
            };
            passed_over.extend(sure);
            for other in maybe {
                if other != pfn {
                    self.learn_block(other, TypeSet::ALL.without(TypeSet::of(migratetype)));
                }
            }
            if candidate < found {
                self.free[z][candidate.index()].close(TypeSet::of(migratetype));
            }
        }
        self.learn_block(pfn, TypeSet::of(migratetype));
        self.split_off(z, pfn, order, migratetype);
        Some(passed_over)
    }

    /// The block was on no list that is known. Frames around it stay unknown.
    fn take_unknown(&mut self, pfn: Pfn, order: Order) {
        self.frames.set(pfn, FrameKnowledge::Taken(order));
        for offset in 1..order.pages() {
            self.frames.set(pfn.add(offset), FrameKnowledge::NotFree);
        }
    }

    /// Take the first 2^order pages of a listed block; the rest goes back to `migratetype`.
    pub fn split_off(&mut self, z: usize, pfn: Pfn, order: Order, migratetype: MigrateType) {
        let Some((found, from)) = self.unlist(z, pfn) else { return };
        for (piece, piece_order) in split_pieces(pfn.0, found, order.min(found)) {
            // A piece in another pageblock goes to the list all the same, whatever its pageblock's type:
            // a merge may have left that one as it was (§1.3 e).
            let source =
                if matches!(from, Source::Cell(_)) && self.cells.same_block(pfn, Pfn(piece)) {
                    self.source_for(Pfn(piece), migratetype)
                } else {
                    Source::Type(migratetype)
                };
            self.list(z, Pfn(piece), piece_order, source, false);
        }
        self.frames.set(pfn, FrameKnowledge::Taken(order));
        for offset in 1..order.pages() {
            self.frames.set(pfn.add(offset), FrameKnowledge::NotFree);
        }
    }

    /// Frames of the free block at `pfn` that `is_wrong` names are not free after all; the others stay.
    /// Whether there were any.
    pub fn withdraw(&mut self, z: usize, pfn: Pfn, is_wrong: &dyn Fn(Pfn) -> bool) -> bool {
        let FrameKnowledge::Free { order, .. } = self.frames.get(pfn) else { return false };
        let frames = || (0..order.pages()).map(|offset| pfn.add(offset));
        if !frames().any(is_wrong) {
            return false;
        }
        self.unlist(z, pfn);
        for frame in frames() {
            self.frames.set(frame, FrameKnowledge::NotFree);
        }
        for frame in frames().filter(|frame| !is_wrong(*frame)) {
            let source = self.pageblock_source(frame);
            self.free(z, frame, Order::ZERO, source);
        }
        true
    }

    /// Free a block to the lists (§1.3), with the type from `source`.
    pub fn free(&mut self, z: usize, pfn: Pfn, order: Order, source: Source) {
        let (mut head, mut order) = (pfn, order);
        self.clear(pfn, order);
        while order < self.shape.max_order {
            let buddy = Pfn(buddy_of(head.0, order));
            if !self.is_free(z, buddy.0, order) {
                break;
            }
            if order >= self.shape.pageblock_order && !self.merge_across(buddy, order, source) {
                break;
            }
            self.unlist(z, buddy);
            head = Pfn(head.0 & buddy.0);
            order = Order::of(order.get() + 1);
        }
        let tail = merge_likely(head.0, order, self.shape.max_order, |pfn, order| {
            self.is_free(z, pfn, order)
        });
        let source = match source {
            Source::Cell(_) if self.hygiene() => Source::Cell(self.cells.current(head)),
            other => other,
        };
        self.list(z, head, order, source, tail);
    }

    fn clear(&mut self, pfn: Pfn, order: Order) {
        for offset in 0..order.pages() {
            self.frames.set(pfn.add(offset), FrameKnowledge::FreeTail);
        }
    }

    fn is_free(&self, z: usize, pfn: u64, order: Order) -> bool {
        self.shape.zones[z].1.contains(Pfn(pfn))
            && matches!(self.frames.get(Pfn(pfn)),
                FrameKnowledge::Free { order: o, .. } if o == order)
    }

    /// Rule §1.3 c and e for a merge at or above the pageblock order.
    fn merge_across(&mut self, buddy: Pfn, order: Order, source: Source) -> bool {
        let (ours, theirs) = (self.types_of(source), self.pageblock_types(buddy));
        let pcp = TypeSet::PCP;
        let mergeable = ours.without(pcp).is_empty() && theirs.without(pcp).is_empty();
        if !mergeable && ours != theirs {
            return false;
        }
        let covered = match self.shape.rules.merge_retype {
            MergeRetype::Never => return true,
            MergeRetype::FirstBlock => self.shape.pageblock_order,
            MergeRetype::AllBlocks => order,
        };
        if ours != theirs || ours.single().is_none() {
            self.retype(buddy, covered, ours);
        }
        true
    }

    /// Every pageblock under a block gets a new, possibly unknown type.
    pub fn retype(&mut self, pfn: Pfn, order: Order, types: TypeSet) {
        let step = self.shape.pageblock_order.pages();
        let mut at = 0;
        while at < order.pages() {
            self.cells.retype(pfn.add(at), types);
            at += step;
        }
    }

    /// A fallback took over the pageblock of `pfn`: its free blocks move to the tails of
    /// `migratetype`'s lists; with `retype` the pageblock follows.
    pub fn claim_pageblock(&mut self, z: usize, pfn: Pfn, migratetype: MigrateType, retype: bool) {
        let pages = self.shape.pageblock_order.pages();
        let start = Pfn(pfn.0 & !(pages - 1));
        let span = self.shape.zones[z].1;
        if start.0 + pages > span.end.0 {
            // Up to 6.9 nothing but the block itself moves in a pageblock that leaves the zone.
            self.move_block(z, pfn, migratetype);
            return;
        }
        // And a pageblock that begins before the zone is cut at the block found (§1.10).
        let first = if span.start <= start { start } else { pfn };
        let range = PfnRange { start: first, end: start.add(pages) };
        if retype {
            self.retype(start, self.shape.pageblock_order, TypeSet::of(migratetype));
        }
        let mut at = range.start;
        while at < range.end {
            let mut step = 1;
            if let FrameKnowledge::Free { order, .. } = self.frames.get(at) {
                self.move_block(z, at, migratetype);
                step = order.pages();
            }
            at = at.add(step);
        }
    }

    /// Move one listed block to the tail of another list.
    pub fn move_block(&mut self, z: usize, pfn: Pfn, migratetype: MigrateType) {
        if let Some((order, _)) = self.unlist(z, pfn) {
            let source = self.source_for(pfn, migratetype);
            self.list(z, pfn, order, source, true);
        }
    }

    /// The block that a fallback up to 6.14 chooses (§1.10), before the half rule.
    #[must_use]
    pub fn predict_fallback(
        &self,
        z: usize,
        order: Order,
        start: MigrateType,
        flags: AllocFlags,
    ) -> FallbackChoice {
        let block_order = self.shape.pageblock_order;
        let nofragment = flags.contains(AllocFlags::NOFRAGMENT) && order < block_order;
        let lowest = if nofragment { block_order } else { order };
        match self.search(z, lowest.up_to(self.shape.max_order).rev(), start) {
            FallbackChoice::Block { order: found, .. }
                if start == MigrateType::Movable
                    && found > order
                    && !may_claim(found, start, block_order, true) =>
            {
                self.predict_steal(z, order, start)
            }
            choice => choice,
        }
    }

    /// The block of exactly `order` that a claim tries (§1.11). Whether it succeeds depends on
    /// what the pageblock's pages are, which no trace tells.
    #[must_use]
    pub fn predict_claim(&self, z: usize, order: Order, start: MigrateType) -> FallbackChoice {
        self.search(z, core::iter::once(order), start)
    }

    /// The smallest block of another type (§1.12).
    #[must_use]
    pub fn predict_steal(&self, z: usize, order: Order, start: MigrateType) -> FallbackChoice {
        self.search(z, order.up_to(self.shape.max_order), start)
    }

    fn search(
        &self,
        z: usize,
        orders: impl Iterator<Item = Order>,
        start: MigrateType,
    ) -> FallbackChoice {
        if !self.complete {
            return FallbackChoice::Depends;
        }
        for order in orders {
            for &migratetype in fallbacks(start) {
                match self.free[z][order.index()].at_head(migratetype) {
                    Answer::Nothing => {}
                    Answer::Depends => {
                        let (sure, _) = self.free[z][order.index()].all(migratetype);
                        if sure.is_empty() {
                            return FallbackChoice::Depends;
                        }
                        return FallbackChoice::Block { order, migratetype, head: Answer::Depends };
                    }
                    head => return FallbackChoice::Block { order, migratetype, head },
                }
            }
        }
        FallbackChoice::None
    }

    /// Number of free blocks known, by order.
    #[must_use]
    pub fn free_counts(&self, z: usize) -> Vec<usize> {
        let orders = ..=self.shape.max_order.index();
        self.free[z][orders].iter().map(super::sequence::Sequence::len).collect()
    }

    /// Whether a frame lies in a listed free block.
    #[must_use]
    pub fn is_on_free_list(&self, pfn: Pfn) -> bool {
        self.free_block_around(pfn).is_some()
    }

    /// Free pages known.
    #[must_use]
    pub fn free_pages(&self, z: usize) -> u64 {
        (0..).zip(self.free_counts(z)).map(|(order, blocks)| (blocks as u64) << order).sum()
    }

    /// Number of free blocks of one order by the set of types that their list may have.
    #[must_use]
    pub fn free_counts_by_types(&self, z: usize, order: Order) -> Vec<(TypeSet, usize)> {
        self.free[z][order.index()].by_types().collect()
    }
}
