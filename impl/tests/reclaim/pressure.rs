//! Walks, kswapd and lists together.

use super::*;

/// A walk to its end with real reclaim; kswapd has a turn before each step.
fn allocate(bench: &Bench, cpu: CpuId, request: Request) -> Outcome {
    let outcome = bench.pages.alloc_pages(cpu, request);
    if outcome != Outcome::SlowPath {
        return outcome;
    }
    let mut walk = bench.pages.slow_begin(cpu, request);
    let mut reply = None;
    loop {
        reply = Some(match bench.pages.slow_step(&mut walk, reply) {
            SlowStep::Done(outcome) => return outcome,
            SlowStep::Reclaim { .. } => bench.reclaim().direct(&walk),
            SlowStep::Throttle { .. } | SlowStep::Yield | SlowStep::DrainWait => {
                run_kswapd(bench, 1);
                SlowReply::Woken { killed: false }
            }
            SlowStep::Compact { .. } => SlowReply::Compacted(CompactResult::Skipped),
            SlowStep::OomLock => SlowReply::OomLock(true),
            SlowStep::OomKill { .. } => SlowReply::Killed(false),
        });
    }
}

/// Up to `shrinks` shrinks of the node's kswapd; whether it sleeps.
fn run_kswapd(bench: &Bench, shrinks: u32) -> bool {
    let (mut reply, mut left) = (None, shrinks);
    loop {
        let step = bench.pages.kswapd_step(NODE, reply.take());
        reply = match step {
            KswapdStep::Asleep => return true,
            KswapdStep::Nap => Some(KswapdReply::Napped { early: false }),
            KswapdStep::Shrink { .. } if left == 0 => return false,
            KswapdStep::Shrink { .. } => {
                left -= 1;
                bench.reclaim().kswapd(CPU0, NODE, step)
            }
        };
    }
}

#[test]
fn under_pressure_every_request_ends_in_a_page() {
    let bench = Bench::small(true);
    bench.fill(LruList::InactiveFile, 2400, Gfp::HIGHUSER_MOVABLE);
    bench.fill(LruList::InactiveAnon, 1500, Gfp::HIGHUSER_MOVABLE);
    let request = Request::new(Order::ZERO, Gfp::HIGHUSER_MOVABLE);
    for turn in 0..5000 {
        let Outcome::Page(pfn) = allocate(&bench, CPU0, request) else {
            panic!("turn {turn}: no page, {:?}", bench.sizes())
        };
        bench.owner.with(pfn, |page| *page = Page::default());
        assert!(bench.lru.add(&bench.pages, pfn, turn % 2 == 0));
        if turn % 64 == 0 {
            run_kswapd(&bench, u32::MAX);
        }
    }
    assert!(run_kswapd(&bench, u32::MAX), "kswapd comes to rest");
    let state = bench.pages.zone_state(NORMAL);
    assert!(state.nr_free_pages > state.marks[Mark::Low.index()] as i64, "{state:?}");
    assert!(!state.flags.contains(ZoneFlags::RECLAIM_ACTIVE));
    let counters = bench.lru.counters(NODE);
    assert!(counters.pgsteal_kswapd > 0);
    assert_eq!(bench.pages.events().oom_kill, 0);
    let on_lists: u64 = bench.sizes().iter().sum();
    assert_eq!(on_lists + bench.pages.free_frames(), 4096, "every frame is free or on a list");
}

#[test]
fn direct_reclaim_alone_frees_a_batch_and_kswapd_the_rest_to_the_high_mark() {
    let bench = Bench::small(false);
    bench.fill(LruList::InactiveFile, 4096, Gfp::HIGHUSER_MOVABLE);
    let request = Request::new(Order::ZERO, Gfp::HIGHUSER_MOVABLE);
    assert_eq!(bench.pages.alloc_pages(CPU0, request), Outcome::SlowPath);
    let mut walk = bench.pages.slow_begin(CPU0, request);
    let mut step = bench.pages.slow_step(&mut walk, None);
    let mut rounds = 0;
    while !matches!(step, SlowStep::Done(_)) {
        let reply = match step {
            SlowStep::Throttle { .. } => SlowReply::Woken { killed: false },
            _ => {
                rounds += 1;
                let before = bench.pages.free_frames();
                let reply = bench.reclaim().direct(&walk);
                let freed = bench.pages.free_frames() - before;
                assert_eq!(reply, SlowReply::Reclaimed(freed));
                // 1 + 2 + 4 + 7 + 15 + 31: from priority 12 until 32 are there.
                assert!((32..64).contains(&freed), "{freed} pages in a round");
                reply
            }
        };
        step = bench.pages.slow_step(&mut walk, Some(reply));
    }
    assert!(matches!(step, SlowStep::Done(Outcome::Page(_))));
    assert!((2..=5).contains(&rounds), "up to MIN, 128, in batches: {rounds}");
    assert!(run_kswapd(&bench, u32::MAX));
    let state = bench.pages.zone_state(NORMAL);
    assert!(state.nr_free_pages > state.marks[Mark::High.index()] as i64);
    assert!(state.nr_free_pages < 2 * 192 + 64, "and not much above: {}", state.nr_free_pages);
}

