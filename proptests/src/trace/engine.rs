//! The run over one trace.

use super::error::{TraceError, TraceErrorKind};
use super::event::{Payload, TraceEvent};
use super::folder::{Snapshot, rules_of};
use super::possible::Sizes;
use super::proofs::Inference;
use super::reader::{Reader, open};
use super::report::{Kind, Report, Verdict};
use super::resume::{self, Resume};
use super::start::{adjust, shape_of};
use super::window::Window;
use mmspec_model::knowledge::{Knowledge, Shape};
use mmspec_model::reference::pcp::PcpSizes;
use mmspec_model::vocab::{KmemEvent, MigrateType, Order, Pfn, Rules, ZoneName};
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
    /// It drains a per-CPU list: whose, in which zone, which list, and the task that does.
    pub(super) draining: Option<(usize, usize, usize, u32)>,
    /// The page that it put on its own lists with its last event, and the task that did.
    pub(super) committed: Option<(usize, Pfn, u32)>,
    /// The run of takes or drains that it is in the middle of, for the amounts.
    pub(super) amount: Amount,
    /// The refill before this event noted the allocation at hand.
    pub(super) noted: bool,
    /// Its zone was near its marks when pages of the amount were drained.
    pub(super) near: bool,
    /// Microseconds within a second at which its periodic worker runs.
    pub(super) tick_phase: Option<u64>,
    /// The turn of the worker that is allowed for, and whether it goes on.
    pub(super) turn: Option<u64>,
    pub(super) in_turn: bool,
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
    /// A free to the lists.
    Free {
        zone: usize,
        order: Order,
        /// Pages drained after it, and the size of the last block of them.
        drained: u64,
        last: u64,
        /// The task is one that also runs the periodic worker.
        by_worker: bool,
    },
    /// The periodic worker's drain.
    Tick {
        zone: usize,
        drained: u64,
        /// Microsecond of its last page.
        at: u64,
    },
}

impl Amount {
    pub(super) const fn freed(zone: usize, order: Order) -> Self {
        Self::Free { zone, order, drained: 0, last: 0, by_worker: false }
    }
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
    /// Free pages of each zone below which its marks' flags may be set; none if they may be anyway.
    pub(super) low_below: Vec<Option<u64>>,
    /// The zone came near its marks, and its flags may be set since.
    pub(super) flagged: Vec<bool>,
    /// Line of the event at hand.
    pub(super) line: u64,
    /// Its task.
    pub(super) pid: u32,
    /// The task is a kernel worker.
    pub(super) in_worker: bool,
    /// The trace shows compaction.
    pub(super) compacted: bool,
    /// Events were overwritten before the first one of each CPU.
    lost_at_start: bool,
    /// Where knowledge begins anew after the last loss.
    pub(super) resume: Option<Resume>,
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
    let report = explain_reader(open(path)?, &before, &after, rules, cancel, progress)?;
    let shape = shape_of(&before, rules).or_else(|| shape_of(&after, rules));
    let (Some(shape), Some(_)) = (shape, &after.kpageflags) else { return Ok(report) };
    if report.lost_events == 0 || report.cancelled {
        return Ok(report);
    }
    // The free lists after the loss are known from the end of the trace.
    match resume::find(open(path)?, &shape, &after, cancel)? {
        Some(resume) => {
            let mut engine = Engine::new(shape, cancel);
            engine.resume = Some(resume);
            engine.between(open(path)?, &before, &after, progress)
        }
        None => Ok(report),
    }
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
    Engine::new(shape, cancel).between(reader, before, after, progress)
}

/// What is known of a machine at the start of its trace.
pub(super) struct Beginning<'a> {
    pub(super) shape: Shape,
    pub(super) is_free: &'a dyn Fn(Pfn) -> bool,
    /// The numbers of the per-CPU lists, by zone and CPU; empty if not known.
    pub(super) sizes: &'a [Vec<PcpSizes>],
    /// HIGH of each zone with the most boost.
    pub(super) high: &'a [u64],
}

