//! The schedule engine: a script's per-CPU columns run as threads under shuttle, which decides at
//! every lock and atomic access who goes on.
//!
//! Ownership is checked at each hand-over (a block that `alloc` returns must overlap no block that
//! any thread holds), the laws of quiescent states when all threads are done, and the laws of
//! emptiness when all was given back. The order in which locks are taken is watched all the time
//! ([`LockViolation`]). A drain that nothing disturbed must have emptied its lists. Under
//! [`DrainScheme::WorkItem`](mmspec_model::vocab::DrainScheme) a thread whose column is done is idle
//! and does what drains queue on its CPU until all are done. Panics, deadlocks and runs without end are findings too. A
//! failing schedule is the list of threads chosen at each step; it is stored as text beside its
//! script, replayed from there, and shrunk: fewer operations first, then fewer context switches.

mod body;
mod chance;
mod engine;
mod generate;
mod locks;
mod overlap;
mod platform;
mod schedulers;
mod shrinking;
mod subject;
mod table;

pub use body::{column_of, concurrent_script};
pub(crate) use engine::executions;
pub use engine::{Executed, Explored, Oracle, Strategy, explore, replay, run, run_histories};
pub use generate::script;
pub use locks::{LockClass, LockName, LockViolation};
pub use platform::{Coarse, Fine, FineWord};
pub use schedulers::{Schedule, ScheduleError};
pub use shrinking::shrink_case;
pub use subject::{Boot, Subject};

/// Run `threads`, which starts threads of shuttle and joins them, in an execution of shuttle: meanwhile
/// locks and words of [`Coarse`] and [`Fine`] are scheduling points. What comes before and after, when one
/// thread makes or judges what they share, is not scheduled.
pub fn together<T>(threads: impl FnOnce() -> T) -> T {
    chance::set_alone(false);
    let result = threads();
    chance::set_alone(true);
    result
}

/// A new execution begins: nothing is left of the one before, which may have been broken off.
pub fn afresh() {
    chance::begin();
}
