//! Threads on two nodes, with walks through the slow path, while another steps the kswapds and a third rebuilds the zonelists in ever other order: no frame has two
//! owners, no list is seen half of each order, nothing is lost.

use mmspec_impl::OwnedAllocator;
use mmspec_model::{
    contract::{CompactResult, KswapdReply, KswapdStep, Outcome, Request, SlowReply, SlowStep},
    vocab::{
        CpuId, FairPolicy, Gfp, Machine, NodeId, NodeMask, Order, Pfn, PfnRange, Rules, Tunables,
        ZoneIdx, ZoneKind, ZoneSpan, ZonelistOrder,
    },
};
use std::{
    sync::{
        Barrier,
        atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering::Relaxed},
    },
    thread,
    time::{Duration, Instant},
    vec::Vec,
};

const FRAMES: u64 = 40960;
const STEPS: usize = 60_000;
const BY_NODE: [u8; 4] = [1, 0, 3, 2];
const BY_KIND: [u8; 4] = [1, 3, 0, 2];

/// Two nodes of a CPU each, both with DMA32 and Normal.
fn build(rules: Rules) -> OwnedAllocator {
    let mut machine = Machine::new(2, &[]);
    machine.nodes = 2;
    machine.cpu_nodes = vec![NodeId(0), NodeId(1)];
    let spans = [(0, 0, 4096), (0, 4096, 20480), (1, 20480, 24576), (1, 24576, FRAMES)];
    for (at, (node, start, end)) in spans.into_iter().enumerate() {
        let kind = [ZoneKind::Dma32, ZoneKind::Normal][at % 2];
        machine.zones.push(ZoneSpan::new(kind, PfnRange::new(start, end)).on(NodeId(node)));
    }
    OwnedAllocator::new(machine.as_ref(), rules, Tunables::default()).unwrap()
}

/// A walk in which nothing helps.
fn walk(pages: &OwnedAllocator, cpu: CpuId, request: Request) -> Option<Pfn> {
    let mut walk = pages.slow_begin(cpu, request);
    let mut reply = None;
    loop {
        reply = Some(match pages.slow_step(&mut walk, reply) {
            SlowStep::DrainWait => unreachable!("drains are remote"),
            SlowStep::Done(outcome) => return outcome.page(),
            SlowStep::Throttle { .. } | SlowStep::Yield => SlowReply::Woken { killed: false },
            SlowStep::Reclaim { .. } => SlowReply::Reclaimed(0),
            SlowStep::Compact { .. } => SlowReply::Compacted(CompactResult::Complete),
            SlowStep::OomLock => SlowReply::OomLock(true),
            SlowStep::OomKill { .. } => SlowReply::Killed(false),
        });
    }
}

/// One thread's random requests and frees on its CPU.
fn work(pages: &OwnedAllocator, owners: &[AtomicU8], cpu: CpuId) {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64 + u64::from(cpu.0);
    let mut below = |bound: u64| {
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        (state.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) % bound
    };
    let set = |pfn: Pfn, order: Order, from: u8, to: u8| {
        for owner in &owners[pfn.index()..pfn.index() + order.pages() as usize] {
            assert_eq!(owner.swap(to, Relaxed), from, "block {pfn} of order {order}");
        }
    };
    let mut held: Vec<(Pfn, Order)> = Vec::new();
    for _ in 0..STEPS {
        if below(100) < 55 {
            let order = Order::of([0, 0, 0, 1, 2, 4, 6, 9][below(8) as usize]);
            let gfp = [Gfp::KERNEL, Gfp::HIGHUSER_MOVABLE, Gfp::DMA32][below(3) as usize];
            let mut request = Request::new(order, gfp);
            let node = NodeId(below(2) as u8);
            match below(8) {
                0 => request = request.on(node),
                1 => request.task.mems = NodeMask::only(node),
                2 => request.gfp |= Gfp::THISNODE,
                _ => {}
            }
            let found = match pages.alloc_pages(cpu, request) {
                Outcome::SlowPath => walk(pages, cpu, request),
                outcome => outcome.page(),
            };
            if let Some(pfn) = found {
                if request.task.mems != NodeMask::ALL {
                    assert_eq!(u8::from(pfn.0 >= 20480), node.0, "out of the cpuset");
                }
                set(pfn, order, 0, 1);
                held.push((pfn, order));
            }
        } else if !held.is_empty() {
            let (pfn, order) = held.swap_remove(below(held.len() as u64) as usize);
            set(pfn, order, 1, 0);
            pages.free_pages(cpu, pfn, order);
        }
        if below(200) == 0 {
            pages.tick(cpu);
        }
    }
    for (pfn, order) in held {
        set(pfn, order, 1, 0);
        pages.free_pages(cpu, pfn, order);
    }
}

