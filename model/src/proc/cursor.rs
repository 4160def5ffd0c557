//! Errors of the parsers, and the lines that they walk over.

use crate::vocab::ZoneKind;
use std::string::String;

/// A recorded text that can't be read, and where.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{file}:{line}: {kind}")]
pub struct ProcError {
    /// The name under which the text was given.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// What is wrong, and the way out.
    pub kind: ProcErrorKind,
}

/// What is wrong with a recorded text.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ProcErrorKind {
    /// The text stops too early.
    #[error("the text ends where {expected} is due: copy the whole file from /proc again")]
    Ended {
        /// What should follow.
        expected: &'static str,
    },
    /// A line of another shape.
    #[error(
        "expected {expected}, found {found:?}: give an unedited copy of the /proc file (Linux 6.1 or later)"
    )]
    Unexpected {
        /// What should stand here.
        expected: &'static str,
        /// The line's beginning.
        found: String,
    },
    /// Something else where a number is due.
    #[error(
        "{what} must be a whole number, found {found:?}: give an unedited copy of the /proc file"
    )]
    Number {
        /// Which number.
        what: &'static str,
        /// What stands there.
        found: String,
    },
    /// A zone that no x86-64 kernel has.
    #[error(
        "zone {found:?} is not known: give a recording of a 64-bit x86 machine (zones DMA, DMA32, Normal, Movable, Device)"
    )]
    Zone {
        /// The name.
        found: String,
    },
}

/// The lines of one text, with a line number for errors.
pub(super) struct Cursor<'a> {
    file: &'a str,
    lines: core::iter::Peekable<core::str::Lines<'a>>,
    line: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(file: &'a str, text: &'a str) -> Self {
        Self { file, lines: text.lines().peekable(), line: 0 }
    }

    /// The next line, if there is one.
    pub(super) fn next(&mut self) -> Option<&'a str> {
        let line = self.lines.next()?;
        self.line += 1;
        Some(line)
    }

    /// The next line without taking it.
    pub(super) fn peek(&mut self) -> Option<&'a str> {
        self.lines.peek().copied()
    }

    /// The next line, which must be there.
    pub(super) fn need(&mut self, expected: &'static str) -> Result<&'a str, ProcError> {
        self.next().ok_or_else(|| ProcError {
            file: self.file.into(),
            line: self.line + 1,
            kind: ProcErrorKind::Ended { expected },
        })
    }

    /// Refuse a text that has no further line.
    pub(super) fn need_any(&mut self, expected: &'static str) -> Result<(), ProcError> {
        if self.peek().is_none() { self.need(expected).map(|_| ()) } else { Ok(()) }
    }

    /// The rest of the next line after `prefix`.
    pub(super) fn need_prefix(
        &mut self,
        prefix: &str,
        expected: &'static str,
    ) -> Result<&'a str, ProcError> {
        let line = self.need(expected)?;
        line.strip_prefix(prefix).ok_or_else(|| self.unexpected(expected, line))
    }

    /// An error at the line taken last.
    pub(super) fn error(&self, kind: ProcErrorKind) -> ProcError {
        ProcError { file: self.file.into(), line: self.line, kind }
    }

    /// The error that the line taken last should have been `expected`.
    pub(super) fn unexpected(&self, expected: &'static str, found: &str) -> ProcError {
        self.error(ProcErrorKind::Unexpected { expected, found: shorten(found) })
    }

    /// `text`, without blanks around it, as a number.
    pub(super) fn number<T: core::str::FromStr>(
        &self,
        text: &str,
        what: &'static str,
    ) -> Result<T, ProcError> {
        text.trim()
            .parse()
            .map_err(|_| self.error(ProcErrorKind::Number { what, found: shorten(text) }))
    }

    /// Node, zone and the rest of a line that starts with `Node N, zone K`.
    pub(super) fn zone_row<'t>(
        &self,
        line: &'t str,
    ) -> Result<(u32, ZoneKind, &'t str), ProcError> {
        const EXPECTED: &str = "a row `Node N, zone NAME`";
        let split = line.strip_prefix("Node ").and_then(|rest| rest.split_once(", zone "));
        let (node, rest) = split.ok_or_else(|| self.unexpected(EXPECTED, line))?;
        let node = self.number(node, "the node")?;
        let rest = rest.trim_start();
        let end = rest.find([' ', ',']).unwrap_or(rest.len());
        let (name, rest) = rest.split_at(end);
        match ZoneKind::from_name(name) {
            Some(kind) => Ok((node, kind, rest)),
            None => Err(self.error(ProcErrorKind::Zone { found: shorten(name) })),
        }
    }
}

/// At most 60 characters of `text`: an error should fit on a screen whatever the input is.
fn shorten(text: &str) -> String {
    text.chars().take(60).collect()
}
