//! Driving an allocator with a script: handles become blocks, operations become calls.
//!
//! The steps are apart so that two allocators can be driven in lockstep: [`Ledger::call`] resolves
//! an operation against the blocks held, [`perform`] makes the call, and [`Ledger::record`] notes
//! what the answer changed.

mod call;
mod ledger;
mod panics;
mod walk;

pub use call::{Answer, Call, Caller, perform};
pub use ledger::{Held, Ledger, asked_gfp};
pub use panics::catch;
pub use walk::{MAX_STEPS, Walker, outcome_of, walk, walk_waiting};

use mmspec_model::vocab::{AllocFlags, Gfp};

/// The gfp with which a `check` operation asks the fast form. It decides nothing but the exception
/// for boosted marks, whose callers are the high-priority ones.
#[must_use]
pub const fn check_gfp(flags: AllocFlags) -> Gfp {
    if flags.contains(AllocFlags::MIN_RESERVE) { Gfp::ATOMIC } else { Gfp::KERNEL }
}