fn stress(rules: Rules) {
    let pages = &build(rules);
    let owners: &Vec<_> = &(0..FRAMES).map(|_| AtomicU8::new(0)).collect();
    let (start, running, seen) = (&Barrier::new(3), &AtomicBool::new(true), &AtomicU64::new(0));
    thread::scope(|scope| {
        let workers: Vec<_> = [CpuId(0), CpuId(1)]
            .into_iter()
            .map(|cpu| {
                scope.spawn(move || {
                    start.wait();
                    work(pages, owners, cpu);
                })
            })
            .collect();
        scope.spawn(move || {
            while running.load(Relaxed) {
                pages.set_zonelist_order(ZonelistOrder::Zone);
                pages.set_zonelist_order(ZonelistOrder::Node);
                pages.rebuild_zonelists();
            }
        });
        scope.spawn(move || {
            let mut replies = [None; 2];
            while running.load(Relaxed) {
                for (node, reply) in replies.iter_mut().enumerate() {
                    *reply = match pages.kswapd_step(NodeId(node as u8), reply.take()) {
                        KswapdStep::Asleep => None,
                        KswapdStep::Nap => Some(KswapdReply::Napped { early: false }),
                        KswapdStep::Shrink { target, .. } => {
                            Some(KswapdReply::Shrunk { scanned: target, reclaimed: 1 })
                        }
                    };
                }
            }
        });
        scope.spawn(move || {
            start.wait();
            while running.load(Relaxed) {
                let mut list = Vec::new();
                pages.for_each_zonelist(NodeId(0), false, &mut |zone| list.push(zone.0));
                assert!(list == BY_NODE || list == BY_KIND, "{list:?}");
                seen.fetch_or(1 << u64::from(list == BY_KIND), Relaxed);
            }
        });
        let results: Vec<_> = workers.into_iter().map(|worker| worker.join()).collect();
        // The workers may be done before the reader had a processor: it is given time to see both orders.
        let patience = Instant::now() + Duration::from_secs(60);
        while seen.load(Relaxed) != 3 && Instant::now() < patience {
            thread::yield_now();
        }
        running.store(false, Relaxed);
        results.into_iter().for_each(|result| result.unwrap());
    });
    assert_eq!(seen.load(Relaxed), 3, "both orders were seen");
    pages.drain_all(CpuId(0), None);
    assert_eq!(pages.free_frames(), FRAMES);
    let events = pages.events();
    assert_eq!(events.pgfree - FRAMES, events.pgalloc_total());
    let (mut miss, mut foreign) = (0, 0);
    for zone in (0..4).map(ZoneIdx) {
        let state = pages.zone_state(zone);
        assert_eq!(state.nr_free_pages_exact, state.managed as i64, "{zone:?}");
        miss += state.numa.miss;
        foreign += state.numa.foreign;
        assert_eq!(state.numa.hit + state.numa.miss, state.numa.local + state.numa.other);
    }
    let woken: u64 = (0..2).map(|node| pages.node_state(NodeId(node)).wakeups).sum();
    assert!(woken > 0 && events.pageoutrun > 0);
    assert_eq!(miss, foreign);
    assert!(miss > 0, "the nodes ran out of pages now and then");
}

#[test]
fn rebuilds_disturb_nobody() {
    stress(Rules::linux_6_12());
}

#[test]
fn rebuilds_disturb_nobody_while_zones_take_turns() {
    let mut rules = Rules::linux_3_17();
    stress(rules);
    rules.fair_policy = FairPolicy::V4_7;
    stress(rules);
}

#[test]
fn rebuilds_disturb_nobody_while_nodes_are_avoided() {
    stress(Rules::linux_6_18());
}
