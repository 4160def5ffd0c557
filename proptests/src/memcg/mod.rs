//! Memory cgroups: cases (`.mcg`), the specification and the implementation in lockstep, and the laws after
//! every operation.

mod bench;
mod generate;
mod language;
mod lockstep;

pub use bench::Bench;
pub use language::{Memcg, Verb};
pub use lockstep::play;
