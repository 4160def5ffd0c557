//! What happens between two steps of a run: others allocate and free, interrupts come; and what only
//! large pages, several zones or flushes show.

use crate::{
    owner::{Bench, CPU, Owner, Page, ZONE},
    scene::{START, block, daemon, full, machine, source_scans, target_scans, without},
};
use mmspec_impl::compact::{Compactor, Goal};
use mmspec_model::{
    contract::{
        CompactEvent, CompactLock, CompactMode, CompactResult, LruPages, LruUse, Migrated,
        PageMover, PageUse, Request,
    },
    vocab::{
        AllocFlags, CompactFeatures, CompactFixes, CompactRules, Gfp, Machine, Mark, MigrateType,
        NodeId, Order, Pfn, ZoneKind,
    },
};
use std::{
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    vec::Vec,
};

const RULES: CompactRules = CompactRules::linux_6_12();

/// A moment in a run.
#[derive(Clone, Copy)]
enum Moment {
    /// A lock is about to be taken.
    Lock(CompactLock),
    /// A tracepoint is passed.
    Event(CompactEvent),
}

/// An owner to whom something happens at such moments.
struct Meanwhile<'a> {
    owner: &'a Owner,
    happens: &'a (dyn Fn(Moment) + Sync),
}

impl PageMover for Meanwhile<'_> {
    fn page(&self, pfn: Pfn) -> PageUse {
        self.owner.page(pfn)
    }

    fn isolate(&self, pfn: Pfn) -> bool {
        self.owner.isolate(pfn)
    }

    fn put_back(&self, pfn: Pfn) {
        self.owner.put_back(pfn);
    }

    fn migrate(&self, from: Pfn, to: Pfn, mode: CompactMode, pass: u8) -> Migrated {
        self.owner.migrate(from, to, mode, pass)
    }

    fn lru_pages(&self, node: NodeId) -> LruPages {
        self.owner.lru_pages(node)
    }

    fn contended(&self, lock: CompactLock) -> bool {
        (self.happens)(Moment::Lock(lock));
        self.owner.contended(lock)
    }

    fn fatal_signal(&self) -> bool {
        self.owner.fatal_signal()
    }

    fn trace(&self, event: CompactEvent) {
        self.owner.trace(event);
        (self.happens)(Moment::Event(event));
    }
}

fn take(bench: &Bench, order: u8) -> Option<Pfn> {
    let request = Request::new(Order::of(order), Gfp::HIGHUSER_MOVABLE)
        .at(Mark::Min, AllocFlags::NO_WATERMARKS);
    bench.pages.alloc_pages(CPU, request).page()
}

fn finish(
    compactor: &Compactor<'_, mmspec_impl::platform::StdPlatform, mmspec_impl::Owned>,
    goal: Goal,
) -> CompactResult {
    let mut run = compactor.begin(CPU, ZONE, goal).expect("there is something to do");
    for _ in 0..10_000 {
        if let Some(result) = compactor.step(&mut run) {
            compactor.abandon(run);
            return result;
        }
    }
    panic!("no end");
}

/// compaction.md §1.6, 9: between the look at a page and the LRU lock it may become part of a large one.
#[test]
fn a_page_that_changed_before_the_lock_is_left_alone() {
    let mut bench = Bench::new(1024, 2048, 6, RULES);
    bench.fill();
    bench.free(|pfn| pfn.0 >= 2048 && pfn.0 % 64 < 32);
    let grown = Mutex::new(None);
    let grow = |moment: Moment| {
        let mut grown = grown.lock().unwrap();
        if !matches!(moment, Moment::Lock(CompactLock::Lru)) || grown.is_some() {
            return;
        }
        let mut pages = bench.owner.pages.lock().unwrap();
        let (pfn, page) = pages.iter_mut().next().expect("the zone is full");
        page.lru.order = Order::of(9);
        *grown = Some(*pfn);
    };
    let owner = Meanwhile { owner: &bench.owner, happens: &grow };
    let compactor = Compactor { owner: &owner, ..bench.compactor() };
    finish(&compactor, Goal { mode: CompactMode::Async, ..Goal::WHOLE });
    let first = grown.lock().unwrap().expect("the lock was tried").0;
    let tries = bench.owner.tries.lock().unwrap();
    assert!(
        !tries.is_empty() && tries.iter().all(|(from, ..)| *from != first),
        "{first} was taken"
    );
}

