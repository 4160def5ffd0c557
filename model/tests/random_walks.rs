//! Walks and kswapds by chance: on random machines, under every preset, with random answers and other
//! work between the steps, nothing panics, counters stay consistent, and the laws hold.

use mmspec_model::contract::{
    CompactResult, CpuCaches, CpuHotplug, KswapdReply, KswapdStep, Nodes, Observe, Outcome,
    PageAllocator, Request, SlowPath, SlowReply, SlowStep, StatWorker, Task, TaskFlags, Tuning,
};
use mmspec_model::laws::{
    self, KswapdSeen, LinuxView, Live, Numbers, Observation, Past, Setting, SlowSeen, Step,
};
use mmspec_model::reference::{Reference, SlowWalk};
use mmspec_model::vocab::{
    CpuId, FairPolicy, Gfp, Machine, NodeId, NodeMask, Order, Pfn, PfnRange, Rules, Tunables,
    ZoneIdx, ZoneKind, ZoneSpan, ZonelistOrder,
};
use std::collections::BTreeMap;

/// SplitMix64.
struct Chance(u64);

impl Chance {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % n
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize]
    }
}

fn machine(chance: &mut Chance) -> Machine {
    let nodes = 1 + chance.below(4) as u8;
    let cpus = 1 + chance.below(3) as u16;
    let mut machine = Machine::small(cpus, 64, 4, 3);
    machine.thp_order = None;
    machine.nodes = nodes;
    machine.cpu_nodes = (0..cpus).map(|_| NodeId(chance.below(nodes.into()) as u8)).collect();
    machine.cma_built = chance.one_in(4);
    machine.zones.clear();
    let mut at = 0;
    for node in 0..nodes {
        for kind in [ZoneKind::Dma, ZoneKind::Dma32, ZoneKind::Normal, ZoneKind::Movable] {
            let last = node + 1 == nodes && machine.zones.is_empty() && kind == ZoneKind::Normal;
            if last || chance.one_in(2) {
                let pages = 64 + chance.below(512);
                let span = PfnRange::new(at, at + pages);
                machine.zones.push(ZoneSpan::new(kind, span).on(NodeId(node)));
                at += pages + chance.below(20);
            }
        }
    }
    machine
}

fn rules(chance: &mut Chance) -> Rules {
    let presets = [
        Rules::linux_3_17(),
        Rules::linux_6_1(),
        Rules::linux_6_12(),
        Rules::linux_6_12_29(),
        Rules::linux_6_18(),
    ];
    let mut rules = chance.pick(&presets);
    if chance.one_in(2) {
        let fair = [FairPolicy::V3_16, FairPolicy::Draft, FairPolicy::V3_17, FairPolicy::V4_7];
        rules.fair_policy = chance.pick(&fair);
        rules.early_restart = chance.one_in(2);
        rules.retry_minds_cpuset = chance.one_in(2);
        rules.unreserve_before_oom = chance.one_in(2);
        rules.noretry_minds_skipped = chance.one_in(2);
        rules.zonelist_order = chance.pick(&[ZonelistOrder::Node, ZonelistOrder::Zone]);
        rules.kswapd_checks_low = chance.one_in(2);
    }
    rules
}

fn request(chance: &mut Chance, machine: &Machine) -> Request {
    let bases = [
        Gfp::KERNEL,
        Gfp::ATOMIC,
        Gfp::NOWAIT,
        Gfp::NOFS,
        Gfp::NOIO,
        Gfp::HIGHUSER_MOVABLE,
        Gfp::TRANSHUGE,
    ];
    let mut gfp = chance.pick(&bases);
    for extra in [
        Gfp::NORETRY,
        Gfp::RETRY_MAYFAIL,
        Gfp::NOFAIL,
        Gfp::THISNODE,
        Gfp::DMA32,
        Gfp::HIGH,
        Gfp::NOMEMALLOC,
        Gfp::MEMALLOC,
        Gfp::RECLAIMABLE,
    ] {
        if chance.one_in(8) {
            gfp |= extra;
        }
    }
    let order = if chance.one_in(2) { 0 } else { chance.below(6) as u8 };
    let mut request = Request::new(Order::of(order), gfp);
    let masks = [NodeMask::ALL, NodeMask::ALL, NodeMask(0b1), NodeMask(0b110)];
    request.nodes = chance.pick(&masks);
    let flags = TaskFlags::from_bits_truncate((chance.below(256) & chance.below(256)) as u8);
    request.task = Task { mems: chance.pick(&masks), flags };
    if chance.one_in(3) {
        request.node = Some(NodeId(chance.below(u64::from(machine.nodes) + 1) as u8));
    }
    request
}

/// A run with its memory and its walks.
struct Run {
    chance: Chance,
    r: Reference,
    setting: Setting,
    tunables: Tunables,
    past: Past,
    held: Vec<(Pfn, Order)>,
    walks: Vec<Walking>,
    daemons: Vec<(Option<KswapdReply>, u64)>,
    compared: BTreeMap<&'static str, u64>,
}

