//! The differential engine: two allocators in lockstep.
//!
//! After each operation the answers, all zone and per-CPU numbers, the events and the lengths of
//! all lists must be equal; the lists that were touched are compared block by block, all lists at
//! intervals and at the end. When something differs, the case is run again with every list
//! compared after every operation, so that the first difference is the one reported.

mod domain;
mod engine;
mod lockstep;

pub use domain::unspecified;
pub use engine::{Report, check_script, run};
pub use lockstep::{Difference, Options, Place, Stats, lockstep};
