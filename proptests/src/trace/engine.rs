//! The run over one trace.

use super::error::{TraceError, TraceErrorKind};
use super::event::{Payload, TraceEvent};
use super::folder::{Snapshot, rules_of};
use super::proofs::Inference;
use super::reader::{Reader, open};
use super::report::{Kind, Report, Verdict};
use super::sizes::Sizes;
use super::window::Window;
use mmspec_model::knowledge::{Knowledge, Shape, TypeSet};
use mmspec_model::vocab::{KmemEvent, MigrateType, Order, Pfn, PfnRange, Rules, ZoneKind};
use std::io::BufRead;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// How to read a recording.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Folder of the snapshot before; the trace's own folder if not given.
    pub before: Option<PathBuf>,
    /// Folder of the snapshot after; the trace's own folder if not given.
    pub after: Option<PathBuf>,
    /// The rules; those of the release in `kernel.txt` beside the trace if not given.
    pub rules: Option<Rules>,
}

/// What the events say of the kernel's counters.
#[derive(Clone, Debug, Default)]
pub(super) struct Moved {
    /// Pages handed out, by zone; untraced hand-outs that were inferred included.
    pub(super) alloc: Vec<u64>,
    /// Hand-outs; each page of an untraced one counts, as those of a bulk allocation do.
    pub(super) operations: u64,
    /// Pages freed.
    pub(super) free: u64,
}

/// What one CPU is doing.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CpuState {
    /// It takes blocks under one hold of the zone lock.
    pub(super) taking: Option<Taking>,
    /// It drains a per-CPU list: whose, in which zone, which list.
    pub(super) draining: Option<(usize, usize, usize)>,
    /// The page that it put on its own lists with its last event, and the task that did.
    pub(super) committed: Option<(usize, Pfn, u32)>,
    /// The run of takes or drains that it is in the middle of, for the amounts.
    pub(super) amount: Amount,
    /// The refill before this event noted the allocation at hand.
    pub(super) noted: bool,
    /// Microseconds within a second at which its periodic worker runs.
    pub(super) tick_phase: Option<u64>,
    /// Time until which runs of the worker are allowed for.
    pub(super) ticked_until: u64,
    /// It has shown an event since the start.
    seen: bool,
}

/// An amount that is complete when the CPU's next event is another one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Amount {
    /// None.
    #[default]
    None,
    /// A refill: its zone, order and type, its first block, and how many blocks came.
    Refill(Taking, Pfn, u64),
    /// A free to the lists: zone, order, pages drained after it, and the last one's size.
    Free(usize, Order, u64, u64),
    /// The periodic worker's drain: zone and pages.
    Tick(usize, u64),
}

/// A run of takes by one CPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Taking {
    pub(super) z: usize,
    pub(super) order: Order,
    pub(super) migratetype: MigrateType,
    /// They go to a per-CPU list.
    pub(super) refill: bool,
}

/// The state of a run.
pub(super) struct Engine<'a> {
    pub(super) k: Knowledge,
    pub(super) report: Report,
    pub(super) cpus: Vec<CpuState>,
    pub(super) inferences: Vec<Inference>,
    /// Pages and operations that moved the kernel's counters.
    pub(super) moved: Moved,
    /// The numbers of each CPU's lists, by zone and CPU.
    pub(super) sizes: Vec<Vec<Sizes>>,
    /// Line of the event at hand.
    pub(super) line: u64,
    /// Its task.
    pub(super) pid: u32,
    /// The task is a kernel worker.
    pub(super) in_worker: bool,
    /// Events were overwritten before the first one of each CPU.
    lost_at_start: bool,
    cancel: &'a AtomicBool,
}

/// Explain the trace at `path`.
///
/// # Errors
/// The trace or a snapshot can't be read or is damaged.
pub fn explain(
    path: &Path,
    options: &Options,
    cancel: &AtomicBool,
    progress: &mut dyn FnMut(u64),
) -> Result<Report, TraceError> {
    let beside = path.parent().unwrap_or(Path::new("."));
    let before = Snapshot::load(options.before.as_deref().unwrap_or(beside), "before")?;
    let after = Snapshot::load(options.after.as_deref().unwrap_or(beside), "after")?;
    let rules = match options.rules {
        Some(rules) => rules,
        None => rules_of(beside)?.unwrap_or_default(),
    };
    explain_reader(open(path)?, &before, &after, rules, cancel, progress)
}

