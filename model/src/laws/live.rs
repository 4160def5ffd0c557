//! What the callers hold, as the harness keeps it.

use crate::contract::Run;
use crate::vocab::{Order, Pfn};
use alloc::collections::BTreeMap;

/// A block that a caller holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LiveBlock {
    /// Its order.
    pub order: Order,
    /// It was asked for as movable memory.
    pub movable: bool,
}

/// The blocks that callers hold.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Live {
    blocks: BTreeMap<Pfn, LiveBlock>,
    pages: u64,
}

impl Live {
    /// The first held block that shares a frame with `pfn`@`order`.
    #[must_use]
    pub fn overlapping(&self, pfn: Pfn, order: Order) -> Option<(Pfn, LiveBlock)> {
        // Held blocks are disjoint, so only the last one that starts before the end can reach in.
        let (start, block) = self.blocks.range(..pfn.add(order.pages())).next_back()?;
        (start.0 + block.order.pages() > pfn.0).then_some((*start, *block))
    }

    /// Note that a block was handed out. An overlapping block replaces what it starts on, so that
    /// a run can go on after a violation.
    pub fn insert(&mut self, pfn: Pfn, block: LiveBlock) {
        self.pages += block.order.pages();
        if let Some(old) = self.blocks.insert(pfn, block) {
            self.pages -= old.order.pages();
        }
    }

    /// Note that the block at `pfn` was given back.
    pub fn remove(&mut self, pfn: Pfn) -> Option<LiveBlock> {
        let block = self.blocks.remove(&pfn)?;
        self.pages -= block.order.pages();
        Some(block)
    }

    /// The block at `pfn`.
    #[must_use]
    pub fn get(&self, pfn: Pfn) -> Option<LiveBlock> {
        self.blocks.get(&pfn).copied()
    }

    /// Whether the frame belongs to a held block that was asked for as movable.
    #[must_use]
    pub fn is_movable(&self, pfn: Pfn) -> bool {
        self.overlapping(pfn, Order::ZERO).is_some_and(|(_, block)| block.movable)
    }

    /// All blocks, ascending.
    pub fn iter(&self) -> impl Iterator<Item = (Pfn, LiveBlock)> + '_ {
        self.blocks.iter().map(|(pfn, block)| (*pfn, *block))
    }

    /// Frames held.
    #[must_use]
    pub const fn pages(&self) -> u64 {
        self.pages
    }

    /// Blocks held.
    #[must_use]
    pub fn len(&self) -> usize {
        self.blocks.len()
    }

    /// Whether nothing is held.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }
}

/// The runs that callers hold, of any length.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Runs {
    by_start: BTreeMap<u64, u64>,
    units: u64,
}

impl Runs {
    /// The last held run that shares a unit with `run`.
    #[must_use]
    pub fn overlapping(&self, run: Run) -> Option<Run> {
        // Held runs are disjoint, so only the last one that starts before the end can reach in.
        let (start, len) = self.by_start.range(..run.end()).next_back()?;
        let held = Run::new(*start, *len);
        held.overlaps(run).then_some(held)
    }

    /// Note that a run was handed out; one with the same start is replaced.
    pub fn insert(&mut self, run: Run) {
        self.units += run.len;
        if let Some(old) = self.by_start.insert(run.start, run.len) {
            self.units -= old;
        }
    }

    /// Note that the run at `start` was given back.
    pub fn remove(&mut self, start: u64) -> Option<Run> {
        let len = self.by_start.remove(&start)?;
        self.units -= len;
        Some(Run::new(start, len))
    }

    /// All runs, ascending.
    pub fn iter(&self) -> impl Iterator<Item = Run> + '_ {
        self.by_start.iter().map(|(start, len)| Run::new(*start, *len))
    }

    /// Units held.
    #[must_use]
    pub const fn units(&self) -> u64 {
        self.units
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlap_is_seen_from_both_sides_and_inside() {
        let mut live = Live::default();
        live.insert(Pfn(8), LiveBlock { order: Order::of(2), movable: true });
        for (pfn, order, overlaps) in [
            (0, 3, false),
            (0, 4, true),
            (8, 0, true),
            (11, 0, true),
            (12, 2, false),
            (10, 1, true),
        ] {
            assert_eq!(live.overlapping(Pfn(pfn), Order::of(order)).is_some(), overlaps, "{pfn}");
        }
        assert!(live.is_movable(Pfn(9)) && !live.is_movable(Pfn(12)));
        assert_eq!((live.pages(), live.len()), (4, 1));
        assert!(live.remove(Pfn(8)).is_some() && live.remove(Pfn(8)).is_none());
        assert!(live.is_empty() && live.pages() == 0);
    }

    #[test]
    fn runs_overlap_as_blocks_do() {
        let mut held = Runs::default();
        held.insert(Run::new(8, 5));
        for (start, len, overlaps) in
            [(0, 8, false), (0, 9, true), (12, 1, true), (13, 4, false), (9, 2, true)]
        {
            assert_eq!(held.overlapping(Run::new(start, len)).is_some(), overlaps, "{start}");
        }
        held.insert(Run::new(8, 3));
        assert_eq!((held.units(), held.iter().count()), (3, 1));
        assert_eq!(held.remove(8), Some(Run::new(8, 3)));
        assert_eq!((held.units(), held.remove(8)), (0, None));
    }
}
