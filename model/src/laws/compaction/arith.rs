//! The arithmetic of suitability and deferral, recomputed (compaction.md §1.8).

use crate::vocab::{AllocFlags, Mark, NR_PAGE_ORDERS, Order, Rules, ZoneKind, ZoneState};

/// `sysctl_extfrag_threshold`.
const EXTFRAG_THRESHOLD: i64 = 500;

/// Pages that must be free for a run to have room (compact_gap).
#[must_use]
pub const fn compact_gap(order: Order) -> u64 {
    2 << order.get()
}

/// Free blocks in numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Blocks {
    /// Free blocks by order, whatever their type.
    pub by_order: [u64; NR_PAGE_ORDERS],
}

impl Blocks {
    /// Those of a zone.
    #[must_use]
    pub fn of(zone: &ZoneState) -> Self {
        Self { by_order: zone.nr_free.map(|types| types.iter().sum()) }
    }

    fn pages(&self) -> u64 {
        self.by_order.iter().enumerate().map(|(order, blocks)| blocks << order).sum()
    }

    /// The fragmentation index in thousandths.
    #[must_use]
    pub fn fragmentation_index(&self, order: Order) -> i64 {
        let blocks: u64 = self.by_order.iter().sum();
        if blocks == 0 {
            return 0;
        }
        if self.by_order[order.index()..].iter().any(|blocks| *blocks > 0) {
            return -1000;
        }
        let requested = 1 << order.get();
        1000 - ((1000 + self.pages() * 1000 / requested) / blocks) as i64
    }

    /// Free memory that is not in blocks of the order, in percent.
    #[must_use]
    pub fn external_fragmentation(&self, order: Order) -> u64 {
        let free = self.pages();
        if free == 0 {
            return 0;
        }
        let above = self.by_order.iter().enumerate().skip(order.index());
        let good: u64 = above.map(|(order, blocks)| blocks << order).sum();
        (free - good) * 100 / free
    }
}

/// Whether a zone is suitable for a run for `order` within zones up to `highest`.
#[must_use]
pub fn is_suitable(rules: &Rules, zone: &ZoneState, order: Order, highest: ZoneKind) -> bool {
    let costly = order > Order::COSTLY;
    let mark = if costly { Mark::Low } else { Mark::Min };
    let target = zone.marks[mark.index()] + zone.boost + compact_gap(order);
    let room =
        super::super::watermark::passes_order_zero(rules, zone, target, highest, AllocFlags::CMA);
    room && (!costly || {
        let index = Blocks::of(zone).fragmentation_index(order);
        !(0..=EXTFRAG_THRESHOLD).contains(&index)
    })
}

/// Deferral after `failures` failed runs in a row: how many attempts are left out.
#[must_use]
pub const fn deferral_after(failures: u32) -> u64 {
    (1 << if failures < 6 { failures } else { 6 }) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(counts: &[(usize, u64)]) -> Blocks {
        let mut blocks = Blocks::default();
        for (order, count) in counts {
            blocks.by_order[*order] = *count;
        }
        blocks
    }

    /// The vectors of compaction.md §1.8.
    #[test]
    fn fragmentation_index_of_the_fact_sheet() {
        let order = Order::of(9);
        for (counts, expected) in [
            (&[(0, 512)][..], 997),
            (&[(0, 64)], 983),
            (&[(6, 8)], 750),
            (&[(7, 4)], 500),
            (&[(5, 2)], 438),
            (&[(8, 3)], 167),
            (&[(0, 1), (8, 1)], 250),
            (&[(8, 1)], -500),
            (&[], 0),
        ] {
            assert_eq!(blocks(counts).fragmentation_index(order), expected, "{counts:?}");
        }
        assert_eq!(blocks(&[(9, 1)]).fragmentation_index(order), -1000);
    }

    #[test]
    fn external_fragmentation_counts_larger_blocks_as_what_they_hold() {
        let order = Order::of(9);
        assert_eq!(blocks(&[]).external_fragmentation(order), 0);
        assert_eq!(blocks(&[(0, 512)]).external_fragmentation(order), 100);
        assert_eq!(blocks(&[(0, 512), (9, 1)]).external_fragmentation(order), 50);
        assert_eq!(blocks(&[(0, 512), (10, 1)]).external_fragmentation(order), 33);
    }

    #[test]
    fn attempts_left_out_double_up_to_63() {
        assert_eq!([1, 2, 3, 4, 5, 6, 7].map(deferral_after), [1, 3, 7, 15, 31, 63, 63]);
    }
}
