//! Drains by work items (Linux 4.11 to 5.19): with one thread that plays all CPUs, and with real
//! threads.

mod common;

use common::{CPU0, CPU1, NORMAL, single_zone};
use mmspec_impl::OwnedAllocator;
use mmspec_model::{
    contract::{DrainBegun, Request},
    vocab::{CpuId, DrainScheme, Gfp, Machine, Order, Rules, Tunables, ZoneIdx, ZoneKind},
};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

const CPU2: CpuId = CpuId(2);
const PAGE: Request = Request::new(Order::ZERO, Gfp::KERNEL);

/// Three CPUs whose lists hold pages, under the old scheme.
fn stocked() -> OwnedAllocator {
    let rules = Rules { drain_scheme: DrainScheme::WorkItem, ..Rules::linux_6_1() };
    let pages = single_zone(3, 1 << 16, rules);
    for cpu in [CPU0, CPU1, CPU2] {
        let page = pages.alloc_pages(cpu, PAGE).page().unwrap();
        pages.free_pages(cpu, page, Order::ZERO);
        assert!(pages.pcp_state(cpu, NORMAL).count > 0);
    }
    pages
}

fn count(pages: &OwnedAllocator, cpu: CpuId) -> u64 {
    pages.pcp_state(cpu, NORMAL).count
}

#[test]
fn each_cpu_drains_its_own_lists_when_it_comes_to_it() {
    let pages = stocked();
    let free = pages.free_frames();
    assert_eq!(pages.drain_begin(CPU0, None), DrainBegun::Queued { cpus: 3 });
    assert!(count(&pages, CPU0) > 0 && count(&pages, CPU1) > 0, "nothing is drained yet");
    assert_eq!(pages.drain_begin(CPU1, None), DrainBegun::Busy);
    assert_eq!(pages.drain_begin(CPU1, Some(NORMAL)), DrainBegun::Waits);
    assert_eq!(pages.pcp_disable_begin(CPU1, NORMAL), DrainBegun::Waits);
    assert!(pages.run_work(CPU1) && !pages.run_work(CPU1));
    assert_eq!((count(&pages, CPU1), pages.drain_finished()), (0, false));
    assert!(count(&pages, CPU0) > 0 && count(&pages, CPU2) > 0);
    pages.run_all_work();
    assert_eq!((count(&pages, CPU0), count(&pages, CPU2)), (0, 0));
    assert!(pages.drain_finished());
    assert_eq!(pages.drain_begin(CPU0, None), DrainBegun::Done, "nobody has pages");
    assert_eq!(pages.free_frames(), free);
}

#[test]
fn who_buries_a_cpu_does_its_work() {
    let pages = stocked();
    assert_eq!(pages.drain_begin(CPU0, Some(NORMAL)), DrainBegun::Queued { cpus: 3 });
    assert!(pages.cpu_dead(CPU0, CPU2));
    assert!(!pages.has_work(CPU2) && !pages.run_work(CPU2));
    pages.run_work(CPU0);
    assert!(!pages.drain_finished());
    pages.run_work(CPU1);
    assert!(pages.drain_finished());
    assert!(pages.cpu_online(CPU2));
    assert_eq!(count(&pages, CPU2), 0);
}

#[test]
fn a_copy_has_the_work_too() {
    let pages = stocked();
    pages.drain_begin(CPU0, None);
    let copy = pages.clone();
    pages.run_all_work();
    assert!(copy.has_work(CPU1) && count(&copy, CPU1) > 0);
    assert_eq!(copy.drain_begin(CPU0, None), DrainBegun::Busy);
    copy.run_all_work();
    assert_eq!(copy.drain_begin(CPU0, None), DrainBegun::Done);
}

#[test]
fn work_for_one_zone_leaves_the_others_alone() {
    let zones = [(ZoneKind::Dma32, 0, 1 << 16), (ZoneKind::Normal, 1 << 16, 1 << 17)];
    let rules = Rules { drain_scheme: DrainScheme::WorkItem, ..Rules::linux_6_1() };
    let machine = Machine::new(2, &zones);
    let pages: OwnedAllocator =
        OwnedAllocator::new(machine.as_ref(), rules, Tunables::default()).unwrap();
    let zones = [0, 1].map(ZoneIdx);
    for gfp in [Gfp::DMA32, Gfp::KERNEL] {
        assert!(pages.alloc_pages(CPU1, Request::new(Order::ZERO, gfp)).page().is_some());
    }
    let queued = || zones.map(|zone| pages.pcp_state(CPU1, zone).drain_queued);
    let holds = || zones.map(|zone| pages.pcp_state(CPU1, zone).count > 0);
    assert_eq!((queued(), holds()), ([false, false], [true, true]));
    assert_eq!(pages.drain_begin(CPU0, Some(zones[1])), DrainBegun::Queued { cpus: 1 });
    assert_eq!(queued(), [false, true]);
    assert!(pages.run_work(CPU1));
    assert_eq!((queued(), holds()), ([false, false], [true, false]));
    assert_eq!(pages.drain_begin(CPU0, None), DrainBegun::Queued { cpus: 1 });
    assert_eq!(queued(), [true, true]);
    pages.run_all_work();
    assert_eq!(holds(), [false, false]);
}

#[test]
fn drainers_and_busy_threads_wait_for_nobody_for_ever() {
    let pages = stocked();
    let (done, ran) = (AtomicU64::new(0), AtomicU64::new(0));
    let over = || done.load(Ordering::Relaxed) == 2;
    let touch = |cpu| {
        if let Some(page) = pages.alloc_pages(cpu, PAGE).page() {
            pages.free_pages(cpu, page, Order::ZERO);
        }
    };
    thread::scope(|scope| {
        // CPUs 0 and 1 both drain, so each waits while the other has work for it.
        for cpu in [CPU0, CPU1] {
            let (pages, done, over, touch) = (&pages, &done, &over, &touch);
            scope.spawn(move || {
                for turn in 0..80 {
                    touch(cpu);
                    match turn % 8 {
                        0 => {
                            pages.pcp_disable(cpu, NORMAL);
                            pages.pcp_enable(NORMAL);
                        }
                        1..4 => pages.drain_all(cpu, None),
                        _ => pages.drain_all(cpu, Some(NORMAL)),
                    }
                    pages.run_work(cpu);
                }
                done.fetch_add(1, Ordering::Relaxed);
                // Whoever is done first is idle and serves the other.
                while !over() {
                    pages.run_work(cpu);
                    thread::yield_now();
                }
            });
        }
        // CPU 2 allocates and frees, and now and then comes to its worker.
        scope.spawn(|| {
            while !over() {
                (0..64).for_each(|_| touch(CPU2));
                ran.fetch_add(u64::from(pages.run_work(CPU2)), Ordering::Relaxed);
            }
        });
    });
    assert!(ran.into_inner() >= 20, "CPU 2 was drained by its own worker");
    assert!(pages.drain_finished(), "no drain ended before its work");
}
