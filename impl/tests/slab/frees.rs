//! Each way of a free (memcg-slub.md §4.7), and how slabs are put away (§4.8), with exact
//! statistics.

use super::scene::{NODE, Scene, machine, moved, spec};
use mmspec_model::{
    contract::SlabError,
    vocab::{
        CacheFlags, CpuId, Gfp, ObjAddr, SlabPlace, SlabRules,
        SlabStat::{self, *},
    },
};

#[test]
fn the_first_free_of_a_full_slab_puts_it_on_the_cpus_partial_list() {
    let mut scene = Scene::plain();
    let full = scene.full_slabs(0, 2);
    let freed = moved(&mut scene, |scene| scene.free_all(1, &full[0][..3]));
    assert_eq!(freed, [(FreeSlowpath, 3), (CpuPartialFree, 1)]);
    let slab = scene.slab_of(full[0][0]);
    assert_eq!((slab.place, slab.free, slab.inuse), (SlabPlace::CpuPartial(1), 3, 13));
    assert!(!slab.frozen && !slab.on_node);
}

#[test]
fn an_empty_slab_stays_on_a_cpus_partial_list() {
    let mut scene = Scene::plain();
    let full = scene.full_slabs(0, 2);
    scene.slabs.set_min_partial(scene.cache, 0);
    let freed = moved(&mut scene, |scene| scene.free_all(1, &full[0]));
    assert_eq!(freed, [(FreeSlowpath, 16), (CpuPartialFree, 1)]);
    assert_eq!(scene.slab_of(full[0][0]).place, SlabPlace::CpuPartial(1));
    assert_eq!(scene.slab_of(full[0][0]).inuse, 0);
}

#[test]
fn a_full_partial_list_goes_to_the_node_as_a_whole() {
    let mut scene = Scene::plain();
    let full = scene.full_slabs(0, 9);
    for slab in &full[..7] {
        scene.free(1, slab[0]);
    }
    assert_eq!(scene.node(0).nr_partial, 0);
    let drained = moved(&mut scene, |scene| scene.free(1, full[7][0]));
    assert_eq!(
        drained,
        [(FreeSlowpath, 1), (FreeAddPartial, 7), (CpuPartialFree, 1), (CpuPartialDrain, 1)]
    );
    assert_eq!(scene.node(0).nr_partial, 7);
    assert_eq!(scene.slab_of(full[7][0]).place, SlabPlace::CpuPartial(1));
    // Head first, each to the tail: the slab freed into last is the first of the node's list.
    let order: Vec<_> =
        scene.slabs().iter().filter(|slab| slab.on_node).map(|slab| slab.pfn).collect();
    let expected: Vec<_> = full[..7].iter().rev().map(|slab| scene.slab_of(slab[0]).pfn).collect();
    assert_eq!(order, expected);
}

#[test]
fn a_slab_that_empties_on_a_rich_node_is_given_back() {
    let mut scene = Scene::plain();
    let full = scene.full_slabs(0, 7);
    for slab in &full[..6] {
        scene.free(1, slab[0]);
    }
    scene.flush(1);
    assert_eq!(scene.node(0).nr_partial, 6);
    let pages = scene.pages.out.len();
    let emptied = moved(&mut scene, |scene| scene.free_all(1, &full[0][1..]));
    assert_eq!(emptied, [(FreeSlowpath, 15), (FreeRemovePartial, 1), (FreeSlab, 1)]);
    assert_eq!((scene.node(0).nr_partial, scene.pages.out.len()), (5, pages - 1));
    // Still five: 5 >= min_partial.
    scene.free_all(1, &full[1][1..]);
    assert_eq!(scene.node(0).nr_partial, 4);
    // Now it is poor, and keeps an empty one.
    let kept = moved(&mut scene, |scene| scene.free_all(1, &full[2][1..]));
    assert_eq!(kept, [(FreeSlowpath, 15)]);
    assert_eq!(scene.node(0).nr_partial, 4);
}

#[test]
fn a_flush_puts_the_cpus_slab_at_the_head() {
    let mut scene = Scene::plain();
    scene.alloc_n(0, 4);
    let flushed = moved(&mut scene, |scene| scene.flush(0));
    assert_eq!(flushed, [(CpuslabFlush, 1), (DeactivateToHead, 1)]);
    let slab = scene.slabs()[0];
    assert_eq!((slab.place, slab.free, slab.inuse), (SlabPlace::NodePartial, 12, 4));
    assert!(slab.on_node && !slab.frozen);
    assert_eq!(moved(&mut scene, |scene| scene.flush(0)), []);
}

