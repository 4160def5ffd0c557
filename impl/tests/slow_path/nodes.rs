//! Several nodes: cpusets, masks, rebuilds.

use super::*;

fn two_nodes(rules: Rules) -> OwnedAllocator {
    let mut machine = Machine::new(2, &[]);
    machine.nodes = 2;
    machine.cpu_nodes = vec![NodeId(0), NodeId(1)];
    for node in 0..2 {
        let span = PfnRange::new(4096 * node, 4096 * (node + 1));
        machine.zones.push(ZoneSpan::new(ZoneKind::Normal, span).on(NodeId(node as u8)));
    }
    let pages: OwnedAllocator =
        OwnedAllocator::new(machine.as_ref(), rules, Tunables::default()).unwrap();
    pages.pcp_disable(CPU0, ZoneIdx(0));
    pages.pcp_disable(CPU0, ZoneIdx(1));
    pages
}

fn empty(pages: &OwnedAllocator, node: u8) {
    let request = Request::new(Order::ZERO, Gfp::HIGHUSER_MOVABLE | Gfp::THISNODE)
        .on(NodeId(node))
        .at(Mark::Min, AllocFlags::NO_WATERMARKS);
    while pages.alloc_pages(CPU0, request).page().is_some() {}
    pages.tick(CPU0);
}

#[test]
fn a_changed_cpuset_begins_the_walk_again() {
    let pages = two_nodes(Rules::linux_6_12());
    empty(&pages, 0);
    let task = Task { mems: NodeMask(1), ..Task::default() };
    let request = Request::new(Order::ZERO, Gfp::KERNEL).by(task);
    let (mut walk, step) = first(&pages, request);
    assert_eq!(step, RECLAIM, "only node 0 is allowed");
    assert!(!pages.node_state(NodeId(1)).kswapd_awake, "nor is node 1's kswapd woken");
    assert!(pages.node_state(NodeId(0)).kswapd_awake);
    pages.slow_set_mems(&mut walk, NodeMask(2));
    assert!(is_page(pages.slow_step(&mut walk, Some(SlowReply::Reclaimed(0)))));
}

#[test]
fn a_rebuild_is_noticed_early_or_late() {
    for (rules, early) in [(Rules::linux_6_18(), true), (Rules::linux_6_12(), false)] {
        let pages = two_nodes(rules);
        empty(&pages, 0);
        empty(&pages, 1);
        pages.set_reclaimable(ZoneIdx(0), 1000);
        let task = Task { flags: TaskFlags::KTHREAD, ..Task::default() };
        let (mut walk, mut step) = first(&pages, Request::new(Order::ZERO, Gfp::KERNEL).by(task));
        // Ten fruitless rounds, then a rebuild: a walk that notices begins its count anew.
        let mut rounds = 0;
        while step == RECLAIM {
            rounds += 1;
            if rounds == 10 {
                pages.rebuild_zonelists();
            }
            step = pages.slow_step(&mut walk, Some(SlowReply::Reclaimed(0)));
        }
        // Late: at the limit, where the killer would come, and then from the start.
        assert_eq!(rounds, if early { 10 + 17 } else { 17 + 17 });
        assert_eq!(step, SlowStep::OomLock);
    }
}

#[test]
fn nodes_whose_kswapd_works_are_passed_over_first() {
    for (rules, avoids) in [(Rules::linux_6_18(), true), (Rules::linux_6_12(), false)] {
        let pages = two_nodes(rules);
        let request = Request::new(Order::ZERO, Gfp::KERNEL);
        let node = |request| pages.alloc_pages(CPU0, request).page().map(|pfn| pfn.0 / 4096);
        assert_eq!(node(request), Some(0));
        // A costly request of node 0 alone fails, and wakes its kswapd.
        empty(&pages, 0);
        let only = Request::new(order(4), Gfp::NOWAIT | Gfp::THISNODE);
        assert_eq!(first(&pages, only).1, SlowStep::Done(Outcome::Failed));
        assert!(pages.node_state(NodeId(0)).kswapd_awake);
        for pfn in 1..2048 {
            pages.free_pages(CPU0, Pfn(pfn), Order::ZERO);
        }
        assert_eq!(node(request), Some(u64::from(avoids)), "while it works");
        let within = request.within(NodeMask(3));
        assert_eq!(node(within), Some(u64::from(avoids)), "nor by the long way");
        assert_eq!(node(Request { gfp: Gfp::KERNEL | Gfp::THISNODE, ..request }), Some(0));
        empty(&pages, 1);
        assert_eq!(node(request), Some(0), "better a busy node than none");
    }
}

