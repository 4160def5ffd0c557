//! The migrate scanner: which pageblock, and which pages in it (compaction.md §1.6).

use super::{
    BATCH, Compactor, Place,
    run::{Isolated, Run},
    state::{Count, Span},
};
use crate::{
    frame::Frame,
    platform::{Platform, Word},
    storage::Backing,
};
use mmspec_model::{
    contract::{CompactEvent, CompactLock, CompactMode, LruUse, PageUse},
    vocab::{CompactFeatures, CompactFixes, MigrateType, NR_PAGE_ORDERS, PfnRange},
};

/// Frames of the largest pageblock, in words of 64.
const WORDS: usize = (1 << (NR_PAGE_ORDERS - 1)) / 64;

/// Isolated source pages: all of one pageblock. Their order on the kernel's list, where each new one
/// goes to the head, is from the highest frame down.
#[derive(Clone, Debug)]
pub(super) struct Sources {
    block: Place,
    heads: [u64; WORDS],
    pages: u32,
}

impl Sources {
    pub(super) const EMPTY: Self = Self { block: 0, heads: [0; WORDS], pages: 0 };

    pub(super) fn pages(&self) -> u32 {
        self.pages
    }

    fn push(&mut self, span: &Span, at: Place, pages: u32) {
        if self.pages == 0 {
            self.block = span.block_start(at);
        }
        debug_assert!(self.block == span.block_start(at), "a batch lies in one pageblock");
        let bit = (at - self.block) as usize;
        self.heads[bit / 64] |= 1 << (bit % 64);
        self.pages += pages;
    }

    pub(super) fn remove(&mut self, at: Place, pages: u32) {
        let bit = (at - self.block) as usize;
        self.heads[bit / 64] &= !(1 << (bit % 64));
        self.pages -= pages;
    }

    /// The highest page below `below`.
    pub(super) fn highest(&self, below: Option<Place>) -> Option<Place> {
        let mut end = below.map_or(WORDS * 64, |below| (below - self.block) as usize);
        while end > 0 {
            let word = (end - 1) / 64;
            let kept = u64::MAX >> (63 - (end - 1) % 64);
            let found = self.heads[word] & kept;
            if found != 0 {
                return Some(
                    self.block + (word * 64 + 63) as Place - Place::from(found.leading_zeros()),
                );
            }
            end = word * 64;
        }
        None
    }

    /// The lowest page.
    pub(super) fn lowest(&self) -> Option<Place> {
        let word = self.heads.iter().position(|word| *word != 0)?;
        Some(self.block + (word * 64) as Place + Place::from(self.heads[word].trailing_zeros()))
    }
}

/// A page that the scanner looks at.
enum Look {
    /// 2^order frames are free.
    Free(u8),
    /// No source.
    Fixed,
    /// A compound page that is passed over; its order.
    Large(u8),
    Lru(LruUse),
    Driver,
}

/// How the scan of a pageblock is going.
struct Scan {
    at: Place,
    end: Place,
    scanned: u64,
    taken: u64,
    /// Of both, what the owner was told of.
    told: (u64, u64),
    /// The first page of the pageblock was looked at: it stands for it.
    representative: bool,
    /// The skip bit was tested and set.
    marked: bool,
    /// The LRU lock is held.
    locked: bool,
    abort: bool,
    /// Async direct runs: where the order-aligned part ends.
    part_end: Option<Place>,
}

