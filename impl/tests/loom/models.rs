//! The models, over any variant of the locks.

/// Preemptions that loom explores in one execution. Each bug planted here shows with fewer.
pub const PREEMPTIONS: usize = 5;

/// Run a model in all its executions.
pub fn explore(preemptions: usize, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(model);
}

macro_rules! models {
    () => {
        use crate::models::{PREEMPTIONS, explore};
        use biased::BiasedLock;
        use loom::sync::Arc;
        use loom::thread;

        pub type Spin<T> = spin::SpinLock<T, std_platform::YieldAfterSpins>;

        /// What a holder does: two accesses that nobody else's may fall between.
        fn work(held: &mut (u32, u32)) {
            held.0 += 1;
            assert_eq!(held.0, held.1 + 1, "two holders");
            held.1 += 1;
        }

        fn biased() -> Arc<BiasedLock<(u32, u32)>> {
            let lock = BiasedLock::new((0, 0));
            // Everything is made before threads begin; nobody owns the lock after this.
            drop(lock.lock_remote());
            Arc::new(lock)
        }

        fn spin<T>(value: T) -> Arc<Spin<T>> {
            let lock = Spin::new(value);
            drop(lock.lock());
            Arc::new(lock)
        }

        /// The zone lock.
        pub fn spin_holders_take_turns() {
            explore(PREEMPTIONS, || {
                let lock = spin((0, 0));
                let other = Arc::clone(&lock);
                let thread = thread::spawn(move || work(&mut *other.lock()));
                work(&mut *lock.lock());
                thread.join().unwrap();
                assert_eq!(*lock.lock(), (2, 2));
            });
        }

        /// The owner with its plain stores against one that drains.
        pub fn the_owner_and_a_remote_holder_take_turns() {
            explore(PREEMPTIONS, || {
                let lock = biased();
                // The first use earns the bias: from here on this thread is the owner.
                work(&mut *lock.try_lock().unwrap());
                let other = Arc::clone(&lock);
                let thread = thread::spawn(move || work(&mut *other.lock_remote()));
                let mut done = 2;
                for _ in 0..2 {
                    if let Some(mut held) = lock.try_lock() {
                        work(&mut *held);
                        done += 1;
                    }
                }
                thread.join().unwrap();
                assert_eq!(*lock.lock_remote(), (done, done));
            });
        }

        /// A rival that uses the owner's side takes the bias away.
        pub fn rival_owners_take_turns() {
            explore(PREEMPTIONS, || {
                let lock = biased();
                work(&mut *lock.try_lock().unwrap());
                let other = Arc::clone(&lock);
                let used = |lock: &BiasedLock<(u32, u32)>| {
                    lock.try_lock().map_or(0, |mut held| {
                        work(&mut *held);
                        1
                    })
                };
                let thread = thread::spawn(move || used(&other) + used(&other));
                let own = used(&lock);
                let done = 1 + own + thread.join().unwrap();
                assert_eq!(*lock.lock_remote(), (done, done));
            });
        }

        /// An owner, a rival and a drain at once.
        pub fn three_sides_take_turns() {
            explore(3, || {
                let lock = biased();
                work(&mut *lock.try_lock().unwrap());
                let (rival, drain) = (Arc::clone(&lock), Arc::clone(&lock));
                let rival = thread::spawn(move || match rival.try_lock() {
                    Some(mut held) => {
                        work(&mut *held);
                        1
                    }
                    None => 0,
                });
                let drain = thread::spawn(move || work(&mut *drain.lock_remote()));
                let own = lock.try_lock().map_or(0, |mut held| {
                    work(&mut *held);
                    1
                });
                let done = 2 + own + rival.join().unwrap();
                drain.join().unwrap();
                assert_eq!(*lock.lock_remote(), (done, done));
            });
        }

        /// Lists under the biased lock, a zone under the spin lock inside it: an owner takes from
        /// its lists, or past them when they are busy; a drain moves all of them to the zone. No
        /// page is lost or had twice.
        pub fn pages_change_hands_whole() {
            explore(3, || {
                let lists = BiasedLock::new(0_u32);
                drop(lists.lock_remote());
                let (lists, zone) = (Arc::new(lists), spin(3_u32));
                // Two pages go to the lists, and their owner is this thread.
                {
                    let mut cached = lists.try_lock().unwrap();
                    *zone.lock() -= 2;
                    *cached += 2;
                }
                let (other_lists, other_zone) = (Arc::clone(&lists), Arc::clone(&zone));
                let drain = thread::spawn(move || {
                    let mut cached = other_lists.lock_remote();
                    *other_zone.lock() += *cached;
                    *cached = 0;
                });
                let mut taken = 0;
                for _ in 0..2 {
                    let from_lists = lists.try_lock().and_then(|mut cached| {
                        *cached = cached.checked_sub(1)?;
                        Some(1)
                    });
                    taken += from_lists.unwrap_or_else(|| {
                        let mut free = zone.lock();
                        let one = u32::from(*free > 0);
                        *free -= one;
                        one
                    });
                }
                drain.join().unwrap();
                assert_eq!(taken + *lists.lock_remote() + *zone.lock(), 3);
            });
        }

        /// High mark and batch change together (bug P19 read one old and one new): the owner sees
        /// both old or both new, and after the new ones never the old ones again.
        pub fn settings_are_seen_whole() {
            explore(PREEMPTIONS, || {
                let limits = BiasedLock::new((0_u32, 1_u32));
                drop(limits.lock_remote());
                let limits = Arc::new(limits);
                drop(limits.try_lock());
                let other = Arc::clone(&limits);
                let sysctl = thread::spawn(move || *other.lock_remote() = (252, 63));
                let mut new = false;
                for _ in 0..2 {
                    let Some(seen) = limits.try_lock().map(|seen| *seen) else { continue };
                    assert!(seen == (252, 63) || (seen == (0, 1) && !new), "{seen:?}");
                    new = seen == (252, 63);
                }
                sysctl.join().unwrap();
                assert_eq!(limits.try_lock().map(|seen| *seen), Some((252, 63)));
            });
        }

        /// What a zone shows without its lock is relaxed, and may be old: a reader takes it as a
        /// hint and looks again under the lock.
        pub fn hints_are_made_good_under_the_lock() {
            use std::sync::atomic::Ordering::Relaxed;
            explore(PREEMPTIONS, || {
                let zone = spin(1_u32);
                let shown = Arc::new(loom::sync::atomic::AtomicU64::new(1));
                let take = |zone: &Spin<u32>, shown: &loom::sync::atomic::AtomicU64| {
                    if shown.load(Relaxed) == 0 {
                        return 0;
                    }
                    let mut free = zone.lock();
                    let one = u32::from(*free > 0);
                    *free -= one;
                    shown.store(u64::from(*free), Relaxed);
                    one
                };
                let (other_zone, other_shown) = (Arc::clone(&zone), Arc::clone(&shown));
                let thread = thread::spawn(move || take(&other_zone, &other_shown));
                let own = take(&zone, &shown);
                assert_eq!(own + thread.join().unwrap(), 1);
                assert_eq!(shown.load(Relaxed), 0);
            });
        }
    };
}

pub(crate) use models;
