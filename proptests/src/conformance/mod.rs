//! Conformance of any allocator of page frames: ten lines of adapter, one line of test.
//!
//! ```
//! use mmspec_model::contract::FrameAllocator;
//! use mmspec_model::vocab::{Order, Pfn, PfnRange};
//! use mmspec_proptests::conformance::{self, Promise};
//!
//! /// Hands out each frame once and never takes one back.
//! struct Bump(Vec<u64>);
//!
//! impl FrameAllocator for Bump {
//!     fn allocate(&mut self, order: Order) -> Option<Pfn> {
//!         if order == Order::ZERO { self.0.pop().map(Pfn) } else { None }
//!     }
//!     fn free(&mut self, _: Pfn, _: Order) {}
//! }
//!
//! let make = |regions: &[PfnRange]| {
//!     Bump(regions.iter().flat_map(|region| region.start.0..region.end.0).collect())
//! };
//! // It is safe, but nothing comes back.
//! assert!(conformance::check(&Promise::safe(Order::of(3)), make, 1, 200).failures.is_empty());
//! let returns = Promise::returns(Order::of(3));
//! assert!(!conformance::check(&returns, make, 1, 200).failures.is_empty());
//! ```
//!
//! The memory is given as regions: several, adjacent ones too, from frame 0 or nowhere round, one
//! frame short or long of a power of two. What counts as a bug is the allocator's own [`Promise`].
//! The macro [`crate::conformance!`] makes a test of it.

mod bench;
mod engine;
mod generate;
mod plain;
mod promise;

pub use engine::{check, check_counted, expect, expect_counted, replay, run_counted};
pub use generate::{regions_of, script};
pub use plain::{Plain, PlainFault};
pub use promise::Promise;

/// A test that an allocator keeps its promise.
///
/// `conformance!(name, promise, make)`, or with `counted` at the end for an allocator that also
/// shows its counters ([`mmspec_model::contract::FrameCounters`]).
#[macro_export]
macro_rules! conformance {
    ($name:ident, $promise:expr, $make:expr) => {
        #[test]
        fn $name() {
            $crate::conformance::expect(&$promise, $make);
        }
    };
    ($name:ident, $promise:expr, $make:expr, counted) => {
        #[test]
        fn $name() {
            $crate::conformance::expect_counted(&$promise, $make);
        }
    };
}
