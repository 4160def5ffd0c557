//! Recorded kernel traces, explained by the specification.
//!
//! [`explain`] streams a text trace (plain or gzip) through [`mmspec_model::knowledge`] and gives
//! each event a verdict: *predicted* (exactly this page frame), *inferred* (an untraced step
//! explains it, and a later event proved that step), *contradicted*, or *undecidable* (it depends
//! on list content or a pageblock type that is not known yet). An inference without its proof by
//! the end counts as contradicted.

mod amounts;
mod compaction;
mod compare;
mod drains;
mod engine;
mod error;
mod event;
mod fallback;
mod folder;
mod lists;
mod moment;
mod possible;
mod proofs;
mod reader;
mod record;
mod render;
mod report;
mod resume;
pub mod selfcheck;
mod sizes;
mod start;
mod timeline;
mod traced;
mod window;

pub use compaction::{CompactStep, Scan};
pub use engine::{Options, explain, explain_reader};
pub use error::{TraceError, TraceErrorKind};
pub use event::{Payload, TraceEvent};
pub use folder::Snapshot;
pub(crate) use folder::rules_of;
pub(crate) use moment::{Moment, before_compaction};
pub use reader::{Reader, open};
pub use record::{EVENTS, RecordError, Recording, record};
pub use render::Line;
pub use report::{Difference, FreeFrames, Kind, KindCounts, Report, Unexplained, Verdict};
pub use timeline::Timeline;
