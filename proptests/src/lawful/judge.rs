//! One script on one allocator, every law after every operation.

use super::walks::Vain;
use crate::drive::{Answer, Call, Ledger, asked_gfp, perform};
use crate::engine::Finding;
use crate::marks::{Marks, Moment, Watcher};
use crate::script::{Op, Script};
use mmspec_model::contract::{LinuxPolicy, Outcome, Request};
use mmspec_model::laws::{
    self, Decision, Law, Level, LinuxView, Lists, Live, LiveBlock, Numbers, Observation, Past,
    Probe, Setting, Step, Violation,
};
use mmspec_model::vocab::{
    AllocFlags, Gfp, Mark, MigrateType, Order, Pfn, Tunables, ZoneIdx, ZoneKind,
};
use std::cell::Cell;
use std::collections::BTreeMap;

/// How often each law compared something.
pub type Exercised = BTreeMap<&'static str, u64>;

/// How closely to look.
#[derive(Clone, Copy, Debug)]
pub struct Depth<'a> {
    /// Look at all lists after this many operations.
    pub lists_every: usize,
    /// Ask watermark questions after this many operations.
    pub probe_every: usize,
    /// The levels to ask for.
    pub levels: &'a [Level],
    /// Follows the position, so that it is known after a panic.
    pub position: Option<&'a Cell<usize>>,
}

impl Default for Depth<'_> {
    fn default() -> Self {
        Self { lists_every: 16, probe_every: 8, levels: &Level::ALL, position: None }
    }
}

/// A law that broke, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Broke {
    /// The law and what it saw.
    pub violation: Violation,
    /// After this operation; `None` when all was given back at the end.
    pub at: Option<usize>,
}

impl Broke {
    /// As a finding.
    #[must_use]
    pub fn finding(&self) -> Finding {
        Finding {
            kind: self.violation.law.to_owned(),
            what: self.violation.to_string(),
            at: self.at,
        }
    }
}

/// Run `script` and judge; the number of operations that made a call.
///
/// # Errors
/// The first law that broke.
pub fn judge<A: LinuxPolicy>(
    script: &Script,
    allocator: &mut A,
    depth: Depth<'_>,
    exercised: &mut Exercised,
    marks: Option<&mut Marks>,
) -> Result<u64, Broke> {
    let boot = Numbers::of(allocator, script.machine.cpus);
    let mut bench = Bench {
        script,
        setting: Setting::new(&script.machine, script.rules, boot.clone()),
        tunables: script.tunables,
        live: Live::default(),
        before: Numbers::default(),
        past: Past::new(boot.zones.len()),
        now: boot,
        vain: Vain::default(),
        asked: Vec::new(),
        depth,
        laws: laws::all().filter(|law| depth.levels.contains(&law.level)).collect(),
        exercised,
    };
    bench.run(allocator, marks)
}

pub(super) struct Bench<'a> {
    script: &'a Script,
    setting: Setting,
    tunables: Tunables,
    live: Live,
    pub(super) before: Numbers,
    pub(super) now: Numbers,
    pub(super) vain: Vain,
    past: Past,
    asked: Vec<Decision>,
    depth: Depth<'a>,
    laws: Vec<&'static Law>,
    exercised: &'a mut Exercised,
}

