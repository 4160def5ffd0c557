//! loom's atomics in the clothes of core's. `new` of core's is const and loom's is not: an atomic
//! or a cell of a lock is made at its first use, so that use must come before threads are spawned
//! (`touch` in the models). loom checks every access: a cell that two threads reach without one
//! happening before the other ends the model with "Causality violation".

use core::fmt;
use loom::sync::atomic as loom_atomic;
use std::sync::atomic::Ordering;
use std::sync::{LockResult, OnceLock};

/// Made at first use.
struct Lazy<V, A> {
    first: V,
    made: OnceLock<A>,
}

impl<V: Copy, A> Lazy<V, A> {
    const fn new(first: V) -> Self {
        Self { first, made: OnceLock::new() }
    }

    fn get(&self, make: impl FnOnce(V) -> A) -> &A {
        self.made.get_or_init(|| make(self.first))
    }
}

macro_rules! atomic {
    ($name:ident $(<$param:ident>)?, $value:ty, $inner:ty, $new:path) => {
        pub struct $name $(<$param>)? (Lazy<$value, $inner>);

        impl $(<$param>)? $name $(<$param>)? {
            pub const fn new(value: $value) -> Self {
                Self(Lazy::new(value))
            }

            fn inner(&self) -> &$inner {
                self.0.get($new)
            }

            pub fn load(&self, order: Ordering) -> $value {
                self.inner().load(order)
            }

            pub fn store(&self, value: $value, order: Ordering) {
                // Guards dropped after a model failed find no loom any more.
                if !std::thread::panicking() {
                    self.inner().store(value, order);
                }
            }

            pub fn compare_exchange(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                self.inner().compare_exchange(current, new, success, failure)
            }
        }

        impl $(<$param>)? fmt::Debug for $name $(<$param>)? {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(stringify!($name))
            }
        }
    };
}

atomic!(AtomicBool, bool, loom_atomic::AtomicBool, loom_atomic::AtomicBool::new);
atomic!(AtomicPtr<T>, *mut T, loom_atomic::AtomicPtr<T>, loom_atomic::AtomicPtr::new);

// SAFETY: a pointer is a number here; nobody follows it through this type.
unsafe impl<T> Sync for AtomicPtr<T> {}
// SAFETY: as above.
unsafe impl<T> Send for AtomicPtr<T> {}

impl<T> Default for AtomicPtr<T> {
    /// Made at once: a thread's record is shared before its first use.
    fn default() -> Self {
        let atomic = Self::new(core::ptr::null_mut());
        atomic.inner();
        atomic
    }
}

/// A cell that tells loom of every access.
pub struct UnsafeCell<T> {
    value: core::cell::UnsafeCell<T>,
    accesses: Lazy<(), loom::cell::UnsafeCell<()>>,
}

impl<T> UnsafeCell<T> {
    pub const fn new(value: T) -> Self {
        Self { value: core::cell::UnsafeCell::new(value), accesses: Lazy::new(()) }
    }

    /// Every access counts as a write: the locks under test give one access at a time.
    pub fn get(&self) -> *mut T {
        self.accesses.get(loom::cell::UnsafeCell::new).with_mut(|_| ());
        self.value.get()
    }
}

/// The pool of records of ended threads, without memory: nothing of one execution of a model may
/// come up in the next.
pub struct Mutex<T>(core::marker::PhantomData<fn() -> T>);

impl<T> Mutex<Option<T>> {
    pub const fn new(value: Option<T>) -> Self {
        core::mem::forget(value);
        Self(core::marker::PhantomData)
    }

    pub fn lock(&self) -> LockResult<Option<T>> {
        Ok(None)
    }
}

/// Waits by letting others run.
pub struct Yield;

impl Yield {
    pub fn relax(_turn: u32) {
        loom::thread::yield_now();
    }
}

/// A thread-local of loom that is gone once a model failed: what is dropped then finds no loom.
pub struct Local<T: 'static>(pub &'static loom::thread::LocalKey<T>);

impl<T> Local<T> {
    pub fn try_with<R>(&'static self, body: impl FnOnce(&T) -> R) -> Result<R, ()> {
        if std::thread::panicking() { Err(()) } else { self.0.try_with(body).map_err(|_| ()) }
    }
}

/// loom's thread-locals know no `const` blocks.
macro_rules! loom_thread_local {
    ($(static $name:ident: $type:ty = const $init:block;)+) => {
        $(
            static $name: crate::shim::Local<$type> = {
                loom::thread_local! {
                    static KEY: $type = $init;
                }
                crate::shim::Local(&KEY)
            };
        )+
    };
}

pub(crate) use loom_thread_local as thread_local;

/// What a variant of the locks sees as `super`: everything of the platform that they use. The
/// orderings and the two halves of the asymmetric barrier are parameters. membarrier(2) makes every
/// running thread pass a full barrier; loom has no such thing, so both sides of it are a SeqCst
/// fence here: the compiler fence of the owner and the system call of the others.
macro_rules! variant {
    (acquire: $acquire:ident, release: $release:ident, owner: $owner:expr, others: $others:expr) => {
        pub use mmspec_impl::platform::{Lock, PcpLock};
        pub use spin::Relax;

        pub mod sync {
            pub(crate) use crate::shim::thread_local;
            pub use crate::shim::{AtomicBool, AtomicPtr, Mutex, UnsafeCell};
            pub use std::sync::atomic::Ordering::{
                Relaxed, SeqCst, $acquire as Acquire, $release as Release,
            };

            pub fn compiler_fence(order: std::sync::atomic::Ordering) {
                if $owner {
                    loom::sync::atomic::fence(order);
                }
            }
        }

        pub mod membarrier {
            pub fn is_available() -> bool {
                true
            }

            pub fn barrier() {
                if $others {
                    loom::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
                }
            }
        }

        pub mod std_platform {
            pub use crate::shim::Yield as YieldAfterSpins;

            impl super::Relax for YieldAfterSpins {
                fn relax(turn: u32) {
                    Self::relax(turn);
                }
            }
        }

        #[path = "../../src/platform/biased.rs"]
        pub mod biased;
        #[path = "../../src/platform/spin.rs"]
        pub mod spin;

        crate::models::models!();
    };
}

pub(crate) use variant;
