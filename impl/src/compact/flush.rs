//! Clearing skip bits (compaction.md §1.12).

use super::{Compactor, Place, state::Span};
use crate::{
    platform::{Platform, Word},
    storage::Backing,
};
use mmspec_model::{
    contract::PageUse,
    vocab::{CompactFeatures, CompactFixes, MigrateType, NodeId},
};

/// Frames between two samples of a pageblock.
const SAMPLE: usize = 8;

/// What a pageblock is looked at for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum For {
    Source,
    Target,
}

impl<P: Platform, B: Backing> Compactor<'_, P, B> {
    /// kswapd is about to sleep: the node's zones whose scanners met begin anew.
    pub fn flush_node(&self, node: NodeId) {
        for zone in 0..self.pages.zones().len() {
            if self.pages.zone(zone).info.node == node && self.state.zone(zone).flush.load() != 0 {
                self.flush(zone);
            }
        }
    }

    /// A request of the zone was served: there is no need to begin anew.
    pub(super) fn cancel_flush(&self, zone: usize) {
        self.state.zone(zone).flush.store(0);
    }

    pub(super) fn flush(&self, zone: usize) {
        if self.has(CompactFeatures::F21) {
            self.flush_selectively(zone);
        } else {
            self.flush_all(zone);
        }
    }

    /// Up to 5.0: all bits but those of pageblocks that one compound page fills.
    fn flush_all(&self, zone: usize) {
        let span = self.span(zone);
        self.state.zone(zone).flush.store(0);
        let mut block = span.block_start(span.start);
        while block < span.end {
            if !self.is_huge(&span, block) {
                self.state.clear_skip(span.number(block));
            }
            block += span.pageblock();
        }
        self.reset_cached(self.state.zone(zone), span.start, span.last_block());
    }

    fn is_huge(&self, span: &Span, block: Place) -> bool {
        let frame = block.max(span.start) as u32;
        let allocated = self.pages.records().at(frame).allocated(frame);
        allocated.is_some_and(|block| block.order >= span.shift)
    }

    /// Since 5.1: two cursors towards each other, which clear where there is something to do. The first
    /// source and the first target are where the scanners begin.
    fn flush_selectively(&self, zone: usize) {
        let record = self.state.zone(zone);
        if record.flush.load() == 0 {
            return;
        }
        record.flush.store(0);
        let span = self.span(zone);
        let (mut up, mut down) = (span.start, span.end - 1);
        let (mut source, mut target) = (None, None);
        while up < down {
            if self.reset_block(&span, up, For::Source, source.is_some()) && source.is_none() {
                source = Some(up);
                self.store(&record.init_migrate, up);
                self.store(&record.cached_migrate[0], up);
                self.store(&record.cached_migrate[1], up);
            }
            if self.reset_block(&span, down, For::Target, target.is_some()) && target.is_none() {
                target = Some(down);
                self.store(&record.init_free, span.block_start(down).max(span.start));
                self.store(&record.cached_free, span.block_start(down).max(span.start));
            }
            up = span.block_end(up);
            down = span.block_start(down) - 1;
        }
        let nothing = match (source, target) {
            (Some(source), Some(target)) => source >= target,
            _ => true,
        };
        if nothing {
            // No distance between them: the next run ends at once.
            self.reset_cached(record, up.min(span.end - 1), down.max(span.start));
        }
    }

    /// Clear the bit of a pageblock that may have sources (or targets); whether it qualifies. `known`: a
    /// first one was found.
    fn reset_block(&self, span: &Span, at: Place, what: For, known: bool) -> bool {
        let (start, end) = self.sampled(span, at);
        if !self.is_block(start, end) || self.is_huge(span, start) {
            return false;
        }
        let number = span.number(at);
        if known && !self.state.skips(number) {
            return true;
        }
        // The first target must be in a Movable pageblock.
        let tables = self.pages.tables();
        if !known && what == For::Target && tables.block_type(start as u32) != MigrateType::Movable
        {
            return false;
        }
        let holds = |at: Place| {
            let frame = at as u32;
            let state = tables.frame(frame);
            if state.is_free() {
                return what == For::Target || known;
            }
            let allocated = self.pages.records().at(frame).allocated(frame).is_some();
            what == For::Source
                && state.is_busy()
                && allocated
                && matches!(self.owner.page(self.pfn(at)), PageUse::Lru(_))
        };
        let found = (start..end).step_by(SAMPLE).any(holds);
        if found {
            self.state.clear_skip(number);
        }
        found
    }

    /// The frames that samples are taken of. Up to 5.3 they may reach to the first of the next pageblock
    /// (C10), as far as the zone does.
    fn sampled(&self, span: &Span, at: Place) -> (Place, Place) {
        let start = span.block_start(at).max(span.start);
        let bounded = self.fixed(CompactFixes::FLUSH_BOUNDS);
        let end = span.block_end(at) + Place::from(u8::from(!bounded));
        (start, end.min(span.end))
    }
}
