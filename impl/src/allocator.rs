//! The allocator and its parts.

use crate::{
    frame::Records,
    geometry::{Geometry, Tables},
    node::NodeSlot,
    pcp::{CpuSlot, Pcp, PcpSlot},
    platform::{PcpLock, Platform},
    storage::{Backing, Storage},
    zone::Zone,
};
use mmspec_model::vocab::{CpuId, MAX_NODES, NR_ZONES, NodeId, Pfn, Tunables, ZonelistOrder};

/// Most populated zones: all kinds but Device on every node. A zone's position fits a byte.
pub(crate) const MAX_ZONES: usize = MAX_NODES * (NR_ZONES - 1);
const _: () = assert!(MAX_ZONES <= 256);

/// What the sysctl lock guards.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Config {
    pub(crate) tunables: Tunables,
    /// `vm.min_free_kbytes` in force.
    pub(crate) min_free_kbytes: u64,
    pub(crate) online_cpus: u16,
    /// Zones whose per-CPU lists are disabled.
    pub(crate) disabled: [bool; MAX_ZONES],
    /// `vm.numa_zonelist_order`.
    pub(crate) zonelist_order: ZonelistOrder,
}

/// Where the zones lie, together: to find that of a frame.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spans {
    /// The last zone, where most frames are.
    last: Span,
    count: usize,
    all: [Span; MAX_ZONES],
}

/// First frame and one past the last, as table indices.
#[derive(Clone, Copy, Debug)]
struct Span {
    start: u32,
    end: u32,
}

impl Span {
    #[inline(always)]
    fn holds(self, index: u64) -> bool {
        u64::from(self.start) <= index && index < u64::from(self.end)
    }
}

impl Spans {
    pub(crate) fn new(spans: impl Iterator<Item = (u32, u32)>) -> Self {
        let none = Span { start: 0, end: 0 };
        let mut made = Self { last: none, count: 0, all: [none; MAX_ZONES] };
        for (slot, (start, end)) in made.all.iter_mut().zip(spans) {
            *slot = Span { start, end };
            made.last = *slot;
            made.count += 1;
        }
        made
    }

    /// The position of the zone that spans a frame.
    #[inline(always)]
    fn find(&self, index: u64) -> Option<usize> {
        if self.last.holds(index) { Some(self.count - 1) } else { self.find_other(index) }
    }

    #[inline(never)]
    fn find_other(&self, index: u64) -> Option<usize> {
        let spans = &self.all[..self.count];
        let after = spans.partition_point(|span| u64::from(span.start) <= index);
        let at = after.checked_sub(1)?;
        spans[at].holds(index).then_some(at)
    }
}

/// What the drain lock guards: the number of drains by work items so far.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Drains(pub(crate) u64);

/// A page-frame allocator with Linux's policy. All operations take `&self` and may run
/// concurrently; the contract's traits are implemented for `&PageAllocator`.
///
/// Lock order: sysctl lock, drain lock, one CPU's work, the lock of a node's kswapd, the lock of one CPU's
/// lists, zone lock; never two of a kind.
pub struct PageAllocator<P: Platform, B: Backing> {
    pub(crate) geometry: Geometry,
    pub(crate) nr_zones: usize,
    pub(crate) nr_cpus: usize,
    pub(crate) nr_nodes: usize,
    spans: Spans,
    pub(crate) storage: Storage<P, B>,
    /// How often the zonelists were built; the last bit tells which copy is in use.
    pub(crate) zonelists: P::Word,
    pub(crate) config: P::ZoneLock<Config>,
    /// Held by remote drains, and while work items are queued.
    pub(crate) draining: P::ZoneLock<Drains>,
    /// The number of drains by work items, to be looked at while one waits.
    pub(crate) drains: P::Word,
}

/// The guard of one CPU's lists.
pub(crate) type PcpGuard<'a, P> = <<P as Platform>::PcpLock<Pcp> as PcpLock<Pcp>>::Guard<'a>;

