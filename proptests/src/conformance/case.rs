//! A case: memory in the order in which it is given, and steps with symbolic handles. As text:
//!
//! ```text
//! runs 1                     # the header line: language version
//! memory 0x4..0x9            # first unit, one past the last; several, in the order given
//! memory 0x0..0x4
//! a1 = alloc len=3 align=2
//! a2 = alloc len=1 at=0x7    # at a fixed place
//! resize a1 len=4
//! free a1
//! ```
//!
//! Numbers are decimal or hexadecimal, `#` starts a comment.

use super::{Promise, Subject};
use crate::script::{Args, Handle, ParseError, Word};
use mmspec_model::contract::Run;
use std::collections::BTreeSet;
use std::fmt;

/// The largest number of a case: enough for any test, and no sum overflows.
const MOST: u64 = 1 << 40;

/// The most units in all regions of one case, and in one request.
const MOST_UNITS: u64 = 1 << 20;

/// A complete case for an allocator under test.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Case {
    /// The memory, in the order in which the allocator gets it.
    pub memory: Vec<Run>,
    /// What happens.
    pub steps: Vec<Step>,
}

/// One step. A step on a handle that holds nothing does nothing.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Step {
    /// `a1 = alloc len=3 [align=2]`
    Alloc {
        /// The name of the run.
        handle: Handle,
        /// Units.
        len: u64,
        /// A power of two.
        align: u64,
    },
    /// `a1 = alloc len=3 at=0x10`
    AllocAt {
        /// The name of the run.
        handle: Handle,
        /// The run.
        run: Run,
    },
    /// `resize a1 len=5`
    Resize {
        /// The run.
        handle: Handle,
        /// Units from now on.
        len: u64,
    },
    /// `free a1`
    Free {
        /// The run.
        handle: Handle,
    },
}

impl Step {
    /// The handle that it names.
    pub(super) fn handle_mut(&mut self) -> &mut Handle {
        match self {
            Self::Alloc { handle, .. }
            | Self::AllocAt { handle, .. }
            | Self::Resize { handle, .. }
            | Self::Free { handle } => handle,
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Alloc { handle, len, align: 1 } => write!(f, "a{} = alloc len={len}", handle.0),
            Self::Alloc { handle, len, align } => {
                write!(f, "a{} = alloc len={len} align={align}", handle.0)
            }
            Self::AllocAt { handle, run } => {
                write!(f, "a{} = alloc len={} at={:#x}", handle.0, run.len, run.start)
            }
            Self::Resize { handle, len } => write!(f, "resize a{} len={len}", handle.0),
            Self::Free { handle } => write!(f, "free a{}", handle.0),
        }
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "runs 1")?;
        for run in &self.memory {
            writeln!(f, "memory {run}")?;
        }
        for step in &self.steps {
            writeln!(f, "{step}")?;
        }
        Ok(())
    }
}

impl Case {
    /// Parse a case; `file` is only named in errors.
    ///
    /// # Errors
    /// The first line that does not parse or makes no sense.
    pub fn parse(file: &str, text: &str) -> Result<Self, ParseError> {
        let mut case = Self::default();
        let mut defined = BTreeSet::new();
        let mut versioned = false;
        for (at, line) in text.lines().enumerate() {
            let mut args = Args::new(file, at + 1, line);
            let Some(first) = args.next() else { continue };
            if !versioned {
                let known =
                    first.text == "runs" && args.next().is_some_and(|word| word.text == "1");
                if !known {
                    let hint = "start with the line \"runs 1\"";
                    return Err(args.error(first.column, "not a case of runs".to_owned(), hint));
                }
                versioned = true;
            } else if first.text == "memory" {
                case.memory(&mut args)?;
            } else {
                let step = step(&mut args, first)?;
                if let Step::Alloc { handle, .. } | Step::AllocAt { handle, .. } = step
                    && !defined.insert(handle)
                {
                    let what = format!("a{} is defined by an earlier step", handle.0);
                    return Err(args.error(first.column, what, "choose an unused number"));
                }
                case.steps.push(step);
            }
            args.finish()?;
        }
        if case.memory.is_empty() {
            let end = Args::new(file, text.lines().count().max(1), "");
            let hint = "start with the lines \"runs 1\" and \"memory 0x0..0x40\"";
            return Err(end.error(1, "the case has no memory".to_owned(), hint));
        }
        Ok(case)
    }

    fn memory(&mut self, args: &mut Args<'_>) -> Result<(), ParseError> {
        const HINT: &str = "write memory FIRST..END, END being one past the last, e.g. 0x0..0x40";
        let word = args.expect("the range", HINT)?;
        let Some((first, end)) = word.text.split_once("..") else {
            let what = format!("\"{}\" is not a range", word.text);
            return Err(args.error(word.column, what, HINT));
        };
        let first = args.number(Word { text: first, ..word }, MOST)?;
        let end = args.number(Word { text: end, ..word }, MOST)?;
        let wrong = |what: &str, hint: &str| Err(args.error(word.column, what.to_owned(), hint));
        if end <= first {
            return wrong("the range is empty", HINT);
        }
        let run = Run::new(first, end - first);
        if self.memory.iter().any(|other| other.overlaps(run)) {
            return wrong("the range overlaps an earlier one", "give each unit once");
        }
        self.memory.push(run);
        if self.units() > MOST_UNITS {
            return wrong("too much memory for a case", "give at most 0x100000 units in all");
        }
        Ok(())
    }

