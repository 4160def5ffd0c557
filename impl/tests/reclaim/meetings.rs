//! Shrinks that meet each other, pages in the way, and what all that costs.

use super::*;

/// An owner that lets another shrink come in between, once, when it is asked first.
struct Between<'a> {
    bench: &'a Bench,
    other: Mutex<Option<Shrink>>,
    came_to: Mutex<Option<Shrunk>>,
}

impl PageOwner for Between<'_> {
    fn references(&self, page: LruPage) -> References {
        if let Some(shrink) = self.other.lock().unwrap().take() {
            *self.came_to.lock().unwrap() = Some(self.bench.shrink(shrink));
        }
        self.bench.owner.references(page)
    }

    fn is_dirty(&self, page: LruPage) -> bool {
        self.bench.owner.is_dirty(page)
    }

    fn is_under_writeback(&self, page: LruPage) -> bool {
        self.bench.owner.is_under_writeback(page)
    }

    fn swap(&self, page: LruPage) -> Anon {
        self.bench.owner.swap(page)
    }

    fn unmap(&self, page: LruPage) -> bool {
        self.bench.owner.unmap(page)
    }

    fn write(&self, page: LruPage) -> Written {
        self.bench.owner.write(page)
    }

    fn release(&self, page: LruPage) -> bool {
        self.bench.owner.release(page)
    }
}

#[test]
fn tasks_leave_it_to_who_has_more_in_hand_than_is_left() {
    for (pages, kswapd, reclaimed) in [(63, false, 0), (64, false, 32), (63, true, 31)] {
        let bench = Bench::small(false);
        bench.fill(LruList::InactiveFile, pages, Gfp::HIGHUSER_MOVABLE);
        let other = Mutex::new(Some(Shrink { kswapd, ..HARD }));
        let between = Between { bench: &bench, other, came_to: Mutex::default() };
        let reclaim = Reclaim { owner: &between, ..bench.reclaim() };
        reclaim.shrink_node(CPU0, NODE, &HARD);
        let came_to = between.came_to.lock().unwrap().unwrap();
        assert_eq!(came_to.reclaimed, reclaimed, "32 of {pages} are in hand");
        // Nothing is in hand any more, so that tasks take what is left.
        bench.fill(LruList::InactiveFile, 8, Gfp::HIGHUSER_MOVABLE);
        assert!(bench.shrink(Shrink { kswapd: false, ..HARD }).reclaimed >= 8);
    }
}

#[test]
fn a_look_that_takes_nothing_says_nothing_of_dirty_pages() {
    let zones = [(ZoneKind::Dma32, 0, 4096), (ZoneKind::Normal, 4096, 8192)];
    let bench = Bench::new(&Machine::new(1, &zones), false);
    let low_only = Shrink { highest: ZoneKind::Dma32, ..HARD };
    let low = || bench.fill(LruList::InactiveFile, 1, Gfp::DMA32 | Gfp::MOVABLE)[0];
    let dirty = low();
    bench.owner.with(dirty, |page| page.dirty = true);
    bench.shrink(low_only);
    assert_eq!(bench.on(LruList::ActiveFile), [dirty], "seen once");
    // A clean page goes, so that kswapd is not to write; then 1024 pages of Normal are in the way.
    low();
    bench.fill(LruList::InactiveFile, 1024, Gfp::HIGHUSER_MOVABLE);
    assert_eq!(bench.shrink(low_only), Shrunk { scanned: 1, reclaimed: 1 });
    assert_eq!(bench.on(LruList::InactiveFile)[0], dirty);
    assert_eq!(bench.shrink(low_only), Shrunk::default());
    assert_eq!(bench.shrink(low_only), Shrunk { scanned: 1, reclaimed: 0 });
    assert_eq!(bench.owner.writes.load(Relaxed), 0);
}

#[test]
fn what_was_written_costs_more_than_what_was_kept() {
    // 32 of anonymous memory are written, which costs 32 each, and one more each where writes only
    // begin. That is more than a quarter of the pages, so half of it is kept: 512 or 528.
    for (slow, stay, next) in [(false, 1888, 21), (true, 1920, 22)] {
        let bench = Bench::small(true);
        for pfn in bench.fill(LruList::InactiveAnon, 1920, Gfp::HIGHUSER_MOVABLE) {
            bench.owner.with(pfn, |page| page.slow = slow);
        }
        bench.shrink(Shrink { priority: 4, target: 0, ..GENTLE });
        assert_eq!((bench.sizes()[0], bench.owner.swaps.load(Relaxed)), (stay, 32));
        // 20 files stay, one each. Most are active, so that costs decide.
        let files = bench.fill(LruList::InactiveFile, 32, Gfp::HIGHUSER_MOVABLE);
        bench.fill(LruList::ActiveFile, 1000, Gfp::HIGHUSER_MOVABLE);
        files[..20].iter().for_each(|pfn| bench.owner.with(*pfn, |page| page.pinned = true));
        let done = bench.shrink(Shrink { may_swap: false, target: 1, ..HARD });
        assert_eq!(done.reclaimed, 12);
        // With 512 and 20: 60 × 1597 / 1045 is 91, 140 × 1597 / 553 is 404; of a sixteenth, 118, that is
        // 21. With 528 and 20 it is the same, but of 120.
        bench.shrink(Shrink { priority: 4, target: 1000, ..GENTLE });
        assert_eq!(bench.owner.swaps.load(Relaxed), 32 + next);
    }
}

#[test]
fn program_text_in_use_stays_and_costs() {
    let bench = Bench::small(true);
    let pfns = bench.fill(LruList::ActiveFile, 4, Gfp::HIGHUSER_MOVABLE);
    for (pfn, (times, executable, locked)) in
        pfns.iter().zip([(1, true, false), (0, true, false), (1, false, false), (0, false, true)])
    {
        bench.owner.with(*pfn, |page| page.uses = References { times, executable, locked });
    }
    bench.shrink(HARD);
    assert_eq!(bench.on(LruList::ActiveFile), [pfns[0]]);
    assert_eq!(bench.sizes(), [0, 0, 2, 1, 1]);
    // 320 that stay, one each: with 0 and 320 it is 60 × 961 / 321, 179, to 140 × 961 / 641, 209; of a
    // sixteenth, 62, that is 28.
    let bench = Bench::small(true);
    bench.fill(LruList::InactiveAnon, 1000, Gfp::HIGHUSER_MOVABLE);
    for pfn in bench.fill(LruList::ActiveFile, 320, Gfp::HIGHUSER_MOVABLE) {
        let uses = References { times: 1, executable: true, locked: false };
        bench.owner.with(pfn, |page| page.uses = uses);
    }
    bench.shrink(Shrink { may_swap: false, ..HARD });
    assert_eq!(bench.sizes(), [1000, 0, 0, 320, 0]);
    bench.shrink(Shrink { priority: 4, target: 1000, ..GENTLE });
    assert_eq!(bench.sizes()[0], 1000 - 28);
}
