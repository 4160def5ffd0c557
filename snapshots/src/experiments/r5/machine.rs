//! One run of thpscale: threads on CPUs, kswapd and kcompactd beside them.

use super::model::{MS, Model};
use super::threads::{Thread, Went};
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
use std::collections::VecDeque;

const NODE: NodeId = NodeId(0);

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
        for (sum, result) in self.results.iter_mut().zip(CompactResult::ALL) {
            *sum += world.compacted(result);
        }
        let (compact, events) = (memory.compaction().counters(), memory.pages().events());
        self.meter = self.meter.plus(&memory.meter());
        for (sum, more) in [
            (&mut self.compact.migrate_scanned, compact.migrate_scanned),
            (&mut self.compact.free_scanned, compact.free_scanned),
            (&mut self.compact.isolated, compact.isolated),
            (&mut self.compact.daemon_wake, compact.daemon_wake),
            (&mut self.compact.pgmigrate_success, compact.pgmigrate_success),
            (&mut self.compact.pgmigrate_fail, compact.pgmigrate_fail),
            (&mut self.stalls, events.compact_stall),
            (&mut self.successes, events.compact_success),
        ] {
            *sum += more;
        }
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

/// Run all numbers of threads, one after the other, on a machine that stays up; and so for each seed.
pub(super) fn run(model: &Model, compact: CompactRules) -> Result<Outcome, ExperimentError> {
    let mut outcome = Outcome::default();
    for seed in 0..model.runs {
        one(model, compact, seed, &mut outcome)?;
    }
    Ok(outcome)
}

fn one(
    model: &Model,
    compact: CompactRules,
    seed: u64,
    outcome: &mut Outcome,
) -> Result<(), ExperimentError> {
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
        obstacles: Obstacles { pinned: model.pinned, ..Obstacles::default() },
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
        Schedule::new(model, &memory, &mut world, threads, &mut rng).run(samples);
    }
    debug_assert_eq!(memory.check(), Ok(()));
    outcome.add(&world);
    Ok(())
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

/// Who runs on a CPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Task {
    Thread(usize),
    Kswapd,
    Kcompactd,
}

/// One CPU.
#[derive(Debug, Default)]
struct Cpu {
    now: u64,
    queue: VecDeque<Task>,
    /// What is left of the first one's slice.
    left: u64,
    /// It compacted in the step that ends at `now`, begun then.
    compacts_since: Option<u64>,
}

/// What kswapd is at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kswapd {
    Asleep,
    Queued,
    /// Until then.
    Naps(u64),
}

struct Schedule<'r, 'm> {
    model: &'r Model,
    memory: &'m Memory<SpinPlatform>,
    world: &'r mut World<'m, SpinPlatform>,
    threads: Vec<Thread>,
    cpus: Vec<Cpu>,
    kswapd: Kswapd,
    kcompactd: bool,
    ended: usize,
}

impl<'r, 'm> Schedule<'r, 'm> {
    fn new(
        model: &'r Model,
        memory: &'m Memory<SpinPlatform>,
        world: &'r mut World<'m, SpinPlatform>,
        threads: Vec<Thread>,
        rng: &mut Rng,
    ) -> Self {
        // Threads are created one after the other, within a slice.
        let mut cpus: Vec<Cpu> = (0..model.cpus)
            .map(|_| Cpu { now: rng.below(model.slice), left: model.slice, ..Cpu::default() })
            .collect();
        for (at, thread) in threads.iter().enumerate() {
            cpus[thread.cpu().index()].queue.push_back(Task::Thread(at));
        }
        let (kswapd, kcompactd) = (Kswapd::Asleep, false);
        Self { model, memory, world, threads, cpus, kswapd, kcompactd, ended: 0 }
    }

    fn run(mut self, samples: &mut Samples) {
        while self.ended < self.threads.len() {
            // The CPU that is behind acts next.
            let busy = |cpu: &usize| !self.cpus[*cpu].queue.is_empty();
            let next = (0..self.cpus.len()).filter(busy).min_by_key(|cpu| self.cpus[*cpu].now);
            match next {
                Some(cpu) => self.step(cpu, samples),
                // All wait for each other: the barrier opens.
                None => self.open(),
            }
        }
        for thread in &self.threads {
            thread.exit(self.world);
        }
    }