/// Explain a trace of which the beginning is known.
pub(super) fn explain_from<R: BufRead>(
    reader: Reader<R>,
    beginning: &Beginning<'_>,
) -> Result<Report, TraceError> {
    let cancel = AtomicBool::new(false);
    let rules = beginning.shape.rules;
    let mut engine = Engine::new(beginning.shape.clone(), &cancel);
    for z in 0..engine.k.shape().zones.len() {
        engine.k.load_free(z, beginning.is_free);
        engine.low_below[z] = beginning.high.get(z).copied();
        if let Some(cpus) = beginning.sizes.get(z) {
            let largest = engine.largest_cached();
            let sizes = cpus.iter().map(|known| Sizes::exact(*known, largest, rules));
            engine.sizes[z] = sizes.collect();
        }
    }
    engine.run(&mut Window::new(reader), &mut |_| {})?;
    Ok(engine.report)
}

impl<'a> Engine<'a> {
    pub(super) fn new(shape: Shape, cancel: &'a AtomicBool) -> Self {
        let (cpus, zones) = (shape.cpus, shape.zones.len());
        let rules = shape.rules.preset_name().unwrap_or("custom").to_owned();
        Self {
            k: Knowledge::new(shape),
            report: Report { rules, ..Report::default() },
            cpus: vec![CpuState::default(); cpus],
            sizes: vec![vec![Sizes::default(); cpus]; zones],
            low_below: vec![None; zones],
            flagged: vec![false; zones],
            inferences: Vec::new(),
            moved: Moved { alloc: vec![0; zones], ..Moved::default() },
            line: 0,
            pid: 0,
            in_worker: false,
            compacted: false,
            lost_at_start: false,
            resume: None,
            cancel,
        }
    }

    /// The whole run, from the snapshot before to the one after.
    fn between<R: BufRead>(
        mut self,
        reader: Reader<R>,
        before: &Snapshot,
        after: &Snapshot,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Report, TraceError> {
        let mut window = Window::new(reader);
        let adjusted = adjust(&mut window, before)?;
        self.load(adjusted.as_ref().unwrap_or(before), adjusted.is_none());
        self.load_sizes(before);
        self.run(&mut window, progress)?;
        if !self.report.cancelled {
            self.compare(before, after);
        }
        Ok(self.report)
    }

    /// Every event, then the inferences that are still open.
    fn run<R: BufRead>(
        &mut self,
        window: &mut Window<R>,
        progress: &mut dyn FnMut(u64),
    ) -> Result<(), TraceError> {
        while let Some(event) = window.next()? {
            if self.report.events.is_multiple_of(4096) {
                progress(self.report.events);
                if self.cancel.load(Ordering::Relaxed) {
                    self.report.cancelled = true;
                    break;
                }
            }
            self.step(&event, window);
        }
        if self.report.events == 0 && !self.report.cancelled {
            return Err(TraceError::new(window.reader().file(), None, TraceErrorKind::NoEvents));
        }
        for cpu in 0..self.cpus.len() {
            self.complete_amount(cpu, None);
        }
        self.settle();
        Ok(())
    }

    pub(super) fn step<R: BufRead>(&mut self, event: &TraceEvent, window: &Window<R>) {
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
            Payload::Compaction(_) => {
                self.compacted = true;
                self.k.lose_free_lists();
                return;
            }
            Payload::Overwritten(_) | Payload::SnapshotBegins | Payload::SnapshotEnds => return,
        };
        self.report.events += 1;
        // What this CPU did until now is not in the trace, so nothing known is certain any more.
        if self.lost_at_start && !self.cpus[cpu].seen {
            self.forget();
        }
        self.cpus[cpu].seen = true;
        if self.resume.as_ref().is_some_and(|resume| resume.line == event.line) {
            self.begin_anew();
        }
        let state = self.cpus[cpu];
        self.complete_amount(cpu, Some(kmem));
        let judged = matches!(kmem, KmemEvent::ZoneLocked { .. } | KmemEvent::PcpuDrain { .. });
        self.allow_for_ticks(cpu, event.time_us, judged);
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
            KmemEvent::PageAlloc { pfn: None, order, .. } => {
                self.note_request(0, order);
                self.forget_sizes_from(cpu, 0);
            }
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
            *cpu = CpuState {
                seen: cpu.seen,
                tick_phase: cpu.tick_phase,
                turn: cpu.turn,
                ..CpuState::default()
            };
        }
        self.sizes.iter_mut().flatten().for_each(Sizes::forget);
    }

    pub(super) fn zone_name(&self, z: usize) -> ZoneName {
        self.k.shape().zones[z].0
    }

    pub(super) fn verdict(&mut self, kind: Kind, z: usize, verdict: Verdict) {
        let zone = self.zone_name(z);
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
