//! The trace engine of a check run: scripts played on the reference and on the implementation, recorded
//! as a kernel would record them, and explained.
//!
//! Reference and knowledge share the rules' arithmetic and nothing else, so a contradiction is an error in
//! one of them, in the reader, or in the tracepoints; the implementation shares nothing with either. What the kernel does unseen (bulk allocations,
//! frees past a busy list, isolation) is left out of the scripts: there is nothing left to infer, and
//! every event must be predicted or undecidable.

use super::engine::{Beginning, explain_from};
use super::reader::Reader;
use super::render::Line;
use super::report::{Kind, Report};
use super::traced::{Recording, Traced};
use crate::drive::{Ledger, perform};
use crate::engine::{Config, EngineReport, Failure, Finding};
use crate::generate::{self, Rng};
use crate::script::{Op, Script};
use crate::shrink;
use mmspec_impl::OwnedAllocator;
use mmspec_model::contract::Observe;
use mmspec_model::knowledge::{Shape, TypeSet};
use mmspec_model::laws::{Numbers, Setting};
use mmspec_model::reference::Reference;
use mmspec_model::reference::pcp::PcpSizes;
use mmspec_model::vocab::{
    AllocFlags, CpuId, Gfp, MigrateType, Order, Pfn, PfnRange, ZoneIdx, ZoneName,
};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// A script's trace: lines, and the frames that were free before.
#[derive(Clone)]
struct Recorded {
    lines: Vec<Line>,
    free: BTreeSet<Pfn>,
    shape: Shape,
    /// The numbers of the per-CPU lists at the start by zone and CPU; none if an operation of the
    /// script changes their limits, which no event shows.
    sizes: Vec<Vec<PcpSizes>>,
    /// HIGH of each zone with the most boost.
    high: Vec<u64>,
}

/// Run generated scripts within the budget, then the canaries.
pub fn run(config: &Config<'_>) -> EngineReport {
    let mut report = EngineReport::new("trace");
    let mut clock = config.clock("trace");
    let mut recorded = Vec::new();
    while clock.goes_on(report.cases, report.operations) {
        let case = report.cases;
        report.cases += 1;
        let script = generate::script(&mut Rng::for_case(config.seed, case), &config.limits);
        match check_both(&script) {
            Ok(events) => report.operations += events,
            Err(finding) => {
                report.failures.push(shrunk(config, case, &script, finding));
                if report.failures.len() >= config.failures {
                    break;
                }
            }
        }
        let sized =
            recorded.iter().filter(|recorded: &&Recorded| !recorded.sizes.is_empty()).count();
        if recorded.len() < CANARY_CASES {
            recorded.extend(record::<Reference>(&script));
        } else if sized < CANARY_CASES / 2 {
            let more = record::<Reference>(&script);
            recorded.extend(more.filter(|recorded| !recorded.sizes.is_empty()));
        }
    }
    report.cancelled = clock.cancelled();
    // A cut run misses no canary.
    let tried = if report.cancelled { &[] } else { CANARIES.as_slice() };
    for canary in tried {
        report.canary(canary.name, recorded.iter().any(|recorded| canary.is_found(recorded)));
    }
    report.seconds = clock.seconds();
    report
}

/// The same script without what a kernel's trace does not show: bulk allocations, faults injected
/// into locks, isolation, CMA, reserves, and frame 0, which the trace prints for "no page".
fn traceable(mut script: Script) -> Script {
    script.machine.cma.clear();
    script.machine.cma_built = false;
    script.machine.reserved.push(PfnRange::new(0, 1));
    // Merges across pageblocks of different types leave types behind that knowledge follows only as
    // far as the kernel's own sizes need (blocks of two pageblocks); recordings cover those.
    script.machine.pageblock_order = script.machine.max_order;
    script.ops.retain(|op| match op {
        Op::Alloc { request, .. } => {
            !request.attempt.is_some_and(|(_, flags)| flags.contains(AllocFlags::HIGHATOMIC))
        }
        // A walk that cannot wait reserves pageblocks.
        Op::Slow { request, .. } => {
            request.order == Order::ZERO || request.gfp.contains(Gfp::DIRECT_RECLAIM)
        }
        Op::Bulk { .. }
        | Op::FailTrylock { .. }
        | Op::Isolate { .. }
        | Op::Unisolate { .. }
        | Op::TakeOff { .. }
        | Op::Unreserve { .. }
        | Op::CpuDead { .. } => false,
        _ => true,
    });
    script
}