impl Bench<'_> {
    fn run<A: LinuxPolicy>(
        &mut self,
        allocator: &mut A,
        mut marks: Option<&mut Marks>,
    ) -> Result<u64, Broke> {
        let mut watcher = marks.as_deref_mut().map(|marks| Watcher::new(&self.setting, marks));
        let mut ledger = Ledger::new(self.script);
        let mut operations = 0;
        for (at, op) in self.script.ops.iter().enumerate() {
            if let Some(position) = self.depth.position {
                position.set(at);
            }
            let call = ledger.call(op);
            if call == Call::Skip {
                continue;
            }
            operations += 1;
            if !matches!(call, Call::Kswapd(..)) {
                self.vain = Vain::default();
            }
            let answer = match &call {
                Call::Slow(cpu, request, replies) => {
                    self.walk(allocator, at, (*cpu, *request), replies)?
                }
                Call::Kswapd(node, reply) => self.kswapd(allocator, at, *node, *reply)?,
                _ => perform(allocator, &call, &ledger),
            };
            let freed = self.note_frees(&call);
            ledger.record(op, &call, &answer);
            // Those were looked at and judged step by step.
            let stepped = matches!(answer, Answer::Walk(..) | Answer::Kswapd(..));
            if !stepped {
                self.look(allocator);
            }
            if let (Some(marks), Some(watcher)) = (marks.as_deref_mut(), &mut watcher) {
                let moment = Moment {
                    setting: &self.setting,
                    before: &self.before,
                    now: &self.now,
                    call: &call,
                    answer: &answer,
                    held: ledger.frames(),
                    type_of: &|pfn| allocator.pageblock_type(pfn),
                };
                watcher.watch(marks, &moment);
            }
            if !stepped {
                self.after(allocator, Some(at), op, &call, &answer, &freed)?;
            }
            self.drain_again(allocator, at, &call, &ledger)?;
        }
        self.empty(allocator, &ledger)?;
        Ok(operations)
    }

    pub(super) fn look<A: LinuxPolicy>(&mut self, allocator: &A) {
        std::mem::swap(&mut self.before, &mut self.now);
        self.now.update(allocator, self.script.machine.cpus);
    }

    fn zone_of(&self, pfn: Pfn) -> Option<usize> {
        self.setting.machine.as_ref().zone_of(pfn).map(ZoneIdx::index)
    }

    fn note_frees(&mut self, call: &Call) -> Vec<(Pfn, Order)> {
        let freed = match call {
            Call::Free(_, pfn, order) => vec![(*pfn, *order)],
            Call::FreeBatch(_, blocks) => blocks.clone(),
            _ => Vec::new(),
        };
        for (pfn, order) in &freed {
            self.live.remove(*pfn);
            if let Some(zone) = self.zone_of(*pfn) {
                self.past.freed_pages[zone] += order.pages();
            }
        }
        freed
    }

    /// What an attempt or a step of a walk came to: booked, judged, owned.
    pub(super) fn hand_out(
        &mut self,
        call: &Call,
        answer: &Answer,
        outcome: Outcome,
        request: Request,
        step: Step<'_>,
        at: usize,
    ) -> Result<(), Broke> {
        let page = outcome.page().map(|pfn| (pfn, request.order));
        let granted: Vec<(Pfn, Order)> = page.into_iter().collect();
        self.note(call, answer, &granted);
        self.judge(step, &granted, None, &[], Some(at), true)?;
        if let Some((pfn, order)) = page {
            let movable = asked_gfp(&request).migratetype() == Ok(MigrateType::Movable);
            self.live.insert(pfn, LiveBlock { order, movable });
        }
        self.asked.clear();
        Ok(())
    }

    /// What the operation handed out.
    fn granted(op: &Op, answer: &Answer) -> Vec<(Pfn, Order)> {
        match (op, answer) {
            (Op::Alloc { request, .. }, Answer::Outcome(Outcome::Page(pfn))) => {
                vec![(*pfn, request.order)]
            }
            (Op::Slow { request, .. }, Answer::Walk(_, Outcome::Page(pfn))) => {
                vec![(*pfn, request.order)]
            }
            (Op::TakeOff { pfn, .. }, Answer::Flag(true)) => vec![(*pfn, Order::ZERO)],
            (Op::Bulk { .. }, Answer::Bulk(slots, _)) => {
                slots.iter().flatten().map(|pfn| (*pfn, Order::ZERO)).collect()
            }
            _ => Vec::new(),
        }
    }

    fn note(&mut self, call: &Call, answer: &Answer, granted: &[(Pfn, Order)]) {
        for (pfn, order) in granted {
            let Some(zone) = self.zone_of(*pfn) else { continue };
            if matches!(call, Call::TakeOff(..)) {
                self.past.taken_pages[zone] += order.pages();
            } else {
                self.past.grants[zone] += 1;
                self.past.granted_pages[zone] += order.pages();
            }
        }
        match (call, answer) {
            (Call::Set(tunables), Answer::Set(Ok(()))) => self.tunables = *tunables,
            (Call::PcpDisable(_, zone), _) => self.past.disabled[zone.index()] = true,
            (Call::PcpEnable(zone), _) => self.past.disabled[zone.index()] = false,
            (Call::Isolate(..) | Call::Unisolate(..), Answer::Flag(true)) => {
                self.past.isolated = true;
            }
            (Call::Unreserve(..), Answer::Flag(true)) => self.past.highatomic = true,
            _ => {}
        }
        let reserved = |numbers: &Numbers| {
            numbers.zones.iter().map(|zone| zone.nr_reserved_highatomic).sum::<u64>()
        };
        if reserved(&self.now) != reserved(&self.before) {
            self.past.highatomic = true;
        }
    }

    fn after<A: LinuxPolicy>(
        &mut self,
        allocator: &A,
        at: Option<usize>,
        op: &Op,
        call: &Call,
        answer: &Answer,
        freed: &[(Pfn, Order)],
    ) -> Result<(), Broke> {
        let granted = Self::granted(op, answer);
        self.note(call, answer, &granted);
        let step = match (call, answer) {
            (Call::Alloc(cpu, request), Answer::Outcome(outcome)) => {
                Step::Alloc(*cpu, *request, *outcome)
            }
            (Call::Bulk(cpu, gfp, _), Answer::Bulk(slots, returned)) => {
                Step::Bulk(*cpu, *gfp, slots, *returned)
            }
            (Call::Free(cpu, ..), _) => Step::Free(*cpu, freed, false),
            (Call::FreeBatch(cpu, _), _) => Step::Free(*cpu, freed, true),
            (Call::DrainCpu(_, cpu), _) => Step::DrainCpu(*cpu),
            (Call::DrainAll(_, zone), _) => Step::DrainAll(*zone),
            (Call::DrainBegin(_, zone), Answer::Begun(begun)) => Step::DrainBegin(*zone, *begun),
            (Call::Work(cpu), Answer::Flag(worked)) => Step::Work(*cpu, *worked),
            (Call::PcpDisable(_, zone), _) => Step::PcpDisable(*zone),
            (Call::Tick(cpu), _) => Step::Tick(*cpu),
            (Call::Set(_), _) => Step::Set,
            (Call::Check(probe), Answer::Checks(full, fast)) => {
                Step::Check(Decision { probe: *probe, full: *full, fast: *fast })
            }
            _ => Step::Other,
        };
        let position = at.unwrap_or(0);
        let asked_now = if position.is_multiple_of(self.depth.probe_every) {
            self.asked.clear();
            self.ask(allocator, &self.questions(position))
        } else if !self.asked.is_empty() {
            let again: Vec<Probe> = self.asked.iter().map(|asked| asked.probe).collect();
            self.ask(allocator, &again)
        } else {
            Vec::new()
        };
        self.judge(step, &granted, None, &asked_now, at, true)?;
        for (pfn, order) in granted {
            let movable = match op {
                Op::Alloc { request, .. } | Op::Slow { request, .. } => asked_gfp(request),
                Op::Bulk { gfp, .. } => *gfp,
                Op::TakeOff { .. } => Gfp::KERNEL,
                _ => continue,
            };
            let movable = movable.migratetype() == Ok(MigrateType::Movable);
            self.live.insert(pfn, LiveBlock { order, movable });
        }
        // A question is asked again after the next operation only.
        let fresh = self.asked.is_empty();
        self.asked = if fresh { asked_now } else { Vec::new() };
        if position.is_multiple_of(self.depth.lists_every) {
            let lists = Lists::of(allocator, &self.script.machine);
            self.judge(Step::Other, &[], Some(&lists), &[], at, false)?;
        }
        Ok(())
    }

    /// A few questions, others at each turn; all of them if they are asked at every turn, so that
    /// shrinking is not bound to positions.
    fn questions(&self, position: usize) -> Vec<Probe> {
        if self.depth.probe_every > 1 {
            return questions(self.script, position);
        }
        (0..TURNS).step_by(8).flat_map(|turn| questions(self.script, turn)).collect()
    }

    fn ask<A: LinuxPolicy>(&self, allocator: &A, probes: &[Probe]) -> Vec<Decision> {
        let decide = |probe: &Probe| {
            let Probe { zone, order, mark, highest, flags, gfp } = *probe;
            let full = allocator.watermark_ok(zone, order, mark, highest, flags);
            let fast = allocator.watermark_fast(zone, order, mark, highest, flags, gfp);
            Decision { probe: *probe, full, fast }
        };
        probes.iter().map(decide).collect()
    }

    /// `moved`: the numbers before and now are those around a step; else both are now.
    pub(super) fn judge(
        &mut self,
        step: Step<'_>,
        granted: &[(Pfn, Order)],
        lists: Option<&Lists>,
        asked_now: &[Decision],
        at: Option<usize>,
        moved: bool,
    ) -> Result<(), Broke> {
        let observation = Observation {
            world: &self.setting,
            live: &self.live,
            granted,
            step,
            linux: Some(LinuxView {
                setting: &self.setting,
                tunables: &self.tunables,
                before: if moved { &self.before } else { &self.now },
                now: &self.now,
                past: &self.past,
                asked_before: &self.asked,
                asked_now,
            }),
            lists,
            runs: None,
            compaction: None,
            memcg: None,
            slab: None,
        };
        for law in &self.laws {
            let count = self.exercised.entry(law.id).or_default();
            law.judge(&observation, count).map_err(|violation| Broke { violation, at })?;
        }
        Ok(())
    }

    /// The second drain of drain . drain = drain: it changes nothing, so the script is not
    /// disturbed.
    fn drain_again<A: LinuxPolicy>(
        &mut self,
        allocator: &mut A,
        at: usize,
        call: &Call,
        ledger: &Ledger,
    ) -> Result<(), Broke> {
        if !matches!(call, Call::DrainCpu(..) | Call::DrainAll(..)) {
            return Ok(());
        }
        perform(allocator, call, ledger);
        self.look(allocator);
        self.judge(Step::DrainAgain, &[], None, &[], Some(at), true)
    }

    /// Give everything back, drain, and look at everything.
    fn empty<A: LinuxPolicy>(&mut self, allocator: &mut A, ledger: &Ledger) -> Result<(), Broke> {
        let by = ledger.any_cpu();
        allocator.run_all_work();
        for zone in 0..self.now.zones.len() {
            allocator.pcp_enable(ZoneIdx(zone as u8));
            self.past.disabled[zone] = false;
        }
        for (_, held) in ledger.all() {
            allocator.free_pages(by, held.pfn, held.order);
            self.note_frees(&Call::Free(by, held.pfn, held.order));
        }
        for cpu in self.script.machine.as_ref().cpu_ids() {
            allocator.drain_cpu(by, cpu);
        }
        self.look(allocator);
        let lists = Lists::of(allocator, &self.script.machine);
        self.judge(Step::Emptied, &[], Some(&lists), &[], None, false)
    }
}

