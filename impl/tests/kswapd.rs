//! kswapd as a stepped machine (compaction.md §4.2 to §4.4), its reclaim played by hand.

mod common;

use common::{CPU0, NORMAL, Pages, single_zone};
use mmspec_impl::OwnedAllocator;
use mmspec_model::{
    contract::{KswapdReply, KswapdStep, Outcome, Request, SlowReply, SlowStep},
    vocab::{
        AllocFlags, CpuId, Gfp, Machine, Mark, NodeId, Order, Pfn, PfnRange, Rules, Tunables,
        ZoneFlags, ZoneKind, ZoneSpan,
    },
};
use std::vec::Vec;

const NODE: NodeId = NodeId(0);

/// A zone of 4096 pages (MIN 128, LOW 160, HIGH 192), all of them taken one by one.
fn full() -> (OwnedAllocator, Vec<Pfn>) {
    taken(1, 4096)
}

/// Any page, whatever the watermarks say.
fn all() -> Request {
    Request::new(Order::ZERO, Gfp::HIGHUSER_MOVABLE).at(Mark::Min, AllocFlags::NO_WATERMARKS)
}

/// A zone without per-CPU lists, all of its pages taken one by one.
fn taken(cpus: u16, frames: u64) -> (OwnedAllocator, Vec<Pfn>) {
    let pages = single_zone(cpus, frames, Rules::linux_6_12());
    pages.pcp_disable(CPU0, NORMAL);
    let mut held = Pages::new(&pages);
    let pfns: Vec<_> = core::iter::from_fn(|| held.request(all())).collect();
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
    assert_eq!(pages.zone_state(NORMAL).stat_threshold, normal);
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
    // Twice the order's pages, 16, reclaimed in all: on as order 0.
    for (reclaimed, left) in [(13, Order::of(3)), (1, Order::ZERO)] {
        let step = pages.kswapd_step(NODE, shrunk(192, reclaimed));
        assert!(matches!(step, KswapdStep::Shrink { order, .. } if order == left), "{step:?}");
    }
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
    let mut vain = walk;
    pages.slow_step(&mut vain, Some(SlowReply::Reclaimed(0)));
    assert_eq!(pages.node_state(NODE).kswapd_failures, 16);
    held[..32].iter().for_each(|pfn| pages.free_pages(CPU0, *pfn, Order::ZERO));
    pages.slow_step(&mut walk, Some(SlowReply::Reclaimed(32)));
    assert_eq!(pages.node_state(NODE).kswapd_failures, 0);
}

/// All but the last of 32 pageblocks held, and a request that mixed types in that one: the zone is
/// boosted. The lists are disabled.
fn boosted(pages: &OwnedAllocator) -> Pages<'_> {
    let mut held = Pages::new(pages);
    held.fill(Order::of(9), Gfp::HIGHUSER_MOVABLE, 31);
    held.fill(Order::of(3), Gfp::HIGHUSER_MOVABLE, 1);
    let mixing = Request::new(Order::of(4), Gfp::KERNEL).at(Mark::Min, AllocFlags::NO_WATERMARKS);
    assert!(held.request(mixing).is_some());
    held
}

