//! hackbench over the slab allocator, on a machine whose memory is full of holes.

use super::model::Model;
use crate::experiments::ExperimentError;
use mmspec_impl::platform::SpinPlatform;
use mmspec_impl::reclaim::GoesOn;
use mmspec_impl::slab::OwnedSlabs;
use mmspec_model::contract::{Request, SlabCaches, SlabPages};
use mmspec_model::vocab::{
    CacheFlags, CacheId, CacheSpec, CompactRules, CpuId, FreeCheck, Gfp, Machine, NodeId, ObjAddr,
    Order, Pfn, Rules, SlabRules, SlabStat, ThpDefrag, ThpEnabled, Tunables, ZoneKind,
};
use mmspec_proptests::generate::Rng;
use mmspec_proptests::world::{
    Allocation, Backing, Config, Faulted, KswapdTurn, Memory, Obstacles, World,
};
use std::collections::VecDeque;

const NODE: NodeId = NodeId(0);
const MIB: u64 = 256;
/// Senders and receivers of a group each.
const HALF: usize = 20;

/// What a run came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Outcome {
    pub(super) elapsed_ns: u64,
    pub(super) compact_stall: u64,
    pub(super) compact_success: u64,
    pub(super) pgmigrate_success: u64,
    pub(super) order_fallback: u64,
    pub(super) slabs: u64,
    pub(super) allocstall: u64,
    pub(super) refused: u64,
}

impl Outcome {
    pub(super) fn plus(self, more: Self) -> Self {
        Self {
            elapsed_ns: self.elapsed_ns + more.elapsed_ns,
            compact_stall: self.compact_stall + more.compact_stall,
            compact_success: self.compact_success + more.compact_success,
            pgmigrate_success: self.pgmigrate_success + more.pgmigrate_success,
            order_fallback: self.order_fallback + more.order_fallback,
            slabs: self.slabs + more.slabs,
            allocstall: self.allocstall + more.allocstall,
            refused: self.refused + more.refused,
        }
    }
}

/// A message on the way: its head and its data.
type Message = [ObjAddr; 2];

/// A process: a sender goes round the sockets of its group, a receiver takes from its own.
struct Process {
    group: usize,
    receiver: Option<usize>,
    /// Messages left to send or to take.
    left: u64,
    /// The socket that a sender writes to next.
    next: usize,
}

/// Where slab pages come from: the slow path of the world.
struct Source<'w, 'm> {
    world: &'w mut World<'m, SpinPlatform>,
}

impl Source<'_, '_> {
    fn allocate(&mut self, cpu: CpuId, order: Order, gfp: Gfp) -> Option<Pfn> {
        let mut asks = Allocation::new(cpu, Request::new(order, gfp));
        loop {
            if let Some(page) = asks.step(self.world) {
                return page;
            }
        }
    }
}

impl SlabPages for Source<'_, '_> {
    fn alloc(&mut self, cpu: CpuId, order: Order, gfp: Gfp, _: Option<NodeId>) -> Option<Pfn> {
        self.allocate(cpu, order, gfp)
    }

    fn free(&mut self, cpu: CpuId, pfn: Pfn, order: Order) {
        self.world.memory().pages().free_pages(cpu, pfn, order);
    }
}

struct Run<'w, 'm> {
    model: Model,
    source: Source<'w, 'm>,
    slabs: OwnedSlabs<SpinPlatform>,
    caches: [CacheId; 2],
    /// By CPU, the process that runs next first.
    queues: Vec<VecDeque<Process>>,
    /// By group and receiver.
    sockets: Vec<Vec<VecDeque<Message>>>,
    /// Time of each CPU for messages and objects.
    busy: Vec<u64>,
    outcome: Outcome,
}

/// The allocator of 3.17 where it is known, with a check above order 0 that looks for a block, as since 4.4.
fn rules_of_the_allocator() -> Rules {
    Rules { free_check: FreeCheck::Lists, ..Rules::linux_3_17() }
}

