//! The executable specification of the Linux physical page allocator.
//!
//! Six parts, each usable without the next:
//!
//! * [`vocab`]: the words. Page frames, orders, gfp flags, migratetypes, machines, tunables, the
//!   switches between kernels ([`vocab::Rules`]), counters with the kernel's names, tracepoints.
//! * [`contract`]: the traits that an allocator under test implements, smallest first.
//! * `laws`: what must hold for any allocator with a capability, by level (feature `std`).
//! * [`proc`]: the texts of /proc that show a state, and parsers of recorded ones (these need the
//!   feature `std`).
//! * `picture`: a state as a picture in characters, for failure reports (feature `std`).
//! * `reference`: the Linux policy, exact and sequential (feature `std`).
//!
//! Without the default features the crate is `no_std`, allocates nothing and holds the words, the
//! contract and the texts only: that is all an allocator implementation may take from here, so that
//! an error in the reference cannot hide in shared code.
#![no_std]

#[cfg(feature = "alloc")]
extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

pub mod contract;
#[cfg(feature = "std")]
pub mod knowledge;
#[cfg(feature = "std")]
pub mod laws;
#[cfg(feature = "std")]
pub mod picture;
pub mod proc;
#[cfg(feature = "std")]
pub mod reference;
pub mod vocab;