#[test]
fn a_node_with_nothing_to_give_fails() {
    let bench = Bench::small(false);
    bench.fill(LruList::Unevictable, 4096, Gfp::HIGHUSER_MOVABLE);
    let request = Request::new(Order::ZERO, Gfp::KERNEL);
    assert_eq!(allocate(&bench, CPU0, request), Outcome::Failed);
    assert!(run_kswapd(&bench, u32::MAX));
    assert_eq!(bench.pages.node_state(NODE).kswapd_failures, 16);
}

#[test]
fn threads_and_kswapd_share_the_lists() {
    let machine = Machine::new(2, &[(ZoneKind::Normal, 0, 8192)]);
    let bench = &Bench::new(&machine, true);
    bench.pages.pcp_enable(NORMAL);
    let (running, got) = (&AtomicBool::new(true), &AtomicU64::new(0));
    thread::scope(|scope| {
        let workers: Vec<_> = [CpuId(0), CpuId(1)]
            .into_iter()
            .map(|cpu| {
                scope.spawn(move || {
                    let request = Request::new(Order::ZERO, Gfp::HIGHUSER_MOVABLE);
                    for turn in 0..20_000 {
                        let Outcome::Page(pfn) = allocate(bench, cpu, request) else { continue };
                        got.fetch_add(1, Relaxed);
                        bench.owner.with(pfn, |page| {
                            *page = Page { dirty: turn % 5 == 0, ..Page::default() };
                            page.uses.times = turn % 3;
                        });
                        assert!(bench.lru.add(&bench.pages, pfn, turn % 2 == 0));
                    }
                })
            })
            .collect();
        scope.spawn(move || {
            while running.load(Relaxed) {
                run_kswapd(bench, 1);
            }
        });
        let results: Vec<_> = workers.into_iter().map(|worker| worker.join()).collect();
        running.store(false, Relaxed);
        results.into_iter().for_each(|result| result.unwrap());
    });
    assert!(got.load(Relaxed) > 8192 * 2, "{got:?} pages were handed out, some of them again");
    bench.pages.drain_all(CPU0, None);
    let on_lists: u64 = bench.sizes().iter().sum();
    assert_eq!(on_lists + bench.pages.free_frames(), 8192);
    let counted: u64 = LruList::ALL.iter().map(|list| bench.on(*list).len() as u64).sum();
    assert_eq!(counted, on_lists);
}

#[test]
fn a_walk_s_reclaim_swaps_only_with_io_and_frees_to_its_own_cpu() {
    let bench = Bench::new(&Machine::new(2, &[(ZoneKind::Normal, 0, 4096)]), true);
    bench.fill(LruList::InactiveAnon, 4096, Gfp::HIGHUSER_MOVABLE);
    bench.pages.pcp_enable(NORMAL);
    let direct = |gfp| {
        let mut walk = bench.pages.slow_begin(CPU1, Request::new(Order::ZERO, gfp));
        let step = bench.pages.slow_step(&mut walk, None);
        assert!(matches!(step, SlowStep::Throttle { .. }), "{step:?}");
        bench.reclaim().direct(&walk)
    };
    assert_eq!(direct(Gfp::NOIO), SlowReply::Reclaimed(0));
    let SlowReply::Reclaimed(pages) = direct(Gfp::KERNEL) else { panic!("it reclaims") };
    assert!((32..64).contains(&pages), "{pages}");
    assert_eq!([CPU0, CPU1].map(|cpu| bench.pages.pcp_state(cpu, NORMAL).count), [0, pages]);
}

#[test]
fn up_to_5_1_a_shrink_for_compaction_goes_on_to_the_gap() {
    for (goes_on, expected) in [(GoesOn::UntilSuitable, 32..=512), (GoesOn::UpToGap, 1024..=1600)] {
        let bench = Bench::small(false);
        bench.fill(LruList::InactiveFile, 2600, Gfp::HIGHUSER_MOVABLE);
        let reclaim = Reclaim { goes_on, ..bench.reclaim() };
        let shrink = Shrink { order: Order::of(9), kswapd: false, priority: 2, ..HARD };
        let shrunk = reclaim.shrink_node(CPU0, NODE, &shrink);
        assert!(expected.contains(&shrunk.reclaimed), "{goes_on:?}: {shrunk:?}");
    }
}
