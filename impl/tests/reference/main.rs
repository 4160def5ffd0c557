//! Random operations on the implementation and on the reference of `mmspec-model`: every answer,
//! every number and every list are equal. Seconds of compile and run time, and nothing but this
//! package, so that a change or a mutant of it is judged at once. The harness (mmspec-proptests)
//! looks longer, at any machine, and shrinks.

mod draw;

use draw::{Rng, machine, rules, tunables};
use mmspec_impl::{OwnedAllocator, platform::StdPlatform};
use mmspec_model::contract::{
    BatchFree, BulkAlloc, CpuCaches, CpuHotplug, FaultInjection, HighAtomicReserve, Isolation,
    PageAllocator, Request, StatWorker, Tuning, Watermarks, ZoneFlagControl,
};
use mmspec_model::laws::{Lists, Numbers};
use mmspec_model::reference::Reference;
use mmspec_model::vocab::{
    AllocFlags, CpuId, Gfp, Machine, Mark, MigrateType, Order, Pfn, ReserveFlags, Rules, Tunables,
    ZoneIdx, ZoneKind,
};

struct Pair {
    rng: Rng,
    machine: Machine,
    rules: Rules,
    tunables: Tunables,
    reference: Reference,
    subject: OwnedAllocator<StdPlatform>,
    held: Vec<(Pfn, Order)>,
    movable: Vec<bool>,
    /// How often each kind of operation is drawn, in this case.
    weights: [u64; 5],
    gfps: [Gfp; 4],
    orders: u64,
    /// Most blocks come (or go), mostly on one CPU, for a while: lists fill up and run empty.
    fills: bool,
    home: CpuId,
    said: Vec<String>,
}

/// The same call on both; the answers are equal.
macro_rules! both {
    ($pair:ident, $allocator:ident => $call:expr) => {{
        let expected = {
            let $allocator = &mut $pair.reference;
            $call
        };
        let got = {
            let $allocator = &mut $pair.subject;
            $call
        };
        assert_eq!(expected, got, "{}", stringify!($call));
        expected
    }};
}

const GFPS: [Gfp; 12] = [
    Gfp::KERNEL,
    Gfp::KERNEL,
    Gfp::HIGHUSER_MOVABLE,
    Gfp::HIGHUSER_MOVABLE,
    Gfp::KERNEL.union(Gfp::RECLAIMABLE),
    Gfp::KERNEL.union(Gfp::MOVABLE),
    Gfp::ATOMIC,
    Gfp::NOWAIT,
    Gfp::DMA32.union(Gfp::MOVABLE),
    Gfp::DMA,
    Gfp::TRANSHUGE,
    Gfp::MOVABLE.union(Gfp::RECLAIMABLE),
];

impl Pair {
    fn new(mut rng: Rng) -> Option<Self> {
        let (machine, rules) = (machine(&mut rng), rules(&mut rng));
        let tunables = tunables(&mut rng, &machine);
        let reference = Reference::new(&machine, rules, tunables).ok()?;
        let subject = OwnedAllocator::new(machine.as_ref(), rules, tunables).ok()?;
        let movable = vec![false; machine.as_ref().end().index()];
        let weights = [
            rng.pick(&[50, 65]),
            rng.pick(&[30, 45]),
            rng.pick(&[0, 0, 5]),
            rng.pick(&[0, 5, 20]),
            rng.pick(&[0, 1, 4]),
        ];
        let gfps = [(); 4].map(|()| rng.pick(&GFPS));
        let orders = rng.below(4);
        let (held, said) = (Vec::new(), Vec::new());
        Some(Self {
            rng,
            machine,
            rules,
            tunables,
            reference,
            subject,
            held,
            movable,
            weights,
            gfps,
            orders,
            fills: true,
            home: CpuId(0),
            said,
        })
    }

    fn cpu(&mut self) -> CpuId {
        if self.rng.percent(60) && self.reference.is_online(self.home) {
            return self.home;
        }
        loop {
            let cpu = CpuId(self.rng.below(u64::from(self.machine.cpus)) as u16);
            if self.reference.is_online(cpu) {
                return cpu;
            }
        }
    }

    fn zone(&mut self) -> ZoneIdx {
        ZoneIdx(self.rng.below(self.machine.zones.len() as u64) as u8)
    }

    fn frame(&mut self) -> Pfn {
        let zone = self.zone();
        let span = self.machine.zones[zone.index()].span;
        Pfn(span.start.0 + self.rng.below(span.len()))
    }

