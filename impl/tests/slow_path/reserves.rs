//! Who may have how much of the reserves, and who waits.

use super::*;

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
fn a_task_s_scopes_take_flags_away() {
    let by = |flags| Task { flags, ..Task::default() };
    let (pages, _) = nearly_full(Rules::linux_6_12(), 64);
    let block = Request::new(order(2), Gfp::KERNEL);
    assert!(matches!(first(&pages, block).1, SlowStep::Compact { .. }));
    let step = first(&pages, block.by(by(TaskFlags::NOIO))).1;
    assert!(matches!(step, SlowStep::Reclaim { .. }), "without I/O nobody compacts: {step:?}");
    let step = first(&pages, block.by(by(TaskFlags::NOFS))).1;
    assert!(matches!(step, SlowStep::Compact { .. }), "{step:?}");
    // A wait for reserves ends with a signal only where the file system may be entered.
    pages.set_reclaimable(NORMAL, 1000);
    for (flags, waits) in
        [(TaskFlags::PIN, true), (TaskFlags::NOIO, false), (TaskFlags::NOFS, false)]
    {
        let page = Request::new(Order::ZERO, Gfp::KERNEL).by(by(flags));
        let step = first(&pages, page).1;
        assert!(matches!(step, SlowStep::Throttle { killable, .. } if killable == waits));
    }
    // What will be pinned is not for the Movable zone.
    let zones = [(ZoneKind::Normal, 0, 4096), (ZoneKind::Movable, 4096, 8192)];
    let pages: OwnedAllocator = OwnedAllocator::new(
        Machine::new(1, &zones).as_ref(),
        Rules::linux_6_12(),
        Tunables::default(),
    )
    .unwrap();
    let movable = Request::new(Order::ZERO, Gfp::HIGHUSER_MOVABLE);
    for (task, in_normal) in [(Task::default(), false), (by(TaskFlags::PIN), true)] {
        let pfn = pages.alloc_pages(CPU0, movable.by(task)).page().unwrap();
        assert_eq!(pfn.0 < 4096, in_normal);
    }
}

#[test]
fn who_was_killed_while_others_ran_is_not_held_back_again() {
    let (pages, _) = nearly_full(Rules::linux_6_12(), 64);
    pages.set_reclaimable(NORMAL, 1000);
    let request = Request::new(Order::ZERO, Gfp::KERNEL | Gfp::NOFAIL | Gfp::NORETRY);
    let (mut walk, step) = first(&pages, request);
    assert!(matches!(step, SlowStep::Throttle { .. }));
    let woken = |killed| Some(SlowReply::Woken { killed });
    assert_eq!(pages.slow_step(&mut walk, woken(false)), RECLAIM);
    assert_eq!(pages.slow_step(&mut walk, Some(SlowReply::Reclaimed(0))), SlowStep::Yield);
    let mut killed = walk;
    let step = pages.slow_step(&mut walk, woken(false));
    assert!(matches!(step, SlowStep::Throttle { .. }), "{step:?}");
    assert_eq!(pages.slow_step(&mut killed, woken(true)), RECLAIM);
}

#[test]
fn single_pages_leave_the_atomic_reserve_for_blocks() {
    let pages = single_zone(1, 131_072, Rules::linux_6_12());
    pages.pcp_disable(CPU0, NORMAL);
    let reserved = || pages.zone_state(NORMAL).nr_free_highatomic;
    let get = |block| {
        let mut walk = pages.slow_begin(CPU0, Request::new(order(block), Gfp::ATOMIC));
        assert!(is_page(pages.slow_step(&mut walk, None)));
    };
    get(1);
    let before = reserved();
    assert!(before > 0);
    // Past the CPU's lists.
    pages.fail_trylock(CPU0, 1);
    get(0);
    assert_eq!(reserved(), before);
}

#[test]
fn since_6_18_an_empty_zone_holds_reclaimers_back_even_without_hope() {
    // Nothing is reclaimable.
    let (old, new) = (Rules::linux_6_12(), Rules::linux_6_18());
    for (rules, free, waits) in [(old, 0, false), (new, 0, true), (new, 64, false)] {
        let (pages, _) = nearly_full(rules, free);
        let step = first(&pages, Request::new(Order::ZERO, Gfp::KERNEL)).1;
        assert_eq!(matches!(step, SlowStep::Throttle { .. }), waits, "{free} free: {step:?}");
    }
}
