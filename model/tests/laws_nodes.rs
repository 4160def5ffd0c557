//! The laws of nodes, of the slow path and of kswapd: what holds of the reference, and what each of
//! them calls a violation.

use mmspec_model::contract::{
    CompactResult, KswapdReply, KswapdStep, Nodes, Outcome, PageAllocator, Request, SlowPath,
    SlowReply, SlowStep, Task, TaskFlags,
};
use mmspec_model::laws::{
    self, KswapdSeen, LinuxView, Live, Numbers, Observation, Past, Setting, SlowSeen, Step,
    Violation,
};
use mmspec_model::reference::Reference;
use mmspec_model::vocab::{
    AllocFlags, CpuId, FairPolicy, Gfp, Machine, Mark, NodeId, NodeMask, Order, Pfn, PfnRange,
    Rules, Tunables, ZoneFlags, ZoneKind, ZoneSpan,
};

const CPU0: CpuId = CpuId(0);
const N0: NodeId = NodeId(0);

/// A machine under test with its numbers before the last step.
struct Bench {
    reference: Reference,
    setting: Setting,
    tunables: Tunables,
    past: Past,
    before: Numbers,
}

impl Bench {
    /// Two nodes: DMA32 and Normal, Normal; a CPU on each.
    fn new(rules: Rules) -> Self {
        let mut machine = Machine::small(2, 4096, 4, 3);
        machine.thp_order = None;
        machine.nodes = 2;
        machine.cpu_nodes = vec![N0, NodeId(1)];
        machine.zones.clear();
        for (node, kind, start, end) in [
            (0, ZoneKind::Dma32, 0, 1024),
            (0, ZoneKind::Normal, 1024, 3072),
            (1, ZoneKind::Normal, 3072, 5120),
        ] {
            machine.zones.push(ZoneSpan::new(kind, PfnRange::new(start, end)).on(NodeId(node)));
        }
        let tunables = Tunables { min_free_kbytes: Some(400), ..Tunables::default() };
        let reference = Reference::new(&machine, rules, tunables).unwrap();
        let before = Numbers::of(&reference, 2);
        let setting = Setting::new(&machine, rules, before.clone());
        Self { reference, setting, tunables, past: Past::new(3), before }
    }

    fn numbers(&self) -> Numbers {
        Numbers::of(&self.reference, 2)
    }

    /// Judge a step that led from `before` to `now`: the answer, and how often something was
    /// compared.
    fn judge(
        &self,
        law: &str,
        step: Step<'_>,
        granted: &[(Pfn, Order)],
        now: &Numbers,
    ) -> (Result<(), Violation>, u64) {
        let view = LinuxView {
            setting: &self.setting,
            tunables: &self.tunables,
            before: &self.before,
            now,
            past: &self.past,
            asked_before: &[],
            asked_now: &[],
        };
        let seen = Observation {
            world: &self.setting,
            live: &Live::default(),
            granted,
            step,
            linux: Some(view),
            lists: None,
            runs: None,
            compaction: None,
            memcg: None,
            slab: None,
        };
        let mut count = 0;
        let answer = laws::by_id(law).expect("a law").judge(&seen, &mut count);
        (answer, count)
    }

    fn holds(&self, law: &str, step: Step<'_>, granted: &[(Pfn, Order)], now: &Numbers) {
        let (answer, count) = self.judge(law, step, granted, now);
        assert_eq!(answer, Ok(()));
        assert!(count > 0, "{law} compared nothing");
    }

    fn broken(&self, law: &str, step: Step<'_>, granted: &[(Pfn, Order)], now: &Numbers) {
        let (answer, _) = self.judge(law, step, granted, now);
        assert!(answer.is_err(), "{law} saw nothing wrong");
    }

    /// Everything is taken, past all marks.
    fn take_all(&mut self) {
        let request = Request::new(Order::of(4), Gfp::KERNEL);
        let request = request.at(Mark::Min, AllocFlags::NO_WATERMARKS);
        while self.reference.alloc_pages(CPU0, request).page().is_some() {}
        self.before = self.numbers();
    }
}