#[test]
fn who_cannot_wait_and_is_urgent_may_leave_its_cpuset() {
    for (gfp, served) in [(Gfp::ATOMIC, true), (Gfp::NOWAIT, false)] {
        let pages = two_nodes(Rules::linux_6_12());
        empty(&pages, 0);
        let task = Task { mems: NodeMask(1), ..Task::default() };
        // With a mask of both nodes: the cpuset is minded by the flag.
        let request = Request::new(Order::ZERO, gfp).within(NodeMask(3)).by(task);
        assert_eq!(is_page(first(&pages, request).1), served, "{gfp}");
    }
}

#[test]
fn who_cannot_wait_and_is_urgent_may_leave_its_mask() {
    for (gfp, served) in [(Gfp::ATOMIC, true), (Gfp::NOWAIT, false)] {
        for node in 0..2 {
            let pages = two_nodes(Rules::linux_6_12());
            empty(&pages, node);
            let request = Request::new(Order::ZERO, gfp).within(NodeMask(1 << node));
            assert_eq!(is_page(first(&pages, request).1), served, "{gfp}, node {node}");
        }
    }
}

#[test]
fn a_changed_cpuset_is_noticed_before_the_killer_and_at_the_end() {
    // Costly and NORETRY: the walk would end at nopage. The rebuild count is as it was.
    let pages = two_nodes(Rules::linux_6_12());
    empty(&pages, 0);
    let task = Task { mems: NodeMask(1), ..Task::default() };
    let request = Request::new(Order::ZERO, Gfp::KERNEL | Gfp::NORETRY).by(task);
    let (mut walk, step) = first(&pages, request.within(NodeMask(3)));
    assert_eq!(step, RECLAIM);
    let mut other = walk;
    pages.slow_set_mems(&mut walk, NodeMask(2));
    assert!(is_page(pages.slow_step(&mut walk, Some(SlowReply::Reclaimed(0)))));
    let step = pages.slow_step(&mut other, Some(SlowReply::Reclaimed(0)));
    assert_eq!(step, SlowStep::Done(Outcome::Failed), "nobody changed it for this one");
}

#[test]
fn walks_that_can_come_to_nothing_end_at_once() {
    let pages = two_nodes(Rules::linux_6_12());
    let failed = SlowStep::Done(Outcome::Failed);
    let end = |cpu, request| pages.slow_step(&mut pages.slow_begin(cpu, request), None);
    let kernel = Request::new(Order::ZERO, Gfp::KERNEL | Gfp::NOFAIL);
    assert_eq!(end(CPU0, kernel.on(NodeId(2))), failed);
    let bad = Gfp::KERNEL | Gfp::MOVABLE | Gfp::RECLAIMABLE;
    assert_eq!(end(CPU0, Request::new(Order::ZERO, bad)), failed);
    assert!(pages.cpu_dead(CPU0, common::CPU1));
    assert_eq!(end(common::CPU1, kernel), failed);
    // No zone in reach: that can change with the cpuset.
    for nowhere in [kernel, kernel.on(NodeId(1))].map(|request| request.within(NodeMask::NONE)) {
        assert_eq!(end(CPU0, nowhere), SlowStep::Yield);
    }
    assert_eq!(end(CPU0, Request::new(Order::ZERO, Gfp::KERNEL).within(NodeMask::NONE)), failed);
}