    /// Units of all regions.
    #[must_use]
    pub fn units(&self) -> u64 {
        self.memory.iter().map(|run| run.len).sum()
    }

    /// Whether the case asks nothing that the promise and the subject exclude.
    pub(super) fn suits<A>(&self, promise: &Promise, subject: &Subject<'_, A>) -> bool {
        let apart =
            |(at, run): (usize, &Run)| !self.memory[..at].iter().any(|other| other.overlaps(*run));
        let grain = |run: &Run| {
            run.len >= promise.least
                && run.start.is_multiple_of(promise.grain)
                && run.len.is_multiple_of(promise.grain)
        };
        !self.memory.is_empty()
            && self.memory.len() <= promise.regions
            && self.units() <= promise.units
            && self.memory.iter().all(grain)
            && self.memory.iter().enumerate().all(apart)
            && self.steps.iter().all(|step| match step {
                Step::Alloc { len, align, .. } => {
                    *len > 0
                        && *align <= promise.align.max(*len)
                        && (!subject.orders_only() || (len.is_power_of_two() && len == align))
                }
                Step::AllocAt { run, .. } => subject.can_place() && run.len > 0,
                Step::Resize { len, .. } => subject.can_resize() && *len > 0,
                Step::Free { .. } => true,
            })
    }
}

fn step(args: &mut Args<'_>, first: Word<'_>) -> Result<Step, ParseError> {
    const NAMES: &str = "write a1 = alloc len=…, resize a1 len=… or free a1";
    Ok(match first.text {
        "free" => Step::Free { handle: handle_next(args)? },
        "resize" => Step::Resize { handle: handle_next(args)?, len: len(args)? },
        _ => {
            let handle = handle(args, first)?;
            let words = (args.next().map(|word| word.text), args.next().map(|word| word.text));
            if words != (Some("="), Some("alloc")) {
                return Err(args.error(first.column, "no step".to_owned(), NAMES));
            }
            let len = len(args)?;
            match (args.named("at"), args.named("align")) {
                (Some(word), None) => {
                    Step::AllocAt { handle, run: Run::new(args.number(word, MOST)?, len) }
                }
                (None, None) => Step::Alloc { handle, len, align: 1 },
                (None, Some(word)) => {
                    let align = args.number(word, MOST_UNITS)?;
                    if !align.is_power_of_two() {
                        let what = format!("{align} is no power of two");
                        return Err(args.error(word.column, what, "write align=1, 2, 4 and so on"));
                    }
                    Step::Alloc { handle, len, align }
                }
                (Some(word), Some(_)) => {
                    let what = "a fixed place has no alignment".to_owned();
                    return Err(args.error(word.column, what, "drop at= or align="));
                }
            }
        }
    })
}

fn handle_next(args: &mut Args<'_>) -> Result<Handle, ParseError> {
    let word = args.expect("the handle", "name a run a1, a2 and so on")?;
    handle(args, word)
}

fn handle(args: &Args<'_>, word: Word<'_>) -> Result<Handle, ParseError> {
    let number = word.text.strip_prefix('a').filter(|digits| !digits.starts_with('+'));
    match number.and_then(|number| number.parse().ok()) {
        Some(number) => Ok(Handle(number)),
        None => {
            let what = format!("\"{}\" is no handle", word.text);
            Err(args.error(word.column, what, "name a run a1, a2 and so on"))
        }
    }
}

fn len(args: &mut Args<'_>) -> Result<u64, ParseError> {
    let word = args.required("len", "say how many units")?;
    match args.number(word, MOST_UNITS)? {
        0 => Err(args.error(word.column, "no units".to_owned(), "ask for at least 1")),
        len => Ok(len),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_canonical_and_comes_back() {
        let text = "runs 1\nmemory 0x4..0x9\nmemory 0x0..0x4\na1 = alloc len=3 align=2\n\
                    a2 = alloc len=1 at=0x7\na3 = alloc len=5\nresize a1 len=4\nfree a1\n";
        let case = Case::parse("case", text).expect("parses");
        assert_eq!(case.to_string(), text);
        assert_eq!(Case::parse("case", &format!("# why\n{text}# end")), Ok(case));
    }

    #[test]
    fn errors_name_line_and_column() {
        let head = "runs 1\nmemory 0x0..0x4\n";
        for (text, line, column) in [
            ("mms 1\n".to_owned(), 1, 1),
            ("runs 2\n".to_owned(), 1, 1),
            ("runs 1\n".to_owned(), 1, 1),
            ("runs 1\nmemory 0x4..0x4\n".to_owned(), 2, 8),
            (format!("{head}memory 0x3..0x5\n"), 3, 8),
            (format!("{head}memory 0x10..0x200000\n"), 3, 8),
            (format!("{head}a1 = alloc len=0\n"), 3, 16),
            (format!("{head}a1 = alloc len=4 align=3\n"), 3, 24),
            (format!("{head}a1 = alloc len=4 align=2 at=0\n"), 3, 29),
            (format!("{head}a1 = alloc len=4\na1 = alloc len=1\n"), 4, 1),
            (format!("{head}a1 alloc len=4\n"), 3, 1),
            (format!("{head}free b1\n"), 3, 6),
            (format!("{head}free a1 a2\n"), 3, 9),
            (format!("{head}resize a1\n"), 3, 10),
        ] {
            let error = Case::parse("case", &text).expect_err(&text);
            assert_eq!((error.line, error.column), (line, column), "{text}{error}");
        }
    }
}
