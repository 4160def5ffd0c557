//! Costs relative to one uncontended spin lock pair measured in the same run.
//!
//! All cases run in turn in every round, so that a noisy neighbour hits all of them; the figure
//! is the median over the rounds. `cargo bench -p mmspec-impl --bench pair -- [rounds] [word]`;
//! with a word only the cases that have it in their name run.

use mmspec_impl::{OwnedAllocator, platform::SpinLock};
use mmspec_model::{
    contract::Request,
    vocab::{CpuId, Gfp, Machine, Order, Pfn, Rules, Tunables, ZoneKind},
};
use std::{
    hint::black_box,
    sync::{
        Barrier,
        atomic::{
            AtomicU64,
            Ordering::{Acquire, Release},
        },
    },
    thread,
    time::Instant,
    vec::Vec,
};

const FRAMES: u64 = 1 << 18;
const CPU0: CpuId = CpuId(0);
const CPU1: CpuId = CpuId(1);

fn new_allocator(frames: u64) -> OwnedAllocator {
    let machine = Machine::new(2, &[(ZoneKind::Normal, 0, frames)]);
    OwnedAllocator::new(machine.as_ref(), Rules::linux_6_12(), Tunables::default()).unwrap()
}

/// xorshift64*.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u32) -> u32 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let high = self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 32;
        ((high * u64::from(bound)) >> 32) as u32
    }
}

/// Nanoseconds for each of `n` turns.
fn per_turn(n: u32, mut turn: impl FnMut()) -> f64 {
    let start = Instant::now();
    for _ in 0..n {
        turn();
    }
    start.elapsed().as_nanos() as f64 / f64::from(n)
}

fn lock_pair() -> f64 {
    let lock: SpinLock<u64> = SpinLock::new(0);
    per_turn(1_000_000, || *black_box(&lock).lock() += 1)
}

/// Two threads with a lock each: what the machine itself loses with both processors busy.
fn lock_pair_on_two() -> f64 {
    let start = &Barrier::new(2);
    thread::scope(|scope| {
        let run = || {
            scope.spawn(|| {
                start.wait();
                lock_pair()
            })
        };
        let (first, second) = (run(), run());
        first.join().unwrap().max(second.join().unwrap())
    })
}

fn pair(pages: &OwnedAllocator, cpu: CpuId, n: u32) -> f64 {
    let request = Request::new(Order::ZERO, Gfp::KERNEL);
    per_turn(n, || {
        let page = pages.alloc_pages(cpu, black_box(request)).page().unwrap();
        pages.free_pages(cpu, black_box(page), Order::ZERO);
    })
}

/// The slower of two threads with a CPU each.
fn pair_on_two() -> f64 {
    let (pages, start) = (&new_allocator(FRAMES), &Barrier::new(2));
    thread::scope(|scope| {
        let run = |cpu| {
            scope.spawn(move || {
                pair(pages, cpu, 10_000);
                start.wait();
                pair(pages, cpu, 500_000)
            })
        };
        let (first, second) = (run(CPU0), run(CPU1));
        first.join().unwrap().max(second.join().unwrap())
    })
}

fn burst(pages: &OwnedAllocator) -> f64 {
    const LENGTH: u32 = 512;
    let request = Request::new(Order::ZERO, Gfp::KERNEL);
    let mut held = Vec::with_capacity(LENGTH as usize);
    let whole = per_turn(400, || {
        for _ in 0..LENGTH {
            held.push(pages.alloc_pages(CPU0, request).page().unwrap());
        }
        for page in held.drain(..) {
            pages.free_pages(CPU0, page, Order::ZERO);
        }
    });
    whole / f64::from(LENGTH)
}

/// Allocated on one CPU, freed on the other, by one thread.
fn cross(pages: &OwnedAllocator) -> f64 {
    let request = Request::new(Order::ZERO, Gfp::KERNEL);
    per_turn(500_000, || {
        let page = pages.alloc_pages(CPU0, request).page().unwrap();
        pages.free_pages(CPU1, black_box(page), Order::ZERO);
    })
}

