//! What the tests stand on: a machine, a source of pages that can be told to fail, and short words.

use mmspec_impl::slab::OwnedSlabs;
use mmspec_model::{
    contract::SlabPages,
    vocab::{
        CacheFlags, CacheId, CacheSpec, CpuId, Gfp, Machine, NodeId, ObjAddr, Order, Pfn, PfnRange,
        SlabPlace, SlabRules, SlabStat, SlabState, ZoneKind, ZoneSpan,
    },
};
use std::collections::BTreeMap;

/// Frames of each node.
pub(crate) const NODE: u64 = 1 << 14;

/// A source of pages: each node's frames in ascending order, given back ones first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pages {
    next: [u64; 2],
    free: BTreeMap<(usize, u8), Vec<u64>>,
    /// Blocks that are out, by first frame.
    pub out: BTreeMap<u64, u8>,
    /// All requests: order, flags, node; and whether they were served.
    pub asked: Vec<(u8, Gfp, Option<NodeId>, bool)>,
    /// Requests to refuse, the next first.
    pub refuse: Vec<bool>,
    /// Refuse all requests from this order up.
    pub most: Option<u8>,
}

impl SlabPages for Pages {
    fn alloc(&mut self, cpu: CpuId, order: Order, gfp: Gfp, node: Option<NodeId>) -> Option<Pfn> {
        let refused = !self.refuse.is_empty() && self.refuse.remove(0)
            || self.most.is_some_and(|most| order.get() >= most);
        self.asked.push((order.get(), gfp, node, !refused));
        if refused {
            return None;
        }
        let at = node.map_or(usize::from(cpu.0) % 2, |node| node.index());
        let at = if NODES.get() == 1 { 0 } else { at };
        let known = self.free.entry((at, order.get())).or_default().pop();
        let start = known.unwrap_or_else(|| {
            let start = self.next[at].next_multiple_of(order.pages());
            self.next[at] = start + order.pages();
            assert!(self.next[at] <= NODE, "the scene has no more memory");
            start + at as u64 * NODE
        });
        assert_eq!(self.out.insert(start, order.get()), None, "a block is out twice");
        Some(Pfn(start))
    }

    fn free(&mut self, _cpu: CpuId, pfn: Pfn, order: Order) {
        assert_eq!(self.out.remove(&pfn.0), Some(order.get()), "{pfn:?} is given back wrongly");
        let at = (pfn.0 / NODE) as usize;
        self.free.entry((at, order.get())).or_default().push(pfn.0);
    }

    fn node_of(&self, pfn: Pfn) -> NodeId {
        NodeId((pfn.0 / NODE) as u8)
    }
}

thread_local! {
    /// How many nodes the scene of this test has.
    static NODES: std::cell::Cell<usize> = const { std::cell::Cell::new(1) };
}

/// A machine of one node.
pub(crate) fn machine(cpus: u16) -> Machine {
    NODES.set(1);
    Machine::new(cpus, &[(ZoneKind::Normal, 0, NODE)])
}

/// A machine of two nodes; CPUs alternate.
pub(crate) fn two_nodes(cpus: u16) -> Machine {
    NODES.set(2);
    let zone = |node: u64| {
        let span = PfnRange::new(node * NODE, (node + 1) * NODE);
        ZoneSpan::new(ZoneKind::Normal, span).on(NodeId(node as u8))
    };
    Machine {
        nodes: 2,
        cpu_nodes: (0..cpus).map(|cpu| NodeId((cpu % 2) as u8)).collect(),
        zones: vec![zone(0), zone(1)],
        ..Machine::new(cpus, &[])
    }
}

/// An allocator with one cache.
pub(crate) struct Scene {
    pub slabs: OwnedSlabs,
    pub pages: Pages,
    pub cache: CacheId,
}

pub(crate) const fn spec(object_size: u32, flags: CacheFlags) -> CacheSpec {
    CacheSpec { name: "test", object_size, align: 8, flags }
}

