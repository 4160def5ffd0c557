//! Operations: phases of filling, churning and emptying, with everything else strewn in.

use super::machine::{frame, zone};
use super::profile::{AUX, Aux, FreeOrder, Profile};
use super::walks::{kswapd, walk};
use super::{Limits, Rng, tunables};
use crate::script::{Handle, Op};
use mmspec_model::contract::Request;
use mmspec_model::vocab::{
    AllocFlags, CpuId, Gfp, Machine, Mark, MigrateType, NodeId, NodeMask, Order, Pfn, ZoneKind,
};

/// A block that the script asked for and has not freed; whether it was granted is not known here.
pub(super) struct Asked {
    handle: Handle,
    cpu: CpuId,
}

pub(super) struct Builder<'a> {
    pub(super) rng: &'a mut Rng,
    pub(super) machine: &'a Machine,
    profile: Profile,
    pub(super) frames: u64,
    most: usize,
    next: u32,
    pub(super) alive: Vec<Asked>,
    isolated: Vec<Pfn>,
    pub(super) ops: Vec<Op>,
}

/// The operations of one script.
pub(super) fn ops(rng: &mut Rng, machine: &Machine, limits: &Limits) -> Vec<Op> {
    let mut profile = Profile::draw(rng, machine);
    if machine.pageblock_order < Order::COSTLY {
        // See `differential::unspecified`.
        profile.forbid(Aux::Isolate);
    }
    let most = match rng.weighted(&[2, 3, 4]) {
        0 => rng.between(1, 12) as usize,
        1 => limits.ops / 4,
        _ => limits.ops,
    };
    let frames = machine.zones.iter().map(|zone| zone.span.len()).sum();
    let mut builder = Builder {
        rng,
        machine,
        profile,
        frames,
        most: most.clamp(1, limits.ops.max(1)),
        next: 0,
        alive: Vec::new(),
        isolated: Vec::new(),
        ops: Vec::new(),
    };
    builder.run();
    builder.ops
}

