//! The bugs of SLUB's past (facts/bugs.md, rows S): each test would have caught one.

use super::scene::{Scene, machine, moved, spec, two_nodes};
use mmspec_impl::slab::{FreeSlot, ObjectMemory, SlabAllocator, SlabStorage, SparseTable, layout};
use mmspec_model::{
    contract::SlabError,
    vocab::{
        CacheFlags, CacheSpec, CpuId, CpuPartialLimit, Gfp, HighOrderSlabs, NodeId, ObjAddr,
        SlabPlace, SlabRules, SlabStat::*,
    },
};
use std::sync::Arc;

/// S1: NOFAIL belongs to the last attempt only.
#[test]
fn s1_the_high_order_attempt_may_fail() {
    for high_order in [HighOrderSlabs::Reclaim, HighOrderSlabs::WakeOnly, HighOrderSlabs::Neither] {
        let rules = SlabRules { high_order, ..SlabRules::LINUX_6_17 };
        let mut scene = Scene::new(&machine(8), rules, spec(2048, CacheFlags::empty()));
        scene.pages.most = Some(3);
        assert!(scene.try_alloc(0, Gfp::KERNEL | Gfp::NOFAIL, None).is_some());
        let asked: Vec<_> =
            scene.pages.asked.iter().map(|ask| (ask.0, ask.1.contains(Gfp::NOFAIL))).collect();
        assert_eq!(asked, [(3, false), (0, true)], "{high_order:?}");
    }
}

/// S2: one slow path for one allocation, whatever it tried.
#[test]
fn s2_retries_are_one_slow_path() {
    let mut scene =
        Scene::new(&two_nodes(4), SlabRules::LINUX_6_17, spec(512, CacheFlags::empty()));
    scene.alloc_n(0, 16);
    scene.pages.refuse = vec![true, true, true, false];
    let stats = moved(&mut scene, |scene| {
        scene.try_alloc(0, Gfp::KERNEL, Some(NodeId(1))).unwrap();
    });
    assert!(stats.contains(&(AllocSlowpath, 1)), "{stats:?}");
    assert!(stats.contains(&(AllocNodeMismatch, 1)) && stats.contains(&(OrderFallback, 1)));
    assert!(!stats.iter().any(|(stat, _)| *stat == AllocFastpath));
}

/// S4: by objects counted once, a list of slabs that fill up behind its back grows; by slabs not.
#[test]
fn s4_partial_lists_stay_short() {
    for (limit, longest) in [(CpuPartialLimit::Slabs, 7), (CpuPartialLimit::Objects, 14)] {
        let rules = SlabRules { cpu_partial: limit, ..SlabRules::LINUX_6_17 };
        let mut scene = Scene::new(&machine(4), rules, spec(512, CacheFlags::empty()));
        let full = scene.full_slabs(0, 60);
        let mut most = 0;
        for slab in &full[..59] {
            scene.free(1, slab[0]);
            let on_list = |(place, _): &(SlabPlace, u32)| *place == SlabPlace::CpuPartial(1);
            most = most.max(scene.places().iter().filter(|at| on_list(at)).count());
        }
        assert_eq!(most, longest, "{limit:?}");
    }
}

/// S5: the order is that of the CPUs present, not of those online when the cache is made.
#[test]
fn s5_orders_do_not_depend_on_boot() {
    let rules = SlabRules::LINUX_6_17;
    let of = |cpus| layout(&spec(512, CacheFlags::empty()), &rules, cpus).unwrap();
    assert_eq!((of(1).order.get(), of(224).order.get()), (0, 3));
    let scene = Scene::new(&machine(224), rules, spec(512, CacheFlags::empty()));
    assert_eq!(scene.slabs.cache_layout(scene.cache), Some(of(224)));
}

/// S8: what a hook keeps back from a bulk free is in neither the list nor its count.
#[test]
fn s8_a_bulk_free_counts_what_it_links() {
    let mut scene = Scene::plain();
    let full = scene.full_slabs(0, 2);
    let (cpu, cache) = (CpuId(1), scene.cache);
    let mut pages = scene.pages.clone();
    let objects = [full[0][0], full[0][1], full[0][2]];
    let kept = [objects[0], objects[1], ObjAddr(objects[2].0 + 8)];
    let freed = scene.slabs.object_free_bulk(cpu, cache, &kept, &mut pages);
    assert_eq!(freed, Err(SlabError::NotAnObject(kept[2])));
    let slab = scene.slab_of(objects[0]);
    assert_eq!((slab.inuse, slab.free), (14, 2));
}

