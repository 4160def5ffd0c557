//! One run over a zone, iteration by iteration (compaction.md §1.4).

use super::{
    Compactor, Goal, Place,
    sources::Sources,
    state::{CompactZone, Count, Span},
};
use crate::{
    frame::Allocated,
    geometry::Geometry,
    list::List,
    platform::{Platform, Word},
    storage::Backing,
};
use mmspec_model::{
    contract::{CompactEvent, CompactMode, CompactResult},
    vocab::{
        CompactFeatures, CompactFixes, CpuId, MigrateType, NR_PAGE_ORDERS, Order, Pfn, ZoneIdx,
    },
};

/// Whether the migrate scanner has an earliest free block of the fast search to fall back to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum FastStart {
    None,
    At(Place),
    Used,
}

/// What one run of a zone holds (the control record). It owns the targets that it isolated: step it
/// until it ends, or hand it to [`Compactor::abandon`].
#[derive(Debug)]
#[must_use = "a run owns pages until it has ended"]
pub struct Run {
    pub(super) cpu: CpuId,
    pub(super) zone: usize,
    pub(super) goal: Goal,
    pub(super) span: Span,
    pub(super) migrate: Place,
    pub(super) free: Place,
    /// Isolated sources.
    pub(super) sources: Sources,
    /// Isolated targets by order, and their pages.
    pub(super) targets: [List; NR_PAGE_ORDERS],
    pub(super) nr_targets: u32,
    pub(super) fast_start: FastStart,
    pub(super) fast_search_fail: u32,
    pub(super) search_order: u8,
    pub(super) migrate_scanned: u64,
    pub(super) free_scanned: u64,
    pub(super) whole_zone: bool,
    pub(super) contended: bool,
    /// Isolate to the end of the pageblock, whatever the batch.
    pub(super) finish_pageblock: bool,
    /// Up to 5.0: end after the pageblock.
    pub(super) finishing_block: bool,
    /// Where pages were last migrated from that may not have reached the free lists.
    last_migrated: Option<Place>,
    update_cached: bool,
    captured: Option<Pfn>,
    result: Option<CompactResult>,
}

impl Run {
    /// A run that has not begun, for a zone that is yet to be told.
    pub(super) fn new(cpu: CpuId, zone: usize, goal: Goal, span: Span) -> Self {
        Self {
            cpu,
            zone,
            goal,
            span,
            migrate: span.start,
            free: span.last_block(),
            sources: Sources::EMPTY,
            targets: [List::EMPTY; NR_PAGE_ORDERS],
            nr_targets: 0,
            fast_start: FastStart::None,
            fast_search_fail: 0,
            search_order: goal.order.map_or(0, Order::get),
            migrate_scanned: 0,
            free_scanned: 0,
            whole_zone: goal.whole_zone,
            contended: false,
            finish_pageblock: false,
            finishing_block: false,
            last_migrated: None,
            update_cached: false,
            captured: None,
            result: None,
        }
    }

    /// Take over what a control record that serves several zones carries from one to the next
    /// (compaction.md §1.10).
    pub(super) fn inherit(&mut self, before: &Self) {
        self.whole_zone |= before.whole_zone;
        self.contended = before.contended;
        self.fast_search_fail = before.fast_search_fail;
        self.search_order = before.search_order;
        (self.migrate_scanned, self.free_scanned) = (before.migrate_scanned, before.free_scanned);
    }

    /// The zone.
    pub fn zone(&self) -> ZoneIdx {
        ZoneIdx(self.zone as u8)
    }

    /// How it ended, once it has.
    pub fn result(&self) -> Option<CompactResult> {
        self.result
    }

    /// The block that was captured for the caller, if one was.
    pub fn captured(&self) -> Option<Pfn> {
        self.captured
    }

    /// The block that was captured for the caller, whose it is from now on.
    pub fn take_captured(&mut self) -> Option<Pfn> {
        self.captured.take()
    }

    /// Isolated pages that the run holds: sources, targets.
    pub fn isolated(&self) -> (u32, u32) {
        (self.sources.pages(), self.nr_targets)
    }

