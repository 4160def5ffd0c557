//! Why a recording can't be replayed.

use crate::trace::TraceError;
use mmspec_impl::SetupError;
use mmspec_model::vocab::{Order, Pfn};
use std::path::PathBuf;
use thiserror::Error;

/// An error in a recording of compaction.
#[derive(Debug, Error)]
pub enum ImageError {
    /// A file of the recording can't be read or is damaged.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// A file that is needed is not there.
    #[error(
        "{}: no {file}: an image needs trace.txt[.gz], kpageflags.before[.gz], zoneinfo.before.txt and pagetypeinfo.before.txt",
        folder.display()
    )]
    Missing {
        /// The folder.
        folder: PathBuf,
        /// The file.
        file: &'static str,
    },
    /// kpageflags ends before the zones do.
    #[error("{}: kpageflags.before ends at frame {at}, but a zone ends at {end}: copy it again", folder.display())]
    ShortFlags {
        /// The folder.
        folder: PathBuf,
        /// One past the last frame that it tells of.
        at: Pfn,
        /// One past the last frame of the zones.
        end: Pfn,
    },
    /// The trace shows no run of compaction from begin to end.
    #[error(
        "{}: the trace shows no compaction of a whole zone from mm_compaction_begin to mm_compaction_end: enable events/compaction and write 1 to /proc/sys/vm/compact_memory while recording", folder.display()
    )]
    NoRun {
        /// The folder.
        folder: PathBuf,
    },
    /// Compaction of another kind came first: what it moved is not known.
    #[error(
        "line {line}: the first compaction is for order {order}: only compact_memory (order -1) begins in a state that is known; record it before anything else compacts"
    )]
    OtherRun {
        /// The line.
        line: u64,
        /// The order.
        order: i32,
    },
    /// Events are missing, so the state is not known.
    #[error("{0} events were lost: record again with larger ring buffers")]
    Lost(u64),
    /// Zones that the implementation does not accept as a machine.
    #[error("the recorded zones are no machine: {0}")]
    Machine(#[from] SetupError),
    /// A block could not be brought into its recorded state.
    #[error("the block at {pfn} of order {order} can't be brought into its recorded state")]
    Block {
        /// Its first frame.
        pfn: Pfn,
        /// Its size.
        order: Order,
    },
}
