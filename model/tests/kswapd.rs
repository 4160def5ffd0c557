//! kswapd (compaction.md §4.2 to §4.4): what it asks for and where it ends.

use mmspec_model::contract::{
    CpuCaches, KswapdReply, KswapdStep, Nodes, Observe, PageAllocator, Request, SlowPath,
    StatWorker,
};
use mmspec_model::reference::Reference;
use mmspec_model::vocab::{
    AllocFlags, CpuId, Gfp, Machine, Mark, NodeId, Order, Pfn, Rules, Tunables, ZoneFlags, ZoneIdx,
    ZoneKind,
};

const CPU0: CpuId = CpuId(0);
const N0: NodeId = NodeId(0);
const ZONE: ZoneIdx = ZoneIdx(0);

/// One Normal zone of 4096 frames, marks 100, 125, 150; all held but `free` single pages. No page
/// comes from anywhere but the test.
fn with_free(free: u64, boost: u32) -> Reference {
    let mut machine = Machine::small(1, 4096, 4, 3);
    machine.thp_order = None;
    let tunables = Tunables {
        min_free_kbytes: Some(400),
        watermark_boost_factor: boost,
        ..Tunables::default()
    };
    let mut r = Reference::new(&machine, Rules::linux_6_12(), tunables).unwrap();
    r.pcp_disable(CPU0, ZONE);
    let take = Request::new(Order::ZERO, Gfp::KERNEL).at(Mark::Min, AllocFlags::NO_WATERMARKS);
    while r.alloc_pages(CPU0, take).page().is_some() {}
    give_back(&mut r, 0, free);
    r
}

/// Free the even frames 2 × from ….
fn give_back(r: &mut Reference, from: u64, count: u64) {
    for at in from..from + count {
        r.free_pages(CPU0, Pfn(2 * at), Order::ZERO);
    }
    r.tick(CPU0);
}

/// An allocation that fails wakes kswapd.
fn ask(r: &mut Reference, order: u8, gfp: Gfp) {
    let gfp = Gfp::KSWAPD_RECLAIM | gfp;
    let mut walk = r.slow_begin(CPU0, Request::new(Order::of(order), gfp));
    let _ = r.slow_step(&mut walk, None);
}

fn shrunk(scanned: u64, reclaimed: u64) -> Option<KswapdReply> {
    Some(KswapdReply::Shrunk { scanned, reclaimed })
}

fn napped(early: bool) -> Option<KswapdReply> {
    Some(KswapdReply::Napped { early })
}

/// Priority, target and order of a shrink.
fn shrink(step: KswapdStep) -> (u8, u64, u8) {
    match step {
        KswapdStep::Shrink { priority, target, order, may_write, may_swap, .. } => {
            assert!(may_write && may_swap);
            (priority, target, order.get())
        }
        other => panic!("{other:?}"),
    }
}

fn reclaim_active(r: &Reference) -> bool {
    r.zone_flags(ZONE).contains(ZoneFlags::RECLAIM_ACTIVE)
}

#[test]
fn asleep_until_woken() {
    let mut r = with_free(20, 0);
    assert_eq!(r.kswapd_step(N0, None), KswapdStep::Asleep);
    assert_eq!(r.kswapd_step(N0, shrunk(5, 5)), KswapdStep::Asleep);
    ask(&mut r, 0, Gfp::HIGHMEM | Gfp::MOVABLE);
    let step = r.kswapd_step(N0, None);
    assert_eq!(
        step,
        KswapdStep::Shrink {
            priority: 12,
            target: 150,
            order: Order::ZERO,
            highest: ZoneKind::Movable,
            may_write: true,
            may_swap: true,
            unbalanced_only: false,
        }
    );
    assert_eq!(r.events().pageoutrun, 1);
    assert!(reclaim_active(&r));
    let state = r.node_state(N0);
    assert_eq!((state.kswapd_order, state.kswapd_highest), (0, None), "read and cleared");
}

