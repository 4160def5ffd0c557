//! Races: subjects that are right as long as one thread runs.

use super::locks::{TwoLists, WakesUnderLock, ZoneFirst};
use crate::drive::{Answer, Call, Caller};
use crate::engine::{Config, EngineReport};
use crate::schedules::{self, Coarse, Subject};
use crate::script::Script;
use mmspec_impl::platform::Word;
use mmspec_impl::{Owned, OwnedAllocator, PageAllocator, Platform};
use mmspec_model::contract::Outcome;
use mmspec_model::vocab::{CpuId, Order, Pfn};
use shuttle::sync::{Mutex, PoisonError};

/// A racy subject and how the schedule engine hunts it.
#[derive(Clone, Copy, Debug)]
pub struct Race {
    /// The name in reports.
    pub name: &'static str,
    /// Run the engine on it.
    pub hunt: fn(&Config<'_>) -> EngineReport,
}

/// Those that break a law or the order of locks; but not the deadlock: shuttle speaks on stderr at each one, so that one
/// is for tests.
pub const RACES: [Race; 6] = [
    Race { name: "race-check-then-act", hunt: hunt::<RacyTwice> },
    Race { name: "race-lost-store", hunt: hunt::<RacyLoss> },
    Race { name: "weak-swap-tried-once", hunt: hunt::<WeakOnce> },
    Race { name: "two-pcp-locks", hunt: hunt::<TwoLists> },
    Race { name: "zone-lock-first", hunt: hunt::<ZoneFirst> },
    Race { name: "wakes-under-zone-lock", hunt: hunt::<WakesUnderLock> },
];

fn hunt<S: Subject + Made>(config: &Config<'_>) -> EngineReport {
    schedules::run::<S>(config, S::made)
}

/// Subjects that can be made for a script.
pub(super) trait Made {
    fn made(script: &Script) -> Self;
}

pub(super) type Inner = OwnedAllocator<Coarse>;

pub(super) fn inner(script: &Script) -> Inner {
    let made = OwnedAllocator::new(script.machine.as_ref(), script.rules, script.tunables);
    // Generated scripts are valid.
    made.unwrap_or_else(|error| panic!("{error}"))
}

/// One page kept aside between a free and the next allocation.
struct Aside {
    inner: Inner,
    page: Mutex<Option<Pfn>>,
}

impl Aside {
    fn new(script: &Script) -> Self {
        Self { inner: inner(script), page: Mutex::new(None) }
    }

    fn page(&self) -> Option<Pfn> {
        *self.page.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, page: Option<Pfn>) {
        *self.page.lock().unwrap_or_else(PoisonError::into_inner) = page;
    }

    fn swap(&self, page: Option<Pfn>) -> Option<Pfn> {
        std::mem::replace(&mut *self.page.lock().unwrap_or_else(PoisonError::into_inner), page)
    }

    fn settle(&self) {
        if let Some(page) = self.swap(None) {
            self.inner.free_pages(CpuId(0), page, Order::ZERO);
        }
    }
}

/// The page aside is looked at under its lock and taken under another hold of it: two threads may
/// take it.
pub struct RacyTwice(Aside);

/// The place aside is found empty and filled under another hold: two pages may go there, one is
/// lost.
pub struct RacyLoss(Aside);

/// Two locks taken in either order.
pub struct RacyDeadlock {
    inner: Inner,
    locks: [Mutex<()>; 2],
}

/// A free gets through by a weak compare-and-swap, tried once: it is lost when that fails for no
/// reason.
pub struct WeakOnce {
    inner: Inner,
    frees: <Coarse as Platform>::Word,
}

impl Made for WeakOnce {
    fn made(script: &Script) -> Self {
        Self { inner: inner(script), frees: Word::new(0) }
    }
}

impl Subject for WeakOnce {
    type Platform = Coarse;

    fn call(&self, call: &Call, caller: &dyn Caller) -> Answer {
        if let Call::Free(..) = call {
            let frees = self.frees.load();
            if self.frees.compare_exchange_weak(frees, frees + 1).is_err() {
                return Answer::Done;
            }
        }
        Subject::call(&self.inner, call, caller)
    }

    fn inner(&self) -> &PageAllocator<Coarse, Owned> {
        self.inner.shared()
    }
}

impl Made for RacyTwice {
    fn made(script: &Script) -> Self {
        Self(Aside::new(script))
    }
}

impl Made for RacyLoss {
    fn made(script: &Script) -> Self {
        Self(Aside::new(script))
    }
}

impl Made for RacyDeadlock {
    fn made(script: &Script) -> Self {
        Self { inner: inner(script), locks: [Mutex::new(()), Mutex::new(())] }
    }
}

impl Subject for RacyTwice {
    type Platform = Coarse;
    // What is kept aside is not counted: only the race itself may give it away.
    const LAWS: Option<&'static [&'static str]> = Some(&["one-place"]);

