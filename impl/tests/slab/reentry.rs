//! Sources of pages that work on the cache meanwhile: no lock is held while they are asked.

use crate::scene::{Pages, Scene, spec, two_nodes};
use mmspec_impl::slab::OwnedSlabs;
use mmspec_model::{
    contract::SlabPages,
    vocab::{CacheFlags, CacheId, CpuId, Gfp, NodeId, ObjAddr, Order, Pfn, SlabRules, SlabStat},
};

/// Before its first answer, which is no: the CPU that asks gets a slab, and another one's slab comes to its
/// node's list.
struct Busy<'a> {
    slabs: &'a OwnedSlabs,
    cache: CacheId,
    pages: Pages,
    taken: Option<ObjAddr>,
}

impl SlabPages for Busy<'_> {
    fn alloc(&mut self, cpu: CpuId, order: Order, gfp: Gfp, node: Option<NodeId>) -> Option<Pfn> {
        if self.taken.is_none() {
            let (slabs, cache) = (self.slabs, self.cache);
            let home = Some(NodeId(0));
            self.taken =
                slabs.object_alloc(cpu, cache, Gfp::KERNEL, home, &mut self.pages).unwrap();
            slabs.cache_flush_cpu(CpuId(1), cache, &mut self.pages);
            return None;
        }
        if gfp.contains(Gfp::THISNODE) {
            return None;
        }
        self.pages.alloc(cpu, order, gfp, node)
    }

    fn free(&mut self, cpu: CpuId, pfn: Pfn, order: Order) {
        self.pages.free(cpu, pfn, order);
    }

    fn node_of(&self, pfn: Pfn) -> NodeId {
        self.pages.node_of(pfn)
    }
}

#[test]
fn a_slab_that_the_cpu_got_meanwhile_is_put_away() {
    let machine = two_nodes(2);
    let mut scene = Scene::new(&machine, SlabRules::LINUX_6_17, spec(512, CacheFlags::empty()));
    // On node 1, held by CPU 1.
    let other = scene.try_alloc(1, Gfp::KERNEL, Some(NodeId(1))).unwrap();
    let (slabs, cache) = (&scene.slabs, scene.cache);
    let mut busy = Busy { slabs, cache, pages: scene.pages, taken: None };
    let node = Some(NodeId(1));
    let object = slabs.object_alloc(CpuId(0), cache, Gfp::KERNEL, node, &mut busy).unwrap();
    let taken = busy.taken.unwrap();
    assert_eq!(slabs.cache_stat(cache, SlabStat::CpuslabFlush), 2, "CPU 1's, and CPU 0's first");
    for object in [other, object.unwrap(), taken] {
        slabs.object_free(CpuId(0), cache, object, &mut busy).unwrap();
    }
    // Nothing is held by nobody.
    slabs.cache_destroy(CpuId(0), cache, &mut busy).unwrap();
    assert!(busy.pages.out.is_empty());
}

#[test]
fn debug_caches_leave_poor_nodes_alone() {
    let machine = two_nodes(2);
    let mut scene = Scene::new(&machine, SlabRules::LINUX_6_17, spec(512, CacheFlags::DEBUG));
    // One partial slab on node 1: no more than it keeps.
    scene.try_alloc(1, Gfp::KERNEL, Some(NodeId(1))).unwrap();
    let made = scene.stat(SlabStat::AllocSlab);
    let object = scene.try_alloc(0, Gfp::KERNEL, None).unwrap();
    assert_eq!(scene.pages.node_of(object.pfn()), NodeId(0));
    assert_eq!(scene.stat(SlabStat::AllocSlab), made + 1);
}

#[test]
fn frames_without_records_are_given_back() {
    struct Beyond(Vec<(Pfn, Order)>);
    impl SlabPages for Beyond {
        fn alloc(&mut self, _: CpuId, order: Order, _: Gfp, _: Option<NodeId>) -> Option<Pfn> {
            let pfn = Pfn(1 << 30);
            self.0.push((pfn, order));
            Some(pfn)
        }
        fn free(&mut self, _: CpuId, pfn: Pfn, order: Order) {
            let at = self.0.iter().position(|block| *block == (pfn, order));
            self.0.remove(at.expect("it was given"));
        }
    }
    let scene = Scene::plain();
    let mut beyond = Beyond(Vec::new());
    let got = scene.slabs.object_alloc(CpuId(0), scene.cache, Gfp::KERNEL, None, &mut beyond);
    assert_eq!((got, beyond.0.len()), (Ok(None), 0));
}