    fn order(&mut self) -> Order {
        let top = u64::from(self.machine.max_order.get());
        let order = match self.orders {
            0 => 0,
            1 => self.rng.below(4.min(top) + 1),
            _ if self.rng.percent(50) => 0,
            2 => self.rng.below(top + 1),
            _ => self.machine.thp_order.map_or(top, |thp| u64::from(thp.get())),
        };
        let above = top < u64::from(Order::MAX.get()) && self.rng.percent(1);
        Order::of(if above { top + 1 } else { order } as u8)
    }

    /// HIGHATOMIC came with 6.3.
    fn flags(&mut self, flags: AllocFlags) -> AllocFlags {
        match self.rules.reserve_flags {
            ReserveFlags::Harder => flags.difference(AllocFlags::HIGHATOMIC),
            ReserveFlags::MinReserve => flags,
        }
    }

    fn attempt(&mut self) -> Option<(Mark, AllocFlags)> {
        let reserve = AllocFlags::MIN_RESERVE;
        let atomic = reserve.union(AllocFlags::NON_BLOCK);
        let (mark, flags) = self.rng.pick(&[
            (Mark::Min, AllocFlags::NO_WATERMARKS),
            (Mark::Min, AllocFlags::NO_WATERMARKS.union(AllocFlags::NOFRAGMENT)),
            (Mark::Min, AllocFlags::NO_WATERMARKS.union(AllocFlags::HIGHATOMIC)),
            (Mark::Min, AllocFlags::empty()),
            (Mark::Min, reserve),
            (Mark::Min, atomic),
            (Mark::Min, atomic.union(AllocFlags::HIGHATOMIC)),
            (Mark::Min, AllocFlags::OOM),
            (Mark::Low, AllocFlags::NOFRAGMENT.union(AllocFlags::KSWAPD)),
            (Mark::Low, AllocFlags::CMA),
            (Mark::High, AllocFlags::CPUSET),
        ]);
        let flags = self.flags(flags);
        self.rng.percent(50).then_some((mark, flags))
    }

    fn note(&mut self, pfn: Pfn, order: Order, movable: bool) {
        self.movable[pfn.index()..pfn.index() + order.pages() as usize].fill(movable);
    }

    fn alloc(&mut self) {
        let (cpu, order) = (self.cpu(), self.order());
        let gfp = self.rng.pick(&self.gfps.clone());
        let request = Request { attempt: self.attempt(), ..Request::new(order, gfp) };
        let outcome = both!(self, a => a.alloc_pages(cpu, request));
        self.said.push(format!("{request:?} on {cpu:?}: {outcome:?}"));
        if let Some(pfn) = outcome.page() {
            self.note(pfn, order, gfp.migratetype() == Ok(MigrateType::Movable));
            self.held.push((pfn, order));
        }
    }

    fn take(&mut self) -> Option<(Pfn, Order)> {
        let count = self.held.len() as u64;
        if count == 0 {
            return None;
        }
        let at = if self.rng.percent(50) { count - 1 } else { self.rng.below(count) };
        let (pfn, order) = self.held.swap_remove(at as usize);
        self.note(pfn, order, false);
        Some((pfn, order))
    }

    fn free(&mut self) {
        let cpu = self.cpu();
        if let Some((pfn, order)) = self.take() {
            self.said.push(format!("free {pfn}@{order} on {cpu:?}"));
            both!(self, a => a.free_pages(cpu, pfn, order));
        }
    }

    fn many(&mut self) {
        let cpu = self.cpu();
        let most = 1 + self.rng.below(40);
        if self.rng.percent(50) {
            let gfp = self.rng.pick(&self.gfps.clone());
            let bulk = both!(self, a => {
                let mut slots = vec![None; most as usize];
                (a.alloc_bulk(cpu, gfp, &mut slots), slots)
            });
            self.said.push(format!("bulk of {most} on {cpu:?}: {}", bulk.0));
            for pfn in bulk.1.into_iter().flatten() {
                self.note(pfn, Order::ZERO, gfp.migratetype() == Ok(MigrateType::Movable));
                self.held.push((pfn, Order::ZERO));
            }
        } else {
            let blocks: Vec<_> = (0..most).map_while(|_| self.take()).collect();
            self.said.push(format!("batch {blocks:?} on {cpu:?}"));
            both!(self, a => a.free_batch(cpu, &blocks));
        }
    }