struct Walking {
    cpu: CpuId,
    request: Request,
    walk: SlowWalk,
    reply: Option<SlowReply>,
    steps: u64,
    fruitless: bool,
    begun: Numbers,
}

impl Run {
    fn cpus(&self) -> u16 {
        self.setting.machine.cpus
    }

    fn cpu(&mut self) -> CpuId {
        CpuId(self.chance.below(self.cpus().into()) as u16)
    }

    fn judge(&mut self, step: Step<'_>, granted: &[(Pfn, Order)], before: &Numbers) {
        let now = Numbers::of(&self.r, self.cpus());
        let linux = LinuxView {
            setting: &self.setting,
            tunables: &self.tunables,
            before,
            now: &now,
            past: &self.past,
            asked_before: &[],
            asked_now: &[],
        };
        let seen = Observation {
            world: &self.setting,
            live: &Live::default(),
            granted,
            step,
            linux: Some(linux),
            lists: None,
            runs: None,
            compaction: None,
            memcg: None,
            slab: None,
        };
        for law in [
            "conservation",
            "nr-free-pages",
            "diffs-add-up",
            "diff-threshold",
            "pgalloc",
            "pgfree",
            "numa-events",
            "numa-identities",
            "reserve-by-node",
            "fair-batch",
            "slow-bounded",
            "slow-events",
            "no-needless-kill",
            "kswapd-ends",
            "kswapd-target",
            "marks-even",
            "mark-respected",
            "no-false-failure",
            "higher-zone-first",
            "refusals",
        ] {
            let law = laws::by_id(law).expect("a law");
            let count = self.compared.entry(law.id).or_default();
            if let Err(violation) = law.judge(&seen, count) {
                panic!("{violation}\n{step:?}\n{:?}", self.setting.rules);
            }
        }
    }

    fn grant(&mut self, outcome: Outcome, order: Order) -> Vec<(Pfn, Order)> {
        let Some(pfn) = outcome.page() else { return Vec::new() };
        let zone = self.setting.machine.as_ref().zone_of(pfn).expect("in a zone").index();
        self.past.grants[zone] += 1;
        self.past.granted_pages[zone] += order.pages();
        self.held.push((pfn, order));
        vec![(pfn, order)]
    }

    /// Something other than the walks: they are not undisturbed any more.
    fn disturb(&mut self) {
        self.walks.iter_mut().for_each(|walk| walk.fruitless = false);
        self.daemons.iter_mut().for_each(|daemon| daemon.1 = 0);
    }

    fn alloc(&mut self) {
        self.disturb();
        let (cpu, before) = (self.cpu(), Numbers::of(&self.r, self.cpus()));
        let request = request(&mut self.chance, &self.setting.machine);
        let outcome = self.r.alloc_pages(cpu, request);
        let granted = self.grant(outcome, request.order);
        if self.r.is_online(cpu) {
            self.judge(Step::Alloc(cpu, request, outcome), &granted, &before);
        }
        if outcome == Outcome::SlowPath && self.walks.len() < 3 {
            let walk = self.r.slow_begin(cpu, request);
            let begun = Numbers::of(&self.r, self.cpus());
            let (reply, steps, fruitless) = (None, 0, true);
            self.walks.push(Walking { cpu, request, walk, reply, steps, fruitless, begun });
        }
    }

    fn free(&mut self) {
        self.disturb();
        if self.held.is_empty() {
            return;
        }
        let cpu = self.cpu();
        let at = self.chance.below(self.held.len() as u64) as usize;
        let (pfn, order) = self.held.swap_remove(at);
        let zone = self.setting.machine.as_ref().zone_of(pfn).expect("in a zone").index();
        self.past.freed_pages[zone] += order.pages();
        let before = Numbers::of(&self.r, self.cpus());
        self.r.free_pages(cpu, pfn, order);
        self.judge(Step::Free(cpu, &[(pfn, order)], false), &[], &before);
    }

    fn walk(&mut self, at: usize) {
        let before = Numbers::of(&self.r, self.cpus());
        let mut walking = self.walks.swap_remove(at);
        // One walk disturbs the others and kswapd.
        self.disturb();
        if self.chance.one_in(20) {
            let mems = NodeMask(1 + self.chance.below(15));
            self.r.slow_set_mems(&mut walking.walk, mems);
            walking.request.task.mems = mems;
            walking.fruitless = false;
        }
        let step = self.r.slow_step(&mut walking.walk, walking.reply);
        walking.steps += 1;
        let outcome = if let SlowStep::Done(outcome) = step { outcome } else { Outcome::Failed };
        let granted = self.grant(outcome, walking.request.order);
        let Walking { cpu, request, steps, fruitless, .. } = walking;
        let begun = walking.begun.clone();
        let seen = SlowSeen { cpu, request, step, steps, fruitless, begun: &begun };
        self.judge(Step::Slow(seen), &granted, &before);
        if matches!(step, SlowStep::Done(_)) {
            return;
        }
        let progress = self.chance.one_in(6);
        walking.fruitless &= !progress;
        walking.reply = Some(match step {
            SlowStep::Throttle { .. } | SlowStep::Yield | SlowStep::DrainWait => {
                SlowReply::Woken { killed: progress }
            }
            SlowStep::Reclaim { .. } => {
                let pages = if progress { 1 + self.chance.below(64) } else { 0 };
                SlowReply::Reclaimed(pages)
            }
            SlowStep::Compact { .. } => SlowReply::Compacted(if progress {
                CompactResult::Success
            } else {
                CompactResult::ALL[self.chance.below(7) as usize]
            }),
            SlowStep::OomLock => SlowReply::OomLock(!progress),
            SlowStep::OomKill { .. } => SlowReply::Killed(progress),
            SlowStep::Done(_) => return,
        });
        // A walk that may not fail is given up at some time.
        if !(walking.request.gfp.contains(Gfp::NOFAIL) && walking.steps > 100) {
            self.walks.push(walking);
        }
    }

