//! After lost events the free lists are worked out backwards: from the frames that are free at the
//! end, and from what became of each frame first.
//!
//! From the last loss on every event is there. A frame whose first event afterwards takes it from a
//! free list was free at that moment; one whose first event is another was not; and one that no event
//! touches was what the snapshot after says. So a second reading begins there with known free frames,
//! as any recording does with those of its snapshot before.
//!
//! What falls between the trace and the snapshot after is taken for the state at the loss. So a frame
//! that no event touches, and that the snapshot after calls free, is *assumed* to be: a take that passes
//! it over shows that it was not, and leaves that take open.

use super::error::TraceError;
use super::event::Payload;
use super::folder::Snapshot;
use super::reader::Reader;
use mmspec_model::knowledge::Shape;
use mmspec_model::vocab::{KmemEvent, Order, Pfn};
use std::io::BufRead;
use std::sync::atomic::{AtomicBool, Ordering};

/// Where knowledge begins anew, and with which free frames.
#[derive(Clone, Debug)]
pub(super) struct Resume {
    /// Line of the first event after the last loss.
    pub(super) line: u64,
    first: u64,
    free: Vec<Free>,
}

impl Resume {
    /// Whether a frame was free after the last loss.
    pub(super) fn is_free(&self, pfn: Pfn) -> bool {
        matches!(self.free(pfn), Free::Surely | Free::Assumed)
    }

    /// Whether a frame is only assumed to have been free.
    pub(super) fn is_assumed(&self, pfn: Pfn) -> bool {
        self.free(pfn) == Free::Assumed
    }

    fn free(&self, pfn: Pfn) -> Free {
        let at = pfn.0.checked_sub(self.first).and_then(|at| usize::try_from(at).ok());
        at.and_then(|at| self.free.get(at)).copied().unwrap_or(Free::No)
    }
}

/// Whether a frame was free after the last loss.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Free {
    No,
    Surely,
    Assumed,
}

/// What became of a frame first.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum First {
    Nothing,
    Taken,
    Other,
}

/// Read the whole trace for what became of each frame since the last loss. `None` if nothing was
/// lost, nothing follows, or the user ended the run.
pub(super) fn find<R: BufRead>(
    mut reader: Reader<R>,
    shape: &Shape,
    after: &Snapshot,
    cancel: &AtomicBool,
) -> Result<Option<Resume>, TraceError> {
    let start = shape.zones.iter().map(|(_, span)| span.start.0).min().unwrap_or(0);
    let end = shape.zones.iter().map(|(_, span)| span.end.0).max().unwrap_or(0);
    let mut firsts = vec![First::Nothing; (end - start) as usize];
    let mut seen = vec![true; shape.cpus];
    let (mut line, mut lost) = (None, false);
    let mut events = 0_u64;
    while let Some(event) = reader.next_event()? {
        events += 1;
        if events.is_multiple_of(4096) && cancel.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let cpu = usize::from(event.cpu);
        let loss = match event.payload {
            Payload::Overwritten(_) => {
                seen.fill(false);
                true
            }
            Payload::Lost(_) => true,
            Payload::Kmem(_) if seen.get(cpu) == Some(&false) => {
                seen[cpu] = true;
                true
            }
            _ => false,
        };
        if loss {
            firsts.fill(First::Nothing);
            (line, lost) = (None, true);
        }
        let Payload::Kmem(kmem) = event.payload else { continue };
        if lost && line.is_none() {
            line = Some(event.line);
        }
        let Some((pfn, order, first)) = first_of(kmem) else { continue };
        if !(start..end).contains(&pfn.0) {
            continue;
        }
        let at = (pfn.0 - start) as usize;
        for known in firsts[at..].iter_mut().take(order.pages() as usize) {
            if *known == First::Nothing {
                *known = first;
            }
        }
    }
    let free = firsts.iter().zip(start..).map(|(first, at)| match first {
        First::Taken => Free::Surely,
        First::Other => Free::No,
        First::Nothing if after.is_free(Pfn(at)) => Free::Assumed,
        First::Nothing => Free::No,
    });
    let free = free.collect();
    Ok(line.map(|line| Resume { line, first: start, free }))
}

/// The frames of an event, and what it does to them; `None` for a failed request.
pub(super) const fn first_of(kmem: KmemEvent) -> Option<(Pfn, Order, First)> {
    Some(match kmem {
        KmemEvent::ZoneLocked { pfn, order, .. } => (pfn, order, First::Taken),
        KmemEvent::ExtFrag { pfn, fallback_order, .. } => (pfn, fallback_order, First::Taken),
        KmemEvent::PageAlloc { pfn: Some(pfn), order, .. } => (pfn, order, First::Other),
        KmemEvent::PageAlloc { pfn: None, .. } => return None,
        KmemEvent::PageFree { pfn, order } | KmemEvent::PcpuDrain { pfn, order, .. } => {
            (pfn, order, First::Other)
        }
        KmemEvent::PageFreeBatched { pfn } => (pfn, Order::ZERO, First::Other),
    })
}
