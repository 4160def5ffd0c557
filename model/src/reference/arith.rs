//! Pure arithmetic of the specification, without state. The trace engine uses it as well.

use crate::vocab::{
    MarkGaps, MigrateType, NR_ZONES, Order, PcpOrders, Rules, ThpLists, Tunables, ZoneKind,
};

/// Largest integer whose square is at most `n`.
#[must_use]
pub fn isqrt(n: u64) -> u64 {
    n.isqrt()
}

/// x·n/d without overflow, as the kernel's mult_frac (§3.2).
#[must_use]
pub const fn mult_frac(x: u64, n: u64, d: u64) -> u64 {
    (x / d) * n + (x % d) * n / d
}

/// Position of the highest set bit, counted from 1; 0 for 0.
#[must_use]
pub const fn fls(n: u64) -> u64 {
    64 - n.leading_zeros() as u64
}

/// The buddy of a block (§1.2).
#[must_use]
pub const fn buddy_of(pfn: u64, order: Order) -> u64 {
    pfn ^ order.pages()
}

/// min_free_kbytes by the formula (§3.1), from the lowmem pages above the high marks.
/// 3.16 stops at 65536 \[mem\].
#[must_use]
pub fn min_free_kbytes(lowmem_pages: u64, gaps: MarkGaps) -> u64 {
    let most = match gaps {
        MarkGaps::Quarters => 65_536,
        MarkGaps::ScaleFactor => 262_144,
    };
    isqrt(16 * lowmem_pages * 4).clamp(128, most)
}

/// The marks MIN, LOW, HIGH, PROMO of a zone, without boost (§3.2). `share` is its part of
/// min_free_kbytes, in pages.
#[must_use]
pub fn marks(
    kind: ZoneKind,
    managed: u64,
    share: u64,
    rules: &Rules,
    tunables: &Tunables,
) -> [u64; 4] {
    let low_part = kind == ZoneKind::Movable && !rules.movable_is_lowmem;
    let min = if low_part { (managed / 1024).clamp(32, 128) } else { share };
    if rules.mark_gaps == MarkGaps::Quarters {
        // No PROMO: equal to HIGH (D42).
        return [min, min + share / 4, min + share / 2, min + share / 2];
    }
    let step =
        (share / 4).max(mult_frac(managed, u64::from(tunables.watermark_scale_factor), 10_000));
    [min, min + step, min + 2 * step, min + 3 * step]
}

/// lowmem_reserve of the zone of kind `of` against each highest zone (§3.3). `managed` holds every
/// kind's managed pages.
#[must_use]
pub fn lowmem_reserve(
    of: ZoneKind,
    managed: &[u64; NR_ZONES],
    ratios: &[u32; 4],
) -> [u64; NR_ZONES] {
    let mut reserve = [0; NR_ZONES];
    let ratio = ratios.get(of.index()).copied().unwrap_or(0);
    if ratio == 0 || managed[of.index()] == 0 {
        return reserve;
    }
    let mut above = 0;
    for j in of.index() + 1..NR_ZONES {
        above += managed[j];
        reserve[j] = above / u64::from(ratio);
    }
    reserve
}

/// The raw pcp batch (§2.2, 6.6 to 6.18, 4 KiB pages), and the 7.x form that is never 0.
#[must_use]
pub fn pcp_batch(managed: u64, may_be_zero: bool) -> u64 {
    let base = ((managed >> 10).min(256) / 4).max(1);
    let rounded = base + base / 2;
    let pow2 = 1 << (63 - rounded.leading_zeros());
    let raw = pow2 - 1;
    if may_be_zero { raw } else { raw.max(1) }
}

/// The raw pcp batch of 3.16 (§2.2): the cap is 512 KiB. `batch` in use is at least 1, `high` is six
/// times the raw value, so 0 in small zones.
#[must_use]
pub fn pcp_batch_fixed(managed: u64) -> u64 {
    let base = ((managed / 1024).min(128) / 4).max(1);
    let rounded = base + base / 2;
    (1 << (63 - rounded.leading_zeros())) - 1
}

/// One bound of a pcp's high mark (§2.3): base pages of the zone shared by the CPUs.
#[must_use]
pub fn pcp_high(base_pages: u64, cpus: u64, batch: u64) -> u64 {
    (base_pages / cpus.max(1)).max(4 * batch)
}

/// The normal threshold of per-CPU statistics (§3.8).
#[must_use]
pub fn stat_threshold(managed: u64, cpus: u64) -> u64 {
    // 128 MiB units: 2^15 pages of 4 KiB.
    (2 * fls(cpus) * (1 + fls(managed >> 15))).min(125)
}