/// As [`cross`], with the pages handed from thread to thread through a ring.
fn cross_threads(pages: &OwnedAllocator) -> f64 {
    const PAGES: usize = 300_000;
    const EMPTY: u64 = u64::MAX;
    let ring: &Vec<AtomicU64> = &(0..1024).map(|_| AtomicU64::new(EMPTY)).collect();
    let request = Request::new(Order::ZERO, Gfp::KERNEL);
    let start = Instant::now();
    thread::scope(|scope| {
        scope.spawn(move || {
            for at in 0..PAGES {
                let page = pages.alloc_pages(CPU0, request).page().unwrap();
                let slot = &ring[at % ring.len()];
                while slot.load(Acquire) != EMPTY {
                    thread::yield_now();
                }
                slot.store(page.0, Release);
            }
        });
        for at in 0..PAGES {
            let slot = &ring[at % ring.len()];
            let page = loop {
                match slot.load(Acquire) {
                    EMPTY => thread::yield_now(),
                    page => break page,
                }
            };
            slot.store(EMPTY, Release);
            pages.free_pages(CPU1, Pfn(page), Order::ZERO);
        }
    });
    start.elapsed().as_nanos() as f64 / PAGES as f64
}

/// Random allocations and frees around a level of use.
struct Mix {
    pages: OwnedAllocator,
    orders: u32,
    level: u64,
    used: u64,
    held: Vec<(Pfn, Order)>,
    random: Random,
    steps: u64,
    refused: u64,
}

impl Mix {
    fn new(orders: u32, percent: u64) -> Self {
        let mut mix = Self {
            pages: new_allocator(FRAMES),
            orders,
            level: FRAMES * percent / 100,
            used: 0,
            held: Vec::with_capacity(FRAMES as usize),
            random: Random(0x9E37_79B9_7F4A_7C15),
            steps: 0,
            refused: 0,
        };
        while mix.used < mix.level {
            mix.take();
        }
        (0..200_000).for_each(|_| mix.step());
        (mix.steps, mix.refused) = (0, 0);
        mix
    }

    fn take(&mut self) {
        let order = Order::of(self.random.below(self.orders) as u8);
        match self.pages.alloc_pages(CPU0, Request::new(order, Gfp::KERNEL)).page() {
            Some(page) => {
                self.held.push((page, order));
                self.used += order.pages();
            }
            None => {
                self.refused += 1;
                self.give_back();
            }
        }
    }

    fn give_back(&mut self) {
        let at = self.random.below(self.held.len() as u32) as usize;
        let (page, order) = self.held.swap_remove(at);
        self.used -= order.pages();
        self.pages.free_pages(CPU0, page, order);
    }

    fn step(&mut self) {
        self.steps += 1;
        if self.used < self.level { self.take() } else { self.give_back() }
    }

    fn run(&mut self) -> f64 {
        // The other cases have pushed the tables out of the cache.
        (0..200_000).for_each(|_| self.step());
        per_turn(200_000, || self.step())
    }

    /// The same steps without an allocator: what the harness itself costs.
    fn null(&mut self) -> f64 {
        let held = &mut self.held;
        let random = &mut self.random;
        let mut step = || {
            let order = random.below(self.orders);
            let at = random.below(held.len() as u32) as usize;
            let block = held.swap_remove(at);
            held.push(black_box(block));
            black_box(order);
        };
        (0..200_000).for_each(|_| step());
        per_turn(200_000, step)
    }
}