fn check_both(script: &Script) -> Result<u64, Finding> {
    Ok(check::<Reference>(script)? + check::<OwnedAllocator<Recording>>(script)?)
}

/// Play, record, explain. The number of events, or what is wrong.
fn check<A: Traced>(script: &Script) -> Result<u64, Finding> {
    let Some(recorded) = record::<A>(script) else { return Ok(0) };
    let report = explain(&recorded, &text(&recorded.lines))?;
    let Some(first) = report.unexplained.first() else {
        return Ok(report.events);
    };
    let contradicted = Kind::ALL.into_iter().find(|kind| report.kind(*kind).contradicted > 0);
    Err(Finding {
        kind: format!("trace-{}", contradicted.map_or("ownership", Kind::name)),
        what: format!(
            "{}: expected {}, seen {} (line {} of its trace)",
            first.rule, first.expected, first.seen, first.line
        ),
        at: None,
    })
}

fn explain(recorded: &Recorded, text: &str) -> Result<Report, Finding> {
    let reader = Reader::new(text.as_bytes(), "trace of a script");
    let beginning = Beginning {
        shape: recorded.shape.clone(),
        is_free: &|pfn| recorded.free.contains(&pfn),
        sizes: &recorded.sizes,
        high: &recorded.high,
    };
    explain_from(reader, &beginning).map_err(|error| Finding {
        kind: "trace-unreadable".to_owned(),
        what: error.to_string(),
        at: None,
    })
}

fn text(lines: &[Line]) -> String {
    lines.iter().fold(String::new(), |mut text, line| {
        let _ = writeln!(text, "{line}");
        text
    })
}

/// Play a script on an allocator; at its end everything is freed, so that every inference can be
/// proved. `None` if the machine can't exist, does not group by mobility, or nothing was traced.
fn record<A: Traced>(script: &Script) -> Option<Recorded> {
    let script = &traceable(script.clone());
    let machine = &script.machine;
    let mut allocator = A::boot(script)?;
    let boot = Numbers::of(&allocator, machine.cpus);
    if !Setting::new(machine, script.rules, boot).groups_by_mobility() {
        return None;
    }
    let free = free_frames(&allocator);
    let high = zones(&allocator).map(|z| high_at_most(&allocator, script, z)).collect();
    let sizes = if script.ops.iter().any(changes_limits) {
        Vec::new()
    } else {
        zones(&allocator).map(|z| sizes_at_start(&allocator, script, z)).collect()
    };
    let mut ledger = Ledger::new(script);
    let mut lines = Lines::default();
    for (at, op) in script.ops.iter().enumerate() {
        let worker = matches!(op, Op::Tick { .. });
        lines.time_us += if worker { 1_000_000 } else { 0 };
        let call = ledger.call(op);
        let answer = perform(&mut allocator, &call, &ledger);
        ledger.record(op, &call, &answer);
        lines.collect(&mut allocator, op.cpu().unwrap_or_default(), at, worker);
    }
    let held: Vec<(Pfn, Order)> = ledger.all().map(|(_, held)| (held.pfn, held.order)).collect();
    let cpu = ledger.any_cpu();
    for (at, (pfn, order)) in held.into_iter().enumerate() {
        allocator.free_pages(cpu, pfn, order);
        lines.collect(&mut allocator, cpu, script.ops.len() + at, false);
    }
    let lines = lines.lines;
    let shape = Shape {
        rules: script.rules,
        max_order: machine.max_order,
        pageblock_order: machine.pageblock_order,
        thp_order: machine.thp_order,
        zones: machine
            .zones
            .iter()
            .map(|zone| (ZoneName { node: zone.node, kind: zone.kind }, zone.span))
            .collect(),
        cpus: usize::from(machine.cpus),
        types: TypeSet::PCP,
    };
    (!lines.is_empty()).then_some(Recorded { lines, free, shape, sizes, high })
}