#[test]
fn who_may_not_fail_has_the_cpuset_s_reserve_before_other_nodes() {
    let pages = two_nodes(Rules::linux_6_12());
    let task = Task { mems: NodeMask(2), ..Task::default() };
    let request = Request::new(Order::ZERO, Gfp::KERNEL | Gfp::NOFAIL | Gfp::NORETRY);
    let request = request.within(NodeMask(3)).by(task);
    empty(&pages, 1);
    // MIN is 90 on each of the nodes, and half of it is open.
    let node = |free: u64| {
        let (mut walk, step) = first(&pages, request);
        assert_eq!(step, RECLAIM, "node 0 is not in the cpuset");
        (0..free).for_each(|at| pages.free_pages(CPU0, Pfn(4096 + 2 * at), Order::ZERO));
        pages.tick(CPU0);
        match pages.slow_step(&mut walk, Some(SlowReply::Reclaimed(0))) {
            SlowStep::Done(Outcome::Page(pfn)) => pfn.0 / 4096,
            step => panic!("a page, not {step:?}"),
        }
    };
    assert_eq!(node(0), 0, "then anywhere");
    assert_eq!(node(50), 1);
}

#[test]
fn the_reserve_index_lasts_when_the_mask_is_left() {
    // CPU 0 begins at node 0, which has Normal alone; DMA32 of node 1 holds 256 pages back from
    // requests that may have its Movable zone. 100 pages are free; LOW is 112.
    for (reserve_index, served) in [(ReserveIndex::Highest, false), (ReserveIndex::Preferred, true)]
    {
        let rules = Rules { reserve_index, ..Rules::linux_6_12() };
        let mut machine = Machine::new(1, &[]);
        machine.nodes = 2;
        for (node, kind, start, end) in [
            (0, ZoneKind::Normal, 0, 4096),
            (1, ZoneKind::Dma32, 4096, 8192),
            (1, ZoneKind::Movable, 8192, 8192 + 65_536),
        ] {
            let span = PfnRange::new(start, end);
            machine.zones.push(ZoneSpan::new(kind, span).on(NodeId(node)));
        }
        let pages: OwnedAllocator =
            OwnedAllocator::new(machine.as_ref(), rules, Tunables::default()).unwrap();
        (0..3).for_each(|zone| pages.pcp_disable(CPU0, ZoneIdx(zone)));
        let gfp = Gfp::ATOMIC | Gfp::HIGHMEM | Gfp::MOVABLE;
        let request = Request::new(Order::ZERO, gfp);
        let all = request.at(Mark::Min, AllocFlags::NO_WATERMARKS);
        while pages.alloc_pages(CPU0, all).page().is_some() {}
        (0..100).for_each(|at| pages.free_pages(CPU0, Pfn(4096 + 2 * at), Order::ZERO));
        pages.tick(CPU0);
        assert_eq!(is_page(first(&pages, request).1), served, "{reserve_index:?}");
    }
}

#[test]
fn what_other_nodes_could_give_counts_by_the_rules() {
    for (retry_minds_cpuset, retries) in [(true, false), (false, true)] {
        let pages = two_nodes(Rules { retry_minds_cpuset, ..Rules::linux_6_12() });
        empty(&pages, 0);
        empty(&pages, 1);
        pages.set_reclaimable(ZoneIdx(1), 1000);
        let task = Task { mems: NodeMask(1), flags: TaskFlags::KTHREAD };
        let request = Request::new(Order::ZERO, Gfp::KERNEL).within(NodeMask(3)).by(task);
        let (mut walk, step) = first(&pages, request);
        assert_eq!(step, RECLAIM);
        let step = pages.slow_step(&mut walk, Some(SlowReply::Reclaimed(0)));
        assert_eq!(step == RECLAIM, retries, "minds the cpuset {retry_minds_cpuset}: {step:?}");
    }
}
