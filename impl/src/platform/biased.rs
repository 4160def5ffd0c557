//! A lock that is nearly free for the thread that uses it all the time.
//!
//! The owner enters with plain loads and stores: it says in its own record which lock it is inside,
//! then looks whether somebody else has come. Everybody else takes a busy bit and then makes the
//! owner's processor pass a barrier ([`membarrier`]), after which either the owner has seen the
//! bit, or its record tells that it is inside; that wait is short. So an uncontended pair costs no
//! atomic read-modify-write on the owner's side, and microseconds on the other side, which for the
//! lists of a CPU is rare: drains, the statistics worker of another thread, CPU hotplug.
//!
//! Which thread owns the lock is found out by use. A thread that comes to use the owner's side of
//! another's lock takes the bias away; who then uses it long enough alone gets it back. However
//! threads and CPUs are paired, the lock stays a lock.
#![allow(unsafe_code)] // A lock owns its value through an UnsafeCell; see the SAFETY arguments.

use super::{
    PcpLock, Relax, membarrier,
    std_platform::YieldAfterSpins,
    sync::{
        Acquire, AtomicPtr, Mutex, Relaxed, Release, SeqCst, UnsafeCell, compiler_fence,
        thread_local,
    },
};
use core::{
    cell::Cell,
    fmt,
    marker::PhantomData,
    ops::{Deref, DerefMut},
    ptr,
};
use std::alloc::{GlobalAlloc, Layout, System, handle_alloc_error};

/// What a thread tells of itself: the lock that it is inside as the owner, by address, or null. Records
/// are never freed; one of an ended thread goes to a new one, with all that is biased to it.
///
/// The address is written as a pointer, though never followed, so that one store ends a hold of
/// either kind.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Record {
    inside: AtomicPtr<Record>,
    /// While its thread has ended: the next such record.
    next_unused: AtomicPtr<Record>,
}

/// Records of ended threads, the one that ended last first. A list through the records themselves:
/// a heap stands on these locks (feature `heap`), so nothing here may allocate from the global
/// allocator.
static UNUSED: Mutex<Option<&'static Record>> = Mutex::new(None);

/// A record from those of ended threads, or a new one.
fn take_record() -> &'static Record {
    let mut unused = UNUSED.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if let Some(record) = unused.take() {
        let next = record.next_unused.load(Relaxed);
        if !next.is_null() {
            // SAFETY: only `put_record` writes it, with records, and these are never freed.
            unused.replace(unsafe { &*next });
        }
        return record;
    }
    drop(unused);
    let layout = Layout::new::<Record>();
    // SAFETY: a record is not of size 0.
    let memory = unsafe { System.alloc(layout) }.cast::<Record>();
    if memory.is_null() {
        handle_alloc_error(layout);
    }
    // SAFETY: the memory was just allocated for a record and is never freed.
    unsafe {
        memory.write(Record::default());
        &*memory
    }
}

/// A thread ended: its record is there for another.
fn put_record(record: &'static Record) {
    let mut unused = UNUSED.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let next = unused.take().map_or(ptr::null_mut(), |next| ptr::from_ref(next).cast_mut());
    record.next_unused.store(next, Relaxed);
    unused.replace(record);
}

