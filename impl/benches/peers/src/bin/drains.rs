//! What drains cost the threads that they meet: two threads allocate and free pages one by one, and
//! the first of them drains all lists 100 times a second, by either scheme or not at all.
//!
//! `just drains [ROUNDS]` (docs/drains.md). All in one run: in each round every variant runs for a
//! fifth of a second, in turn; the ratios are medians over rounds. Speed is counted in the time that
//! the threads had a processor, so that other load on the machine does not count. Under every
//! variant the threads look for work after the same number of pairs.

#[path = "../clock.rs"]
#[allow(dead_code)] // The unit of the other benchmark is not needed here.
mod clock;

use clock::thread_time;
use mmspec_impl::{OwnedAllocator, Spread};
use mmspec_model::{
    contract::Request,
    vocab::{CpuId, DrainScheme, Gfp, Machine, Order, Rules, Tunables, ZoneKind},
};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Barrier, Mutex};
use std::time::{Duration, Instant};
use std::{env, error::Error, thread};

const BUSY: u16 = 2;
const DRAINER: CpuId = CpuId(0);
const WINDOW: Duration = Duration::from_millis(200);
const PERIOD: Duration = Duration::from_millis(10);
/// Pairs between two looks for work.
const STRETCH: usize = 64;
/// What the busy threads do.
struct Load {
    name: &'static str,
    /// What each asks for. Pages of one type come from the same pageblocks, and drains mix those of
    /// the two threads; pages of two types lie apart.
    asks: [Gfp; BUSY as usize],
    /// Pages that a thread holds: it frees the one that it has had for longest.
    held: usize,
    /// How the allocator's records of frames lie.
    spread: Spread,
}

const KERNEL: [Gfp; BUSY as usize] = [Gfp::KERNEL, Gfp::KERNEL];

const LOADS: [Load; 5] = [
    Load { name: "hot pair, records apart", asks: KERNEL, held: 1, spread: Spread::Apart },
    Load { name: "hot pair, records dense", asks: KERNEL, held: 1, spread: Spread::Dense },
    Load { name: "256 pages, records apart", asks: KERNEL, held: 256, spread: Spread::Apart },
    Load { name: "256 pages, records dense", asks: KERNEL, held: 256, spread: Spread::Dense },
    Load {
        name: "256 pages of two types, records dense",
        asks: [Gfp::KERNEL, Gfp::HIGHUSER_MOVABLE],
        held: 256,
        spread: Spread::Dense,
    },
];

struct Variant {
    name: &'static str,
    scheme: DrainScheme,
    drains: bool,
}

const VARIANTS: [Variant; 3] = [
    Variant { name: "no drain", scheme: DrainScheme::Remote, drains: false },
    Variant { name: "work item", scheme: DrainScheme::WorkItem, drains: true },
    Variant { name: "remote", scheme: DrainScheme::Remote, drains: true },
];

/// What a busy thread did in a window.
#[derive(Clone, Default)]
struct Done {
    pairs: u64,
    seconds: f64,
    /// How long each of its drains took, µs.
    waits: Vec<f64>,
}

struct Bench {
    allocators: Vec<OwnedAllocator>,
    /// The window's load and variant, or one past the last at the end.
    variant: AtomicUsize,
    stop: AtomicBool,
    /// Busy threads that have not seen the end of the window.
    running: AtomicUsize,
    /// Where all threads meet before and after a window.
    edge: Barrier,
    done: [Mutex<Done>; BUSY as usize],
}

impl Bench {
    fn busy(&self, cpu: CpuId) {
        loop {
            self.edge.wait();
            let at = self.variant.load(Ordering::SeqCst);
            let Some(pages) = self.allocators.get(at) else { return };
            let load = &LOADS[at / VARIANTS.len()];
            let request = Request::new(Order::ZERO, load.asks[cpu.index()]);
            let drains = cpu == DRAINER && VARIANTS[at % VARIANTS.len()].drains;
            let (began, started) = (Instant::now(), thread_time());
            let mut at_page = 0;
            let (mut pairs, mut next, mut waits) = (0_u64, PERIOD, Vec::new());
            let mut held = vec![None; load.held];
            while !self.stop.load(Ordering::Relaxed) {
                for _ in 0..STRETCH {
                    let oldest = &mut held[at_page];
                    at_page = if at_page + 1 == load.held { 0 } else { at_page + 1 };
                    let page = pages.alloc_pages(cpu, request).page();
                    if let Some(page) = std::mem::replace(oldest, page) {
                        pages.free_pages(cpu, page, Order::ZERO);
                    }
                    pairs += 1;
                }
                pages.run_work(cpu);
                let now = began.elapsed();
                if now >= next {
                    next = now + PERIOD;
                    if drains {
                        pages.drain_all(cpu, None);
                        waits.push((began.elapsed() - now).as_secs_f64() * 1e6);
                    }
                }
            }
            for page in held.into_iter().flatten() {
                pages.free_pages(cpu, page, Order::ZERO);
            }
            self.running.fetch_sub(1, Ordering::SeqCst);
            // A drain may still wait for this CPU.
            while self.running.load(Ordering::SeqCst) > 0 {
                pages.run_work(cpu);
                thread::yield_now();
            }
            let seconds = (thread_time() - started).as_secs_f64();
            if let Ok(mut done) = self.done[cpu.index()].lock() {
                *done = Done { pairs, seconds, waits };
            }
            self.edge.wait();
        }
    }

