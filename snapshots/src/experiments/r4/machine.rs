//! One run: CPUs that allocate in bursts and reschedule when they do, and a drainer.

use super::model::Model;
use crate::experiments::ExperimentError;
use mmspec_impl::OwnedAllocator;
use mmspec_impl::platform::SpinPlatform;
use mmspec_model::contract::{DrainBegun, Request};
use mmspec_model::vocab::{
    CpuId, DrainScheme, Gfp, Machine, Order, Pfn, Rules, Tunables, ZoneIdx, ZoneKind,
};
use mmspec_proptests::generate::Rng;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// 1 GiB in one zone.
const FRAMES: u64 = 1 << 18;
const ZONE: ZoneIdx = ZoneIdx(0);

/// What a run came to.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Outcome {
    /// How long each drain took, ns.
    pub(super) waits: Vec<u64>,
    /// Drains that found another one underway and returned.
    pub(super) busy: u64,
    /// Pages drained.
    pub(super) drained: u64,
    /// Allocations that were freed again.
    pub(super) pairs: u64,
    /// Time in these, ns.
    pub(super) spent: u64,
    /// Attempts to lock the own lists that failed.
    pub(super) trylock_failures: u64,
}

impl Outcome {
    pub(super) fn worst(&self) -> f64 {
        self.waits.iter().max().map_or(0.0, |wait| *wait as f64)
    }

    pub(super) fn mean(&self) -> f64 {
        self.waits.iter().sum::<u64>() as f64 / self.waits.len().max(1) as f64
    }

    pub(super) fn ns_per_pair(&self) -> f64 {
        self.spent as f64 / self.pairs.max(1) as f64
    }
}

/// What happens, in the order of kinds at one time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Drain,
    /// A CPU with work comes to its worker.
    Worker(u16),
    /// A CPU allocates some pages and frees them.
    Burst(u16),
}

struct Cpu {
    /// Its load and its stretches are the same under both schemes.
    load: Rng,
    stretches: Rng,
    /// The end of the stretch that it is in.
    yields_at: u64,
    /// Time that its worker took and its load still has to wait for.
    stolen: u64,
    /// The lists are locked by the drainer from here to there.
    locked: (u64, u64),
    /// Pages on the lists.
    count: u64,
    /// The drainer wrote the lists last.
    lines_away: bool,
}

struct Run<'a> {
    model: &'a Model,
    allocator: OwnedAllocator<SpinPlatform>,
    cpus: Vec<Cpu>,
    /// The lists' high mark, which does not move under these rules.
    high: u64,
    events: BinaryHeap<Reverse<(u64, Event)>>,
    /// When the drain that waits began, and when the last of its work so far was done.
    waiting: (u64, u64),
    held: Vec<Pfn>,
    outcome: Outcome,
}

/// Run the model under one scheme.
pub(super) fn run(model: &Model, scheme: DrainScheme) -> Result<Outcome, ExperimentError> {
    let cpus = model.cpus as u16;
    let machine = Machine::new(cpus + 1, &[(ZoneKind::Normal, 0, FRAMES)]);
    let rules = Rules { drain_scheme: scheme, ..Rules::linux_6_1() };
    let allocator = OwnedAllocator::new(machine.as_ref(), rules, Tunables::default())?;
    let new = |cpu| Cpu {
        load: Rng::for_case(1, cpu),
        stretches: Rng::for_case(2, cpu),
        yields_at: 0,
        stolen: 0,
        locked: (0, 0),
        count: 0,
        lines_away: false,
    };
    let high = allocator.pcp_state(CpuId(0), ZONE).high;
    let mut run = Run {
        model,
        allocator,
        cpus: (0..model.cpus).map(new).collect(),
        high,
        events: BinaryHeap::new(),
        waiting: (0, 0),
        held: Vec::new(),
        outcome: Outcome::default(),
    };
    let period = 1_000_000_000 / model.drains_per_s;
    run.at(period, Event::Drain);
    for cpu in 0..cpus {
        let first = run.cpus[usize::from(cpu)].load.below(model.burst_every);
        run.at(first, Event::Burst(cpu));
    }
    let end = model.simulated_s * 1_000_000_000;
    while let Some(Reverse((now, event))) = run.events.pop() {
        if now > end {
            break;
        }
        match event {
            Event::Drain => {
                run.drain(now);
                run.at(now + period, Event::Drain);
            }
            Event::Worker(cpu) => run.worker(now, cpu),
            Event::Burst(cpu) => run.burst(now, cpu),
        }
    }
    Ok(run.outcome)
}

