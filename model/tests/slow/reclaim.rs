//! J and K: throttle, reclaim, what is given up for one more attempt.

use crate::bench::{CPU0, Rote, ZONE, give_back, request, take_all, task, with_free};
use mmspec_model::contract::{
    CpuCaches, HighAtomicReserve, KswapdReply, KswapdStep, Nodes, Observe, Outcome, PageAllocator,
    Request, SlowPath, SlowReply, SlowStep, StatWorker, TaskFlags,
};
use mmspec_model::reference::Reference;
use mmspec_model::vocab::{
    AllocFlags, CpuId, Gfp, Mark, MigrateType, NodeId, Order, Pfn, Rules, ZoneKind,
};

const N0: NodeId = NodeId(0);
const CPU1: CpuId = CpuId(1);

fn now(free: u64) -> Reference {
    with_free(Rules::linux_6_12(), free)
}

/// allocstall by the highest zone asked for.
#[test]
fn stalls_are_counted() {
    let mut r = now(0);
    let once = Gfp::KERNEL | Gfp::NORETRY;
    assert_eq!(Rote::default().run(&mut r, request(0, once)), "R.");
    let movable = once | Gfp::HIGHMEM | Gfp::MOVABLE;
    assert_eq!(Rote::default().run(&mut r, request(0, movable)), "R.");
    let mut expected = [0; 5];
    expected[ZoneKind::Normal.index()] = 1;
    expected[ZoneKind::Movable.index()] = 1;
    assert_eq!(r.events().allocstall, expected);
}

/// Pages on another CPU's list come back only after a reclaim that made progress.
#[test]
fn progress_drains_all_lists() {
    let cached = || {
        let mut r = now(0);
        r.pcp_enable(ZONE);
        let batch = r.pcp_state(CPU1, ZONE).batch;
        give_back(&mut r, 0, 0);
        for at in 0..120 {
            r.free_pages(CPU1, Pfn(2 * at), Order::ZERO);
        }
        r.tick(CPU1);
        // What the lists gave back on the way is taken again.
        take_all(&mut r, Gfp::KERNEL);
        assert!(batch > 0 && r.pcp_state(CPU1, ZONE).count > 0);
        assert_eq!(r.zone_state(ZONE).nr_free_pages, 0);
        r
    };
    let of = request(0, Gfp::KERNEL | Gfp::NORETRY | Gfp::HIGH);
    let mut r = cached();
    let count = r.pcp_state(CPU1, ZONE).count;
    assert_eq!(Rote::default().run(&mut r, of), "R.", "no progress, no drain");
    assert_eq!(r.pcp_state(CPU1, ZONE).count, count);
    let mut r = cached();
    Rote { reclaimed: 1, ..Rote::default() }.run(&mut r, of);
    assert_eq!(r.pcp_state(CPU1, ZONE).count, 0);
}

/// An attempt comes right after the reclaim, before anything is given up.
#[test]
fn reclaimed_pages_are_tried_first() {
    let mut r = now(0);
    let mut walk = r.slow_begin(CPU0, request(0, Gfp::KERNEL));
    assert!(matches!(r.slow_step(&mut walk, None), SlowStep::Reclaim { .. }));
    give_back(&mut r, 0, 101);
    let step = r.slow_step(&mut walk, Some(SlowReply::Reclaimed(101)));
    assert!(matches!(step, SlowStep::Done(Outcome::Page(_))));
}

/// Two reserved pageblocks: progress gives up one (never the last), a retry refused all.
#[test]
fn reserves_given_up() {
    let reserved = |blocks: u64, rules: Rules| {
        let mut r = with_free(rules, 0);
        for pfn in 0..1024 {
            r.free_pages(CPU0, Pfn(pfn), Order::ZERO);
        }
        let atomic = Request::new(Order::of(1), Gfp::ATOMIC)
            .at(Mark::Min, AllocFlags::HIGHATOMIC | AllocFlags::NO_WATERMARKS);
        let mut held = Vec::new();
        while r.zone_state(ZONE).nr_reserved_highatomic < 8 * blocks {
            held.push(r.alloc_pages(CPU0, atomic).page().unwrap());
        }
        for pfn in held {
            r.free_pages(CPU0, pfn, Order::of(1));
        }
        take_all(&mut r, Gfp::KERNEL);
        assert_eq!(r.zone_state(ZONE).pages_of(MigrateType::HighAtomic), 8 * blocks);
        r
    };
    let left = |r: &Reference| r.zone_state(ZONE).nr_reserved_highatomic / 8;
    let rote = Rote { reclaimed: 1, ..Rote::default() };
    let once = request(0, Gfp::KERNEL | Gfp::NORETRY);
    for (blocks, after) in [(3, 2), (1, 1)] {
        let mut r = reserved(blocks, Rules::linux_6_12());
        assert_eq!(rote.run(&mut r, once), "R.");
        assert_eq!(left(&r), after, "unforced, once");
    }
    // About to be refused a retry: forced, and again while anything moves; then the OOM killer.
    // (Two of the three pageblocks have merged, and move together.)
    let mut r = reserved(3, Rules::linux_6_12());
    assert_eq!(Rote::default().run(&mut r, request(0, Gfp::KERNEL)), "RRROK.");
    assert_eq!(left(&r), 0);
    // Before 6.12 only at the limit of fruitless rounds.
    let mut r = reserved(3, Rules { unreserve_before_oom: false, ..Rules::linux_6_12() });
    assert_eq!(Rote::default().run(&mut r, request(0, Gfp::KERNEL)), "ROK.");
    assert_eq!(left(&r), 3);
    r.set_reclaimable(ZONE, 10_000);
    let told = Rote::default().run(&mut r, request(0, Gfp::KERNEL));
    let rounds = "TR".repeat(19);
    assert_eq!(told, rounds + "OK.", "17 rounds, and two more for what was given up");
    assert_eq!(left(&r), 0);
    assert!(!r.unreserve_highatomic(CPU0, MigrateType::Movable, true));
}

