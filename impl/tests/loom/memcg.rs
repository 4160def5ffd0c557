//! Memory cgroups under loom: a charge and a lower limit at the same time (memcg-slub.md §1.4). It is the code of
//! `src/memcg` itself, over words of loom.
//!
//! loom takes sequentially consistent accesses for acquire and release, and knows that order only of fences. So a
//! word in one order is one between two such fences here, and a weaker one is the access alone.

use crate::models::explore;
use loom::{
    sync::{Arc, Mutex, MutexGuard, atomic::AtomicU64},
    thread,
};
use mmspec_impl::{
    memcg::OwnedMemcg,
    platform::{Lock, Ordered, PcpLock, Platform, Word},
};
use mmspec_model::{
    contract::{ChargeTask, MemcgCall, MemcgDone, MemcgStep},
    vocab::{CounterKind, CpuId, Gfp, MemcgId, MemcgRules},
};
use std::{
    marker::PhantomData,
    sync::atomic::Ordering::{AcqRel, Acquire, Release, SeqCst},
};

/// What stands around every access.
pub trait Around: Send + Sync + 'static {
    fn fence();
}

/// Sequential consistency.
pub struct OneOrder;

impl Around for OneOrder {
    fn fence() {
        loom::sync::atomic::fence(SeqCst);
    }
}

/// Planted: acquire and release alone.
pub struct AcquireRelease;

impl Around for AcquireRelease {
    fn fence() {}
}

pub struct LoomWord<A>(AtomicU64, PhantomData<fn() -> A>);

impl<A: Around> LoomWord<A> {
    fn step<R>(&self, access: impl FnOnce(&AtomicU64) -> R) -> R {
        A::fence();
        let result = access(&self.0);
        A::fence();
        result
    }
}

impl<A: Around> Word for LoomWord<A> {
    fn new(value: u64) -> Self {
        Self(AtomicU64::new(value), PhantomData)
    }

    fn load(&self) -> u64 {
        self.step(|word| word.load(Acquire))
    }

    fn store(&self, value: u64) {
        self.step(|word| word.store(value, Release));
    }

    fn fetch_add(&self, value: u64) -> u64 {
        self.step(|word| word.fetch_add(value, AcqRel))
    }

    fn fetch_or(&self, mask: u64) -> u64 {
        self.step(|word| word.fetch_or(mask, AcqRel))
    }

    fn fetch_and(&self, mask: u64) -> u64 {
        self.step(|word| word.fetch_and(mask, AcqRel))
    }

    fn compare_exchange_weak(&self, current: u64, new: u64) -> Result<u64, u64> {
        self.step(|word| word.compare_exchange(current, new, AcqRel, Acquire))
    }
}

impl<A: Around> Ordered for LoomWord<A> {
    fn swap(&self, value: u64) -> u64 {
        self.step(|word| word.swap(value, AcqRel))
    }
}

pub struct LoomLock<T>(Mutex<T>);

impl<T: Send + 'static> Lock<T> for LoomLock<T> {
    type Guard<'a> = MutexGuard<'a, T>;

    fn new(value: T) -> Self {
        Self(Mutex::new(value))
    }

    fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap()
    }

    fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        self.0.try_lock().ok()
    }
}

impl<T: Send + 'static> PcpLock<T> for LoomLock<T> {
    type Guard<'a> = MutexGuard<'a, T>;

    fn new(value: T) -> Self {
        Self(Mutex::new(value))
    }

    fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        self.0.try_lock().ok()
    }

    fn lock_remote(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap()
    }
}

pub struct LoomPlatform<A>(PhantomData<A>);

impl<A: Around> Platform for LoomPlatform<A> {
    type Word = LoomWord<A>;
    type Ordered = LoomWord<A>;
    type ZoneLock<T: Send + 'static> = LoomLock<T>;
    type PcpLock<T: Send + 'static> = LoomLock<T>;
}

/// A charge of exactly `pages`, without the stock: its walk alone.
fn charge<A: Around>(groups: &OwnedMemcg<LoomPlatform<A>>, memcg: MemcgId, pages: u32) -> bool {
    let (gfp, task) = (Gfp::empty(), ChargeTask::NESTED);
    let call = MemcgCall::Charge { memcg, pages, gfp, task, over_high: 0 };
    matches!(groups.begin(CpuId(0), call).1, MemcgStep::Done(MemcgDone::Charged { .. }))
}

/// Preemptions that loom explores: the weaker words fail with fewer.
const PREEMPTIONS: usize = 3;

/// One group, no stocks.
fn one_group<A: Around>() -> (Arc<OwnedMemcg<LoomPlatform<A>>>, MemcgId) {
    let groups = OwnedMemcg::new(0, 2, 0, MemcgRules::default());
    let memcg = groups.create(MemcgId::ROOT).unwrap();
    (Arc::new(groups), memcg)
}

/// Either the charge sees the new limit, or who sets it sees the charge: never do both succeed. Both may fail: a limit
/// that is taken back was seen meanwhile.
pub fn a_charge_and_a_lower_limit<A: Around>() {
    explore(PREEMPTIONS, || {
        let (groups, memcg) = one_group::<A>();
        let other = Arc::clone(&groups);
        let setter = thread::spawn(move || other.set_max_v1(memcg, CounterKind::Memory, 1).is_ok());
        let charged = charge(&groups, memcg, 2);
        let limited = setter.join().unwrap();
        assert!(!(charged && limited), "charged over a limit that was accepted");
        assert_eq!(groups.state(memcg).memory.usage, if charged { 2 } else { 0 });
    });
}

/// Two charges of which the limit allows one: never both, and what failed is taken back.
pub fn charges_keep_to_the_limit<A: Around>() {
    explore(PREEMPTIONS, || {
        let (groups, memcg) = one_group::<A>();
        groups.set_max_v1(memcg, CounterKind::Memory, 3).unwrap();
        let other = Arc::clone(&groups);
        let thread = thread::spawn(move || charge(&other, memcg, 2));
        let charged = [charge(&groups, memcg, 2), thread.join().unwrap()];
        assert_ne!(charged, [true; 2], "charged over the limit");
        let usage = 2 * charged.iter().filter(|charged| **charged).count() as u64;
        assert_eq!(groups.state(memcg).memory.usage, usage);
    });
}
