//! Cases of compaction: a small machine with movable pages, runs over it, and the laws after every
//! iteration.
//!
//! A case has a language of its own, `.mmc`, because what matters here is where pages lie, not by which
//! requests they came there. It is generated from a seed or from bytes, printed, parsed, and shrunk.

mod case;
mod engine;
mod generate;
mod oracle;
mod owner;
mod play;
mod shrink;
mod text;

pub use case::{Act, Case, Kind, Scan, Used};
pub use engine::{fuzz, hunt, replay, run};
pub use generate::Choices;
pub use oracle::Completeness;
pub use play::{Played, play};
