//! Runs of thpscale on a machine that stays up.

use super::model::Model;
use super::schedule::Schedule;
use super::threads::Thread;
use crate::experiments::ExperimentError;
use mmspec_impl::platform::SpinPlatform;
use mmspec_impl::reclaim::GoesOn;
use mmspec_model::contract::{CompactResult, Request};
use mmspec_model::vocab::{
    CompactCounters, CompactRules, CpuId, Gfp, Machine, NodeId, Order, PcpOrders, Rules, ThpDefrag,
    ThpEnabled, Tunables, ZoneKind,
};
use mmspec_proptests::generate::Rng;
use mmspec_proptests::world::{
    Backing, Config, Faulted, KswapdTurn, Memory, Meter, Obstacles, World,
};
use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicUsize, Ordering},
};

pub(super) const NODE: NodeId = NodeId(0);

/// Runs at once. What comes of them does not depend on it.
const WORKERS: usize = 2;

/// The thread counts of the published table.
pub(super) const THREADS: [u32; 9] = [1, 3, 5, 7, 12, 18, 24, 30, 32];

/// Frames of a MiB.
const MIB: u64 = 256;

/// What the runs with one number of threads came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Samples {
    /// Regions got by one huge page, and their time in all, ns.
    pub(super) huge: u64,
    pub(super) huge_ns: u64,
    /// Regions got by base pages, and their time in all, ns.
    pub(super) base: u64,
    pub(super) base_ns: u64,
    /// Threads that found no memory.
    pub(super) died: u64,
}

impl Samples {
    /// Mean latency of a region, µs.
    pub(super) fn both_us(&self) -> f64 {
        (self.huge_ns + self.base_ns) as f64 / 1000.0 / (self.huge + self.base).max(1) as f64
    }

    /// Huge ones, in percent.
    pub(super) fn percent(&self) -> f64 {
        100.0 * self.huge as f64 / (self.huge + self.base).max(1) as f64
    }
}

/// What all runs of a kernel came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Outcome {
    /// By number of threads.
    pub(super) samples: [Samples; THREADS.len()],
    pub(super) meter: Meter,
    pub(super) compact: CompactCounters,
    /// Direct compactions, and those that gave a page.
    pub(super) stalls: u64,
    pub(super) successes: u64,
    /// Direct compactions by result.
    pub(super) results: [u64; CompactResult::ALL.len()],
}

impl Outcome {
    fn add(&mut self, world: &World<'_, SpinPlatform>) {
        let memory = world.memory();
        for (result, of) in self.results.iter_mut().zip(CompactResult::ALL) {
            *result = world.compacted(of);
        }
        let events = memory.pages().events();
        (self.meter, self.compact) = (memory.meter(), memory.compaction().counters());
        (self.stalls, self.successes) = (events.compact_stall, events.compact_success);
    }

    /// Another run's too.
    fn plus(&mut self, more: &Self) {
        self.meter = self.meter.plus(&more.meter);
        for (sum, more) in self.samples.iter_mut().zip(&more.samples) {
            sum.huge += more.huge;
            sum.huge_ns += more.huge_ns;
            sum.base += more.base;
            sum.base_ns += more.base_ns;
            sum.died += more.died;
        }
        for (sum, more) in self.results.iter_mut().zip(more.results) {
            *sum += more;
        }
        self.compact.migrate_scanned += more.compact.migrate_scanned;
        self.compact.free_scanned += more.compact.free_scanned;
        self.compact.pgmigrate_success += more.compact.pgmigrate_success;
        self.compact.pgmigrate_fail += more.compact.pgmigrate_fail;
        self.compact.daemon_wake += more.compact.daemon_wake;
        self.stalls += more.stalls;
        self.successes += more.successes;
    }

    /// Huge regions of all, in percent.
    pub(super) fn percent(&self) -> f64 {
        let all = self.samples.iter().fold(Samples::default(), |sum, one| Samples {
            huge: sum.huge + one.huge,
            base: sum.base + one.base,
            ..sum
        });
        all.percent()
    }
}