/// Gives the thread's record back when the thread ends.
struct Holder(&'static Record);

impl Drop for Holder {
    fn drop(&mut self) {
        let _ = RECORD.try_with(|record| record.set(ptr::null_mut()));
        put_record(self.0);
    }
}

thread_local! {
    static RECORD: Cell<*mut Record> = const { Cell::new(ptr::null_mut()) };
    static HOLDER: Cell<Option<Holder>> = const { Cell::new(None) };
}

/// The calling thread's record, null before its first turn in [`own_record`].
#[inline]
fn known_record() -> *mut Record {
    RECORD.try_with(Cell::get).unwrap_or(ptr::null_mut())
}

/// The calling thread's record.
fn own_record() -> *mut Record {
    let known = known_record();
    if !known.is_null() {
        return known;
    }
    let record = take_record();
    let address = ptr::from_ref(record).cast_mut();
    // In a thread that is ending there is nobody left to give the record back: it stays leaked.
    if HOLDER.try_with(|holder| holder.set(Some(Holder(record)))).is_ok() {
        let _ = RECORD.try_with(|known| known.set(address));
    }
    address
}

/// Somebody is inside by the bit. The rest of the state is the owner's record, null if nobody is.
const BUSY: usize = 1;

fn is_busy(state: *mut Record) -> bool {
    state.addr() & BUSY != 0
}

/// Who used the owner's side lately; it decides on the bias.
#[derive(Clone, Copy, Debug)]
struct History {
    last: *mut Record,
    /// Uses by `last` in a row, since the bias was last taken away.
    streak: u32,
    /// Uses in a row that earn the bias. Grows with every time that it was taken away.
    needed: u32,
}

impl History {
    const NEW: Self = Self { last: ptr::null_mut(), streak: 0, needed: 0 };
    const MOST_NEEDED: u32 = 1 << 14;

    /// Book a use; whether it earns the bias.
    fn used_by(&mut self, record: *mut Record) -> bool {
        self.streak = if self.last == record { self.streak.saturating_add(1) } else { 0 };
        self.last = record;
        self.streak >= self.needed
    }

    /// The bias was taken away.
    fn evicted(&mut self) {
        *self = Self { needed: (self.needed * 4).clamp(64, Self::MOST_NEEDED), ..Self::NEW };
    }
}

/// A lock biased to the thread that uses its owner's side.
pub struct BiasedLock<T> {
    state: AtomicPtr<Record>,
    history: UnsafeCell<History>,
    value: UnsafeCell<T>,
}

// SAFETY: the value is reached through guards only, and at most one guard exists at a time, see
// `enter` and `take_busy`; hand-over is by release and acquire. Threads take turns, which is all
// `T: Send` needs. The history is touched by the holder of the busy bit alone; the record pointers
// in it are compared and never followed.
unsafe impl<T: Send> Sync for BiasedLock<T> {}
// SAFETY: records live forever and are shared by design: the pointers to them may go anywhere.
unsafe impl<T: Send> Send for BiasedLock<T> {}

/// Access to what a [`BiasedLock`] guards.
pub struct BiasedGuard<'a, T> {
    lock: &'a BiasedLock<T>,
    /// What ends the hold: the word to write, and what to write to it. For an owner its record and
    /// null, for a holder of the busy bit the lock's state and the state to leave behind.
    word: &'a AtomicPtr<Record>,
    leave: *mut Record,
    // Stays on its thread (the hold is tied to the thread's record), and lends `&mut T`.
    lends: PhantomData<(&'a mut T, *const ())>,
}

impl<T> BiasedLock<T> {
    /// An open lock that nobody owns yet.
    pub const fn new(value: T) -> Self {
        Self {
            state: AtomicPtr::new(ptr::null_mut()),
            history: UnsafeCell::new(History::NEW),
            value: UnsafeCell::new(value),
        }
    }

    /// The lock's address as records tell it.
    #[inline]
    fn address(&self) -> *mut Record {
        ptr::without_provenance_mut(ptr::from_ref(self).addr())
    }

    /// The guard of a holder of the busy bit that leaves `leave` behind.
    fn busy_guard(&self, leave: *mut Record) -> BiasedGuard<'_, T> {
        BiasedGuard { lock: self, word: &self.state, leave, lends: PhantomData }
    }

    /// Take the lock if nobody is inside: the owner's side.
    #[inline]
    pub fn try_lock(&self) -> Option<BiasedGuard<'_, T>> {
        match self.try_lock_quick() {
            Some(guard) => Some(guard),
            None => self.try_lock_busy(),
        }
    }

    /// The same for the thread that the lock is biased to, as long as nobody else has come.
    #[inline(always)]
    pub fn try_lock_quick(&self) -> Option<BiasedGuard<'_, T>> {
        let record = known_record();
        if self.state.load(Relaxed) != record || record.is_null() {
            return None;
        }
        // SAFETY: records are never freed.
        let record: &'static Record = unsafe { &*record };
        if !self.enter(record) {
            return None;
        }
        let (word, leave) = (&record.inside, ptr::null_mut());
        Some(BiasedGuard { lock: self, word, leave, lends: PhantomData })
    }

    /// The owner's way in. Exclusion: a holder of the busy bit set it before its barrier and looks
    /// at `inside` after it. The barrier falls on this thread either before the store below, then
    /// the load behind the store sees the bit; or after the load, then the other sees the store; or
    /// between the two, then both do. The compiler fence keeps the two in this order up to the
    /// processor, the barrier does the rest.
    #[inline]
    fn enter(&self, record: &'static Record) -> bool {
        if !record.inside.load(Relaxed).is_null() {
            return false;
        }
        record.inside.store(self.address(), Release);
        compiler_fence(SeqCst);
        if self.state.load(Acquire) == ptr::from_ref(record).cast_mut() {
            return true;
        }
        record.inside.store(ptr::null_mut(), Release);
        false
    }

    /// Take the busy bit if it is free; the state before.
    fn take_busy(&self) -> Option<*mut Record> {
        let state = self.state.load(Relaxed);
        if is_busy(state) {
            return None;
        }
        let busy = state.map_addr(|address| address | BUSY);
        self.state.compare_exchange(state, busy, Acquire, Relaxed).ok()
    }

    /// With the busy bit taken: wait till the owner, if it is another thread, has left. False if
    /// this very thread is inside as the owner.
    fn wait_for_owner(&self, owner: *mut Record) -> bool {
        if owner.is_null() {
            return true;
        }
        // SAFETY: the state only ever holds records, and they are never freed.
        let record: &'static Record = unsafe { &*owner };
        if owner == known_record() {
            return record.inside.load(Relaxed) != self.address();
        }
        membarrier::barrier();
        let mut turn = 0;
        while record.inside.load(Acquire) == self.address() {
            YieldAfterSpins::relax(turn);
            turn = turn.saturating_add(1);
        }
        true
    }

    /// The owner's side of a thread that does not own the lock, or cannot enter at once.
    #[cold]
    fn try_lock_busy(&self) -> Option<BiasedGuard<'_, T>> {
        let me = own_record();
        let owner = self.take_busy()?;
        if !self.wait_for_owner(owner) {
            self.state.store(owner, Release);
            return None;
        }
        // SAFETY: the busy bit is this thread's, so nobody else touches the history.
        let history = unsafe { &mut *self.history.get() };
        let next = if owner == me {
            me
        } else if !owner.is_null() {
            history.evicted();
            ptr::null_mut()
        } else if history.used_by(me) && membarrier::is_available() {
            me
        } else {
            ptr::null_mut()
        };
        Some(self.busy_guard(next))
    }

    /// Wait for the lock: the side of all other CPUs.
    ///
    /// # Panics
    /// If the calling thread is inside already as the owner.
    pub fn lock_remote(&self) -> BiasedGuard<'_, T> {
        let mut turn = 0;
        let owner = loop {
            match self.take_busy() {
                Some(owner) => break owner,
                None => YieldAfterSpins::relax(turn),
            }
            turn = turn.saturating_add(1);
        };
        if !self.wait_for_owner(owner) {
            self.state.store(owner, Release);
            panic!("a thread waits for a lock that it holds");
        }
        self.busy_guard(owner)
    }
}

