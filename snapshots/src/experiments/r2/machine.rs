//! One run: readers that stream files through the page cache, and a kswapd for each node.

use super::model::Model;
use crate::experiments::ExperimentError;
use mmspec_impl::OwnedAllocator;
use mmspec_impl::platform::SpinPlatform;
use mmspec_model::contract::{Outcome, Request};
use mmspec_model::vocab::{
    AllocFlags, CpuId, FairPolicy, Gfp, Machine, Mark, NodeId, Order, Pfn, PfnRange, Rules,
    Tunables, ZoneIdx, ZoneKind, ZoneSpan,
};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// The three kernels of the published table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kernel {
    Vanilla,
    CheckLow,
    FairZone,
}

impl Kernel {
    pub(super) const ALL: [Self; 3] = [Self::Vanilla, Self::CheckLow, Self::FairZone];

    fn rules(self) -> Rules {
        // The posting was a series: its last kernel has all of its changes.
        let (fair_policy, kswapd_checks_low) = match self {
            Self::Vanilla => (FairPolicy::V3_16, false),
            Self::CheckLow => (FairPolicy::V3_16, true),
            Self::FairZone => (FairPolicy::Draft, true),
        };
        Rules { fair_policy, kswapd_checks_low, ..Rules::linux_3_17() }
    }
}

/// What a run came to, over the pages read with full caches.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Sums {
    /// Pages read.
    pub(super) pages: u64,
    /// Entries of zonelists that were looked at.
    pub(super) zones: u64,
    /// Counters read.
    pub(super) reads: u64,
    /// Batches reset.
    pub(super) resets: u64,
    /// Entries of the slow path.
    pub(super) slow: u64,
    /// Pages that lie on another node than their reader.
    pub(super) remote: u64,
    /// Time of the readers in the kernel, ns.
    pub(super) readers: u64,
    /// Time of the kswapds, ns.
    pub(super) kswapd: u64,
    /// Pages that kswapd took from zones that were balanced.
    pub(super) needless: u64,
}

impl Sums {
    pub(super) fn each(&self, of: u64) -> f64 {
        of as f64 / self.pages.max(1) as f64
    }
}

/// Frames of a MiB.
const MIB: u64 = 256;

/// One node, or four: 16 MiB of DMA and up to 3 GiB of DMA32 on node 0, the rest Normal. On smaller
/// nodes the low zones keep their share of 8 GiB.
fn machine(model: &Model, nodes: u8) -> Machine {
    let each = model.node_mib * MIB;
    let low = each * 3 / 8;
    let mut machine = Machine::new(u16::from(nodes) * model.cpus_per_node as u16, &[]);
    machine.nodes = nodes;
    machine.cpu_nodes =
        (0..machine.cpus).map(|cpu| NodeId((cpu % u16::from(nodes)) as u8)).collect();
    let dma = (each / 512).next_multiple_of(1024);
    for (kind, start, end) in
        [(ZoneKind::Dma, 0, dma), (ZoneKind::Dma32, dma, low), (ZoneKind::Normal, low, each)]
    {
        machine.zones.push(ZoneSpan::new(kind, PfnRange::new(start, end)));
    }
    for node in 1..nodes {
        let start = u64::from(node) * each;
        let span = PfnRange::new(start, start + each);
        machine.zones.push(ZoneSpan::new(ZoneKind::Normal, span).on(NodeId(node)));
    }
    machine
}

/// Who acts next; at one time in this order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Actor {
    Reader(u16),
    Kswapd(u8),
}

struct Run<'a> {
    model: &'a Model,
    /// kswapd passes over balanced zones.
    checks_low: bool,
    machine: Machine,
    pages: OwnedAllocator<SpinPlatform>,
    /// The page cache by zone, oldest first: each page is read once.
    cache: Vec<VecDeque<Pfn>>,
    /// Awake kswapds.
    awake: Vec<bool>,
    agenda: BinaryHeap<Reverse<(u64, Actor)>>,
    sums: Sums,
}

/// Fill the caches, then read on and sum up.
pub(super) fn run(model: &Model, kernel: Kernel, nodes: u8) -> Result<Sums, ExperimentError> {
    let machine = machine(model, nodes);
    let rules = kernel.rules();
    let pages = OwnedAllocator::new(machine.as_ref(), rules, Tunables::default())?;
    let memory: u64 = machine.zones.iter().map(|zone| zone.span.len()).sum();
    let mut run = Run {
        model,
        checks_low: rules.kswapd_checks_low,
        cache: vec![VecDeque::new(); machine.zones.len()],
        awake: vec![false; usize::from(nodes)],
        agenda: (0..machine.cpus).map(|cpu| Reverse((0, Actor::Reader(cpu)))).collect(),
        pages,
        machine,
        sums: Sums::default(),
    };
    // Once through the memory, and a tenth more, so that every kswapd has had its turns.
    run.until(memory * 11 / 10);
    let before = run.now();
    run.until(before.pages + memory * model.read_percent / 100);
    let after = run.now();
    Ok(Sums {
        pages: after.pages - before.pages,
        zones: after.zones - before.zones,
        reads: after.reads - before.reads,
        resets: after.resets - before.resets,
        slow: after.slow - before.slow,
        remote: after.remote - before.remote,
        readers: after.readers - before.readers,
        kswapd: after.kswapd - before.kswapd,
        needless: after.needless - before.needless,
    })
}