    /// One window; pairs in a second of a busy thread's time, and how long each drain took.
    fn window(&self, at: usize) -> (f64, Vec<f64>) {
        self.variant.store(at, Ordering::SeqCst);
        self.stop.store(false, Ordering::SeqCst);
        self.running.store(usize::from(BUSY), Ordering::SeqCst);
        self.edge.wait();
        thread::sleep(WINDOW);
        self.stop.store(true, Ordering::SeqCst);
        self.edge.wait();
        let all = self.done.iter().filter_map(|done| done.lock().ok().map(|done| done.clone()));
        let sum = all.fold(Done::default(), |mut sum, one| {
            sum.pairs += one.pairs;
            sum.seconds += one.seconds;
            sum.waits.extend(one.waits);
            sum
        });
        (sum.pairs as f64 / sum.seconds, sum.waits)
    }
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

fn main() -> Result<(), Box<dyn Error>> {
    let rounds = match env::args().nth(1) {
        Some(rounds) => rounds.parse()?,
        None => 31,
    };
    let machine = Machine::new(BUSY, &[(ZoneKind::Normal, 0, 1 << 18)]);
    let boot = |(load, variant): (&Load, &Variant)| {
        let rules = Rules { drain_scheme: variant.scheme, ..Rules::linux_6_1() };
        OwnedAllocator::with_spread(machine.as_ref(), rules, Tunables::default(), load.spread)
    };
    let all = LOADS.iter().flat_map(|load| VARIANTS.iter().map(move |variant| (load, variant)));
    let bench = Bench {
        allocators: all.map(boot).collect::<Result<_, _>>()?,
        variant: AtomicUsize::new(0),
        stop: AtomicBool::new(false),
        running: AtomicUsize::new(0),
        edge: Barrier::new(usize::from(BUSY) + 1),
        done: Default::default(),
    };
    let windows = bench.allocators.len();
    let (mut speeds, mut waits) = (vec![Vec::new(); windows], vec![Vec::new(); windows]);
    thread::scope(|scope| {
        for cpu in (0..BUSY).map(CpuId) {
            let bench = &bench;
            scope.spawn(move || bench.busy(cpu));
        }
        // The first round warms up.
        for round in 0..=rounds {
            for turn in 0..windows {
                let at = (round + turn) % windows;
                let (speed, took) = bench.window(at);
                if round > 0 {
                    speeds[at].push(speed);
                    waits[at].extend(took);
                }
            }
        }
        bench.variant.store(windows, Ordering::SeqCst);
        bench.edge.wait();
    });
    for (at, load) in LOADS.iter().enumerate() {
        println!("{}", load.name);
        let first = at * VARIANTS.len();
        report(&speeds[first..][..VARIANTS.len()], &mut waits[first..][..VARIANTS.len()]);
    }
    Ok(())
}

/// The figures of one load, by variant.
fn report(speeds: &[Vec<f64>], waits: &mut [Vec<f64>]) {
    for (at, variant) in VARIANTS.iter().enumerate() {
        let speed = median(&mut speeds[at].clone()) / 1e6;
        print!("  {:<10} {speed:7.2} million pairs/s of a thread", variant.name);
        if variant.drains {
            let most = waits[at].iter().copied().fold(0.0, f64::max);
            let count = waits[at].len();
            print!("; {count} drains, median {:.1} µs, worst {most:.1} µs", median(&mut waits[at]));
        }
        println!();
    }
    for (other, name) in [(1, "remote / work item"), (0, "remote / no drain")] {
        let pairs = speeds[2].iter().zip(&speeds[other]);
        let mut ratios: Vec<f64> = pairs.map(|(remote, other)| remote / other).collect();
        let middle = median(&mut ratios);
        let quarter = |part: usize| ratios[(ratios.len() - 1) * part / 4];
        println!(
            "  {name:<19} {middle:.3} (quartiles {:.3} to {:.3}, {} rounds)",
            quarter(1),
            quarter(3),
            ratios.len()
        );
    }
}
