//! Wrong orders of locks: none of these ever deadlocks or breaks a law.

use super::races::{Inner, Made, inner};
use crate::drive::{Answer, Call, Caller};
use crate::schedules::{Coarse, Subject};
use crate::script::Script;
use mmspec_impl::platform::{Lock, PcpLock};
use mmspec_impl::{Owned, PageAllocator, Platform};
use mmspec_model::vocab::ZoneIdx;

type Lists = <Coarse as Platform>::PcpLock<()>;
type Zone = <Coarse as Platform>::ZoneLock<()>;

/// A free takes two pcp locks at once.
pub struct TwoLists {
    inner: Inner,
    lists: [Lists; 2],
}

/// A free takes a zone lock, and a pcp lock on top.
pub struct ZoneFirst {
    inner: Inner,
    zone: Zone,
    lists: Lists,
}

/// A free wakes kswapd while it holds a zone lock (bug P37).
pub struct WakesUnderLock {
    inner: Inner,
    zone: Zone,
}

impl Made for TwoLists {
    fn made(script: &Script) -> Self {
        Self { inner: inner(script), lists: [PcpLock::new(()), PcpLock::new(())] }
    }
}

impl Made for ZoneFirst {
    fn made(script: &Script) -> Self {
        Self { inner: inner(script), zone: Lock::new(()), lists: PcpLock::new(()) }
    }
}

impl Made for WakesUnderLock {
    fn made(script: &Script) -> Self {
        Self { inner: inner(script), zone: Lock::new(()) }
    }
}

impl Subject for TwoLists {
    type Platform = Coarse;

    fn call(&self, call: &Call, caller: &dyn Caller) -> Answer {
        if let Call::Free(..) = call {
            let _first = self.lists[0].lock_remote();
            let _second = self.lists[1].lock_remote();
        }
        Subject::call(&self.inner, call, caller)
    }

    fn inner(&self) -> &PageAllocator<Coarse, Owned> {
        self.inner.shared()
    }
}

impl Subject for ZoneFirst {
    type Platform = Coarse;

    fn call(&self, call: &Call, caller: &dyn Caller) -> Answer {
        if let Call::Free(..) = call {
            let _zone = self.zone.lock();
            let _lists = PcpLock::try_lock(&self.lists);
        }
        Subject::call(&self.inner, call, caller)
    }

    fn inner(&self) -> &PageAllocator<Coarse, Owned> {
        self.inner.shared()
    }
}

impl Subject for WakesUnderLock {
    type Platform = Coarse;

    fn call(&self, call: &Call, caller: &dyn Caller) -> Answer {
        if let Call::Free(..) = call {
            let _zone = self.zone.lock();
            Coarse::wake_kswapd(ZoneIdx(0));
        }
        Subject::call(&self.inner, call, caller)
    }

    fn inner(&self) -> &PageAllocator<Coarse, Owned> {
        self.inner.shared()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Budget, Case, Config};
    use crate::schedules::{self, LockClass, LockName, LockViolation};

    /// Found, shrunk, and replayed from the text; the violation in words.
    fn found<S: Subject + Made>() -> String {
        let report = schedules::run::<S>(&Config::new(1, Budget::cases(2_000)), S::made);
        let failure = report.failures.first().expect("found");
        assert_eq!(failure.finding.kind, "lock-order", "{}", failure.finding.what);
        let case = Case::parse("case", &failure.to_text("")).expect("parses");
        assert!(case.script.ops.len() <= 2, "{}", failure.to_text(""));
        let schedule = case.schedule.expect("has a schedule");
        let again = schedules::replay(&case.script, S::made, &schedule).expect("replays");
        assert_eq!(again, failure.finding);
        again.what
    }

    #[test]
    fn wrong_orders_are_found_and_both_locks_named() {
        let what = found::<TwoLists>();
        assert!(what.contains("pcp lock") && what.contains("never two of a kind"), "{what}");
        let what = found::<ZoneFirst>();
        assert!(what.contains("pcp lock") && what.contains("holds zone lock"), "{what}");
        let what = found::<WakesUnderLock>();
        assert!(what.contains("kswapd of zone 0") && what.contains("holds zone lock"), "{what}");
    }

    /// A worker waits for what never comes.
    struct Stuck(Inner);

    impl Made for Stuck {
        fn made(script: &Script) -> Self {
            Self(inner(script))
        }
    }

    impl Subject for Stuck {
        type Platform = Coarse;

        fn call(&self, call: &Call, caller: &dyn Caller) -> Answer {
            while let Call::Tick(_) = call {
                Coarse::wait(0);
            }
            Subject::call(&self.0, call, caller)
        }

        fn inner(&self) -> &PageAllocator<Coarse, Owned> {
            self.0.shared()
        }
    }

    #[test]
    fn a_wait_without_end_is_found_and_written_short() {
        let report = schedules::run::<Stuck>(&Config::new(1, Budget::cases(2_000)), Stuck::made);
        let failure = report.failures.first().expect("found");
        assert_eq!(failure.finding.kind, "endless", "{}", failure.finding.what);
        let case = Case::parse("case", &failure.to_text("")).expect("parses");
        let schedule = case.schedule.expect("has a schedule");
        assert!(case.script.ops.len() == 1 && schedule.0.len() < 32, "{}", failure.to_text(""));
        let again = schedules::replay(&case.script, Stuck::made, &schedule).expect("replays");
        assert_eq!(again.kind, "endless");
    }

    #[test]
    fn a_violation_is_a_type_and_a_sentence() {
        let name = |class, number| LockName { class, number };
        let held = name(LockClass::Zone, 1);
        let violation = LockViolation::Order { held, taken: name(LockClass::Lists, 4) };
        let text = violation.to_string();
        assert!(
            text.starts_with("pcp lock 4 was taken by a thread that holds zone lock 1"),
            "{text}"
        );
    }
}