#[test]
fn with_remote_frees_it_goes_to_the_tail() {
    let mut scene = Scene::plain();
    let full = scene.full_slabs(0, 2);
    scene.free(1, full[0][0]);
    scene.flush(1);
    // The first is the one that was free on the node's list; then there is a new slab.
    let objects = scene.alloc_n(0, 5).split_off(1);
    scene.free(1, objects[1]);
    let flushed = moved(&mut scene, |scene| scene.flush(0));
    assert_eq!(flushed, [(CpuslabFlush, 1), (DeactivateToTail, 1), (DeactivateRemoteFrees, 1)]);
    let slab = scene.slab_of(objects[0]);
    assert_eq!((slab.free, slab.inuse), (13, 3));
    assert_eq!(scene.slabs().iter().rfind(|slab| slab.on_node), Some(&slab));
    // The CPU's list was put before what others freed.
    let next = scene.alloc_n(2, 16);
    let of_slab: Vec<_> = next.iter().filter(|at| scene.slab_of(**at).pfn == slab.pfn).collect();
    assert_eq!(of_slab.last(), Some(&&objects[1]));
}

#[test]
fn a_flush_of_a_full_or_an_empty_slab() {
    let mut scene = Scene::plain();
    scene.alloc_n(0, 16);
    let flushed = moved(&mut scene, |scene| scene.flush(0));
    assert_eq!(flushed, [(DeactivateFull, 1), (CpuslabFlush, 1)].map(|at| at).sorted());
    let mut scene = Scene::plain();
    scene.slabs.set_min_partial(scene.cache, 0);
    let objects = scene.alloc_n(0, 3);
    scene.free_all(0, &objects);
    let flushed = moved(&mut scene, |scene| scene.flush(0));
    assert_eq!(flushed, [(FreeSlab, 1), (CpuslabFlush, 1), (DeactivateEmpty, 1)]);
    assert!(scene.pages.out.is_empty());
    assert_eq!(scene.node(0), Default::default());
}

/// In the order of the statistics.
trait Sorted {
    fn sorted(self) -> Self;
}

impl<T: Ord, const N: usize> Sorted for [T; N] {
    fn sorted(mut self) -> Self {
        self.sort();
        self
    }
}

#[test]
fn partial_slabs_that_are_empty_go_when_they_are_put_on_a_rich_node() {
    let mut scene = Scene::plain();
    let full = scene.full_slabs(0, 3);
    scene.slabs.set_min_partial(scene.cache, 1);
    for slab in &full[..2] {
        scene.free_all(1, slab);
    }
    let flushed = moved(&mut scene, |scene| scene.flush(1));
    assert_eq!(flushed, [(FreeAddPartial, 1), (FreeSlab, 1), (DeactivateEmpty, 1)]);
}

#[test]
fn shrink_frees_empty_slabs_and_sorts_the_others() {
    let mut scene = Scene::plain();
    let full = scene.full_slabs(0, 6);
    for (slab, frees) in full.iter().zip([3, 1, 16, 2, 1, 0]) {
        scene.free_all(1, &slab[..frees]);
    }
    let left = moved(&mut scene, |scene| {
        let left = scene.slabs.cache_shrink(CpuId(0), scene.cache, &mut scene.pages);
        assert!(left);
    });
    // Slabs that shrink frees do not count (law L19).
    assert!(left.iter().all(|(stat, _)| *stat != FreeSlab), "{left:?}");
    assert_eq!(scene.places().iter().map(|(_, free)| *free).collect::<Vec<_>>(), [1, 1, 2, 3, 0]);
    for slab in [0, 1, 3, 4, 5] {
        let kept: Vec<_> = full[slab]
            .iter()
            .filter(|at| scene.slabs.is_live(scene.cache, **at))
            .copied()
            .collect();
        scene.free_all(2, &kept);
    }
    assert!(!scene.slabs.cache_shrink(CpuId(0), scene.cache, &mut scene.pages));
    assert!(scene.pages.out.is_empty());
}

#[test]
fn destroy_refuses_while_objects_are_out() {
    let mut scene = Scene::plain();
    let objects = scene.alloc_n(0, 20);
    let (cpu, cache) = (CpuId(1), scene.cache);
    assert_eq!(scene.slabs.cache_destroy(cpu, cache, &mut scene.pages), Err(SlabError::InUse(2)));
    scene.free_all(0, &objects);
    assert_eq!(scene.slabs.cache_destroy(cpu, cache, &mut scene.pages), Ok(()));
    assert!(scene.pages.out.is_empty());
    assert_eq!(scene.slabs.cache_layout(cache), None);
    let again = scene.slabs.object_alloc(cpu, cache, Gfp::KERNEL, None, &mut scene.pages);
    assert_eq!(again, Err(SlabError::NoCache));
    assert_eq!(scene.slabs.cache_destroy(cpu, cache, &mut scene.pages), Err(SlabError::NoCache));
    // Ids are not used again.
    let next = scene.slabs.cache_create(spec(64, CacheFlags::empty())).unwrap();
    assert_eq!((next.0, scene.slabs.cache_count()), (cache.0 + 1, 2));
}

