//! shuttle's locks and atomics as a platform of `impl`.

use super::chance;
use super::locks::{self, Hold, LockClass, LockName};
use mmspec_impl::Platform;
use mmspec_impl::platform::{Lock, Ordered, PcpLock, Word};
use mmspec_model::vocab::ZoneIdx;
use shuttle::sync::atomic::{AtomicBool as ShuttleBool, Ordering};
use shuttle::sync::{Mutex, MutexGuard, PoisonError};
use std::ops::{Deref, DerefMut};
use std::sync::atomic::AtomicU64;
use std::sync::{Mutex as StdMutex, MutexGuard as StdGuard};

/// Every lock and every access to a shared word is a scheduling point.
#[derive(Debug)]
pub struct Fine;

/// Locks are scheduling points, words are not: shorter runs, more of them.
#[derive(Debug)]
pub struct Coarse;

/// A word with scheduling points.
#[derive(Debug)]
pub struct FineWord {
    value: AtomicU64,
    /// Loaded for the scheduling point in it.
    point: ShuttleBool,
}

/// A word without.
#[derive(Debug)]
pub struct CoarseWord(AtomicU64);

impl FineWord {
    fn value(&self) -> &AtomicU64 {
        if !chance::alone() {
            self.point.load(Ordering::SeqCst);
        }
        &self.value
    }
}

impl CoarseWord {
    fn value(&self) -> &AtomicU64 {
        &self.0
    }
}

// shuttle treats all orderings as sequentially consistent; what memory ordering does is not its
// subject (docs/concurrency.md). Weak compare-and-swaps fail for no reason now and then, see
// `chance`.
macro_rules! word {
    ($name:ident, |$value:ident| $new:expr) => {
        impl Word for $name {
            fn new($value: u64) -> Self {
                $new
            }

            fn load(&self) -> u64 {
                self.value().load(Ordering::SeqCst)
            }

            fn store(&self, value: u64) {
                self.value().store(value, Ordering::SeqCst);
            }

            fn fetch_add(&self, value: u64) -> u64 {
                self.value().fetch_add(value, Ordering::SeqCst)
            }

            fn fetch_or(&self, mask: u64) -> u64 {
                self.value().fetch_or(mask, Ordering::SeqCst)
            }

            fn fetch_and(&self, mask: u64) -> u64 {
                self.value().fetch_and(mask, Ordering::SeqCst)
            }

            fn compare_exchange_weak(&self, current: u64, new: u64) -> Result<u64, u64> {
                let value = self.value();
                if chance::weak_fails() {
                    return Err(value.load(Ordering::SeqCst));
                }
                value.compare_exchange(current, new, Ordering::SeqCst, Ordering::SeqCst)
            }
        }
    };
}

word!(FineWord, |value| Self { value: AtomicU64::new(value), point: ShuttleBool::new(false) });
word!(CoarseWord, |value| Self(AtomicU64::new(value)));

impl Ordered for FineWord {}

/// A lock of shuttle: it decides who holds the value, which lies in a lock that is always open then.
#[derive(Debug)]
pub struct ShuttleLock<T> {
    name: LockName,
    turn: Mutex<()>,
    value: StdMutex<T>,
}

/// Access to what a [`ShuttleLock`] guards.
pub struct ShuttleGuard<'a, T> {
    // Fields are dropped in this order: the value first.
    value: StdGuard<'a, T>,
    _turn: Option<MutexGuard<'a, ()>>,
    hold: Option<Hold>,
}

impl<T> Drop for ShuttleGuard<'_, T> {
    fn drop(&mut self) {
        if let Some(hold) = self.hold {
            locks::leaves(hold);
        }
    }
}

impl<T> Deref for ShuttleGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> DerefMut for ShuttleGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

impl<T> ShuttleLock<T> {
    fn open(class: LockClass, value: T) -> Self {
        Self { name: locks::made(class), turn: Mutex::new(()), value: StdMutex::new(value) }
    }

    fn guard<'a>(&'a self, turn: Option<MutexGuard<'a, ()>>) -> ShuttleGuard<'a, T> {
        let value = self.value.lock().unwrap_or_else(PoisonError::into_inner);
        let hold = turn.is_some().then(|| locks::has(self.name));
        ShuttleGuard { value, _turn: turn, hold }
    }

    fn wait(&self) -> ShuttleGuard<'_, T> {
        if chance::alone() {
            return self.guard(None);
        }
        locks::takes(self.name);
        self.guard(Some(self.turn.lock().unwrap_or_else(PoisonError::into_inner)))
    }

    fn attempt(&self) -> Option<ShuttleGuard<'_, T>> {
        if chance::alone() {
            return Some(self.guard(None));
        }
        let turn = self.turn.try_lock().ok()?;
        locks::takes(self.name);
        Some(self.guard(Some(turn)))
    }
}

impl<T: Send + 'static> Lock<T> for ShuttleLock<T> {
    type Guard<'a> = ShuttleGuard<'a, T>;

    fn new(value: T) -> Self {
        Self::open(LockClass::of::<T>(), value)
    }

    fn lock(&self) -> Self::Guard<'_> {
        self.wait()
    }

    fn try_lock(&self) -> Option<Self::Guard<'_>> {
        self.attempt()
    }
}

impl<T: Send + 'static> PcpLock<T> for ShuttleLock<T> {
    type Guard<'a> = ShuttleGuard<'a, T>;

    fn new(value: T) -> Self {
        Self::open(LockClass::Lists, value)
    }

    fn try_lock(&self) -> Option<Self::Guard<'_>> {
        let guard = self.attempt();
        if guard.is_none() {
            chance::busy();
        }
        guard
    }

    fn lock_remote(&self) -> Self::Guard<'_> {
        self.wait()
    }
}

/// A drainer waits: the others run.
fn wait() {
    if !chance::alone() {
        shuttle::thread::yield_now();
    }
}

fn wake_kswapd(zone: ZoneIdx) {
    if !chance::alone() {
        locks::wakes(zone.0);
    }
}

impl Platform for Fine {
    type Word = FineWord;
    type Ordered = FineWord;
    type ZoneLock<T: Send + 'static> = ShuttleLock<T>;
    type PcpLock<T: Send + 'static> = ShuttleLock<T>;

    fn wait(_turn: u32) {
        wait();
    }

    fn wake_kswapd(zone: ZoneIdx) {
        wake_kswapd(zone);
    }
}

impl Platform for Coarse {
    type Word = CoarseWord;
    type Ordered = FineWord;
    type ZoneLock<T: Send + 'static> = ShuttleLock<T>;
    type PcpLock<T: Send + 'static> = ShuttleLock<T>;

    fn wait(_turn: u32) {
        wait();
    }

    fn wake_kswapd(zone: ZoneIdx) {
        wake_kswapd(zone);
    }
}
