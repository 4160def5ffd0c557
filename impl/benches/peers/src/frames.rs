//! The allocators behind one pair of calls.

use buddy_alloc::buddy_alloc::{BuddyAlloc, BuddyAllocParam};
use buddy_slab_allocator::BuddyAllocator;
use buddy_system_allocator::FrameAllocator;
use free_list::{FreeList, PageLayout, PageRange};
use memmap2::{MmapMut, MmapOptions};
use mmspec_impl::{OwnedAllocator, platform::SpinLock};
use mmspec_model::{
    contract::Request,
    vocab::{CpuId, Gfp, Machine, Order, Pfn, Rules, Tunables, ZoneKind},
};
use std::ptr::NonNull;

const PAGE: usize = 4096;

/// An allocator used by one thread.
pub trait Frames: Send {
    /// The first frame of 2^`order` frames.
    fn alloc(&mut self, cpu: u16, order: u8) -> Option<u64>;
    /// Give them back.
    fn free(&mut self, cpu: u16, frame: u64, order: u8);
}

/// An allocator with `frames` frames to give, all free; `None` if this machine cannot hold it.
pub trait Build: Sized {
    fn build(frames: u64) -> Option<Self>;
}

/// An allocator that threads share.
pub trait Shared: Sync + Send {
    fn alloc(&self, cpu: u16, order: u8) -> Option<u64>;
    fn free(&self, cpu: u16, frame: u64, order: u8);
}

/// One thread's use of a shared allocator.
impl<S: Shared> Frames for &S {
    fn alloc(&mut self, cpu: u16, order: u8) -> Option<u64> {
        S::alloc(self, cpu, order)
    }

    fn free(&mut self, cpu: u16, frame: u64, order: u8) {
        S::free(self, cpu, frame, order);
    }
}

/// mmspec-impl with the rules of Linux 6.12, two CPUs and one zone.
pub struct Mmspec(OwnedAllocator);

impl Build for Mmspec {
    fn build(frames: u64) -> Option<Self> {
        let machine = Machine::new(2, &[(ZoneKind::Normal, 0, frames)]);
        let built = OwnedAllocator::new(machine.as_ref(), Rules::linux_6_12(), Tunables::default());
        built.ok().map(Self)
    }
}

impl Shared for Mmspec {
    #[inline]
    fn alloc(&self, cpu: u16, order: u8) -> Option<u64> {
        let request = Request::new(Order::of(order), Gfp::KERNEL);
        self.0.alloc_pages(CpuId(cpu), request).page().map(|pfn| pfn.0)
    }

    #[inline]
    fn free(&self, cpu: u16, frame: u64, order: u8) {
        self.0.free_pages(CpuId(cpu), Pfn(frame), Order::of(order));
    }
}

impl Frames for Mmspec {
    #[inline]
    fn alloc(&mut self, cpu: u16, order: u8) -> Option<u64> {
        Shared::alloc(self, cpu, order)
    }

    #[inline]
    fn free(&mut self, cpu: u16, frame: u64, order: u8) {
        Shared::free(self, cpu, frame, order);
    }
}

/// No allocator: what the loads themselves cost.
pub struct Null(u64);

impl Build for Null {
    fn build(_frames: u64) -> Option<Self> {
        Some(Self(0))
    }
}

impl Frames for Null {
    #[inline]
    fn alloc(&mut self, _cpu: u16, _order: u8) -> Option<u64> {
        self.0 = (self.0 + 1) & 0xff_ffff;
        Some(self.0)
    }

    #[inline]
    fn free(&mut self, _cpu: u16, _frame: u64, _order: u8) {}
}

/// The same for threads that share it.
pub struct SharedNull;

impl Build for SharedNull {
    fn build(_frames: u64) -> Option<Self> {
        Some(Self)
    }
}

impl Shared for SharedNull {
    #[inline]
    fn alloc(&self, _cpu: u16, order: u8) -> Option<u64> {
        Some(u64::from(order))
    }

    #[inline]
    fn free(&self, _cpu: u16, _frame: u64, _order: u8) {}
}

/// A peer behind one spin lock.
pub struct Locked<F>(SpinLock<F>);

impl<F: Build> Build for Locked<F> {
    fn build(frames: u64) -> Option<Self> {
        F::build(frames).map(|peer| Self(SpinLock::new(peer)))
    }
}

impl<F: Frames> Shared for Locked<F> {
    #[inline]
    fn alloc(&self, cpu: u16, order: u8) -> Option<u64> {
        self.0.lock().alloc(cpu, order)
    }

    #[inline]
    fn free(&self, cpu: u16, frame: u64, order: u8) {
        self.0.lock().free(cpu, frame, order);
    }
}

impl<F: Frames> Frames for Locked<F> {
    #[inline]
    fn alloc(&mut self, cpu: u16, order: u8) -> Option<u64> {
        Shared::alloc(self, cpu, order)
    }

    #[inline]
    fn free(&mut self, cpu: u16, frame: u64, order: u8) {
        Shared::free(self, cpu, frame, order);
    }
}