    /// Frames that count as scanned so far: for sources, for targets.
    pub fn scanned(&self) -> (u64, u64) {
        (self.migrate_scanned, self.free_scanned)
    }
}

/// What the migrate scanner came back with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Isolated {
    Abort,
    None,
    Some,
}

/// How the migration of a batch went.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Moved {
    All,
    /// Some pages could not be moved.
    Failed,
    /// There was no target page.
    NoTarget,
}

impl<P: Platform, B: Backing> Compactor<'_, P, B> {
    pub(super) fn has(&self, feature: CompactFeatures) -> bool {
        self.state.rules.has(feature)
    }

    pub(super) fn fixed(&self, fix: CompactFixes) -> bool {
        self.state.rules.fixed(fix)
    }

    pub(super) fn geometry(&self) -> &Geometry {
        &self.pages.geometry
    }

    /// The frame number of a place.
    pub(super) fn pfn(&self, at: Place) -> Pfn {
        Pfn((self.geometry().base as i64 + at).max(0) as u64)
    }

    /// The place of a cached frame number.
    fn place(&self, word: &P::Word) -> Place {
        word.load() as i64 - self.geometry().base as i64
    }

    pub(super) fn store(&self, word: &P::Word, at: Place) {
        word.store(self.pfn(at).0);
    }

    /// How a place compares with a cached frame number.
    pub(super) fn cmp_cached(&self, word: &P::Word, at: Place) -> core::cmp::Ordering {
        at.cmp(&self.place(word))
    }

    pub(super) fn reset_cached(&self, zone: &CompactZone<P>, migrate: Place, free: Place) {
        self.store(&zone.cached_migrate[0], migrate);
        self.store(&zone.cached_migrate[1], migrate);
        self.store(&zone.cached_free, free);
    }

    /// Where the migrate scanner and the free scanner of a run are.
    pub fn positions(&self, run: &Run) -> (Pfn, Pfn) {
        (self.pfn(run.migrate), self.pfn(run.free))
    }

    /// Begin a run over a zone for `goal` on `cpu`.
    ///
    /// # Errors
    /// There is nothing to do (`Success`), or no sense in it (`Skipped`). Nothing was counted.
    pub fn begin(&self, cpu: CpuId, zone: ZoneIdx, goal: Goal) -> Result<Run, CompactResult> {
        let at = zone.index();
        let mut run = Run::new(cpu, at, goal, self.span(at));
        self.enter(&mut run)?;
        Ok(run)
    }

    /// Steps 1 to 6 for the zone of `run`, whose other fields may come from a run before.
    pub(super) fn enter(&self, run: &mut Run) -> Result<(), CompactResult> {
        let verdict = self.verdict(run.zone, &run.goal);
        if verdict != CompactResult::Continue {
            return Err(verdict);
        }
        if self.fixed(CompactFixes::RESET_TOTALS) {
            (run.migrate_scanned, run.free_scanned) = (0, 0);
        }
        let zone = self.state.zone(run.zone);
        if run.goal.order.is_some_and(|order| zone.is_restarting(order.get())) {
            self.flush(run.zone);
        }
        self.place_scanners(run, zone);
        run.fast_start = FastStart::None;
        run.last_migrated = None;
        (run.captured, run.result) = (None, None);
        let cached = [self.place(&zone.cached_migrate[0]), self.place(&zone.cached_migrate[1])];
        run.update_cached =
            self.has(CompactFeatures::F15) && run.goal.is_async() && cached[0] == cached[1];
        self.owner.trace(CompactEvent::Begin {
            zone: run.zone(),
            migrate: self.pfn(run.migrate),
            free: self.pfn(run.free),
            mode: run.goal.mode,
        });
        self.owner.drain_lru();
        Ok(())
    }

    /// Step 4: where the scanners begin.
    fn place_scanners(&self, run: &mut Run, zone: &CompactZone<P>) {
        let span = run.span;
        if run.goal.whole_zone {
            (run.migrate, run.free) = (span.start, span.last_block());
            return;
        }
        run.migrate = self.place(&zone.cached_migrate[usize::from(!run.goal.is_async())]);
        run.free = self.place(&zone.cached_free);
        if !span.contains(run.free) {
            run.free = span.last_block();
            self.store(&zone.cached_free, run.free);
        }
        if !span.contains(run.migrate) {
            run.migrate = span.start;
            self.store(&zone.cached_migrate[0], run.migrate);
            self.store(&zone.cached_migrate[1], run.migrate);
        }
        // Never taken back: a record that serves several zones carries it on.
        run.whole_zone |= if self.has(CompactFeatures::F21) {
            self.cmp_cached(&zone.init_migrate, run.migrate).is_le()
        } else {
            run.migrate == span.start
        };
    }

    /// One iteration of a run (step 7): isolate, migrate, perhaps drain. How the run ended, if it did.
    pub fn step(&self, run: &mut Run) -> Option<CompactResult> {
        if run.result.is_some() {
            return run.result;
        }
        let test = self.finish_test(run);
        if test != CompactResult::Continue {
            return Some(self.end(run, test));
        }
        let captures = self.arm(run);
        let ended = self.iterate(run, captures);
        if captures && run.captured.is_none() {
            run.captured = self.withdraw(run);
        }
        ended.map(|result| self.end(run, result))
    }

    /// Whether the run waits for a block of its order, which whatever is freed on its CPU may make.
    fn arm(&self, run: &Run) -> bool {
        let Some(order) = run.goal.order else { return false };
        if !self.has(CompactFeatures::F22) || !run.goal.direct || run.captured.is_some() {
            return false;
        }
        let takes_movable =
            self.fixed(CompactFixes::LARGE_FOLIOS) && run.goal.migratetype == MigrateType::Movable;
        let diff = &self.pages.slot(run.cpu, run.zone).diff;
        let _locked = self.pages.zone(run.zone).lock(self.pages.tables(), diff);
        diff.capture.arm(order.get(), takes_movable);
        true
    }

    /// Withdraw the record before its result is read.
    fn withdraw(&self, run: &Run) -> Option<Pfn> {
        let diff = &self.pages.slot(run.cpu, run.zone).diff;
        let _locked = self.pages.zone(run.zone).lock(self.pages.tables(), diff);
        let frame = diff.capture.withdraw()?;
        let order = run.goal.order?.get();
        let movable = run.goal.migratetype == MigrateType::Movable;
        self.pages.tables().hand_out(frame, Allocated { order, movable });
        Some(self.geometry().pfn(frame))
    }

    fn has_captured(&self, run: &mut Run, captures: bool) -> bool {
        if captures && run.captured.is_none() {
            run.captured = self.withdraw(run);
            if run.captured.is_none() {
                self.arm(run);
            }
        }
        run.captured.is_some()
    }

    fn iterate(&self, run: &mut Run, captures: bool) -> Option<CompactResult> {
        let start = run.migrate;
        run.finish_pageblock = self.has(CompactFeatures::F12)
            && run.last_migrated.map_or(self.pfn(start).0 >> run.span.shift == 0, |last| {
                run.span.block_start(last) == run.span.block_start(start)
            });
        loop {
            match self.isolate_sources(run) {
                Isolated::Abort => {
                    self.put_back_sources(run);
                    return Some(CompactResult::Contended);
                }
                Isolated::None => {
                    if run.update_cached {
                        let zone = self.state.zone(run.zone);
                        zone.cached_migrate[1].store(zone.cached_migrate[0].load());
                    }
                    break;
                }
                Isolated::Some => {
                    run.update_cached = false;
                    self.note_migrated(run, start);
                    match self.move_sources(run) {
                        Moved::All => {}
                        failed => {
                            if failed == Moved::NoTarget && !self.scanners_met(run) {
                                return Some(CompactResult::Contended);
                            }
                            if self.scans_on(run) {
                                continue;
                            }
                        }
                    }
                    if self.fixed(CompactFixes::FINISH_FAILED) && self.has_captured(run, captures) {
                        return Some(CompactResult::Success);
                    }
                    break;
                }
            }
        }
        self.drain(run);
        if !self.fixed(CompactFixes::FINISH_FAILED) && self.has_captured(run, captures) {
            return Some(CompactResult::Success);
        }
        None
    }

    /// Pages are about to be migrated: from which pageblock.
    fn note_migrated(&self, run: &mut Run, start: Place) {
        if self.fixed(CompactFixes::EXACT_POSITIONS) {
            run.last_migrated = Some(run.span.block_start(run.migrate - 1).max(run.span.start));
        } else if self.has(CompactFeatures::F03) {
            run.last_migrated = Some(start);
        } else if run.last_migrated.is_none() {
            run.last_migrated = run.sources.lowest();
        }
    }

    /// After a failure: whether to isolate again, to the end of the pageblock.
    fn scans_on(&self, run: &mut Run) -> bool {
        let goal = run.goal;
        if !self.fixed(CompactFixes::FINISH_FAILED) {
            if goal.direct
                && goal.is_async()
                && let Some(order) = goal.order
            {
                // What is left of the order-aligned part would be in vain.
                let part = 1 << order.get();
                run.migrate = (run.migrate - 1) / part * part + part;
                run.last_migrated = None;
            }
            return false;
        }
        let worth = if self.fixed(CompactFixes::MARK_REPRESENTATIVE) {
            !run.span.is_block_start(run.migrate) && !goal.ignore_skip_hint
        } else {
            goal.direct
        };
        if !worth || run.finish_pageblock || goal.mode >= CompactMode::Sync {
            return false;
        }
        run.finish_pageblock = true;
        // The pages of a huge block would not be drained for a request that failed.
        if goal.order.is_some_and(|order| order.get() == run.span.shift) {
            run.last_migrated = None;
        }
        true
    }

    /// Step e: pages migrated from the order-aligned part before this one reach the free lists, so that
    /// they merge.
    fn drain(&self, run: &mut Run) {
        let (Some(order), Some(last)) = (run.goal.order, run.last_migrated) else { return };
        let part = 1 << order.get();
        if last < run.migrate / part * part {
            self.owner.drain_lru();
            self.pages.drain_own_lists(run.cpu, run.zone);
            run.last_migrated = None;
        }
    }

    /// Step 8: give back what is left, and count.
    fn end(&self, run: &mut Run, result: CompactResult) -> CompactResult {
        self.put_back_sources(run);
        if let Some(highest) = self.release_targets(run) {
            // The free scanner passed over these: it begins there again.
            let zone = self.state.zone(run.zone);
            let highest = run.span.block_start(highest);
            if highest > self.place(&zone.cached_free) {
                self.store(&zone.cached_free, highest);
            }
        }
        self.state.count(Count::MigrateScanned, run.migrate_scanned);
        self.state.count(Count::FreeScanned, run.free_scanned);
        // Proactive runs count as the daemon's since about 6.7 (§6.1).
        let proactive = run.goal.proactive.is_some() && self.fixed(CompactFixes::EXACT_POSITIONS);
        if !run.goal.direct && (run.goal.order.is_some() || proactive) {
            self.state.count(Count::DaemonMigrateScanned, run.migrate_scanned);
            self.state.count(Count::DaemonFreeScanned, run.free_scanned);
        }
        self.owner.trace(CompactEvent::End {
            zone: run.zone(),
            migrate: self.pfn(run.migrate),
            free: self.pfn(run.free),
            result,
        });
        run.result = Some(result);
        result
    }

    /// End a run before its time; what it isolated goes back.
    pub fn abandon(&self, mut run: Run) {
        if run.result.is_none() {
            self.end(&mut run, CompactResult::Contended);
        }
        if let (Some(pfn), Some(order)) = (run.take_captured(), run.goal.order) {
            self.pages.free_pages(run.cpu, pfn, order);
        }
    }

    /// Step a run to its end.
    pub(super) fn finish(&self, run: &mut Run) -> CompactResult {
        loop {
            if let Some(result) = self.step(run) {
                return result;
            }
        }
    }
}
