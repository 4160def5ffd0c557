//! Reclaim, retries and the killer.

use super::*;

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
    // half of what is reclaimable: 64 + 146 / 2 is 137. Order 3: MIN + 16 with a third of it.
    for (block, reclaimable, retries) in
        [(2, 146, true), (2, 145, false), (3, 243, true), (3, 242, false)]
    {
        let (pages, _) = nearly_full(Rules::linux_6_12(), 64);
        let task = Task { flags: TaskFlags::KTHREAD, ..Task::default() };
        let (mut walk, mut step) =
            first(&pages, Request::new(order(block), Gfp::HIGHUSER_MOVABLE).by(task));
        pages.set_reclaimable(NORMAL, reclaimable);
        // No block of that order is there, so the retry of reclaim is refused.
        assert!(matches!(step, SlowStep::Reclaim { .. }));
        step = pages.slow_step(&mut walk, Some(SlowReply::Reclaimed(1)));
        assert!(matches!(step, SlowStep::Compact { .. }), "{step:?}");
        step = pages.slow_step(&mut walk, Some(SlowReply::Compacted(CompactResult::Skipped)));
        assert_eq!(matches!(step, SlowStep::Reclaim { .. }), retries, "{step:?}");
    }
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
fn somebody_is_killed_for_movable_pages_too() {
    let (pages, _) = nearly_full(Rules::linux_6_12(), 64);
    let (mut walk, _) = first(&pages, Request::new(Order::ZERO, Gfp::HIGHUSER_MOVABLE));
    assert_eq!(pages.slow_step(&mut walk, Some(SlowReply::Reclaimed(0))), SlowStep::OomLock);
    let step = pages.slow_step(&mut walk, Some(SlowReply::OomLock(true)));
    assert_eq!(step, SlowStep::OomKill { order: Order::ZERO });
}

#[test]
fn a_victim_does_not_wait_for_the_killer() {
    let failed = SlowStep::Done(Outcome::Failed);
    for (flags, more, step) in [
        (TaskFlags::OOM_VICTIM, Gfp::empty(), failed),
        (TaskFlags::OOM_VICTIM, Gfp::NOMEMALLOC, failed),
        (TaskFlags::empty(), Gfp::NOMEMALLOC, RECLAIM),
    ] {
        let (pages, _) = nearly_full(Rules::linux_6_12(), 64);
        let task = Task { flags, ..Task::default() };
        let (mut walk, _) = first(&pages, Request::new(Order::ZERO, Gfp::KERNEL | more).by(task));
        assert_eq!(pages.slow_step(&mut walk, Some(SlowReply::Reclaimed(0))), SlowStep::OomLock);
        assert_eq!(pages.slow_step(&mut walk, Some(SlowReply::OomLock(false))), step, "{flags:?}");
    }
}

#[test]
fn where_cpus_drain_themselves_the_walk_waits_for_them() {
    let rules = Rules { drain_scheme: DrainScheme::WorkItem, ..Rules::linux_6_12() };
    let pages = single_zone(2, 4096, rules);
    let all =
        Request::new(Order::ZERO, Gfp::HIGHUSER_MOVABLE).at(Mark::Min, AllocFlags::NO_WATERMARKS);
    let pfns: Vec<_> = core::iter::from_fn(|| pages.alloc_pages(CPU0, all).page()).collect();
    let limits = Tunables { percpu_pagelist_high_fraction: 8, ..Tunables::default() };
    pages.set_tunables(limits).unwrap();
    pfns[..200].iter().for_each(|pfn| pages.free_pages(common::CPU1, *pfn, Order::ZERO));
    let (mut walk, step) = first(&pages, Request::new(Order::ZERO, Gfp::HIGHUSER_MOVABLE));
    assert_eq!(step, RECLAIM);
    assert_eq!(pages.slow_step(&mut walk, Some(SlowReply::Reclaimed(1))), SlowStep::DrainWait);
    assert!(pages.run_work(common::CPU1));
    assert!(is_page(pages.slow_step(&mut walk, Some(SlowReply::Woken { killed: false }))));
}
