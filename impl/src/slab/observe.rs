//! What shows: slabs, statistics, slabinfo (memcg-slub.md §4.12).

use super::{
    allocator::SlabAllocator,
    cpu::{CpuCache, Shape},
    frame::NIL,
    memory::{NONE, ObjectMemory},
    word::NO_INDEX,
};
use crate::{
    platform::{PcpLock, Platform, Word},
    storage::Backing,
};
use mmspec_model::{
    proc::SlabInfo,
    vocab::SlabState,
    vocab::{CacheId, CacheNodeState, CpuId, NodeId, ObjAddr, Order, SlabPlace, SlabStat},
};

/// Partial slabs of a node that slabinfo looks at one by one; of more only half as many at each
/// end.
const SCANNED: u64 = 10_000;

impl<P: Platform, B: Backing, M: ObjectMemory> SlabAllocator<P, B, M> {
    /// A cache's numbers on one node; zeros for a cache or a node that does not exist.
    #[must_use]
    pub fn cache_node(&self, cache: CacheId, node: NodeId) -> CacheNodeState {
        if self.cache(cache).is_err() || node.index() >= self.nr_nodes {
            return CacheNodeState::default();
        }
        let slot = self.node_slot(cache, node);
        slot.locked(|list| {
            let free = |slab: u32| u64::from(self.slab(slab).state().free());
            CacheNodeState {
                nr_slabs: slot.nr_slabs.load(),
                total_objects: slot.total_objects.load(),
                nr_partial: list.count,
                partial_free: list.iter(self.frames(), false).map(free).sum(),
            }
        })
    }

    /// One of its statistics, of all CPUs; 0 for a cache that was never made.
    #[must_use]
    pub fn cache_stat(&self, cache: CacheId, stat: SlabStat) -> u64 {
        if usize::from(cache.0) >= self.cache_count() {
            return 0;
        }
        let slots = self.cpu_slots(cache).iter();
        slots.map(|slot| slot.lock.lock_remote().stats[stat as usize]).sum()
    }

    /// One of its statistics on one CPU (`C<cpu>=` in sysfs).
    #[must_use]
    pub fn cache_stat_of(&self, cache: CacheId, stat: SlabStat, cpu: CpuId) -> u64 {
        if usize::from(cache.0) >= self.cache_count() {
            return 0;
        }
        self.cpu_slots(cache)[cpu.index()].lock.lock_remote().stats[stat as usize]
    }

    /// Write 0 to one of its statistics.
    pub fn clear_stat(&self, cache: CacheId, stat: SlabStat) {
        if self.cache(cache).is_ok() {
            for slot in self.cpu_slots(cache) {
                slot.lock.lock_remote().stats[stat as usize] = 0;
            }
        }
    }

    /// A cache's slabs: CPU by CPU the CPU's slab and its partial list, node by node the partial
    /// list, then full slabs in the order of their frames. Lists from the head. For quiescent
    /// caches.
    pub fn for_each_slab(&self, cache: CacheId, visit: &mut dyn FnMut(SlabState)) {
        if self.cache(cache).is_err() {
            return;
        }
        for (cpu, slot) in self.cpu_slots(cache).iter().enumerate() {
            let own = slot.lock.lock_remote();
            if own.slab != NIL {
                let mut state = self.shown(own.slab, SlabPlace::Cpu(cpu as u16));
                state.cpu_free = self.length(&own.shape, own.slab, own.freelist);
                visit(state);
            }
            let mut slab = own.partial.head;
            while slab != NIL {
                visit(self.shown(slab, SlabPlace::CpuPartial(cpu as u16)));
                slab = self.slab(slab).next();
            }
        }
        for node in 0..self.nr_nodes as u8 {
            self.node_slot(cache, NodeId(node)).locked(|list| {
                for slab in list.iter(self.frames(), false) {
                    visit(self.shown(slab, SlabPlace::NodePartial));
                }
            });
        }
        for (slab, record) in self.frames().iter().enumerate() {
            let (info, slab) = (record.info(), slab as u32);
            if info.is_of(cache) && info.head() == slab {
                let state = record.state();
                if state.head == NO_INDEX && !state.frozen && !record.is_on_node() {
                    visit(self.shown(slab, SlabPlace::Full));
                }
            }
        }
    }