/// The trace so far. A microsecond passes with each event, a second before each run of the periodic
/// worker.
#[derive(Default)]
struct Lines {
    lines: Vec<Line>,
    time_us: u64,
}

impl Lines {
    /// Each operation is a task of its own: what belongs together is told by that.
    fn collect(&mut self, allocator: &mut impl Traced, cpu: CpuId, task: usize, worker: bool) {
        for event in allocator.take_events() {
            self.time_us += 1;
            let (pid, time_us) = (1000 + task as u32, 1_000_000 + self.time_us);
            self.lines.push(Line { cpu: cpu.0, pid, worker, time_us, event });
        }
    }
}

/// Operations that move the limits of the per-CPU lists, or a flag that they go by: a request of
/// several pages that finds no block sets the zone's "below HIGH" however much is free.
fn changes_limits(op: &Op) -> bool {
    if let Op::Alloc { request, .. } | Op::Slow { request, .. } = op {
        return request.order > Order::ZERO;
    }
    matches!(
        op,
        Op::Set { .. }
            | Op::ReclaimActive { .. }
            | Op::PcpDisable { .. }
            | Op::PcpEnable { .. }
            | Op::Kswapd { .. }
            | Op::CpuOnline { .. }
    )
}

/// So many free pages are above HIGH with the most boost (§1.14), the reserve, and what the CPUs' diffs
/// may hide.
fn high_at_most(allocator: &impl Observe, script: &Script, zone: ZoneIdx) -> u64 {
    let state = allocator.zone_state(zone);
    let high = state.marks[2];
    let boost = high * u64::from(script.tunables.watermark_boost_factor) / 10_000;
    let hidden = state.stat_threshold * u64::from(script.machine.cpus);
    let reserve = state.lowmem_reserve.into_iter().max().unwrap_or(0);
    high + boost.max(script.machine.pageblock_order.pages()) + reserve + hidden
}

fn sizes_at_start(allocator: &impl Observe, script: &Script, zone: ZoneIdx) -> Vec<PcpSizes> {
    let of = |cpu| {
        let state = allocator.pcp_state(CpuId(cpu), zone);
        PcpSizes {
            count: state.count,
            high: state.high,
            high_min: state.high_min,
            high_max: state.high_max,
            batch: state.batch,
            flags: state.flags,
            alloc_factor: state.alloc_factor,
            free_factor: state.free_factor,
            free_count: state.free_count,
            scale_max: script.tunables.pcp_batch_scale_max,
        }
    };
    (0..script.machine.cpus).map(of).collect()
}

fn zones<A: Observe>(allocator: &A) -> impl Iterator<Item = ZoneIdx> + use<A> {
    (0..allocator.zone_count()).map(|z| ZoneIdx(z as u8))
}

fn free_frames(allocator: &impl Observe) -> BTreeSet<Pfn> {
    let mut free = BTreeSet::new();
    for zone in zones(allocator) {
        for order in Order::ZERO.up_to(Order::MAX) {
            for migratetype in MigrateType::ALL {
                allocator.for_each_free(zone, order, migratetype, &mut |pfn| {
                    free.extend((0..order.pages()).map(|offset| pfn.add(offset)));
                });
            }
        }
    }
    free
}

fn shrunk(config: &Config<'_>, case: u64, script: &Script, finding: Finding) -> Failure {
    let same = |script: &Script| check_both(script).is_err_and(|other| other.kind == finding.kind);
    let small = shrink::shrink(script, config.shrink_runs, same);
    let finding = check_both(&small).err().unwrap_or(finding);
    Failure {
        engine: "trace",
        finding,
        script: small,
        schedule: None,
        own: None,
        seed: config.seed,
        case,
        operations_before: script.ops.len(),
        file: None,
    }
}

