//! A page-frame allocator with Linux's policy, built for speed to the mmspec specification.
//!
//! It gives the same frames, counters and list orders as the specification's reference, and it is
//! written apart from it: from `mmspec-model` come the vocabulary and the contract only.
//!
//! * `no_std`, and nothing allocates: all metadata lives in slices that the embedder provides
//!   ([`Storage`], sized by [`StorageSize`]): 9 bytes a frame (65 with records [apart](Spread)), 1 byte a pageblock, a few hundred
//!   bytes for each CPU and zone.
//! * Concurrent through `&self`. The CPU is an argument, never a thread-local. Any number of
//!   threads may use the same CPU id at once: correctness does not depend on it, speed does.
//! * Generic over a [`Platform`]: the locks and the atomic words. The same code runs on std, under
//!   a schedule explorer, and in a kernel.
//! * An order-0 request that its CPU's list can serve takes one lock, that of the list, and writes
//!   no cache line that other CPUs use.
//!
//! ```
//! use mmspec_impl::OwnedAllocator;
//! use mmspec_model::{
//!     contract::Request,
//!     vocab::{CpuId, Gfp, Machine, Order, Rules, Tunables, ZoneKind},
//! };
//!
//! let machine = Machine::new(2, &[(ZoneKind::Normal, 0, 16384)]);
//! let pages: OwnedAllocator =
//!     OwnedAllocator::new(machine.as_ref(), Rules::linux_6_12(), Tunables::default()).unwrap();
//! let order = Order::of(3);
//! let block = pages.alloc_pages(CpuId(0), Request::new(order, Gfp::KERNEL)).page().unwrap();
//! pages.free_pages(CpuId(1), block, order);
//! ```
//!
//! How it is laid out: `platform` (locks, words), `storage` (the slices), `frame` and `list` (what
//! is known of each frame, and the intrusive lists), `zone` (the buddy lists behind the zone lock:
//! splitting, merging, fallback, isolation, the atomic reserve; and the lock-free watermark
//! checks), `pcp` (the per-CPU lists: refill, drain, sizing), `path` (what a request and a free go
//! through), `ops` (start-up, sysctls, hotplug, the statistics worker, observation), `host` (the
//! owned arena) and `contract` (the specification's traits). Beside the allocator, each with an architecture
//! of its own: [`slab`], a slab allocator on top of it, and [`memcg`], who is charged for pages.
#![no_std]

#[cfg(feature = "std")]
extern crate std;

mod allocator;
pub mod compact;
mod contract;
mod error;
mod frame;
mod geometry;
#[cfg(all(feature = "heap", target_os = "linux"))]
pub mod heap;
#[cfg(feature = "std")]
mod host;
mod kswapd;
mod list;
pub mod memcg;
mod node;
mod ops;
mod path;
mod pcp;
pub mod platform;
pub mod reclaim;
pub mod slab;
mod slow;
mod storage;
mod tracepoint;
mod vmstat;
mod zone;
mod zonelist;

pub use allocator::PageAllocator;
pub use error::SetupError;
pub use frame::{BlockType, FrameState, Links, Spread};
#[cfg(feature = "std")]
pub use host::OwnedAllocator;
pub use node::NodeSlot;
pub use pcp::{CpuSlot, PcpSlot};
pub use platform::Platform;
pub use slow::Walk;
#[cfg(feature = "std")]
pub use storage::Owned;
pub use storage::{Backing, Borrowed, Storage, StorageSize};
pub use zone::Zone as ZoneSlot;
pub use zonelist::ZonelistEntry;