    fn shown(&self, slab: u32, place: SlabPlace) -> SlabState {
        let record = self.slab(slab);
        let (state, info) = (record.state(), record.info());
        let shape = self.shape_of(info.cache());
        let first = self.object(slab, &shape, state.head);
        SlabState {
            pfn: self.pfn(slab),
            order: Order::of(info.order()),
            objects: u32::from(state.objects),
            inuse: u32::from(state.inuse),
            free: self.length(&shape, slab, first),
            cpu_free: 0,
            frozen: state.frozen,
            on_node: record.is_on_node(),
            place,
        }
    }

    /// Length of a list of objects of a slab, as far as it is whole.
    fn length(&self, shape: &Shape, slab: u32, first: u64) -> u32 {
        let most = u32::from(self.slab(slab).state().objects) + 1;
        let (mut object, mut length) = (first, 0);
        while object != NONE && length < most && self.is_object_of(slab, shape, object) {
            length += 1;
            object = self.next(shape, object);
        }
        length
    }

    /// Whether `object` is handed out. Without live maps a walk over its slab's list and those of
    /// all CPUs, for quiescent caches.
    #[must_use]
    pub fn is_live(&self, cache: CacheId, object: ObjAddr) -> bool {
        let Some(info) = self.info_of(object).filter(|info| info.is_of(cache)) else {
            return false;
        };
        if self.checks {
            return self.storage.live[((object.0 >> 12) - self.base) as usize].get(object.0);
        }
        let slab = info.head();
        let on = |own: &CpuCache, first: u64| {
            let length = self.length(&own.shape, slab, first);
            let mut at = first;
            (0..length).any(|_| {
                let here = at;
                at = self.next(&own.shape, here);
                here == object.0
            })
        };
        let mut free = false;
        for (cpu, slot) in self.cpu_slots(cache).iter().enumerate() {
            let own = slot.lock.lock_remote();
            if !self.is_object_of(slab, &own.shape, object.0) {
                return false;
            }
            free |= own.slab == slab && on(&own, own.freelist);
            if cpu == 0 {
                let head = self.slab(slab).state().head;
                free |= on(&own, self.object(slab, &own.shape, head));
            }
        }
        !free
    }

    /// The numbers of a cache's line in /proc/slabinfo; `None` for a cache that does not exist.
    #[must_use]
    pub fn slab_info(&self, cache: CacheId) -> Option<SlabInfo<'static>> {
        let slot = self.cache(cache).ok()?;
        let layout = slot.layout();
        let (mut slabs, mut objects, mut free) = (0, 0, 0);
        for node in 0..self.nr_nodes as u8 {
            let node = self.node_slot(cache, NodeId(node));
            slabs += node.nr_slabs.load();
            objects += node.total_objects.load();
            free += node.locked(|list| {
                let of = |slab: u32| u64::from(self.slab(slab).state().free());
                if list.count <= SCANNED {
                    return list.iter(self.frames(), false).map(of).sum();
                }
                let half = SCANNED as usize / 2;
                let ends = [false, true].map(|from_tail| -> u64 {
                    list.iter(self.frames(), from_tail).take(half).map(of).sum()
                });
                let estimate = (ends[0] + ends[1]) * list.count / SCANNED;
                estimate.min(node.total_objects.load())
            });
        }
        Some(SlabInfo {
            name: slot.name(),
            active_objs: objects - free,
            num_objs: objects,
            objsize: layout.stride,
            objperslab: layout.objects,
            pagesperslab: 1 << layout.order.get(),
            active_slabs: slabs,
            num_slabs: slabs,
        })
    }
}