    fn kswapd(&mut self) {
        self.walks.iter_mut().for_each(|walk| walk.fruitless = false);
        let at = self.chance.below(self.daemons.len() as u64) as usize;
        let node = NodeId(at as u8);
        let (numbers, before) = (Numbers::of(&self.r, self.cpus()), self.r.node_state(node));
        let (reply, in_vain) = self.daemons[at];
        let step = self.r.kswapd_step(node, reply);
        let now = self.r.node_state(node);
        let seen = KswapdSeen { node, step, in_vain, before, now };
        self.judge(Step::Kswapd(seen), &[], &numbers);
        let progress = self.chance.one_in(10);
        self.daemons[at] = match step {
            KswapdStep::Asleep => (None, 0),
            KswapdStep::Nap => (Some(KswapdReply::Napped { early: progress }), 0),
            KswapdStep::Shrink { target, .. } => {
                let reclaimed = u64::from(progress) * self.chance.below(40);
                let scanned = self.chance.below(2 * target);
                let in_vain = if reclaimed > 0 { 0 } else { in_vain + 1 };
                (Some(KswapdReply::Shrunk { scanned, reclaimed }), in_vain)
            }
        };
    }

    fn other(&mut self) {
        self.disturb();
        let before = Numbers::of(&self.r, self.cpus());
        let cpu = self.cpu();
        match self.chance.below(7) {
            0 | 1 => {
                self.r.tick(cpu);
            }
            2 => self.r.drain_all(cpu, None),
            3 => {
                let zone = self.chance.below(self.r.zone_count() as u64) as u8;
                let pages = self.chance.below(600);
                self.r.set_reclaimable(ZoneIdx(zone), pages);
            }
            4 => self.r.rebuild_zonelists(),
            5 => {
                let by = self.cpu();
                if !self.r.cpu_online(cpu) && self.r.is_online(by) {
                    self.r.cpu_dead(by, cpu);
                }
            }
            _ => {
                let kbytes = self.chance.below(2000) as u32;
                let tunables = Tunables { min_free_kbytes: Some(kbytes), ..self.tunables };
                self.r.set_tunables(tunables).expect("in range");
                self.tunables = tunables;
            }
        }
        self.judge(Step::Other, &[], &before);
    }
}

#[test]
fn laws_hold_by_chance() {
    let mut compared: BTreeMap<&'static str, u64> = BTreeMap::new();
    for seed in 0..150 {
        let mut chance = Chance(seed);
        let machine = machine(&mut chance);
        let rules = rules(&mut chance);
        let kbytes = Some(40 + chance.below(800) as u32);
        let tunables = Tunables { min_free_kbytes: kbytes, ..Tunables::default() };
        let r = Reference::new(&machine, rules, tunables).expect("possible");
        let boot = Numbers::of(&r, machine.cpus);
        let setting = Setting::new(&machine, rules, boot);
        let past = Past::new(machine.zones.len());
        let daemons = vec![(None, 0); usize::from(machine.nodes)];
        let mut run = Run {
            chance,
            r,
            setting,
            tunables,
            past,
            held: Vec::new(),
            walks: Vec::new(),
            daemons,
            compared: BTreeMap::new(),
        };
        for _ in 0..400 {
            let bias = run.chance.below(100);
            match bias {
                0..40 => run.alloc(),
                40..50 => run.free(),
                50..80 if !run.walks.is_empty() => {
                    let at = run.chance.below(run.walks.len() as u64) as usize;
                    // Now and then a walk goes on for long without anything between.
                    for _ in 0..if run.chance.one_in(4) { 80 } else { 1 } {
                        if run.walks.len() > at {
                            run.walk(at);
                        }
                    }
                }
                80..95 => {
                    for _ in 0..1 + run.chance.below(30) {
                        run.kswapd();
                    }
                }
                _ => run.other(),
            }
        }
        for (law, times) in run.compared {
            *compared.entry(law).or_default() += times;
        }
    }
    let never: Vec<_> = compared.iter().filter(|(_, times)| **times == 0).collect();
    assert!(never.is_empty(), "never compared: {never:?}");
}
