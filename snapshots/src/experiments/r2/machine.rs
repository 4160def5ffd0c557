//! One run: readers that stream files through the page cache, and a kswapd for each node.

use super::kernel::Kernel;
use super::lines::Traffic;
use super::model::Model;
use super::touch::{Attempt, Touch};
use crate::experiments::ExperimentError;
use mmspec_impl::OwnedAllocator;
use mmspec_impl::platform::SpinPlatform;
use mmspec_model::contract::{Outcome, Request};
use mmspec_model::vocab::{
    AllocFlags, CpuId, Gfp, Machine, Mark, NodeId, Order, Pfn, PfnRange, Tunables, ZoneIdx,
    ZoneKind, ZoneSpan,
};
use std::cmp::Reverse;
use std::collections::binary_heap::PeekMut;
use std::collections::{BinaryHeap, VecDeque};
use std::ops::Range;

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
    /// Lines fetched by all of them.
    pub(super) lines: Traffic,
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

/// What an awake kswapd is at.
struct Turn {
    /// The zones that are left of it.
    zones: Range<usize>,
    /// The zone that it works on, and whether that was balanced.
    zone: (usize, bool),
    /// Pages that it is still to take from that zone.
    left: u64,
}

/// What a reader does next.
#[derive(Clone, Copy)]
enum Step {
    /// Ask for the next page.
    First,
    /// Ask again on the slow path.
    Later,
    /// Reclaim a cluster from that zone of its node, then the next.
    Reclaim(usize),
}

/// Pages that reclaim takes at once.
const CLUSTER: u64 = 32;

struct Run<'a> {
    model: &'a Model,
    /// kswapd passes over balanced zones.
    checks_low: bool,
    machine: Machine,
    pages: OwnedAllocator<SpinPlatform>,
    touch: Touch,
    /// The page cache by zone, oldest first: each page is read once.
    cache: Vec<VecDeque<Pfn>>,
    /// The zones of each node.
    zones: Vec<Vec<usize>>,
    /// By reader.
    steps: Vec<Step>,
    /// By node: what its kswapd is at, if awake.
    turns: Vec<Option<Turn>>,
    agenda: BinaryHeap<Reverse<(u64, Actor)>>,
    sums: Sums,
}

