//! Each step of an allocation (memcg-slub.md §4.6) with exact statistics.

use super::scene::{NODE, Scene, machine, moved, spec, two_nodes};
use mmspec_model::vocab::{
    CacheFlags, CpuId, CpuPartialLimit, Gfp, NodeId, SlabPlace, SlabRules,
    SlabStat::{self, *},
};

#[test]
fn a_new_slab_then_the_cpus_list_in_ascending_order() {
    let mut scene = Scene::plain();
    let first = moved(&mut scene, |scene| {
        scene.alloc(0);
    });
    assert_eq!(first, [(AllocSlowpath, 1), (AllocSlab, 1)]);
    let objects = scene.alloc_n(0, 15);
    assert!(objects.windows(2).all(|pair| pair[1].0 == pair[0].0 + 512));
    assert_eq!(scene.stats(), [(AllocFastpath, 15), (AllocSlowpath, 1), (AllocSlab, 1)]);
    let slab = scene.slabs()[0];
    assert_eq!((slab.objects, slab.inuse, slab.free, slab.cpu_free), (16, 16, 0, 0));
    assert!(slab.frozen && !slab.on_node && slab.place == SlabPlace::Cpu(0));
    assert_eq!(scene.node(0).nr_slabs, 1);
    assert_eq!(scene.node(0).total_objects, 16);
}

#[test]
fn objects_come_back_last_in_first_out() {
    let mut scene = Scene::plain();
    let objects = scene.alloc_n(0, 3);
    let frees = moved(&mut scene, |scene| scene.free_all(0, &objects));
    assert_eq!(frees, [(FreeFastpath, 3)]);
    assert_eq!(scene.alloc_n(0, 3), [objects[2], objects[1], objects[0]]);
}

#[test]
fn an_exhausted_slab_is_forgotten() {
    let mut scene = Scene::plain();
    scene.full_slabs(0, 1);
    let next = moved(&mut scene, |scene| {
        scene.alloc(0);
    });
    assert_eq!(next, [(AllocSlowpath, 1), (AllocSlab, 1), (DeactivateBypass, 1)]);
    assert_eq!(scene.places(), [(SlabPlace::Cpu(0), 0), (SlabPlace::Full, 0)]);
}

#[test]
fn what_others_freed_into_the_cpus_slab_refills_its_list() {
    let mut scene = Scene::plain();
    let objects = scene.alloc_n(0, 16);
    let frees = moved(&mut scene, |scene| scene.free_all(1, &objects[..3]));
    assert_eq!(frees, [(FreeSlowpath, 3), (FreeFrozen, 3)]);
    assert_eq!(scene.slabs()[0].free, 3);
    let refill = moved(&mut scene, |scene| {
        assert_eq!(scene.alloc(0), objects[2]);
        scene.alloc(0);
    });
    assert_eq!(refill, [(AllocFastpath, 1), (AllocSlowpath, 1), (AllocRefill, 1)]);
    assert_eq!((scene.slabs()[0].inuse, scene.slabs()[0].cpu_free), (16, 1));
}

#[test]
fn the_cpus_partial_slabs_come_before_those_of_the_node() {
    let mut scene = Scene::plain();
    let full = scene.full_slabs(0, 3);
    // Two full slabs become partial ones of CPU 1; it takes the one freed into last.
    scene.free(1, full[0][0]);
    scene.free(1, full[1][0]);
    assert_eq!(scene.places()[1..], [(SlabPlace::CpuPartial(1), 1), (SlabPlace::CpuPartial(1), 1)]);
    let taken = moved(&mut scene, |scene| assert_eq!(scene.alloc(1), full[1][0]));
    assert_eq!(taken, [(AllocSlowpath, 1), (CpuPartialAlloc, 1)]);
    let taken = moved(&mut scene, |scene| assert_eq!(scene.alloc(1), full[0][0]));
    assert_eq!(taken, [(AllocSlowpath, 1), (DeactivateBypass, 1), (CpuPartialAlloc, 1)]);
}

/// Ten slabs of CPU 0 on the node's list, one object of each freed, in the order of the slabs.
fn ten_on_the_node(scene: &mut Scene) -> Vec<mmspec_model::vocab::ObjAddr> {
    let full = scene.full_slabs(0, 10);
    let firsts: Vec<_> = full.iter().map(|slab| slab[0]).collect();
    for first in &firsts {
        // Flushed at once, each slab goes to the tail of the node's list.
        scene.free(1, *first);
        scene.flush(1);
    }
    scene.flush(0);
    firsts
}

