//! kswapd as a stepped machine (compaction.md §4.2 to §4.4), its reclaim played by hand.

mod common;

use common::{CPU0, NORMAL, Pages, single_zone};
use mmspec_impl::OwnedAllocator;
use mmspec_model::{
    contract::{KswapdReply, KswapdStep, Outcome, Request},
    vocab::{AllocFlags, Gfp, Mark, NodeId, Order, Pfn, Rules, ZoneFlags, ZoneKind},
};
use std::vec::Vec;

const NODE: NodeId = NodeId(0);

/// A zone of 4096 pages (MIN 128, LOW 160, HIGH 192), all of them taken one by one.
fn full() -> (OwnedAllocator, Vec<Pfn>) {
    let pages = single_zone(1, 4096, Rules::linux_6_12());
    pages.pcp_disable(CPU0, NORMAL);
    let mut held = Pages::new(&pages);
    let all =
        Request::new(Order::ZERO, Gfp::HIGHUSER_MOVABLE).at(Mark::Min, AllocFlags::NO_WATERMARKS);
    let pfns: Vec<_> = core::iter::from_fn(|| held.request(all)).collect();
    pages.tick(CPU0);
    (pages, pfns)
}

/// A request that cannot wait fails and wakes kswapd.
fn fail(pages: &OwnedAllocator, order: u8) {
    let request = Request::new(Order::of(order), Gfp::NOWAIT);
    assert_eq!(pages.alloc_pages(CPU0, request), Outcome::SlowPath);
    let mut walk = pages.slow_begin(CPU0, request);
    pages.slow_step(&mut walk, None);
}

fn shrunk(scanned: u64, reclaimed: u64) -> Option<KswapdReply> {
    Some(KswapdReply::Shrunk { scanned, reclaimed })
}

fn priority(step: KswapdStep) -> u8 {
    match step {
        KswapdStep::Shrink { priority, .. } => priority,
        other => panic!("a shrink, not {other:?}"),
    }
}

fn is_active(pages: &OwnedAllocator) -> bool {
    pages.zone_state(NORMAL).flags.contains(ZoneFlags::RECLAIM_ACTIVE)
}

#[test]
fn it_sleeps_until_it_is_woken_and_works_up_to_the_high_mark() {
    let (pages, held) = full();
    assert_eq!(pages.kswapd_step(NODE, None), KswapdStep::Asleep);
    assert_eq!(pages.kswapd_step(NodeId(7), None), KswapdStep::Asleep);
    let normal = pages.zone_state(NORMAL).stat_threshold;
    fail(&pages, 0);
    fail(&pages, 3);
    let state = pages.node_state(NODE);
    assert_eq!((state.kswapd_awake, state.wakeups), (true, 1));
    assert_eq!((state.kswapd_order, state.kswapd_highest), (3, Some(ZoneKind::Normal)));
    let step = pages.kswapd_step(NODE, None);
    let expected = KswapdStep::Shrink {
        priority: 12,
        target: 192,
        order: Order::of(3),
        highest: ZoneKind::Normal,
        may_write: true,
        may_swap: true,
        unbalanced_only: false,
    };
    assert_eq!(step, expected);
    assert!(is_active(&pages));
    assert_eq!(pages.node_state(NODE).kswapd_highest, None, "what was asked for is taken note of");
    // Enough scanned: no more urgent; too little, or nothing reclaimed: more urgent.
    assert_eq!(priority(pages.kswapd_step(NODE, shrunk(192, 1))), 12);
    assert_eq!(priority(pages.kswapd_step(NODE, shrunk(191, 1))), 11);
    assert_eq!(priority(pages.kswapd_step(NODE, shrunk(192, 0))), 10);
    // Twice the order's pages reclaimed in all: on as order 0.
    let step = pages.kswapd_step(NODE, shrunk(192, 14));
    assert!(matches!(step, KswapdStep::Shrink { order: Order::ZERO, .. }), "{step:?}");
    // Above HIGH it is over; the nap is taken for order 3, which is not there, so no sleep yet.
    for pfn in held.iter().filter(|pfn| pfn.0 % 2 == 0).take(193) {
        pages.free_pages(CPU0, *pfn, Order::ZERO);
    }
    pages.tick(CPU0);
    assert_eq!(pages.kswapd_step(NODE, shrunk(192, 193)), KswapdStep::Nap);
    assert!(!is_active(&pages));
    assert_eq!(pages.node_state(NODE).kcompactd_wakeups, 1);
    // Woken early: it looks again, finds all well, and naps; then it sleeps.
    let step = pages.kswapd_step(NODE, Some(KswapdReply::Napped { early: true }));
    assert_eq!(step, KswapdStep::Nap);
    assert_eq!(pages.events().kswapd_low_wmark_hit_quickly, 1);
    let step = pages.kswapd_step(NODE, Some(KswapdReply::Napped { early: false }));
    assert_eq!((step, pages.node_state(NODE).kswapd_awake), (KswapdStep::Asleep, false));
    assert_eq!((pages.events().pageoutrun, pages.zone_state(NORMAL).stat_threshold), (2, normal));
}