impl Builder<'_> {
    pub(super) fn full(&self) -> bool {
        self.ops.len() >= self.most
    }

    fn run(&mut self) {
        while !self.full() {
            match self.rng.weighted(&[12, 16, 12, 2, 1]) {
                0 => self.fill(),
                1 => self.churn(),
                2 => self.empty(),
                3 => self.exhaust(),
                _ => self.mix(),
            }
        }
    }

    fn fill(&mut self) {
        let wanted = self.frames * self.profile.fill_percent / 100;
        let mut asked = 0;
        while asked < wanted && !self.full() {
            asked += self.alloc();
            self.strew();
        }
    }

    fn churn(&mut self) {
        for _ in 0..self.rng.between(5, 60) {
            if self.full() {
                return;
            }
            if self.rng.percent(50) {
                self.alloc();
            } else {
                let at = match self.profile.free_order {
                    FreeOrder::Lifo => self.alive.len().saturating_sub(1),
                    FreeOrder::Fifo => 0,
                    _ => self.rng.below(self.alive.len() as u64) as usize,
                };
                self.free_at(&[at]);
            }
            self.strew();
        }
    }

    fn empty(&mut self) {
        let all = self.alive.len();
        let count = if self.rng.percent(50) { all } else { self.rng.below(all as u64) as usize };
        // Positions are given from the highest down, so that removing one does not move others.
        let positions: Vec<usize> = match self.profile.free_order {
            FreeOrder::Lifo => (all - count..all).rev().collect(),
            FreeOrder::Fifo => vec![0; count],
            FreeOrder::BuddiesLast => {
                let odd = (0..count).rev().filter(|at| at % 2 == 1);
                let evens = count - count / 2;
                odd.chain((0..evens).rev()).collect()
            }
            FreeOrder::Random => {
                (0..count).map(|freed| self.rng.below((all - freed) as u64) as usize).collect()
            }
        };
        let mut rest = positions.as_slice();
        while !rest.is_empty() && !self.full() {
            let batch = if self.rng.percent(self.profile.bulk_percent) {
                (self.rng.between(2, 40) as usize).min(rest.len())
            } else {
                1
            };
            let (now, later) = rest.split_at(batch);
            self.free_at(now);
            rest = later;
            self.strew();
        }
    }

    /// Take everything with few operations, from the largest blocks down and whatever the
    /// watermarks say; then ask as those do that may use what is left: the reserves.
    fn exhaust(&mut self) {
        let gfp = self.profile.gfp(self.rng);
        let top = self.machine.max_order;
        if self.rng.percent(40) && !self.full() {
            // What is reserved now is all that is left at the end.
            let flags = AllocFlags::NO_WATERMARKS.union(AllocFlags::HIGHATOMIC);
            self.ask(Order::of(1), gfp, Some((Mark::Min, flags)));
        }
        for order in (0..=top.get()).rev() {
            let blocks = if order == top.get() { self.frames >> order } else { 2 };
            for _ in 0..=blocks {
                if self.full() {
                    return;
                }
                self.ask(Order::of(order), gfp, Some((Mark::Min, AllocFlags::NO_WATERMARKS)));
            }
        }
        for _ in 0..self.rng.between(2, 12) {
            if self.full() {
                return;
            }
            let order = self.profile.order(self.rng);
            let attempt = self.profile.any_attempt(self.rng);
            self.ask(order, gfp, Some(attempt));
            self.strew();
        }
    }

    pub(super) fn ask(&mut self, order: Order, gfp: Gfp, attempt: Option<(Mark, AllocFlags)>) {
        let cpu = self.any_cpu();
        let handle = self.fresh(cpu);
        self.ops.push(Op::Alloc {
            cpu,
            request: Request { attempt, ..Request::new(order, gfp) },
            handle,
        });
    }

    fn any_cpu(&mut self) -> CpuId {
        CpuId(self.rng.below(u64::from(self.machine.cpus)) as u16)
    }

    fn fresh(&mut self, cpu: CpuId) -> Handle {
        let handle = Handle(self.next);
        self.next += 1;
        self.alive.push(Asked { handle, cpu });
        handle
    }

    /// On a machine with nodes: now and then on a node, within a policy or a cpuset.
    fn placed(&mut self, mut request: Request) -> Request {
        let nodes = self.machine.nodes;
        if nodes < 2 || !self.rng.percent(self.profile.placed_percent) {
            return request;
        }
        let node = |rng: &mut Rng| NodeId(rng.below(u64::from(nodes)) as u8);
        if self.rng.percent(50) {
            request.node = Some(node(self.rng));
        }
        if self.rng.percent(30) {
            request.nodes = NodeMask(self.rng.below(1 << nodes));
        }
        if self.rng.percent(30) {
            request.task.mems = NodeMask(self.rng.below(1 << nodes));
        }
        if self.rng.percent(15) {
            request.gfp |= Gfp::THISNODE;
        }
        request
    }

    /// One allocation; the frames asked for.
    fn alloc(&mut self) -> u64 {
        let cpu = self.any_cpu();
        let gfp = self.profile.gfp(self.rng);
        if self.rng.percent(self.profile.bulk_percent) {
            let count = self.rng.between(1, 24);
            let handles = (0..count).map(|_| self.fresh(cpu)).collect();
            self.ops.push(Op::Bulk { cpu, gfp, handles });
            return count;
        }
        let order = self.profile.order(self.rng);
        if self.rng.percent(self.profile.slow_percent) {
            let request = self.placed(Request::new(order, gfp));
            let handle = self.fresh(cpu);
            let op = walk(self.rng, self.machine, cpu, request, handle);
            self.ops.push(op);
            return order.pages();
        }
        let attempt = self.profile.attempt(self.rng);
        let handle = self.fresh(cpu);
        let request = Request { attempt, ..Request::new(order, gfp) };
        let request = self.placed(request);
        self.ops.push(Op::Alloc { cpu, request, handle });
        order.pages()
    }

    /// Free the blocks at these positions of `alive`, each taken after the ones before it went.
    pub(super) fn free_at(&mut self, positions: &[usize]) {
        if self.alive.is_empty() {
            return;
        }
        let mut gone = Vec::new();
        for at in positions {
            if self.alive.is_empty() {
                break;
            }
            gone.push(self.alive.remove((*at).min(self.alive.len() - 1)));
        }
        let remote = self.rng.percent(self.profile.remote_percent);
        let cpu = if remote { self.any_cpu() } else { gone[0].cpu };
        if positions.len() > 1 || self.rng.percent(self.profile.bulk_percent / 2) {
            let handles = gone.iter().map(|asked| asked.handle).collect();
            self.ops.push(Op::FreeBatch { cpu, handles });
        } else {
            self.ops.push(Op::Free { cpu, handle: gone[0].handle });
        }
    }

    /// Now and then something else.
    fn strew(&mut self) {
        while !self.full() && self.rng.percent(self.profile.aux_percent) {
            let kind = AUX[self.rng.weighted(&self.profile.aux)];
            // A daemon alone gets somewhere: from a shrink to its sleep takes some steps.
            let steps = if kind == Aux::Kswapd { self.rng.between(1, 6) } else { 1 };
            for _ in 0..steps {
                let op = self.aux(kind);
                self.ops.push(op);
            }
        }
    }

    fn aux(&mut self, kind: Aux) -> Op {
        let cpu = self.any_cpu();
        let by = self.any_cpu();
        let machine = self.machine;
        match kind {
            Aux::DrainCpu => Op::DrainCpu { by, cpu },
            Aux::DrainAll => {
                let zone = zone(self.rng, machine);
                Op::DrainAll { by, zone: self.rng.percent(40).then_some(zone) }
            }
            Aux::DrainBegin => {
                let zone = zone(self.rng, machine);
                Op::DrainBegin { by, zone: self.rng.percent(50).then_some(zone) }
            }
            Aux::Work => Op::Work { cpu },
            Aux::PcpDisable => Op::PcpDisable { by, zone: zone(self.rng, machine) },
            Aux::PcpEnable => Op::PcpEnable { zone: zone(self.rng, machine) },
            Aux::FailTrylock => Op::FailTrylock { cpu, times: self.rng.between(1, 3) as u32 },
            Aux::Tick => Op::Tick { cpu },
            Aux::Set => Op::Set { tunables: tunables(self.rng, machine) },
            Aux::ReclaimActive => {
                Op::ReclaimActive { zone: zone(self.rng, machine), active: self.rng.percent(60) }
            }
            Aux::Isolate => {
                let pfn = self.pageblock_to_isolate();
                self.isolated.push(pfn);
                Op::Isolate { cpu, pfn }
            }
            Aux::Unisolate => self.unisolate(cpu),
            Aux::TakeOff => {
                let (pfn, handle) = (frame(self.rng, machine), self.fresh(cpu));
                Op::TakeOff { cpu, pfn, handle }
            }
            Aux::Unreserve => Op::Unreserve {
                cpu,
                migratetype: *self.rng.pick(&MigrateType::PCP),
                force: self.rng.percent(60),
            },
            Aux::CpuDead => Op::CpuDead { by, cpu },
            Aux::CpuOnline => Op::CpuOnline { cpu },
            Aux::Check => self.check(),
            Aux::Kswapd => kswapd(self.rng, machine),
            Aux::Rebuild => Op::Rebuild,
            Aux::Reclaimable => {
                let pages = *self.rng.pick(&[0, 1, 8, 32, 64, 512]);
                Op::Reclaimable { zone: zone(self.rng, machine), pages }
            }
        }
    }

    /// Half of the time one of the first of a zone: blocks are handed out from there.
    fn pageblock_to_isolate(&mut self) -> Pfn {
        let pages = self.machine.pageblock_order.pages();
        let span = self.rng.pick(&self.machine.zones).span;
        if self.rng.percent(50) && span.len() > 2 * pages {
            return span.start.add(self.rng.below(2 * pages));
        }
        frame(self.rng, self.machine)
    }

    fn unisolate(&mut self, cpu: CpuId) -> Op {
        let pfn = if self.isolated.is_empty() || self.rng.percent(10) {
            frame(self.rng, self.machine)
        } else {
            let at = self.rng.below(self.isolated.len() as u64) as usize;
            self.isolated.swap_remove(at)
        };
        // The caller restores the type that the pageblock had; others come up now and then.
        let is_cma = self.machine.cma.iter().any(|range| range.contains(pfn));
        let migratetype = if is_cma && !self.rng.percent(5) {
            MigrateType::Cma
        } else if self.rng.percent(5) {
            *self.rng.pick(&[MigrateType::HighAtomic, MigrateType::Isolate])
        } else {
            *self.rng.pick(&MigrateType::PCP)
        };
        Op::Unisolate { cpu, pfn, migratetype }
    }

    fn check(&mut self) -> Op {
        let flags = [
            AllocFlags::MIN_RESERVE,
            AllocFlags::NON_BLOCK,
            AllocFlags::OOM,
            AllocFlags::HIGHATOMIC,
            AllocFlags::CMA,
        ];
        let mut chosen = AllocFlags::empty();
        for flag in flags {
            if self.rng.percent(25) {
                chosen |= flag;
            }
        }
        let top = u64::from(self.machine.max_order.get());
        let order = if self.rng.percent(50) { 0 } else { self.rng.between(0, top) };
        Op::Check {
            zone: zone(self.rng, self.machine),
            order: Order::of(order as u8),
            mark: *self.rng.pick(&Mark::ALL),
            highest: *self.rng.pick(&ZoneKind::ALL[..4]),
            flags: chosen,
        }
    }
}