/// Recordings on which each canary is tried.
const CANARY_CASES: usize = 40;

/// A planted fault in a kernel: its trace must be contradicted.
struct Canary {
    name: &'static str,
    /// Changes the trace, or what is said of its beginning, if there is something to change.
    plant: fn(&mut Recorded) -> Option<()>,
}

impl Canary {
    fn is_found(&self, recorded: &Recorded) -> bool {
        let mut changed = recorded.clone();
        (self.plant)(&mut changed).is_some()
            && explain(&changed, &text(&changed.lines)).is_ok_and(|report| !report.is_consistent())
    }
}

const CANARIES: [Canary; 5] = [
    Canary { name: "trace-double-handout", plant: planted::double_handout },
    Canary { name: "trace-other-block", plant: planted::other_block },
    Canary { name: "trace-drains-from-head", plant: planted::reversed_drain },
    Canary { name: "trace-lost-free", plant: planted::lost_free },
    Canary { name: "trace-other-batch", plant: planted::other_batch },
];

mod planted {
    use super::{Line, Recorded};
    use mmspec_model::vocab::KmemEvent;

    /// Exchange the two neighbours that `pick` finds last.
    fn exchange(recorded: &mut Recorded, pick: impl Fn(&Line, &Line) -> bool) -> Option<()> {
        let lines = &mut recorded.lines;
        let at = lines.windows(2).rposition(|pair| pick(&pair[0], &pair[1]))?;
        let event = lines[at].event;
        lines[at].event = lines[at + 1].event;
        lines[at + 1].event = event;
        Some(())
    }

    /// A page is handed out twice.
    pub(super) fn double_handout(recorded: &mut Recorded) -> Option<()> {
        let same = |pair: &[Line]| match (pair[0].event, pair[1].event) {
            (KmemEvent::PageAlloc { pfn: Some(_), .. }, KmemEvent::PageAlloc { pfn, .. }) => {
                pfn.is_some()
            }
            _ => false,
        };
        let at = recorded.lines.windows(2).rposition(same)?;
        recorded.lines[at + 1].event = recorded.lines[at].event;
        Some(())
    }

    /// A refill takes the second block before the first.
    pub(super) fn other_block(recorded: &mut Recorded) -> Option<()> {
        exchange(recorded, |a, b| match (a.event, b.event) {
            (
                KmemEvent::ZoneLocked { order: o, migratetype: m, .. },
                KmemEvent::ZoneLocked { order, migratetype, .. },
            ) => (a.cpu, o, m) == (b.cpu, order, migratetype),
            _ => false,
        })
    }

    /// Two pages are drained in the wrong order.
    pub(super) fn reversed_drain(recorded: &mut Recorded) -> Option<()> {
        exchange(recorded, |a, b| {
            matches!(
                (a.event, b.event),
                (KmemEvent::PcpuDrain { order: o, .. }, KmemEvent::PcpuDrain { order, .. })
                    if o == order
            )
        })
    }

    /// A page is handed out again that was never freed.
    pub(super) fn lost_free(recorded: &mut Recorded) -> Option<()> {
        let is_free = |line: &Line| matches!(line.event, KmemEvent::PageFree { .. });
        let at = recorded.lines.iter().position(is_free)?;
        recorded.lines.remove(at);
        Some(())
    }

    /// Refills are smaller than the batch says.
    pub(super) fn other_batch(recorded: &mut Recorded) -> Option<()> {
        recorded.sizes.first()?;
        recorded.sizes.iter_mut().flatten().for_each(|sizes| sizes.batch += 3);
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Folder;

    /// Kept scripts are played as traces too: what once was explained wrongly is among them.
    #[test]
    fn traces_of_kept_scripts_are_explained() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/regressions");
        let mut events = 0;
        for (path, script) in Folder::new(folder).scripts().unwrap() {
            events += check_both(&script)
                .unwrap_or_else(|finding| panic!("{}: {}", path.display(), finding.what));
        }
        assert!(events > 200, "{events} events");
    }
}
