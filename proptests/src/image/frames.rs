//! What every frame holds at the moment compaction begins.

use super::error::ImageError;
use super::recorded::RecordedRun;
use super::types::pageblock_types;
use crate::trace::{Moment, Snapshot, before_compaction, open, rules_of};
use mmspec_model::contract::LruUse;
use mmspec_model::knowledge::{FrameKnowledge, Shape};
use mmspec_model::vocab::{CompactRules, Gfp, MigrateType, Order, Pfn, Rules};
use std::path::Path;

/// Bits of /proc/kpageflags, by number (the kernel's documentation of the file).
pub(super) mod kpf {
    pub(crate) const SLAB: u64 = 1 << 7;
    pub(super) const LRU: u64 = 1 << 5;
    pub(super) const WRITEBACK: u64 = 1 << 8;
    pub(super) const BUDDY: u64 = 1 << 10;
    pub(super) const MMAP: u64 = 1 << 11;
    pub(super) const ANON: u64 = 1 << 12;
    pub(super) const SWAPBACKED: u64 = 1 << 14;
    pub(super) const HEAD: u64 = 1 << 15;
    pub(super) const TAIL: u64 = 1 << 16;
    pub(super) const UNEVICTABLE: u64 = 1 << 18;
    pub(super) const NOPAGE: u64 = 1 << 20;
    pub(crate) const PGTABLE: u64 = 1 << 26;
    pub(crate) const RESERVED: u64 = 1 << 32;
    /// Of a reserved frame: it holds part of the memory map.
    pub(crate) const PRIVATE: u64 = 1 << 35;
}

/// What a frame holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Contents {
    /// It heads a free block.
    Free(Order),
    /// It heads a block on a CPU's lists.
    Cached(Order),
    /// It heads a page or folio on an LRU list.
    Lru(LruUse),
    /// It heads a compound page on no LRU list.
    Compound(Order),
    /// It lies inside one of these.
    Inside,
    /// It is used by somebody who can't move it.
    Fixed,
    /// It does not belong to the allocator.
    Reserved,
}

/// Something that an image cannot tell.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unknown {
    /// What.
    pub what: &'static str,
    /// Of how many frames, blocks or events, if that is known.
    pub count: Option<u64>,
    /// What it may do to the result.
    pub effect: &'static str,
}

/// How to make an image.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ImageOptions {
    /// The allocator's rules; those of the release in `kernel.txt` if not given.
    pub rules: Option<Rules>,
    /// The rules of compaction; those of the time of `rules` if not given.
    pub compaction: Option<CompactRules>,
    /// Take from the recording itself which pages could be moved. What remains to be compared is where
    /// the scanners go, what they count, and which targets they take.
    pub hindsight: bool,
}

/// The state of a machine when compaction begins, and the recorded run.
#[derive(Clone, Debug)]
pub struct Image {
    pub(super) rules: Rules,
    pub(super) before: Snapshot,
    pub(super) after: Snapshot,
    pub(super) cpus: u16,
    pub(super) pageblock_order: Order,
    pub(super) frames: Vec<Contents>,
    /// Free blocks, those at the lists' tails first.
    pub(super) free: Vec<(Pfn, Order)>,
    /// Blocks on per-CPU lists, oldest first.
    pub(super) cached: Vec<(Pfn, u16, Order)>,
    /// Pages that the compacting CPU freed in a row before (`free_count` of its lists).
    pub(super) freed_in_a_row: u64,
    /// Pageblocks by their first frame.
    pub(super) types: Vec<(Pfn, MigrateType)>,
    pub(super) unknown: Vec<Unknown>,
    pub(super) run: RecordedRun,
    /// Frames that were free when the run had ended, if that is known.
    pub(super) free_at_end: Option<Vec<bool>>,
    pub(super) shape: Shape,
}