#[test]
fn a_node_without_hope_is_left_alone() {
    let (pages, held) = full();
    fail(&pages, 0);
    let mut step = pages.kswapd_step(NODE, None);
    for round in 0..16 {
        for urgency in (1..=12).rev() {
            assert_eq!(priority(step), urgency, "round {round}");
            step = pages.kswapd_step(NODE, shrunk(1000, 0));
        }
        assert_eq!(pages.node_state(NODE).kswapd_failures, round + 1);
    }
    assert_eq!(step, KswapdStep::Nap);
    let events = pages.events();
    assert_eq!((events.pageoutrun, events.kswapd_high_wmark_hit_quickly), (16, 15));
    pages.kswapd_step(NODE, Some(KswapdReply::Napped { early: false }));
    let before = pages.node_state(NODE);
    fail(&pages, 2);
    let state = pages.node_state(NODE);
    assert_eq!((state.kswapd_awake, state.wakeups), (false, before.wakeups));
    assert_eq!(state.kcompactd_wakeups, before.kcompactd_wakeups + 2, "at steps B and F");
    assert_eq!(state.kswapd_order, 2, "noted all the same");
    // Direct reclaim that frees something gives hope again.
    let request = Request::new(Order::ZERO, Gfp::KERNEL);
    let mut walk = pages.slow_begin(CPU0, request);
    pages.slow_step(&mut walk, None);
    held[..32].iter().for_each(|pfn| pages.free_pages(CPU0, *pfn, Order::ZERO));
    pages.slow_step(&mut walk, Some(mmspec_model::contract::SlowReply::Reclaimed(32)));
    assert_eq!(pages.node_state(NODE).kswapd_failures, 0);
}

#[test]
fn boosts_are_worked_off_gently() {
    let pages = single_zone(1, 16384, Rules::linux_6_12());
    pages.pcp_disable(CPU0, NORMAL);
    let mut held = Pages::new(&pages);
    held.fill(Order::of(9), Gfp::HIGHUSER_MOVABLE, 31);
    held.fill(Order::of(3), Gfp::HIGHUSER_MOVABLE, 1);
    let mixing = Request::new(Order::of(4), Gfp::KERNEL).at(Mark::Min, AllocFlags::NO_WATERMARKS);
    assert!(held.request(mixing).is_some());
    let state = pages.zone_state(NORMAL);
    assert_eq!((state.boost, state.kswapd_wakeups), (512, 1));
    assert_eq!(pages.node_state(NODE).wakeups, 1);
    // 31 + 1 pageblocks are gone: below HIGH, so there is more to do than the boost.
    held.free_if(|pfn| pfn.0 < 8192);
    let mut step = pages.kswapd_step(NODE, None);
    for urgency in [12, 11, 10, 10] {
        let KswapdStep::Shrink { priority, may_write, may_swap, .. } = step else {
            panic!("a shrink, not {step:?}")
        };
        assert_eq!((priority, may_write, may_swap), (urgency, false, false));
        step = pages.kswapd_step(NODE, shrunk(1, 8));
    }
    assert_eq!(priority(step), 10);
    // Nothing reclaimed: the rest is left.
    assert_eq!(pages.kswapd_step(NODE, shrunk(1, 0)), KswapdStep::Nap);
    assert_eq!(pages.zone_state(NORMAL).boost, 0);
    assert_eq!(pages.node_state(NODE).kcompactd_wakeups, 2, "by the boost, and by the nap");
    assert_eq!(pages.node_state(NODE).kswapd_failures, 0, "something was reclaimed");
}

#[test]
fn real_need_comes_before_a_boost() {
    let pages = single_zone(1, 16384, Rules::linux_6_12());
    pages.pcp_disable(CPU0, NORMAL);
    let mut held = Pages::new(&pages);
    held.fill(Order::of(9), Gfp::HIGHUSER_MOVABLE, 31);
    held.fill(Order::of(3), Gfp::HIGHUSER_MOVABLE, 1);
    let mixing = Request::new(Order::of(4), Gfp::KERNEL).at(Mark::Min, AllocFlags::NO_WATERMARKS);
    assert!(held.request(mixing).is_some());
    assert_eq!(pages.zone_state(NORMAL).boost, 512);
    // 488 of 16384 pages are free, below HIGH + 512: all means, from the start.
    let step = pages.kswapd_step(NODE, None);
    assert!(matches!(
        step,
        KswapdStep::Shrink { priority: 12, may_write: true, may_swap: true, .. }
    ));
    let mut step = step;
    for _ in 0..3 {
        step = pages.kswapd_step(NODE, shrunk(1, 1));
    }
    assert_eq!(priority(step), 9, "no limit of urgency");
}