/// Balanced above HIGH (150 pages): the round ends, then a nap, then sleep.
#[test]
fn balanced_then_asleep() {
    let mut r = with_free(20, 0);
    ask(&mut r, 0, Gfp::empty());
    shrink(r.kswapd_step(N0, None));
    give_back(&mut r, 20, 130);
    assert_eq!(r.zone_state(ZONE).nr_free_pages, 150);
    assert_eq!(shrink(r.kswapd_step(N0, shrunk(150, 130))), (12, 150, 0), "150 is not above HIGH");
    give_back(&mut r, 150, 1);
    let kcompactd = r.node_state(N0).kcompactd_wakeups;
    assert_eq!(r.kswapd_step(N0, shrunk(150, 1)), KswapdStep::Nap);
    assert!(!reclaim_active(&r));
    assert!(r.node_state(N0).kswapd_awake);
    assert_eq!(r.node_state(N0).kcompactd_wakeups, kcompactd + 1);
    assert_eq!(r.kswapd_step(N0, napped(false)), KswapdStep::Asleep);
    assert!(!r.node_state(N0).kswapd_awake);
    let events = r.events();
    assert_eq!(events.pageoutrun, 1);
    assert_eq!((events.kswapd_low_wmark_hit_quickly, events.kswapd_high_wmark_hit_quickly), (0, 0));
    assert_eq!(r.node_state(N0).kswapd_failures, 0);
    assert_eq!(r.kswapd_step(N0, None), KswapdStep::Asleep);
}

/// f: the priority goes down when too little was scanned or nothing reclaimed.
#[test]
fn priorities() {
    let mut r = with_free(20, 0);
    ask(&mut r, 0, Gfp::empty());
    assert_eq!(shrink(r.kswapd_step(N0, None)).0, 12);
    assert_eq!(shrink(r.kswapd_step(N0, shrunk(150, 1))).0, 12, "scanned enough, reclaimed one");
    assert_eq!(shrink(r.kswapd_step(N0, shrunk(149, 1))).0, 11);
    assert_eq!(shrink(r.kswapd_step(N0, shrunk(150, 0))).0, 10);
    for priority in (1..10).rev() {
        assert_eq!(shrink(r.kswapd_step(N0, shrunk(0, 0))).0, priority);
    }
    // Below 1 the round ends: something was reclaimed in it, so no failure; but not balanced.
    assert_eq!(shrink(r.kswapd_step(N0, shrunk(0, 0))).0, 12);
    assert_eq!(r.node_state(N0).kswapd_failures, 0);
    assert_eq!(r.events().pageoutrun, 2);
    assert_eq!(r.events().kswapd_high_wmark_hit_quickly, 1);
}

/// 16 rounds of 12 shrinks without a page: hopeless, asleep, and nobody wakes it.
#[test]
fn hopeless_at_sixteen() {
    let mut r = with_free(20, 0);
    ask(&mut r, 0, Gfp::empty());
    let mut step = r.kswapd_step(N0, None);
    let mut shrinks = 0;
    while let KswapdStep::Shrink { .. } = step {
        shrinks += 1;
        assert_eq!(r.node_state(N0).kswapd_failures, (shrinks - 1) / 12);
        step = r.kswapd_step(N0, shrunk(0, 0));
    }
    assert_eq!((step, shrinks), (KswapdStep::Nap, 16 * 12));
    assert_eq!(r.node_state(N0).kswapd_failures, 16);
    assert_eq!(r.kswapd_step(N0, napped(false)), KswapdStep::Asleep);
    let before = r.node_state(N0);
    ask(&mut r, 0, Gfp::empty());
    let after = r.node_state(N0);
    assert_eq!((after.wakeups, after.kswapd_awake), (before.wakeups, false));
    assert_eq!(after.kcompactd_wakeups, before.kcompactd_wakeups + 2, "B and F");
    assert_eq!(after.kswapd_highest, Some(ZoneKind::Normal));
}

/// A page reclaimed takes the failures back.
#[test]
fn any_page_gives_hope() {
    let mut r = with_free(20, 0);
    ask(&mut r, 0, Gfp::empty());
    let mut step = r.kswapd_step(N0, None);
    for _ in 0..36 {
        shrink(step);
        step = r.kswapd_step(N0, None);
    }
    assert_eq!(r.node_state(N0).kswapd_failures, 3, "a missing reply reclaims nothing");
    r.kswapd_step(N0, shrunk(0, 1));
    assert_eq!(r.node_state(N0).kswapd_failures, 0);
}

