//! The allocators under the heap, built in memory of their own.
#![allow(unsafe_code)] // Zeroed records, and real memory for the slabs; see the arguments.

use super::{CPUS, map};
use crate::{
    Borrowed, CpuSlot, NodeSlot, PageAllocator, PcpSlot, Spread, Storage, StorageSize, ZoneSlot,
    ZonelistEntry,
    platform::StdPlatform,
    slab::{
        CacheSlot, KMALLOC_SIZES, RawMemory, SlabAllocator, SlabCpuSlot, SlabHome, SlabNodeSlot,
        SlabStorage, SlabStorageSize, kmalloc_spec,
    },
};
use mmspec_model::{
    contract::{Request, SlabPages},
    vocab::{
        AllocFlags, CacheFlags, CpuId, Gfp, MachineRef, Mark, NodeId, Order, Pfn, PfnRange, Rules,
        SlabRules, Tunables, ZoneKind, ZoneSpan,
    },
};

type Lent = Borrowed<'static>;

/// What a heap stands on.
pub(super) struct Parts {
    pub(super) pages: PageAllocator<StdPlatform, Lent>,
    pub(super) slabs: SlabAllocator<StdPlatform, Lent, RawMemory>,
    pub(super) arena: *mut u8,
    pub(super) bytes: usize,
}

// SAFETY: the arena's address is only used for memory that the allocators hand out.
unsafe impl Sync for Parts {}

/// Alignment of the arena: that of the largest block, so that blocks are aligned to their size.
const ALIGN: usize = map::PAGE << Order::MAX.get();

/// Most bytes of one class that a thread collects before they are given back to their slabs. It
/// gives them back whenever it needs a slab itself, so only a thread that does little but free
/// holds so many.
const DEFERRED: u32 = 4 << 20;

impl Parts {
    /// Build all over an arena of `bytes`; `None` without memory. Nothing is allocated: every slice
    /// is a mapping of its own.
    pub(super) fn build(bytes: usize) -> Option<&'static Self> {
        let bytes = bytes.next_multiple_of(ALIGN).max(ALIGN);
        let arena = map::map_aligned(bytes, ALIGN);
        if arena.is_null() {
            return None;
        }
        map::prefer_huge_pages(arena, bytes);
        let span = PfnRange::new(0, (bytes / map::PAGE) as u64);
        let zones = [ZoneSpan::new(ZoneKind::Normal, span)];
        let machine = MachineRef {
            cpus: CPUS,
            max_order: Order::MAX,
            pageblock_order: Order::of(9),
            thp_order: None,
            cma_built: false,
            free_high_batch: false,
            nodes: 1,
            cpu_nodes: &[],
            distances: &[],
            zones: &zones,
            holes: &[],
            reserved: &[],
            cma: &[],
        };
        let tunables = Tunables { min_free_kbytes: Some(128), ..Tunables::default() };
        let pages =
            PageAllocator::new(machine, Rules::linux_6_12(), tunables, storage(&machine)?).ok()?;
        // SAFETY: frames 0 up to the end of the zone lie in the arena, one after the other, for
        // ever. Only the page allocator hands frames out: to the slab allocator by `HeapPages`, and
        // to callers as large blocks, never both. Of objects, `GlobalAlloc`'s contract promises the
        // rest: given back once, and not touched afterwards.
        let memory = unsafe { RawMemory::new(arena) };
        let slabs =
            SlabAllocator::new(machine, SlabRules::LINUX_6_17, 0, slab_storage(&machine)?, memory)
                .ok()?;
        for (class, size) in KMALLOC_SIZES.iter().enumerate() {
            let cache =
                slabs.cache_create_for_speed(kmalloc_spec(class, CacheFlags::empty())).ok()?;
            slabs.set_deferred(cache, (DEFERRED / size).max(64));
        }
        let parts = core::cell::Cell::new(Some(Self { pages, slabs, arena, bytes }));
        let parts = map::records(1, |_| parts.take())?;
        parts.first()?.as_ref()
    }

    /// The source of slab pages.
    #[inline(always)]
    pub(super) fn source(&self) -> HeapPages<'_> {
        HeapPages(&self.pages)
    }

    /// A block of pages, for a large allocation.
    pub(super) fn alloc_block(&self, cpu: CpuId, order: Order) -> Option<Pfn> {
        self.source().alloc(cpu, order, Gfp::KERNEL, None)
    }

    /// The order of the large block that begins at a frame, if there is one.
    pub(super) fn block_order(&self, pfn: Pfn) -> Option<Order> {
        let frame = pfn.0 as u32;
        self.pages.records().at(frame).allocated(frame).and_then(|block| Order::new(block.order))
    }
}

fn storage(machine: &MachineRef<'_>) -> Option<Storage<StdPlatform, Lent>> {
    let size = StorageSize::of(machine);
    Some(Storage {
        // SAFETY: three atomic integers and pairs of them: zero is a value.
        frames: unsafe { map::zeroed(size.frames) }?,
        // SAFETY: as above.
        links: unsafe { map::zeroed(size.frames) }?,
        spread: Spread::Dense,
        // SAFETY: as above.
        blocks: unsafe { map::zeroed(size.blocks) }?,
        pcps: map::records(size.pcps, |_| PcpSlot::new())?,
        cpus: map::records(size.cpus, |_| CpuSlot::new())?,
        zones: map::records(size.zones, |_| ZoneSlot::new())?,
        nodes: map::records(size.nodes, |_| NodeSlot::new())?,
        lists: map::records(size.lists, |_| ZonelistEntry::default())?,
    })
}

fn slab_storage(machine: &MachineRef<'_>) -> Option<SlabStorage<StdPlatform, Lent>> {
    let size = SlabStorageSize::of(machine, KMALLOC_SIZES.len());
    // A debug build knows which objects are handed out.
    let live = if cfg!(debug_assertions) { size.frames } else { 0 };
    Some(SlabStorage {
        // SAFETY: made of atomic integers: zero is a value, and a frame of no slab.
        frames: unsafe { map::zeroed(size.frames) }?,
        caches: map::records(size.caches, |_| CacheSlot::new())?,
        cpus: map::records(size.cpus, |_| SlabCpuSlot::new())?,
        nodes: map::records(size.nodes, |_| SlabNodeSlot::new())?,
        homes: map::records(size.homes, |_| SlabHome::new())?,
        cpu_nodes: map::records(size.cpu_nodes, |_| NodeId(0))?,
        // SAFETY: as for the frames.
        live: unsafe { map::zeroed(live) }?,
        owners: &mut [],
        sequences: &mut [],
    })
}

/// Slab pages of the heap: at the low mark first, then down to the least.
#[derive(Clone, Copy)]
pub(super) struct HeapPages<'a>(&'a PageAllocator<StdPlatform, Lent>);

impl SlabPages for HeapPages<'_> {
    fn alloc(&mut self, cpu: CpuId, order: Order, gfp: Gfp, _node: Option<NodeId>) -> Option<Pfn> {
        let request = Request::new(order, gfp);
        let last = Request { attempt: Some((Mark::Min, AllocFlags::empty())), ..request };
        let page = self.0.alloc_pages(cpu, request).page();
        page.or_else(|| self.0.alloc_pages(cpu, last).page())
    }

    fn free(&mut self, cpu: CpuId, pfn: Pfn, order: Order) {
        self.0.free_pages(cpu, pfn, order);
    }
}