/// The rules of the allocator: those of 6.1, but only single pages on per-CPU lists as up to 5.12.
fn rules() -> Rules {
    Rules { pcp_orders: PcpOrders::Zero, ..Rules::linux_6_1() }
}

/// A kernel on a machine.
pub(super) type Kernel = (Model, CompactRules);

/// Each kernel runs all numbers of threads, one after the other, on a machine that stays up; and so for each
/// seed. The runs are shared out among threads.
pub(super) fn run_all(kernels: &[Kernel]) -> Result<Vec<Outcome>, ExperimentError> {
    let jobs: Vec<(usize, u64)> = kernels
        .iter()
        .enumerate()
        .flat_map(|(at, (model, _))| (0..model.runs).map(move |seed| (at, seed)))
        .collect();
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        while let Some((at, seed)) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
            let (model, compact) = &kernels[*at];
            let outcome = one(model, *compact, *seed);
            done.lock().unwrap_or_else(PoisonError::into_inner).push((*at, outcome));
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(work);
        }
    });
    // Sums: in which order the runs ended does not matter.
    let mut outcomes = vec![Outcome::default(); kernels.len()];
    for (at, outcome) in done.into_inner().unwrap_or_else(PoisonError::into_inner) {
        outcomes[at].plus(&outcome?);
    }
    Ok(outcomes)
}

fn one(model: &Model, compact: CompactRules, seed: u64) -> Result<Outcome, ExperimentError> {
    let mut outcome = Outcome::default();
    // The first 16 MiB are another zone's, which nothing here takes from.
    let (start, frames) = (16 * MIB, model.memory_mib * MIB);
    let memory: Memory<SpinPlatform> = Memory::new(Config {
        machine: Machine::new(model.cpus as u16, &[(ZoneKind::Normal, start, start + frames)]),
        rules: rules(),
        tunables: Tunables::default(),
        compact,
        goes_on: GoesOn::UpToGap,
        enabled: ThpEnabled::Always,
        defrag: ThpDefrag::Madvise,
        swap: false,
        obstacles: Obstacles::default(),
        costs: model.costs(),
        seed,
    })?;
    let mut world = World::new(&memory);
    let mapped = frames * 8 / 10;
    write_file(model, &memory, &mut world, mapped + 16 * MIB);
    let mut rng = Rng::for_case(seed, 5);
    for (count, samples) in THREADS.into_iter().zip(&mut outcome.samples) {
        let threads: Vec<Thread> = (0..count)
            .map(|at| {
                let cpu = CpuId((at as u64 % model.cpus) as u16);
                Thread::new(&mut world, cpu, (mapped / u64::from(count)) as u32)
            })
            .collect();
        Schedule::new(model, &world, threads, &mut rng).run(&mut world, samples);
    }
    debug_assert_eq!(memory.check(), Ok(()));
    outcome.add(&world);
    Ok(outcome)
}

/// Write the work file, and let its pages go: the kernel keeps a page here and there.
fn write_file(
    model: &Model,
    memory: &Memory<SpinPlatform>,
    world: &mut World<'_, SpinPlatform>,
    pages: u64,
) {
    let cpu = CpuId(0);
    let writer = world.spawn();
    let range = world.map(writer, pages as u32, Backing::File);
    for (at, page) in range.enumerate() {
        if world.touch(cpu, writer, page) == Faulted::NoMemory {
            break;
        }
        if (at as u64).is_multiple_of(model.kernel_page_in) {
            let _ = memory.pages().alloc_pages(cpu, Request::new(Order::ZERO, Gfp::KERNEL));
        }
        while world.is_awake(NODE) && world.kswapd(cpu, NODE) == KswapdTurn::Shrunk {}
    }
    world.exit(cpu, writer);
}
