//! What is asked of the page allocator (memcg-slub.md §4.4), and the first list of a slab (§4.9).

use super::scene::{Scene, machine, spec};
use mmspec_impl::slab::page_flags;
use mmspec_model::vocab::{
    CacheFlags, CpuId, Gfp, HighOrderSlabs, ObjAddr, SlabRules, SlabStat::*,
};

fn flags(high_order: HighOrderSlabs, size: u32, gfp: Gfp) -> (Gfp, Gfp) {
    let rules = SlabRules { high_order, ..SlabRules::LINUX_6_17 };
    let spec = spec(size, CacheFlags::empty());
    let layout = mmspec_impl::slab::layout(&spec, &rules, 4).unwrap();
    page_flags(&rules, &layout, CacheFlags::empty(), gfp)
}

#[test]
fn the_first_attempt_by_era() {
    let gently = Gfp::NOWARN | Gfp::NORETRY | Gfp::COMP;
    let base = Gfp::IO | Gfp::FS | gently;
    for (era, first) in [
        (HighOrderSlabs::Reclaim, base | Gfp::RECLAIM),
        (HighOrderSlabs::WakeOnly, base | Gfp::NOMEMALLOC | Gfp::KSWAPD_RECLAIM),
        (HighOrderSlabs::Neither, base | Gfp::NOMEMALLOC),
    ] {
        // 512-byte objects: order 1, least order 0.
        assert_eq!(flags(era, 512, Gfp::KERNEL), (first, Gfp::KERNEL | Gfp::COMP), "{era:?}");
        // Where both orders are the same, the first attempt may reclaim in all eras.
        assert_eq!(flags(era, 64, Gfp::KERNEL).0, base | Gfp::RECLAIM, "{era:?}");
        // A request that must not wait is not told to keep off the reserves anew.
        assert_eq!(flags(era, 512, Gfp::ATOMIC).0, Gfp::ATOMIC | gently, "{era:?}");
    }
}

#[test]
fn only_what_concerns_pages_goes_on() {
    let noise = Gfp::ZERO | Gfp::ACCOUNT | Gfp::WRITE | Gfp::MOVABLE;
    let (first, second) =
        flags(HighOrderSlabs::Reclaim, 64, Gfp::KERNEL | noise | Gfp::THISNODE | Gfp::HARDWALL);
    assert!(!first.intersects(noise) && !second.intersects(noise));
    assert!(first.contains(Gfp::THISNODE | Gfp::HARDWALL));
    let rules = SlabRules::LINUX_6_17;
    let layout = mmspec_impl::slab::layout(&spec(64, CacheFlags::empty()), &rules, 4).unwrap();
    let own = CacheFlags::DMA | CacheFlags::RECLAIM_ACCOUNT;
    let (first, _) = page_flags(&rules, &layout, own, Gfp::KERNEL);
    assert!(first.contains(Gfp::DMA | Gfp::RECLAIMABLE));
}

#[test]
fn the_fallback_is_of_the_least_order_and_counted_when_it_helps() {
    let mut scene = Scene::plain();
    scene.pages.most = Some(1);
    let object = scene.alloc(0);
    let asked: Vec<_> = scene.pages.asked.iter().map(|ask| (ask.0, ask.3)).collect();
    assert_eq!(asked, [(1, false), (0, true)]);
    assert_eq!(scene.stat(OrderFallback), 1);
    assert_eq!((scene.slab_of(object).objects, scene.slab_of(object).order.get()), (8, 0));
    scene.pages.most = Some(0);
    scene.alloc_n(0, 7);
    assert_eq!(scene.try_alloc(0, Gfp::KERNEL, None), None);
    assert_eq!(scene.stat(OrderFallback), 1);
    assert_eq!(scene.stat(AllocSlowpath), 2);
    // Also where both orders are the same.
    let mut scene = Scene::new(&machine(4), SlabRules::LINUX_6_17, spec(64, CacheFlags::empty()));
    scene.pages.refuse = vec![true, false];
    scene.alloc(0);
    assert_eq!(scene.stat(OrderFallback), 1);
}

/// The order in which objects of a fresh slab are handed out.
fn fresh(scene: &mut Scene, count: usize) -> Vec<u64> {
    let objects = scene.alloc_n(0, count);
    let start = objects.iter().map(|at| at.0).min().unwrap() & !0xfff;
    objects.iter().map(|at| (at.0 - start) / 64).collect()
}

#[test]
fn a_random_list_is_a_permutation_that_begins_anywhere() {
    let rules = SlabRules { random_freelist: true, ..SlabRules::LINUX_6_17 };
    let build = || Scene::new(&machine(4), rules, spec(64, CacheFlags::empty()));
    let mut scene = build();
    let (first, second) = (fresh(&mut scene, 64), fresh(&mut scene, 64));
    for list in [&first, &second] {
        let mut sorted = list.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..64).collect::<Vec<_>>());
        assert_ne!(*list, sorted);
    }
    // The same cycle, from another place.
    let turn = second.iter().position(|at| *at == first[0]).unwrap();
    assert_ne!(turn, 0);
    assert_eq!([&second[turn..], &second[..turn]].concat(), first);
    // The seed decides.
    assert_eq!(fresh(&mut build(), 64), first);
    assert_ne!(
        fresh(
            &mut Scene {
                cache: scene.slabs.cache_create(spec(64, CacheFlags::empty())).unwrap(),
                ..scene
            },
            64
        ),
        first
    );
}

#[test]
fn a_smaller_slab_passes_over_what_it_does_not_hold() {
    let rules = SlabRules { random_freelist: true, ..SlabRules::LINUX_6_17 };
    let mut scene = Scene::new(&machine(4), rules, spec(512, CacheFlags::empty()));
    scene.pages.most = Some(1);
    let mut objects: Vec<ObjAddr> = scene.alloc_n(0, 8);
    objects.sort_unstable();
    assert!(objects.windows(2).all(|pair| pair[1].0 == pair[0].0 + 512));
    assert_eq!(scene.stat(AllocFastpath), 7);
}

#[test]
fn hardened_pointers_work_like_plain_ones() {
    let run = |hardened| {
        let rules = SlabRules { hardened, ..SlabRules::LINUX_6_17 };
        let mut scene = Scene::new(&machine(4), rules, spec(512, CacheFlags::empty()));
        let full = scene.full_slabs(0, 3);
        scene.free_all(1, &full[1]);
        scene.flush(1);
        scene.slabs.cache_shrink(CpuId(0), scene.cache, &mut scene.pages);
        let objects = scene.alloc_n(2, 5);
        (objects, scene.stats(), scene.slabs())
    };
    assert_eq!(run(false), run(true));
}
