//! /proc/buddyinfo: free blocks by zone and order.

use super::cursor::{Cursor, ProcError};
use super::line;
use crate::vocab::ZoneKind;
use core::fmt;
use std::vec::Vec;

/// A parsed buddyinfo; `Display` writes it back.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Buddyinfo {
    /// One row for each populated zone, in the order of the text.
    pub rows: Vec<BuddyinfoRow>,
}

/// One zone of buddyinfo.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BuddyinfoRow {
    /// The node.
    pub node: u32,
    /// The zone.
    pub zone: ZoneKind,
    /// Free blocks of all types, by order.
    pub blocks: Vec<u64>,
}

impl BuddyinfoRow {
    /// Pages in all blocks.
    #[must_use]
    pub fn pages(&self) -> u64 {
        self.blocks.iter().enumerate().map(|(order, blocks)| blocks << order).sum()
    }
}

impl Buddyinfo {
    /// The row of a zone.
    #[must_use]
    pub fn row(&self, node: u32, zone: ZoneKind) -> Option<&BuddyinfoRow> {
        self.rows.iter().find(|row| row.node == node && row.zone == zone)
    }
}

impl fmt::Display for Buddyinfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for row in &self.rows {
            line::row_start(f, row.node, row.zone)?;
            row.blocks.iter().try_for_each(|blocks| line::block_count(f, *blocks))?;
            writeln!(f)?;
        }
        Ok(())
    }
}

/// Parse a copy of /proc/buddyinfo; `file` names it in errors.
///
/// # Errors
/// The first line that a kernel would not have written.
pub fn parse_buddyinfo(file: &str, text: &str) -> Result<Buddyinfo, ProcError> {
    let mut lines = Cursor::new(file, text);
    let mut rows = Vec::new();
    lines.need_any("a row `Node N, zone NAME`")?;
    while let Some(text) = lines.next() {
        let (node, zone, rest) = lines.zone_row(text)?;
        let blocks = rest
            .split_whitespace()
            .map(|count| lines.number(count, "the number of blocks"))
            .collect::<Result<Vec<u64>, _>>()?;
        if blocks.is_empty() || blocks.len() > 64 {
            return Err(lines.unexpected("one number for each order", text));
        }
        rows.push(BuddyinfoRow { node, zone, blocks });
    }
    Ok(Buddyinfo { rows })
}
