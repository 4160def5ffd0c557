//! The tracepoints of compaction (compaction.md §6.2).

use super::error::TraceErrorKind;
use super::reader::Fields;
use crate::script::RESULTS;
use mmspec_model::contract::CompactResult;
use mmspec_model::vocab::{Pfn, PfnRange};
use std::fmt;

/// One tracepoint of a run of compaction over a zone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CompactStep {
    /// `mm_compaction_begin`.
    Begin {
        /// First frame of the zone.
        zone: Pfn,
        /// Where the migrate scanner begins.
        migrate: Pfn,
        /// Where the free scanner begins.
        free: Pfn,
        /// Whether it may block.
        sync: bool,
    },
    /// `mm_compaction_isolate_migratepages`.
    IsolateMigrate(Scan),
    /// `mm_compaction_isolate_freepages`.
    IsolateFree(Scan),
    /// `mm_compaction_fast_isolate_freepages`.
    FastIsolateFree(Scan),
    /// `mm_compaction_migratepages`.
    Migrate {
        /// Pages migrated.
        migrated: u64,
        /// Pages that were not.
        failed: u64,
    },
    /// `mm_compaction_finished`.
    Finished {
        /// The order asked for; −1: the whole zone.
        order: i32,
        /// What the test said; no_suitable_page counts as continue.
        result: CompactResult,
    },
    /// `mm_compaction_end`.
    End {
        /// First frame of the zone.
        zone: Pfn,
        /// Where the migrate scanner ended.
        migrate: Pfn,
        /// Where the free scanner ended.
        free: Pfn,
        /// The result.
        result: CompactResult,
    },
}

/// What was scanned, and what came of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Scan {
    /// From where to where.
    pub range: PfnRange,
    /// Frames that count as scanned.
    pub scanned: u64,
    /// Pages isolated.
    pub taken: u64,
}

impl fmt::Display for Scan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { range, scanned, taken } = self;
        write!(f, "{}..{} scanned {scanned} taken {taken}", range.start, range.end)
    }
}

impl fmt::Display for CompactStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Begin { zone, migrate, free, sync } => {
                let mode = if *sync { "sync" } else { "async" };
                write!(f, "begin zone {zone}, scanners at {migrate} and {free}, {mode}")
            }
            Self::IsolateMigrate(scan) => write!(f, "isolate_migratepages {scan}"),
            Self::IsolateFree(scan) => write!(f, "isolate_freepages {scan}"),
            Self::FastIsolateFree(scan) => write!(f, "fast_isolate_freepages {scan}"),
            Self::Migrate { migrated, failed } => {
                write!(f, "migratepages {migrated} migrated, {failed} not")
            }
            Self::Finished { order, result } => {
                write!(f, "finished order {order}: {}", name_of(*result))
            }
            Self::End { zone, migrate, free, result } => {
                write!(f, "end zone {zone}, scanners at {migrate} and {free}: {}", name_of(*result))
            }
        }
    }
}

/// Names of results that only tracepoints have; the others are those of scripts.
const TRACED: [(&str, CompactResult); 2] = [
    ("not_suitable_zone", CompactResult::NotSuitable),
    ("no_suitable_page", CompactResult::Continue),
];

fn name_of(result: CompactResult) -> &'static str {
    RESULTS.iter().find(|(_, known)| *known == result).map_or("", |(name, _)| name)
}

/// The step that the event `name` tells; `None` for other events.
pub(super) fn parse(name: &[u8], text: &[u8]) -> Result<Option<CompactStep>, TraceErrorKind> {
    let fields = |event| Fields { event, text };
    Ok(Some(match name {
        b"mm_compaction_begin" => {
            let fields = fields("mm_compaction_begin");
            CompactStep::Begin {
                zone: fields.frame(b"zone_start=", "zone_start")?,
                migrate: fields.frame(b"migrate_pfn=", "migrate_pfn")?,
                free: fields.frame(b"free_pfn=", "free_pfn")?,
                sync: fields.raw(b"mode=").ok_or_else(|| fields.missing("mode"))? == b"sync",
            }
        }
        b"mm_compaction_end" => {
            let fields = fields("mm_compaction_end");
            CompactStep::End {
                zone: fields.frame(b"zone_start=", "zone_start")?,
                migrate: fields.frame(b"migrate_pfn=", "migrate_pfn")?,
                free: fields.frame(b"free_pfn=", "free_pfn")?,
                result: result(&fields, b"status=", "status")?,
            }
        }
        b"mm_compaction_isolate_migratepages" => {
            CompactStep::IsolateMigrate(scan(&fields("mm_compaction_isolate_migratepages"))?)
        }
        b"mm_compaction_isolate_freepages" => {
            CompactStep::IsolateFree(scan(&fields("mm_compaction_isolate_freepages"))?)
        }
        b"mm_compaction_fast_isolate_freepages" => {
            CompactStep::FastIsolateFree(scan(&fields("mm_compaction_fast_isolate_freepages"))?)
        }
        b"mm_compaction_migratepages" => {
            let fields = fields("mm_compaction_migratepages");
            CompactStep::Migrate {
                migrated: fields.number(b"nr_migrated=", "nr_migrated")?,
                failed: fields.number(b"nr_failed=", "nr_failed")?,
            }
        }
        b"mm_compaction_finished" => {
            let fields = fields("mm_compaction_finished");
            let order = fields.raw(b"order=").and_then(|text| std::str::from_utf8(text).ok());
            CompactStep::Finished {
                order: order
                    .and_then(|order| order.parse().ok())
                    .ok_or_else(|| fields.missing("order"))?,
                result: result(&fields, b"ret=", "ret")?,
            }
        }
        _ => return Ok(None),
    }))
}

/// `range=(0x1 ~ 0x200) nr_scanned=511 nr_taken=0`.
fn scan(fields: &Fields<'_>) -> Result<Scan, TraceErrorKind> {
    let missing = || fields.missing("range");
    let mut words = fields.text.split(|c| *c == b' ').skip_while(|w| !w.starts_with(b"range=("));
    let hex = |word: &[u8]| {
        let digits = word.strip_prefix(b"0x").filter(|digits| digits.len() <= 16)?;
        u64::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
    };
    let start = words.next().and_then(|word| hex(word.strip_prefix(b"range=(")?));
    let end = words.nth(1).and_then(|word| hex(word.strip_suffix(b")")?));
    let (start, end) = start.zip(end).filter(|(start, end)| start <= end).ok_or_else(missing)?;
    Ok(Scan {
        range: PfnRange::new(start, end),
        scanned: fields.number(b"nr_scanned=", "nr_scanned")?,
        taken: fields.number(b"nr_taken=", "nr_taken")?,
    })
}

fn result(
    fields: &Fields<'_>,
    key: &[u8],
    field: &'static str,
) -> Result<CompactResult, TraceErrorKind> {
    let name = fields.raw(key).ok_or_else(|| fields.missing(field))?;
    let known = RESULTS.iter().chain(&TRACED).find(|(known, _)| known.as_bytes() == name);
    known.map(|(_, result)| *result).ok_or_else(|| fields.missing(field))
}
