//! What the locks are made of, in one place: `tests/loom` gives the very same lock code other atomics,
//! and then weaker ones, to see that they matter (docs/concurrency.md).

#[cfg(feature = "std")]
pub(super) use core::sync::atomic::{AtomicPtr, Ordering::SeqCst, compiler_fence};
pub(super) use core::{
    cell::UnsafeCell,
    sync::atomic::{
        AtomicBool,
        Ordering::{Acquire, Relaxed, Release},
    },
};
#[cfg(feature = "std")]
pub(super) use std::{sync::Mutex, thread_local};
