//! What the allocator needs from its surroundings: locks and atomic words.
//!
//! A kernel implements [`Platform`] with its interrupt-safe locks, a schedule explorer with types
//! that make every access a scheduling point. No algorithm is written twice for that.

use core::ops::DerefMut;
use mmspec_model::vocab::{KmemEvent, ZoneIdx};

#[cfg(feature = "std")]
mod biased;
#[cfg(feature = "std")]
mod membarrier;
mod spin;
mod spin_platform;
#[cfg(feature = "std")]
mod std_platform;
mod sync;

#[cfg(feature = "std")]
pub use biased::{BiasedGuard, BiasedLock};

pub use spin::{Relax, SpinGuard, SpinLock, SpinLoop};
pub use spin_platform::{SpinPlatform, Total};
#[cfg(feature = "std")]
pub use std_platform::{StdPlatform, YieldAfterSpins};

/// The locks and atomics to build with.
///
/// None of these types need a constant constructor, so that types which must be made at run time
/// (shuttle's, loom's) fit.
pub trait Platform: 'static {
    /// A word that is read without a lock. All uses are statistics or hints that a later check
    /// under a lock makes good, so relaxed ordering is enough.
    type Word: Word;
    /// A word whose operations all threads see in one order: limits against usage (memcg-slub.md §1.4), and
    /// the state of slabs, whose objects it publishes.
    type Ordered: Ordered;
    /// The zone lock (and the few locks of slow paths). In a kernel: interrupts are off while it
    /// is held.
    type ZoneLock<T: Send + 'static>: Lock<T>;
    /// The lock of one CPU's lists in one zone.
    type PcpLock<T: Send + 'static>: PcpLock<T>;

    /// A drainer waits for the workers of other CPUs and looks again after this. `turn` counts from
    /// 0 in each wait: spin at first, then let others run. No lock of the allocator is held. Called
    /// only under [`DrainScheme::WorkItem`](mmspec_model::vocab::DrainScheme).
    #[inline]
    fn wait(turn: u32) {
        let _ = turn;
        core::hint::spin_loop();
    }

    /// kswapd is to be woken for this zone. No zone lock is held (page_alloc.md §2.9; under one it
    /// was bug P37).
    #[inline]
    fn wake_kswapd(zone: ZoneIdx) {
        let _ = zone;
    }

    /// A tracepoint of the kernel's kmem group was passed (page_alloc.md §6.5). Locks may be held, so
    /// the allocator must not be called from here. By default nobody looks, and no event is built.
    #[inline(always)]
    fn trace(event: impl FnOnce() -> KmemEvent) {
        let _ = event;
    }
}

/// An atomic 64-bit word with relaxed ordering.
pub trait Word: Send + Sync + 'static {
    /// A word that holds `value`.
    fn new(value: u64) -> Self;
    /// Read it.
    fn load(&self) -> u64;
    /// Write it.
    fn store(&self, value: u64);
    /// Add `value`, wrapping; the value before.
    fn fetch_add(&self, value: u64) -> u64;
    /// Set the bits of `mask`; the value before.
    fn fetch_or(&self, mask: u64) -> u64;
    /// Clear the bits that are not in `mask`; the value before.
    fn fetch_and(&self, mask: u64) -> u64;
    /// Write `new` if the word holds `current`; the value before. It may fail for no reason, and
    /// then returns what the word holds: callers go round again.
    ///
    /// # Errors
    /// The value found.
    fn compare_exchange_weak(&self, current: u64, new: u64) -> Result<u64, u64>;

    /// Change the value by `change` in one step, or leave it where that gives `None`; whether it
    /// was changed.
    #[inline]
    fn update(&self, mut change: impl FnMut(u64) -> Option<u64>) -> bool
    where
        Self: Sized,
    {
        let mut seen = self.load();
        while let Some(new) = change(seen) {
            match self.compare_exchange_weak(seen, new) {
                Ok(_) => return true,
                Err(found) => seen = found,
            }
        }
        false
    }
}

/// A [`Word`] whose operations are sequentially consistent.
pub trait Ordered: Word {
    /// Write `value`; the value before. One step: what is provided here is for words that know no better.
    #[inline]
    fn swap(&self, value: u64) -> u64 {
        let mut seen = self.load();
        loop {
            match self.compare_exchange_weak(seen, value) {
                Ok(before) => return before,
                Err(found) => seen = found,
            }
        }
    }
}

/// A lock that owns what it guards.
pub trait Lock<T>: Send + Sync {
    /// Access to the value; ends the hold when dropped.
    type Guard<'a>: DerefMut<Target = T>
    where
        Self: 'a,
        T: 'a;

    /// An open lock.
    fn new(value: T) -> Self;
    /// Wait for the lock.
    fn lock(&self) -> Self::Guard<'_>;
    /// Take the lock if nobody holds it.
    fn try_lock(&self) -> Option<Self::Guard<'_>>;
}

/// The lock of one CPU's lists. Its two sides differ (page_alloc.md §2.9): the owning CPU only ever
/// *tries*, because it may have interrupted the holder; remote CPUs and the worker wait.
pub trait PcpLock<T>: Send + Sync {
    /// Access to the value; ends the hold when dropped.
    type Guard<'a>: DerefMut<Target = T>
    where
        Self: 'a,
        T: 'a;

    /// An open lock.
    fn new(value: T) -> Self;
    /// The owner's side: never waits.
    fn try_lock(&self) -> Option<Self::Guard<'_>>;
    /// The owner's side where that costs next to nothing. It may fail at any time: the caller then
    /// goes on with [`try_lock`](Self::try_lock).
    #[inline(always)]
    fn try_lock_quick(&self) -> Option<Self::Guard<'_>> {
        self.try_lock()
    }
    /// The remote side: waits.
    fn lock_remote(&self) -> Self::Guard<'_>;
}
