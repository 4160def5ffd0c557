//! The words of one line: what is left of it, with columns for errors.

use super::ParseError;
use mmspec_model::vocab::{CpuId, MAX_NODES, NodeId, NodeMask, Order, Pfn, ZoneIdx};

/// One word and the column at which it starts, from 1.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Word<'a> {
    pub(crate) column: usize,
    pub(crate) text: &'a str,
}

/// A line that is being read. Named arguments are taken by name, others from the front; what is
/// left at the end is an error.
#[derive(Debug)]
pub(crate) struct Args<'a> {
    file: &'a str,
    line: usize,
    end: usize,
    words: Vec<Word<'a>>,
}

impl<'a> Args<'a> {
    /// Cut a line into words, without its comment.
    pub(crate) fn new(file: &'a str, line: usize, text: &'a str) -> Self {
        let text = text.split('#').next().unwrap_or("");
        let mut words = Vec::new();
        let mut rest = text;
        let mut column = 1;
        loop {
            let blank = rest.len() - rest.trim_start().len();
            column += rest[..blank].chars().count();
            rest = &rest[blank..];
            if rest.is_empty() {
                break;
            }
            let length = rest.find(char::is_whitespace).unwrap_or(rest.len());
            words.push(Word { column, text: &rest[..length] });
            column += rest[..length].chars().count();
            rest = &rest[length..];
        }
        let end = text.trim_end().chars().count() + 1;
        Self { file, line, end, words }
    }

    /// An error at a column of this line.
    pub(crate) fn error(&self, column: usize, what: String, hint: impl Into<String>) -> ParseError {
        ParseError { file: self.file.to_owned(), line: self.line, column, what, hint: hint.into() }
    }

    /// An error at the line's first word left, or its end.
    pub(crate) fn error_here(&self, what: String, hint: impl Into<String>) -> ParseError {
        let column = self.words.first().map_or(self.end, |word| word.column);
        self.error(column, what, hint)
    }

    /// The first word, whatever it is.
    pub(crate) fn next(&mut self) -> Option<Word<'a>> {
        if self.words.is_empty() { None } else { Some(self.words.remove(0)) }
    }

    /// The first word, which must be there.
    pub(crate) fn expect(&mut self, what: &str, hint: &str) -> Result<Word<'a>, ParseError> {
        let missing = self.error_here(format!("{what} is missing"), hint);
        self.next().ok_or(missing)
    }

    /// Take the bare word `name` if it is there.
    pub(crate) fn flag(&mut self, name: &str) -> bool {
        let at = self.words.iter().position(|word| word.text == name);
        at.map(|at| self.words.remove(at)).is_some()
    }

    /// Take the value of `name=value` if it is there; its word points at the value.
    pub(crate) fn named(&mut self, name: &str) -> Option<Word<'a>> {
        let value_of = |word: &Word<'a>| {
            let value = word.text.strip_prefix(name)?.strip_prefix('=')?;
            Some(Word { column: word.column + name.len() + 1, text: value })
        };
        let (at, value) = self
            .words
            .iter()
            .enumerate()
            .find_map(|(at, word)| value_of(word).map(|value| (at, value)))?;
        self.words.remove(at);
        Some(value)
    }

    /// Take the value of `name=value`, which must be there.
    pub(crate) fn required(&mut self, name: &str, hint: &str) -> Result<Word<'a>, ParseError> {
        let missing = self.error(self.end, format!("{name}= is missing"), hint);
        self.named(name).ok_or(missing)
    }

    /// Nothing may be left.
    pub(crate) fn finish(mut self) -> Result<(), ParseError> {
        match self.next() {
            None => Ok(()),
            Some(word) => Err(self.error(
                word.column,
                format!("\"{}\" is not expected here", word.text),
                "remove it, or check the spelling of the argument",
            )),
        }
    }

    /// A number, decimal or hexadecimal.
    pub(crate) fn number(&self, word: Word<'_>, most: u64) -> Result<u64, ParseError> {
        let parsed = match word.text.strip_prefix("0x") {
            Some(hex) => u64::from_str_radix(hex, 16),
            None => word.text.parse(),
        };
        match parsed {
            Ok(value) if value <= most && !word.text.contains('+') => Ok(value),
            _ => Err(self.error(
                word.column,
                format!("\"{}\" is not a number in range", word.text),
                format!("give 0 to {most}, decimal or with 0x"),
            )),
        }
    }

    pub(crate) fn u32(&self, word: Word<'_>) -> Result<u32, ParseError> {
        self.number(word, u64::from(u32::MAX)).map(|value| value as u32)
    }

    pub(crate) fn order(&self, word: Word<'_>) -> Result<Order, ParseError> {
        self.number(word, u64::from(Order::MAX.get())).map(|value| Order::of(value as u8))
    }

    pub(crate) fn pfn(&self, word: Word<'_>) -> Result<Pfn, ParseError> {
        self.number(word, u64::MAX).map(Pfn)
    }

    pub(crate) fn cpu(&mut self, name: &str) -> Result<CpuId, ParseError> {
        let word = self.required(name, "name the CPU by its number, from 0")?;
        self.number(word, u64::from(u16::MAX)).map(|value| CpuId(value as u16))
    }

    pub(crate) fn zone(&mut self) -> Result<ZoneIdx, ParseError> {
        let word = self.required("zone", "name the zone by its position, from 0")?;
        self.zone_of(word)
    }

    pub(crate) fn zone_of(&self, word: Word<'_>) -> Result<ZoneIdx, ParseError> {
        self.number(word, u64::from(u8::MAX)).map(|value| ZoneIdx(value as u8))
    }

    /// The node that `name=` gives, if it is there.
    pub(crate) fn node(&mut self, name: &str) -> Result<Option<NodeId>, ParseError> {
        let Some(word) = self.named(name) else { return Ok(None) };
        self.number(word, MAX_NODES as u64 - 1).map(|value| Some(NodeId(value as u8)))
    }

    /// The set of nodes that `name=` gives as bits; all if it is not there.
    pub(crate) fn node_mask(&mut self, name: &str) -> Result<NodeMask, ParseError> {
        let Some(word) = self.named(name) else { return Ok(NodeMask::ALL) };
        self.number(word, u64::MAX).map(NodeMask)
    }

    /// One of a list of names.
    pub(crate) fn choice<T>(
        &self,
        word: Word<'_>,
        what: &str,
        known: impl IntoIterator<Item = (&'static str, T)>,
    ) -> Result<T, ParseError> {
        let mut names = Vec::new();
        for (name, value) in known {
            if name == word.text {
                return Ok(value);
            }
            names.push(name);
        }
        let what = format!("\"{}\" is no {what}", word.text);
        Err(self.error(word.column, what, format!("use one of {}", names.join(", "))))
    }

    /// `on` or `off`.
    pub(crate) fn switch(&self, word: Word<'_>) -> Result<bool, ParseError> {
        self.choice(word, "switch", [("on", true), ("off", false)])
    }
}
