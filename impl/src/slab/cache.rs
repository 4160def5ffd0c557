//! What is known of a cache as a whole, and of its part on a node.

use super::{frame::NodeList, layout, memory::NONE};
use crate::platform::{Lock, Platform, Word};
use mmspec_model::vocab::{CacheFlags, CacheLayout, CacheSpec, MAX_NODES, NodeId, Order};

/// Whether a cache's record is used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Life {
    Unused,
    Made,
    Destroyed,
}

/// A cache, as the embedder's storage holds it. Written once, before the cache is shown, but for
/// the limits that may be set.
pub struct CacheSlot<P: Platform> {
    life: P::Ordered,
    /// Stride and free pointer.
    sizes: P::Word,
    /// Orders and objects.
    orders: P::Word,
    flags: P::Word,
    pub(super) min_partial: P::Word,
    pub(super) cpu_partial: P::Word,
    pub(super) cpu_partial_slabs: P::Word,
    /// Where its random sequence lies in the table; [`NONE`]: there is none.
    pub(super) sequence: P::Word,
    name: P::ZoneLock<&'static str>,
    object_size: P::Word,
}

impl<P: Platform> CacheSlot<P> {
    /// No cache yet.
    #[must_use]
    pub fn new() -> Self {
        let word = || P::Word::new(0);
        Self {
            life: P::Ordered::new(0),
            sizes: word(),
            orders: word(),
            flags: word(),
            min_partial: word(),
            cpu_partial: word(),
            cpu_partial_slabs: word(),
            sequence: P::Word::new(NONE),
            name: P::ZoneLock::new(""),
            object_size: word(),
        }
    }

    pub(super) fn begin(&self, spec: &CacheSpec, layout: &CacheLayout, sequence: u64) {
        self.sizes.store(u64::from(layout.stride) | u64::from(layout.free_pointer) << 32);
        let orders = [layout.order.get(), layout.min_order.get()];
        self.orders.store(
            u64::from(layout.objects)
                | u64::from(layout.min_objects) << 16
                | u64::from(orders[0]) << 32
                | u64::from(orders[1]) << 40,
        );
        self.flags.store(u64::from(spec.flags.bits()));
        self.min_partial.store(u64::from(layout.min_partial));
        self.cpu_partial.store(u64::from(layout.cpu_partial));
        self.cpu_partial_slabs.store(u64::from(layout.cpu_partial_slabs));
        self.sequence.store(sequence);
        self.object_size.store(u64::from(spec.object_size));
        *self.name.lock() = spec.name;
        self.set_life(Life::Made);
    }

    pub(super) fn life(&self) -> Life {
        match self.life.load() {
            0 => Life::Unused,
            1 => Life::Made,
            _ => Life::Destroyed,
        }
    }

    pub(super) fn set_life(&self, life: Life) {
        self.life.store(life as u64);
    }

    pub(super) fn name(&self) -> &'static str {
        *self.name.lock()
    }

    pub(super) fn flags(&self) -> CacheFlags {
        CacheFlags::from_bits_retain(self.flags.load() as u8)
    }

    /// Bytes from object to object.
    pub(super) fn stride(&self) -> u32 {
        self.sizes.load() as u32
    }

    pub(super) fn layout(&self) -> CacheLayout {
        let (sizes, orders) = (self.sizes.load(), self.orders.load());
        let order = |shift: u32| Order::of((orders >> shift) as u8 & 0xf);
        CacheLayout {
            stride: sizes as u32,
            free_pointer: (sizes >> 32) as u32,
            order: order(32),
            objects: orders as u32 & 0xffff,
            min_order: order(40),
            min_objects: (orders >> 16) as u32 & 0xffff,
            min_partial: self.min_partial.load() as u32,
            cpu_partial: self.cpu_partial.load() as u32,
            cpu_partial_slabs: self.cpu_partial_slabs.load() as u32,
        }
    }

    /// Write the limit of CPU partial lists, in objects; the one in slabs follows.
    pub(super) fn set_cpu_partial(&self, objects: u32) {
        let slabs = layout::cpu_partial_slabs(objects, self.layout().objects.max(1));
        self.cpu_partial.store(u64::from(objects));
        self.cpu_partial_slabs.store(u64::from(slabs));
    }

    #[cfg(feature = "std")]
    pub(super) fn copy(&self) -> Self {
        let copy = |word: &P::Word| P::Word::new(word.load());
        Self {
            life: P::Ordered::new(self.life.load()),
            sizes: copy(&self.sizes),
            orders: copy(&self.orders),
            flags: copy(&self.flags),
            min_partial: copy(&self.min_partial),
            cpu_partial: copy(&self.cpu_partial),
            cpu_partial_slabs: copy(&self.cpu_partial_slabs),
            sequence: copy(&self.sequence),
            name: P::ZoneLock::new(self.name()),
            object_size: copy(&self.object_size),
        }
    }
}