    /// The first task of a CPU does one step.
    fn step(&mut self, at: usize, samples: &mut Samples) {
        let (started, cpu) = (self.cpus[at].now, CpuId(at as u16));
        let compacting = |other: &&Cpu| {
            other.compacts_since.is_some_and(|since| since <= started && started < other.now)
        };
        let others = self.cpus.iter().filter(compacting).count() as u64;
        self.memory.set_contention((others * self.model.contention).min(1024));
        let shared = self.cpus[at].queue.len() > 1;
        self.memory.set_slice(shared.then_some(self.cpus[at].left));
        self.memory.tick();
        let before = self.memory.meter();
        let task = self.cpus[at].queue[0];
        let mut stays = true;
        let mut sampled = None;
        match task {
            Task::Thread(number) => match self.threads[number].step(self.world, started) {
                Went::On => {}
                Went::Sampled(sample) => sampled = Some(sample),
                Went::Waits => stays = false,
                Went::Ended { survived } => {
                    stays = false;
                    self.ended += 1;
                    samples.died += u64::from(!survived);
                }
            },
            Task::Kswapd => match self.world.kswapd(cpu, NODE) {
                KswapdTurn::Shrunk => {}
                KswapdTurn::Nap => {
                    stays = false;
                    self.kswapd = Kswapd::Naps(started + 100 * MS);
                }
                KswapdTurn::Asleep => {
                    stays = false;
                    self.kswapd = Kswapd::Asleep;
                }
            },
            Task::Kcompactd => {
                self.world.kcompactd(cpu, NODE);
                stays = false;
                self.kcompactd = false;
            }
        }
        let costs = self.model.costs();
        let done = self.memory.meter().since(&before);
        // Whatever has no cost of its own takes a moment all the same.
        let took = done.cost(&costs).max(100);
        if let Some(sample) = sampled {
            let ns = started + took - sample.began;
            let (count, sum) = if sample.huge {
                (&mut samples.huge, &mut samples.huge_ns)
            } else {
                (&mut samples.base, &mut samples.base_ns)
            };
            (*count, *sum) = (*count + 1, *sum + ns);
        }
        let slice = self.model.slice;
        let own = &mut self.cpus[at];
        own.now = started + took;
        own.compacts_since = (done.compaction(&costs) > 0).then_some(started);
        own.left = own.left.saturating_sub(took);
        if !stays {
            own.queue.pop_front();
            own.left = slice;
        } else if own.left == 0 {
            own.queue.rotate_left(1);
            own.left = slice;
        }
        self.wake(at);
    }

    /// Daemons that were woken run on the CPU that woke them.
    fn wake(&mut self, at: usize) {
        let now = self.cpus[at].now;
        let wakes = match self.kswapd {
            Kswapd::Queued => false,
            Kswapd::Asleep => self.world.is_awake(NODE),
            Kswapd::Naps(until) => now >= until || self.world.cut_short(NODE),
        };
        if wakes {
            self.kswapd = Kswapd::Queued;
            self.cpus[at].queue.push_back(Task::Kswapd);
        }
        if !self.kcompactd && self.world.is_kcompactd_awake(NODE) {
            self.kcompactd = true;
            self.cpus[at].queue.push_back(Task::Kcompactd);
        }
    }

    /// The barrier opens for all at once.
    fn open(&mut self) {
        let now = self.cpus.iter().map(|cpu| cpu.now).max().unwrap_or(0);
        self.cpus.iter_mut().for_each(|cpu| (cpu.now, cpu.left) = (now, self.model.slice));
        for (at, thread) in self.threads.iter_mut().enumerate() {
            if thread.release() {
                self.cpus[thread.cpu().index()].queue.push_back(Task::Thread(at));
            }
        }
    }
}