/// One kernel on the machine.
pub(super) fn run(model: &Model, rules: SlabRules, seed: u64) -> Result<Outcome, ExperimentError> {
    let frames = model.memory_mib * MIB;
    let machine =
        Machine::new(model.cpus as u16, &[(ZoneKind::Normal, 16 * MIB, 16 * MIB + frames)]);
    let mut slabs = OwnedSlabs::new(machine.as_ref(), rules, seed)?;
    let memory: Memory<SpinPlatform> = Memory::new(Config {
        machine,
        rules: rules_of_the_allocator(),
        tunables: Tunables::default(),
        compact: CompactRules::linux_5_0(),
        goes_on: GoesOn::UpToGap,
        enabled: ThpEnabled::Never,
        defrag: ThpDefrag::Never,
        swap: false,
        group: None,
        obstacles: Obstacles::default(),
        costs: model.costs(),
        seed,
    })?;
    let spec = |name, object_size, align| CacheSpec {
        name,
        object_size,
        align,
        flags: CacheFlags::empty(),
    };
    // The sizes are in the table of orders: neither fails.
    let heads = slabs.cache_create(spec("skbuff_head_cache", 256, 64)).unwrap_or_default();
    let data = slabs.cache_create(spec("kmalloc-512", 512, 512)).unwrap_or_default();
    let mut world = World::new(&memory);
    let mut run = Run {
        model: *model,
        source: Source { world: &mut world },
        slabs,
        caches: [heads, data],
        queues: (0..model.cpus).map(|_| VecDeque::new()).collect(),
        sockets: (0..model.groups).map(|_| (0..HALF).map(|_| VecDeque::new()).collect()).collect(),
        busy: vec![0; model.cpus as usize],
        outcome: Outcome::default(),
    };
    run.fragment(frames, seed);
    run.cache();
    run.hog();
    let before = memory.pages().events();
    run.fork();
    run.exchange();
    let mut outcome = run.outcome;
    let stat = |stat| [heads, data].map(|cache| run.slabs.cache_stat(cache, stat)).iter().sum();
    (outcome.order_fallback, outcome.slabs) =
        (stat(SlabStat::OrderFallback), stat(SlabStat::AllocSlab));
    outcome.elapsed_ns = run.elapsed();
    debug_assert_eq!(memory.check(), Ok(()));
    let after = memory.pages().events();
    outcome.compact_stall = after.compact_stall - before.compact_stall;
    outcome.compact_success = after.compact_success - before.compact_success;
    outcome.allocstall =
        after.allocstall.iter().sum::<u64>() - before.allocstall.iter().sum::<u64>();
    outcome.pgmigrate_success = memory.compaction().counters().pgmigrate_success;
    Ok(outcome)
}

impl Run<'_, '_> {
    /// Pages at random places are taken for good.
    fn fragment(&mut self, frames: u64, seed: u64) {
        let cpu = CpuId(0);
        let mut pages = Vec::new();
        let request = Request::new(Order::ZERO, Gfp::NOWAIT);
        let memory = self.source.world.memory();
        while let Some(pfn) = memory.pages().alloc_pages(cpu, request).page() {
            pages.push(pfn);
        }
        let mut rng = Rng::for_case(seed, 1);
        let taken = (frames * self.model.taken / 100) as usize;
        for at in 0..taken.min(pages.len()) {
            let other = at + rng.below((pages.len() - at) as u64) as usize;
            pages.swap(at, other);
        }
        for pfn in pages.into_iter().skip(taken) {
            memory.pages().free_pages(cpu, pfn, Order::ZERO);
        }
        memory.pages().drain_all(cpu, None);
    }

    /// Files were read before.
    fn cache(&mut self) {
        let world = &mut *self.source.world;
        let reader = world.spawn();
        for page in world.map(reader, (self.model.cache_mib * MIB) as u32, Backing::File) {
            world.read(CpuId(0), reader, page);
        }
    }

    fn hog(&mut self) {
        let world = &mut *self.source.world;
        let hog = world.spawn();
        let pages = self.model.hog_mib * MIB;
        let range = world.map(hog, pages as u32, Backing::Anon { advised: false });
        for page in range {
            if world.touch(CpuId(0), hog, page) == Faulted::NoMemory {
                self.outcome.refused += 1;
            }
        }
    }