impl<P: Platform> Default for CacheSlot<P> {
    fn default() -> Self {
        Self::new()
    }
}

/// One cache's part on one node, as the embedder's storage holds it.
#[repr(align(64))]
pub struct SlabNodeSlot<P: Platform> {
    pub(super) list: P::ZoneLock<NodeList>,
    /// `nr_partial`, as it was when the list was last let go: read without the lock by whoever puts
    /// a slab away (memcg-slub.md §4.8).
    nr_partial: P::Word,
    pub(super) nr_slabs: P::Word,
    pub(super) total_objects: P::Word,
}

impl<P: Platform> SlabNodeSlot<P> {
    /// No slabs.
    #[must_use]
    pub fn new() -> Self {
        let word = || P::Word::new(0);
        Self {
            list: P::ZoneLock::new(NodeList::EMPTY),
            nr_partial: word(),
            nr_slabs: word(),
            total_objects: word(),
        }
    }

    /// `nr_partial` without the lock.
    pub(super) fn nr_partial(&self) -> u64 {
        self.nr_partial.load()
    }

    /// Work on the list.
    #[inline]
    pub(super) fn locked<T>(&self, work: impl FnOnce(&mut NodeList) -> T) -> T {
        let mut list = self.list.lock();
        let done = work(&mut list);
        self.nr_partial.store(list.count);
        done
    }

    /// Book slabs that came (`sign` 1) or went (-1) with their objects.
    pub(super) fn book(&self, objects: u16, sign: i64) {
        self.nr_slabs.fetch_add(sign as u64);
        self.total_objects.fetch_add((i64::from(objects) * sign) as u64);
    }

    #[cfg(feature = "std")]
    pub(super) fn copy(&self) -> Self {
        let copy = |word: &P::Word| P::Word::new(word.load());
        Self {
            list: P::ZoneLock::new(*self.list.lock()),
            nr_partial: copy(&self.nr_partial),
            nr_slabs: copy(&self.nr_slabs),
            total_objects: copy(&self.total_objects),
        }
    }
}

impl<P: Platform> Default for SlabNodeSlot<P> {
    fn default() -> Self {
        Self::new()
    }
}

/// What concerns a node whatever the cache, as the embedder's storage holds it.
#[derive(Debug)]
pub struct SlabHome<P: Platform> {
    /// Itself and the other nodes, nearest first.
    pub(super) nearest: [NodeId; MAX_NODES],
    /// Bytes of slabs: NR_SLAB_UNRECLAIMABLE_B and NR_SLAB_RECLAIMABLE_B.
    pub(super) bytes: [P::Word; 2],
}

impl<P: Platform> SlabHome<P> {
    /// A node without slabs.
    #[must_use]
    pub fn new() -> Self {
        let bytes = [P::Word::new(0), P::Word::new(0)];
        Self { nearest: [NodeId(0); MAX_NODES], bytes }
    }

    #[cfg(feature = "std")]
    pub(super) fn copy(&self) -> Self {
        let copy = |word: &P::Word| P::Word::new(word.load());
        Self { nearest: self.nearest, bytes: [copy(&self.bytes[0]), copy(&self.bytes[1])] }
    }
}

impl<P: Platform> Default for SlabHome<P> {
    fn default() -> Self {
        Self::new()
    }
}
