//! Compaction beside allocation, free, drain, isolation and capture, under random schedules.

use mmspec_impl::compact::{CompactStorage, Compaction, Compactor, Goal};
use mmspec_impl::{Owned, OwnedAllocator, Platform, StorageSize};
use mmspec_model::contract::{
    CompactMode, LruPages, LruUse, Migrated, PageMover, PageUse, Request,
};
use mmspec_model::vocab::{
    AllocFlags, CompactRules, CpuId, Gfp, Machine, Mark, MigrateType, NodeId, Order, Pfn, Rules,
    Tunables, ZoneIdx, ZoneKind,
};
use mmspec_proptests::generate::Rng;
use mmspec_proptests::schedules::{self, Coarse, Fine};
use shuttle::scheduler::RandomScheduler;
use shuttle::{Config, FailurePersistence, MaxSteps, Runner};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

const START: u64 = 16;
const FRAMES: u64 = 192;
const PAGEBLOCK: u8 = 4;
const COMPACTOR: CpuId = CpuId(0);
const TASK: CpuId = CpuId(1);
const HOTPLUG: CpuId = CpuId(2);

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    OnList,
    Isolated,
    /// Freed by its owner while it was isolated: the last to hold it gives it back.
    Gone,
}

/// Who has what. Its locks are plain ones: none is held where others may run.
#[derive(Default)]
struct Ledger {
    /// Movable pages.
    pages: BTreeMap<Pfn, State>,
    /// First frames of other blocks.
    blocks: BTreeMap<Pfn, Order>,
}

impl Ledger {
    fn is_taken(&self, pfn: Pfn, order: Order) -> bool {
        let end = Pfn(pfn.0 + order.pages());
        let before = self.blocks.range(..=pfn).next_back();
        self.pages.range(pfn..end).next().is_some()
            || self.blocks.range(pfn..end).next().is_some()
            || before.is_some_and(|(first, order)| first.0 + order.pages() > pfn.0)
    }
}

struct Shared<P: Platform> {
    pages: OwnedAllocator<P>,
    state: Compaction<P, Owned>,
    ledger: Mutex<Ledger>,
    moved: AtomicU64,
}

impl<P: Platform> Shared<P> {
    fn boot(rules: CompactRules) -> Self {
        let mut machine = Machine::new(3, &[(ZoneKind::Normal, START, START + FRAMES)]);
        machine.pageblock_order = Order::of(PAGEBLOCK);
        machine.max_order = Order::of(PAGEBLOCK + 1);
        machine.thp_order = None;
        let tunables = Tunables { min_free_kbytes: Some(32), ..Tunables::default() };
        let pages = OwnedAllocator::new(machine.as_ref(), Rules::linux_6_12(), tunables).unwrap();
        let size = StorageSize::of(&machine.as_ref());
        let state = Compaction::new(&size, CompactStorage::on_heap(&size), rules).unwrap();
        let shared = Self { pages, state, ledger: Mutex::default(), moved: AtomicU64::new(0) };
        while shared.alloc(TASK, AllocFlags::NO_WATERMARKS) {}
        for pfn in (START..START + FRAMES).filter(|pfn| pfn * 0x9e37_79b9 % 64 < 28) {
            shared.free(TASK, Pfn(pfn));
        }
        shared.pages.drain_all(TASK, None);
        shared
    }

    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One more movable page.
    fn alloc(&self, cpu: CpuId, flags: AllocFlags) -> bool {
        let request = Request::new(Order::ZERO, Gfp::HIGHUSER_MOVABLE).at(Mark::Min, flags);
        let Some(pfn) = self.pages.alloc_pages(cpu, request).page() else { return false };
        let mut ledger = self.ledger();
        assert!(!ledger.is_taken(pfn, Order::ZERO), "{pfn} was handed out twice");
        ledger.pages.insert(pfn, State::OnList);
        true
    }

    /// A block that does not move.
    fn alloc_block(&self, cpu: CpuId, order: Order) {
        let request = Request::new(order, Gfp::KERNEL);
        if let Some(pfn) = self.pages.alloc_pages(cpu, request).page() {
            self.keeps(pfn, order);
        }
    }

    fn keeps(&self, pfn: Pfn, order: Order) {
        let mut ledger = self.ledger();
        assert!(!ledger.is_taken(pfn, order), "{pfn} was handed out twice, order {order}");
        ledger.blocks.insert(pfn, order);
    }

