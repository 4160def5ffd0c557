//! Walks through the slow path (page_alloc.md §4.4), the embedder's part played by hand.

mod common;

use common::{CPU0, NORMAL, Pages, single_zone};
use mmspec_impl::{OwnedAllocator, Walk};
use mmspec_model::{
    contract::{
        CompactPriority, CompactResult, Outcome, Request, SlowReply, SlowStep, Task, TaskFlags,
    },
    vocab::{
        AllocFlags, Gfp, Machine, Mark, NodeId, NodeMask, Order, Pfn, PfnRange, Rules, Tunables,
        ZoneIdx, ZoneKind, ZoneSpan,
    },
};
use std::vec::Vec;

const RECLAIM: SlowStep = SlowStep::Reclaim { order: Order::ZERO };

/// A zone of 4096 pages (MIN 128, LOW 160, HIGH 192) with `free` single pages left, none of them on
/// per-CPU lists.
fn nearly_full(rules: Rules, free: u64) -> (OwnedAllocator, Vec<Pfn>) {
    let pages = single_zone(1, 4096, rules);
    pages.pcp_disable(CPU0, NORMAL);
    let mut held = Pages::new(&pages);
    let all =
        Request::new(Order::ZERO, Gfp::HIGHUSER_MOVABLE).at(Mark::Min, AllocFlags::NO_WATERMARKS);
    let mut pfns: Vec<_> = core::iter::from_fn(|| held.request(all)).collect();
    assert_eq!(pfns.len(), 4096);
    // Every other page, so that nothing merges.
    pfns.sort();
    let (even, odd): (Vec<_>, Vec<_>) = pfns.into_iter().partition(|pfn| pfn.0 % 2 == 0);
    even[..free as usize].iter().for_each(|pfn| pages.free_pages(CPU0, *pfn, Order::ZERO));
    pages.tick(CPU0);
    (pages, odd)
}

fn order(order: u8) -> Order {
    Order::of(order)
}

fn first(pages: &OwnedAllocator, request: Request) -> (Walk, SlowStep) {
    assert_eq!(pages.alloc_pages(CPU0, request), Outcome::SlowPath, "the first attempt fails");
    let mut walk = pages.slow_begin(CPU0, request);
    let step = pages.slow_step(&mut walk, None);
    (walk, step)
}

/// How often a walk reclaims until it asks for the OOM lock, if reclaim always frees a page and
/// compaction always succeeds.
fn rounds_of_success(pages: &OwnedAllocator, request: Request) -> u32 {
    let (mut walk, mut step) = first(pages, request);
    let mut rounds = 0;
    while step != SlowStep::OomLock {
        let reply = match step {
            SlowStep::Compact { .. } => SlowReply::Compacted(CompactResult::Success),
            _ => SlowReply::Reclaimed(1),
        };
        rounds += u32::from(matches!(step, SlowStep::Reclaim { .. }));
        step = pages.slow_step(&mut walk, Some(reply));
    }
    rounds
}

fn is_page(step: SlowStep) -> bool {
    matches!(step, SlowStep::Done(Outcome::Page(_)))
}

#[test]
fn who_cannot_wait_gets_more_of_the_mark_or_fails_at_once() {
    // Below MIN = 128, half of it is open to HIGH, and 37.5 % is left with NON_BLOCK on top: 48.
    for (free, gfp, served) in [
        (129, Gfp::NOWAIT, true),
        (128, Gfp::NOWAIT, false),
        (49, Gfp::ATOMIC, true),
        (48, Gfp::ATOMIC, false),
    ] {
        let (pages, _) = nearly_full(Rules::linux_6_12(), free);
        let (mut walk, step) = first(&pages, Request::new(Order::ZERO, gfp));
        assert_eq!(is_page(step), served, "{free} pages, {gfp}");
        assert!(served || step == SlowStep::Done(Outcome::Failed));
        assert_eq!(pages.slow_step(&mut walk, None), step, "the same answer again");
        assert!(pages.node_state(NodeId(0)).kswapd_awake, "step B");
    }
    // NOMEMALLOC closes the part for those who cannot wait; real-time tasks have the half.
    let (pages, _) = nearly_full(Rules::linux_6_12(), 64);
    let (_, step) = first(&pages, Request::new(Order::ZERO, Gfp::ATOMIC | Gfp::NOMEMALLOC));
    assert_eq!(step, SlowStep::Done(Outcome::Failed));
    let (pages, _) = nearly_full(Rules::linux_6_12(), 65);
    let task = Task { flags: TaskFlags::REALTIME, ..Task::default() };
    assert!(is_page(first(&pages, Request::new(Order::ZERO, Gfp::KERNEL).by(task)).1));
    assert_eq!(first(&pages, Request::new(Order::ZERO, Gfp::KERNEL)).1, RECLAIM);
}

