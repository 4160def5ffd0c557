//! Threads at once: at quiescence nothing is lost, and what was charged was always within the limit (§5 L9, L11).

use crate::bench::*;
use mmspec_impl::{
    memcg::OwnedMemcg,
    platform::{SpinPlatform, StdPlatform},
};
use mmspec_model::{
    contract::{MemcgCall, MemcgDone, MemcgStep},
    vocab::{CounterKind, CpuId, Gfp, MemcgId, MemcgRules},
};
use std::{
    sync::atomic::{AtomicBool, AtomicI64, Ordering::SeqCst},
    thread,
};

const TURNS: u32 = 30_000;
const LIMIT: i64 = 300;

fn random(state: &mut u64) -> u32 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) as u32
}

/// As [`object`], of a caller that cannot wait.
fn small_object(objcg: MemcgId, bytes: u32) -> MemcgCall {
    MemcgCall::ChargeObject { objcg, bytes, gfp: Gfp::NOWAIT, task: TASK, over_high: 0 }
}

fn hammer<P: mmspec_impl::Platform>(same_cpu: bool) {
    let groups: OwnedMemcg<P> = OwnedMemcg::new(2, 8, 0, MemcgRules::default());
    let parent = groups.create(ROOT).unwrap();
    let leaves = [(); 2].map(|()| groups.create(parent).unwrap());
    groups.set_max_v1(parent, CounterKind::Memory, LIMIT as u64).unwrap();
    let live = AtomicI64::new(0);
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let workers = [0_u16, 1].map(|at| {
            let (groups, live) = (groups.shared(), &live);
            scope.spawn(move || {
                let cpu = CpuId(if same_cpu { 0 } else { at });
                let mut seed = u64::from(at) + 7;
                let mut held: Vec<(MemcgId, u32)> = Vec::new();
                for _ in 0..TURNS {
                    let pages = 1 + random(&mut seed) % 70;
                    let memcg = leaves[random(&mut seed) as usize % 2];
                    match random(&mut seed) % 4 {
                        0 | 1 => match groups.begin(cpu, charge(memcg, pages, Gfp::NOWAIT)).1 {
                            MemcgStep::Done(MemcgDone::Charged { .. }) => {
                                let sum = live.fetch_add(i64::from(pages), SeqCst);
                                assert!(sum + i64::from(pages) <= LIMIT, "over the limit: {sum}");
                                held.push((memcg, pages));
                            }
                            MemcgStep::Done(MemcgDone::NoMemory { .. }) => {}
                            step => panic!("{step:?}"),
                        },
                        2 => {
                            if let Some((memcg, pages)) = held.pop() {
                                live.fetch_sub(i64::from(pages), SeqCst);
                                groups.uncharge(memcg, pages);
                            }
                        }
                        _ => match random(&mut seed) % 3 {
                            0 => groups.drain_all_stock(cpu, parent),
                            1 => drop(groups.run_stock_work(cpu)),
                            _ => {
                                let call = small_object(memcg, 8 * pages);
                                if let MemcgStep::Done(MemcgDone::Charged { .. }) =
                                    groups.begin(cpu, call).1
                                {
                                    groups.uncharge_object(cpu, memcg, 8 * pages, false);
                                }
                            }
                        },
                    }
                }
                held
            })
        });
        let setter = scope.spawn(|| {
            let mut seed = 3;
            while !done.load(SeqCst) {
                let pages = u64::from(random(&mut seed) % LIMIT as u32);
                let _ = groups.set_max_v1(parent, CounterKind::Memory, pages);
                let _ = groups.set_low(leaves[0], pages);
                let _ = groups.set_max_v1(parent, CounterKind::Memory, LIMIT as u64);
            }
        });
        let held = workers.map(|worker| worker.join());
        done.store(true, SeqCst);
        setter.join().unwrap();
        let held: Vec<_> = held.into_iter().flat_map(Result::unwrap).collect();
        // What is held, what lies in stocks, and what bytes took: that is all.
        let sum: u64 = held.iter().map(|(_, pages)| u64::from(*pages)).sum();
        let state = groups.state(parent);
        assert_eq!(state.memory.children_low_usage, {
            leaves.iter().map(|leaf| groups.state(*leaf).memory.low_usage).sum::<u64>()
        });
        for (memcg, pages) in held {
            groups.uncharge(memcg, pages);
        }
        assert!(state.memory.usage >= sum);
    });
    // All objects were failures or are freed: stocks go, then the last bytes with their groups.
    for cpu in [CPU0, CPU1] {
        groups.stock_cpu_dead(cpu);
    }
    for leaf in leaves {
        let left = groups.state(leaf);
        assert_eq!(left.memory.usage, left.kernel as u64, "{left:?}");
        assert_eq!(left.references, 0);
    }
}

/// Objects charged and freed by two CPUs while their group is removed: the parent's they become.
fn objects<P: mmspec_impl::Platform>() {
    let groups: OwnedMemcg<P> = OwnedMemcg::new(2, 64, 0, MemcgRules::default());
    let parent = groups.create(ROOT).unwrap();
    let mut kernel = 0;
    for round in 0..20 {
        let memcg = groups.create(parent).unwrap();
        thread::scope(|scope| {
            for at in [0_u16, 1] {
                let groups = groups.shared();
                scope.spawn(move || {
                    let mut seed = u64::from(at) + round;
                    let mut held = Vec::new();
                    for _ in 0..2000 {
                        let bytes = 1 + random(&mut seed) % 5000;
                        if random(&mut seed).is_multiple_of(2) {
                            let step = groups.begin(CpuId(at), object(memcg, bytes)).1;
                            assert!(matches!(step, MemcgStep::Done(MemcgDone::Charged { .. })));
                            held.push(bytes);
                        } else if let Some(bytes) = held.pop() {
                            groups.uncharge_object(CpuId(1 - at), memcg, bytes, false);
                        }
                    }
                    for bytes in held {
                        groups.uncharge_object(CpuId(at), memcg, bytes, false);
                    }
                });
            }
            groups.offline(CPU0, memcg).unwrap();
        });
        for cpu in [CPU0, CPU1] {
            groups.stock_cpu_dead(cpu);
        }
        let (left, above) = (groups.state(memcg), groups.state(parent));
        assert_eq!((left.references, left.charged_bytes), (0, 0), "{left:?}");
        assert_eq!((above.references, above.memory.usage), (0, 0), "{above:?}");
        // What was charged on the child's walk and uncharged on the parent's stays with the child (§2.12).
        assert_eq!(left.memory.usage as i64, left.kernel);
        kernel += left.kernel;
        assert_eq!(above.kernel, -kernel);
    }
}

#[test]
fn nothing_is_lost_with_biased_locks() {
    hammer::<StdPlatform>(false);
    hammer::<StdPlatform>(true);
}

#[test]
fn nothing_is_lost_with_spin_locks() {
    hammer::<SpinPlatform>(false);
}

#[test]
fn objects_outlive_their_group() {
    objects::<StdPlatform>();
}
