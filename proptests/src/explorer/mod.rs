//! The explorer: every sequence of operations up to a bound on a small machine, breadth first, with
//! stateright. States are the allocator's whole visible state (list orders included, counters that
//! only grow left out) and are visited once. On every transition the second allocator, carried
//! along as a copy, makes the same call and must answer and look the same, and the laws of
//! quiescent states must hold of it.

mod engine;
mod key;
mod machine;

pub use engine::{Bounds, explore};
pub use machine::{Scope, scopes};