/// Explain the trace that `reader` gives. `progress` is called now and then with the number of
/// events read.
///
/// # Errors
/// The trace can't be read, is damaged, or the snapshot before lacks zoneinfo.
pub fn explain_reader<R: BufRead>(
    reader: Reader<R>,
    before: &Snapshot,
    after: &Snapshot,
    rules: Rules,
    cancel: &AtomicBool,
    progress: &mut dyn FnMut(u64),
) -> Result<Report, TraceError> {
    let no_zones = || TraceError::new(reader.file(), None, TraceErrorKind::NoZoneinfo);
    let shape = shape_of(before, rules).or_else(|| shape_of(after, rules)).ok_or_else(no_zones)?;
    let (cpus, zones) = (shape.cpus, shape.zones.len());
    let mut window = Window::new(reader);
    let mut engine = Engine {
        k: Knowledge::new(shape),
        report: Report {
            rules: rules.preset_name().unwrap_or("custom").to_owned(),
            ..Report::default()
        },
        cpus: vec![CpuState::default(); cpus],
        sizes: vec![vec![Sizes::default(); cpus]; zones],
        inferences: Vec::new(),
        moved: Moved { alloc: vec![0; zones], ..Moved::default() },
        line: 0,
        pid: 0,
        in_worker: false,
        lost_at_start: false,
        cancel,
    };
    engine.load(before);
    engine.load_sizes(before);
    while let Some(event) = window.next()? {
        if engine.report.events.is_multiple_of(4096) {
            progress(engine.report.events);
            if engine.cancel.load(Ordering::Relaxed) {
                engine.report.cancelled = true;
                break;
            }
        }
        engine.step(&event, &window);
    }
    if engine.report.events == 0 && !engine.report.cancelled {
        return Err(TraceError::new(window.reader().file(), None, TraceErrorKind::NoEvents));
    }
    for cpu in 0..cpus {
        engine.complete_amount(cpu, None);
    }
    engine.settle();
    if !engine.report.cancelled {
        engine.compare(before, after);
    }
    Ok(engine.report)
}

/// The machine's shape from a snapshot.
fn shape_of(snapshot: &Snapshot, rules: Rules) -> Option<Shape> {
    let zoneinfo = snapshot.zoneinfo.as_ref()?;
    let zones: Vec<(ZoneKind, PfnRange)> = zoneinfo
        .populated()
        .filter(|(zone, _)| zone.spanned > 0)
        .map(|(zone, populated)| {
            let start = populated.start_pfn;
            (zone.kind, PfnRange::new(start, start + zone.spanned))
        })
        .collect();
    let cpus = zoneinfo.populated().map(|(_, zone)| zone.pagesets.len()).max()?;
    let types = snapshot.pagetypeinfo.as_ref();
    let order = types.and_then(|text| Order::new(u8::try_from(text.pageblock_order).ok()?));
    let pageblock_order = order.unwrap_or(Order::of(9));
    let possible = types.map(|text| text.types.iter().copied().collect::<TypeSet>());
    (!zones.is_empty()).then(|| Shape {
        rules,
        max_order: Order::MAX,
        pageblock_order,
        // Every recorded build has transparent huge pages of order 9.
        thp_order: Some(Order::of(9)),
        zones,
        cpus,
        // Without pagetypeinfo reserved, CMA and isolated pageblocks are taken not to exist: else no
        // merge across pageblocks could be told.
        types: possible.unwrap_or(TypeSet::PCP),
    })
}