#[test]
fn numa_identities() {
    let mut bench = Bench::new(Rules::linux_6_12());
    bench.take_all();
    let mut now = bench.numbers();
    bench.holds("numa-identities", Step::Other, &[], &now);
    assert!(now.zones.iter().any(|zone| zone.numa.miss > 0));
    now.zones[2].numa.miss += 1;
    bench.broken("numa-identities", Step::Other, &[], &now);
    now.zones[1].numa.foreign += 1;
    bench.broken("numa-identities", Step::Other, &[], &now);
    now.zones[2].numa.other += 1;
    bench.holds("numa-identities", Step::Other, &[], &now);
}

#[test]
fn reserve_by_node() {
    let bench = Bench::new(Rules::linux_6_12());
    let mut now = bench.numbers();
    // 2048 pages of Normal on the node over 256; not 4096.
    assert_eq!(now.zones[0].lowmem_reserve, [0, 0, 8, 8, 8]);
    bench.holds("reserve-by-node", Step::Other, &[], &now);
    now.zones[0].lowmem_reserve = [0, 0, 16, 16, 16];
    bench.broken("reserve-by-node", Step::Other, &[], &now);
}

#[test]
fn fair_batch() {
    let rules = Rules { nofragment: false, ..Rules::linux_3_17() };
    let mut bench = Bench::new(rules);
    let request = Request::new(Order::of(3), Gfp::KERNEL);
    let mut flagged = false;
    for _ in 0..8 {
        bench.before = bench.numbers();
        let outcome = bench.reference.alloc_pages(CPU0, request);
        let granted = [(outcome.page().unwrap(), request.order)];
        let step = Step::Alloc(CPU0, request, outcome);
        let now = bench.numbers();
        bench.holds("fair-batch", step, &granted, &now);
        let served = bench.setting.machine.as_ref().zone_of(granted[0].0).unwrap().index();
        let set = now.zones[served].flags.contains(ZoneFlags::FAIR_DEPLETED);
        if set && !bench.before.zones[served].flags.contains(ZoneFlags::FAIR_DEPLETED) {
            flagged = true;
            let mut wrong = now.clone();
            wrong.zones[served].flags.remove(ZoneFlags::FAIR_DEPLETED);
            bench.broken("fair-batch", step, &granted, &wrong);
            let mut wrong = now.clone();
            wrong.zones[served].nr_alloc_batch = 1;
            bench.broken("fair-batch", step, &granted, &wrong);
        }
        let mut wrong = now.clone();
        wrong.zones[0].nr_alloc_batch = 1000;
        bench.broken("fair-batch", step, &granted, &wrong);
    }
    assert!(flagged);
    // Without the policy nothing may be kept; 3.16 has no flag.
    let plain = Bench::new(Rules::linux_6_12());
    let mut now = plain.numbers();
    plain.holds("fair-batch", Step::Other, &[], &now);
    now.zones[1].nr_alloc_batch = 5;
    plain.broken("fair-batch", Step::Other, &[], &now);
    let old = Bench::new(Rules { fair_policy: FairPolicy::V3_16, ..rules });
    let mut now = old.numbers();
    old.holds("fair-batch", Step::Other, &[], &now);
    now.zones[1].flags |= ZoneFlags::FAIR_DEPLETED;
    old.broken("fair-batch", Step::Other, &[], &now);
}