    fn control(&mut self) {
        let (cpu, by, zone, pfn) = (self.cpu(), self.cpu(), self.zone(), self.frame());
        let kind = self.rng.below(13);
        self.said.push(format!("control {kind}: {cpu:?} by {by:?}, {zone:?}, {pfn}"));
        match kind {
            0 => both!(self, a => a.drain_cpu(by, cpu)),
            1 => {
                let zone = self.rng.percent(40).then_some(zone);
                both!(self, a => a.drain_all(by, zone));
            }
            2 => both!(self, a => a.pcp_disable(by, zone)),
            3 => both!(self, a => a.pcp_enable(zone)),
            4 => {
                let times = 1 + self.rng.below(3) as u32;
                both!(self, a => a.fail_trylock(cpu, times));
            }
            5 | 6 => {
                both!(self, a => a.tick(cpu));
            }
            7 => {
                let active = self.rng.percent(50);
                both!(self, a => a.set_reclaim_active(zone, active));
            }
            8 => {
                let movable = self.movable.clone();
                both!(self, a => a.isolate(cpu, pfn, &|pfn| movable[pfn.index()]));
            }
            9 => {
                let cma = self.machine.cma.iter().any(|range| range.contains(pfn));
                let to = if cma { MigrateType::Cma } else { self.rng.pick(&MigrateType::PCP) };
                both!(self, a => a.unisolate(cpu, pfn, to));
            }
            10 => {
                let (to, force) = (self.rng.pick(&MigrateType::PCP), self.rng.percent(60));
                both!(self, a => a.unreserve_highatomic(cpu, to, force));
            }
            11 => {
                both!(self, a => a.cpu_dead(by, cpu));
            }
            _ => {
                let cpu = CpuId(self.rng.below(u64::from(self.machine.cpus)) as u16);
                both!(self, a => a.cpu_online(cpu));
            }
        }
    }

    fn set(&mut self) {
        let tunables = tunables(&mut self.rng, &self.machine);
        self.tunables = tunables;
        self.said.push(format!("{tunables:?}"));
        both!(self, a => a.set_tunables(tunables).is_ok());
    }

    /// A few watermark decisions; they change nothing.
    fn ask(&mut self) {
        let zone = self.zone();
        let order = self.order().min(self.machine.max_order);
        let mark = self.rng.pick(&Mark::ALL);
        let highest = self.rng.pick(&ZoneKind::ALL[..4]);
        let gfp = self.rng.pick(&[Gfp::ATOMIC, Gfp::KERNEL]);
        let kinds = [
            AllocFlags::MIN_RESERVE,
            AllocFlags::NON_BLOCK,
            AllocFlags::OOM,
            AllocFlags::HIGHATOMIC,
            AllocFlags::CMA,
        ];
        let mut flags = AllocFlags::empty();
        for kind in kinds {
            if self.rng.percent(25) {
                flags |= kind;
            }
        }
        let flags = self.flags(flags);
        both!(self, a => a.watermark_ok(zone, order, mark, highest, flags));
        both!(self, a => a.watermark_fast(zone, order, mark, highest, flags, gfp));
        // The one who need not wait for a boost to be worked off.
        let (order, mark, gfp) = (Order::ZERO, Mark::Min, Gfp::ATOMIC);
        both!(self, a => a.watermark_fast(zone, order, mark, highest, flags, gfp));
    }

    fn run(&mut self) {
        let steps = self.rng.pick(&[60, 200, 400]);
        let cpus = self.machine.cpus;
        for step in 0..steps {
            if self.rng.percent(3) {
                self.fills = !self.fills;
                self.home = self.cpu();
            }
            let mut weights = self.weights;
            weights[usize::from(self.fills)] /= 4;
            let mut at = self.rng.below(weights.iter().sum());
            let drawn = weights.iter().position(|weight| {
                let hit = at < *weight;
                at = at.saturating_sub(*weight);
                hit
            });
            match drawn {
                Some(0) => self.alloc(),
                Some(1) => self.free(),
                Some(2) => self.many(),
                Some(3) => self.control(),
                _ => self.set(),
            }
            self.ask();
            if step == steps / 2 {
                // A copy goes on from the same state: lists, diffs, failures to come.
                self.subject = self.subject.clone();
            }
            let (expected, got) =
                (Numbers::of(&self.reference, cpus), Numbers::of(&self.subject, cpus));
            assert_eq!(expected, got, "numbers");
            if step % 16 == 15 || step + 1 == steps {
                let expected = Lists::of(&self.reference, &self.machine);
                assert_eq!(expected, Lists::of(&self.subject, &self.machine), "lists");
            }
        }
    }
}

/// Says what was done before a difference.
struct Story<'a>(&'a mut Pair, u64);

impl Drop for Story<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let pair = &self.0;
            eprintln!("case {}: {:#?} {:?} {:?}", self.1, pair.machine, pair.rules, pair.tunables);
            pair.said.iter().for_each(|line| eprintln!("{line}"));
        }
    }
}

#[test]
fn random_operations_are_as_the_reference_says() {
    let mut operations = 0;
    for case in 0..600 {
        let Some(mut pair) = Pair::new(Rng(case << 32)) else { continue };
        let story = Story(&mut pair, case);
        story.0.run();
        operations += story.0.said.len();
    }
    assert!(operations > 80_000, "{operations} operations");
}
