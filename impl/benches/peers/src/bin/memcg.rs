//! What charging to a memory cgroup adds to a page: `just memcg [ROUNDS]` (docs/memcg.md).
//!
//! A thread allocates 32 pages of order 0 one by one and frees them one by one, with and without charges to a group below
//! the root. Pages are uncharged one by one, or as the kernel frees folios: in batches. In each round every variant
//! runs in turn, in the time that the thread had a processor; figures are medians over rounds. With two threads,
//! each is a CPU with a group of its own, and all of them meet in the root's counter.

#[path = "../clock.rs"]
#[allow(dead_code)] // The unit of the other benchmark is not needed here.
mod clock;

use clock::thread_time;
use mmspec_impl::{
    OwnedAllocator,
    memcg::{MemcgOwner, OwnedMemcg, UnchargeBatch},
};
use mmspec_model::{
    contract::{ChargeTask, MemcgCall, MemcgDone, OomOutcome, Request},
    vocab::{CpuId, Gfp, Machine, MemcgId, MemcgRules, Order, Pfn, Rules, Tunables, ZoneKind},
};
use std::{env, error::Error, hint::black_box, sync::Barrier, thread};

const PAGES: usize = 32;
const TURNS: usize = 4000;

#[derive(Clone, Copy, PartialEq)]
enum Variant {
    Uncharged,
    OneByOne,
    Batches,
    /// A charge with its part of the refills, and an uncharge; no page.
    ChargesAlone,
}

const VARIANTS: [(&str, Variant); 4] = [
    ("pages alone", Variant::Uncharged),
    ("charged, uncharged one by one", Variant::OneByOne),
    ("charged, uncharged in batches", Variant::Batches),
    ("charges alone, uncharged in batches", Variant::ChargesAlone),
];

/// Nothing to reclaim: no limit is set.
struct Nobody;

impl MemcgOwner for Nobody {
    fn reclaim(&mut self, _memcg: MemcgId, _goal: u64, _may_swap: bool) -> (u64, bool) {
        (0, false)
    }

    fn oom(&mut self, _memcg: MemcgId, _order: u8) -> OomOutcome {
        OomOutcome::NoVictim
    }

    fn sleep(&mut self, _jiffies: u64) {}
}

#[inline]
fn charge(groups: &OwnedMemcg, cpu: CpuId, memcg: MemcgId) {
    if !groups.charge_from_stock(cpu, memcg, 1) {
        charge_batch(groups, cpu, memcg);
    }
}

#[cold]
fn charge_batch(groups: &OwnedMemcg, cpu: CpuId, memcg: MemcgId) {
    let (gfp, task) = (Gfp::KERNEL, ChargeTask::empty());
    let call = MemcgCall::Charge { memcg, pages: 1, gfp, task, over_high: 0 };
    let done = groups.charge(cpu, call, &mut Nobody);
    assert!(matches!(done, MemcgDone::Charged { .. }));
}

/// Nanoseconds for each page: from its charge to its uncharge.
fn run(
    pages: &OwnedAllocator,
    groups: &OwnedMemcg,
    cpu: CpuId,
    memcg: MemcgId,
    variant: Variant,
) -> f64 {
    let mut held = [Pfn(0); PAGES];
    let start = thread_time();
    for _ in 0..TURNS {
        for page in &mut held {
            if variant != Variant::Uncharged {
                charge(groups, cpu, memcg);
            }
            if variant != Variant::ChargesAlone {
                let outcome = pages.alloc_pages(cpu, Request::new(Order::ZERO, Gfp::KERNEL));
                *page = black_box(outcome).page().expect("memory for 32 pages");
            }
        }
        let mut batch = UnchargeBatch::new();
        for page in held {
            match variant {
                Variant::Uncharged => {}
                Variant::OneByOne => groups.uncharge(memcg, 1),
                Variant::Batches | Variant::ChargesAlone => {
                    groups.uncharge_add(&mut batch, memcg, 1);
                }
            }
            if variant != Variant::ChargesAlone {
                pages.free_pages(cpu, page, Order::ZERO);
            }
        }
        groups.uncharge_end(batch);
    }
    (thread_time() - start).as_nanos() as f64 / (TURNS * PAGES) as f64
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

fn main() -> Result<(), Box<dyn Error>> {
    let rounds: usize = env::args().nth(1).map_or(Ok(21), |rounds| rounds.parse())?;
    for threads in [1_u16, 2] {
        let machine = Machine::new(threads, &[(ZoneKind::Normal, 0, 65536)]);
        let pages: OwnedAllocator =
            OwnedAllocator::new(machine.as_ref(), Rules::linux_6_12(), Tunables::default())?;
        let groups: OwnedMemcg = OwnedMemcg::new(threads.into(), 8, 0, MemcgRules::default());
        let barrier = Barrier::new(threads.into());
        let memcgs: Vec<MemcgId> =
            (0..threads).map(|_| groups.create(MemcgId::ROOT)).collect::<Result<_, _>>()?;
        let figures: Vec<[Vec<f64>; 4]> = thread::scope(|scope| {
            let (pages, groups, barrier) = (&pages, &groups, &barrier);
            let workers = memcgs.iter().zip(0..).map(|(memcg, cpu)| {
                scope.spawn(move || {
                    let mut figures: [Vec<f64>; 4] = Default::default();
                    for _ in 0..rounds.max(1) {
                        for (of, (_, variant)) in figures.iter_mut().zip(VARIANTS) {
                            barrier.wait();
                            of.push(run(pages, groups, CpuId(cpu), *memcg, variant));
                        }
                    }
                    figures
                })
            });
            let workers: Vec<_> = workers.collect();
            workers.into_iter().map(|worker| worker.join().expect("no worker panics")).collect()
        });
        println!("{threads} thread(s), ns for each page; and by pages alone");
        let of =
            |at: usize| median(figures.iter().flat_map(|figures| figures[at].clone()).collect());
        for (at, (name, _)) in VARIANTS.into_iter().enumerate() {
            println!("  {name:40} {:6.1}  {:5.2}", of(at), of(at) / of(0));
        }
    }
    Ok(())
}