impl Image {
    /// Read a recording.
    ///
    /// # Errors
    /// A file is missing or damaged, or shows no run of compaction from a known state.
    pub fn load(folder: &Path, options: &ImageOptions) -> Result<Self, ImageError> {
        let missing = |file| ImageError::Missing { folder: folder.to_owned(), file };
        let before = Snapshot::load(folder, "before")?;
        let flags = before.kpageflags.as_ref().ok_or_else(|| missing("kpageflags.before"))?;
        if before.zoneinfo.is_none() {
            return Err(missing("zoneinfo.before.txt"));
        }
        if before.pagetypeinfo.is_none() {
            return Err(missing("pagetypeinfo.before.txt"));
        }
        let traces = ["trace.txt", "trace.txt.gz"].map(|name| folder.join(name));
        let trace =
            traces.iter().find(|path| path.is_file()).ok_or_else(|| missing("trace.txt"))?;
        let rules = match options.rules {
            Some(rules) => rules,
            None => rules_of(folder)?.unwrap_or_default(),
        };
        let moment = before_compaction(open(trace)?, &before, rules)?;
        if moment.lost > 0 {
            return Err(ImageError::Lost(moment.lost));
        }
        let shape = moment.knowledge.shape();
        let end = shape.zones.iter().map(|(_, span)| span.end).max().unwrap_or_default();
        if (flags.len() as u64) < end.0 {
            let (folder, at) = (folder.to_owned(), Pfn(flags.len() as u64));
            return Err(ImageError::ShortFlags { folder, at, end });
        }
        let run = RecordedRun::find(&moment.rest, folder)?;
        let after = Snapshot::load(folder, "after")?;
        let mut image = Self {
            rules,
            free_at_end: moment.free_after(run.end, &after),
            shape: shape.clone(),
            after,
            cpus: u16::try_from(shape.cpus).unwrap_or(u16::MAX),
            pageblock_order: shape.pageblock_order,
            frames: vec![Contents::Reserved; end.index()],
            free: Vec::new(),
            cached: moment.cached(run.end),
            freed_in_a_row: 0,
            types: Vec::new(),
            unknown: Vec::new(),
            run,
            before,
        };
        image.fill(&moment);
        let (types, inferred) = pageblock_types(&moment, &image.before);
        image.types = types;
        image.note(
            "pageblocks whose type follows from what lies in them and the counts of pagetypeinfo",
            Some(inferred),
            "a pageblock that is not movable is no target: 512 frames more or less are scanned",
        );
        image.fill_lists(&moment);
        if options.hindsight {
            image.correct(&moment);
        }
        Ok(image)
    }

    /// The recorded run.
    #[must_use]
    pub fn recorded(&self) -> &RecordedRun {
        &self.run
    }

    /// What the image cannot tell.
    #[must_use]
    pub fn unknown(&self) -> &[Unknown] {
        &self.unknown
    }

    /// What a frame holds; [`Contents::Reserved`] outside all zones.
    #[must_use]
    pub fn contents(&self, pfn: Pfn) -> Contents {
        self.frames.get(pfn.index()).copied().unwrap_or(Contents::Reserved)
    }

    pub(super) fn note(&mut self, what: &'static str, count: Option<u64>, effect: &'static str) {
        if count != Some(0) {
            self.unknown.push(Unknown { what, count, effect });
        }
    }

    pub(super) fn put(&mut self, pfn: Pfn, order: Order, contents: Contents) {
        let end = (pfn.index() + order.pages() as usize).min(self.frames.len());
        self.frames[pfn.index()..end].fill(Contents::Inside);
        self.frames[pfn.index()] = contents;
    }

    /// Every frame of every zone.
    fn fill(&mut self, moment: &Moment) {
        let (mut movable, mut kernel, mut batched, mut unordered) = (0, 0, 0, 0);
        let mut free = Vec::new();
        for (_, span) in &moment.knowledge.shape().zones {
            let mut at = span.start;
            while at < span.end {
                let pfn = at;
                at = at.add(1);
                match moment.knowledge.frame(pfn) {
                    FrameKnowledge::Free { order, place, .. } => {
                        unordered += u64::from(place == 0);
                        free.push((place, pfn, order));
                        self.put(pfn, order, Contents::Free(order));
                        at = pfn.add(order.pages());
                    }
                    FrameKnowledge::Cached { order, .. } if fits(pfn, order, span.end) => {
                        self.put(pfn, order, Contents::Cached(order));
                        at = pfn.add(order.pages());
                    }
                    FrameKnowledge::Allocated(_) if moment.handed_out.contains_key(&pfn) => {
                        let (order, gfp) = moment.handed_out[&pfn];
                        let order = if fits(pfn, order, span.end) { order } else { Order::ZERO };
                        let contents = handed_out(order, gfp);
                        *if matches!(contents, Contents::Lru(_)) {
                            &mut movable
                        } else {
                            &mut kernel
                        } += order.pages();
                        self.put(pfn, order, contents);
                        at = pfn.add(order.pages());
                    }
                    FrameKnowledge::Unknown | FrameKnowledge::NotFree => {
                        let flags = self.before.flags(pfn).unwrap_or(kpf::NOPAGE);
                        let order = self.order_of(pfn, span.end);
                        let contents = from_flags(flags, order);
                        if let Contents::Lru(_) = contents {
                            batched += u64::from(flags & kpf::LRU == 0);
                        }
                        self.put(pfn, order, contents);
                        at = pfn.add(order.pages());
                    }
                    // Between two owners.
                    _ => self.put(pfn, Order::ZERO, Contents::Fixed),
                }
            }
        }
        self.place_cached(moment);
        free.sort_by_key(|(place, pfn, _)| (-place, *pfn));
        self.free = free.into_iter().map(|(_, pfn, order)| (pfn, order)).collect();
        let bare = (0..self.frames.len() as u64).map(Pfn).filter(|pfn| {
            self.contents(*pfn) == Contents::Fixed && self.before.flags(*pfn) == Some(0)
        });
        let bare = bare.count() as u64;
        self.notes(moment, [movable, kernel, batched, bare, unordered]);
    }