/// A nap cut short: what was asked for counts with what was done, and the node is balanced again.
#[test]
fn naps_cut_short() {
    let mut r = with_free(20, 0);
    ask(&mut r, 0, Gfp::HIGHMEM | Gfp::MOVABLE);
    shrink(r.kswapd_step(N0, None));
    give_back(&mut r, 20, 200);
    assert_eq!(r.kswapd_step(N0, shrunk(150, 200)), KswapdStep::Nap);
    // Somebody asks for order 2, which no free block serves, and for zones up to Normal only.
    ask(&mut r, 2, Gfp::empty());
    let state = r.node_state(N0);
    assert_eq!((state.wakeups, state.kswapd_order), (1, 2), "it is up, so only asked");
    assert_eq!(state.kswapd_highest, Some(ZoneKind::Normal));
    let step = r.kswapd_step(N0, napped(true));
    assert_eq!(shrink(step), (12, 150, 2));
    assert!(matches!(step, KswapdStep::Shrink { highest: ZoneKind::Movable, .. }));
    assert_eq!(r.events().kswapd_low_wmark_hit_quickly, 1);
    assert_eq!(r.events().pageoutrun, 2);
}

/// A nap cut short by nobody in particular keeps order and index; out of balance after the nap is the
/// other counter.
#[test]
fn after_the_nap() {
    let mut r = with_free(20, 0);
    ask(&mut r, 0, Gfp::HIGHMEM | Gfp::MOVABLE);
    shrink(r.kswapd_step(N0, None));
    give_back(&mut r, 20, 131);
    assert_eq!(r.kswapd_step(N0, shrunk(150, 131)), KswapdStep::Nap);
    assert_eq!(r.kswapd_step(N0, napped(true)), KswapdStep::Nap, "balanced: a round without work");
    assert_eq!((r.events().kswapd_low_wmark_hit_quickly, r.events().pageoutrun), (1, 2));
    // A page goes while it naps: 150 is not above HIGH.
    let take = Request::new(Order::ZERO, Gfp::KERNEL).at(Mark::Min, AllocFlags::empty());
    assert!(r.alloc_pages(CPU0, take).page().is_some());
    r.tick(CPU0);
    let step = r.kswapd_step(N0, napped(false));
    assert!(matches!(step, KswapdStep::Shrink { highest: ZoneKind::Movable, .. }), "{step:?}");
    assert_eq!(r.events().kswapd_high_wmark_hit_quickly, 1);
}

/// d: compact_gap(2) = 8 pages reclaimed, and the rest is for order 0; then it may sleep for order 0
/// and leave order 2 to kcompactd.
#[test]
fn orders_fall_back() {
    let mut r = with_free(20, 0);
    ask(&mut r, 2, Gfp::empty());
    assert_eq!(shrink(r.kswapd_step(N0, None)), (12, 150, 2));
    assert_eq!(shrink(r.kswapd_step(N0, shrunk(150, 7))), (12, 150, 2));
    assert_eq!(shrink(r.kswapd_step(N0, shrunk(150, 1))), (12, 150, 0));
    give_back(&mut r, 20, 131);
    // Whoever asks for order 2 meanwhile does not change what the sleep is tested for.
    ask(&mut r, 2, Gfp::empty());
    let kcompactd = r.node_state(N0).kcompactd_wakeups;
    // 151 single pages: balanced for order 0, never for order 2.
    assert_eq!(r.kswapd_step(N0, shrunk(150, 131)), KswapdStep::Nap);
    assert_eq!(r.node_state(N0).kcompactd_wakeups, kcompactd + 1);
    assert_eq!(r.kswapd_step(N0, napped(false)), KswapdStep::Asleep);
}

