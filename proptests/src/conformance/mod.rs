//! Conformance of any allocator of frames or runs: ten lines of adapter, one line of test.
//!
//! ```
//! use mmspec_model::contract::FrameAllocator;
//! use mmspec_model::vocab::{Order, Pfn, PfnRange};
//! use mmspec_proptests::conformance::{self, Promise, Subject};
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
//! let bump = Subject::frames(make);
//! // It is safe, but nothing comes back.
//! assert!(conformance::check(&Promise::safe(Order::of(3)), &bump, 1, 200).failures.is_empty());
//! let returns = Promise::returns(Order::of(3));
//! assert!(!conformance::check(&returns, &bump, 1, 200).failures.is_empty());
//! ```
//!
//! The memory is given as regions, part of each [`Case`]: several, touching ones too, from frame 0
//! or nowhere round, one frame short or long of a power of two, ascending or not. What counts as a
//! bug is the allocator's own [`Promise`]; what it can be asked beyond allocate and free (its
//! counters, other sizes, resizing, fixed places) its [`Subject`] declares. The macro
//! [`crate::conformance!`] makes a test of both.

mod bench;
mod case;
mod engine;
mod generate;
mod plain;
mod promise;
mod shrink;
mod subject;

pub(crate) use engine::REPLAY;

pub use case::{Case, Step};
pub use engine::{check, expect, replay, run};
pub use generate::case;
pub use plain::{Plain, PlainFault};
pub use promise::{Fit, Promise};
pub use subject::Subject;

/// A test that an allocator keeps its promise.
///
/// `conformance!(name, promise, make)` for a [`mmspec_model::contract::FrameAllocator`], whose
/// `make` gets `&[PfnRange]`; `conformance!(runs name, promise, make)` for a
/// [`mmspec_model::contract::RunAllocator`], whose `make` gets `&[Run]`. Capabilities follow:
/// `counted` ([`mmspec_model::contract::FrameCounters`]), `resizing`
/// ([`mmspec_model::contract::Resize`]), `placing` ([`mmspec_model::contract::FixedPlace`]).
///
/// ```
/// use mmspec_model::vocab::Order;
/// use mmspec_proptests::conformance;
/// use mmspec_proptests::conformance::{Plain, Promise};
///
/// conformance!(
///     plain_is_complete,
///     Promise::complete(Order::of(4)),
///     |regions| Plain::new(regions, Order::of(4)),
///     counted
/// );
/// conformance!(
///     runs plain_is_complete_with_all_that_it_has,
///     Promise::complete(Order::of(4)),
///     |memory| Plain::over(memory, Order::of(4)),
///     counted, resizing, placing
/// );
/// ```
#[macro_export]
macro_rules! conformance {
    (runs $name:ident, $promise:expr, $make:expr $(, $can:ident)*) => {
        #[test]
        fn $name() {
            let subject = $crate::conformance::Subject::runs($make)$(.$can())*;
            $crate::conformance::expect(&$promise, &subject);
        }
    };
    ($name:ident, $promise:expr, $make:expr $(, $can:ident)*) => {
        #[test]
        fn $name() {
            let subject = $crate::conformance::Subject::frames($make)$(.$can())*;
            $crate::conformance::expect(&$promise, &subject);
        }
    };
}
