//! Memory cgroups: cases (`.mcg`), the specification and the implementation in lockstep, and the laws after
//! every operation.

mod actor;
mod bench;
mod exhaust;
mod generate;
mod language;
mod ledger;
mod lockstep;
mod threads;

pub use bench::Bench;
pub use exhaust::{Bounds, explore as exhaust};
pub use language::{Memcg, Verb};
pub use lockstep::play;
pub use threads::{Groups, explore};
