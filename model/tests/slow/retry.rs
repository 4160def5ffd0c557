//! L to Q: limits of rounds, and what has changed meanwhile.

use crate::bench::{CPU0, Rote, ZONE, request, task, with_free};
use mmspec_model::contract::{CompactResult, Observe, SlowPath, SlowReply, SlowStep, TaskFlags};
use mmspec_model::reference::Reference;
use mmspec_model::vocab::{Gfp, Rules};

fn now() -> Reference {
    with_free(Rules::linux_6_12(), 60)
}

/// Enough to reclaim that every round is worth it.
fn hopeful() -> Reference {
    let mut r = now();
    r.set_reclaimable(ZONE, 10_000);
    r
}

/// L.
#[test]
fn noretry_goes_round_once() {
    assert_eq!(Rote::default().run(&mut hopeful(), request(0, Gfp::KERNEL | Gfp::NORETRY)), "R.");
}

/// M.
#[test]
fn costly_orders_need_retry_mayfail() {
    let rote = Rote { reclaimed: 5, ..Rote::default() };
    assert_eq!(rote.run(&mut hopeful(), request(4, Gfp::KERNEL)), "ARL.");
    let no_io = Gfp::NOIO | Gfp::RETRY_MAYFAIL;
    assert_eq!(rote.run(&mut hopeful(), request(4, no_io)), "R.", "compaction may not");
}

/// N: 16 fruitless rounds are forgiven, the 17th is not; progress of an order up to 3 begins anew.
#[test]
fn sixteen_fruitless_rounds() {
    let fruitless = Rote::default();
    let expected = "R".repeat(17) + "OK.";
    assert_eq!(fruitless.run(&mut hopeful(), request(0, Gfp::KERNEL)), expected);
    let fruitful = Rote { reclaimed: 1, most: 120, ..Rote::default() };
    assert_eq!(fruitful.run(&mut hopeful(), request(0, Gfp::KERNEL)), "R".repeat(120) + "…");
    // One page of progress after ten rounds.
    let mut r = hopeful();
    let mut walk = r.slow_begin(CPU0, request(0, Gfp::KERNEL));
    let mut rounds = 0;
    let mut reply = None;
    loop {
        match r.slow_step(&mut walk, reply) {
            SlowStep::Reclaim { .. } => rounds += 1,
            other => {
                assert_eq!(other, SlowStep::OomLock);
                break;
            }
        }
        reply = Some(SlowReply::Reclaimed(u64::from(rounds == 10)));
    }
    assert_eq!(rounds, 10 + 17);
}

/// N: a costly order's progress does not begin anew. (Its check needs a block, so a large one is free,
/// but below MIN.)
#[test]
fn progress_of_costly_orders_counts_as_none() {
    let mut r = with_free(Rules::linux_6_12(), 40);
    for pfn in 2048..2064 {
        use mmspec_model::contract::PageAllocator;
        r.free_pages(CPU0, mmspec_model::vocab::Pfn(pfn), mmspec_model::vocab::Order::ZERO);
    }
    r.set_reclaimable(ZONE, 10_000);
    let rote = Rote { reclaimed: 64, compacted: CompactResult::Contended, ..Rote::default() };
    let told = rote.run(&mut r, request(4, Gfp::KERNEL | Gfp::RETRY_MAYFAIL));
    // A; 16 rounds by N; the 17th asks O, which cannot raise SYNC_LIGHT for costly orders.
    assert_eq!(told, "A".to_string() + &"RL".repeat(17) + "O.");
}

/// N: the check is against MIN, with what could be reclaimed counted as free.
#[test]
fn what_could_be_reclaimed_decides() {
    for (reclaimable, expected) in [(40, "ROK."), (41, "R…")] {
        let mut r = now();
        r.set_reclaimable(ZONE, reclaimable);
        let rote = Rote { most: 1, ..Rote::default() };
        let mut walk = r.slow_begin(CPU0, request(0, Gfp::KERNEL));
        let first = r.slow_step(&mut walk, None);
        assert!(matches!(first, SlowStep::Reclaim { .. }));
        let next = r.slow_step(&mut walk, Some(SlowReply::Reclaimed(0)));
        let again = matches!(next, SlowStep::Reclaim { .. });
        assert_eq!(again, expected == "R…", "60 free and {reclaimable}: {}", rote.most);
    }
}

