//! /proc/vmstat: named counters.

use super::cursor::{Cursor, ProcError};
use super::line;
use core::fmt;
use std::string::String;
use std::vec::Vec;

/// Counters in the order of their text. As a whole vmstat, `Display` writes the text back.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct NamedCounters(pub Vec<(String, u64)>);

impl NamedCounters {
    /// The counter of that name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<u64> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| *value)
    }

    /// Names and values in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, u64)> + '_ {
        self.0.iter().map(|(name, value)| (name.as_str(), *value))
    }
}

impl fmt::Display for NamedCounters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.iter().try_for_each(|(name, value)| line::vmstat(f, name, value))
    }
}

/// Parse a copy of /proc/vmstat; `file` names it in errors.
///
/// # Errors
/// The first line that a kernel would not have written.
pub fn parse_vmstat(file: &str, text: &str) -> Result<NamedCounters, ProcError> {
    let mut lines = Cursor::new(file, text);
    let mut counters = NamedCounters::default();
    lines.need_any("a line `name value`")?;
    while let Some(text) = lines.next() {
        counters.0.push(counter(&lines, text)?);
    }
    Ok(counters)
}

/// One line `name value`, whatever the blanks around.
pub(super) fn counter(lines: &Cursor<'_>, text: &str) -> Result<(String, u64), ProcError> {
    let mut words = text.split_whitespace();
    match (words.next(), words.next(), words.next()) {
        (Some(name), Some(value), None) => Ok((name.into(), lines.number(value, "the counter")?)),
        _ => Err(lines.unexpected("a line `name value`", text)),
    }
}
