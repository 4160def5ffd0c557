//! Playing a case under the laws.

use super::case::{Act, Case, Kind, Scan};
use super::oracle::Completeness;
use super::owner::Owner;
use crate::engine::Finding;
use crate::lawful::Exercised;
use mmspec_impl::compact::{CompactStorage, Compaction, Compactor, Goal, Run};
use mmspec_impl::platform::StdPlatform;
use mmspec_impl::{Owned, OwnedAllocator, StorageSize};
use mmspec_model::contract::{CompactResult, Request};
use mmspec_model::laws::{
    self, CompactGoal, CompactPhase, CompactPicture, CompactSeen, Live, Observation, Step, World,
};
use mmspec_model::vocab::{
    AllocFlags, CpuId, Gfp, Mark, MigrateType, NodeId, Order, Pfn, PfnRange, ZoneIdx, ZoneState,
};
use std::sync::atomic::Ordering::Relaxed;

const CPU: CpuId = CpuId(0);

/// More iterations than any run of a case needs: a pageblock takes at most as many as it has pages.
fn most_iterations(case: &Case) -> u64 {
    let frames: u64 = case.zones.iter().map(|zone| zone.end.0 - zone.start.0).sum();
    4 * frames + 64
}

/// What a case came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Played {
    /// Iterations of runs.
    pub iterations: u64,
    /// Runs that began.
    pub runs: u64,
    /// What runs found, of what they could have.
    pub completeness: Completeness,
}

struct Bench<'a> {
    case: &'a Case,
    pages: OwnedAllocator,
    state: Compaction<StdPlatform, Owned>,
    owner: Owner,
    /// Pages of no owner: captured blocks, and those of the kernel are owned.
    held: Vec<(Pfn, Order)>,
    managed: u64,
    played: Played,
    exercised: &'a mut Exercised,
}

impl World for Bench<'_> {
    fn is_managed(&self, pfn: Pfn) -> bool {
        self.case.zones.iter().any(|zone| zone.start <= pfn && pfn < zone.end)
    }

    fn managed(&self) -> u64 {
        self.managed
    }
}

/// Play `case`; laws that compared something are counted in `exercised`.
///
/// # Errors
/// The first law that broke, or what an owner complains of.
pub fn play(case: &Case, exercised: &mut Exercised) -> Result<Played, Finding> {
    let mut bench = Bench::new(case, exercised)?;
    for (at, act) in case.acts.iter().enumerate() {
        bench.act(*act).map_err(|finding| Finding { at: Some(at), ..finding })?;
    }
    Ok(bench.played)
}

fn finding(kind: &str, what: impl Into<String>) -> Finding {
    Finding { kind: kind.to_owned(), what: what.into(), at: None }
}

impl<'a> Bench<'a> {
    fn new(case: &'a Case, exercised: &'a mut Exercised) -> Result<Self, Finding> {
        case.validate().map_err(|what| finding("invalid", what))?;
        let machine = case.machine();
        let setup = |error: mmspec_impl::SetupError| finding("invalid", error.to_string());
        let pages =
            OwnedAllocator::new(machine.as_ref(), case.kernel, case.tunables()).map_err(setup)?;
        let size = StorageSize::of(&machine.as_ref());
        let state =
            Compaction::new(&size, CompactStorage::on_heap(&size), case.compact).map_err(setup)?;
        let managed = pages.managed_frames();
        let bench = Self {
            case,
            pages,
            state,
            owner: Owner::default(),
            held: Vec::new(),
            managed,
            played: Played::default(),
            exercised,
        };
        bench.fill();
        Ok(bench)
    }

    /// All frames are taken one by one, and those that are free are given back in no order.
    fn fill(&self) {
        let request = Request::new(Order::ZERO, Gfp::HIGHUSER_MOVABLE)
            .at(Mark::Min, AllocFlags::NO_WATERMARKS);
        let mut free = Vec::new();
        let kind_of = |pfn: Pfn| {
            let used = &self.case.used;
            let at = used.partition_point(|used| used.range.end <= pfn);
            used.get(at).filter(|used| used.range.start <= pfn).map(|used| used.kind)
        };
        while let Some(pfn) = self.pages.alloc_pages(CPU, request).page() {
            match kind_of(pfn) {
                Some(kind) => self.owner.add(pfn, kind),
                None => free.push(pfn),
            }
        }
        for block in &self.case.unmovable {
            if self.pages.isolate(CPU, *block, &|_| true) {
                self.pages.unisolate(CPU, *block, MigrateType::Unmovable);
            }
        }
        free.sort_by_key(|pfn| pfn.0.wrapping_mul(0xd6e8_feb8_6659_fd93));
        for pfn in free {
            self.pages.free_pages(CPU, pfn, Order::ZERO);
        }
        self.pages.drain_all(CPU, None);
        let pages = self.pages.shared();
        for block in &self.case.skips {
            self.state.set_skip_hint(pages, *block, true);
        }
        for (zone, [fast, slow, free]) in &self.case.cached {
            self.state.set_cached(ZoneIdx(*zone), [*fast, *slow], *free);
        }
    }