#[test]
fn a_slab_of_the_node_and_some_more_for_the_cpus_list() {
    let mut scene = Scene::plain();
    let firsts = ten_on_the_node(&mut scene);
    assert_eq!(scene.node(0).nr_partial, 10);
    // 52 objects in slabs of 16: 7 slabs; so at most 4 more are taken.
    assert_eq!(scene.slabs.cache_layout(scene.cache).unwrap().cpu_partial_slabs, 7);
    let taken = moved(&mut scene, |scene| assert_eq!(scene.alloc(2), firsts[0]));
    assert_eq!(taken, [(AllocSlowpath, 1), (AllocFromPartial, 1), (CpuPartialNode, 4)]);
    assert_eq!(scene.node(0).nr_partial, 5);
    // The last taken is the first used.
    let next: Vec<_> = scene.alloc_n(2, 5);
    assert_eq!(next, [firsts[4], firsts[3], firsts[2], firsts[1], firsts[5]]);
}

#[test]
fn without_cpu_partial_slabs_only_one_is_taken() {
    let mut scene = Scene::plain();
    scene.slabs.set_cpu_partial(CpuId(0), scene.cache, 0, &mut scene.pages);
    ten_on_the_node(&mut scene);
    let taken = moved(&mut scene, |scene| {
        scene.alloc(2);
    });
    assert_eq!(taken, [(AllocSlowpath, 1), (AllocFromPartial, 1)]);
    assert_eq!(scene.node(0).nr_partial, 9);
}

#[test]
fn by_the_old_rule_objects_are_counted() {
    let rules = SlabRules { cpu_partial: CpuPartialLimit::Objects, ..SlabRules::LINUX_6_17 };
    let mut scene = Scene::new(&machine(4), rules, spec(512, CacheFlags::empty()));
    // 13 objects; slabs with one free object each: taken while no more than 6 are there.
    ten_on_the_node(&mut scene);
    let taken = moved(&mut scene, |scene| {
        scene.alloc(2);
    });
    assert_eq!(taken, [(AllocSlowpath, 1), (AllocFromPartial, 1), (CpuPartialNode, 6)]);
}

#[test]
fn another_node_is_asked_for() {
    let mut scene =
        Scene::new(&two_nodes(4), SlabRules::LINUX_6_17, spec(512, CacheFlags::empty()));
    scene.alloc(0);
    assert_eq!(scene.node(0).nr_slabs, 1);
    let mismatch = moved(&mut scene, |scene| {
        let object = scene.try_alloc(0, Gfp::KERNEL, Some(NodeId(1))).unwrap();
        assert_eq!(scene.slab_of(object).place, SlabPlace::Cpu(0));
    });
    // Counted as one slow path, though two slabs were looked at (bug S2).
    assert_eq!(
        mismatch,
        [(AllocSlowpath, 1), (AllocSlab, 1), (AllocNodeMismatch, 1), (DeactivateToHead, 1)]
    );
    assert_eq!(scene.node(1).nr_slabs, 1);
    // The first pass keeps to the node and does not wait; here it is enough.
    let (_, gfp, node, _) = *scene.pages.asked.last().unwrap();
    assert!(gfp.contains(Gfp::THISNODE) && !gfp.contains(Gfp::DIRECT_RECLAIM));
    assert_eq!(node, Some(NodeId(1)));
    // The matching node is the quick way.
    let quick = moved(&mut scene, |scene| {
        scene.try_alloc(0, Gfp::KERNEL, Some(NodeId(1))).unwrap();
        scene.alloc(0);
    });
    assert_eq!(quick, [(AllocFastpath, 2)]);
}