impl Engine<'_> {
    /// Take over what the snapshot before tells.
    fn load(&mut self, before: &Snapshot) {
        let zones = self.k.shape().zones.clone();
        if before.kpageflags.is_some() {
            for z in 0..zones.len() {
                self.k.load_free(z, &|pfn| before.is_free(pfn));
            }
        }
        let Some(types) = &before.pagetypeinfo else { return };
        let step = self.k.shape().pageblock_order.pages();
        for (z, (kind, span)) in zones.iter().enumerate() {
            let mut counts = [0; 6];
            for mt in &types.types {
                counts[mt.index()] = types.pageblocks_of(0, *kind, *mt).unwrap_or(0) as usize;
            }
            let blocks: Vec<Pfn> = (span.start.0..span.end.0)
                .step_by(step as usize)
                .map(Pfn)
                .filter(|pfn| before.kpageflags.is_none() || before.exists(*pfn))
                .collect();
            self.k.load_pageblock_counts(z, counts, &blocks);
        }
        if before.kpageflags.is_none() {
            return;
        }
        let mut learnt = true;
        while learnt {
            learnt = false;
            for (z, (kind, _)) in zones.iter().enumerate() {
                for order in Order::ZERO.up_to(Order::MAX) {
                    let mut lengths = [0; 6];
                    for mt in &types.types {
                        let row = types.row(0, *kind, *mt);
                        let length = row.and_then(|row| row.lists.get(order.index()));
                        lengths[mt.index()] = length.map_or(0, |length| length.blocks as usize);
                    }
                    learnt |= self.k.load_list_lengths(z, order, lengths);
                }
            }
        }
    }

    fn step<R: BufRead>(&mut self, event: &TraceEvent, window: &Window<R>) {
        self.line = event.line;
        self.pid = event.pid;
        self.in_worker = event.worker;
        if let Payload::Overwritten(count) = event.payload {
            self.report.lost_events += count;
            self.lost_at_start = true;
            self.k.forget();
            return;
        }
        let cpu = usize::from(event.cpu);
        if cpu >= self.cpus.len() {
            return;
        }
        let kmem = match event.payload {
            Payload::Kmem(kmem) => kmem,
            Payload::Lost(count) => {
                self.report.lost_events += count;
                self.forget();
                return;
            }
            Payload::Compaction => {
                self.k.lose_free_lists();
                return;
            }
            Payload::Overwritten(_) => return,
        };
        self.report.events += 1;
        // What this CPU did until now is not in the trace, so nothing known is certain any more.
        if self.lost_at_start && !self.cpus[cpu].seen {
            self.forget();
        }
        self.cpus[cpu].seen = true;
        let state = self.cpus[cpu];
        self.complete_amount(cpu, Some(kmem));
        self.allow_for_ticks(cpu, event.time_us);
        if !matches!(kmem, KmemEvent::PcpuDrain { .. }) {
            self.cpus[cpu].draining = None;
            self.cpus[cpu].committed = None;
        }
        if !matches!(kmem, KmemEvent::ZoneLocked { .. } | KmemEvent::ExtFrag { .. }) {
            self.cpus[cpu].taking = None;
        }
        match kmem {
            KmemEvent::PageAlloc { pfn: Some(pfn), order, migratetype, .. } => {
                self.on_alloc(cpu, pfn, order, migratetype);
            }
            KmemEvent::PageAlloc { pfn: None, .. } => {}
            KmemEvent::PageFree { pfn, order } => {
                let batched = window.is_batched(pfn, event.cpu, event.pid);
                self.on_free(cpu, pfn, order, batched);
            }
            KmemEvent::PageFreeBatched { pfn } => self.on_batched(cpu, pfn),
            KmemEvent::PcpuDrain { pfn, order, migratetype } => {
                self.on_drain(cpu, state, pfn, order, migratetype);
                self.amount_of_drain(cpu, state, pfn, order, event.time_us);
            }
            KmemEvent::ZoneLocked { pfn, order, migratetype, percpu_refill } => {
                let alone = run_of_one(event, window, pfn);
                self.on_take(cpu, pfn, order, migratetype, percpu_refill, alone, window);
            }
            KmemEvent::ExtFrag { .. } => self.on_extfrag(event, kmem, window),
        }
    }

    /// Events are missing: nothing that was known holds, and no inference can be proved.
    fn forget(&mut self) {
        self.k.forget();
        for cpu in &mut self.cpus {
            *cpu = CpuState { seen: cpu.seen, tick_phase: cpu.tick_phase, ..CpuState::default() };
        }
        self.sizes.iter_mut().flatten().for_each(Sizes::forget);
    }

    pub(super) fn zone_kind(&self, z: usize) -> ZoneKind {
        self.k.shape().zones[z].0
    }

    pub(super) fn verdict(&mut self, kind: Kind, z: usize, verdict: Verdict) {
        let zone = self.zone_kind(z);
        self.report.count(kind, zone, verdict);
    }

    pub(super) fn contradict(
        &mut self,
        kind: Kind,
        z: usize,
        rule: &'static str,
        expected: String,
        seen: String,
    ) {
        self.verdict(kind, z, Verdict::Contradicted);
        self.report.keep(self.line, rule, expected, seen);
    }

    pub(super) fn ownership(&mut self, rule: &'static str, expected: String, seen: String) {
        self.report.ownership_contradictions += 1;
        self.report.keep(self.line, rule, expected, seen);
    }
}

/// A take that is followed on its CPU by the hand-out of that very block.
fn run_of_one<R: BufRead>(event: &TraceEvent, window: &Window<R>, pfn: Pfn) -> bool {
    let mut next = window.ahead_on(event.cpu, 0);
    if matches!(next.map(|e| e.payload), Some(Payload::Kmem(KmemEvent::ExtFrag { .. }))) {
        next = window.ahead_on(event.cpu, 1);
    }
    matches!(next.map(|e| e.payload),
        Some(Payload::Kmem(KmemEvent::PageAlloc { pfn: Some(p), .. })) if p == pfn)
}
