//! shuttle's locks and atomics as a platform of `impl`.

use super::chance;
use mmspec_impl::Platform;
use mmspec_impl::platform::{Lock, PcpLock, Word};
use shuttle::sync::atomic::{AtomicU64 as ShuttleU64, Ordering};
use shuttle::sync::{Mutex, MutexGuard, PoisonError};
use std::sync::atomic::AtomicU64;

/// Every lock and every access to a shared word is a scheduling point.
#[derive(Debug)]
pub struct Fine;

/// Locks are scheduling points, words are not: shorter runs, more of them.
#[derive(Debug)]
pub struct Coarse;

/// A word with scheduling points.
#[derive(Debug)]
pub struct FineWord(ShuttleU64);

/// A word without.
#[derive(Debug)]
pub struct CoarseWord(AtomicU64);

// shuttle treats all orderings as sequentially consistent; what memory ordering does is not its
// subject (docs/concurrency.md). Weak compare-and-swaps fail for no reason now and then, see
// `chance`.
macro_rules! word {
    ($name:ident, $inner:ident) => {
        impl Word for $name {
            fn new(value: u64) -> Self {
                Self($inner::new(value))
            }

            fn load(&self) -> u64 {
                self.0.load(Ordering::SeqCst)
            }

            fn store(&self, value: u64) {
                self.0.store(value, Ordering::SeqCst);
            }

            fn fetch_add(&self, value: u64) -> u64 {
                self.0.fetch_add(value, Ordering::SeqCst)
            }

            fn fetch_or(&self, mask: u64) -> u64 {
                self.0.fetch_or(mask, Ordering::SeqCst)
            }

            fn fetch_and(&self, mask: u64) -> u64 {
                self.0.fetch_and(mask, Ordering::SeqCst)
            }

            fn compare_exchange_weak(&self, current: u64, new: u64) -> Result<u64, u64> {
                if chance::weak_fails() {
                    return Err(self.0.load(Ordering::SeqCst));
                }
                self.0.compare_exchange(current, new, Ordering::SeqCst, Ordering::SeqCst)
            }
        }
    };
}

word!(FineWord, ShuttleU64);
word!(CoarseWord, AtomicU64);

/// A lock of shuttle.
#[derive(Debug)]
pub struct ShuttleLock<T>(Mutex<T>);

impl<T: Send + 'static> Lock<T> for ShuttleLock<T> {
    type Guard<'a> = MutexGuard<'a, T>;

    fn new(value: T) -> Self {
        Self(Mutex::new(value))
    }

    fn lock(&self) -> Self::Guard<'_> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn try_lock(&self) -> Option<Self::Guard<'_>> {
        self.0.try_lock().ok()
    }
}

impl<T: Send + 'static> PcpLock<T> for ShuttleLock<T> {
    type Guard<'a> = MutexGuard<'a, T>;

    fn new(value: T) -> Self {
        Self(Mutex::new(value))
    }

    fn try_lock(&self) -> Option<Self::Guard<'_>> {
        let guard = self.0.try_lock().ok();
        if guard.is_none() {
            chance::busy();
        }
        guard
    }

    fn lock_remote(&self) -> Self::Guard<'_> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Platform for Fine {
    type Word = FineWord;
    type ZoneLock<T: Send + 'static> = ShuttleLock<T>;
    type PcpLock<T: Send + 'static> = ShuttleLock<T>;
}

impl Platform for Coarse {
    type Word = CoarseWord;
    type ZoneLock<T: Send + 'static> = ShuttleLock<T>;
    type PcpLock<T: Send + 'static> = ShuttleLock<T>;
}
