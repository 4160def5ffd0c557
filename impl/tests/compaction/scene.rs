//! Zones with known contents: every frame held by the owner but for the blocks that a test frees.

use crate::owner::{Bench, CPU, Page, ZONE};
use mmspec_impl::compact::{Goal, Run};
use mmspec_model::{
    contract::{CompactEvent, CompactMode, CompactResult, LruUse},
    vocab::{AllocFlags, CompactRules, Gfp, Machine, MigrateType, Order, Pfn, Tunables, ZoneKind},
};
use std::vec::Vec;

/// Frames of a pageblock.
pub(crate) const BLOCK: u64 = 128;
/// The zone's first frame: not 0, which is a special case of the kernel's.
pub(crate) const START: u64 = 1024;
/// Its pageblocks.
pub(crate) const BLOCKS: u64 = 64;

/// The start of a pageblock of the zone.
pub(crate) const fn block(number: u64) -> u64 {
    START + number * BLOCK
}

/// The machine of most tests: one zone of 64 pageblocks of 128 frames.
pub(crate) fn machine() -> Machine {
    let mut machine = Machine::new(2, &[(ZoneKind::Normal, START, block(BLOCKS))]);
    machine.pageblock_order = Order::of(7);
    machine.max_order = Order::of(8);
    machine.thp_order = None;
    machine
}

/// A full zone, of pages that move, with low watermarks.
pub(crate) fn full(machine: &Machine, rules: CompactRules) -> Bench {
    let tunables = Tunables {
        min_free_kbytes: Some(128),
        watermark_scale_factor: 1,
        watermark_boost_factor: 0,
        ..Tunables::default()
    };
    let mut bench = Bench::of(machine, tunables, rules);
    bench.fill();
    bench
}

/// A zone that suits a run for a pageblock: every second frame is free of the topmost `free` pageblocks.
pub(crate) fn scene(rules: CompactRules, free: u64) -> Bench {
    let mut bench = full(&machine(), rules);
    bench.free(|pfn| pfn.0 >= block(BLOCKS - free) && pfn.0 % 2 == 1);
    bench
}

/// As a task compacts for movable memory.
pub(crate) fn task(order: u8, mode: CompactMode) -> Goal {
    Goal {
        migratetype: MigrateType::Movable,
        flags: AllocFlags::CMA,
        mode,
        direct: true,
        ..Goal::daemon(Order::of(order), ZoneKind::Normal)
    }
}

/// As kcompactd does.
pub(crate) fn daemon(order: u8) -> Goal {
    Goal::daemon(Order::of(order), ZoneKind::Normal)
}

impl Bench {
    /// Free the 2^`order` frames from `first` on: they become one block, as long as its buddy is not free.
    pub(crate) fn free_block(&mut self, first: u64, order: u8) {
        self.free(|pfn| (first..first + (1 << order)).contains(&pfn.0));
    }

    /// The frames from `first` on become one folio of the owner.
    pub(crate) fn folio(&mut self, first: u64, order: u8) {
        let like = self.owner.pages.get_mut().unwrap()[&Pfn(first)];
        self.free_block(first, order);
        let pfn = self.take(Order::of(order), Gfp::HIGHUSER_MOVABLE).unwrap();
        assert_eq!(pfn, Pfn(first), "the only block of this order");
        let lru = LruUse { order: Order::of(order), ..like.lru };
        self.owner.pages.get_mut().unwrap().insert(pfn, Page { lru, ..like });
    }

    /// The Movable list of an order, first entry first.
    pub(crate) fn list(&self, order: u8) -> Vec<u64> {
        let mut list = Vec::new();
        self.pages.for_each_free(ZONE, Order::of(order), MigrateType::Movable, &mut |pfn: Pfn| {
            list.push(pfn.0);
        });
        list
    }

    /// Begin a run that is known to have sense.
    pub(crate) fn begin(&self, goal: Goal) -> Run {
        self.compactor().begin(CPU, ZONE, goal).expect("the zone suits")
    }

