//! The order of locks, watched in every execution (page_alloc.md §2.9): the lists of a CPU before
//! the zone, a node's kswapd before both, never the lists of two CPUs at once, and nothing is woken while a zone lock is held.
//!
//! A deadlock shows only under the schedule that has it; a wrong order shows wherever the two locks
//! are taken. shuttle runs all threads of an execution on one thread of the process, so what is held
//! by whom is a plain thread-local.

use std::any::type_name;
use std::cell::{Cell, RefCell};
use std::fmt;

/// What a lock guards, in the order in which locks may be taken.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum LockClass {
    /// The sysctls.
    Settings,
    /// One drain at a time.
    Drain,
    /// The work that a drain queued on a CPU.
    Work,
    /// A node's kswapd.
    Node,
    /// The lists of one CPU in one zone.
    Lists,
    /// The free lists of a zone.
    Zone,
}

impl LockClass {
    /// All classes.
    pub const ALL: [Self; 6] =
        [Self::Settings, Self::Drain, Self::Work, Self::Node, Self::Lists, Self::Zone];

    /// The class of a zone lock by what it guards: `impl` uses that kind of lock for its few slow
    /// paths too. The types are its own, so they are known by their names.
    pub(super) fn of<T>() -> Self {
        match type_name::<T>().rsplit("::").next() {
            Some("Config") => Self::Settings,
            Some("Drains") => Self::Drain,
            Some("Item") => Self::Work,
            Some("Kswapd") => Self::Node,
            _ => Self::Zone,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Settings => "settings lock",
            Self::Drain => "drain lock",
            Self::Work => "work lock",
            Self::Node => "node lock",
            Self::Lists => "pcp lock",
            Self::Zone => "zone lock",
        }
    }
}

/// One lock: its class, and which of them in the order in which they were made: pcp locks by CPU,
/// then zone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LockName {
    /// What it guards.
    pub class: LockClass,
    /// Which one.
    pub number: usize,
}

impl fmt::Display for LockName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.class.name(), self.number)
    }
}

/// A rule of lock order that was broken.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum LockViolation {
    /// Two of one kind.
    #[error("{taken} was taken by a thread that holds {held}: never two of a kind")]
    Two {
        /// Held.
        held: LockName,
        /// Taken on top.
        taken: LockName,
    },
    /// The wrong way round.
    #[error(
        "{taken} was taken by a thread that holds {held}: the order is settings, drain, work, node, pcp, zone"
    )]
    Order {
        /// Held.
        held: LockName,
        /// Taken on top.
        taken: LockName,
    },
    /// A wake-up under a lock that the woken one takes.
    #[error("kswapd of zone {zone} was woken by a thread that holds {held}")]
    Woken {
        /// The zone, by position.
        zone: u8,
        /// Held.
        held: LockName,
    },
}

thread_local! {
    static MADE: Cell<[usize; LockClass::ALL.len()]> = const { Cell::new([0; LockClass::ALL.len()]) };
    static TAKEN: Cell<[u64; LockClass::ALL.len()]> = const { Cell::new([0; LockClass::ALL.len()]) };
    static HELD: RefCell<Vec<Hold>> = const { RefCell::new(Vec::new()) };
    static BROKEN: Cell<Option<LockViolation>> = const { Cell::new(None) };
}

/// A new execution.
pub(super) fn begin() {
    MADE.set([0; LockClass::ALL.len()]);
    TAKEN.set([0; LockClass::ALL.len()]);
    HELD.with_borrow_mut(Vec::clear);
    BROKEN.set(None);
}

/// A lock is made.
pub(super) fn made(class: LockClass) -> LockName {
    let mut made = MADE.get();
    let number = made[class as usize];
    made[class as usize] += 1;
    MADE.set(made);
    LockName { class, number }
}

/// How often locks of each class were taken in this execution, while several threads ran.
pub(super) fn taken() -> [u64; LockClass::ALL.len()] {
    TAKEN.get()
}

/// The first rule broken in this execution.
pub(super) fn broken() -> Option<LockViolation> {
    BROKEN.get()
}

fn note(violation: LockViolation) {
    if BROKEN.get().is_none() {
        BROKEN.set(Some(violation));
    }
}

fn me() -> usize {
    usize::from(shuttle::current::me())
}

/// The running thread takes a lock, or is about to wait for it.
pub(super) fn takes(taken: LockName) {
    let me = me();
    HELD.with_borrow(|held| {
        for held in held.iter().filter(|hold| hold.thread == me).map(|hold| hold.lock) {
            if held.class == taken.class {
                note(LockViolation::Two { held, taken });
            } else if held.class > taken.class {
                note(LockViolation::Order { held, taken });
            }
        }
    });
}

/// A lock that a thread holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Hold {
    thread: usize,
    lock: LockName,
}

/// The running thread has the lock.
pub(super) fn has(lock: LockName) -> Hold {
    let mut counts = TAKEN.get();
    counts[lock.class as usize] += 1;
    TAKEN.set(counts);
    let hold = Hold { thread: me(), lock };
    HELD.with_borrow_mut(|held| held.push(hold));
    hold
}

/// The hold is about to end.
pub(super) fn leaves(hold: Hold) {
    HELD.with_borrow_mut(|held| {
        if let Some(at) = held.iter().rposition(|other| *other == hold) {
            held.swap_remove(at);
        }
    });
}

/// The running thread wakes kswapd.
pub(super) fn wakes(zone: u8) {
    let me = me();
    HELD.with_borrow(|held| {
        let zone_lock = |hold: &&Hold| hold.thread == me && hold.lock.class == LockClass::Zone;
        if let Some(hold) = held.iter().find(zone_lock) {
            note(LockViolation::Woken { zone, held: hold.lock });
        }
    });
}