impl<P: Platform, B: Backing> Compactor<'_, P, B> {
    /// Isolate a batch of sources (`isolate_migratepages`).
    pub(super) fn isolate_sources(&self, run: &mut Run) -> Isolated {
        let before = run.migrate;
        let mut low = self.find_source(run);
        let mut picked = low != before && run.fast_search_fail == 0;
        let span = run.span;
        let mut block = span.block_start(low).max(span.start);
        let mut end = span.block_end(low);
        while end <= run.free {
            let aligned = span.is_block_start(low)
                || self.fixed(CompactFixes::ZONE_START) && low == span.start;
            // Up to 5.0 the bit is minded at every visit. What the search found it has marked itself.
            let minds = (!self.has(CompactFeatures::F10) || aligned) && !picked;
            let scan = self.is_block(block, end)
                && !(minds && self.is_skipped(run, low))
                && self.may_be_source(run, block, end);
            if scan {
                if self.isolate_in_block(run, low, end) {
                    return Isolated::Abort;
                }
                break;
            }
            picked = false;
            (low, block, end) = (end, end, end + span.pageblock());
            run.migrate = low;
        }
        if run.sources.pages() > 0 { Isolated::Some } else { Isolated::None }
    }

    /// Whether there is memory in a part of a pageblock.
    pub(super) fn is_block(&self, start: Place, end: Place) -> bool {
        let tables = self.pages.tables();
        let is_there = |at: Place| tables.frame(at as u32) != Frame::ABSENT;
        (start..end).any(is_there)
    }

    /// Whether the pageblock's skip bit is to be minded and set.
    pub(super) fn is_skipped(&self, run: &Run, at: Place) -> bool {
        !run.goal.ignore_skip_hint && self.state.skips(run.span.number(at))
    }

    /// Whether a pageblock may give sources; a refusal advances the cached position (patch 14).
    fn may_be_source(&self, run: &Run, block: Place, end: Place) -> bool {
        let tables = self.pages.tables();
        let early = self.has(CompactFeatures::F14);
        let fills = match self.look(block) {
            Look::Large(order) => order >= run.span.shift,
            Look::Lru(page) => page.order.get() >= run.span.shift,
            Look::Free(_) | Look::Fixed | Look::Driver => false,
        };
        let huge = early && fills && !run.goal.alloc_contig;
        let fits = if run.goal.is_async() && run.goal.direct {
            let of = tables.block_type(block as u32);
            match run.goal.migratetype {
                MigrateType::Movable => matches!(of, MigrateType::Movable | MigrateType::Cma),
                wanted => of == wanted,
            }
        } else {
            true
        };
        if (huge || !fits) && early {
            self.advance_cached(run, end, end);
        }
        !huge && fits
    }

    /// Move the cached migrate positions up to the end of the pageblock (up to 5.0: to the first frame
    /// scanned).
    fn advance_cached(&self, run: &Run, first: Place, end: Place) {
        if run.goal.no_set_skip_hint {
            return;
        }
        let to = self.pfn(if self.has(CompactFeatures::F10) { end } else { first }).0;
        let cached = &self.state.zone(run.zone).cached_migrate;
        for word in &cached[..if run.goal.is_async() { 1 } else { 2 }] {
            if to > word.load() {
                word.store(to);
            }
        }
    }

    /// Isolate sources from `start` to the end of a pageblock (`isolate_migratepages_block`); whether the
    /// run is to be given up.
    pub(super) fn isolate_in_block(&self, run: &mut Run, start: Place, end: Place) -> bool {
        match self.wait_for_room(run) {
            Room::Free => {}
            Room::Enough => return false,
            Room::Abort => return true,
        }
        // The first part is told where the scan begins.
        let by_parts = run.goal.order.is_some() && run.goal.is_async() && run.goal.direct;
        let part_end = by_parts.then_some(start);
        let mut scan = Scan {
            at: start,
            end,
            scanned: 0,
            taken: 0,
            told: (0, 0),
            representative: false,
            marked: false,
            locked: false,
            abort: false,
            part_end,
        };
        while scan.at < end && self.scan_page(run, &mut scan) {}
        scan.at = scan.at.min(end);
        self.tell_passed(&mut scan);
        self.unlock_lru(&mut scan);
        if !scan.abort {
            let emptied = scan.taken == 0 || run.finish_pageblock;
            if scan.at == end && emptied {
                if !run.goal.no_set_skip_hint && scan.representative && !scan.marked {
                    self.state.set_skip(run.span.number(start));
                }
                self.advance_cached(run, start, end);
            }
            self.owner.trace(CompactEvent::IsolateMigrate {
                range: PfnRange { start: self.pfn(start), end: self.pfn(scan.at) },
                scanned: scan.scanned,
                taken: scan.taken,
            });
        }
        run.migrate_scanned += scan.scanned;
        self.state.count(Count::Isolated, scan.taken);
        run.migrate = scan.at;
        scan.abort
    }

    /// Look at the page where the scan is and go on; whether to look at another.
    fn scan_page(&self, run: &mut Run, scan: &mut Scan) -> bool {
        if let Some(part_end) = scan.part_end
            && scan.at >= part_end
        {
            if scan.taken > 0 {
                return false;
            }
            let part = run.goal.order.map_or(1, |order| 1 << order.get());
            scan.part_end = Some((scan.at / part + 1) * part);
        }
        if scan.at % Place::from(BATCH) == 0 && !self.goes_on(run, scan) {
            return false;
        }
        scan.scanned += 1;
        let first = run.span.is_block_start(scan.at)
            || self.fixed(CompactFixes::ZONE_START) && scan.at == run.span.start;
        if first {
            if self.has(CompactFeatures::F10) && self.is_skipped(run, scan.at) {
                scan.at = scan.end;
                return false;
            }
            scan.representative = true;
        }
        let jumps = self.fixed(CompactFixes::COUNT_JUMPS);
        match self.look(scan.at) {
            Look::Free(order) => {
                let rest = (1 << order) - 1;
                scan.scanned += if jumps { rest as u64 } else { 0 };
                scan.at += rest + 1;
                true
            }
            Look::Large(order) if !self.takes_large(run, order) => {
                let rest = (1 << order) - 1;
                scan.scanned += if jumps { rest as u64 } else { 0 };
                scan.at += rest;
                self.fail(run, scan)
            }
            Look::Fixed | Look::Large(_) => self.fail(run, scan),
            Look::Driver => self.take(run, scan, 0),
            Look::Lru(page) => self.scan_lru(run, scan, page),
        }
    }

    /// A page on an LRU list: isolate it if the run may.
    fn scan_lru(&self, run: &mut Run, scan: &mut Scan, page: LruUse) -> bool {
        let order = page.order.get();
        if order > 0 && !self.takes_large(run, order) {
            let rest = (1 << order) - 1;
            scan.scanned += if self.fixed(CompactFixes::COUNT_JUMPS) { rest as u64 } else { 0 };
            scan.at += rest;
            return self.fail(run, scan);
        }
        let async_mode = run.goal.mode != CompactMode::Sync;
        let refused = page.anon && page.pinned
            || !page.anon && !run.goal.may_fs
            || page.unevictable && !self.state.rules.unevictable_allowed
            || async_mode && (page.writeback || page.dirty_without_handler);
        if refused {
            return self.fail(run, scan);
        }
        if !scan.locked {
            self.tell_passed(scan);
            if run.goal.is_async() && self.owner.contended(CompactLock::Lru) {
                run.contended = true;
                if !self.has(CompactFeatures::F13) {
                    scan.abort = true;
                    return false;
                }
            }
            self.owner.locks(CompactLock::Lru);
            scan.locked = true;
            // Whoever held the lock may have changed what the page is.
            if !matches!(self.look(scan.at), Look::Lru(now) if now.order == page.order) {
                return self.fail(run, scan);
            }
            // Up to 6.4 the bit is set only if this very page begins the pageblock, and otherwise never.
            let late = self.fixed(CompactFixes::MARK_REPRESENTATIVE);
            if !scan.marked && self.has(CompactFeatures::F10) && (scan.representative || !late) {
                scan.marked = true;
                if (late || run.span.is_block_start(scan.at))
                    && self.claim(run, scan.at)
                    && !(late && run.finish_pageblock)
                {
                    scan.at = scan.end;
                    return false;
                }
            }
        }
        self.take(run, scan, order)
    }

    /// The owner learns how far the scan is.
    fn tell_passed(&self, scan: &mut Scan) {
        let (scanned, taken) = scan.told;
        self.owner.passed(CompactLock::Lru, scan.scanned - scanned, scan.taken - taken);
        scan.told = (scan.scanned, scan.taken);
    }

    fn unlock_lru(&self, scan: &mut Scan) {
        if scan.locked {
            scan.locked = false;
            self.owner.unlocks(CompactLock::Lru);
        }
    }

    /// Test and set the skip bit: the pageblock is this run's.
    fn claim(&self, run: &Run, at: Place) -> bool {
        if run.goal.ignore_skip_hint || run.goal.no_set_skip_hint {
            return false;
        }
        self.state.test_and_set_skip(run.span.number(at))
    }

    /// Isolate the page where the scan is.
    fn take(&self, run: &mut Run, scan: &mut Scan, order: u8) -> bool {
        if !self.owner.isolate(self.pfn(scan.at)) {
            return self.fail(run, scan);
        }
        let pages = 1 << order;
        run.sources.push(&run.span, scan.at, pages);
        scan.taken += u64::from(pages);
        if self.fixed(CompactFixes::COUNT_JUMPS) {
            scan.scanned += u64::from(pages) - 1;
        }
        scan.at += Place::from(pages);
        let batch = if self.fixed(CompactFixes::STOP_WITH_PAGES) {
            run.sources.pages() >= BATCH
        } else {
            run.sources.pages() == BATCH
        };
        let unbounded = run.finish_pageblock || self.has(CompactFeatures::F13) && run.contended;
        !batch || unbounded
    }

    /// The page where the scan is is no source. Async direct runs give up its order-aligned part.
    fn fail(&self, run: &mut Run, scan: &mut Scan) -> bool {
        let Some(part_end) = scan.part_end else {
            scan.at += 1;
            return true;
        };
        if scan.taken > 0 {
            self.tell_passed(scan);
            self.put_back_sources(run);
            (scan.taken, scan.told.1) = (0, 0);
        }
        scan.at = part_end.max(scan.at + 1);
        true
    }

    /// Whether large folios of this order may be isolated.
    fn takes_large(&self, run: &Run, order: u8) -> bool {
        if run.goal.alloc_contig {
            return true;
        }
        self.fixed(CompactFixes::LARGE_FOLIOS)
            && order < run.span.shift
            && run.goal.order.is_none_or(|wanted| order < wanted.get())
    }

    /// Every 32 frames: signals, and others that want the processor.
    fn goes_on(&self, run: &mut Run, scan: &mut Scan) -> bool {
        if scan.locked {
            self.tell_passed(scan);
            self.unlock_lru(scan);
        }
        if self.owner.fatal_signal() {
            run.contended = true;
            scan.abort = self.fixed(CompactFixes::SIGNAL_ABORTS);
            return false;
        }
        let resched =
            !self.has(CompactFeatures::F17) && run.goal.is_async() && self.owner.needs_resched();
        if resched {
            run.contended = true;
            scan.abort = !self.has(CompactFeatures::F13);
            return !scan.abort;
        }
        true
    }

    /// Wait while too many pages are isolated.
    fn wait_for_room(&self, run: &Run) -> Room {
        while self.too_many_isolated(run) {
            if run.sources.pages() > 0 && self.fixed(CompactFixes::STOP_WITH_PAGES) {
                return Room::Enough;
            }
            let waits = !run.goal.is_async() && self.owner.wait_isolated();
            if !waits || self.owner.fatal_signal() {
                return Room::Abort;
            }
        }
        Room::Free
    }

    fn too_many_isolated(&self, run: &Run) -> bool {
        let mut lru = self.owner.lru_pages(self.pages.zone(run.zone).info.node);
        if run.goal.may_fs && self.fixed(CompactFixes::ISOLATED_EIGHTH) {
            lru.inactive >>= 3;
            lru.active >>= 3;
        }
        lru.isolated > (lru.inactive + lru.active) / 2
    }

    /// What is at a place.
    fn look(&self, at: Place) -> Look {
        let frame = at as u32;
        let tables = self.pages.tables();
        let state = tables.frame(frame);
        if state.is_free() {
            return Look::Free(state.order());
        }
        if !state.is_busy() || tables.links.at(frame).allocated(frame).is_none() {
            return Look::Fixed;
        }
        match self.owner.page(self.pfn(at)) {
            PageUse::Fixed => Look::Fixed,
            PageUse::Compound(order) => Look::Large(order.get()),
            PageUse::Lru(page) => Look::Lru(page),
            PageUse::Driver => Look::Driver,
        }
    }
}

/// Whether more pages may be isolated.
enum Room {
    Free,
    /// No, but the run has some to go on with.
    Enough,
    Abort,
}