/// Boost work: no writing, no swap, not below priority 10; ends when nothing comes of it; the boost
/// goes.
#[test]
fn boost_work() {
    let boosted = |free| {
        let mut r = boost(free);
        assert_eq!(r.zone_state(ZONE).boost, 8);
        assert!(r.node_state(N0).kswapd_awake);
        let step = r.kswapd_step(N0, None);
        (r, step)
    };
    let gentle = |priority| KswapdStep::Shrink {
        priority,
        target: 158,
        order: Order::ZERO,
        highest: ZoneKind::Normal,
        may_write: false,
        may_swap: false,
        unbalanced_only: false,
    };
    // Far above all marks: balanced, so only the boost is worked off.
    let (mut r, step) = boosted(1000);
    assert_eq!(step, gentle(12));
    assert_eq!(r.kswapd_step(N0, shrunk(0, 1)), gentle(11));
    assert_eq!(r.kswapd_step(N0, shrunk(0, 1)), gentle(10));
    assert_eq!(r.kswapd_step(N0, shrunk(0, 1)), gentle(10), "no lower");
    let kcompactd = r.node_state(N0).kcompactd_wakeups;
    assert_eq!(r.kswapd_step(N0, shrunk(0, 5)), KswapdStep::Nap, "8 pages in all");
    assert_eq!(r.zone_state(ZONE).boost, 0);
    assert_eq!(r.node_state(N0).kcompactd_wakeups, kcompactd + 2, "for the boost and for the nap");
    assert_eq!(r.kswapd_step(N0, napped(false)), KswapdStep::Asleep);
    // Nothing reclaimed: it leaves at once, as a failure.
    let (mut r, _) = boosted(1000);
    assert_eq!(r.kswapd_step(N0, shrunk(158, 0)), KswapdStep::Nap);
    assert_eq!((r.zone_state(ZONE).boost, r.node_state(N0).kswapd_failures), (0, 1));
    // Out of balance: the boost is forgotten, and the round begins again in earnest.
    let (mut r, step) = boosted(1000);
    assert_eq!(step, gentle(12));
    assert_eq!(r.kswapd_step(N0, shrunk(0, 1)), gentle(11));
    let take = Request::new(Order::ZERO, Gfp::KERNEL).at(Mark::Min, AllocFlags::NO_WATERMARKS);
    for _ in 0..950 {
        r.alloc_pages(CPU0, take).page().unwrap();
    }
    r.tick(CPU0);
    let left = r.zone_state(ZONE).boost;
    let (priority, target, order) = shrink(r.kswapd_step(N0, shrunk(0, 1)));
    assert_eq!((priority, order), (12, 0));
    assert_eq!(target, 150 + left);
    // At the end the boost of the start is taken off all the same.
    give_back(&mut r, 1100, 400);
    assert_eq!(r.kswapd_step(N0, shrunk(150, 400)), KswapdStep::Nap);
    assert_eq!(r.zone_state(ZONE).boost, left - 8);
}

/// `free` single pages and a fallback that boosts by one pageblock: Movable pageblocks, an Unmovable
/// request.
fn boost(free: u64) -> Reference {
    let mut machine = Machine::small(1, 4096, 4, 3);
    machine.thp_order = None;
    let tunables = Tunables { min_free_kbytes: Some(400), ..Tunables::default() };
    let mut r = Reference::new(&machine, Rules::linux_6_12(), tunables).unwrap();
    r.pcp_disable(CPU0, ZONE);
    let take = Request::new(Order::ZERO, Gfp::HIGHUSER_MOVABLE);
    let take = take.at(Mark::Min, AllocFlags::NO_WATERMARKS);
    while r.alloc_pages(CPU0, take).page().is_some() {}
    give_back(&mut r, 0, free + 1);
    let unmovable = Request::new(Order::ZERO, Gfp::KERNEL).at(Mark::Min, AllocFlags::empty());
    assert!(r.alloc_pages(CPU0, unmovable).page().is_some());
    r.tick(CPU0);
    r
}

/// "checklow" is passed on.
#[test]
fn checks_low() {
    let mut machine = Machine::small(1, 4096, 4, 3);
    machine.thp_order = None;
    let rules = Rules { kswapd_checks_low: true, ..Rules::linux_6_12() };
    let mut r = Reference::new(&machine, rules, Tunables::default()).unwrap();
    let take = Request::new(Order::ZERO, Gfp::KERNEL).at(Mark::Min, AllocFlags::NO_WATERMARKS);
    while r.alloc_pages(CPU0, take).page().is_some() {}
    ask(&mut r, 0, Gfp::empty());
    let step = r.kswapd_step(N0, None);
    assert!(matches!(step, KswapdStep::Shrink { unbalanced_only: true, .. }), "{step:?}");
}

/// Below the drift mark the diffs count: 24 pages that four CPUs hide decide whether kswapd is woken.
#[test]
fn exact_counts_below_the_drift_mark() {
    let mut machine = Machine::small(4, 4096, 4, 3);
    machine.thp_order = None;
    let tunables = Tunables { min_free_kbytes: Some(80), ..Tunables::default() };
    let mut r = Reference::new(&machine, Rules::linux_6_12(), tunables).unwrap();
    let state = r.zone_state(ZONE);
    // Marks 20, 25, 30; four CPUs of threshold 6 hide 24 pages, more than the gap of 5.
    assert_eq!((state.marks[..3].to_vec(), state.drift_mark), (vec![20, 25, 30], 30 + 24));
    r.pcp_disable(CPU0, ZONE);
    let take = Request::new(Order::ZERO, Gfp::KERNEL).at(Mark::Min, AllocFlags::NO_WATERMARKS);
    while r.alloc_pages(CPU0, take).page().is_some() {}
    give_back(&mut r, 0, 20);
    for at in 20..38 {
        r.free_pages(CpuId((at % 3 + 1) as u16), Pfn(2 * at), Order::ZERO);
    }
    let state = r.zone_state(ZONE);
    assert_eq!((state.nr_free_pages, state.nr_free_pages_exact), (20, 38));
    ask(&mut r, 0, Gfp::empty());
    assert!(!r.node_state(N0).kswapd_awake, "38 pages are above HIGH");
    for at in 30..38 {
        let _ = at;
        r.alloc_pages(CPU0, take).page().unwrap();
    }
    assert_eq!(r.zone_state(ZONE).nr_free_pages_exact, 30);
    ask(&mut r, 0, Gfp::empty());
    assert!(r.node_state(N0).kswapd_awake);
}