#[test]
fn a_block_that_changed_before_the_lock_is_taken_as_it_is_now() {
    // C28: free blocks of 32 are split between the look at them and the lock; the upper half goes.
    let mut bench = Bench::new(1024, 2048, 6, RULES);
    bench.fill();
    bench.free(|pfn| pfn.0 >= 2048 && pfn.0 % 64 < 32);
    let (once, gone) = (AtomicBool::new(false), Mutex::new(Vec::new()));
    let split = |moment: Moment| {
        if !matches!(moment, Moment::Lock(CompactLock::Zone)) || once.swap(true, Relaxed) {
            return;
        }
        while let Some(half) = take(&bench, 4) {
            gone.lock().unwrap().push(half);
        }
        gone.lock().unwrap().retain(|half| {
            let lower = half.0 % 32 == 0;
            if lower {
                bench.pages.free_pages(CPU, *half, Order::of(4));
            }
            !lower
        });
    };
    let owner = Meanwhile { owner: &bench.owner, happens: &split };
    let compactor = Compactor { owner: &owner, ..bench.compactor() };
    finish(&compactor, Goal { mode: CompactMode::Async, ..Goal::WHOLE });
    let gone = gone.lock().unwrap();
    assert_eq!(gone.len(), 16, "all blocks were split");
    let moved_onto = |half: &Pfn| {
        let pages = bench.owner.pages.lock().unwrap();
        pages.range(*half..Pfn(half.0 + 16)).next().is_some()
    };
    assert!(!gone.iter().any(moved_onto), "a page was moved to frames that are another's");
    bench.check(16 * 16);
    assert!(bench.state.counters().pgmigrate_success > 0);
}

/// A zone whose pageblock 63 begins with a free block of 32, and enough far below; what happens when the
/// free scanner of an async run is about to lock the zone, and its first scan.
fn first_scan(rules: CompactRules, happens: &(dyn Fn(&Bench) + Sync)) -> (u64, u64, u64, u64) {
    let mut bench = full(&machine(), rules);
    bench.free(|pfn| (block(8)..block(16)).contains(&pfn.0) && pfn.0 % 2 == 0);
    bench.free_block(block(63), 5);
    let locks = |moment: Moment| match moment {
        Moment::Lock(CompactLock::Zone) => happens(&bench),
        Moment::Lock(_) => bench.owner.contended.store(false, Relaxed),
        Moment::Event(_) => {}
    };
    let owner = Meanwhile { owner: &bench.owner, happens: &locks };
    let compactor = Compactor { owner: &owner, ..bench.compactor() };
    let mut run =
        compactor.begin(CPU, ZONE, Goal { mode: CompactMode::Async, ..daemon(7) }).unwrap();
    compactor.step(&mut run);
    compactor.abandon(run);
    target_scans(&bench.owner.events.lock().unwrap())[0]
}

#[test]
fn a_busy_zone_lock_stops_async_scans_without_patch_13() {
    let off = CompactFeatures::F09 | CompactFeatures::F11 | CompactFeatures::F20;
    let contend = |bench: &Bench| bench.owner.contended.store(true, Relaxed);
    let scan = first_scan(without(off, CompactFixes::empty()), &contend);
    assert_eq!(scan, (block(63), block(63) + 32, 32, 32));
    let scan = first_scan(without(off | CompactFeatures::F13, CompactFixes::empty()), &contend);
    assert_eq!(scan, (block(63), block(63), 1, 0));
}

#[test]
fn a_block_that_went_before_the_lock_is_passed_over_frame_by_frame() {
    let off = CompactFeatures::F09 | CompactFeatures::F11 | CompactFeatures::F20;
    let goes = |bench: &Bench| {
        take(bench, 5);
    };
    let scan = first_scan(without(off, CompactFixes::empty()), &goes);
    assert_eq!(scan, (block(63), block(64), 128, 0));
}

#[test]
fn a_pageblock_that_another_run_marked_meanwhile_is_left_to_it() {
    // In a zone at frame 0 the first pageblock counts as one that is gone over again.
    for (start, scan) in [(START, (START, START + 128, 1, 0)), (0, (0, 128, 128, 128))] {
        let mut machine = machine();
        machine.zones[0].span.start = Pfn(start);
        let mut bench = full(&machine, without(CompactFeatures::F09, CompactFixes::empty()));
        bench.free(|pfn| pfn.0 >= block(52) && pfn.0 % 2 == 1);
        let mark = |moment: Moment| {
            if matches!(moment, Moment::Lock(CompactLock::Lru)) {
                bench.mark(start);
            }
        };
        let owner = Meanwhile { owner: &bench.owner, happens: &mark };
        let compactor = Compactor { owner: &owner, ..bench.compactor() };
        let goal = Goal { mode: CompactMode::Async, ..daemon(7) };
        let mut run = compactor.begin(CPU, ZONE, goal).unwrap();
        compactor.step(&mut run);
        compactor.abandon(run);
        assert_eq!(source_scans(&bench.owner.events.lock().unwrap())[0], scan);
    }
}