    fn act(&mut self, act: Act) -> Result<(), Finding> {
        match act {
            Act::Scan(scan) => self.scan(scan)?,
            Act::Flush => self.compactor().flush_node(NodeId(0)),
            Act::Drain => self.pages.drain_all(CPU, None),
            Act::Free(pfn) => self.free(pfn),
            Act::Alloc => {
                let request = Request::new(Order::ZERO, Gfp::HIGHUSER_MOVABLE);
                if let Some(pfn) = self.pages.alloc_pages(CPU, request).page() {
                    self.owner.add(pfn, Kind::Movable);
                }
            }
            Act::Range(range) => self.range(range)?,
        }
        self.complaints()
    }

    fn compactor(&self) -> Compactor<'_, StdPlatform, Owned> {
        Compactor { pages: self.pages.shared(), state: &self.state, owner: &self.owner }
    }

    fn free(&self, pfn: Pfn) {
        if self.owner.pages().remove(&pfn).is_some() {
            self.pages.free_pages(CPU, pfn, Order::ZERO);
        }
    }

    /// Whatever a range comes to, nothing is lost; what was taken is given back.
    fn range(&self, range: PfnRange) -> Result<(), Finding> {
        self.owner.signal.store(false, Relaxed);
        let taken = self.compactor().range(CPU, range, MigrateType::Movable).is_ok();
        if taken {
            for pfn in (range.start.0..range.end.0).map(Pfn) {
                if self.owner.pages().contains_key(&pfn) {
                    return Err(finding(
                        "range",
                        format!("{pfn} was taken, but a page lies there"),
                    ));
                }
                self.pages.free_pages(CPU, pfn, Order::ZERO);
            }
        }
        let held: u64 = self.held.iter().map(|(_, order)| order.pages()).sum();
        let all = self.pages.free_frames() + self.owner.homes().len() as u64 + held;
        if all != self.managed || self.owner.isolated() > 0 {
            let isolated = self.owner.isolated();
            return Err(finding(
                "range",
                format!("{all} of {} pages are there, {isolated} of them isolated", self.managed),
            ));
        }
        Ok(())
    }

    fn complaints(&self) -> Result<(), Finding> {
        match self.owner.take_wrong() {
            Some(what) => Err(finding("owner", what)),
            None => Ok(()),
        }
    }

    fn scan(&mut self, scan: Scan) -> Result<(), Finding> {
        let zone = ZoneIdx(scan.zone);
        let goal = self.goal(&scan);
        self.owner.signal.store(scan.signal == Some(0), Relaxed);
        self.owner.contended.store(scan.contended, Relaxed);
        self.owner.resched.store(scan.resched, Relaxed);
        // What ranges traced is nobody's business here.
        self.owner.take_events();
        let before = self.picture(zone, goal.order, None);
        let zone_before = self.pages.zone_state(zone);
        let could = self.played.completeness.asks(self.case, &self.owner, &zone_before, &scan);
        let begun = self.compactor().begin(CPU, zone, goal);
        let refused = begun.as_ref().err().copied();
        let mut told = Told {
            scan,
            goal,
            zone,
            iterations: 0,
            positions: None,
            fell_back: false,
            zone_before,
        };
        let now = self.picture(zone, goal.order, begun.as_ref().ok());
        self.judge(&mut told, CompactPhase::Begun(refused), &before, &now, None, None)?;
        let Ok(mut run) = begun else { return Ok(()) };
        self.played.runs += 1;
        let result = self.steps(&mut run, &mut told, now);
        // A run that broke a law gives its pages back too, so that nothing is left behind.
        let result = match result {
            Ok(result) => result,
            Err(finding) => {
                self.compactor().abandon(run);
                return Err(finding);
            }
        };
        self.owner.signal.store(false, Relaxed);
        self.played.completeness.counts(could, result);
        Ok(())
    }

    fn steps(
        &mut self,
        run: &mut Run,
        told: &mut Told,
        mut before: CompactPicture,
    ) -> Result<CompactResult, Finding> {
        let most = most_iterations(self.case);
        loop {
            let positions = self.compactor().positions(run);
            told.positions = Some(positions);
            told.zone_before = self.pages.zone_state(told.zone);
            told.iterations += 1;
            if told.scan.signal.is_some_and(|at| told.iterations >= u64::from(at)) {
                self.owner.signal.store(true, Relaxed);
            }
            let ended = self.compactor().step(run);
            self.played.iterations += 1;
            let captured = if ended.is_some() { run.take_captured() } else { None };
            if let (Some(pfn), Some(order)) = (captured, told.goal.order) {
                self.held.push((pfn, order));
            }
            self.complaints()?;
            let now = self.picture(told.zone, told.goal.order, Some(run));
            let phase = ended.map_or(CompactPhase::Stepped, CompactPhase::Ended);
            let after = self.compactor().positions(run);
            self.judge(told, phase, &before, &now, captured, Some(after))?;
            if let Some(result) = ended {
                return Ok(result);
            }
            if told.iterations > most {
                return Err(finding("endless", format!("a run goes on after {most} iterations")));
            }
            before = now;
        }
    }

    fn goal(&self, scan: &Scan) -> Goal {
        let mut flags = AllocFlags::empty();
        if scan.migratetype == MigrateType::Movable {
            flags |= AllocFlags::CMA;
        }
        Goal {
            order: scan.order,
            migratetype: scan.migratetype,
            mode: scan.mode,
            flags,
            highest: self.pages.zone_state(ZoneIdx(scan.zone)).kind,
            direct: scan.direct,
            whole_zone: scan.whole,
            ignore_skip_hint: scan.whole,
            no_set_skip_hint: scan.no_set_skip,
            ignore_block_suitable: scan.whole && scan.direct,
            ..Goal::WHOLE
        }
    }

    fn picture(&self, zone: ZoneIdx, order: Option<Order>, run: Option<&Run>) -> CompactPicture {
        let size = 1_usize << self.case.pageblock;
        let span = self.case.zones[zone.index()];
        let first = span.start.0 >> self.case.pageblock << self.case.pageblock;
        let (sources, targets) = run.map_or((0, 0), Run::isolated);
        let captured = run.and_then(Run::captured).and(order).map_or(0, Order::pages);
        CompactPicture {
            homes: self.owner.homes(),
            isolated_by_owner: self.owner.isolated(),
            sources: sources.into(),
            targets: targets.into(),
            free: self.pages.free_frames(),
            held: self.held.iter().map(|(_, order)| order.pages()).sum::<u64>() + captured,
            skips: (first..span.end.0)
                .step_by(size)
                .map(|block| self.state.skip(self.pages.shared(), Pfn(block.max(span.start.0))))
                .collect(),
            cached: {
                let state = self.state.zone_state(zone);
                [state.cached_migrate[0], state.cached_migrate[1], state.cached_free]
            },
            counters: self.state.counters(),
            scanned: run.map_or((0, 0), Run::scanned),
        }
    }

    fn judge(
        &mut self,
        told: &mut Told,
        phase: CompactPhase,
        before: &CompactPicture,
        after: &CompactPicture,
        captured: Option<Pfn>,
        positions: Option<(Pfn, Pfn)>,
    ) -> Result<(), Finding> {
        let events = self.owner.take_events();
        let seen = CompactSeen {
            rules: self.case.compact,
            kernel: self.case.kernel,
            span: self.case.zones[told.zone.index()],
            managed: self.managed,
            pageblock: 1 << self.case.pageblock,
            goal: CompactGoal {
                order: told.goal.order,
                migratetype: told.goal.migratetype,
                mode: told.goal.mode,
                direct: told.goal.direct,
                highest: told.goal.highest,
                ignore_skip_hint: told.goal.ignore_skip_hint,
                no_set_skip_hint: told.goal.no_set_skip_hint,
            },
            phase,
            iterations: told.iterations,
            events: &events,
            before,
            after,
            zone_before: &told.zone_before,
            zone: &self.pages.zone_state(told.zone),
            signal: self.owner.signal.load(Relaxed),
            contended: told.scan.contended || told.scan.resched,
            captured,
            migrate_before: told.positions.map(|(migrate, _)| migrate),
            free_before: told.positions.map(|(_, free)| free),
            positions,
            fell_back: told.fell_back,
        };
        told.fell_back = seen.has_fallen_back();
        let mut counts = Vec::new();
        let observation = Observation {
            world: &*self,
            live: &Live::default(),
            granted: &[],
            step: Step::Other,
            linux: None,
            lists: None,
            runs: None,
            compaction: Some(&seen),
            memcg: None,
            slab: None,
        };
        let mut broke = None;
        for law in laws::all().filter(|law| law.family == laws::Family::Compaction) {
            let mut count = 0;
            let verdict = law.judge(&observation, &mut count);
            counts.push((law.id, count));
            if let Err(violation) = verdict {
                broke = Some(finding(law.id, violation.to_string()));
                break;
            }
        }
        for (id, count) in counts {
            *self.exercised.entry(id).or_default() += count;
        }
        broke.map_or(Ok(()), Err)
    }
}

/// What is told of a run to the laws.
struct Told {
    scan: Scan,
    goal: Goal,
    zone: ZoneIdx,
    iterations: u64,
    positions: Option<(Pfn, Pfn)>,
    fell_back: bool,
    zone_before: ZoneState,
}
