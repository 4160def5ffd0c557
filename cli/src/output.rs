//! Standard output whose reader may leave.

use std::fmt;
use std::io::{self, BufWriter, ErrorKind, Stdout, Write};

/// Standard output. When its reader is gone (`mmspec … | head`) it swallows what is written, and
/// [`Out::closed`] says so: a command may stop early, and its exit code stays what it found.
#[derive(Debug)]
pub(crate) struct Out {
    inner: BufWriter<Stdout>,
    closed: bool,
}

impl Out {
    pub(crate) fn stdout() -> Self {
        Self { inner: BufWriter::new(io::stdout()), closed: false }
    }

    /// Whether nobody reads any more.
    pub(crate) const fn closed(&self) -> bool {
        self.closed
    }

    /// Write, and let the reader have it at once.
    pub(crate) fn print(&mut self, text: impl fmt::Display) -> anyhow::Result<()> {
        if self.closed {
            return Ok(());
        }
        match write!(self.inner, "{text}").and_then(|()| self.inner.flush()) {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                self.closed = true;
                Ok(())
            }
            Err(error) => Err(anyhow::Error::new(error).context("standard output")),
        }
    }

    /// Write a line.
    pub(crate) fn line(&mut self, text: impl fmt::Display) -> anyhow::Result<()> {
        self.print(format_args!("{text}\n"))
    }
}

/// A line on standard error; if that is gone too, nobody is left to be told.
pub(crate) fn complain(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}