/// Turns after which questions have met most combinations.
const TURNS: usize = 8 * 36;

/// A few watermark questions of which some ask less than others.
fn questions(script: &Script, turn: usize) -> Vec<Probe> {
    const FLAGS: [AllocFlags; 6] = [
        AllocFlags::empty(),
        AllocFlags::MIN_RESERVE,
        AllocFlags::MIN_RESERVE.union(AllocFlags::NON_BLOCK),
        AllocFlags::OOM,
        AllocFlags::HIGHATOMIC,
        AllocFlags::CMA,
    ];
    let zones = script.machine.zones.len();
    let zone = ZoneIdx((turn / 8 % zones) as u8);
    let top = script.machine.max_order;
    let order = Order::of((turn / 8 % (top.index() + 1)) as u8);
    let mark = Mark::ALL[turn / 16 % 4];
    let lower = Mark::ALL[(turn / 16 % 4).saturating_sub(1)];
    let flags = FLAGS[turn / 24 % FLAGS.len()];
    let highest = [ZoneKind::Normal, ZoneKind::Movable][turn / 8 % 2];
    let ask = |order, mark, flags| Probe {
        zone,
        order,
        mark,
        highest,
        flags,
        gfp: crate::drive::check_gfp(flags),
    };
    vec![
        ask(order, mark, AllocFlags::empty()),
        ask(order, mark, flags),
        ask(Order::ZERO, mark, AllocFlags::empty()),
        ask(Order::ZERO, lower, flags),
    ]
}