#[test]
fn those_whose_work_frees_memory_have_all_of_it() {
    let request = Request::new(Order::ZERO, Gfp::KERNEL);
    let by = |flags| Task { flags, ..Task::default() };
    let (pages, _) = nearly_full(Rules::linux_6_12(), 1);
    let (_, step) = first(&pages, request.by(by(TaskFlags::MEMALLOC)));
    assert!(is_page(step), "the last page");
    let (mut walk, step) = {
        let mut walk = pages.slow_begin(CPU0, request.by(by(TaskFlags::MEMALLOC)));
        let step = pages.slow_step(&mut walk, None);
        (walk, step)
    };
    assert_eq!(step, SlowStep::Done(Outcome::Failed), "and never reclaims itself");
    assert_eq!(pages.slow_step(&mut walk, None), step);
    // An OOM victim may go to half of MIN.
    for (free, served) in [(65, true), (64, false)] {
        let (pages, _) = nearly_full(Rules::linux_6_12(), free);
        let victim = request.by(by(TaskFlags::OOM_VICTIM));
        assert_eq!(is_page(first(&pages, victim).1), served);
        let closed = Request { gfp: Gfp::KERNEL | Gfp::NOMEMALLOC, ..victim };
        assert_eq!(first(&pages, closed).1, RECLAIM);
    }
}

#[test]
fn reclaim_then_the_killer() {
    let (pages, held) = nearly_full(Rules::linux_6_12(), 64);
    let request = Request::new(Order::ZERO, Gfp::KERNEL);
    let (mut walk, step) = first(&pages, request);
    assert_eq!(step, RECLAIM);
    let mut failing = walk;
    let mut next = |reply| pages.slow_step(&mut failing, Some(reply));
    // Nothing reclaimable: no retry.
    assert_eq!(next(SlowReply::Reclaimed(0)), SlowStep::OomLock);
    assert_eq!(next(SlowReply::OomLock(true)), SlowStep::OomKill { order: Order::ZERO });
    let mut killing = failing;
    assert_eq!(
        pages.slow_step(&mut failing, Some(SlowReply::Killed(false))),
        SlowStep::Done(Outcome::Failed)
    );
    // A kill, and a lock that somebody else has, are progress: once more.
    assert_eq!(pages.slow_step(&mut killing, Some(SlowReply::Killed(true))), RECLAIM);
    let events = pages.events();
    assert_eq!((events.allocstall[ZoneKind::Normal.index()], events.oom_kill), (2, 1));
    assert_eq!(pages.slow_step(&mut killing, Some(SlowReply::Reclaimed(0))), SlowStep::OomLock);
    assert_eq!(pages.slow_step(&mut killing, Some(SlowReply::OomLock(false))), RECLAIM);
    // What reclaim freed is found, up to MIN.
    held[..65].iter().for_each(|pfn| pages.free_pages(CPU0, *pfn, Order::ZERO));
    pages.tick(CPU0);
    let step = pages.slow_step(&mut walk, Some(SlowReply::Reclaimed(65)));
    assert!(is_page(step), "{step:?}");
}

#[test]
fn fruitless_rounds_are_counted() {
    let (pages, _) = nearly_full(Rules::linux_6_12(), 64);
    pages.set_reclaimable(NORMAL, 1000);
    // The throttle lets through: 64 free are half of MIN, so one more has to come free.
    let request = Request::new(Order::ZERO, Gfp::KERNEL)
        .by(Task { flags: TaskFlags::KTHREAD, ..Task::default() });
    let (mut walk, mut step) = first(&pages, request);
    let mut rounds = 0;
    while step == RECLAIM {
        rounds += 1;
        step = pages.slow_step(&mut walk, Some(SlowReply::Reclaimed(0)));
    }
    assert_eq!((rounds, step), (17, SlowStep::OomLock), "16 retries");
    // Progress begins the count again.
    let (mut walk, mut step) = first(&pages, request);
    for round in 0..40 {
        assert_eq!(step, RECLAIM, "round {round}");
        step = pages.slow_step(&mut walk, Some(SlowReply::Reclaimed(u64::from(round % 10 == 0))));
    }
}

