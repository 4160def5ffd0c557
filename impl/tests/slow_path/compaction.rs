//! Compaction, and how often it is asked for.

use super::*;

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
    for block in [2, 3] {
        let rounds = rounds_of_success(&pages, Request::new(order(block), Gfp::KERNEL));
        assert_eq!(rounds, 17 + 17, "order {block}");
    }
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
fn costly_success_is_tried_four_times() {
    let (pages, _) = nearly_full(Rules::linux_6_12(), 64);
    let request = Request::new(order(4), Gfp::HIGHUSER_MOVABLE | Gfp::RETRY_MAYFAIL);
    let rounds = rounds_of_success(&pages, request);
    assert_eq!(rounds, 5, "and the priority is as high as it gets");
}

/// The steps of a walk up to the OOM lock or its end, if compaction completes without a block and
/// reclaim frees `reclaimed` pages.
fn steps(request: Request, reclaimed: u64) -> String {
    let (pages, _) = nearly_full(Rules::linux_6_12(), 64);
    let (mut walk, mut step) = first(&pages, request);
    let mut seen = String::new();
    loop {
        let (letter, reply) = match step {
            SlowStep::Compact { .. } => ('c', SlowReply::Compacted(CompactResult::Complete)),
            SlowStep::Reclaim { .. } => ('r', SlowReply::Reclaimed(reclaimed)),
            SlowStep::OomLock => return seen + " oom",
            _ => return seen + " end",
        };
        seen.push(letter);
        step = pages.slow_step(&mut walk, Some(reply));
    }
}

#[test]
fn who_goes_round_for_compaction() {
    let small = Request::new(order(2), Gfp::KERNEL);
    assert_eq!(steps(small, 1), "crcrc oom", "two priorities");
    assert_eq!(steps(small, 0), "crc oom", "without progress it is over");
    let dying = Task { flags: TaskFlags::DYING, ..Task::default() };
    assert_eq!(steps(small.by(dying), 1), "crc oom");
    // Costly blocks need RETRY_MAYFAIL, and compaction.
    let costly = |gfp| Request::new(order(4), gfp);
    assert_eq!(steps(costly(Gfp::KERNEL), 1), "crc end");
    assert_eq!(steps(costly(Gfp::KERNEL | Gfp::RETRY_MAYFAIL), 1), "crc oom");
    assert_eq!(steps(costly(Gfp::NOIO | Gfp::RETRY_MAYFAIL), 1), "r end");
}
