//! The text form, `.mms`: one line for each part of the machine and each operation.
//!
//! ```text
//! mms 1                          # the header line: language version
//! machine cpus=2 max_order=5 pageblock_order=3 thp_order=none cma_built=off free_high_batch=off
//! zone Normal 0x0..0x400         # kind, first frame, one past the last
//! hole 0x10..0x14                # also: reserved, cma
//! rules linux_6_12               # a preset …
//! rule fallback=whole            # … and single switches on top
//! set min_free_kbytes=512        # the tunables at boot; after the first operation: a sysctl write
//! a1 = alloc cpu=0 order=3 gfp=GFP_KERNEL|__GFP_MOVABLE at=min flags=oom,non_block
//! free cpu=1 a1
//! ```
//!
//! Numbers are decimal or hexadecimal (`0x`), words are separated by blanks, `#` starts a comment.
//! [`crate::script::Op`] documents each operation's form. Printing is canonical, and parsing what
//! was printed gives the script back exactly.

mod args;
mod header;
mod ops;
mod parse;
mod print;

pub(crate) use args::{Args, Word};
pub use parse::ParseError;

use super::Script;
use std::fmt;
use std::str::FromStr;

impl Script {
    /// Parse a script; `file` is only named in errors.
    ///
    /// # Errors
    /// The first line that does not parse, or that the machine cannot run.
    pub fn parse(file: &str, text: &str) -> Result<Self, ParseError> {
        parse::script(file, text)
    }

    /// The canonical text.
    #[must_use]
    pub fn to_text(&self) -> String {
        self.to_string()
    }

    /// The text of one operation, as it stands in the script.
    #[must_use]
    pub fn op_text(&self, at: usize) -> Option<String> {
        let op = self.ops.get(at)?;
        let mut text = String::new();
        let in_force = print::tunables_before(self, at);
        // Writing to a String cannot fail.
        let _ = print::op(&mut text, op, &in_force);
        Some(text)
    }
}

impl fmt::Display for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        print::script(f, self)
    }
}

impl FromStr for Script {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        Self::parse("script", text)
    }
}

#[cfg(test)]
mod tests;
