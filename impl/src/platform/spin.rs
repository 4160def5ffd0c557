//! A test-and-test-and-set spin lock: the lock of [`SpinPlatform`] and of the std platform.
#![allow(unsafe_code)] // A lock owns its value through an UnsafeCell; see the SAFETY arguments.

use super::{
    Lock, PcpLock,
    sync::{Acquire, AtomicBool, Relaxed, Release, UnsafeCell},
};
use core::{
    fmt,
    marker::PhantomData,
    ops::{Deref, DerefMut},
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
        match self.busy.compare_exchange(false, true, Acquire, Relaxed) {
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
        while self.busy.load(Relaxed) {
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
        self.lock.busy.store(false, Release);
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
