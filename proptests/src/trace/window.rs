//! A look ahead of bounded length: batch frees and fallbacks are told by what follows.

use super::error::TraceError;
use super::event::{Payload, TraceEvent};
use super::reader::Reader;
use mmspec_model::vocab::{KmemEvent, Pfn};
use std::collections::{BTreeMap, VecDeque};
use std::io::BufRead;

/// Events that are looked at ahead. A batch free announces at most 31 pages before it lists them
/// (15 before 6.8); interrupts and the other CPUs' events lie in between.
const LENGTH: usize = 4096;

/// The events to come.
pub(super) struct Window<R> {
    reader: Reader<R>,
    events: VecDeque<TraceEvent>,
    /// Number of the first event in `events`.
    first: u64,
    /// Numbers of the events to come of each CPU.
    by_cpu: BTreeMap<u16, VecDeque<u64>>,
    /// Frees to come of each frame: number, and whether batched.
    frees: BTreeMap<Pfn, VecDeque<(u64, bool)>>,
    ended: bool,
}

impl<R: BufRead> Window<R> {
    pub(super) fn new(reader: Reader<R>) -> Self {
        Self {
            reader,
            events: VecDeque::with_capacity(LENGTH),
            first: 0,
            by_cpu: BTreeMap::new(),
            frees: BTreeMap::new(),
            ended: false,
        }
    }

    fn fill(&mut self) -> Result<(), TraceError> {
        while !self.ended && self.events.len() < LENGTH {
            let Some(event) = self.reader.next_event()? else {
                self.ended = true;
                break;
            };
            let number = self.first + self.events.len() as u64;
            self.by_cpu.entry(event.cpu).or_default().push_back(number);
            match event.payload {
                Payload::Kmem(KmemEvent::PageFree { pfn, .. }) => {
                    self.frees.entry(pfn).or_default().push_back((number, false));
                }
                Payload::Kmem(KmemEvent::PageFreeBatched { pfn }) => {
                    self.frees.entry(pfn).or_default().push_back((number, true));
                }
                _ => {}
            }
            self.events.push_back(event);
        }
        Ok(())
    }

    /// Whether the recorder's marker comes before the first kmem event.
    pub(super) fn begins_with_snapshot(&mut self) -> Result<bool, TraceError> {
        self.fill()?;
        let first =
            self.events.iter().find(|event| !matches!(event.payload, Payload::Overwritten(0)));
        Ok(matches!(first.map(|event| event.payload), Some(Payload::SnapshotBegins)))
    }

    /// The next event.
    pub(super) fn next(&mut self) -> Result<Option<TraceEvent>, TraceError> {
        self.fill()?;
        let Some(event) = self.events.pop_front() else { return Ok(None) };
        self.first += 1;
        if let Some(queue) = self.by_cpu.get_mut(&event.cpu) {
            queue.pop_front();
        }
        if let Payload::Kmem(KmemEvent::PageFree { pfn, .. } | KmemEvent::PageFreeBatched { pfn }) =
            event.payload
            && let Some(queue) = self.frees.get_mut(&pfn)
        {
            queue.pop_front();
            if queue.is_empty() {
                self.frees.remove(&pfn);
            }
        }
        Ok(Some(event))
    }

    /// The event that follows on `cpu`, `ahead` events further.
    pub(super) fn ahead_on(&self, cpu: u16, ahead: usize) -> Option<&TraceEvent> {
        let number = self.by_cpu.get(&cpu)?.get(ahead)?;
        self.events.get((number - self.first) as usize)
    }

    /// Whether the free of `pfn` that was just taken from the window belongs to a batch: the next
    /// word on that frame is that it was batched, by the same task on the same CPU.
    pub(super) fn is_batched(&self, pfn: Pfn, cpu: u16, pid: u32) -> bool {
        let Some(&(number, true)) = self.frees.get(&pfn).and_then(VecDeque::front) else {
            return false;
        };
        let event = self.events.get((number - self.first) as usize);
        event.is_some_and(|event| event.cpu == cpu && event.pid == pid)
    }

    pub(super) fn reader(&self) -> &Reader<R> {
        &self.reader
    }
}
