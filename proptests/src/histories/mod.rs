//! Linearizability: small concurrent histories against the sequential specification.
//!
//! An execution of a script's columns as threads gives a history: for each call when it began and
//! when it ended, and what it answered. The history is right if there is an order of the calls that
//! keeps apart what was apart in time (a call that ended before another began comes before it), in
//! which the reference gives every call its very answer, to the page frame, and after which the
//! reference's whole state is the allocator's: every counter and every list in order. The search
//! is Wing and Gong's with states remembered (Lowe): each reached set of finished calls with its
//! reference state is gone on from once.
//!
//! The policy is not atomic, and neither is the kernel. Exactly these freedoms are given:
//!
//! 1. A call is not one step but those of [`mmspec_model::reference::steps`]: the places where the
//!    policy holds no lock. Between them other calls' steps may fall. What is read in such a place
//!    (watermarks, a pageblock's type) may so be old when it is used, by no more than the call's own
//!    other steps.
//! 2. An owner's attempt to lock its lists may fail if another CPU's call that locks these lists
//!    (drain, pcp disable or enable, sysctl write) overlaps it in time, and never otherwise.
//! 3. A drain of all zones may do nothing if another such drain, or a pcp disable, overlaps it.
//! 4. pcp disable and enable keep each other out while they set limits: their steps do not mix.
//!
//! Everything else is exact. Scripts are those that [`fits`] takes; others are judged by the laws
//! alone.

mod explain;
mod history;
mod script;

pub use explain::{End, Explained, Unexplained, explain};
pub use history::{Event, History};
pub use script::{fits, script};