#[test]
fn low_reserves_hold_reclaimers_back() {
    let (pages, held) = nearly_full(Rules::linux_6_12(), 64);
    pages.set_reclaimable(NORMAL, 1000);
    let request = Request::new(Order::ZERO, Gfp::KERNEL);
    let throttle = |killable| SlowStep::Throttle { node: NodeId(0), killable };
    let (walk, step) = first(&pages, request);
    assert_eq!(step, throttle(true));
    assert_eq!(first(&pages, Request::new(Order::ZERO, Gfp::NOFS)).1, throttle(false));
    let (mut woken, mut killed, mut silent) = (walk, walk, walk);
    let stalls = || pages.events().allocstall[ZoneKind::Normal.index()];
    let answer = SlowReply::Woken { killed: false };
    assert_eq!(pages.slow_step(&mut woken, Some(answer)), RECLAIM);
    assert_eq!(stalls(), 1);
    // Killed, or no answer: as if a page had been reclaimed, so that the walk goes round; and a dying
    // task is not held back again.
    for (stalled, walk, reply) in
        [(2, &mut killed, Some(SlowReply::Woken { killed: true })), (3, &mut silent, None)]
    {
        let step = pages.slow_step(walk, reply);
        assert_eq!((step, stalls()), (RECLAIM, stalled));
    }
    assert_eq!(pages.events().direct_throttle, 2);
    // Dying tasks and kernel threads are not held back, nor is anybody with one page more.
    let task = Task { flags: TaskFlags::DYING, ..Task::default() };
    assert_eq!(first(&pages, request.by(task)).1, RECLAIM);
    pages.free_pages(CPU0, held[0], Order::ZERO);
    assert_eq!(first(&pages, request).1, RECLAIM);
}

#[test]
fn compaction_gets_harder_from_round_to_round() {
    let (pages, _) = nearly_full(Rules::linux_6_12(), 64);
    let compact = |order, priority| SlowStep::Compact { order, priority };
    let request = Request::new(order(2), Gfp::KERNEL);
    let (mut walk, step) = first(&pages, request);
    assert_eq!(step, compact(order(2), CompactPriority::Async), "step D");
    let complete = SlowReply::Compacted(CompactResult::Complete);
    let mut seen = Vec::new();
    let mut reply = complete;
    loop {
        let step = pages.slow_step(&mut walk, Some(reply));
        reply = match step {
            SlowStep::Compact { priority, .. } => {
                seen.push(priority);
                complete
            }
            SlowStep::Reclaim { .. } => SlowReply::Reclaimed(1),
            _ => break assert_eq!(step, SlowStep::OomLock),
        };
    }
    assert_eq!(seen, [CompactPriority::SyncLight, CompactPriority::SyncFull]);
    let events = pages.events();
    assert_eq!((events.compact_stall, events.compact_success, events.compact_fail), (3, 0, 3));
    // Success without a page is tried again 16 times, with each priority; skipped counts nothing.
    let rounds = rounds_of_success(&pages, request);
    assert_eq!(rounds, 17 + 17);
    // Movable requests that are not costly do not compact first; without I/O nobody does.
    assert!(matches!(
        first(&pages, Request::new(order(2), Gfp::HIGHUSER_MOVABLE)).1,
        SlowStep::Reclaim { .. }
    ));
    let before = pages.events().compact_stall;
    let (mut walk, step) = first(&pages, Request::new(order(2), Gfp::NOIO));
    assert!(matches!(step, SlowStep::Reclaim { .. }));
    let step = pages.slow_step(&mut walk, Some(SlowReply::Reclaimed(0)));
    assert_eq!(step, SlowStep::OomLock);
    assert_eq!(pages.events().compact_stall, before);
}

