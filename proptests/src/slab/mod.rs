//! Slab caches: cases (`.slb`), the laws after every operation, and the layout against the
//! specification's.

mod bench;
mod generate;
mod language;
mod pages;
mod threads;

pub(crate) use bench::machine;
pub use bench::play;
pub use language::{Slab, Verb};
pub use threads::{Caches, explore};