#[test]
fn boosts_are_worked_off_gently() {
    let pages = single_zone(1, 16384, Rules::linux_6_12());
    pages.pcp_disable(CPU0, NORMAL);
    let mut held = boosted(&pages);
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
    let _held = boosted(&pages);
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

#[test]
fn counts_are_finer_while_it_works() {
    // 8 CPUs: 8 × 8 pages of drift are more than LOW − MIN, 16.
    let pages = single_zone(8, 1024, Rules::linux_6_12());
    pages.pcp_disable(CPU0, NORMAL);
    let mut held = Pages::new(&pages);
    let all =
        Request::new(Order::ZERO, Gfp::HIGHUSER_MOVABLE).at(Mark::Min, AllocFlags::NO_WATERMARKS);
    while held.request(all).is_some() {}
    let state = pages.zone_state(NORMAL);
    assert_eq!((state.stat_threshold, state.drift_mark), (8, 96 + 64));
    fail(&pages, 0);
    assert_eq!(pages.zone_state(NORMAL).stat_threshold, 8, "not before its first step");
    pages.kswapd_step(NODE, None);
    assert_eq!(pages.zone_state(NORMAL).stat_threshold, 2, "16 / 8");
    held.free_if(|pfn| pfn.0 < 512);
    assert_eq!(pages.kswapd_step(NODE, shrunk(96, 512)), KswapdStep::Nap);
    assert_eq!(pages.zone_state(NORMAL).stat_threshold, 2);
    pages.kswapd_step(NODE, Some(KswapdReply::Napped { early: false }));
    assert_eq!(pages.zone_state(NORMAL).stat_threshold, 8);
}

#[test]
fn what_was_worked_for_is_put_back_after_a_short_nap() {
    let (pages, held) = full();
    fail(&pages, 0);
    pages.kswapd_step(NODE, None);
    held.iter().take(512).for_each(|pfn| pages.free_pages(CPU0, *pfn, Order::ZERO));
    pages.tick(CPU0);
    assert_eq!(pages.kswapd_step(NODE, shrunk(192, 512)), KswapdStep::Nap);
    // Nobody asked meanwhile; the index used before stands, and a low zone's request does not lower it.
    let request = Request::new(Order::ZERO, Gfp::DMA32 | Gfp::KERNEL);
    assert!(pages.alloc_pages(CPU0, request).page().is_none());
    let step = pages.kswapd_step(NODE, Some(KswapdReply::Napped { early: true }));
    assert_eq!(step, KswapdStep::Nap);
    // The node is balanced for Normal. Fill it again: the next work is for Normal.
    fail_all(&pages);
    let step = pages.kswapd_step(NODE, Some(KswapdReply::Napped { early: true }));
    assert!(matches!(step, KswapdStep::Shrink { highest: ZoneKind::Normal, .. }), "{step:?}");
}

fn fail_all(pages: &OwnedAllocator) {
    let all =
        Request::new(Order::ZERO, Gfp::HIGHUSER_MOVABLE).at(Mark::Min, AllocFlags::NO_WATERMARKS);
    while pages.alloc_pages(CPU0, all).page().is_some() {}
    pages.tick(CPU0);
}

#[test]
fn a_balanced_node_sleeps_on_and_is_compacted_for_those_who_cannot_wait() {
    // A walk on a zone that is almost empty: step B comes before its look at the lists.
    let pages = single_zone(1, 4096, Rules::linux_6_12());
    for (gfp, kcompactd_wakeups) in [(Gfp::NOWAIT, 1), (Gfp::KERNEL, 1), (Gfp::ATOMIC, 2)] {
        let mut walk = pages.slow_begin(CPU0, Request::new(Order::ZERO, gfp));
        pages.slow_step(&mut walk, None);
        let state = pages.node_state(NODE);
        assert_eq!((state.kswapd_awake, state.wakeups), (false, 0), "{gfp}");
        assert_eq!(state.kcompactd_wakeups, kcompactd_wakeups, "{gfp}");
    }
}

#[test]
fn who_is_held_back_wakes_it_whatever_was_asked_for() {
    let (pages, _) = full();
    pages.set_reclaimable(NORMAL, 1000);
    let request = Request::new(Order::ZERO, Gfp::KERNEL - Gfp::KSWAPD_RECLAIM);
    for _ in 0..2 {
        let mut walk = pages.slow_begin(CPU0, request);
        let step = pages.slow_step(&mut walk, None);
        assert!(matches!(step, SlowStep::Throttle { .. }), "{step:?}");
        let state = pages.node_state(NODE);
        assert_eq!((state.kswapd_awake, state.wakeups), (true, 1));
    }
}

#[test]
fn below_the_drift_mark_free_pages_are_counted_exactly() {
    // HIGH is 96 and the drift mark 160; diffs up to 8 stay with their CPUs.
    let (pages, pfns) = taken(8, 1024);
    fail(&pages, 0);
    let free = |cpu, frames: &[Pfn]| {
        frames.iter().for_each(|pfn| pages.free_pages(CpuId(cpu), *pfn, Order::ZERO));
    };
    free(0, &pfns[..92]);
    pages.tick(CPU0);
    free(1, &pfns[92..95]);
    free(2, &pfns[95..98]);
    let state = pages.zone_state(NORMAL);
    assert_eq!((state.nr_free_pages, state.nr_free_pages_exact), (92, 98));
    assert_eq!(pages.kswapd_step(NODE, None), KswapdStep::Nap, "balanced");
}

#[test]
fn a_node_is_asked_once_for_all_its_zones() {
    let mut machine = Machine::new(1, &[]);
    machine.nodes = 2;
    for (node, kind, start) in [
        (0, ZoneKind::Dma32, 0),
        (0, ZoneKind::Normal, 4096),
        (1, ZoneKind::Dma32, 8192),
        (1, ZoneKind::Normal, 12_288),
    ] {
        let span = PfnRange::new(start, start + 4096);
        machine.zones.push(ZoneSpan::new(kind, span).on(NodeId(node)));
    }
    let pages: OwnedAllocator =
        OwnedAllocator::new(machine.as_ref(), Rules::linux_6_12(), Tunables::default()).unwrap();
    let mut walk = pages.slow_begin(CPU0, Request::new(Order::ZERO, Gfp::NOWAIT));
    pages.slow_step(&mut walk, None);
    assert_eq!([0, 1].map(|node| pages.node_state(NodeId(node)).kcompactd_wakeups), [1, 1]);
}

#[test]
fn one_page_reclaimed_gives_hope_again() {
    let (pages, _) = full();
    fail(&pages, 0);
    pages.kswapd_step(NODE, None);
    (0..12).for_each(|_| {
        pages.kswapd_step(NODE, shrunk(1000, 0));
    });
    assert_eq!(pages.node_state(NODE).kswapd_failures, 1);
    pages.kswapd_step(NODE, shrunk(1000, 1));
    assert_eq!(pages.node_state(NODE).kswapd_failures, 0);
}

#[test]
fn a_nap_is_for_what_was_asked_meanwhile() {
    let (pages, held) = full();
    fail(&pages, 0);
    pages.kswapd_step(NODE, None);
    fail(&pages, 3);
    // Balanced for order 0, but there is no block of order 3: on at once.
    held.iter().filter(|pfn| pfn.0 % 2 == 0).take(193).for_each(|pfn| {
        pages.free_pages(CPU0, *pfn, Order::ZERO);
    });
    pages.tick(CPU0);
    let step = pages.kswapd_step(NODE, shrunk(192, 193));
    assert!(matches!(step, KswapdStep::Shrink { order, .. } if order == Order::of(3)), "{step:?}");
    assert_eq!(pages.events().kswapd_high_wmark_hit_quickly, 1);
}

#[test]
fn what_is_taken_while_it_naps_is_reclaimed_again() {
    let (pages, held) = full();
    fail(&pages, 0);
    pages.kswapd_step(NODE, None);
    held.iter().take(512).for_each(|pfn| pages.free_pages(CPU0, *pfn, Order::ZERO));
    pages.tick(CPU0);
    assert_eq!(pages.kswapd_step(NODE, shrunk(192, 512)), KswapdStep::Nap);
    fail_all(&pages);
    let step = pages.kswapd_step(NODE, Some(KswapdReply::Napped { early: false }));
    assert_eq!(priority(step), 12);
    let events = pages.events();
    let quickly = (events.kswapd_low_wmark_hit_quickly, events.kswapd_high_wmark_hit_quickly);
    assert_eq!(quickly, (0, 1));
}

#[test]
fn at_the_drift_mark_the_count_is_good_enough() {
    // HIGH is 96, and 8 CPUs may each be wrong by 8: the drift mark is 160.
    let (pages, pfns) = taken(8, 1024);
    fail(&pages, 0);
    pfns[..160].iter().for_each(|pfn| pages.free_pages(CPU0, *pfn, Order::ZERO));
    pages.tick(CPU0);
    for cpu in (0..8).map(CpuId) {
        (0..8).for_each(|_| assert!(pages.alloc_pages(cpu, all()).page().is_some()));
    }
    let state = pages.zone_state(NORMAL);
    assert_eq!((state.nr_free_pages, state.nr_free_pages_exact), (160, 96));
    assert_eq!(pages.kswapd_step(NODE, None), KswapdStep::Nap, "balanced as it is counted");
}

#[test]
fn a_zone_without_managed_pages_adds_nothing_to_the_target() {
    let zones = [(ZoneKind::Dma32, 0, 4096), (ZoneKind::Normal, 4096, 8192)];
    let mut machine = Machine::new(1, &zones);
    machine.reserved.push(PfnRange::new(0, 4096));
    let pages: OwnedAllocator =
        OwnedAllocator::new(machine.as_ref(), Rules::linux_6_12(), Tunables::default()).unwrap();
    fail_all(&pages);
    fail(&pages, 0);
    let step = pages.kswapd_step(NODE, None);
    assert!(matches!(step, KswapdStep::Shrink { target: 192, .. }), "{step:?}");
}
