//! Writers of single lines, shared by the renderer and by `Display` of the parsed texts.

use crate::vocab::{MigrateType, ZoneKind};
use core::fmt::{Result, Write};

/// pagetypeinfo stops counting a list at this length (page_alloc.md §6.4).
pub(super) const LIST_CAP: u64 = 100_000;

/// `Node 0, zone      DMA `, the start of a row of buddyinfo and of pagetypeinfo's block counts.
pub(super) fn row_start<W: Write + ?Sized>(out: &mut W, node: u32, zone: ZoneKind) -> Result {
    write!(out, "Node {node}, zone {:>8} ", zone.name())
}

/// One number of buddyinfo.
pub(super) fn block_count<W: Write + ?Sized>(out: &mut W, count: u64) -> Result {
    write!(out, "{count:>6} ")
}

/// The three lines above pagetypeinfo's first table and that table's header.
pub(super) fn pagetypeinfo_head<W: Write + ?Sized>(
    out: &mut W,
    pageblock_order: u32,
    pageblock_pages: u64,
    orders: usize,
) -> Result {
    writeln!(out, "Page block order: {pageblock_order}")?;
    writeln!(out, "Pages per block:  {pageblock_pages}")?;
    writeln!(out)?;
    write!(out, "{:<43} ", "Free pages count per migrate type at order")?;
    for order in 0..orders {
        write!(out, "{order:>6} ")?;
    }
    writeln!(out)
}

/// The start of a row of pagetypeinfo's first table.
pub(super) fn type_row_start<W: Write + ?Sized>(
    out: &mut W,
    node: u32,
    zone: ZoneKind,
    migratetype: MigrateType,
) -> Result {
    write!(out, "Node {node:>4}, zone {:>8}, type {:>12} ", zone.name(), migratetype.name())
}

/// One number of pagetypeinfo's first table; a capped one carries a mark.
pub(super) fn list_length<W: Write + ?Sized>(out: &mut W, length: u64, capped: bool) -> Result {
    write!(out, "{}{length:>6} ", if capped { ">" } else { "" })
}

/// The blank line and the header of a table of pageblock counts.
pub(super) fn pageblock_head<W: Write + ?Sized>(
    out: &mut W,
    title: &str,
    types: impl Iterator<Item = MigrateType>,
) -> Result {
    write!(out, "\n{title:<23}")?;
    for migratetype in types {
        write!(out, "{:>12} ", migratetype.name())?;
    }
    writeln!(out)
}

/// The title of the table of pageblock counts.
pub(super) const PAGEBLOCKS: &str = "Number of blocks type ";

/// One number of a table of pageblock counts.
pub(super) fn pageblock_count<W: Write + ?Sized>(out: &mut W, count: u64) -> Result {
    write!(out, "{count:>12} ")
}

/// `Node 0, zone    DMA32`, the head of a zone in zoneinfo.
pub(super) fn zone_head<W: Write + ?Sized>(out: &mut W, node: u32, zone: ZoneKind) -> Result {
    writeln!(out, "Node {node}, zone {:>8}", zone.name())
}

/// The line above a node's counters in zoneinfo.
pub(super) fn per_node_head<W: Write + ?Sized>(out: &mut W) -> Result {
    writeln!(out, "  per-node stats")
}

/// One named counter in zoneinfo.
pub(super) fn zone_counter<W: Write + ?Sized>(out: &mut W, name: &str, value: u64) -> Result {
    writeln!(out, "      {name:<12} {value}")
}

/// Marks and sizes of a zone, in the order of zoneinfo.
pub(super) struct Sizes {
    pub(super) free: u64,
    pub(super) boost: u64,
    /// With the boost added.
    pub(super) min: u64,
    pub(super) low: u64,
    pub(super) high: u64,
    /// Printed from 6.12 on.
    pub(super) promo: Option<u64>,
    pub(super) spanned: u64,
    pub(super) present: u64,
    pub(super) managed: u64,
    pub(super) cma: u64,
}

/// The lines from `pages free` to `cma`.
pub(super) fn sizes<W: Write + ?Sized>(out: &mut W, sizes: &Sizes) -> Result {
    writeln!(out, "  pages free     {}", sizes.free)?;
    let mut line = |label: &str, value: u64| writeln!(out, "        {label:<8} {value}");
    line("boost", sizes.boost)?;
    line("min", sizes.min)?;
    line("low", sizes.low)?;
    line("high", sizes.high)?;
    if let Some(promo) = sizes.promo {
        line("promo", promo)?;
    }
    line("spanned", sizes.spanned)?;
    line("present", sizes.present)?;
    line("managed", sizes.managed)?;
    line("cma", sizes.cma)
}

/// The lowmem reserve.
pub(super) fn protection<W: Write + ?Sized>(out: &mut W, pages: &[u64]) -> Result {
    write!(out, "        protection: (")?;
    for (at, reserve) in pages.iter().enumerate() {
        write!(out, "{}{reserve}", if at == 0 { "" } else { ", " })?;
    }
    writeln!(out, ")")
}

/// The line above the per-CPU lists.
pub(super) fn pagesets_head<W: Write + ?Sized>(out: &mut W) -> Result {
    writeln!(out, "  pagesets")
}

/// One CPU's lists in zoneinfo.
pub(super) struct PageSetLines {
    pub(super) cpu: u32,
    pub(super) count: u64,
    pub(super) high: u64,
    pub(super) batch: u64,
    /// `high_min` and `high_max`, printed from 6.18 on (the columns widen with them).
    pub(super) limits: Option<(u64, u64)>,
    /// Absent on a build for one CPU only.
    pub(super) threshold: Option<u64>,
}

/// The lines of one CPU.
pub(super) fn pageset<W: Write + ?Sized>(out: &mut W, set: &PageSetLines) -> Result {
    writeln!(out, "    cpu: {}", set.cpu)?;
    let width = if set.limits.is_some() { 9 } else { 6 };
    let mut line = |label: &str, value: u64| writeln!(out, "              {label:<width$} {value}");
    line("count:", set.count)?;
    line("high:", set.high)?;
    line("batch:", set.batch)?;
    if let Some((min, max)) = set.limits {
        line("high_min:", min)?;
        line("high_max:", max)?;
    }
    if let Some(threshold) = set.threshold {
        writeln!(out, "  vm stats threshold: {threshold}")?;
    }
    Ok(())
}

/// The last two lines of a populated zone.
pub(super) fn zone_tail<W: Write + ?Sized>(
    out: &mut W,
    unreclaimable: u64,
    start_pfn: u64,
) -> Result {
    writeln!(out, "  node_unreclaimable:  {unreclaimable}")?;
    writeln!(out, "  start_pfn:           {start_pfn}")
}

/// One line of vmstat.
pub(super) fn vmstat<W: Write + ?Sized>(out: &mut W, name: &str, value: u64) -> Result {
    writeln!(out, "{name} {value}")
}
