//! A picture of memory in characters: who holds which frame.
//!
//! For people, in failure reports and in `mmspec explain`. Each zone is drawn in rows, one
//! character for each frame, or for each group of frames on a larger machine (the state that most
//! of them share). Where a pageblock has room, its migratetype stands before it.

use crate::contract::Observe;
use crate::vocab::{MachineRef, MigrateType, NR_PCP_TYPES, Order, Pfn, ZoneIdx, ZoneSpan};
use core::fmt;
use std::string::String;
use std::vec;
use std::vec::Vec;

/// What the characters mean.
pub const LEGEND: &str = "\
free        u m r h c i   by list: Unmovable Movable Reclaimable HighAtomic CMA Isolate
cached      p             on a per-CPU list
handed out  U M R         by the type of the request; ? if its owner is not known
other       # reserved    _ no frame
M:                        before a pageblock, its type
";

/// Most characters for one zone.
const ZONE_CHARS: u64 = 1024;
/// Characters of a row, without types and blanks.
const ROW_CHARS: u64 = 64;

const FREE: [u8; 6] = *b"umrhci";
const USED: [u8; NR_PCP_TYPES] = *b"UMR";
const CACHED: u8 = b'p';
const UNKNOWN: u8 = b'?';
const RESERVED: u8 = b'#';
const HOLE: u8 = b'_';

/// A block that is handed out: first frame, order, and the type that it was asked for as.
pub type UsedBlock = (Pfn, Order, MigrateType);

/// A state, ready to be drawn with `Display`.
#[derive(Clone, Copy)]
pub struct Picture<'a> {
    state: &'a dyn Observe,
    machine: MachineRef<'a>,
    used: &'a [UsedBlock],
}

/// One zone, drawn.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ZonePicture {
    /// The zone.
    pub span: ZoneSpan,
    /// How many frames share a character.
    pub frames_per_char: u64,
    /// The first frame of each row, and its characters.
    pub rows: Vec<(Pfn, String)>,
}

impl ZonePicture {
    /// The rows that differ from `before`, another drawing of the same zone.
    pub fn changed_since<'a>(
        &'a self,
        before: &'a Self,
    ) -> impl Iterator<Item = &'a (Pfn, String)> + 'a {
        self.rows.iter().zip(&before.rows).filter(|(now, was)| now != was).map(|(now, _)| now)
    }
}

impl<'a> Picture<'a> {
    /// The picture of `state`, with what is known of the blocks handed out.
    #[must_use]
    pub const fn new(
        state: &'a dyn Observe,
        machine: MachineRef<'a>,
        used: &'a [UsedBlock],
    ) -> Self {
        Self { state, machine, used }
    }

    /// One character for each frame of a zone.
    fn frames(&self, zone: ZoneIdx, span: &ZoneSpan) -> Vec<u8> {
        let start = span.span.start;
        let mut frames = vec![UNKNOWN; span.span.len() as usize];
        let mut fill = |from: Pfn, pages: u64, with: u8| {
            let end = from.0.saturating_add(pages).min(span.span.end.0);
            for pfn in from.0.max(start.0)..end {
                frames[(pfn - start.0) as usize] = with;
            }
        };
        for (pfn, order, migratetype) in self.used {
            let letter = USED.get(migratetype.index()).copied().unwrap_or(UNKNOWN);
            fill(*pfn, order.pages(), letter);
        }
        for cpu in self.machine.cpu_ids() {
            for list in 0..self.state.pcp_list_count() {
                let order = self.list_order(list);
                self.state.for_each_cached(cpu, zone, list, &mut |pfn| {
                    fill(pfn, order.pages(), CACHED);
                });
            }
        }
        for order in Order::ZERO.up_to(self.machine.max_order) {
            for of in MigrateType::ALL {
                self.state.for_each_free(zone, order, of, &mut |pfn| {
                    fill(pfn, order.pages(), FREE[of.index()]);
                });
            }
        }
        for range in self.machine.reserved {
            fill(range.start, range.len(), RESERVED);
        }
        for range in self.machine.holes {
            fill(range.start, range.len(), HOLE);
        }
        frames
    }

    /// The order of the blocks on a per-CPU list: the pcp types of each order follow each other,
    /// huge pages come last (page_alloc.md §2.1).
    fn list_order(&self, list: usize) -> Order {
        let order = Order::new((list / NR_PCP_TYPES) as u8).filter(|order| *order <= Order::COSTLY);
        order.or(self.machine.thp_order).unwrap_or(Order::ZERO)
    }

    /// The zones, drawn.
    #[must_use]
    pub fn zones(&self) -> Vec<ZonePicture> {
        let zones = self.machine.zones.iter().enumerate();
        zones.map(|(at, span)| self.zone(ZoneIdx(at as u8), span)).collect()
    }

    fn zone(&self, zone: ZoneIdx, span: &ZoneSpan) -> ZonePicture {
        let frames = self.frames(zone, span);
        let mut per_char = 1;
        while span.span.len() / per_char > ZONE_CHARS {
            per_char *= 2;
        }
        let row_frames = ROW_CHARS * per_char;
        let (start, end) = (span.span.start.0, span.span.end.0);
        let mut rows = Vec::new();
        let mut at = start - start % row_frames;
        while at < end {
            let text = self.row(&frames, span, at, (at + row_frames).min(end), per_char);
            rows.push((Pfn(at.max(start)), text));
            at += row_frames;
        }
        ZonePicture { span: *span, frames_per_char: per_char, rows }
    }

    /// The characters of the frames `from..to`, pageblocks marked where they have room.
    fn row(&self, frames: &[u8], span: &ZoneSpan, from: u64, to: u64, per_char: u64) -> String {
        let pageblock = self.machine.pageblock_pages();
        let marked = pageblock / per_char >= 4;
        let mut row = String::new();
        let mut at = from.max(span.span.start.0);
        while at < to {
            if marked && (at.is_multiple_of(pageblock) || row.is_empty()) {
                let letter = self.state.pageblock_type(Pfn(at)).map_or('-', letter);
                row.extend([' ', letter, ':'].iter().skip(usize::from(row.is_empty())));
            }
            let next = (at - at % per_char + per_char).min(to);
            let first = span.span.start.0;
            row.push(most(&frames[(at - first) as usize..(next - first) as usize]));
            at = next;
        }
        row
    }
}

const fn letter(of: MigrateType) -> char {
    (FREE[of.index()] as char).to_ascii_uppercase()
}

/// The most frequent character; of equally frequent ones the first.
fn most(frames: &[u8]) -> char {
    let mut counts = [0_usize; 128];
    for frame in frames {
        counts[usize::from(*frame)] += 1;
    }
    let mut best = frames[0];
    for frame in frames {
        if counts[usize::from(*frame)] > counts[usize::from(best)] {
            best = *frame;
        }
    }
    best as char
}

impl fmt::Display for Picture<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.zones().iter().try_for_each(|zone| zone.fmt(f))
    }
}

impl fmt::Display for ZonePicture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ZoneSpan { kind, span, .. } = self.span;
        writeln!(
            f,
            "{kind} {}..{}, {} to a character",
            span.start, span.end, self.frames_per_char
        )?;
        let mut rows = self.rows.iter().peekable();
        while let Some((pfn, row)) = rows.next() {
            writeln!(f, "{:>#10x} {row}", pfn.0)?;
            let mut same = 0;
            while rows.next_if(|(_, next)| next == row).is_some() {
                same += 1;
            }
            match same {
                0 => {}
                1 => writeln!(f, "           the same once more")?,
                times => writeln!(f, "           the same {times} times more")?,
            }
        }
        Ok(())
    }
}