#[test]
fn what_is_freed_after_the_result_was_read_is_not_captured() {
    // C05: an interrupt at the very end of a run frees a block of the order that it wanted.
    let mut bench = Bench::new(0, 2048, 5, RULES);
    let block = take(&bench, 5).unwrap();
    bench.fill();
    bench.free(|pfn| pfn.0.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 62 == 1);
    let interrupt = |moment: Moment| match moment {
        // The signal comes when the run is under way, so that it ends there.
        Moment::Event(CompactEvent::Finished { .. }) => bench.owner.signal.store(true, Relaxed),
        Moment::Event(CompactEvent::End { .. }) => {
            bench.pages.free_pages(CPU, block, Order::of(5));
        }
        _ => {}
    };
    let owner = Meanwhile { owner: &bench.owner, happens: &interrupt };
    let compactor = Compactor { owner: &owner, ..bench.compactor() };
    let goal = Goal {
        migratetype: MigrateType::Movable,
        direct: true,
        ..Goal::daemon(Order::of(5), ZoneKind::Normal)
    };
    assert_eq!(finish(&compactor, goal), CompactResult::Contended);
    bench.check(0);
}

#[test]
fn a_batch_of_large_pages_ends_at_32_or_more() {
    // C16: one page and then pages of 4 never make 32 exactly.
    let mut bench = Bench::new(1024, 512, 6, RULES);
    let mut large: Vec<Pfn> = core::iter::from_fn(|| take(&bench, 2)).collect();
    let first = large.iter().position(|pfn| pfn.0 == 1024).unwrap();
    bench.pages.free_pages(CPU, large.swap_remove(first), Order::of(2));
    bench.pages.drain_all(CPU, None);
    let singles: Vec<Pfn> = core::iter::from_fn(|| take(&bench, 0)).collect();
    assert_eq!(singles.len(), 4);
    for pfn in singles.iter().filter(|pfn| pfn.0 != 1027) {
        bench.pages.free_pages(CPU, *pfn, Order::ZERO);
    }
    // Targets: all large pages of the upper half but the first ones of their pageblocks.
    for pfn in large.iter().filter(|pfn| pfn.0 >= 1280 && pfn.0 % 64 != 0) {
        bench.pages.free_pages(CPU, *pfn, Order::of(2));
    }
    bench.pages.drain_all(CPU, None);
    let pages = bench.owner.pages.get_mut().unwrap();
    let page = |token, order| Page::new(token, LruUse { order: Order::of(order), ..LruUse::ANON });
    pages.insert(Pfn(1027), page(1027, 0));
    for pfn in large.iter().filter(|pfn| pfn.0 < 1088) {
        pages.insert(*pfn, page(pfn.0, 2));
    }
    finish(&bench.compactor(), Goal { mode: CompactMode::SyncLight, ..Goal::WHOLE });
    let events = bench.owner.events.lock().unwrap();
    let batch = events.iter().find_map(|event| match event {
        CompactEvent::IsolateMigrate { taken, .. } if *taken > 0 => Some(*taken),
        _ => None,
    });
    assert_eq!(batch, Some(33));
}

#[test]
fn each_zone_counts_what_was_scanned_in_it() {
    // C19: kcompactd's one record serves both zones.
    let zones = [(ZoneKind::Dma32, 1024, 2048), (ZoneKind::Normal, 2048, 3072)];
    let mut bench = Bench::small(Machine::new(1, &zones), 5, RULES);
    bench.fill();
    bench.free(|pfn| pfn.0.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 62 == 1);
    let compactor = bench.compactor();
    assert!(compactor.kcompactd_wake(NodeId(0), Order::of(5), ZoneKind::Normal));
    assert!(compactor.kcompactd(CPU, NodeId(0)));
    let (mut runs, mut scanned) = (0, 0);
    for event in bench.owner.events.lock().unwrap().iter() {
        match event {
            CompactEvent::Begin { .. } => runs += 1,
            CompactEvent::IsolateMigrate { scanned: frames, .. }
            | CompactEvent::FastFindMigrate { scanned: frames, .. } => scanned += frames,
            _ => {}
        }
    }
    assert_eq!((runs, scanned), (2, bench.state.counters().migrate_scanned));
}

#[test]
fn a_flush_looks_at_no_frame_of_the_next_pageblock() {
    // C10: no page of the first pageblock can move; the first one of the second is on an LRU list.
    let mut bench = Bench::new(64, 2048, 5, RULES);
    bench.fill();
    let pages = bench.owner.pages.get_mut().unwrap();
    pages.retain(|pfn, _| pfn.0 == 96);
    pages.get_mut(&Pfn(96)).unwrap().lru.pinned = true;
    // A direct run whose scanners meet asks for the flush.
    let result = finish(&bench.compactor(), Goal { direct: true, ..Goal::WHOLE });
    assert_eq!(result, CompactResult::Complete);
    let shared = bench.pages.shared();
    for block in [64, 96] {
        bench.state.set_skip_hint(shared, Pfn(block), true);
    }
    bench.compactor().flush_node(NodeId(0));
    assert!(bench.state.skip(shared, Pfn(64)), "nothing in it can move");
    assert!(!bench.state.skip(shared, Pfn(96)));
}