    /// One iteration: how the run ended, and the tracepoints passed.
    pub(crate) fn step(&self, run: &mut Run) -> (Option<CompactResult>, Vec<CompactEvent>) {
        self.owner.events.lock().unwrap().clear();
        let ended = self.compactor().step(run);
        (ended, core::mem::take(&mut *self.owner.events.lock().unwrap()))
    }

    /// Step a run to its end: the result, and the tracepoints passed.
    pub(crate) fn finish(&self, run: &mut Run) -> (CompactResult, Vec<CompactEvent>) {
        let mut all = Vec::new();
        for _ in 0..20_000 {
            let (ended, events) = self.step(run);
            all.extend(events);
            if let Some(result) = ended {
                return (result, all);
            }
        }
        panic!("a run has no end");
    }

    /// Put the cached positions of all runs at these frames.
    pub(crate) fn cached(&self, migrate: u64, free: u64) {
        self.state.set_cached(ZONE, [Pfn(migrate); 2], Pfn(free));
    }

    pub(crate) fn skips(&self, at: u64) -> bool {
        self.state.skip(self.pages.shared(), Pfn(at))
    }

    pub(crate) fn mark(&self, at: u64) {
        self.state.set_skip_hint(self.pages.shared(), Pfn(at), true);
    }

    /// The pageblock of `at` becomes one of this type.
    pub(crate) fn retype(&self, at: u64, to: MigrateType) {
        assert!(self.pages.isolate(CPU, Pfn(at), &|_| true));
        assert!(self.pages.unisolate(CPU, Pfn(at), to));
    }

    /// No page moves: every one has references that are not mappings.
    pub(crate) fn pin_all(&mut self) {
        self.each(|_, page| page.lru.pinned = true);
    }
}

/// Searches for a source: entries looked at, the limit, the pageblock found.
pub(crate) fn source_searches(events: &[CompactEvent]) -> Vec<(u64, u64, Option<u64>)> {
    let search = |event: &CompactEvent| match *event {
        CompactEvent::FastFindMigrate { scanned, limit, found } => {
            Some((scanned, limit, found.map(|pfn| pfn.0)))
        }
        _ => None,
    };
    events.iter().filter_map(search).collect()
}

/// Scans for sources: from, to, frames looked at, pages taken.
pub(crate) fn source_scans(events: &[CompactEvent]) -> Vec<(u64, u64, u64, u64)> {
    let scan = |event: &CompactEvent| match *event {
        CompactEvent::IsolateMigrate { range, scanned, taken } => {
            Some((range.start.0, range.end.0, scanned, taken))
        }
        _ => None,
    };
    events.iter().filter_map(scan).collect()
}

/// Searches for targets: from where on entries count, entries looked at, pages taken.
pub(crate) fn target_searches(events: &[CompactEvent]) -> Vec<(u64, u64, u64)> {
    let search = |event: &CompactEvent| match *event {
        CompactEvent::FastIsolateFree { range, scanned, taken } => {
            Some((range.start.0, scanned, taken))
        }
        _ => None,
    };
    events.iter().filter_map(search).collect()
}

/// Scans for targets: from, to, frames looked at, pages taken.
pub(crate) fn target_scans(events: &[CompactEvent]) -> Vec<(u64, u64, u64, u64)> {
    let scan = |event: &CompactEvent| match *event {
        CompactEvent::IsolateFree { range, scanned, taken } => {
            Some((range.start.0, range.end.0, scanned, taken))
        }
        _ => None,
    };
    events.iter().filter_map(scan).collect()
}

/// Pages moved: from, to.
pub(crate) fn moves(events: &[CompactEvent]) -> Vec<(u64, u64)> {
    let moved = |event: &CompactEvent| match *event {
        CompactEvent::Moved { from, to, .. } => Some((from.0, to.0)),
        _ => None,
    };
    events.iter().filter_map(moved).collect()
}

/// 6.12 without one of the patches of 2019, and with none of these later changes.
pub(crate) fn without(
    features: mmspec_model::vocab::CompactFeatures,
    fixes: mmspec_model::vocab::CompactFixes,
) -> CompactRules {
    let rules = CompactRules::linux_6_12();
    CompactRules {
        features: rules.features.difference(features),
        fixes: rules.fixes.difference(fixes),
        ..rules
    }
}
