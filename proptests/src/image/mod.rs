//! Compaction against a recorded kernel.
//!
//! A recording of a write to `compact_memory` tells each range that the kernel scanned and each batch
//! that it migrated. Its snapshot before and its events up to there tell in what state memory was. So
//! the implementation's allocator is brought into that state ([`Image`]), compacts, and has to go the
//! same way ([`compare`]). What an image cannot tell is listed with what it may do to the result
//! ([`Unknown`]).

mod build;
mod compare;
mod error;
mod frames;
mod hindsight;
mod lists;
mod mover;
mod recorded;
mod report;
mod run;
mod types;

pub use compare::{Steps, compare_steps};
pub use error::ImageError;
pub use frames::{Contents, Image, ImageOptions, Unknown};
pub use recorded::{RecordedRun, RecordedStep, ZoneRun};
pub use report::{Figure, FreeList, ImageReport, Mismatch};
pub use run::compare;