#[test]
fn costly_requests_give_up_early() {
    let (pages, _) = nearly_full(Rules::linux_6_12(), 64);
    let huge = |more| Request::new(order(9), Gfp::TRANSHUGE | more);
    let failed = SlowStep::Done(Outcome::Failed);
    for result in [CompactResult::Skipped, CompactResult::Deferred] {
        let (mut walk, step) = first(&pages, huge(Gfp::NORETRY));
        assert!(matches!(step, SlowStep::Compact { priority: CompactPriority::Async, .. }));
        let step = pages.slow_step(&mut walk, Some(SlowReply::Compacted(result)));
        assert_eq!(step, failed, "{result:?}");
    }
    // Otherwise the later try stays gentle, and is the last.
    let (mut walk, _) = first(&pages, huge(Gfp::NORETRY));
    let step = pages.slow_step(&mut walk, Some(SlowReply::Compacted(CompactResult::Complete)));
    assert!(matches!(step, SlowStep::Reclaim { .. }));
    let step = pages.slow_step(&mut walk, Some(SlowReply::Reclaimed(0)));
    assert!(matches!(step, SlowStep::Compact { priority: CompactPriority::Async, .. }));
    let step = pages.slow_step(&mut walk, Some(SlowReply::Compacted(CompactResult::Complete)));
    assert_eq!(step, failed);
    // RETRY_MAYFAIL goes on, up to the first sync priority, and never kills.
    let (mut walk, mut step) = first(&pages, huge(Gfp::RETRY_MAYFAIL));
    let (mut rounds, mut sync) = (0, true);
    while step != failed {
        rounds += 1;
        sync &= !matches!(step, SlowStep::Compact { priority: CompactPriority::SyncFull, .. });
        let reply = match step {
            SlowStep::Compact { .. } => SlowReply::Compacted(CompactResult::Complete),
            SlowStep::OomLock => SlowReply::OomLock(true),
            _ => SlowReply::Reclaimed(1),
        };
        step = pages.slow_step(&mut walk, Some(reply));
    }
    assert_eq!((rounds, sync), (4, true), "compact, reclaim, compact, OOM lock");
}

#[test]
fn who_may_not_fail_yields_and_takes_the_reserve() {
    let (pages, held) = nearly_full(Rules::linux_6_12(), 64);
    let request = Request::new(Order::ZERO, Gfp::KERNEL | Gfp::NOFAIL | Gfp::NORETRY);
    let (mut walk, step) = first(&pages, request);
    assert_eq!(step, RECLAIM);
    assert_eq!(pages.slow_step(&mut walk, Some(SlowReply::Reclaimed(0))), SlowStep::Yield);
    let woken = SlowReply::Woken { killed: false };
    assert_eq!(pages.slow_step(&mut walk, Some(woken)), RECLAIM, "for ever");
    // One page more: half of MIN is 64, and that is open now.
    pages.free_pages(CPU0, held[0], Order::ZERO);
    pages.tick(CPU0);
    assert!(is_page(pages.slow_step(&mut walk, Some(SlowReply::Reclaimed(0)))));
    // After a kill the last pages are open.
    let request = Request::new(Order::ZERO, Gfp::KERNEL | Gfp::NOFAIL);
    let (mut walk, _) = first(&pages, request);
    pages.slow_step(&mut walk, Some(SlowReply::Reclaimed(0)));
    pages.slow_step(&mut walk, Some(SlowReply::OomLock(true)));
    assert!(is_page(pages.slow_step(&mut walk, Some(SlowReply::Killed(true)))));
}

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
fn only_urgent_blocks_come_with_a_reserve() {
    // Until 6.12 any block for a request that cannot wait; in 6.18 it has to be urgent as well.
    let (old, new) = (Rules::linux_6_12(), Rules::linux_6_18());
    for (rules, gfp, block, reserved) in [
        (old, Gfp::NOWAIT, 1, 512),
        (new, Gfp::NOWAIT, 1, 0),
        (new, Gfp::ATOMIC, 0, 0),
        (new, Gfp::KERNEL, 1, 0),
        (new, Gfp::ATOMIC, 1, 512),
    ] {
        let pages = single_zone(1, 131_072, rules);
        let mut walk = pages.slow_begin(CPU0, Request::new(order(block), gfp));
        assert!(is_page(pages.slow_step(&mut walk, None)));
        let state = pages.zone_state(NORMAL);
        assert_eq!(state.nr_reserved_highatomic, reserved, "{gfp}, order {block}");
    }
}