/// The threshold while kswapd is awake (§3.8), from the gap between two marks.
#[must_use]
pub fn pressure_threshold(gap: u64, cpus: u64) -> u64 {
    (gap / cpus.max(1)).clamp(1, 125)
}

/// percpu_drift_mark (§3.8), or `None` where the diffs cannot hide the way from LOW to MIN.
#[must_use]
pub fn drift_mark(high: u64, gap: u64, cpus: u64, threshold: u64) -> Option<u64> {
    let hidden = cpus * threshold;
    (hidden > gap).then_some(high + hidden)
}

/// Largest boost of a zone (§3.6), or `None` if boosting never acts on it.
#[must_use]
pub fn max_boost(managed: u64, high: u64, pageblock_pages: u64, factor: u32) -> Option<u64> {
    if factor == 0 || 4 * pageblock_pages > managed {
        return None;
    }
    match mult_frac(high, u64::from(factor), 10_000) {
        0 => None,
        max => Some(max.max(pageblock_pages)),
    }
}

/// The order in which other types are searched (§1.1, 6.6 to 6.18).
#[must_use]
pub const fn fallbacks(of: MigrateType) -> &'static [MigrateType] {
    use MigrateType::{Movable, Reclaimable, Unmovable};
    match of {
        Unmovable => &[Reclaimable, Movable],
        Movable => &[Reclaimable, Unmovable],
        Reclaimable => &[Unmovable, Movable],
        _ => &[],
    }
}

/// Whether per-CPU lists hold blocks of `order` (§2.1).
#[must_use]
pub fn is_pcp_order(order: Order, thp_order: Option<Order>) -> bool {
    order <= Order::COSTLY || Some(order) == thp_order
}

/// Whether per-CPU lists hold blocks of `order` under these rules (§2.1).
#[must_use]
pub fn is_cached_order(order: Order, thp_order: Option<Order>, orders: PcpOrders) -> bool {
    match orders {
        PcpOrders::Zero => order == Order::ZERO,
        PcpOrders::ToCostly => is_pcp_order(order, thp_order),
    }
}

/// Index of the per-CPU list for blocks of a pcp order and pcp type (§2.1).
#[must_use]
pub fn pcp_list(order: Order, migratetype: MigrateType, lists: ThpLists) -> usize {
    if order <= Order::COSTLY {
        return 3 * order.index() + migratetype.index();
    }
    match lists {
        ThpLists::PerType => 12 + migratetype.index(),
        ThpLists::Shared => 12,
        ThpLists::MovableOrNot => 12 + usize::from(migratetype == MigrateType::Movable),
    }
}

/// Number of per-CPU lists under these rules (§2.1).
#[must_use]
pub fn pcp_list_count(thp_order: Option<Order>, rules: &Rules) -> usize {
    match rules.pcp_orders {
        PcpOrders::Zero => 3,
        PcpOrders::ToCostly => pcp_lists(thp_order, rules.thp_lists),
    }
}

/// Number of per-CPU lists where they hold orders to 3 (§2.1); without huge pages the 12 of orders 0 to 3.
#[must_use]
pub fn pcp_lists(thp_order: Option<Order>, lists: ThpLists) -> usize {
    match (thp_order, lists) {
        (None, _) => 12,
        (_, ThpLists::PerType) => 15,
        (_, ThpLists::Shared) => 13,
        (_, ThpLists::MovableOrNot) => 14,
    }
}

/// Whether a block of `order` goes to the tail for a merge that is likely (§1.4): its would-be
/// parent's buddy is free. `is_free` tells whether a free block of that order starts at a frame.
#[must_use]
pub fn merge_likely(
    pfn: u64,
    order: Order,
    max_order: Order,
    is_free: impl Fn(u64, Order) -> bool,
) -> bool {
    if order.get() + 1 >= max_order.get() {
        return false;
    }
    let above = Order::of(order.get() + 1);
    let parent = pfn & buddy_of(pfn, order);
    is_free(buddy_of(parent, above), above)
}

/// The pieces that a split from `from` down to `to` puts back, largest first, each the upper half
/// (§1.5).
pub fn split_pieces(pfn: u64, from: Order, to: Order) -> impl Iterator<Item = (u64, Order)> {
    (to.get()..from.get()).rev().map(move |order| {
        let order = Order::of(order);
        (pfn + order.pages(), order)
    })
}

/// Whether a fallback may take over the pageblock of a block of `order` (§1.10, §1.11).
#[must_use]
pub fn may_claim(order: Order, start: MigrateType, pageblock_order: Order, grouping: bool) -> bool {
    order.get() >= pageblock_order.get() / 2
        || matches!(start, MigrateType::Unmovable | MigrateType::Reclaimable)
        || !grouping
}