#[test]
fn pages_of_rcu_caches_wait_for_a_grace_period() {
    let flags = CacheFlags::TYPESAFE_BY_RCU | CacheFlags::RECLAIM_ACCOUNT;
    let mut scene = Scene::new(&machine(2), SlabRules::LINUX_6_17, spec(500, flags));
    let objects = scene.alloc_n(0, 40);
    let bytes = scene.slabs.slab_bytes(mmspec_model::vocab::NodeId(0), true);
    assert_eq!(bytes, scene.pages.out.values().map(|order| 4096 << order).sum::<u64>());
    scene.free_all(0, &objects);
    assert!(!scene.slabs.cache_shrink(CpuId(0), scene.cache, &mut scene.pages));
    // No slab any more, but the pages are still out and counted (law L18).
    assert_eq!(scene.node(0).nr_slabs, 0);
    assert!(scene.slabs().is_empty());
    let waiting = scene.pages.out.len() as u64;
    assert!(waiting >= 3);
    assert_eq!(scene.slabs.slab_bytes(mmspec_model::vocab::NodeId(0), true), bytes);
    let late = scene.slabs.object_free(CpuId(0), scene.cache, objects[0], &mut scene.pages);
    assert_eq!(late, Err(SlabError::NotAnObject(objects[0])));
    assert_eq!(scene.slabs.rcu_pass(CpuId(0), &mut scene.pages), waiting);
    assert!(scene.pages.out.is_empty());
    assert_eq!(scene.slabs.slab_bytes(mmspec_model::vocab::NodeId(0), true), 0);
    assert_eq!(scene.slabs.rcu_pass(CpuId(0), &mut scene.pages), 0);
}

#[test]
fn bulk_takes_from_the_cpus_list_and_gives_back_slab_by_slab() {
    let mut scene = Scene::plain();
    let (cpu, cache) = (CpuId(0), scene.cache);
    let mut slots = [ObjAddr(0); 40];
    let filled =
        scene.slabs.object_alloc_bulk(cpu, cache, Gfp::KERNEL, &mut slots, &mut scene.pages);
    assert_eq!(filled, Ok(true));
    assert_eq!(
        scene.stats(),
        [(AllocFastpath, 37), (AllocSlowpath, 3), (AllocSlab, 3), (DeactivateBypass, 2)]
    );
    let freed = moved(&mut scene, |scene| {
        scene.slabs.object_free_bulk(cpu, cache, &slots, &mut scene.pages).unwrap();
    });
    // Two full slabs, each in one call; the objects of the CPU's slab each count.
    assert_eq!(freed, [(FreeFastpath, 8), (FreeSlowpath, 2), (CpuPartialFree, 2)]);
    assert_eq!(scene.slabs().iter().map(|slab| slab.inuse).collect::<Vec<_>>(), [16, 0, 0]);
}

#[test]
fn bulk_is_all_or_nothing() {
    let mut scene = Scene::plain();
    scene.pages.refuse = vec![false, true, true];
    let mut slots = [ObjAddr(0); 20];
    let (cpu, cache) = (CpuId(0), scene.cache);
    let filled =
        scene.slabs.object_alloc_bulk(cpu, cache, Gfp::KERNEL, &mut slots, &mut scene.pages);
    assert_eq!(filled, Ok(false));
    let live: u32 = scene.slabs().iter().map(|slab| slab.inuse - slab.cpu_free).sum();
    assert_eq!(live, 0);
    // The first that is no object ends a bulk free; those before it are free.
    let objects = scene.alloc_n(0, 3);
    let wrong = ObjAddr(objects[2].0 + 8);
    let given = [objects[0], objects[1], wrong, objects[2]];
    let freed = scene.slabs.object_free_bulk(cpu, cache, &given, &mut scene.pages);
    assert_eq!(freed, Err(SlabError::NotAnObject(wrong)));
    let live = objects.map_live(|at| scene.slabs.is_live(cache, at));
    assert_eq!(live, [false, false, true]);
}

/// Short.
trait MapLive {
    fn map_live(&self, of: impl Fn(ObjAddr) -> bool) -> Vec<bool>;
}

impl MapLive for Vec<ObjAddr> {
    fn map_live(&self, of: impl Fn(ObjAddr) -> bool) -> Vec<bool> {
        self.iter().map(|at| of(*at)).collect()
    }
}