/// A memory that can be written over.
#[derive(Clone)]
struct Shared(Arc<SparseTable>, Arc<std::sync::Mutex<Option<(u64, u64)>>>);

impl ObjectMemory for Shared {
    fn load(&self, at: FreeSlot) -> u64 {
        match *self.1.lock().unwrap() {
            Some((slot, garbage)) if slot == at.address().0 => garbage,
            _ => self.0.load(at),
        }
    }

    fn store(&self, at: FreeSlot, pointer: u64) {
        self.0.store(at, pointer);
    }
}

/// S11 and S16: a list that its users wrote over ends there, when it is walked and when it is used.
#[test]
fn s11_s16_a_broken_list_ends_where_it_is_broken() {
    for garbage in [3, 0x1234_5678_9abc_def0, 40, 1 << 20] {
        let machine = machine(2);
        let broken = Arc::new(std::sync::Mutex::new(None));
        let memory = Shared(Arc::new(SparseTable::of(&machine.as_ref())), broken.clone());
        let storage: SlabStorage<mmspec_impl::platform::StdPlatform, mmspec_impl::Owned> =
            SlabStorage::on_heap(&machine.as_ref(), 2);
        let slabs = SlabAllocator::new(machine.as_ref(), SlabRules::LINUX_6_17, 1, storage, memory)
            .unwrap();
        let spec = CacheSpec { name: "t", object_size: 512, align: 8, flags: CacheFlags::empty() };
        let cache = slabs.cache_create(spec).unwrap();
        let mut pages = super::scene::Pages::default();
        let cpu = CpuId(0);
        let mut alloc = || slabs.object_alloc(cpu, cache, Gfp::KERNEL, None, &mut pages).unwrap();
        let first = alloc().unwrap();
        // The second free object's pointer.
        *broken.lock().unwrap() = Some((first.0 + 2 * 512 + 256, garbage));
        slabs.cache_flush_cpu(cpu, cache, &mut super::scene::Pages::default());
        let mut state = None;
        slabs.for_each_slab(cache, &mut |slab| state = Some(slab));
        let slab = state.unwrap();
        let whole = slabs.cache_layout(cache).unwrap().objects;
        // Two free objects before the break; the others are lost, counted as in use.
        assert_eq!((slab.inuse, slab.free, slab.place), (whole - 2, 2, SlabPlace::NodePartial));
        *broken.lock().unwrap() = None;
        let next: Vec<_> = (0..3).map(|_| alloc().unwrap()).collect();
        assert_eq!(next[..2], [ObjAddr(first.0 + 512), ObjAddr(first.0 + 1024)]);
        assert_ne!(next[2].pfn(), first.pfn());
    }
}

/// The users of a free object write over its pointer, then it is handed out, and one more.
fn break_and_alloc(flags: CacheFlags, garbage: u64) {
    let machine = machine(2);
    let broken = Arc::new(std::sync::Mutex::new(None));
    let memory = Shared(Arc::new(SparseTable::of(&machine.as_ref())), broken.clone());
    let storage: SlabStorage<mmspec_impl::platform::StdPlatform, mmspec_impl::Owned> =
        SlabStorage::on_heap(&machine.as_ref(), 2);
    let slabs =
        SlabAllocator::new(machine.as_ref(), SlabRules::LINUX_6_17, 1, storage, memory).unwrap();
    let cache = slabs.cache_create(spec(512, flags)).unwrap();
    let made = slabs.cache_layout(cache).unwrap();
    let mut pages = super::scene::Pages::default();
    let mut alloc =
        || slabs.object_alloc(CpuId(0), cache, Gfp::KERNEL, None, &mut pages).unwrap().unwrap().0;
    let first = alloc();
    let slot = first + u64::from(made.stride) + u64::from(made.free_pointer);
    *broken.lock().unwrap() = Some((slot, garbage));
    let second = alloc();
    *broken.lock().unwrap() = None;
    let third = alloc();
    let size = 4096 << made.order.get();
    // The broken one is handed out, the next is the first of a new slab.
    assert_eq!(second - first, u64::from(made.stride));
    assert_eq!((third % size, third / size == first / size), (0, false), "{garbage:#x} {flags:?}");
}

/// S16: nothing that users wrote is handed out as an object.
#[test]
fn s16_garbage_is_not_handed_out() {
    for flags in [CacheFlags::empty(), CacheFlags::DEBUG] {
        for garbage in [3, 0x1234_5678_9abc_def0, 40, 1 << 20] {
            break_and_alloc(flags, garbage);
        }
    }
}