/// Fill the caches, then read on and sum up.
pub(super) fn run(model: &Model, kernel: Kernel, nodes: u8) -> Result<Sums, ExperimentError> {
    let machine = machine(model, nodes);
    let rules = kernel.rules();
    let pages = OwnedAllocator::new(machine.as_ref(), rules, Tunables::default())?;
    let memory: u64 = machine.zones.iter().map(|zone| zone.span.len()).sum();
    let touch = Touch::new(model, kernel.layout(), machine.as_ref(), &pages, rules.fair_policy);
    let of_node = |node| {
        let all = 0..machine.zones.len();
        all.filter(|z| machine.zones[*z].node == NodeId(node)).collect()
    };
    let mut run = Run {
        model,
        checks_low: rules.kswapd_checks_low,
        cache: vec![VecDeque::new(); machine.zones.len()],
        zones: (0..nodes).map(of_node).collect(),
        steps: vec![Step::First; usize::from(machine.cpus)],
        turns: (0..nodes).map(|_| None).collect(),
        agenda: (0..machine.cpus).map(|cpu| Reverse((0, Actor::Reader(cpu)))).collect(),
        touch,
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
        lines: Traffic {
            transfers: after.lines.transfers - before.lines.transfers,
            time: after.lines.time - before.lines.time,
            waits: after.lines.waits - before.lines.waits,
        },
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
            lines: self.touch.traffic(),
            ..self.sums
        }
    }

    fn until(&mut self, pages: u64) {
        while self.sums.pages < pages {
            let Some(Reverse((time, actor))) = self.agenda.peek().copied() else { return };
            let next = match actor {
                Actor::Reader(cpu) => {
                    let cost = self.read(time, CpuId(cpu));
                    self.sums.readers += cost;
                    Some(time + cost)
                }
                Actor::Kswapd(node) => self.kswapd(time, node).map(|cost| time + cost),
            };
            // Whoever was woken meanwhile acts later, so the first is still the first.
            let Some(mut first) = self.agenda.peek_mut() else { return };
            match next {
                Some(next) => *first = Reverse((next, actor)),
                None => drop(PeekMut::pop(first)),
            }
        }
    }

    /// Ask for a page; the time is moved on by what it took.
    fn ask(&mut self, now: &mut u64, cpu: CpuId, attempt: Attempt) -> Outcome {
        let mut request = Request::new(Order::ZERO, Gfp::HIGHUSER_MOVABLE);
        if attempt == Attempt::Later {
            request = request.at(Mark::Min, AllocFlags::empty());
        }
        let before = self.pages.fair_work(cpu);
        let outcome = self.pages.alloc_pages(cpu, request);
        let after = self.pages.fair_work(cpu);
        let work = [after[0] - before[0], after[1] - before[1]];
        let node = self.home(cpu);
        *now += self.touch.looked(*now, cpu, node, attempt, work);
        outcome
    }

    /// What a reader does next, up to the next time that it does not touch shared lines; the time it
    /// took. Nothing is done ahead of time: others would wait for lines that are not fetched yet.
    fn read(&mut self, time: u64, cpu: CpuId) -> u64 {
        let mut now = time;
        let at = usize::from(cpu.0);
        let attempt = match self.steps[at] {
            Step::First => Attempt::First,
            Step::Later => Attempt::Later,
            Step::Reclaim(zones) => {
                now += self.reclaim_directly(time, cpu, zones);
                let last = zones + 1 == self.zones[self.home(cpu).index()].len();
                self.steps[at] = if last { Step::Later } else { Step::Reclaim(zones + 1) };
                return now - time + if last { self.enter_slow_path(now) } else { 0 };
            }
        };
        let Outcome::Page(pfn) = self.ask(&mut now, cpu, attempt) else {
            if attempt == Attempt::Later {
                self.steps[at] = Step::Reclaim(0);
                return now - time;
            }
            self.steps[at] = Step::Later;
            return now - time + self.enter_slow_path(now);
        };
        self.steps[at] = Step::First;
        if let Some(zone) = self.machine.as_ref().zone_of(pfn) {
            now += self.touch.took(now, cpu, zone.index(), &self.pages);
            self.cache[zone.index()].push_back(pfn);
            let away = self.machine.zones[zone.index()].node != self.home(cpu);
            self.sums.remote += u64::from(away);
        }
        self.sums.pages += 1;
        now + self.model.page - time
    }

    fn home(&self, cpu: CpuId) -> NodeId {
        self.machine.as_ref().node_of(cpu)
    }

    /// The time it took.
    fn enter_slow_path(&mut self, time: u64) -> u64 {
        self.sums.slow += 1;
        self.wake_kswapds(time);
        self.model.slow
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
            if self.turns[node.index()].is_none() && !self.is_balanced(z) {
                self.turns[node.index()] = Some(Turn { zones: 0..0, zone: (z, false), left: 0 });
                self.agenda.push(Reverse((time, Actor::Kswapd(node.0))));
            }
        }
    }

    /// A cluster of a turn of a node's kswapd; the time it took, or `None` if it goes to sleep.
    fn kswapd(&mut self, time: u64, node: u8) -> Option<u64> {
        let at = usize::from(node);
        let mut turn = self.turns[at].take()?;
        while turn.left == 0 {
            let zones = &self.zones[at];
            let Some(next) = turn.zones.next() else {
                turn.zones = 0..1 + zones.iter().rposition(|z| !self.is_balanced(*z))?;
                continue;
            };
            turn.zone = (zones[next], self.is_balanced(zones[next]));
            if !turn.zone.1 || !self.checks_low {
                // The list's size shifted by the gentlest priority, and at least one batch.
                turn.left = (self.cache[turn.zone.0].len() as u64 >> 12).max(CLUSTER);
            }
        }
        let (zone, balanced) = turn.zone;
        let agent = usize::from(self.machine.cpus) + at;
        let (freed, cost) = self.evict(time, zone, turn.left.min(CLUSTER), agent, u16::from(node));
        self.sums.needless += if balanced { freed } else { 0 };
        self.sums.kswapd += cost;
        turn.left -= turn.left.min(CLUSTER);
        self.turns[at] = Some(turn);
        Some(cost.max(self.model.reclaim))
    }

    /// A cluster from one of the zones of the reader's own node; the time it took.
    fn reclaim_directly(&mut self, time: u64, cpu: CpuId, zone: usize) -> u64 {
        let z = self.zones[self.home(cpu).index()][zone];
        self.evict(time, z, CLUSTER, usize::from(cpu.0), cpu.0).1
    }

    /// Free the oldest pages of a zone on a CPU, on behalf of `agent`: how many, and the time it took.
    fn evict(&mut self, time: u64, z: usize, pages: u64, agent: usize, cpu: u16) -> (u64, u64) {
        let count = pages.min(self.cache[z].len() as u64);
        for pfn in self.cache[z].drain(..count as usize) {
            self.pages.free_pages(CpuId(cpu), pfn, Order::ZERO);
        }
        let lines = self.touch.reclaimed(time, agent, CpuId(cpu), z, count, &self.pages);
        (count, count * self.model.reclaim + lines)
    }
}
