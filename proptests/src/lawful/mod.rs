//! The law engine: one allocator, judged by its contract's observations alone.

mod engine;
mod judge;
mod quiet;
mod walks;

pub use engine::{check_script, run};
pub use judge::{Broke, Depth, Exercised, judge};
pub use quiet::{Quiet, quiet_laws};
