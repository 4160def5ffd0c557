//! What could have been had: an oracle that may move any movable page to any free frame.

use super::case::{Case, Kind, Scan};
use super::owner::Owner;
use mmspec_model::contract::CompactResult;
use mmspec_model::vocab::{Pfn, ZoneState};

/// How often runs found a block where one could have been made. A rate, not a law: scanners meet in the
/// middle, only Movable pageblocks give targets, and watermarks refuse (compaction.md §9.8).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Completeness {
    /// Runs for an order that ended, where a block could have been made.
    pub possible: u64,
    /// Of these, those that ended in success.
    pub found: u64,
}

impl Completeness {
    /// Whether a block of the run's order could be made in its zone: some aligned place there holds movable
    /// and free frames only, and there are as many free frames elsewhere as pages to move.
    pub(super) fn asks(&self, case: &Case, owner: &Owner, zone: &ZoneState, scan: &Scan) -> bool {
        let Some(order) = scan.order.filter(|_| scan.signal.is_none() && !scan.contended) else {
            return false;
        };
        let span = case.zones[usize::from(scan.zone)];
        let pages = owner.pages();
        let size = order.pages();
        let free: u64 = zone
            .nr_free
            .iter()
            .enumerate()
            .map(|(order, types)| types.iter().sum::<u64>() << order)
            .sum();
        let first = span.start.0.next_multiple_of(size);
        let mut at = first;
        while at + size <= span.end.0 {
            let (mut movable, mut fixed) = (0, false);
            for pfn in at..at + size {
                match pages.get(&Pfn(pfn)).map(|page| page.kind) {
                    None => {}
                    Some(Kind::Movable | Kind::File | Kind::Again(_) | Kind::Locked) => {
                        movable += 1
                    }
                    Some(_) => fixed = true,
                }
            }
            if !fixed && free >= size && free - (size - movable) >= movable {
                return true;
            }
            at += size;
        }
        false
    }

    /// A run ended.
    pub(super) fn counts(&mut self, could: bool, result: CompactResult) {
        if could {
            self.possible += 1;
            self.found += u64::from(result == CompactResult::Success);
        }
    }

    /// Together with another's.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self { possible: self.possible + other.possible, found: self.found + other.found }
    }
}
