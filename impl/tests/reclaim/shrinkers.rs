//! Caches beside the lists.

use super::*;

/// Counts what it is asked; gives a page for each 4 objects.
struct Cache {
    objects: AtomicU64,
    calls: Mutex<Vec<u64>>,
    seeks: u64,
    /// It wants to be left alone.
    lazy: AtomicBool,
}

impl Shrinker for Cache {
    fn count(&self, _: NodeId) -> u64 {
        self.objects.load(Relaxed)
    }

    fn scan(&self, _: NodeId, objects: u64) -> Option<u64> {
        if self.lazy.load(Relaxed) {
            return None;
        }
        self.calls.lock().unwrap().push(objects);
        Some(objects / 4)
    }

    fn seeks(&self) -> u64 {
        self.seeks
    }
}

#[test]
fn shrinkers_are_asked_in_proportion_and_the_rest_is_put_off() {
    let bench = Bench::small(false);
    let cache = |objects, seeks| Cache {
        objects: AtomicU64::new(objects),
        calls: Mutex::default(),
        seeks,
        lazy: AtomicBool::new(false),
    };
    let asked = |cache: &Cache| core::mem::take(&mut *cache.calls.lock().unwrap());
    let slabs = cache(1000, 2);
    let registered = [Registered::new(&slabs)];
    let reclaim = Reclaim { shrinkers: &registered, ..bench.reclaim() };
    let at = |priority| reclaim.shrink_node(CPU0, NODE, &Shrink { priority, ..GENTLE });
    // 4 × 250 / 2 = 500: three batches, 116 put off.
    assert_eq!(at(2).reclaimed, 96);
    assert_eq!(asked(&slabs), [128; 3]);
    // 616: four batches, 104 put off.
    at(2);
    assert_eq!(asked(&slabs), [128; 4]);
    // A gentle round, 4 × 15 / 2 = 30: 134 in all, 6 put off. Then 36: less than a batch.
    at(6);
    assert_eq!(asked(&slabs), [128]);
    at(6);
    assert_eq!(asked(&slabs), []);
    assert_eq!(bench.lru.counters(NODE).slabs_scanned, 8 * 128);
    // A cache smaller than a batch is asked when all of it is due; never for more than twice what there
    // is; without seeks half is due.
    slabs.objects.store(0, Relaxed);
    at(2);
    assert_eq!(asked(&slabs), []);
    let small = [Registered::new(&slabs)];
    slabs.objects.store(100, Relaxed);
    let small = Reclaim { shrinkers: &small, ..reclaim };
    small.shrink_node(CPU0, NODE, &Shrink { priority: 1, ..HARD });
    assert_eq!(asked(&slabs), [100], "4 × 50 / 2 is all");
    small.shrink_node(CPU0, NODE, &HARD);
    assert_eq!(asked(&slabs), [128], "4 × 100 / 2 is twice what there is");
    small.shrink_node(CPU0, NODE, &HARD);
    assert_eq!(asked(&slabs), [128], "with 72 put off it would be more");
    let free = cache(1000, 0);
    let registered = [Registered::new(&free)];
    Reclaim { shrinkers: &registered, ..reclaim }.shrink_node(CPU0, NODE, &GENTLE);
    assert_eq!(asked(&free), [128; 3]);
}

#[test]
fn much_that_was_put_off_is_not_done_at_once_in_a_gentle_round() {
    // Twice 500 are put off. Then half of 1000, and 116 are put off; or all, where a quarter is new.
    for (priority, calls) in [(12, 3), (4, 3), (3, 9)] {
        let bench = Bench::small(false);
        let slabs = Cache {
            objects: AtomicU64::new(1000),
            calls: Mutex::default(),
            seeks: 2,
            lazy: AtomicBool::new(true),
        };
        let registered = [Registered::new(&slabs)];
        let reclaim = Reclaim { shrinkers: &registered, ..bench.reclaim() };
        let at = |priority| reclaim.shrink_node(CPU0, NODE, &Shrink { priority, ..GENTLE });
        assert_eq!((at(2), at(2)), (Shrunk::default(), Shrunk::default()));
        slabs.lazy.store(false, Relaxed);
        at(priority);
        assert_eq!(*slabs.calls.lock().unwrap(), vec![128; calls], "priority {priority}");
    }
}

