//! What a trace run found.

use super::timeline::Timeline;
use mmspec_model::vocab::{Order, Pfn, ZoneName};
use std::collections::BTreeMap;

/// Kinds of predictions.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kind {
    /// A page handed out from a per-CPU list (mm_page_alloc).
    PcpAlloc,
    /// A block taken from a free list of its own type (mm_page_alloc_zone_locked).
    BuddyTake,
    /// A page moved from a per-CPU list to the free lists (mm_page_pcpu_drain).
    Drain,
    /// The number of blocks of one refill (§2.4).
    Refill,
    /// The number of pages drained after one free, or by the periodic worker (§2.5, §2.8).
    DrainCount,
    /// A block of another type (mm_page_alloc_extfrag).
    Fallback,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 6] = [
        Self::PcpAlloc,
        Self::BuddyTake,
        Self::Drain,
        Self::Refill,
        Self::DrainCount,
        Self::Fallback,
    ];

    /// The name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::PcpAlloc => "pcp_alloc",
            Self::BuddyTake => "buddy_take",
            Self::Drain => "drain",
            Self::Refill => "refill",
            Self::DrainCount => "drain_count",
            Self::Fallback => "fallback",
        }
    }
}

/// The verdict on one event.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Verdict {
    /// Exactly as the rules say.
    Predicted,
    /// Explained by an untraced step that a later event proved.
    Inferred,
    /// Not as the rules say.
    Contradicted,
    /// It depends on what is not known.
    Undecidable,
}

/// Numbers of verdicts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct KindCounts {
    /// See [`Verdict::Predicted`].
    pub predicted: u64,
    /// See [`Verdict::Inferred`].
    pub inferred: u64,
    /// See [`Verdict::Contradicted`].
    pub contradicted: u64,
    /// See [`Verdict::Undecidable`].
    pub undecidable: u64,
}

impl KindCounts {
    /// Count one verdict.
    pub fn add(&mut self, verdict: Verdict) {
        *match verdict {
            Verdict::Predicted => &mut self.predicted,
            Verdict::Inferred => &mut self.inferred,
            Verdict::Contradicted => &mut self.contradicted,
            Verdict::Undecidable => &mut self.undecidable,
        } += 1;
    }

    /// All but the undecidable.
    pub const fn decidable(&self) -> u64 {
        self.predicted + self.inferred + self.contradicted
    }

    /// All.
    pub const fn total(&self) -> u64 {
        self.decidable() + self.undecidable
    }

    pub(super) const fn merge(&mut self, other: &Self) {
        self.predicted += other.predicted;
        self.inferred += other.inferred;
        self.contradicted += other.contradicted;
        self.undecidable += other.undecidable;
    }
}

/// One contradiction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unexplained {
    /// Line of the trace.
    pub line: u64,
    /// The rule that was expected to hold.
    pub rule: &'static str,
    /// What it predicts.
    pub expected: String,
    /// What the trace shows.
    pub seen: String,
}

/// A figure that differs from /proc at the end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Difference {
    /// The figure.
    pub name: String,
    /// As the specification ends.
    pub expected: i64,
    /// As /proc shows.
    pub seen: i64,
}

/// The free lists at the end, frame by frame, against kpageflags after.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FreeFrames {
    /// Free in both.
    pub agreed: u64,
    /// Free as the specification ends only.
    pub only_expected: u64,
    /// Free in kpageflags only.
    pub only_seen: u64,
}

/// Most contradictions that are kept with their text.
const KEPT: usize = 200;

/// The result.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// kmem events read.
    pub events: u64,
    /// Events that the ring buffers lost.
    pub lost_events: u64,
    /// Name of the rules used.
    pub rules: String,
    /// Verdicts by kind and zone.
    pub kinds: BTreeMap<(Kind, ZoneName), KindCounts>,
    /// Pages that had two owners, or none, by what is known.
    pub ownership_contradictions: u64,
    /// The first contradictions.
    pub unexplained: Vec<Unexplained>,
    /// Figures compared with the snapshot after, and those that differ.
    pub compared: u64,
    /// The differences.
    pub differences: Vec<Difference>,
    /// Frames that are free at the end, against kpageflags after.
    pub free_frames: Option<FreeFrames>,
    /// Verdicts over the length of the recording.
    pub timeline: Timeline,
    /// Pages that compaction isolated, by vmstat, though the trace shows no compaction event: what
    /// it did to the free lists is missing.
    pub untraced_compaction: u64,
    /// Known pageblock types at the end and number of pageblocks, by zone.
    pub pageblocks: Vec<(ZoneName, usize, usize)>,
    /// The run was ended early.
    pub cancelled: bool,
}

impl Report {
    /// Verdicts of one kind over all zones.
    pub fn kind(&self, kind: Kind) -> KindCounts {
        let mut sum = KindCounts::default();
        for ((k, _), counts) in &self.kinds {
            if *k == kind {
                sum.merge(counts);
            }
        }
        sum
    }

    /// Verdicts of one kind after the first tenth of the events.
    pub fn after_first_tenth(&self, kind: Kind) -> KindCounts {
        self.timeline.from(self.events / 10, kind)
    }

    /// A verdict at the event of this number.
    pub(super) fn count_at(&mut self, event: u64, kind: Kind, zone: ZoneName, verdict: Verdict) {
        self.kinds.entry((kind, zone)).or_default().add(verdict);
        self.timeline.count(event, kind, verdict);
    }

    pub(super) fn count(&mut self, kind: Kind, zone: ZoneName, verdict: Verdict) {
        self.count_at(self.events, kind, zone, verdict);
    }

    pub(super) fn keep(&mut self, line: u64, rule: &'static str, expected: String, seen: String) {
        if self.unexplained.len() < KEPT {
            self.unexplained.push(Unexplained { line, rule, expected, seen });
        }
    }

    /// Whether nothing was contradicted.
    pub fn is_consistent(&self) -> bool {
        self.ownership_contradictions == 0 && self.kinds.values().all(|c| c.contradicted == 0)
    }
}

/// `0x2bd8@0`: a block.
pub(super) fn block(pfn: Pfn, order: Order) -> String {
    format!("{pfn}@{order}")
}
