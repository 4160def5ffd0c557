//! The arithmetic of suitability, recomputed (compaction.md §1.8).

use crate::vocab::{AllocFlags, Mark, NR_PAGE_ORDERS, Order, Rules, ZoneKind, ZoneState};

/// `sysctl_extfrag_threshold`.
const EXTFRAG_THRESHOLD: i64 = 500;

/// Pages that must be free for a run to have room (compact_gap).
const fn compact_gap(order: Order) -> u64 {
    2 << order.get()
}

/// Free blocks in numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Blocks {
    /// Free blocks by order, whatever their type.
    pub(super) by_order: [u64; NR_PAGE_ORDERS],
}

impl Blocks {
    /// Those of a zone.
    pub(super) fn of(zone: &ZoneState) -> Self {
        Self { by_order: zone.nr_free.map(|types| types.iter().sum()) }
    }

    fn pages(&self) -> u64 {
        self.by_order.iter().enumerate().map(|(order, blocks)| blocks << order).sum()
    }

    /// The fragmentation index in thousandths.
    fn fragmentation_index(&self, order: Order) -> i64 {
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
}

/// Whether a zone is suitable for a run for `order` within zones up to `highest`.
pub(super) fn is_suitable(
    rules: &Rules,
    zone: &ZoneState,
    order: Order,
    highest: ZoneKind,
) -> bool {
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
}
