//! Slab caches over a page allocator: SLUB of Linux 6.17 and before, built to memcg-slub.md §4.
//!
//! How it is laid out:
//!
//! ```text
//! layout     how objects lie in slabs, orders, limits, kmalloc classes        §4.1–4.3
//! word       a slab's state as one word                                       §4.5
//! frame      a record for each frame; lists of slabs                          §4.5
//! memory raw where free objects keep their pointers: a table, or themselves   §4.9
//! cpu        what a CPU holds of a cache                                      §4.5
//! cache      what all share of a cache, and a node's part of it               §4.5
//! storage    the slices that hold all that, lent by the embedder
//! allocator  the parts put together; making caches
//! alloc free bulk   the ways of objects                                       §4.6, §4.7
//! flush      slabs put away: deactivate, flush, shrink, destroy               §4.8
//! pages      slabs made and given back, grace periods, the first list         §4.4, §4.9
//! defer      frees collected slab by slab, an option
//! debug      caches whose CPUs keep nothing                                   §4.6
//! account    owners of objects                                                §4.11
//! observe    what shows                                                       §4.12
//! contract   the specification's trait;  host: everything on the heap
//! ```
//!
//! The quick ways (an object from the CPU's list, an object of the CPU's slab back to it) take the
//! lock of the CPU's part of the cache, which on std is two plain stores, and write no line that
//! another CPU uses; there is no division and no statistics word that is shared. Sheaves (6.18) are
//! left out: the facts about their refill do not suffice (§9).

mod account;
mod alloc;
mod allocator;
mod bulk;
mod cache;
mod contract;
mod cpu;
mod debug;
mod defer;
mod flush;
mod frame;
mod free;
#[cfg(feature = "std")]
mod host;
mod layout;
mod memory;
mod observe;
mod pages;
mod raw;
mod storage;
mod word;

pub use allocator::SlabAllocator;
pub use cache::{CacheSlot, SlabHome, SlabNodeSlot};
pub use cpu::SlabCpuSlot;
pub use frame::SlabFrame;
#[cfg(feature = "std")]
pub use host::OwnedSlabs;
pub use layout::{KMALLOC_NAMES, KMALLOC_SIZES, kmalloc_class, kmalloc_spec, layout};
#[cfg(feature = "std")]
pub use memory::SparseTable;
pub use memory::{FreeSlot, ObjectMemory, WordTable};
pub use pages::{AttemptPages, page_flags};
pub use raw::RawMemory;
pub use storage::{LiveMap, OWNER_GRANULE, OwnerSlot, SequenceSlot, SlabStorage, SlabStorageSize};
