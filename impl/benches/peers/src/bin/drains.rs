//! What drains cost the threads that they meet: two threads allocate and free pages one by one, a
//! third drains all lists 100 times a second, by either scheme or not at all.
//!
//! `just drains [ROUNDS]` (docs/drains.md). All in one run: in each round every variant runs for a
//! fifth of a second, in turn; the ratios are medians over rounds. Speed is counted in the time that
//! the threads had a processor, so that other load on the machine does not count. Under every
//! variant the threads look for work after the same number of pairs.

#[path = "../clock.rs"]
#[allow(dead_code)] // The unit of the other benchmark is not needed here.
mod clock;

use clock::thread_time;
use mmspec_impl::OwnedAllocator;
use mmspec_model::{
    contract::Request,
    vocab::{CpuId, DrainScheme, Gfp, Machine, Order, Rules, Tunables, ZoneKind},
};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Barrier, Mutex};
use std::time::{Duration, Instant};
use std::{env, error::Error, thread};

const BUSY: u16 = 2;
const DRAINER: CpuId = CpuId(BUSY);
const WINDOW: Duration = Duration::from_millis(200);
const PERIOD: Duration = Duration::from_millis(10);
/// Pairs between two looks for work.
const STRETCH: u32 = 64;
const PAGE: Request = Request::new(Order::ZERO, Gfp::KERNEL);

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
#[derive(Clone, Copy, Default)]
struct Done {
    pairs: u64,
    seconds: f64,
}

struct Bench {
    allocators: Vec<OwnedAllocator>,
    /// The variant of the window, or one past the last at the end.
    variant: AtomicUsize,
    stop: AtomicBool,
    /// Where all threads meet before and after a window.
    edge: Barrier,
    done: [Mutex<Done>; BUSY as usize],
}

impl Bench {
    fn busy(&self, cpu: CpuId) {
        loop {
            self.edge.wait();
            let Some(pages) = self.allocators.get(self.variant.load(Ordering::SeqCst)) else {
                return;
            };
            let (started, mut pairs) = (thread_time(), 0);
            while !self.stop.load(Ordering::Relaxed) {
                for _ in 0..STRETCH {
                    if let Some(page) = pages.alloc_pages(cpu, PAGE).page() {
                        pages.free_pages(cpu, page, Order::ZERO);
                        pairs += 1;
                    }
                }
                pages.run_work(cpu);
            }
            let seconds = (thread_time() - started).as_secs_f64();
            if let Ok(mut done) = self.done[cpu.index()].lock() {
                *done = Done { pairs, seconds };
            }
            self.edge.wait();
        }
    }

    /// One window; pairs in a second of a busy thread's time, and how long each drain took.
    fn window(&self, at: usize) -> (f64, Vec<f64>) {
        let pages = &self.allocators[at];
        self.variant.store(at, Ordering::SeqCst);
        self.stop.store(false, Ordering::SeqCst);
        self.edge.wait();
        let (started, mut waits) = (Instant::now(), Vec::new());
        let mut next = PERIOD;
        while next < WINDOW {
            thread::sleep(next.saturating_sub(started.elapsed()));
            if VARIANTS[at].drains {
                let began = Instant::now();
                pages.drain_all(DRAINER, None);
                waits.push(began.elapsed().as_secs_f64() * 1e6);
            }
            next += PERIOD;
        }
        thread::sleep(WINDOW.saturating_sub(started.elapsed()));
        self.stop.store(true, Ordering::SeqCst);
        self.edge.wait();
        let all = self.done.iter().filter_map(|done| done.lock().ok().map(|done| *done));
        let sum = all.fold(Done::default(), |sum, one| Done {
            pairs: sum.pairs + one.pairs,
            seconds: sum.seconds + one.seconds,
        });
        (sum.pairs as f64 / sum.seconds, waits)
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
    let machine = Machine::new(BUSY + 1, &[(ZoneKind::Normal, 0, 1 << 18)]);
    let boot = |variant: &Variant| {
        let rules = Rules { drain_scheme: variant.scheme, ..Rules::linux_6_1() };
        OwnedAllocator::new(machine.as_ref(), rules, Tunables::default())
    };
    let bench = Bench {
        allocators: VARIANTS.iter().map(boot).collect::<Result<_, _>>()?,
        variant: AtomicUsize::new(0),
        stop: AtomicBool::new(false),
        edge: Barrier::new(usize::from(BUSY) + 1),
        done: Default::default(),
    };
    let mut speeds = vec![Vec::new(); VARIANTS.len()];
    let mut waits = vec![Vec::new(); VARIANTS.len()];
    thread::scope(|scope| {
        for cpu in (0..BUSY).map(CpuId) {
            let bench = &bench;
            scope.spawn(move || bench.busy(cpu));
        }
        // The first round warms up.
        for round in 0..=rounds {
            for turn in 0..VARIANTS.len() {
                let at = (round + turn) % VARIANTS.len();
                let (speed, took) = bench.window(at);
                if round > 0 {
                    speeds[at].push(speed);
                    waits[at].extend(took);
                }
            }
        }
        bench.variant.store(VARIANTS.len(), Ordering::SeqCst);
        bench.edge.wait();
    });
    for (at, variant) in VARIANTS.iter().enumerate() {
        let speed = median(&mut speeds[at].clone()) / 1e6;
        print!("{:<10} {speed:7.2} million pairs/s of a thread", variant.name);
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
            "{name:<19} {middle:.3} (quartiles {:.3} to {:.3}, {} rounds)",
            quarter(1),
            quarter(3),
            ratios.len()
        );
    }
    Ok(())
}