#[test]
fn who_cannot_wait_and_is_urgent_may_leave_its_mask() {
    for (gfp, served) in [(Gfp::ATOMIC, true), (Gfp::NOWAIT, false)] {
        let pages = two_nodes(Rules::linux_6_12());
        empty(&pages, 0);
        let request = Request::new(Order::ZERO, gfp).within(NodeMask(1));
        assert_eq!(is_page(first(&pages, request).1), served, "{gfp}");
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
fn compaction_s_block_is_found_and_counted() {
    let (pages, held) = nearly_full(Rules::linux_6_12(), 200);
    let (mut walk, step) = first(&pages, Request::new(order(2), Gfp::KERNEL));
    assert!(matches!(step, SlowStep::Compact { .. }));
    // What compaction would do: neighbours of free pages come free.
    held[..8].iter().for_each(|pfn| pages.free_pages(CPU0, *pfn, Order::ZERO));
    pages.tick(CPU0);
    let step = pages.slow_step(&mut walk, Some(SlowReply::Compacted(CompactResult::Success)));
    assert!(is_page(step), "{step:?}");
    let events = pages.events();
    assert_eq!((events.compact_stall, events.compact_success, events.compact_fail), (1, 1, 0));
}

#[test]
fn after_some_progress_other_cpus_lists_and_the_reserve_are_looked_at() {
    // Pages on another CPU's lists.
    let pages = single_zone(2, 4096, Rules::linux_6_12());
    let all =
        Request::new(Order::ZERO, Gfp::HIGHUSER_MOVABLE).at(Mark::Min, AllocFlags::NO_WATERMARKS);
    let pfns: Vec<_> = core::iter::from_fn(|| pages.alloc_pages(CPU0, all).page()).collect();
    assert_eq!(pfns.len(), 4096);
    let limits = Tunables { percpu_pagelist_high_fraction: 8, ..Tunables::default() };
    pages.set_tunables(limits).unwrap();
    let request = Request::new(Order::ZERO, Gfp::HIGHUSER_MOVABLE);
    pfns[..200].iter().for_each(|pfn| pages.free_pages(common::CPU1, *pfn, Order::ZERO));
    assert_eq!(pages.pcp_state(common::CPU1, NORMAL).count, 200);
    let (walk, step) = first(&pages, request);
    assert_eq!(step, RECLAIM);
    let (mut without, mut with) = (walk, walk);
    assert_eq!(pages.slow_step(&mut without, Some(SlowReply::Reclaimed(0))), SlowStep::OomLock);
    assert!(is_page(pages.slow_step(&mut with, Some(SlowReply::Reclaimed(1)))));

    // A reserved pageblock, which only the unforced give-up opens before a retry is refused: 6.6 and
    // before give it up by force only at the limit. Two are reserved, as the last stays.
    let pages = single_zone(1, 131_072, Rules::linux_6_1());
    pages.pcp_disable(CPU0, NORMAL);
    let mut held = Pages::new(&pages);
    let flags = AllocFlags::HIGHATOMIC | AllocFlags::NON_BLOCK;
    for _ in 0..600 {
        let urgent = Request::new(order(1), Gfp::ATOMIC).at(Mark::Min, flags);
        held.request(urgent).unwrap();
    }
    let reserved = pages.zone_state(NORMAL).nr_reserved_highatomic;
    assert!(reserved >= 1024);
    while held.request(all).is_some() {}
    pages.tick(CPU0);
    let (mut walk, step) = first(&pages, request);
    assert_eq!(step, RECLAIM);
    pages.slow_step(&mut walk, Some(SlowReply::Reclaimed(1)));
    assert_eq!(pages.zone_state(NORMAL).nr_reserved_highatomic, reserved - 512);
}

#[test]
fn what_is_free_counts_with_what_could_be() {
    // 128 is MIN: 64 free and 65 reclaimable pass, 64 and 64 do not.
    for (reclaimable, retries) in [(65, true), (64, false)] {
        let (pages, _) = nearly_full(Rules::linux_6_12(), 64);
        pages.set_reclaimable(NORMAL, reclaimable);
        let task = Task { flags: TaskFlags::KTHREAD, ..Task::default() };
        let request = Request::new(Order::ZERO, Gfp::KERNEL).by(task);
        let (mut walk, _) = first(&pages, request);
        let step = pages.slow_step(&mut walk, Some(SlowReply::Reclaimed(0)));
        assert_eq!(step == RECLAIM, retries, "{reclaimable} reclaimable: {step:?}");
    }
    // Skipped compaction goes on while a zone would be suitable: order 2 wants MIN + 8 = 136 with
    // half of what is reclaimable (order 2): 64 + 146 / 2 is 137.
    for (reclaimable, retries) in [(146, true), (145, false)] {
        let (pages, _) = nearly_full(Rules::linux_6_12(), 64);
        let task = Task { flags: TaskFlags::KTHREAD, ..Task::default() };
        let (mut walk, mut step) =
            first(&pages, Request::new(order(2), Gfp::HIGHUSER_MOVABLE).by(task));
        pages.set_reclaimable(NORMAL, reclaimable);
        // No block of order 2 is there, so the retry of reclaim is refused.
        assert!(matches!(step, SlowStep::Reclaim { .. }));
        step = pages.slow_step(&mut walk, Some(SlowReply::Reclaimed(1)));
        assert!(matches!(step, SlowStep::Compact { .. }), "{step:?}");
        step = pages.slow_step(&mut walk, Some(SlowReply::Compacted(CompactResult::Skipped)));
        assert_eq!(matches!(step, SlowStep::Reclaim { .. }), retries, "{step:?}");
    }
}

#[test]
fn costly_success_is_tried_four_times() {
    let (pages, _) = nearly_full(Rules::linux_6_12(), 64);
    let request = Request::new(order(4), Gfp::HIGHUSER_MOVABLE | Gfp::RETRY_MAYFAIL);
    let rounds = rounds_of_success(&pages, request);
    assert_eq!(rounds, 5, "and the priority is as high as it gets");
}

#[test]
fn the_killer_is_not_for_everybody_and_looks_above_high_first() {
    // Nobody is killed for those who may fail, or want one node.
    for more in [Gfp::RETRY_MAYFAIL, Gfp::THISNODE] {
        let (pages, _) = nearly_full(Rules::linux_6_12(), 64);
        let (mut walk, _) = first(&pages, Request::new(Order::ZERO, Gfp::KERNEL | more));
        assert_eq!(pages.slow_step(&mut walk, Some(SlowReply::Reclaimed(0))), SlowStep::OomLock);
        let step = pages.slow_step(&mut walk, Some(SlowReply::OomLock(true)));
        assert_eq!(step, SlowStep::Done(Outcome::Failed), "{more}");
    }
    // While the lock was taken pages came free: up to HIGH = 192 that is not enough.
    for (free, killed) in [(192, true), (193, false)] {
        let (pages, held) = nearly_full(Rules::linux_6_12(), 64);
        let (mut walk, _) = first(&pages, Request::new(Order::ZERO, Gfp::KERNEL));
        assert_eq!(pages.slow_step(&mut walk, Some(SlowReply::Reclaimed(0))), SlowStep::OomLock);
        held[..free - 64].iter().for_each(|pfn| pages.free_pages(CPU0, *pfn, Order::ZERO));
        pages.tick(CPU0);
        let step = pages.slow_step(&mut walk, Some(SlowReply::OomLock(true)));
        assert_eq!(step == SlowStep::OomKill { order: Order::ZERO }, killed, "{step:?}");
    }
}

#[test]
fn walks_that_can_come_to_nothing_end_at_once() {
    let pages = two_nodes(Rules::linux_6_12());
    let failed = SlowStep::Done(Outcome::Failed);
    let end = |cpu, request| pages.slow_step(&mut pages.slow_begin(cpu, request), None);
    let kernel = Request::new(Order::ZERO, Gfp::KERNEL | Gfp::NOFAIL);
    assert_eq!(end(CPU0, kernel.on(NodeId(5))), failed);
    let bad = Gfp::KERNEL | Gfp::MOVABLE | Gfp::RECLAIMABLE;
    assert_eq!(end(CPU0, Request::new(Order::ZERO, bad)), failed);
    assert!(pages.cpu_dead(CPU0, common::CPU1));
    assert_eq!(end(common::CPU1, kernel), failed);
    // No zone in reach: that can change with the cpuset.
    assert_eq!(end(CPU0, kernel.within(NodeMask::NONE)), SlowStep::Yield);
    assert_eq!(end(CPU0, Request::new(Order::ZERO, Gfp::KERNEL).within(NodeMask::NONE)), failed);
}
