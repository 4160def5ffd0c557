//! Words of the processor, and the platform that only spins.

use super::{Ordered, Platform, SpinLock, Word};
use core::sync::atomic::{AtomicU64, Ordering};

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

/// A word of the processor in sequential consistency.
#[derive(Debug, Default)]
pub struct Total(AtomicU64);

impl Word for Total {
    fn new(value: u64) -> Self {
        Self(AtomicU64::new(value))
    }

    #[inline]
    fn load(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }

    #[inline]
    fn store(&self, value: u64) {
        self.0.store(value, Ordering::SeqCst);
    }

    #[inline]
    fn fetch_add(&self, value: u64) -> u64 {
        self.0.fetch_add(value, Ordering::SeqCst)
    }

    #[inline]
    fn fetch_or(&self, mask: u64) -> u64 {
        self.0.fetch_or(mask, Ordering::SeqCst)
    }

    #[inline]
    fn fetch_and(&self, mask: u64) -> u64 {
        self.0.fetch_and(mask, Ordering::SeqCst)
    }

    #[inline]
    fn compare_exchange_weak(&self, current: u64, new: u64) -> Result<u64, u64> {
        self.0.compare_exchange_weak(current, new, Ordering::SeqCst, Ordering::SeqCst)
    }
}

impl Ordered for Total {
    #[inline]
    fn swap(&self, value: u64) -> u64 {
        self.0.swap(value, Ordering::SeqCst)
    }
}

/// A platform that only spins: for bare metal with interrupts off around every call.
#[derive(Clone, Copy, Debug)]
pub struct SpinPlatform;

impl Platform for SpinPlatform {
    type Word = AtomicU64;
    type Ordered = Total;
    type ZoneLock<T: Send + 'static> = SpinLock<T>;
    type PcpLock<T: Send + 'static> = SpinLock<T>;
}