    /// The owner of a movable page has no more use for it.
    fn free(&self, cpu: CpuId, pfn: Pfn) {
        let mut ledger = self.ledger();
        match ledger.pages.get_mut(&pfn) {
            Some(state @ State::Isolated) => *state = State::Gone,
            Some(State::OnList) => {
                ledger.pages.remove(&pfn);
                drop(ledger);
                self.pages.free_pages(cpu, pfn, Order::ZERO);
            }
            Some(State::Gone) | None => {}
        }
    }

    fn free_block(&self, cpu: CpuId) {
        let block = self.ledger().blocks.pop_first();
        if let Some((pfn, order)) = block {
            self.pages.free_pages(cpu, pfn, order);
        }
    }

    /// A task that compacts for a block, or for the whole zone.
    fn compacts(&self, rng: &mut Rng) {
        let compactor = Compactor { pages: self.pages.shared(), state: &self.state, owner: self };
        let modes = [CompactMode::Async, CompactMode::SyncLight, CompactMode::Sync];
        let mode = modes[rng.below(3) as usize];
        let goal = if rng.below(4) == 0 {
            Goal { mode, ..Goal::WHOLE }
        } else {
            Goal {
                order: Some(Order::of(PAGEBLOCK)),
                migratetype: MigrateType::Movable,
                mode,
                flags: AllocFlags::CMA,
                direct: true,
                whole_zone: false,
                ignore_skip_hint: false,
                ..Goal::WHOLE
            }
        };
        let Ok(mut run) = compactor.begin(COMPACTOR, ZoneIdx(0), goal) else { return };
        let mut left = 4 * FRAMES;
        while compactor.step(&mut run).is_none() {
            left -= 1;
            assert!(left > 0, "a run goes on for ever");
        }
        if let (Some(pfn), Some(order)) = (run.take_captured(), goal.order) {
            // Whatever the run came to.
            CAPTURED.fetch_add(1, Relaxed);
            self.keeps(pfn, order);
        }
    }

    fn task(&self, rng: &mut Rng) {
        for _ in 0..6 {
            match rng.below(6) {
                0 | 1 => {
                    self.alloc(TASK, AllocFlags::empty());
                }
                2 => self.alloc_block(TASK, Order::of(rng.below(3) as u8)),
                3 => self.free_block(TASK),
                _ => self.free(TASK, Pfn(START + rng.below(FRAMES))),
            }
        }
    }

    fn hotplug(&self, rng: &mut Rng) {
        let block = Pfn(START + (rng.below(FRAMES) >> PAGEBLOCK << PAGEBLOCK));
        let isolated = self.pages.isolate(HOTPLUG, block, &|_| true);
        for _ in 0..3 {
            self.free(HOTPLUG, Pfn(block.0 + rng.below(1 << PAGEBLOCK)));
        }
        self.pages.drain_all(HOTPLUG, None);
        if isolated {
            assert!(self.pages.unisolate(HOTPLUG, block, MigrateType::Movable));
        }
        self.free(HOTPLUG, Pfn(START + rng.below(FRAMES)));
        self.pages.drain_all(HOTPLUG, None);
    }

    /// Nothing is lost, and all of it can be given back.
    fn judge(&self) {
        let counters = self.state.counters();
        assert_eq!(counters.pgmigrate_success, self.moved.load(Relaxed));
        MOVED.fetch_add(counters.pgmigrate_success, Relaxed);
        let (pages, held) = {
            let ledger = self.ledger();
            let listed = ledger.pages.values().all(|state| *state == State::OnList);
            assert!(listed, "a page was left isolated");
            let held: u64 = ledger.blocks.values().map(|order| order.pages()).sum();
            (ledger.pages.keys().copied().collect::<Vec<_>>(), held)
        };
        self.pages.drain_all(TASK, None);
        let all = self.pages.free_frames() + pages.len() as u64 + held;
        assert_eq!(all, self.pages.managed_frames(), "pages were lost, or are there twice");
        for pfn in pages {
            self.free(TASK, pfn);
        }
        while !self.ledger().blocks.is_empty() {
            self.free_block(TASK);
        }
        self.pages.drain_all(TASK, None);
        let zone = self.pages.zone_state(ZoneIdx(0));
        let blocks = zone.nr_free.iter().enumerate();
        let listed: u64 = blocks.map(|(order, types)| types.iter().sum::<u64>() << order).sum();
        assert_eq!((listed, self.pages.free_frames()), (FRAMES, FRAMES));
    }
}

