//! The free scanner: where pages are moved to (compaction.md §1.7).

use super::{BATCH, Compactor, Place, run::Run, state::Count};
use crate::{
    frame::{Allocated, Frame},
    list::List,
    platform::Platform,
    storage::Backing,
};
use mmspec_model::{
    contract::{CompactEvent, CompactLock, PageUse},
    vocab::{CompactFeatures, CompactFixes, MigrateType, NR_PAGE_ORDERS, Order, PfnRange},
};

impl<P: Platform, B: Backing> Compactor<'_, P, B> {
    /// A target of 2^`order` frames, busy and on no list; scans for more if there is none.
    pub(super) fn take_target(&self, run: &mut Run, order: u8) -> Option<u32> {
        if !self.has(CompactFeatures::F13) && run.contended {
            return None;
        }
        let mut found = Self::smallest_target(run, order);
        if found.is_none() {
            self.isolate_targets(run);
            found = Self::smallest_target(run, order);
        }
        let mut found = found?;
        let links = self.pages.records();
        let frame = run.targets[usize::from(found)].pop_head(links)?;
        while found > order {
            found -= 1;
            let upper = frame + (1 << found);
            self.set_target(upper, found);
            run.targets[usize::from(found)].push_head(links, upper);
        }
        run.nr_targets -= 1 << order;
        self.set_target(frame, order);
        Some(frame)
    }

    /// Give a target that was not used back to the head of the list.
    pub(super) fn return_target(&self, run: &mut Run, frame: u32, order: u8) {
        self.set_target(frame, order);
        run.targets[usize::from(order)].push_head(self.pages.records(), frame);
        run.nr_targets += 1 << order;
    }

    pub(super) fn set_target(&self, frame: u32, order: u8) {
        let tables = self.pages.tables();
        tables.set_frame(frame, Frame::busy(order, tables.block_type(frame)));
    }

    fn smallest_target(run: &Run, order: u8) -> Option<u8> {
        (order..NR_PAGE_ORDERS as u8).find(|at| !run.targets[usize::from(*at)].is_empty())
    }

    /// Give all targets back to the allocator; the highest of them.
    pub(super) fn release_targets(&self, run: &mut Run) -> Option<Place> {
        let mut highest = None;
        for list in 0..NR_PAGE_ORDERS {
            while let Some(frame) = run.targets[list].pop_head(self.pages.records()) {
                let order = self.pages.tables().frame(frame).order();
                highest = highest.max(Some(Place::from(frame)));
                let block = Allocated { order, movable: true };
                self.pages.tables().hand_out(frame, block);
                let pfn = self.geometry().pfn(frame);
                self.pages.free_pages(run.cpu, pfn, Order::of(order));
            }
        }
        run.nr_targets = 0;
        highest
    }

    /// Isolate targets for the sources at hand (`isolate_freepages`).
    fn isolate_targets(&self, run: &mut Run) {
        self.search_targets(run);
        if run.nr_targets == 0 {
            self.scan_targets(run);
        }
        if !self.fixed(CompactFixes::LARGE_FOLIOS) {
            self.split_targets(run);
        }
    }

    /// Up to 6.9 all targets are single pages: the highest frame of the chunk isolated last comes first.
    fn split_targets(&self, run: &mut Run) {
        let links = self.pages.records();
        let mut singles = List::EMPTY;
        // Chunks lie in the order in which they were isolated.
        while let Some((frame, order)) = self.pop_chunk(run) {
            for single in frame..frame + (1 << order) {
                self.set_target(single, 0);
                singles.push_head(links, single);
            }
        }
        run.targets[0] = singles;
    }

    /// The chunk that was isolated first. Until 6.9 chunks of all orders share list 0.
    fn pop_chunk(&self, run: &mut Run) -> Option<(u32, u8)> {
        let frame = run.targets[0].pop_head(self.pages.records())?;
        Some((frame, self.pages.tables().frame(frame).order()))
    }

    /// Put an isolated chunk with the others.
    pub(super) fn keep_target(&self, run: &mut Run, frame: u32, order: u8) {
        let list = if self.fixed(CompactFixes::LARGE_FOLIOS) { usize::from(order) } else { 0 };
        run.targets[list].push_tail(self.pages.records(), frame);
        run.nr_targets += 1 << order;
    }

    /// Pageblock by pageblock downwards, to the one behind the migrate scanner's.
    fn scan_targets(&self, run: &mut Run) {
        let span = run.span;
        let low = span.block_end(run.migrate);
        let slowest = Place::from(BATCH);
        let strides = self.has(CompactFeatures::F20);
        let mut stride = if strides && run.goal.is_async() { slowest } else { 1 };
        let mut at = run.free;
        let mut block = span.block_start(at);
        let mut end = (block + span.pageblock()).min(span.end);
        while block >= low {
            let suits = self.is_block(block.max(span.start), end)
                && self.may_be_target(run, block)
                && !self.is_skipped(run, block);
            if suits {
                let before = run.nr_targets;
                at = self.isolate_free_in(run, at.max(span.start), end, stride, false);
                if at == end && self.has(CompactFeatures::F18) {
                    self.finish_target_block(run, block);
                }
                if run.nr_targets >= run.sources.pages() {
                    if at >= end {
                        at = block - span.pageblock();
                    }
                    break;
                }
                if at < end {
                    break;
                }
                if strides {
                    stride = if run.nr_targets > before { 1 } else { slowest.min(stride * 2) };
                }
            }
            (end, block) = (block, block - span.pageblock());
            at = block;
        }
        run.free = at;
    }

    /// The free scanner walked a pageblock to its end.
    fn finish_target_block(&self, run: &Run, block: Place) {
        if run.goal.no_set_skip_hint {
            return;
        }
        self.state.set_skip(run.span.number(block));
        let next = if self.fixed(CompactFixes::EXACT_POSITIONS) {
            block - run.span.pageblock()
        } else {
            block
        };
        let cached = &self.state.zone(run.zone).cached_free;
        if self.cmp_cached(cached, next).is_lt() {
            self.store(cached, next);
        }
    }

    /// Whether a pageblock may give targets.
    pub(super) fn may_be_target(&self, run: &Run, block: Place) -> bool {
        let tables = self.pages.tables();
        let first = tables.frame(block.max(run.span.start) as u32);
        let most = match run.goal.order {
            Some(order) if self.fixed(CompactFixes::LARGE_FOLIOS) => order.get(),
            _ => run.span.shift,
        };
        if first.is_free() && first.order() >= most.max(1) {
            return false;
        }
        run.goal.ignore_block_suitable
            || matches!(
                tables.block_type(block.max(run.span.start) as u32),
                MigrateType::Movable | MigrateType::Cma
            )
    }

    /// Isolate free blocks from `start` on (`isolate_freepages_block`); where the scan ended. `strict`:
    /// everything is to be free, and all of it is taken.
    pub(super) fn isolate_free_in(
        &self,
        run: &mut Run,
        start: Place,
        end: Place,
        stride: Place,
        strict: bool,
    ) -> Place {
        let jumps = self.fixed(CompactFixes::COUNT_JUMPS) || self.fixed(CompactFixes::LIMIT_MAX);
        let (mut at, mut scanned, mut taken) = (start, 0_u64, 0_u64);
        let diff = &self.pages.slot(run.cpu, run.zone).diff;
        let zone = self.pages.zone(run.zone);
        let mut locked = None;
        // Frames and chunks since the owner was told of any.
        let (mut told, mut chunks) = (0, 0);
        while at < end {
            if at % Place::from(BATCH) == 0 {
                if locked.take().is_some() {
                    self.owner.passed(CompactLock::Zone, scanned - told, chunks);
                    (told, chunks) = (scanned, 0);
                    self.owner.unlocks(CompactLock::Zone);
                }
                if self.stops_targets(run) {
                    break;
                }
            }
            scanned += 1;
            let frame = at as u32;
            let state = self.pages.tables().frame(frame);
            if !state.is_free() {
                if let Some(order) = self.compound_order(frame, state)
                    && at + (1 << order) <= end
                {
                    at += (1 << order) - 1;
                    if self.fixed(CompactFixes::COUNT_JUMPS) {
                        scanned += (1 << order) - 1;
                    }
                }
                if strict {
                    break;
                }
                at += stride;
                continue;
            }
            if locked.is_none() {
                self.owner.passed(CompactLock::Zone, scanned - told, 0);
                told = scanned;
                if run.goal.is_async() && self.owner.contended(CompactLock::Zone) {
                    run.contended = true;
                    if !self.has(CompactFeatures::F13) {
                        break;
                    }
                }
                self.owner.locks(CompactLock::Zone);
            }
            let hold = locked.get_or_insert_with(|| zone.lock(self.pages.tables(), diff));
            // Without the lock it was a hint.
            let state = self.pages.tables().frame(frame);
            if !state.is_free() {
                if strict {
                    break;
                }
                at += stride;
                continue;
            }
            let order = state.order();
            if !hold.isolate_free(frame, order, !self.has(CompactFeatures::F08)) {
                break;
            }
            self.keep_target(run, frame, order);
            chunks += 1;
            let pages = 1 << order;
            taken += pages as u64;
            scanned += if jumps { pages as u64 - 1 } else { 0 };
            if !strict && run.nr_targets >= run.sources.pages() {
                at += pages;
                break;
            }
            at += pages - 1 + stride;
        }
        self.owner.passed(CompactLock::Zone, scanned - told, chunks);
        if locked.take().is_some() {
            self.owner.unlocks(CompactLock::Zone);
        }
        let at = at.min(end);
        self.owner.trace(CompactEvent::IsolateFree {
            range: PfnRange { start: self.pfn(start), end: self.pfn(at) },
            scanned,
            taken,
        });
        run.free_scanned += scanned;
        self.state.count(Count::Isolated, taken);
        if at == end && taken == 0 && !self.has(CompactFeatures::F18) {
            self.finish_target_block(run, run.span.block_start(start));
        }
        at
    }

    /// Every 32 frames: signals, and others that want the processor.
    fn stops_targets(&self, run: &mut Run) -> bool {
        let resched =
            !self.has(CompactFeatures::F17) && run.goal.is_async() && self.owner.needs_resched();
        let stops = self.owner.fatal_signal() || resched;
        run.contended |= stops;
        stops
    }

    /// The order of the compound page that begins at a frame.
    fn compound_order(&self, frame: u32, state: Frame) -> Option<u8> {
        if !state.is_busy() || self.pages.records().at(frame).allocated(frame).is_none() {
            return None;
        }
        match self.owner.page(self.geometry().pfn(frame)) {
            PageUse::Compound(order) => Some(order.get()),
            PageUse::Lru(page) => Some(page.order.get()),
            PageUse::Fixed | PageUse::Driver => None,
        }
        .filter(|order| *order > 0)
    }
}