/// buddy_system_allocator's frame allocator.
pub struct Rcore(FrameAllocator);

impl Build for Rcore {
    fn build(frames: u64) -> Option<Self> {
        let mut peer = FrameAllocator::new();
        peer.add_frame(0, frames as usize);
        Some(Self(peer))
    }
}

impl Frames for Rcore {
    #[inline]
    fn alloc(&mut self, _cpu: u16, order: u8) -> Option<u64> {
        self.0.alloc(1 << order).map(|frame| frame as u64)
    }

    #[inline]
    fn free(&mut self, _cpu: u16, frame: u64, order: u8) {
        self.0.dealloc(frame as usize, 1 << order);
    }
}

/// The buddy layer of buddy-slab-allocator. It wants a real region, whose free pages it leaves
/// alone; its tables lie at the start.
pub struct BuddySlab {
    peer: BuddyAllocator<PAGE>,
    _region: MmapMut,
}

// SAFETY: its pointers lead into the region that it owns; one thread uses it at a time.
unsafe impl Send for BuddySlab {}

impl Build for BuddySlab {
    fn build(frames: u64) -> Option<Self> {
        let bytes = frames as usize * PAGE;
        let tables = BuddyAllocator::<PAGE>::required_meta_size(bytes).next_multiple_of(PAGE);
        let mut region =
            MmapOptions::new().len(bytes + tables).no_reserve_swap().map_anon().ok()?;
        let mut peer = BuddyAllocator::new();
        // SAFETY: the region lives as long as the peer and nobody else touches it.
        unsafe { peer.init(&mut region) }.ok()?;
        Some(Self { peer, _region: region })
    }
}

impl Frames for BuddySlab {
    #[inline]
    fn alloc(&mut self, _cpu: u16, order: u8) -> Option<u64> {
        self.peer.alloc_pages(1 << order, PAGE).ok().map(|address| address as u64)
    }

    #[inline]
    fn free(&mut self, _cpu: u16, frame: u64, order: u8) {
        self.peer.dealloc_pages(frame as usize, 1 << order);
    }
}

/// buddy-alloc. Its links lie in the free frames, which thereby cost memory.
pub struct InBand {
    peer: BuddyAlloc,
    _region: MmapMut,
}

// SAFETY: as for `BuddySlab`.
unsafe impl Send for InBand {}

impl Build for InBand {
    fn build(frames: u64) -> Option<Self> {
        // More than this would have to be backed by real memory.
        const MOST: u64 = 1 << 18;
        if frames > MOST {
            return None;
        }
        // Its tables come out of the same region.
        let bytes = frames as usize * PAGE + frames as usize * 2;
        let mut region = MmapOptions::new().len(bytes).map_anon().ok()?;
        // Page faults are not what is measured.
        region.chunks_mut(PAGE).for_each(|page| page[0] = 1);
        region.chunks_mut(PAGE).for_each(|page| page[0] = 0);
        let param = BuddyAllocParam::new_with_zero_filled(region.as_ptr(), bytes, PAGE);
        // SAFETY: the region is mapped, lives as long as the peer, and nobody else touches it.
        let peer = unsafe { BuddyAlloc::new(param) };
        Some(Self { peer, _region: region })
    }
}

impl Frames for InBand {
    #[inline]
    fn alloc(&mut self, _cpu: u16, order: u8) -> Option<u64> {
        NonNull::new(self.peer.malloc(PAGE << order)).map(|page| page.as_ptr().addr() as u64)
    }

    #[inline]
    fn free(&mut self, _cpu: u16, frame: u64, _order: u8) {
        self.peer.free(std::ptr::with_exposed_provenance_mut(frame as usize));
    }
}

/// free-list: a sorted array of ranges.
pub struct Ranges(FreeList<64>);

impl Ranges {
    fn range(frame: u64, order: u8) -> Option<PageRange> {
        PageRange::from_start_len(frame as usize, PAGE << order).ok()
    }
}

impl Build for Ranges {
    fn build(frames: u64) -> Option<Self> {
        let mut peer = FreeList::new();
        // Frame 0 stays out: its range would start at the null address.
        let all = PageRange::new(PAGE, (frames as usize + 1) * PAGE).ok()?;
        // SAFETY: nothing is ever read or written at these addresses.
        unsafe { peer.deallocate(all) }.ok()?;
        Some(Self(peer))
    }
}

impl Frames for Ranges {
    #[inline]
    fn alloc(&mut self, _cpu: u16, order: u8) -> Option<u64> {
        let layout = PageLayout::from_size(PAGE << order).ok()?;
        self.0.allocate(layout).ok().map(|range| range.start() as u64)
    }

    #[inline]
    fn free(&mut self, _cpu: u16, frame: u64, order: u8) {
        if let Some(range) = Self::range(frame, order) {
            // SAFETY: the range was allocated, and nothing is ever read or written in it.
            let _ = unsafe { self.0.deallocate(range) };
        }
    }
}