/// compaction.md §4.5: who waits, and how.
#[test]
fn throttle() {
    let low = |free| {
        let mut r = now(free);
        r.set_reclaimable(ZONE, 10);
        r
    };
    let once = Gfp::KERNEL | Gfp::NORETRY;
    let first = |r: &mut Reference, of| {
        let mut walk = r.slow_begin(CPU0, of);
        r.slow_step(&mut walk, None)
    };
    let killable = SlowStep::Throttle { node: N0, killable: true };
    assert_eq!(first(&mut low(50), request(0, once)), killable, "half of MIN is too little");
    let above = first(&mut low(51), request(0, once));
    assert!(matches!(above, SlowStep::Reclaim { .. }));
    let timed = SlowStep::Throttle { node: N0, killable: false };
    assert_eq!(first(&mut low(0), request(0, Gfp::NOFS | Gfp::NORETRY)), timed);
    for excused in [TaskFlags::KTHREAD, TaskFlags::DYING] {
        let step = first(&mut low(0), request(0, once).by(task(excused)));
        assert!(matches!(step, SlowStep::Reclaim { .. }), "{excused:?}");
    }
    // Nothing reclaimable: the zone does not count (before 6.18 in any case).
    assert!(matches!(first(&mut now(0), request(0, once)), SlowStep::Reclaim { .. }));
    let mut newer = with_free(Rules::linux_6_18(), 0);
    assert_eq!(first(&mut newer, request(0, once)), killable, "nothing free either");
    let mut newer = with_free(Rules::linux_6_18(), 5);
    assert!(matches!(first(&mut newer, request(0, once)), SlowStep::Reclaim { .. }));
}

#[test]
fn after_the_throttle() {
    let once = request(0, Gfp::KERNEL | Gfp::NORETRY);
    let mut r = now(0);
    r.set_reclaimable(ZONE, 10);
    assert_eq!(Rote::default().run(&mut r, once), "TR.");
    assert_eq!(r.events().direct_throttle, 1);
    // Killed: no reclaim, but progress.
    let killed = Rote { signal: true, ..Rote::default() };
    let mut r = now(0);
    r.set_reclaimable(ZONE, 10);
    assert_eq!(killed.run(&mut r, once), "T.");
    assert_eq!(r.events().allocstall, [0; 5]);
    // That round does not count as fruitless; the dying task waits no more.
    let mut r = now(0);
    r.set_reclaimable(ZONE, 10_000);
    let rounds = "T".to_string() + &"R".repeat(17) + "OK.";
    assert_eq!(killed.run(&mut r, request(0, Gfp::KERNEL)), rounds);
    // kswapd is woken even by those who do not ask for it.
    let mut r = now(0);
    r.set_reclaimable(ZONE, 10);
    let quiet = Gfp::KERNEL.difference(Gfp::KSWAPD_RECLAIM) | Gfp::NORETRY;
    assert_eq!(Rote::default().run(&mut r, request(0, quiet)), "TR.");
    assert!(r.node_state(N0).kswapd_awake);
    assert_eq!(r.node_state(N0).wakeups, 1);
}

/// A hopeless node throttles nobody, and any direct progress gives it hope.
#[test]
fn hopeless_nodes() {
    let mut r = now(0);
    r.set_reclaimable(ZONE, 10);
    make_hopeless(&mut r);
    let once = request(0, Gfp::KERNEL | Gfp::NORETRY);
    assert_eq!(Rote::default().run(&mut r, once), "R.");
    assert_eq!(r.node_state(N0).kswapd_failures, 16, "no progress, no hope");
    assert!(!r.node_state(N0).kswapd_awake, "nor is a hopeless kswapd woken");
    assert_eq!(Rote { reclaimed: 1, ..Rote::default() }.run(&mut r, once), "R.");
    assert_eq!(r.node_state(N0).kswapd_failures, 0);
}

/// Let kswapd fail until it gives up.
fn make_hopeless(r: &mut Reference) {
    Rote::default().run(r, request(0, Gfp::NOWAIT));
    let mut reply = None;
    loop {
        reply = match r.kswapd_step(N0, reply) {
            KswapdStep::Asleep => break,
            KswapdStep::Nap => Some(KswapdReply::Napped { early: false }),
            KswapdStep::Shrink { .. } => Some(KswapdReply::Shrunk { scanned: 0, reclaimed: 0 }),
        };
    }
    assert_eq!(r.node_state(N0).kswapd_failures, 16);
}