    /// 40 processes of each group, CPU by CPU: each has a stack of four pages, pages of the kernel's,
    /// and pages of its own.
    fn fork(&mut self) {
        let messages = self.model.loops * HALF as u64;
        let mut at = 0;
        for group in 0..self.model.groups as usize {
            for member in 0..2 * HALF {
                let cpu = CpuId((at % self.model.cpus) as u16);
                at += 1;
                if self.source.allocate(cpu, Order::of(2), Gfp::KERNEL).is_none() {
                    self.outcome.refused += 1;
                }
                for _ in 0..self.model.kernel_pages {
                    let page = self.source.allocate(cpu, Order::ZERO, Gfp::KERNEL);
                    self.outcome.refused += u64::from(page.is_none());
                }
                let pages = self.model.process_pages as u32;
                let world = &mut *self.source.world;
                let process = world.spawn();
                for page in world.map(process, pages, Backing::Anon { advised: false }) {
                    if world.touch(cpu, process, page) == Faulted::NoMemory {
                        self.outcome.refused += 1;
                    }
                }
                self.daemons(cpu);
                let receiver = member.checked_sub(HALF);
                let process = Process { group, receiver, left: messages, next: 0 };
                self.queues[cpu.index()].push_back(process);
            }
        }
    }

    fn daemons(&mut self, cpu: CpuId) {
        let world = &mut *self.source.world;
        if world.is_awake(NODE) {
            while world.kswapd(cpu, NODE) == KswapdTurn::Shrunk {}
        }
        world.kcompactd(cpu, NODE);
    }

    fn now(&self, cpu: usize) -> u64 {
        self.busy[cpu] + self.source.world.memory().now(CpuId(cpu as u16))
    }

    /// The time of the CPU that worked longest.
    fn elapsed(&self) -> u64 {
        (0..self.queues.len()).map(|cpu| self.now(cpu)).max().unwrap_or(0)
    }

    /// The CPU that is furthest behind and has somebody to run runs him, until all are done.
    fn exchange(&mut self) {
        loop {
            let runnable = (0..self.queues.len()).filter(|cpu| self.is_runnable(*cpu));
            let Some(cpu) = runnable.min_by_key(|cpu| self.now(*cpu)) else { return };
            self.turn(cpu);
            self.daemons(CpuId(cpu as u16));
        }
    }

    fn is_runnable(&self, cpu: usize) -> bool {
        self.queues[cpu].iter().any(|process| self.can_run(process))
    }

    fn can_run(&self, process: &Process) -> bool {
        let sockets = &self.sockets[process.group];
        match process.receiver {
            Some(own) => !sockets[own].is_empty(),
            None => (sockets[process.next].len() as u64) < self.model.in_flight,
        }
    }

    /// The first process that can run runs for a slice, or until it blocks or is done.
    fn turn(&mut self, cpu: usize) {
        let Some(at) = self.queues[cpu].iter().position(|process| self.can_run(process)) else {
            return;
        };
        let Some(mut process) = self.queues[cpu].remove(at) else { return };
        for _ in 0..self.model.slice {
            if process.left == 0 || !self.can_run(&process) || !self.message(cpu, &mut process) {
                break;
            }
        }
        if process.left > 0 {
            self.queues[cpu].push_back(process);
        }
    }

    /// One message; false: there was no memory for it.
    fn message(&mut self, cpu: usize, process: &mut Process) -> bool {
        let on = CpuId(cpu as u16);
        self.busy[cpu] += self.model.message + 2 * self.model.object;
        let group = process.group;
        if let Some(own) = process.receiver {
            if let Some(message) = self.sockets[group][own].pop_front() {
                for (cache, object) in self.caches.into_iter().zip(message) {
                    // An object that was handed out is one.
                    let freed = self.slabs.object_free(on, cache, object, &mut self.source);
                    self.outcome.refused += u64::from(freed.is_err());
                }
            }
        } else {
            let mut message = [ObjAddr(0); 2];
            for (cache, slot) in self.caches.into_iter().zip(&mut message) {
                let made = self.slabs.cache_stat(cache, SlabStat::AllocSlab);
                let got = self.slabs.object_alloc(on, cache, Gfp::KERNEL, None, &mut self.source);
                let Ok(Some(object)) = got else {
                    self.outcome.refused += 1;
                    return false;
                };
                *slot = object;
                let made = self.slabs.cache_stat(cache, SlabStat::AllocSlab) - made;
                self.busy[cpu] += made * self.model.slab;
            }
            self.sockets[group][process.next].push_back(message);
            process.next = (process.next + 1) % HALF;
        }
        process.left -= 1;
        true
    }
}