impl<T: fmt::Debug> fmt::Debug for BiasedLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.try_lock() {
            Some(guard) => f.debug_tuple("BiasedLock").field(&*guard).finish(),
            None => f.write_str("BiasedLock(busy)"),
        }
    }
}

impl<T> Deref for BiasedGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: this guard is the only one (see `enter` and `wait_for_owner`), and the reference
        // borrows it.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T> DerefMut for BiasedGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as for `deref`; the exclusive borrow of the only guard makes it the only
        // reference.
        unsafe { &mut *self.lock.value.get() }
    }
}

impl<T> Drop for BiasedGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.word.store(self.leave, Release);
    }
}

impl<T: Send + 'static> PcpLock<T> for BiasedLock<T> {
    type Guard<'a>
        = BiasedGuard<'a, T>
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

    #[inline(always)]
    fn try_lock_quick(&self) -> Option<Self::Guard<'_>> {
        self.try_lock_quick()
    }

    fn lock_remote(&self) -> Self::Guard<'_> {
        self.lock_remote()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::{sync::Barrier, thread};

    /// Whether the lock is biased to the calling thread.
    fn is_mine<T>(lock: &BiasedLock<T>) -> bool {
        let state = lock.state.load(Relaxed);
        !state.is_null() && state == known_record()
    }

    #[test]
    fn the_first_user_becomes_the_owner_and_remote_holders_leave_it_that() {
        let lock = BiasedLock::new(0);
        *lock.try_lock().unwrap() += 1;
        assert_eq!(is_mine(&lock), membarrier::is_available());
        thread::scope(|scope| {
            scope.spawn(|| *lock.lock_remote() += 1);
        });
        assert_eq!(is_mine(&lock), membarrier::is_available());
        assert_eq!(*lock.try_lock().unwrap(), 2);
    }

    #[test]
    fn an_owner_inside_is_not_let_in_twice() {
        let lock = BiasedLock::new(0);
        drop(lock.try_lock());
        let inside = lock.try_lock();
        assert!(inside.is_some() && lock.try_lock().is_none());
        drop(inside);
        let remote = lock.lock_remote();
        assert!(lock.try_lock().is_none());
        drop(remote);
        assert!(lock.try_lock().is_some());
    }

    #[test]
    fn two_locks_of_one_owner_can_be_held_together() {
        let (first, second) = (BiasedLock::new(0), BiasedLock::new(0));
        drop((first.try_lock(), second.try_lock()));
        let both = (first.try_lock(), second.try_lock());
        assert!(both.0.is_some() && both.1.is_some());
        thread::scope(|scope| {
            scope.spawn(|| assert!(second.try_lock().is_none()));
        });
        drop(both);
        assert!(first.try_lock().is_some());
    }

    #[test]
    fn another_user_takes_the_bias_away_and_can_earn_it() {
        let lock = BiasedLock::new(0);
        drop(lock.try_lock());
        thread::scope(|scope| {
            scope.spawn(|| {
                drop(lock.try_lock().unwrap());
                assert!(lock.state.load(Relaxed).is_null());
                for _ in 0..100 {
                    drop(lock.try_lock().unwrap());
                }
                assert_eq!(is_mine(&lock), membarrier::is_available());
            });
        });
        assert!(!is_mine(&lock) && lock.try_lock().is_some());
    }

    /// Owners, rival owners and remote holders at once: no increment is lost.
    #[test]
    fn holders_exclude_each_other() {
        const TURNS: u64 = 20_000;
        let lock = &BiasedLock::new((0_u64, 0_u64));
        let start = &Barrier::new(3);
        let count = |held: &mut (u64, u64)| {
            held.0 += 1;
            core::hint::black_box(&mut *held);
            held.1 += 1;
            assert_eq!(held.0, held.1);
        };
        thread::scope(|scope| {
            scope.spawn(move || {
                start.wait();
                for _ in 0..TURNS {
                    count(&mut lock.lock_remote());
                }
            });
            for _ in 0..2 {
                scope.spawn(move || {
                    start.wait();
                    let mut turns = 0;
                    while turns < TURNS {
                        if let Some(mut held) = lock.try_lock() {
                            count(&mut held);
                            turns += 1;
                        }
                    }
                });
            }
        });
        assert_eq!(*lock.lock_remote(), (3 * TURNS, 3 * TURNS));
    }

    /// One owner with its plain stores against one remote holder.
    #[test]
    fn the_owner_and_a_remote_holder_exclude_each_other() {
        const REMOTE: u64 = 20_000;
        let lock = &BiasedLock::new((0_u64, 0_u64));
        let done = &core::sync::atomic::AtomicBool::new(false);
        let own = thread::scope(|scope| {
            let owner = scope.spawn(move || {
                let mut turns = 0;
                while !done.load(Relaxed) {
                    if let Some(mut held) = lock.try_lock() {
                        held.0 += 1;
                        core::hint::black_box(&mut *held);
                        held.1 += 1;
                        turns += 1;
                    }
                }
                turns
            });
            for _ in 0..REMOTE {
                let mut held = lock.lock_remote();
                held.0 += 1;
                assert_eq!(held.0, held.1 + 1);
                held.1 += 1;
            }
            done.store(true, Relaxed);
            owner.join().unwrap()
        });
        assert_eq!(*lock.lock_remote(), (own + REMOTE, own + REMOTE));
    }
}
