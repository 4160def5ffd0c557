//! What is known of a machine when compaction begins.

use super::engine::Engine;
use super::error::{TraceError, TraceErrorKind};
use super::event::{Payload, TraceEvent};
use super::folder::Snapshot;
use super::reader::Reader;
use super::resume::{First, first_of};
use super::start::{adjust, shape_of};
use super::window::Window;
use mmspec_model::knowledge::{FrameKnowledge, Knowledge};
use mmspec_model::vocab::{Gfp, KmemEvent, MigrateType, Order, Pfn, Rules};
use std::collections::{BTreeMap, BTreeSet};
use std::io::BufRead;
use std::sync::atomic::AtomicBool;

/// The state of a machine before the first event of compaction in a trace, and what follows.
#[derive(Clone, Debug)]
pub(crate) struct Moment {
    /// The lists.
    pub(crate) knowledge: Knowledge,
    /// The blocks that were handed out since the trace began, and what was asked for.
    pub(crate) handed_out: BTreeMap<Pfn, (Order, Gfp)>,
    /// The types that pageblocks had when the trace began, of those that a fallback retyped since.
    pub(crate) retyped: BTreeMap<Pfn, MigrateType>,
    /// The events from the first one of compaction on.
    pub(crate) rest: Vec<TraceEvent>,
    /// Events that were lost before or after.
    pub(crate) lost: u64,
    /// Events so far that the rules do not explain.
    pub(crate) unexplained: u64,
}

/// Bring what the snapshot tells forward to the first event of compaction.
///
/// # Errors
/// The trace can't be read, is damaged, or the snapshot lacks zoneinfo.
pub(crate) fn before_compaction<R: BufRead>(
    reader: Reader<R>,
    before: &Snapshot,
    rules: Rules,
) -> Result<Moment, TraceError> {
    let no_zones = || TraceError::new(reader.file(), None, TraceErrorKind::NoZoneinfo);
    let shape = shape_of(before, rules).ok_or_else(no_zones)?;
    let cpus = shape.cpus;
    let cancel = AtomicBool::new(false);
    let mut engine = Engine::new(shape, &cancel);
    let mut window = Window::new(reader);
    let adjusted = adjust(&mut window, before)?;
    engine.load(adjusted.as_ref().unwrap_or(before), adjusted.is_none());
    engine.load_sizes(before);
    let (mut handed_out, mut retyped) = (BTreeMap::new(), BTreeMap::new());
    let mut rest = Vec::new();
    while let Some(event) = window.next()? {
        match event.payload {
            Payload::Compaction(_) if usize::from(event.cpu) < cpus => {
                rest.push(event);
                break;
            }
            Payload::Kmem(KmemEvent::PageAlloc { pfn: Some(pfn), order, gfp, .. }) => {
                handed_out.insert(pfn, (order, gfp));
            }
            Payload::Kmem(KmemEvent::PageFree { pfn, .. }) => {
                handed_out.remove(&pfn);
            }
            Payload::Kmem(KmemEvent::ExtFrag {
                pfn,
                fallback_migratetype,
                change_ownership: true,
                ..
            }) => {
                let pageblock = engine.k.shape().pageblock_order.pages();
                let start = Pfn(pfn.0 & !(pageblock - 1));
                retyped.entry(start).or_insert(fallback_migratetype);
            }
            _ => {}
        }
        engine.step(&event, &window);
    }
    let unexplained = engine.report.unexplained.len() as u64;
    let mut lost = engine.report.lost_events;
    while let Some(event) = window.next()? {
        if let Payload::Lost(count) | Payload::Overwritten(count) = event.payload {
            lost += count;
        }
        // A CPU that the machine does not have is a damaged line's.
        if usize::from(event.cpu) < cpus {
            rest.push(event);
        }
    }
    Ok(Moment { knowledge: engine.k, handed_out, retyped, rest, lost, unexplained })
}

impl Moment {
    /// The blocks that are known to lie on per-CPU lists, oldest first: whose, and their order. What
    /// no event showed before it was drained, by a drain before `until`, lay there all the time.
    pub(crate) fn cached(&self, until: u64) -> Vec<(Pfn, u16, Order)> {
        let mut known: Vec<(i64, Pfn, u16, Order)> = Vec::new();
        for (_, span) in &self.knowledge.shape().zones {
            for pfn in (span.start.0..span.end.0).map(Pfn) {
                if let FrameKnowledge::Cached { cpu, order, place, .. } = self.knowledge.frame(pfn)
                {
                    known.push((place, pfn, cpu, order));
                }
            }
        }
        let mut touched = BTreeSet::new();
        for event in self.rest.iter().filter(|event| event.line < until) {
            let Payload::Kmem(kmem) = event.payload else { continue };
            match kmem {
                KmemEvent::PcpuDrain { pfn, order, .. } => {
                    let listed = matches!(
                        self.knowledge.frame(pfn),
                        FrameKnowledge::Unknown | FrameKnowledge::NotFree
                    );
                    if listed && touched.insert(pfn) {
                        known.push((0, pfn, event.cpu, order));
                    }
                }
                KmemEvent::PageFree { pfn, .. }
                | KmemEvent::PageFreeBatched { pfn }
                | KmemEvent::ZoneLocked { pfn, .. }
                | KmemEvent::PageAlloc { pfn: Some(pfn), .. } => {
                    touched.insert(pfn);
                }
                _ => {}
            }
        }
        // Places fall from the tail, where pages are drained, to the head; those without a known one
        // are in the order of their drains.
        known.sort_by_key(|(place, ..)| -place);
        known.into_iter().map(|(_, pfn, cpu, order)| (pfn, cpu, order)).collect()
    }

    /// Which frames were free after line `line`: what the snapshot after says, taken back by what the
    /// events in between did to each frame first. `None` without kpageflags.
    pub(crate) fn free_after(&self, line: u64, after: &Snapshot) -> Option<Vec<bool>> {
        let flags = after.kpageflags.as_ref()?;
        let mut free: Vec<bool> =
            (0..flags.len() as u64).map(|at| after.is_free(Pfn(at))).collect();
        let mut seen = vec![false; free.len()];
        for event in self.rest.iter().filter(|event| event.line > line) {
            let Payload::Kmem(kmem) = event.payload else { continue };
            let Some((pfn, order, first)) = first_of(kmem) else { continue };
            for at in pfn.index()..pfn.index().saturating_add(order.pages() as usize) {
                if seen.get(at) == Some(&false) {
                    seen[at] = true;
                    free[at] = first == First::Taken;
                }
            }
        }
        Some(free)
    }
}