impl Run<'_> {
    fn at(&mut self, time: u64, event: Event) {
        self.events.push(Reverse((time, event)));
    }

    /// Look at a CPU's count.
    fn count(&mut self, cpu: u16) -> u64 {
        let count = self.allocator.pcp_state(CpuId(cpu), ZONE).count;
        self.cpus[usize::from(cpu)].count = count;
        count
    }

    fn busy_cpus(&self) -> std::ops::Range<u16> {
        0..self.model.cpus as u16
    }

    /// The drainer looks at every CPU's count, then drains or queues.
    fn drain(&mut self, now: u64) {
        let drainer = CpuId(self.model.cpus as u16);
        let counts: Vec<u64> = self.busy_cpus().map(|cpu| self.count(cpu)).collect();
        let mut at = now + self.model.line * self.model.cpus;
        match self.allocator.drain_begin(drainer, None) {
            DrainBegun::Busy | DrainBegun::Waits => self.outcome.busy += 1,
            DrainBegun::Queued { .. } => {
                self.waiting = (now, now);
                for cpu in self.busy_cpus() {
                    if self.allocator.has_work(CpuId(cpu)) {
                        at += self.model.queue;
                        let turn = self.next_yield(cpu, at);
                        self.at(turn, Event::Worker(cpu));
                    }
                }
            }
            DrainBegun::Done => {
                let pages = self.busy_cpus().zip(counts).filter(|(_, pages)| *pages > 0);
                for (cpu, pages) in pages {
                    let hold = self.model.line + self.model.zone_lock + pages * self.model.page;
                    let lists = &mut self.cpus[usize::from(cpu)];
                    (lists.locked, lists.lines_away) = ((at, at + hold), true);
                    at += hold;
                    self.outcome.drained += pages;
                    self.count(cpu);
                }
                self.outcome.waits.push(at - now);
            }
        }
    }

    /// The first end of a stretch from `after` on.
    fn next_yield(&mut self, cpu: u16, after: u64) -> u64 {
        let cpu = &mut self.cpus[usize::from(cpu)];
        while cpu.yields_at < after {
            cpu.yields_at += self.model.stretch(&mut cpu.stretches);
        }
        cpu.yields_at
    }

    fn worker(&mut self, now: u64, cpu: u16) {
        let pages = self.count(cpu);
        self.allocator.run_work(CpuId(cpu));
        self.count(cpu);
        let cost = self.model.switch + self.model.zone_lock + pages * self.model.page;
        self.cpus[usize::from(cpu)].stolen += cost;
        self.outcome.drained += pages;
        self.waiting.1 = self.waiting.1.max(now + cost);
        if self.allocator.drain_finished() {
            let (began, done) = self.waiting;
            self.outcome.waits.push(done + self.model.wake - began);
        }
    }

    fn burst(&mut self, now: u64, cpu: u16) {
        let lists = &mut self.cpus[usize::from(cpu)];
        let mut at = now + std::mem::take(&mut lists.stolen);
        let pages = lists.load.between(1, self.model.burst_pages);
        let rest = lists.load.between(self.model.burst_every / 2, self.model.burst_every * 3 / 2);
        let started = at;
        for _ in 0..pages {
            let request = Request::new(Order::ZERO, Gfp::KERNEL);
            let mut page = None;
            at += self.request(at, cpu, true, |run| {
                page = run.allocator.alloc_pages(CpuId(cpu), request).page();
            });
            self.held.extend(page);
        }
        while let Some(page) = self.held.pop() {
            at += self.request(at, cpu, false, |run| {
                run.allocator.free_pages(CpuId(cpu), page, Order::ZERO);
            });
            self.outcome.pairs += 1;
        }
        self.outcome.spent += at - started;
        self.at(at + rest, Event::Burst(cpu));
    }

    /// Make a request at this time; what it costs.
    fn request(&mut self, at: u64, cpu: u16, allocates: bool, make: impl FnOnce(&mut Self)) -> u64 {
        let model = self.model;
        let lists = &mut self.cpus[usize::from(cpu)];
        let mut cost = model.hit;
        if std::mem::take(&mut lists.lines_away) {
            cost += model.line;
        }
        let (from, to) = lists.locked;
        if (from..to).contains(&at) {
            // The lists are passed by, and their lines stay away.
            lists.lines_away = true;
            self.outcome.trylock_failures += 1;
            self.allocator.fail_trylock(CpuId(cpu), 1);
            make(self);
            return cost + model.zone_lock + model.page;
        }
        let before = lists.count;
        make(self);
        // One kind of pages and one order: only an empty list is refilled, only a full one flushed.
        let simple = if allocates { before > 0 } else { before + 1 < self.high };
        if simple {
            let lists = &mut self.cpus[usize::from(cpu)];
            lists.count = if allocates { before - 1 } else { before + 1 };
            return cost;
        }
        let after = self.count(cpu);
        // Beyond the request's own page it is a refill or a flush.
        let moved = if allocates { after + 1 - before } else { before + 1 - after };
        if moved == 0 { cost } else { cost + model.zone_lock + moved * model.page }
    }
}
