//! A test-and-test-and-set spin lock: the lock of [`SpinPlatform`] and of the std platform.
#![allow(unsafe_code)] // A lock owns its value through an UnsafeCell; see the SAFETY arguments.

use super::{Lock, PcpLock, Platform, Word};
use core::{
    cell::UnsafeCell,
    fmt,
    marker::PhantomData,
    ops::{Deref, DerefMut},
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
};

/// What to do while a lock is busy.
pub trait Relax: 'static {
    /// Called again and again; `turn` counts the calls of one wait from 0.
    fn relax(turn: u32);
}

/// Spins with the processor's hint.
#[derive(Clone, Copy, Debug)]
pub struct SpinLoop;

impl Relax for SpinLoop {
    fn relax(_turn: u32) {
        core::hint::spin_loop();
    }
}

/// A spin lock that owns its value.
pub struct SpinLock<T, R = SpinLoop> {
    busy: AtomicBool,
    relax: PhantomData<fn() -> R>,
    value: UnsafeCell<T>,
}

// SAFETY: the value is reached through guards only, and `busy` admits one guard at a time, with
// acquire on taking and release on giving back: threads take turns, which is all `T: Send` needs.
unsafe impl<T: Send, R> Sync for SpinLock<T, R> {}

/// Access to what a [`SpinLock`] guards.
pub struct SpinGuard<'a, T, R = SpinLoop> {
    lock: &'a SpinLock<T, R>,
    // A guard lends `&mut T`: it may cross threads or be shared exactly when that reference may.
    lends: PhantomData<&'a mut T>,
}

impl<T, R> SpinLock<T, R> {
    /// An open lock.
    pub const fn new(value: T) -> Self {
        Self { busy: AtomicBool::new(false), relax: PhantomData, value: UnsafeCell::new(value) }
    }

    /// Take the lock if it is free.
    #[inline]
    pub fn try_lock(&self) -> Option<SpinGuard<'_, T, R>> {
        match self.busy.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed) {
            Ok(_) => Some(SpinGuard { lock: self, lends: PhantomData }),
            Err(_) => None,
        }
    }
}

impl<T, R: Relax> SpinLock<T, R> {
    /// Wait for the lock.
    #[inline]
    pub fn lock(&self) -> SpinGuard<'_, T, R> {
        loop {
            if let Some(guard) = self.try_lock() {
                return guard;
            }
            self.wait();
        }
    }

    #[cold]
    fn wait(&self) {
        let mut turn = 0;
        while self.busy.load(Ordering::Relaxed) {
            R::relax(turn);
            turn = turn.saturating_add(1);
        }
    }
}

impl<T: fmt::Debug, R> fmt::Debug for SpinLock<T, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.try_lock() {
            Some(guard) => f.debug_tuple("SpinLock").field(&*guard).finish(),
            None => f.write_str("SpinLock(busy)"),
        }
    }
}

impl<T, R> Deref for SpinGuard<'_, T, R> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: this guard holds `busy`, so no other guard exists and no `&mut T` is out; the
        // reference borrows the guard and cannot outlive the hold.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T, R> DerefMut for SpinGuard<'_, T, R> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as for `deref`; the exclusive borrow of the only guard makes it the only
        // reference.
        unsafe { &mut *self.lock.value.get() }
    }
}

impl<T, R> Drop for SpinGuard<'_, T, R> {
    #[inline]
    fn drop(&mut self) {
        self.lock.busy.store(false, Ordering::Release);
    }
}

impl<T: Send + 'static, R: Relax> Lock<T> for SpinLock<T, R> {
    type Guard<'a>
        = SpinGuard<'a, T, R>
    where
        Self: 'a,
        T: 'a;

    fn new(value: T) -> Self {
        Self::new(value)
    }

    #[inline]
    fn lock(&self) -> Self::Guard<'_> {
        self.lock()
    }

    #[inline]
    fn try_lock(&self) -> Option<Self::Guard<'_>> {
        self.try_lock()
    }
}

impl<T: Send + 'static, R: Relax> PcpLock<T> for SpinLock<T, R> {
    type Guard<'a>
        = SpinGuard<'a, T, R>
    where
        Self: 'a,
        T: 'a;

    fn new(value: T) -> Self {
        Self::new(value)
    }

    #[inline]
    fn try_lock(&self) -> Option<Self::Guard<'_>> {
        self.try_lock()
    }

    #[inline]
    fn lock_remote(&self) -> Self::Guard<'_> {
        self.lock()
    }
}

impl Word for AtomicU64 {
    fn new(value: u64) -> Self {
        Self::new(value)
    }

    #[inline]
    fn load(&self) -> u64 {
        self.load(Ordering::Relaxed)
    }

    #[inline]
    fn store(&self, value: u64) {
        self.store(value, Ordering::Relaxed);
    }

    fn fetch_add(&self, value: u64) -> u64 {
        self.fetch_add(value, Ordering::Relaxed)
    }

    fn fetch_or(&self, mask: u64) -> u64 {
        self.fetch_or(mask, Ordering::Relaxed)
    }

    fn fetch_and(&self, mask: u64) -> u64 {
        self.fetch_and(mask, Ordering::Relaxed)
    }

    fn compare_exchange_weak(&self, current: u64, new: u64) -> Result<u64, u64> {
        self.compare_exchange_weak(current, new, Ordering::Relaxed, Ordering::Relaxed)
    }
}

/// A platform that only spins: for bare metal with interrupts off around every call.
#[derive(Clone, Copy, Debug)]
pub struct SpinPlatform;

impl Platform for SpinPlatform {
    type Word = AtomicU64;
    type ZoneLock<T: Send + 'static> = SpinLock<T>;
    type PcpLock<T: Send + 'static> = SpinLock<T>;
}
