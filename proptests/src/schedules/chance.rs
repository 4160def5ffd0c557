//! What the platform injects, and what it saw, in the execution that runs now.
//!
//! shuttle runs all threads of an execution on one thread of the process, so this is a plain
//! thread-local. What is injected follows from the choices of the schedule alone: a schedule replayed
//! from its text meets the same failures.

use std::cell::Cell;

/// One weak compare-and-swap in this many fails for no reason.
const WEAK_FAILS_ONE_IN: u64 = 3;

thread_local! {
    static MIXED: Cell<u64> = const { Cell::new(0) };
    static WEAK_FAILURES: Cell<u64> = const { Cell::new(0) };
    static BUSY: Cell<u64> = const { Cell::new(0) };
    static ALONE: Cell<bool> = const { Cell::new(true) };
}

/// How often something happened in one execution.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Seen {
    /// Weak compare-and-swaps that failed for no reason.
    pub(super) weak_failures: u64,
    /// Owners that found their lists locked.
    pub(super) busy: u64,
}

/// A new execution.
pub(super) fn begin() {
    MIXED.set(0);
    WEAK_FAILURES.set(0);
    BUSY.set(0);
    ALONE.set(true);
    super::locks::begin();
}

/// What this execution saw so far.
pub(super) fn seen() -> Seen {
    Seen { weak_failures: WEAK_FAILURES.get(), busy: BUSY.get() }
}

/// While one thread makes or judges the allocator there is nobody to switch to: locks and words are
/// no scheduling points then. It is most of the time otherwise, and most of the schedule's text.
pub(super) fn alone() -> bool {
    ALONE.get()
}

/// From here on one thread runs, or several.
pub(super) fn set_alone(alone: bool) {
    ALONE.set(alone);
}

/// A thread was chosen.
pub(super) fn chosen(thread: u64) {
    // FNV-1a over the choices, and over what was drawn in between.
    MIXED.set((MIXED.get() ^ (thread + 1)).wrapping_mul(0x0100_0000_01b3));
}

/// Whether this weak compare-and-swap fails for no reason.
pub(super) fn weak_fails() -> bool {
    chosen(u64::MAX - 1);
    let mixed = MIXED.get();
    let fails = (mixed ^ (mixed >> 29)).is_multiple_of(WEAK_FAILS_ONE_IN);
    WEAK_FAILURES.set(WEAK_FAILURES.get() + u64::from(fails));
    fails
}

/// An owner found its lists locked.
pub(super) fn busy() {
    BUSY.set(BUSY.get() + 1);
}