/// A shrinker that says only what it must.
#[derive(Default)]
struct Plain(Mutex<Vec<u64>>);

impl Shrinker for Plain {
    fn count(&self, _: NodeId) -> u64 {
        1000
    }

    fn scan(&self, _: NodeId, objects: u64) -> Option<u64> {
        self.0.lock().unwrap().push(objects);
        Some(0)
    }
}

#[test]
fn by_default_an_object_costs_two_and_128_are_a_batch() {
    let bench = Bench::small(false);
    let plain = Plain::default();
    let registered = [Registered::new(&plain)];
    let reclaim = Reclaim { shrinkers: &registered, ..bench.reclaim() };
    // 4 × 125 / 2.
    reclaim.shrink_node(CPU0, NODE, &Shrink { priority: 3, ..GENTLE });
    assert_eq!(*plain.0.lock().unwrap(), [128]);
}

#[test]
fn work_is_put_off_by_node() {
    let mut machine = Machine::new(1, &[]);
    machine.nodes = 2;
    for node in 0..2 {
        let span = PfnRange::new(4096 * node, 4096 * (node + 1));
        machine.zones.push(ZoneSpan::new(ZoneKind::Normal, span).on(NodeId(node as u8)));
    }
    let bench = Bench::new(&machine, false);
    let plain = Plain::default();
    let registered = [Registered::new(&plain)];
    let reclaim = Reclaim { shrinkers: &registered, ..bench.reclaim() };
    // 116 are put off on each.
    for calls in [3, 6] {
        reclaim.shrink_node(CPU0, NodeId(u8::from(calls == 6)), &Shrink { priority: 2, ..GENTLE });
        assert_eq!(plain.0.lock().unwrap().len(), calls);
    }
}

#[test]
fn caches_give_their_share_while_a_boost_is_worked_off() {
    let bench = Bench::small(true);
    bench.fill(LruList::InactiveFile, 1024, Gfp::HIGHUSER_MOVABLE);
    bench.fill(LruList::InactiveAnon, 1024, Gfp::HIGHUSER_MOVABLE);
    // Types mix in the last pageblock, which boosts; with the others free there is no more to do.
    let ask = |order, gfp| {
        let request = Request::new(Order::of(order), gfp);
        let request = request.at(Mark::Min, AllocFlags::NO_WATERMARKS);
        bench.pages.alloc_pages(CPU0, request).page().unwrap()
    };
    let blocks = [9, 9, 9, 3].map(|order| ask(order, Gfp::HIGHUSER_MOVABLE));
    ask(4, Gfp::KERNEL);
    blocks[..3].iter().for_each(|block| bench.pages.free_pages(CPU0, *block, Order::of(9)));
    assert_eq!(bench.pages.zone_state(NORMAL).boost, 512);
    let slabs = Cache {
        objects: AtomicU64::new(1 << 20),
        calls: Mutex::default(),
        seeks: 2,
        lazy: AtomicBool::new(false),
    };
    let registered = [Registered::new(&slabs)];
    let reclaim = Reclaim { shrinkers: &registered, ..bench.reclaim() };
    let step = bench.pages.kswapd_step(NODE, None);
    let KswapdStep::Shrink { priority: 12, may_write: false, may_swap: false, .. } = step else {
        panic!("{step:?} is not gentle work on a boost")
    };
    // 4 × 256 / 2 objects, a page for each four of them; the lists give nothing at this priority.
    let reply = reclaim.kswapd(CPU0, NODE, step);
    assert_eq!(reply, Some(KswapdReply::Shrunk { scanned: 0, reclaimed: 128 }));
    assert_eq!(*slabs.calls.lock().unwrap(), [128; 4]);
}
