//! Two threads and all operations at once: no frame has two owners, nothing is lost.

mod common;

use common::{NORMAL, single_zone};
use mmspec_impl::OwnedAllocator;
use mmspec_model::{
    contract::Request,
    vocab::{AllocFlags, CpuId, Gfp, Mark, MigrateType, Order, Pfn, Rules},
};
use std::{
    sync::{
        Barrier, Mutex,
        atomic::{AtomicBool, AtomicU8, Ordering::Relaxed},
    },
    thread,
    vec::Vec,
};

const FRAMES: u64 = 1 << 15;
const STEPS: usize = 60_000;

/// xorshift64*: the same numbers on every machine.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) % bound
    }
}

/// Which frames are in use, kept apart from the allocator.
struct Owners(Vec<AtomicU8>);

impl Owners {
    fn set(&self, (pfn, order): (Pfn, Order), from: u8, to: u8) {
        for frame in &self.0[pfn.index()..pfn.index() + order.pages() as usize] {
            assert_eq!(frame.swap(to, Relaxed), from, "block {pfn} of order {order}");
        }
    }
}

struct Run<'a> {
    pages: &'a OwnedAllocator,
    owners: &'a Owners,
    /// Blocks on their way from one thread to another.
    post: &'a Mutex<Vec<(Pfn, Order)>>,
    cpu: CpuId,
    random: Random,
    held: Vec<(Pfn, Order)>,
}

impl Run<'_> {
    fn take(&mut self, order: Order) {
        let gfp = [Gfp::KERNEL, Gfp::HIGHUSER_MOVABLE, Gfp::KERNEL | Gfp::RECLAIMABLE]
            [self.random.below(3) as usize];
        let mut request = Request::new(order, gfp);
        if self.random.below(8) == 0 {
            let flags = AllocFlags::MIN_RESERVE | AllocFlags::NON_BLOCK | AllocFlags::HIGHATOMIC;
            request = request.at(Mark::Min, flags);
        }
        if let Some(pfn) = self.pages.alloc_pages(self.cpu, request).page() {
            assert!(pfn.is_aligned(order));
            self.owners.set((pfn, order), 0, 1);
            self.held.push((pfn, order));
        }
    }

    fn give_back(&mut self, block: (Pfn, Order)) {
        self.owners.set(block, 1, 0);
        self.pages.free_pages(self.cpu, block.0, block.1);
    }

    fn pick(&mut self) -> Option<(Pfn, Order)> {
        let at = self.random.below(self.held.len().max(1) as u64) as usize;
        (!self.held.is_empty()).then(|| self.held.swap_remove(at))
    }

    fn bulk(&mut self) {
        let mut slots = [None; 16];
        let filled = self.pages.alloc_bulk(self.cpu, Gfp::KERNEL, &mut slots);
        assert_eq!(slots.iter().flatten().count(), filled);
        let batch: Vec<_> = slots.into_iter().flatten().map(|pfn| (pfn, Order::ZERO)).collect();
        batch.iter().for_each(|block| self.owners.set(*block, 0, 1));
        batch.iter().for_each(|block| self.owners.set(*block, 1, 0));
        self.pages.free_batch(self.cpu, &batch);
    }

    fn step(&mut self) {
        let other = CpuId(1 - self.cpu.0);
        match self.random.below(100) {
            0..45 => {
                let order = Order::of([0, 0, 0, 1, 2, 3, 4, 9][self.random.below(8) as usize]);
                self.take(order);
            }
            45..80 => {
                if let Some(block) = self.pick() {
                    self.give_back(block);
                }
            }
            80..86 => {
                if let Some(block) = self.pick() {
                    self.post.lock().unwrap().push(block);
                }
            }
            86..92 => {
                let block = self.post.lock().unwrap().pop();
                if let Some(block) = block {
                    self.give_back(block);
                }
            }
            92..95 => self.bulk(),
            95 => self.pages.drain_cpu(self.cpu, other),
            96 => self.pages.drain_all(self.cpu, None),
            97 => {
                self.pages.tick(self.cpu);
                let mt = MigrateType::PCP[self.random.below(3) as usize];
                self.pages.unreserve_highatomic(self.cpu, mt, true);
            }
            98 => {
                self.pages.pcp_disable(self.cpu, NORMAL);
                self.pages.pcp_enable(NORMAL);
            }
            _ => {
                let pfn = Pfn(self.random.below(FRAMES));
                if self.pages.isolate(self.cpu, pfn, &|_| true) {
                    self.take(Order::of(3));
                    assert!(self.pages.unisolate(self.cpu, pfn, MigrateType::Movable));
                }
            }
        }
    }

    fn finish(mut self) {
        for block in core::mem::take(&mut self.held) {
            self.give_back(block);
        }
    }
}

/// Everything given back: all memory is free and every counter agrees.
fn check_conservation(pages: &OwnedAllocator) {
    pages.drain_all(CpuId(0), None);
    let state = pages.zone_state(NORMAL);
    assert_eq!(pages.free_frames(), FRAMES);
    assert_eq!(state.nr_free_pages_exact, FRAMES as i64);
    let events = pages.events();
    assert_eq!(events.pgfree - FRAMES, events.pgalloc_total());
    let mut listed = 0;
    for order in Order::ZERO.up_to(Order::MAX) {
        for mt in MigrateType::ALL {
            let mut blocks = 0;
            pages.for_each_free(NORMAL, order, mt, &mut |pfn| {
                assert!(pfn.is_aligned(order));
                blocks += 1;
            });
            assert_eq!(blocks, state.nr_free[order.index()][mt.index()], "order {order} {mt}");
            listed += blocks << order.get();
        }
    }
    assert_eq!(listed, FRAMES);
}

/// `threads` threads run random steps; thread n uses CPU n modulo 2.
fn stress(rules: Rules, threads: u16, faults: bool) {
    let pages = &single_zone(2, FRAMES, rules);
    let owners = &Owners((0..FRAMES).map(|_| AtomicU8::new(0)).collect());
    let post = &Mutex::new(Vec::new());
    let (start, running) = (&Barrier::new(usize::from(threads)), &AtomicBool::new(true));
    thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|at| {
                scope.spawn(move || {
                    let random = Random(0x9E37_79B9 + u64::from(at));
                    let cpu = CpuId(at % 2);
                    let mut run = Run { pages, owners, post, cpu, random, held: Vec::new() };
                    start.wait();
                    for _ in 0..STEPS {
                        run.step();
                    }
                    run.finish();
                })
            })
            .collect();
        if faults {
            scope.spawn(move || {
                while running.load(Relaxed) {
                    pages.fail_trylock(CpuId(0), 1);
                    thread::yield_now();
                }
            });
        }
        let results: Vec<_> = workers.into_iter().map(|worker| worker.join()).collect();
        running.store(false, Relaxed);
        results.into_iter().for_each(|result| result.unwrap());
    });
    for block in core::mem::take(&mut *post.lock().unwrap()) {
        owners.set(block, 1, 0);
        pages.free_pages(CpuId(0), block.0, block.1);
    }
    // What the last fault left over must not keep the drain from its work.
    check_conservation(pages);
}

#[test]
fn two_threads_with_a_cpu_each() {
    stress(Rules::linux_6_12(), 2, false);
}

#[test]
fn two_threads_with_claims_and_steals() {
    stress(Rules::linux_6_18(), 2, false);
}

#[test]
fn three_threads_on_two_cpus_with_faults() {
    stress(Rules::linux_6_12(), 3, true);
}