    /// Blocks that only their drain names: they lie where nothing else is known to be.
    fn place_cached(&mut self, moment: &Moment) {
        for (pfn, cpu, order) in std::mem::take(&mut self.cached) {
            let Some(z) = moment.knowledge.zone_of(pfn) else { continue };
            let frames = pfn.index()..pfn.index() + order.pages() as usize;
            if self.contents(pfn) != Contents::Cached(order) {
                let fits = fits(pfn, order, moment.knowledge.shape().zones[z].1.end);
                if !fits || self.frames[frames].iter().any(|frame| *frame != Contents::Fixed) {
                    continue;
                }
                self.put(pfn, order, Contents::Cached(order));
            }
            self.cached.push((pfn, cpu, order));
        }
    }

    fn notes(&mut self, moment: &Moment, counts: [u64; 5]) {
        let [movable, kernel, batched, bare, unordered] = counts;
        self.note(
            "pages handed out since kpageflags was read, movable by their gfp flags",
            Some(movable),
            "taken for pages on an LRU list: one that is not is a source too many",
        );
        self.note(
            "pages handed out since kpageflags was read, not movable by their gfp flags",
            Some(kernel),
            "taken for fixed: one that is on an LRU list is a source too few",
        );
        self.note(
            "pages of processes that wait in a batch to be put on an LRU list",
            Some(batched),
            "taken for pages on it: compact_memory begins with a drain of these batches",
        );
        self.note(
            "frames in use of which kpageflags says nothing",
            Some(bare),
            "kernel pages and pages on per-CPU lists look alike: all are taken for fixed, but for those that events show; \
             one that is drained meanwhile is free in the recording only",
        );
        self.note(
            "free blocks whose place on their list is not known",
            Some(unordered),
            "none on compact_memory, which goes by addresses; only the lists afterwards differ",
        );
        self.note(
            "anonymous pages that somebody holds",
            None,
            "kpageflags does not show references: each is a source too many",
        );
        self.note(
            "what happened between the reading of kpageflags and the first event",
            None,
            "pages freed and written meanwhile (by the program that reads /proc, above all) are not seen",
        );
        self.note(
            "events up to the begin of compaction that the rules do not explain",
            Some(moment.unexplained),
            "the frames that they name may be in another state",
        );
    }

    /// The size of what heads at `pfn`: a head and the tails that follow it.
    fn order_of(&self, pfn: Pfn, end: Pfn) -> Order {
        let is = |pfn, bit| self.before.flags(pfn).is_some_and(|flags| flags & bit != 0);
        if !is(pfn, kpf::HEAD) {
            return Order::ZERO;
        }
        let mut pages = 1;
        while pfn.0 + pages < end.0 && is(pfn.add(pages), kpf::TAIL) {
            pages += 1;
        }
        let order = u8::try_from(pages.ilog2()).ok().and_then(Order::new).unwrap_or(Order::MAX);
        if pfn.is_aligned(order) { order } else { Order::ZERO }
    }
}

/// Whether there can be such a block in a zone that ends at `end`.
fn fits(pfn: Pfn, order: Order, end: Pfn) -> bool {
    pfn.is_aligned(order) && pfn.add(order.pages()) <= end
}

/// What a block that was handed out holds, by what was asked for.
fn handed_out(order: Order, gfp: Gfp) -> Contents {
    if gfp.contains(Gfp::MOVABLE) {
        Contents::Lru(LruUse { order, ..LruUse::ANON })
    } else if order > Order::ZERO && gfp.contains(Gfp::COMP) {
        Contents::Compound(order)
    } else {
        Contents::Fixed
    }
}

/// What a frame holds that is not free, by its flags.
fn from_flags(flags: u64, order: Order) -> Contents {
    let is = |bits| flags & bits != 0;
    if is(kpf::NOPAGE | kpf::RESERVED) {
        return Contents::Reserved;
    }
    // Slab pages use the fields otherwise, and free ones were freed since.
    if is(kpf::SLAB | kpf::BUDDY) {
        return if order > Order::ZERO { Contents::Compound(order) } else { Contents::Fixed };
    }
    if is(kpf::LRU) || is(kpf::MMAP | kpf::ANON | kpf::SWAPBACKED) {
        return Contents::Lru(LruUse {
            order,
            anon: is(kpf::ANON),
            writeback: is(kpf::WRITEBACK),
            unevictable: is(kpf::UNEVICTABLE),
            ..LruUse::ANON
        });
    }
    if order > Order::ZERO { Contents::Compound(order) } else { Contents::Fixed }
}