/// A whole walk with vain answers under the laws of the slow path.
#[test]
fn walks_in_vain() {
    let mut bench = Bench::new(Rules::linux_6_12());
    bench.take_all();
    // Every round looks worth another, as long as the limits allow.
    for zone in 0..3 {
        bench.reference.set_reclaimable(mmspec_model::vocab::ZoneIdx(zone), 5000);
    }
    let request = Request::new(Order::of(1), Gfp::KERNEL);
    let begun = bench.numbers();
    let mut walk = bench.reference.slow_begin(CPU0, request);
    let (mut reply, mut steps, mut kinds) = (None, 0, (0, 0));
    loop {
        bench.before = bench.numbers();
        let step = bench.reference.slow_step(&mut walk, reply);
        steps += 1;
        let now = bench.numbers();
        let seen = SlowSeen { cpu: CPU0, request, step, steps, fruitless: true, begun: &begun };
        bench.holds("slow-bounded", Step::Slow(seen), &[], &now);
        bench.holds("slow-events", Step::Slow(seen), &[], &now);
        bench.broken("slow-bounded", Step::Slow(SlowSeen { steps: 500, ..seen }), &[], &now);
        let excused = SlowSeen { steps: 500, fruitless: false, ..seen };
        let (answer, count) = bench.judge("slow-bounded", Step::Slow(excused), &[], &now);
        assert_eq!((answer, count), (Ok(()), 0));
        let mut wrong = now.clone();
        wrong.events.allocstall[2] += 1;
        bench.broken("slow-events", Step::Slow(seen), &[], &wrong);
        reply = Some(match step {
            SlowStep::Done(outcome) => {
                assert_eq!(outcome, Outcome::Failed);
                break;
            }
            SlowStep::Reclaim { .. } => {
                kinds.0 += 1;
                SlowReply::Reclaimed(0)
            }
            SlowStep::Throttle { .. } => {
                kinds.1 += 1;
                SlowReply::Woken { killed: false }
            }
            SlowStep::Compact { .. } => SlowReply::Compacted(CompactResult::Complete),
            SlowStep::OomLock => SlowReply::OomLock(true),
            SlowStep::OomKill { .. } => {
                bench.holds("no-needless-kill", Step::Slow(seen), &[], &now);
                SlowReply::Killed(false)
            }
            SlowStep::Yield | SlowStep::DrainWait => SlowReply::Woken { killed: false },
        });
    }
    assert!(kinds.0 > 0 && kinds.1 > 0, "{kinds:?}");
    // Outside walks nothing of this is counted.
    let mut now = bench.numbers();
    bench.before = now.clone();
    bench.holds("slow-events", Step::Other, &[], &now);
    now.events.direct_throttle += 1;
    bench.broken("slow-events", Step::Other, &[], &now);
}

/// P44: a kill while an allowed zone is full of free pages.
#[test]
fn needless_kills() {
    let bench = Bench::new(Rules::linux_6_12());
    let now = bench.numbers();
    let order = Order::of(1);
    let kill = |mems: u64, gfp| {
        let task = Task { mems: NodeMask(mems), flags: TaskFlags::empty() };
        let request = Request::new(order, gfp).by(task);
        let step = SlowStep::OomKill { order };
        Step::Slow(SlowSeen { cpu: CPU0, request, step, steps: 5, fruitless: true, begun: &now })
    };
    bench.broken("no-needless-kill", kill(0b11, Gfp::KERNEL), &[], &now);
    bench.broken("no-needless-kill", kill(0b10, Gfp::KERNEL), &[], &now);
    // Nothing is free on the allowed node.
    let mut empty = now.clone();
    empty.zones[2].nr_free_pages = 0;
    bench.holds("no-needless-kill", kill(0b10, Gfp::KERNEL), &[], &empty);
    // Single pages only, for an order of 1.
    let mut single = now.clone();
    for zone in &mut single.zones {
        zone.nr_free[1..].iter_mut().for_each(|by_type| *by_type = [0; 6]);
    }
    bench.holds("no-needless-kill", kill(0b11, Gfp::KERNEL), &[], &single);
}