impl Run<'_> {
    /// The sums so far, with what the allocator counts.
    fn now(&self) -> Sums {
        let events = self.pages.events();
        Sums {
            zones: events.zones_scanned,
            reads: events.batch_reads,
            resets: events.fair_resets,
            ..self.sums
        }
    }

    fn until(&mut self, pages: u64) {
        while self.sums.pages < pages {
            let Some(Reverse((time, actor))) = self.agenda.pop() else { return };
            let next = match actor {
                Actor::Reader(cpu) => Some(time + self.read_ahead(time, CpuId(cpu))),
                Actor::Kswapd(node) => self.kswapd(node).map(|cost| time + cost),
            };
            if let Some(next) = next {
                self.agenda.push(Reverse((next, actor)));
            }
        }
    }

    /// What the policy did since `before`, in ns.
    fn policy_cost(&self, before: [u64; 3]) -> u64 {
        let [zones, reads, resets] = self.policy();
        let model = self.model;
        (zones - before[0]) * model.zone
            + (reads - before[1]) * model.counter
            + (resets - before[2]) * model.reset
    }

    fn policy(&self) -> [u64; 3] {
        let events = self.pages.events();
        [events.zones_scanned, events.batch_reads, events.fair_resets]
    }

    /// Read one window of a file; the time it took.
    fn read_ahead(&mut self, time: u64, cpu: CpuId) -> u64 {
        let before = self.policy();
        let pages: u64 = (0..self.model.window).map(|_| self.read(time, cpu)).sum();
        let cost = pages + self.policy_cost(before);
        self.sums.readers += cost;
        cost
    }

    /// Read one page; the time it took, but for what the policy did.
    fn read(&mut self, time: u64, cpu: CpuId) -> u64 {
        let request = Request::new(Order::ZERO, Gfp::HIGHUSER_MOVABLE);
        let mut cost = self.model.page;
        let mut outcome = self.pages.alloc_pages(cpu, request);
        while !matches!(outcome, Outcome::Page(_)) {
            cost += self.model.slow;
            self.sums.slow += 1;
            self.wake_kswapds(time);
            outcome = self.pages.alloc_pages(cpu, request.at(Mark::Min, AllocFlags::empty()));
            if !matches!(outcome, Outcome::Page(_)) {
                cost += self.reclaim_directly(cpu);
            }
        }
        if let Outcome::Page(pfn) = outcome
            && let Some(zone) = self.machine.as_ref().zone_of(pfn)
        {
            self.cache[zone.index()].push_back(pfn);
            let home = self.machine.as_ref().node_of(cpu);
            self.sums.remote += u64::from(self.machine.zones[zone.index()].node != home);
        }
        self.sums.pages += 1;
        cost
    }

    fn is_balanced(&self, z: usize) -> bool {
        let kind = self.machine.zones[z].kind;
        let zone = ZoneIdx(z as u8);
        self.pages.watermark_ok(zone, Order::ZERO, Mark::High, kind, AllocFlags::empty())
    }

    /// Wake the kswapd of every node with a zone out of balance.
    fn wake_kswapds(&mut self, time: u64) {
        for z in 0..self.machine.zones.len() {
            let node = self.machine.zones[z].node;
            if !self.awake[node.index()] && !self.is_balanced(z) {
                self.awake[node.index()] = true;
                self.agenda.push(Reverse((time, Actor::Kswapd(node.0))));
            }
        }
    }

    /// One turn of a node's kswapd; the time it took, or `None` if it goes to sleep.
    fn kswapd(&mut self, node: u8) -> Option<u64> {
        let zones: Vec<usize> = (0..self.machine.zones.len())
            .filter(|z| self.machine.zones[*z].node.0 == node)
            .collect();
        let Some(end) = zones.iter().rposition(|z| !self.is_balanced(*z)) else {
            self.awake[usize::from(node)] = false;
            return None;
        };
        let mut cost = 0;
        for &z in &zones[..=end] {
            let balanced = self.is_balanced(z);
            if balanced && self.checks_low {
                continue;
            }
            // The list's size shifted by the gentlest priority, and at least one batch.
            let pages = (self.cache[z].len() as u64 >> 12).max(32);
            let freed = self.evict(z, pages, u16::from(node));
            if balanced {
                self.sums.needless += freed;
            }
            cost += freed * self.model.reclaim;
        }
        self.sums.kswapd += cost;
        Some(cost.max(self.model.reclaim))
    }

    /// A batch from the zones of the reader's own node; the time it took.
    fn reclaim_directly(&mut self, cpu: CpuId) -> u64 {
        let node = self.machine.as_ref().node_of(cpu);
        let own = (0..self.machine.zones.len()).filter(|z| self.machine.zones[*z].node == node);
        let mut cost = 0;
        for z in own.collect::<Vec<_>>() {
            cost += self.evict(z, 32, cpu.0) * self.model.reclaim;
        }
        cost
    }

    /// Free the oldest pages of a zone on a CPU; how many.
    fn evict(&mut self, z: usize, pages: u64, cpu: u16) -> u64 {
        let count = pages.min(self.cache[z].len() as u64);
        for pfn in self.cache[z].drain(..count as usize) {
            self.pages.free_pages(CpuId(cpu), pfn, Order::ZERO);
        }
        count
    }
}