impl<P: Platform> PageMover for Shared<P> {
    fn page(&self, pfn: Pfn) -> PageUse {
        match self.ledger().pages.get(&pfn) {
            Some(State::OnList) => PageUse::Lru(LruUse::ANON),
            _ => PageUse::Fixed,
        }
    }

    fn isolate(&self, pfn: Pfn) -> bool {
        match self.ledger().pages.get_mut(&pfn) {
            Some(state @ State::OnList) => *state = State::Isolated,
            _ => return false,
        }
        true
    }

    fn put_back(&self, pfn: Pfn) {
        let mut ledger = self.ledger();
        match ledger.pages.get_mut(&pfn) {
            Some(state @ State::Isolated) => *state = State::OnList,
            Some(State::Gone) => {
                ledger.pages.remove(&pfn);
                drop(ledger);
                self.pages.free_pages(COMPACTOR, pfn, Order::ZERO);
            }
            _ => panic!("{pfn} was put back without having been isolated"),
        }
    }

    fn migrate(&self, from: Pfn, to: Pfn, _: CompactMode, _: u8) -> Migrated {
        let mut ledger = self.ledger();
        match ledger.pages.get(&from) {
            Some(State::Isolated) => {
                assert!(!ledger.is_taken(to, Order::ZERO), "the target {to} is in use");
                ledger.pages.insert(to, State::OnList);
                ledger.pages.remove(&from);
                self.moved.fetch_add(1, Relaxed);
                Migrated::Done
            }
            Some(State::Gone) => {
                ledger.pages.remove(&from);
                self.moved.fetch_add(1, Relaxed);
                FREED.fetch_add(1, Relaxed);
                Migrated::Freed
            }
            _ => panic!("{from} moves without having been isolated"),
        }
    }

    fn lru_pages(&self, _: NodeId) -> LruPages {
        let ledger = self.ledger();
        let isolated = ledger.pages.values().filter(|state| **state != State::OnList).count();
        let all = ledger.pages.len();
        LruPages { inactive: (all - isolated) as u64, active: 0, isolated: isolated as u64 }
    }
}

static MOVED: AtomicU64 = AtomicU64::new(0);
static FREED: AtomicU64 = AtomicU64::new(0);
static CAPTURED: AtomicU64 = AtomicU64::new(0);

/// Random schedules of three threads, each of another history.
fn explore<P>(seed: u64, schedules: usize, rules: CompactRules)
where
    P: Platform + 'static,
    Shared<P>: Send + Sync,
{
    let mut config = Config::new();
    config.failure_persistence = FailurePersistence::None;
    config.max_steps = MaxSteps::FailAfter(200_000);
    config.silence_warnings = true;
    // Zones' numbers lie on the stack; shuttle's default is 60 KiB.
    config.stack_size = 1 << 19;
    let number = AtomicU64::new(0);
    let scheduler = RandomScheduler::new_from_seed(seed, schedules);
    Runner::new(scheduler, config).run(move || {
        let case = number.fetch_add(1, Relaxed);
        schedules::afresh();
        let shared = Arc::new(Shared::<P>::boot(rules));
        let roles: [fn(&Shared<P>, &mut Rng); 3] =
            [Shared::compacts, Shared::task, Shared::hotplug];
        schedules::together(|| {
            let threads = roles.iter().zip(0..).map(|(role, thread)| {
                let (role, shared) = (*role, Arc::clone(&shared));
                let mut rng = Rng::for_case(seed + thread, case);
                shuttle::thread::spawn(move || role(&shared, &mut rng))
            });
            let threads: Vec<_> = threads.collect();
            for thread in threads {
                thread.join().unwrap();
            }
        });
        shared.judge();
    });
}

#[test]
fn compaction_beside_others_loses_nothing() {
    explore::<Coarse>(1, 8_000, CompactRules::linux_6_12());
    explore::<Fine>(2, 4_000, CompactRules::linux_6_12());
    explore::<Coarse>(3, 1_000, CompactRules::linux_5_0());
    explore::<Coarse>(4, 1_000, CompactRules::linux_5_1());
    // The threads did meet.
    let counts = [&MOVED, &FREED, &CAPTURED].map(|count| count.load(Relaxed));
    assert!(counts.iter().all(|count| *count > 20), "moved, freed, captured: {counts:?}");
}
