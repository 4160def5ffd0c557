//! /proc/pagetypeinfo: free blocks by zone, migratetype and order, and pageblocks by migratetype.

use super::cursor::{Cursor, ProcError};
use super::line;
use crate::vocab::{MigrateType, ZoneKind};
use core::fmt;
use std::vec::Vec;

/// A parsed pagetypeinfo; `Display` writes it back.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Pagetypeinfo {
    /// Order of a pageblock.
    pub pageblock_order: u32,
    /// Pages in a pageblock.
    pub pageblock_pages: u64,
    /// Number of orders, as the header lists them.
    pub orders: usize,
    /// Free blocks, one row for each zone and migratetype, in the order of the text.
    pub free: Vec<PagetypeinfoRow>,
    /// The migratetypes of the build, as the second table's header lists them.
    pub types: Vec<MigrateType>,
    /// Pageblocks, one row for each zone.
    pub pageblocks: Vec<PageblockRow>,
    /// Pageblocks that hold pages of other types: only a kernel that runs with `page_owner=on`
    /// prints them.
    pub mixed: Option<Vec<PageblockRow>>,
}

/// The free lists of one zone and migratetype.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PagetypeinfoRow {
    /// The node.
    pub node: u32,
    /// The zone.
    pub zone: ZoneKind,
    /// The migratetype.
    pub migratetype: MigrateType,
    /// Lengths of the lists, by order.
    pub lists: Vec<ListLength>,
}

/// The length of a free list, as pagetypeinfo shows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ListLength {
    /// Blocks counted.
    pub blocks: u64,
    /// Counting stopped here: the list may be longer.
    pub capped: bool,
}

/// Pageblocks of one zone by migratetype.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PageblockRow {
    /// The node.
    pub node: u32,
    /// The zone.
    pub zone: ZoneKind,
    /// Counts, one for each of [`Pagetypeinfo::types`].
    pub counts: Vec<u64>,
}

impl Pagetypeinfo {
    /// The free lists of a zone and migratetype.
    #[must_use]
    pub fn row(
        &self,
        node: u32,
        zone: ZoneKind,
        migratetype: MigrateType,
    ) -> Option<&PagetypeinfoRow> {
        let wanted = (node, zone, migratetype);
        self.free.iter().find(|row| (row.node, row.zone, row.migratetype) == wanted)
    }

    /// Pageblocks of `migratetype` in a zone.
    #[must_use]
    pub fn pageblocks_of(
        &self,
        node: u32,
        zone: ZoneKind,
        migratetype: MigrateType,
    ) -> Option<u64> {
        let at = self.types.iter().position(|known| *known == migratetype)?;
        let row = self.pageblocks.iter().find(|row| row.node == node && row.zone == zone)?;
        row.counts.get(at).copied()
    }

    fn write_pageblocks(
        &self,
        f: &mut fmt::Formatter<'_>,
        title: &str,
        node: u32,
        rows: &[PageblockRow],
    ) -> fmt::Result {
        line::pageblock_head(f, title, self.types.iter().copied())?;
        for row in rows.iter().filter(|row| row.node == node) {
            line::row_start(f, row.node, row.zone)?;
            row.counts.iter().try_for_each(|count| line::pageblock_count(f, *count))?;
            writeln!(f)?;
        }
        Ok(())
    }
}

impl fmt::Display for Pagetypeinfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Each node with memory writes tables of its own, headers and all.
        let mut nodes: Vec<u32> = self.pageblocks.iter().map(|row| row.node).collect();
        nodes.dedup();
        for node in nodes {
            line::pagetypeinfo_head(f, self.pageblock_order, self.pageblock_pages, self.orders)?;
            for row in self.free.iter().filter(|row| row.node == node) {
                line::type_row_start(f, row.node, row.zone, row.migratetype)?;
                for list in &row.lists {
                    line::list_length(f, list.blocks, list.capped)?;
                }
                writeln!(f)?;
            }
            self.write_pageblocks(f, line::PAGEBLOCKS, node, &self.pageblocks)?;
            if let Some(mixed) = &self.mixed {
                self.write_pageblocks(f, MIXED, node, mixed)?;
            }
        }
        Ok(())
    }
}

/// The nodes' tables, one after the other, as one.
fn join(mut all: Pagetypeinfo, next: Pagetypeinfo) -> Pagetypeinfo {
    all.free.extend(next.free);
    all.pageblocks.extend(next.pageblocks);
    if let (Some(mixed), Some(more)) = (&mut all.mixed, next.mixed) {
        mixed.extend(more);
    }
    all
}

/// The node of the last row.
fn last_node(info: &Pagetypeinfo) -> Option<u32> {
    info.pageblocks.last().map(|row| row.node)
}

/// How each node's tables begin.
const HEAD_OF_NODE: &str = "Page block order:";

/// The title of the table that page_owner adds \[mem\].
const MIXED: &str = "Number of mixed blocks ";