/// What start-up decides before the parts can be put together.
pub(crate) struct Parts<P: Platform, B: Backing> {
    pub(crate) geometry: Geometry,
    pub(crate) nr_zones: usize,
    pub(crate) nr_cpus: usize,
    pub(crate) nr_nodes: usize,
    pub(crate) spans: Spans,
    pub(crate) zonelists: u64,
    pub(crate) storage: Storage<P, B>,
    pub(crate) config: Config,
}

impl<P: Platform, B: Backing> PageAllocator<P, B> {
    pub(crate) fn assemble(parts: Parts<P, B>) -> Self {
        use crate::platform::{Lock, Word};
        Self {
            geometry: parts.geometry,
            nr_zones: parts.nr_zones,
            nr_cpus: parts.nr_cpus,
            nr_nodes: parts.nr_nodes,
            spans: parts.spans,
            storage: parts.storage,
            zonelists: P::Word::new(parts.zonelists),
            config: P::ZoneLock::new(parts.config),
            draining: P::ZoneLock::new(Drains(0)),
            drains: P::Word::new(0),
        }
    }

    /// Where the zones lie.
    #[cfg(feature = "std")]
    pub(crate) fn spans(&self) -> Spans {
        self.spans
    }

    #[inline]
    pub(crate) fn zones(&self) -> &[Zone<P>] {
        &self.storage.zones[..self.nr_zones]
    }

    /// One zone.
    #[inline]
    pub(crate) fn zone(&self, at: usize) -> &Zone<P> {
        &self.storage.zones[at]
    }

    /// One node.
    #[inline]
    pub(crate) fn node(&self, node: NodeId) -> &NodeSlot<P> {
        &self.storage.nodes[node.index()]
    }

    /// The records of all frames.
    #[inline(always)]
    pub(crate) fn records(&self) -> Records<'_> {
        Records::new(&self.storage.links, self.geometry.spread)
    }

    #[inline]
    pub(crate) fn tables(&self) -> Tables<'_> {
        Tables {
            geometry: &self.geometry,
            frames: &self.storage.frames,
            links: self.records(),
            blocks: &self.storage.blocks,
        }
    }

    /// One CPU's lists in one zone.
    #[inline]
    pub(crate) fn slot(&self, cpu: CpuId, zone: usize) -> &PcpSlot<P> {
        &self.storage.pcps[cpu.index() * self.nr_zones + zone]
    }

    pub(crate) fn cpu(&self, cpu: CpuId) -> &CpuSlot<P> {
        &self.storage.cpus[cpu.index()]
    }

    /// All CPUs, online or not.
    pub(crate) fn cpu_ids(&self) -> impl Iterator<Item = CpuId> + use<P, B> {
        (0..self.nr_cpus as u16).map(CpuId)
    }

    /// The owner's attempt to lock its lists.
    #[inline]
    pub(crate) fn try_lock_lists<'a>(
        &'a self,
        cpu: CpuId,
        slot: &'a PcpSlot<P>,
    ) -> Option<PcpGuard<'a, P>> {
        Self::try_lock_as(self.cpu(cpu), slot)
    }

    /// The same for the owner's record.
    #[inline(always)]
    pub(crate) fn try_lock_as<'a>(
        own: &CpuSlot<P>,
        slot: &'a PcpSlot<P>,
    ) -> Option<PcpGuard<'a, P>> {
        if own.fails() { None } else { slot.lock.try_lock() }
    }

    /// The zone that spans a frame.
    #[inline]
    pub(crate) fn zone_of(&self, pfn: Pfn) -> Option<usize> {
        self.spans.find(pfn.0.wrapping_sub(self.geometry.base))
    }

    /// Check, in debug builds, that a block given back is one that was handed out with that order.
    /// A release build does not even read the record: it is often cold, and only has to be written.
    #[inline]
    pub(crate) fn check_free(&self, frame: u32, order: u8) {
        if cfg!(debug_assertions) {
            let allocated = self.records().at(frame).allocated(frame);
            assert!(
                allocated.is_some_and(|block| block.order == order),
                "free of frame {} at order {order}, but it is {allocated:?}, {:?}: freed twice, \
                 or with another order than it was allocated with",
                self.geometry.pfn(frame),
                self.storage.frames[frame as usize].get()
            );
        }
    }
}