impl Scene {
    pub(crate) fn new(machine: &Machine, rules: SlabRules, spec: CacheSpec) -> Self {
        let slabs: OwnedSlabs = OwnedSlabs::new(machine.as_ref(), rules, 7).unwrap();
        let cache = slabs.cache_create(spec).unwrap();
        Self { slabs, pages: Pages::default(), cache }
    }

    /// Four CPUs, one node, 512-byte objects: slabs of order 1 with 16 objects, `min_partial` 5,
    /// CPU partial lists of up to 7 slabs.
    pub(crate) fn plain() -> Self {
        Self::new(&machine(4), SlabRules::LINUX_6_17, spec(512, CacheFlags::empty()))
    }

    pub(crate) fn alloc(&mut self, cpu: u16) -> ObjAddr {
        self.try_alloc(cpu, Gfp::KERNEL, None).expect("no memory")
    }

    pub(crate) fn try_alloc(
        &mut self,
        cpu: u16,
        gfp: Gfp,
        node: Option<NodeId>,
    ) -> Option<ObjAddr> {
        self.slabs.object_alloc(CpuId(cpu), self.cache, gfp, node, &mut self.pages).unwrap()
    }

    pub(crate) fn alloc_n(&mut self, cpu: u16, count: usize) -> Vec<ObjAddr> {
        (0..count).map(|_| self.alloc(cpu)).collect()
    }

    pub(crate) fn free(&mut self, cpu: u16, object: ObjAddr) {
        self.slabs.object_free(CpuId(cpu), self.cache, object, &mut self.pages).unwrap();
    }

    pub(crate) fn free_all(&mut self, cpu: u16, objects: &[ObjAddr]) {
        objects.iter().for_each(|object| self.free(cpu, *object));
    }

    pub(crate) fn flush(&mut self, cpu: u16) {
        self.slabs.cache_flush_cpu(CpuId(cpu), self.cache, &mut self.pages);
    }

    pub(crate) fn stat(&self, stat: SlabStat) -> u64 {
        self.slabs.cache_stat(self.cache, stat)
    }

    /// All statistics that are not 0.
    pub(crate) fn stats(&self) -> Vec<(SlabStat, u64)> {
        let all = SlabStat::ALL.map(|stat| (stat, self.stat(stat)));
        all.into_iter().filter(|(_, count)| *count != 0).collect()
    }

    pub(crate) fn clear(&self) {
        SlabStat::ALL.iter().for_each(|stat| self.slabs.clear_stat(self.cache, *stat));
    }

    pub(crate) fn slabs(&self) -> Vec<SlabState> {
        let mut all = Vec::new();
        self.slabs.for_each_slab(self.cache, &mut |slab| all.push(slab));
        all
    }

    /// Places of all slabs with their free objects, in the order shown.
    pub(crate) fn places(&self) -> Vec<(SlabPlace, u32)> {
        self.slabs().iter().map(|slab| (slab.place, slab.free)).collect()
    }

    pub(crate) fn slab_of(&self, object: ObjAddr) -> SlabState {
        let slabs = self.slabs();
        let holds = |slab: &&SlabState| {
            (slab.pfn.0..slab.pfn.0 + slab.order.pages()).contains(&object.pfn().0)
        };
        *slabs.iter().find(holds).expect("no slab holds the object")
    }

    pub(crate) fn node(&self, node: u8) -> mmspec_model::vocab::CacheNodeState {
        self.slabs.cache_node(self.cache, NodeId(node))
    }

    /// Fill `count` slabs with objects of one CPU. The objects slab by slab.
    pub(crate) fn full_slabs(&mut self, cpu: u16, count: usize) -> Vec<Vec<ObjAddr>> {
        let each = self.slabs.cache_layout(self.cache).unwrap().objects as usize;
        (0..count).map(|_| self.alloc_n(cpu, each)).collect()
    }
}

/// The statistics that `work` moves.
pub(crate) fn moved(scene: &mut Scene, work: impl FnOnce(&mut Scene)) -> Vec<(SlabStat, u64)> {
    scene.clear();
    work(scene);
    scene.stats()
}