/// Parse a copy of /proc/pagetypeinfo (readable by root only); `file` names it in errors.
///
/// # Errors
/// The first line that a kernel would not have written.
pub fn parse_pagetypeinfo(file: &str, text: &str) -> Result<Pagetypeinfo, ProcError> {
    let mut lines = Cursor::new(file, text);
    let mut info = of_one_node(&mut lines)?;
    while lines.peek().is_some() {
        let next = of_one_node(&mut lines)?;
        let same = |info: &Pagetypeinfo| {
            (info.pageblock_order, info.orders, info.types.clone(), info.mixed.is_some())
        };
        if same(&info) != same(&next) {
            return Err(lines.unexpected("the same types and orders on every node", "others"));
        }
        if last_node(&info) >= last_node(&next) {
            return Err(lines.unexpected("tables of a later node", "those of an earlier one"));
        }
        info = join(info, next);
    }
    Ok(info)
}

/// The tables of one node.
fn of_one_node(lines: &mut Cursor<'_>) -> Result<Pagetypeinfo, ProcError> {
    let mut info = Pagetypeinfo::default();
    let order = lines.need_prefix(HEAD_OF_NODE, "`Page block order: N`")?;
    info.pageblock_order = lines.number(order, "the pageblock order")?;
    let pages = lines.need_prefix("Pages per block:", "`Pages per block:  N`")?;
    info.pageblock_pages = lines.number(pages, "the pages per block")?;
    lines.need_prefix("", "a blank line")?;
    const HEAD: &str = "Free pages count per migrate type at order";
    info.orders = lines.need_prefix(HEAD, HEAD)?.split_whitespace().count();

    loop {
        let text = lines.need("a free list row or a blank line")?;
        if text.trim().is_empty() {
            break;
        }
        info.free.push(free_row(lines, text, info.orders)?);
    }

    let types = lines.need_prefix(line::PAGEBLOCKS.trim_end(), "`Number of blocks type`")?;
    for name in types.split_whitespace() {
        let known = MigrateType::from_name(name);
        info.types.push(known.ok_or_else(|| lines.unexpected("a migratetype", name))?);
    }
    info.pageblocks = pageblock_rows(lines, info.types.len())?;
    if lines.peek().is_some_and(|text| !text.starts_with(HEAD_OF_NODE)) {
        lines.need_prefix(MIXED.trim_end(), "`Number of mixed blocks` or another node's tables")?;
        info.mixed = Some(pageblock_rows(lines, info.types.len())?);
    }
    // Only nodes with memory have tables.
    let node = last_node(&info)
        .ok_or_else(|| lines.unexpected("a row `Node N, zone NAME` for each zone", "none"))?;
    let rows = info.pageblocks.iter().chain(info.mixed.iter().flatten());
    let mut nodes = info.free.iter().map(|row| row.node).chain(rows.map(|row| row.node));
    if nodes.any(|other| other != node) {
        return Err(lines.unexpected("rows of one node in its tables", "another node's"));
    }
    Ok(info)
}

/// One row of the first table.
fn free_row(lines: &Cursor<'_>, text: &str, orders: usize) -> Result<PagetypeinfoRow, ProcError> {
    const EXPECTED: &str = "`Node N, zone NAME, type NAME` and one number for each order";
    let (node, zone, rest) = lines.zone_row(text)?;
    let mut words = rest
        .strip_prefix(", type ")
        .ok_or_else(|| lines.unexpected(EXPECTED, text))?
        .split_whitespace();
    let migratetype = words
        .next()
        .and_then(MigrateType::from_name)
        .ok_or_else(|| lines.unexpected("a migratetype", rest))?;
    let lists = words
        .map(|word| {
            let digits = word.strip_prefix('>');
            let blocks = lines.number(digits.unwrap_or(word), "the number of free blocks")?;
            Ok(ListLength { blocks, capped: digits.is_some() })
        })
        .collect::<Result<Vec<_>, ProcError>>()?;
    if lists.len() != orders {
        return Err(lines.unexpected(EXPECTED, text));
    }
    Ok(PagetypeinfoRow { node, zone, migratetype, lists })
}

/// The rows of a table of pageblock counts, up to its blank line or the end.
fn pageblock_rows(lines: &mut Cursor<'_>, types: usize) -> Result<Vec<PageblockRow>, ProcError> {
    let mut rows = Vec::new();
    while let Some(text) = lines.peek().filter(|text| !text.starts_with(HEAD_OF_NODE)) {
        lines.next();
        if text.trim().is_empty() {
            break;
        }
        let (node, zone, rest) = lines.zone_row(text)?;
        let counts = rest
            .split_whitespace()
            .map(|count| lines.number(count, "the number of pageblocks"))
            .collect::<Result<Vec<u64>, _>>()?;
        if counts.len() != types {
            return Err(lines.unexpected("one number for each migratetype", text));
        }
        rows.push(PageblockRow { node, zone, counts });
    }
    Ok(rows)
}