fn set_up() -> f64 {
    const BIG: u64 = 1 << 20;
    let start = Instant::now();
    black_box(new_allocator(BIG));
    start.elapsed().as_nanos() as f64 / BIG as f64
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The median of the ratios round by round.
fn ratio(case: &[f64], base: &[f64]) -> f64 {
    median(case.iter().zip(base).map(|(case, base)| case / base).collect())
}

fn main() {
    // cargo passes its own flags (--bench): take the first number there is.
    let rounds = std::env::args().find_map(|word| word.parse().ok()).unwrap_or(15);
    let plain = |word: &String| !word.starts_with('-') && word.parse::<u32>().is_err();
    let wanted = std::env::args().skip(1).find(plain).unwrap_or_default();
    let pages = new_allocator(FRAMES);
    // Pages that went from CPU to CPU lie mixed on the lists: that case has its own machine.
    let crossed = new_allocator(FRAMES);
    let mut small = Mix::new(4, 60);
    let mut wide = Mix::new(10, 60);
    let mut full = Mix::new(10, 95);
    pair(&pages, CPU0, 10_000);
    pair(&pages, CPU1, 10_000);
    type Case<'a> = (&'static str, Box<dyn FnMut() -> f64 + 'a>);
    let mut cases: [Case<'_>; 13] = [
        ("spin lock pair (L)", Box::new(lock_pair)),
        ("two locks, 2 threads, per pair", Box::new(lock_pair_on_two)),
        ("order-0 hot pair, 1 thread", Box::new(|| pair(&pages, CPU0, 500_000))),
        ("order-0 hot pair, 2 threads", Box::new(pair_on_two)),
        ("burst 512, per pair", Box::new(|| burst(&pages))),
        ("cross-CPU free, 1 thread, per pair", Box::new(|| cross(&crossed))),
        ("cross-CPU free, 2 threads, per pair", Box::new(|| cross_threads(&crossed))),
        ("orders 0-3, 60 % full, per step", Box::new(|| small.run())),
        ("orders 0-9, 60 % full, per step", Box::new(|| wide.run())),
        ("orders 0-9, 95 % full, per step", Box::new(|| full.run())),
        ("set-up, per frame", Box::new(set_up)),
        ("clone of a 64-frame machine", {
            let small = Machine::small(2, 64, 5, 4);
            let small: OwnedAllocator =
                OwnedAllocator::new(small.as_ref(), Rules::linux_6_12(), Tunables::default())
                    .unwrap();
            Box::new(move || per_turn(2_000, || drop(black_box(small.clone()))))
        }),
        ("harness of the mixes, per step", {
            let mut null = Mix::new(4, 60);
            Box::new(move || null.null())
        }),
    ];
    let mut results: Vec<Vec<f64>> = cases.iter().map(|_| Vec::new()).collect();
    for _ in 0..rounds {
        for (at, ((name, case), results)) in cases.iter_mut().zip(&mut results).enumerate() {
            let runs = at == 0 || name.contains(&wanted);
            results.push(if runs { case() } else { f64::NAN });
        }
    }
    let names: Vec<_> = cases.iter().map(|(name, _)| *name).collect();
    drop(cases);
    println!("{:<38}{:>8}{:>8}{:>8}", format!("medians of {rounds} rounds"), "ns", "L", "min");
    for (name, case) in names.into_iter().zip(&results) {
        let least = case.iter().copied().min_by(f64::total_cmp).unwrap_or(f64::NAN);
        let (ns, ratio) = (median(case.clone()), ratio(case, &results[0]));
        println!("{name:<38}{ns:>8.2}{ratio:>8.2}{least:>8.2}");
    }
    let (locks, pairs) = (ratio(&results[1], &results[0]), ratio(&results[3], &results[2]));
    println!("two threads to one: {locks:.2} for two locks, {pairs:.2} for the hot pair");
    for (name, mix) in [("orders 0-9 at 60 %", &wide), ("orders 0-9 at 95 %", &full)] {
        let percent = 100.0 * mix.refused as f64 / mix.steps as f64;
        println!("{name}: {percent:.3} % of the steps refused");
    }
    let size = size_of::<mmspec_impl::FrameState>() + size_of::<mmspec_impl::Links>();
    println!("metadata: {size} bytes a frame, 1 byte a pageblock");
}