/// 6.18: a free that lifts a zone above HIGH gives a hopeless node another chance, if there is another
/// node with memory.
#[test]
fn hope_from_frees() {
    let failures = |rules: Rules, nodes: u8, memory: bool| {
        let mut machine = Machine::small(1, 4096, 4, 3);
        machine.thp_order = None;
        machine.nodes = nodes;
        if memory {
            let second = mmspec_model::vocab::PfnRange::new(4096, 8192);
            let second = mmspec_model::vocab::ZoneSpan::new(ZoneKind::Normal, second);
            machine.zones.push(second.on(NodeId(1)));
        }
        let tunables = Tunables { min_free_kbytes: Some(400), ..Tunables::default() };
        let mut r = Reference::new(&machine, rules, tunables).unwrap();
        let take = Request::new(Order::ZERO, Gfp::KERNEL | Gfp::THISNODE);
        let take = take.at(Mark::Min, AllocFlags::NO_WATERMARKS);
        let held: Vec<Pfn> = core::iter::from_fn(|| r.alloc_pages(CPU0, take).page()).collect();
        ask(&mut r, 0, Gfp::THISNODE);
        let mut step = r.kswapd_step(N0, None);
        while let KswapdStep::Shrink { .. } = step {
            step = r.kswapd_step(N0, shrunk(0, 0));
        }
        assert_eq!(r.kswapd_step(N0, napped(false)), KswapdStep::Asleep);
        assert_eq!(r.node_state(N0).kswapd_failures, 16);
        assert!(r.zone_flags(ZONE).contains(ZoneFlags::BELOW_HIGH));
        for pfn in held {
            r.free_pages(CPU0, pfn, Order::ZERO);
        }
        assert!(!r.zone_flags(ZONE).contains(ZoneFlags::BELOW_HIGH));
        r.node_state(N0).kswapd_failures
    };
    assert_eq!(failures(Rules::linux_6_18(), 2, true), 0);
    assert_eq!(failures(Rules::linux_6_18(), 2, false), 16, "nowhere else to go");
    assert_eq!(failures(Rules::linux_6_12(), 2, true), 16);
}

/// One good zone up to the index is enough, and counts below the drift mark are exact ones.
#[test]
fn one_good_zone() {
    let zones = [(ZoneKind::Dma32, 0, 4096), (ZoneKind::Normal, 4096, 8192)];
    let mut machine = Machine::new(1, &zones);
    (machine.max_order, machine.pageblock_order) = (Order::of(4), Order::of(3));
    machine.thp_order = None;
    let tunables = Tunables { lowmem_reserve_ratio: [1, 1, 1, 0], ..Tunables::default() };
    let mut r = Reference::new(&machine, Rules::linux_6_12(), tunables).unwrap();
    let normal = Request::new(Order::ZERO, Gfp::KERNEL).at(Mark::Min, AllocFlags::NO_WATERMARKS);
    while r.zone_state(ZoneIdx(1)).nr_free_pages_exact > 20 {
        r.alloc_pages(CPU0, normal).page().unwrap();
    }
    r.tick(CPU0);
    // DMA32 is full of free pages, but keeps them from Normal requests: woken for Normal, not for DMA32.
    ask(&mut r, 2, Gfp::DMA32);
    assert!(!r.node_state(N0).kswapd_awake);
    ask(&mut r, 4, Gfp::empty());
    assert!(r.node_state(N0).kswapd_awake);
    let marks = |z: u8| r.zone_state(ZoneIdx(z)).marks[2].max(32);
    let target = marks(0) + marks(1);
    assert_eq!(shrink(r.kswapd_step(N0, None)), (12, target, 4));
}