#[test]
fn kswapd() {
    let mut bench = Bench::new(Rules::linux_6_12());
    bench.take_all();
    let mut walk = bench.reference.slow_begin(CPU0, Request::new(Order::ZERO, Gfp::NOWAIT));
    let _ = bench.reference.slow_step(&mut walk, None);
    let (mut reply, mut in_vain, mut most) = (None, 0, 0);
    loop {
        bench.before = bench.numbers();
        let before = bench.reference.node_state(N0);
        let step = bench.reference.kswapd_step(N0, reply);
        let after = bench.reference.node_state(N0);
        let now = bench.numbers();
        let seen = KswapdSeen { node: N0, step, in_vain, before, now: after };
        bench.holds("kswapd-ends", Step::Kswapd(seen), &[], &now);
        bench.broken("kswapd-ends", Step::Kswapd(KswapdSeen { in_vain: 205, ..seen }), &[], &now);
        match step {
            KswapdStep::Shrink {
                priority, target, order, highest, may_write, may_swap, ..
            } => {
                bench.holds("kswapd-target", Step::Kswapd(seen), &[], &now);
                let wrong = |priority, target, may_write| KswapdStep::Shrink {
                    priority,
                    target,
                    order,
                    highest,
                    may_write,
                    may_swap: may_write,
                    unbalanced_only: false,
                };
                assert!(may_write && may_swap);
                for step in [wrong(0, target, true), wrong(priority, target + 1, true)] {
                    let seen = KswapdSeen { step, ..seen };
                    bench.broken("kswapd-target", Step::Kswapd(seen), &[], &now);
                }
                if priority < 10 {
                    let seen = KswapdSeen { step: wrong(priority, target, false), ..seen };
                    bench.broken("kswapd-target", Step::Kswapd(seen), &[], &now);
                }
                reply = Some(KswapdReply::Shrunk { scanned: 0, reclaimed: 0 });
                in_vain += 1;
                most = in_vain;
            }
            KswapdStep::Nap => {
                reply = Some(KswapdReply::Napped { early: false });
                in_vain = 0;
            }
            KswapdStep::Asleep => {
                // Not hopeless, and nothing above its mark: that would be no sleep.
                let mut hopeful = after;
                hopeful.kswapd_failures = 3;
                let seen = KswapdSeen { now: hopeful, ..seen };
                bench.broken("kswapd-ends", Step::Kswapd(seen), &[], &now);
                break;
            }
        }
    }
    assert_eq!(most, 192);
}

/// Attempts of the laws that were there before, on several nodes and with 3.17's checks.
#[test]
fn older_laws_on_nodes() {
    for rules in [Rules::linux_6_18(), Rules::linux_6_1(), Rules::linux_3_17()] {
        let mut bench = Bench::new(rules);
        let mut attempts: Vec<Request> = Vec::new();
        for order in [0, 1, 3] {
            for gfp in [Gfp::KERNEL, Gfp::HIGHUSER_MOVABLE, Gfp::KERNEL | Gfp::DMA32] {
                if order > 0 && gfp.contains(Gfp::DMA32) {
                    // DMA32 is to last longer than Normal.
                    continue;
                }
                let plain = Request::new(Order::of(order), gfp);
                let task = Task { mems: NodeMask(0b10), flags: TaskFlags::PIN };
                attempts.extend([plain, plain.on(NodeId(1)), plain.within(NodeMask(0b10))]);
                attempts.extend([plain.by(task), plain.within(NodeMask(0b11)).by(task)]);
                attempts.push(plain.on(NodeId(7)));
                attempts.push(Request::new(plain.order, gfp | Gfp::THISNODE).on(NodeId(1)));
            }
        }
        let mut compared = [0; 4];
        for round in 0..60 {
            for request in &attempts {
                bench.before = bench.numbers();
                let cpu = CpuId(round % 2);
                let outcome = bench.reference.alloc_pages(cpu, *request);
                let step = Step::Alloc(cpu, *request, outcome);
                let granted: Vec<_> =
                    outcome.page().map(|pfn| (pfn, request.order)).into_iter().collect();
                let now = bench.numbers();
                let laws = ["mark-respected", "no-false-failure", "higher-zone-first", "refusals"];
                for (law, compared) in laws.into_iter().zip(&mut compared) {
                    let (answer, count) = bench.judge(law, step, &granted, &now);
                    assert_eq!(answer, Ok(()));
                    *compared += count;
                }
            }
        }
        // Zones that take turns are in no order.
        let fair = rules.fair_policy != FairPolicy::None;
        assert!(fair == (compared[2] == 0), "{compared:?}");
        assert!([0, 1, 3].iter().all(|law| compared[*law] > 0), "{compared:?}");
        bench.holds("marks-even", Step::Other, &[], &bench.numbers());
        // A page of the wrong node is not respected.
        let apart = Request::new(Order::ZERO, Gfp::KERNEL | Gfp::THISNODE).on(NodeId(1));
        let outcome = Outcome::Page(Pfn(0));
        let step = Step::Alloc(CPU0, apart, outcome);
        bench.broken("mark-respected", step, &[(Pfn(0), Order::ZERO)], &bench.numbers());
    }
}