#[test]
fn the_second_pass_takes_what_any_node_has() {
    let mut scene =
        Scene::new(&two_nodes(4), SlabRules::LINUX_6_17, spec(512, CacheFlags::empty()));
    // No page in the first pass; both attempts of its request fail.
    scene.pages.refuse = vec![true, true];
    assert!(scene.try_alloc(0, Gfp::KERNEL, Some(NodeId(1))).is_some());
    let flags: Vec<_> = scene.pages.asked.iter().map(|ask| ask.1.contains(Gfp::THISNODE)).collect();
    assert_eq!(flags, [true, true, false]);
    scene.pages.asked.clear();
    scene.pages.refuse = vec![true; 2];
    scene.flush(0);
    let only = scene.try_alloc(1, Gfp::KERNEL | Gfp::THISNODE, Some(NodeId(0)));
    assert_eq!((only, scene.pages.asked.len()), (None, 2));
    assert_eq!(scene.stat(AllocSlowpath), 2);
}

#[test]
fn poor_nodes_are_left_alone() {
    let mut scene =
        Scene::new(&two_nodes(4), SlabRules::LINUX_6_17, spec(512, CacheFlags::empty()));
    let full = scene.full_slabs(0, 7);
    scene.flush(0);
    for (at, slab) in full.iter().enumerate() {
        scene.free(0, slab[0]);
        scene.flush(0);
        // More than min_partial (5) make the node rich.
        assert_eq!(scene.node(0).nr_partial, at as u64 + 1);
        if at == 4 {
            let poor = moved(&mut scene, |scene| {
                scene.alloc(1);
            });
            assert_eq!(poor, [(AllocSlowpath, 1), (AllocSlab, 1)]);
            scene.flush(1);
            scene.alloc_n(1, 15);
            scene.flush(1);
        }
    }
    let rich = moved(&mut scene, |scene| {
        scene.alloc(1);
    });
    let count = |stat: SlabStat| rich.iter().find(|(of, _)| *of == stat).map_or(0, |at| at.1);
    assert_eq!((count(AllocFromPartial), count(AllocSlab)), (1, 0), "{rich:?}");
    let never = SlabRules { remote_node_defrag_ratio: 0, ..SlabRules::LINUX_6_17 };
    let mut scene = Scene::new(&two_nodes(4), never, spec(512, CacheFlags::empty()));
    let full = scene.full_slabs(0, 8);
    for slab in &full {
        scene.free(0, slab[0]);
        scene.flush(0);
    }
    scene.clear();
    scene.alloc(1);
    assert_eq!(scene.stats(), [(AllocSlowpath, 1), (AllocSlab, 1)]);
}

#[test]
fn debug_caches_keep_nothing_on_cpus() {
    let mut scene = Scene::new(&machine(4), SlabRules::LINUX_6_17, spec(500, CacheFlags::DEBUG));
    let objects = scene.alloc_n(0, 2);
    assert_eq!(scene.stats(), [(AllocSlowpath, 2), (AllocSlab, 1)]);
    assert_eq!(scene.slabs()[0].place, SlabPlace::NodePartial);
    assert_eq!(scene.slabs()[0].inuse, 2);
    scene.free_all(1, &objects);
    assert_eq!(scene.stat(FreeSlowpath), 2);
    assert_eq!(scene.node(0).nr_partial, 1);
    let each = scene.slabs()[0].objects as usize;
    let all = scene.alloc_n(0, each);
    assert_eq!(scene.places(), [(SlabPlace::Full, 0)]);
    scene.free(0, all[0]);
    assert_eq!(scene.places(), [(SlabPlace::NodePartial, 1)]);
    assert_eq!(scene.stat(FreeAddPartial), 1);
}

/// §4.4, 4: other nodes are looked at neither with a ratio of 0 nor for a request that keeps to its node.
#[test]
fn rich_nodes_may_not_be_looked_at() {
    for (remote_node_defrag_ratio, gfp, node, away) in [
        (0, Gfp::KERNEL, None, false),
        (1024, Gfp::KERNEL | Gfp::THISNODE, Some(NodeId(0)), false),
        (1024, Gfp::KERNEL, None, true),
    ] {
        let rules = SlabRules { remote_node_defrag_ratio, ..SlabRules::LINUX_6_17 };
        let mut scene = Scene::new(&two_nodes(2), rules, spec(512, CacheFlags::empty()));
        let full = scene.full_slabs(1, 20);
        full.iter().for_each(|slab| scene.free(1, slab[0]));
        scene.flush(1);
        assert!(scene.node(1).nr_partial > 5);
        let object = scene.try_alloc(0, gfp, node).unwrap();
        assert_eq!(object.pfn().0 >= NODE, away, "{remote_node_defrag_ratio} {gfp:?}");
    }
}