/// O: 16 successes at one priority, then the next; 4 for costly orders, which stop at SYNC_LIGHT.
#[test]
fn limits_of_compaction() {
    let rote = |compacted| Rote { reclaimed: 1, compacted, ..Rote::default() };
    let success = rote(CompactResult::Success);
    let expected = "A".to_string() + &"RL".repeat(17) + &"RF".repeat(17) + "OK.";
    assert_eq!(success.run(&mut now(), request(2, Gfp::KERNEL)), expected);
    let costly = request(4, Gfp::KERNEL | Gfp::RETRY_MAYFAIL);
    let expected = "A".to_string() + &"RL".repeat(5) + "O.";
    assert_eq!(success.run(&mut now(), costly), expected);
    for result in [
        CompactResult::Deferred,
        CompactResult::Continue,
        CompactResult::Complete,
        CompactResult::PartialSkipped,
        CompactResult::Contended,
    ] {
        let told = rote(result).run(&mut now(), request(2, Gfp::KERNEL));
        assert_eq!(told, "ARLRFOK.", "{result:?}");
        assert_eq!(rote(result).run(&mut now(), costly), "ARLO.", "{result:?}");
    }
}

/// O: not at order 0, not without progress, not after a fatal signal.
#[test]
fn compaction_is_no_reason() {
    let success = Rote { reclaimed: 1, compacted: CompactResult::Success, ..Rote::default() };
    assert_eq!(success.run(&mut now(), request(0, Gfp::KERNEL)), "ROK.");
    let vain = Rote { reclaimed: 0, ..success };
    assert_eq!(vain.run(&mut now(), request(2, Gfp::KERNEL)), "ARLOK.");
    let dying = request(2, Gfp::KERNEL).by(task(TaskFlags::DYING));
    let success = Rote { reclaimed: 1, compacted: CompactResult::Success, ..Rote::default() };
    assert_eq!(success.run(&mut now(), dying), "ARLOK.");
}

/// O: skipped compaction is worth a retry while some zone would suit: order 2 needs MIN + 8 pages of
/// free + reclaimable / 2.
#[test]
fn skipped_compaction() {
    let skipped =
        Rote { reclaimed: 1, compacted: CompactResult::Skipped, most: 41, ..Rote::default() };
    for (reclaimable, expected) in
        [(97, "ARLOK.".to_string()), (98, "A".to_string() + &"RL".repeat(20) + "…")]
    {
        let mut r = now();
        r.set_reclaimable(ZONE, reclaimable);
        let told = skipped.run(&mut r, request(2, Gfp::KERNEL));
        assert_eq!(told, expected, "60 free and {reclaimable} reclaimable");
        assert_eq!(r.events().compact_stall, 0);
    }
    // Costly: from LOW, and a quarter only.
    for (reclaimable, more) in [(388, false), (392, true)] {
        let mut r = now();
        r.set_reclaimable(ZONE, reclaimable);
        let told = skipped.run(&mut r, request(4, Gfp::KERNEL | Gfp::RETRY_MAYFAIL));
        assert_eq!(told.len() > 5, more, "{told}");
    }
    // Without I/O compaction is skipped without being asked for.
    let mut r = now();
    r.set_reclaimable(ZONE, 98);
    let told = Rote { most: 20, ..skipped }.run(&mut r, request(2, Gfp::NOIO));
    assert_eq!(told, "R".repeat(20) + "…");
}

/// Any other reply than the one asked for is its worst case.
#[test]
fn wrong_replies() {
    let mut r = hopeful();
    let mut walk = r.slow_begin(CPU0, request(2, Gfp::KERNEL | Gfp::NORETRY));
    assert!(matches!(r.slow_step(&mut walk, None), SlowStep::Compact { .. }));
    let step = r.slow_step(&mut walk, Some(SlowReply::Reclaimed(1)));
    assert!(matches!(step, SlowStep::Reclaim { .. }), "{step:?}");
    assert_eq!(r.events().compact_stall, 0, "skipped");
    let step = r.slow_step(&mut walk, None);
    assert!(matches!(step, SlowStep::Compact { .. }), "{step:?}: nothing reclaimed");
}