    fn call(&self, call: &Call, caller: &dyn Caller) -> Answer {
        let aside = &self.0;
        match call {
            Call::Alloc(_, request) if request.order == Order::ZERO => {
                if let Some(page) = aside.page() {
                    aside.set(None);
                    return Answer::Outcome(Outcome::Page(page));
                }
            }
            Call::Free(_, page, Order::ZERO) => {
                if let Some(other) = aside.swap(Some(*page)) {
                    aside.inner.free_pages(CpuId(0), other, Order::ZERO);
                }
                return Answer::Done;
            }
            _ => {}
        }
        Subject::call(&aside.inner, call, caller)
    }

    fn settle(&self) {
        self.0.settle();
    }

    fn inner(&self) -> &PageAllocator<Coarse, Owned> {
        self.0.inner.shared()
    }
}

impl Subject for RacyLoss {
    type Platform = Coarse;
    // What is kept aside is not counted: only the race itself may give it away.
    const LAWS: Option<&'static [&'static str]> = Some(&["one-place"]);

    fn call(&self, call: &Call, caller: &dyn Caller) -> Answer {
        let aside = &self.0;
        if let Call::Free(_, page, Order::ZERO) = call
            && aside.page().is_none()
        {
            aside.set(Some(*page));
            return Answer::Done;
        }
        Subject::call(&aside.inner, call, caller)
    }

    fn settle(&self) {
        self.0.settle();
    }

    fn inner(&self) -> &PageAllocator<Coarse, Owned> {
        self.0.inner.shared()
    }
}

impl Subject for RacyDeadlock {
    type Platform = Coarse;
    // What is kept aside is not counted: only the race itself may give it away.
    const LAWS: Option<&'static [&'static str]> = Some(&["one-place"]);

    fn call(&self, call: &Call, caller: &dyn Caller) -> Answer {
        // Those may wait for other CPUs' threads, which take the same locks.
        if matches!(call, Call::DrainAll(..) | Call::PcpDisable(..) | Call::Slow(..)) {
            return Subject::call(&self.inner, call, caller);
        }
        let first = usize::from(matches!(call, Call::Free(..)));
        let _outer = self.locks[first].lock();
        let _inner = self.locks[1 - first].lock();
        Subject::call(&self.inner, call, caller)
    }

    fn inner(&self) -> &PageAllocator<Coarse, Owned> {
        self.inner.shared()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Budget, Case};
    use crate::generate::Rng;
    use crate::schedules::{Oracle, Schedule, Strategy, explore, script};
    use mmspec_model::vocab::DrainScheme;

    fn alone<S: Subject + Made>() {
        for case in 0..300 {
            let mut script = script(&mut Rng::for_case(5, case), case);
            // A walk that waits for others' workers waits for threads that a serial schedule does not
            // run before its own has ended.
            script.rules.drain_scheme = DrainScheme::Remote;
            // An empty schedule switches threads only where one ends.
            let serial = Strategy::Replay(Schedule::default());
            let explored = explore(&script, S::made, serial, 1, Oracle::Laws);
            assert!(explored.found.is_none(), "{:?}\n{script}", explored.found);
        }
    }

    fn kind_of<S: Subject + Made>(config: &Config<'_>) -> String {
        let report = schedules::run::<S>(config, S::made);
        let failure = report.failures.first().expect("found");
        // What was shrunk is replayed from its text.
        let case = Case::parse("case", &failure.to_text("")).expect("parses");
        let schedule = case.schedule.expect("has a schedule");
        let again = schedules::replay(&case.script, S::made, &schedule).expect("replays");
        assert_eq!(again.kind, failure.finding.kind);
        again.kind
    }

    #[test]
    fn races_are_silent_without_concurrency_and_found_with_it() {
        alone::<RacyTwice>();
        alone::<RacyLoss>();
        alone::<RacyDeadlock>();
        let config = Config::new(1, Budget::cases(20_000));
        assert!(["no-overlap", "one-place"].contains(&kind_of::<RacyTwice>(&config).as_str()));
        assert_eq!(kind_of::<RacyLoss>(&config), "one-place");
        assert_eq!(kind_of::<WeakOnce>(&config), "one-place");
        assert_eq!(kind_of::<RacyDeadlock>(&config), "deadlock");
    }
}