#[test]
fn misuse_is_told() {
    for hardened in [false, true] {
        let rules = SlabRules { hardened, ..SlabRules::LINUX_6_17 };
        let mut scene = Scene::new(&machine(2), rules, spec(64, CacheFlags::empty()));
        let other = scene.slabs.cache_create(spec(64, CacheFlags::empty())).unwrap();
        let (cpu, cache) = (CpuId(0), scene.cache);
        let objects = scene.alloc_n(0, 70);
        let free =
            |scene: &mut Scene, of, at| scene.slabs.object_free(cpu, of, at, &mut scene.pages);
        scene.free_all(0, &objects[..2]);
        scene.free(0, objects[69]);
        for twice in [objects[0], objects[1], objects[69]] {
            assert_eq!(free(&mut scene, cache, twice), Err(SlabError::DoubleFree(twice)));
        }
        let kept = objects[5];
        let wrong = free(&mut scene, other, kept);
        assert!(matches!(wrong, Err(SlabError::NotAnObject(_) | SlabError::NoCache)), "{wrong:?}");
        for strange in [ObjAddr(kept.0 + 8), ObjAddr(1 << 40), ObjAddr(u64::MAX), ObjAddr(12 << 20)]
        {
            assert_eq!(free(&mut scene, cache, strange), Err(SlabError::NotAnObject(strange)));
        }
        let none = mmspec_model::vocab::CacheId(9);
        assert_eq!(free(&mut scene, none, kept), Err(SlabError::NoCache));
        // Nothing changed: all goes on as before.
        assert!(scene.slabs.is_live(cache, kept));
        scene.free(1, kept);
        assert_eq!(scene.alloc_n(0, 1), [objects[69]]);
    }
}

/// `kfree`: the frame tells of the cache.
#[test]
fn an_object_may_be_freed_without_its_cache() {
    let mut scene = Scene::plain();
    let [first, second] = [scene.alloc(0), scene.alloc(0)];
    for (cpu, object) in [(0, second), (1, first)] {
        scene.slabs.object_free_any(CpuId(cpu), object, &mut scene.pages).unwrap();
    }
    assert_eq!(scene.alloc(0), second, "the CPU's own list first");
    let stats = [SlabStat::FreeFastpath, SlabStat::FreeSlowpath].map(|stat| scene.stat(stat));
    assert_eq!(stats, [1, 1]);
    // A frame that no slab ever had, and one that a slab had.
    let nowhere = ObjAddr((NODE - 1) << 12);
    let mut none = |object| scene.slabs.object_free_any(CpuId(0), object, &mut scene.pages);
    assert_eq!(none(nowhere), Err(SlabError::NotAnObject(nowhere)));
    scene.free(0, second);
    scene.flush(0);
    scene.slabs.cache_shrink(CpuId(0), scene.cache, &mut scene.pages);
    assert!(scene.slabs().is_empty());
    let gone = scene.slabs.object_free_any(CpuId(0), second, &mut scene.pages);
    assert_eq!(gone, Err(SlabError::NotAnObject(second)));
}

/// What was taken from a CPU's partial list makes room there.
#[test]
fn a_partial_list_counts_what_is_on_it() {
    let mut scene = Scene::plain();
    let full = scene.full_slabs(0, 12);
    (0..5).for_each(|at| scene.free(0, full[at][0]));
    let again = scene.alloc_n(0, 5);
    scene.clear();
    again.iter().for_each(|object| scene.free(0, *object));
    assert_eq!(scene.stat(SlabStat::CpuPartialDrain), 0);
    scene.alloc_n(0, 5);
    (5..12).for_each(|at| scene.free(0, full[at][0]));
    assert_eq!(scene.stat(SlabStat::CpuPartialDrain), 0, "seven fit");
}

/// Objects collected before they are freed: not more than was allowed, and by one CPU for a slab.
#[test]
fn collected_objects_are_freed_together() {
    let mut scene = Scene::plain();
    let full = scene.full_slabs(0, 2);
    scene.slabs.set_deferred(scene.cache, 3);
    scene.clear();
    for (freed, collected) in [(0, 1), (1, 2), (2, 0), (3, 1)] {
        scene.free(0, full[0][freed]);
        assert_eq!(scene.slabs.deferred(scene.cache), collected, "{freed}");
    }
    // What another CPU collects, and what nobody may collect.
    scene.free(1, full[1][0]);
    scene.free(1, full[0][4]);
    assert_eq!(scene.slabs.deferred(scene.cache), 2);
    assert_eq!(scene.slab_of(full[0][0]).free, 4);
    scene.slabs.set_deferred(scene.cache, 0);
    scene.free(0, full[1][1]);
    scene.flush(0);
    scene.flush(1);
    assert_eq!(scene.slabs.deferred(scene.cache), 0);
    assert_eq!(scene.slab_of(full[1][0]).free, 2);
}
