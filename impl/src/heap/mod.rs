//! A heap for ordinary processes: kmalloc caches over the page allocator over an arena of the
//! process.
//!
//! ```
//! use mmspec_impl::heap::SlabHeap;
//!
//! #[global_allocator]
//! static HEAP: SlabHeap = SlabHeap::new();
//!
//! let text = format!("{} words", 3);
//! assert!(HEAP.owns(text.as_ptr()));
//! ```
//!
//! Up to 8 KiB an allocation is an object of a kmalloc cache; up to 4 MiB a block of pages; above
//! that, and where the arena is used up, a mapping of its own. What an address is, is told by the
//! record of its frame. A thread works as a CPU of its own as long as there are any.
//!
//! The arena is reserved at the first allocation and touched as it is used. Its records take 10
//! bytes a page at once, and 64 for each page of slabs. Memory once touched is kept for later use:
//! pages go back to the system only from mappings.
#![allow(unsafe_code)] // `GlobalAlloc` is unsafe to implement; see the arguments.

mod cpu;
mod map;
mod parts;

use crate::slab::{KMALLOC_SIZES, kmalloc_class};
use core::{
    alloc::{GlobalAlloc, Layout},
    ptr,
    sync::atomic::{
        AtomicBool, AtomicPtr,
        Ordering::{Acquire, Release},
    },
};
use mmspec_model::contract::SlabError;
use mmspec_model::vocab::{CacheId, Gfp, ObjAddr, Order, Pfn, SlabStat};
use parts::Parts;

/// CPUs of a heap. More threads than that share them, which costs time.
const CPUS: u16 = 32;

/// A heap: [`GlobalAlloc`] on the allocators of this crate.
#[derive(Debug)]
pub struct SlabHeap {
    parts: AtomicPtr<Parts>,
    /// Somebody builds the parts.
    building: AtomicBool,
    bytes: usize,
}

impl SlabHeap {
    /// A heap with an arena of 4 GiB.
    #[must_use]
    pub const fn new() -> Self {
        Self::with_arena(4 << 30)
    }

    /// A heap with an arena of about `bytes`, at most 8 TiB, rounded up to 4 MiB.
    #[must_use]
    pub const fn with_arena(bytes: usize) -> Self {
        let parts = AtomicPtr::new(ptr::null_mut());
        Self { parts, building: AtomicBool::new(false), bytes }
    }

    /// What the heap stands on; built at the first use. `None` if the arena cannot be had.
    #[inline(always)]
    fn parts(&self) -> Option<&Parts> {
        let parts = self.parts.load(Acquire);
        // SAFETY: null, or published by `build`, after which the parts stay for ever.
        match unsafe { parts.as_ref() } {
            Some(parts) => Some(parts),
            None => self.build(),
        }
    }

    #[cold]
    #[inline(never)]
    fn build(&self) -> Option<&Parts> {
        while self.building.swap(true, Acquire) {
            std::thread::yield_now();
        }
        // SAFETY: as in `parts`.
        let mut parts = unsafe { self.parts.load(Acquire).as_ref() };
        if parts.is_none() {
            parts = Parts::build(self.bytes);
            if let Some(parts) = parts {
                self.parts.store(ptr::from_ref(parts).cast_mut(), Release);
            }
        }
        self.building.store(false, Release);
        parts
    }

    #[inline(never)]
    fn alloc_at_length(&self, size: usize, align: usize) -> *mut u8 {
        let bomb = Bomb;
        let at = self.parts().map_or(ptr::null_mut(), |parts| parts.alloc(size, align));
        core::mem::forget(bomb);
        at
    }

    /// # Safety
    /// As [`GlobalAlloc::dealloc`].
    #[inline(never)]
    unsafe fn free_at_length(&self, at: *mut u8, size: usize) {
        let bomb = Bomb;
        match self.parts() {
            // SAFETY: the caller's promise.
            Some(parts) => unsafe { parts.free(at, size) },
            None => map::die("mmspec heap: freed before anything was allocated\n"),
        }
        core::mem::forget(bomb);
    }

    /// Whether an address lies in the arena.
    #[must_use]
    pub fn owns(&self, at: *const u8) -> bool {
        // SAFETY: as in `parts`.
        let parts = unsafe { self.parts.load(Acquire).as_ref() };
        parts.is_some_and(|parts| parts.offset(at).is_some())
    }

    /// A statistic of the cache of a kmalloc class ([`KMALLOC_SIZES`]), of all threads.
    #[must_use]
    pub fn stat(&self, class: usize, stat: SlabStat) -> u64 {
        self.parts().map_or(0, |parts| parts.slabs.cache_stat(CacheId(class as u16), stat))
    }

    /// Bytes of slabs.
    #[must_use]
    pub fn slab_bytes(&self) -> u64 {
        let node = mmspec_model::vocab::NodeId(0);
        self.parts().map_or(0, |parts| parts.slabs.slab_bytes(node, false))
    }

    /// Bytes of the arena that no slab and no block holds.
    #[must_use]
    pub fn free_bytes(&self) -> u64 {
        self.parts().map_or(0, |parts| parts.pages.free_frames() * map::PAGE as u64)
    }

    /// Give empty slabs back to the page allocator, those that threads keep too.
    pub fn shrink(&self) {
        if let Some(parts) = self.parts() {
            for class in 0..KMALLOC_SIZES.len() {
                let cache = CacheId(class as u16);
                parts.slabs.cache_shrink(cpu::current(), cache, &mut parts.source());
            }
        }
    }
}

impl Default for SlabHeap {
    fn default() -> Self {
        Self::new()
    }
}

/// The class that serves `size` bytes at `align`: objects of a class are aligned to the largest
/// power of two that divides its size.
fn class_of(size: usize, align: usize) -> Option<usize> {
    let class = kmalloc_class(size.max(align))?;
    if 1 << KMALLOC_SIZES[class].trailing_zeros() >= align {
        return Some(class);
    }
    kmalloc_class(size.max(align).next_power_of_two())
}

/// The block that serves `bytes` that no class does; blocks are aligned to their size.
fn block_of(bytes: usize) -> Option<Order> {
    let pages = bytes.div_ceil(map::PAGE).checked_next_power_of_two()?;
    Order::new(pages.trailing_zeros() as u8)
}

impl Parts {
    /// How far an address lies behind the start of the arena.
    #[inline(always)]
    fn distance(&self, at: *const u8) -> u64 {
        at.addr().wrapping_sub(self.arena.addr()) as u64
    }

    /// Where in the arena an address lies.
    fn offset(&self, at: *const u8) -> Option<u64> {
        Some(self.distance(at)).filter(|offset| *offset < self.bytes as u64)
    }

    /// An object of the thread's own list; null if that is not to be had at once.
    #[inline(always)]
    fn alloc_quick(&self, size: usize, align: usize) -> *mut u8 {
        // All classes from 16 on are aligned to 16.
        if align <= 16
            && let Some(class) = kmalloc_class(size.max(align))
            && let Some(object) = self.slabs.alloc_quick(cpu::known(), CacheId(class as u16))
        {
            return self.arena.wrapping_add(object.0 as usize);
        }
        ptr::null_mut()
    }

    fn alloc(&self, size: usize, align: usize) -> *mut u8 {
        let Some(class) = class_of(size, align) else { return self.alloc_large(size, align) };
        let (cpu, cache) = (cpu::current(), CacheId(class as u16));
        match self.slabs.object_alloc(cpu, cache, Gfp::KERNEL, None, &mut self.source()) {
            Ok(Some(object)) => self.arena.wrapping_add(object.0 as usize),
            // The arena is used up.
            _ => map::map_aligned(size.next_multiple_of(map::PAGE), align),
        }
    }

    #[cold]
    fn alloc_large(&self, size: usize, align: usize) -> *mut u8 {
        if let Some(order) = block_of(size.max(align))
            && let Some(pfn) = self.alloc_block(cpu::current(), order)
        {
            return self.arena.wrapping_add((pfn.0 as usize) << 12);
        }
        map::map_aligned(size.next_multiple_of(map::PAGE), align)
    }

    /// Put an object on the thread's own list, if that can be done at once. (An address outside the
    /// arena is no object.)
    #[inline(always)]
    fn free_quick(&self, at: *mut u8) -> bool {
        self.slabs.free_any_quick(cpu::known(), ObjAddr(self.distance(at)))
    }

    /// # Safety
    /// As [`GlobalAlloc::dealloc`].
    unsafe fn free(&self, at: *mut u8, size: usize) {
        let (cpu, object) = (cpu::current(), ObjAddr(self.distance(at)));
        if let Err(error) = self.slabs.object_free_any(cpu, object, &mut self.source()) {
            // SAFETY: the caller's promise.
            unsafe { self.free_large(at, size, error) };
        }
    }

    /// Free what is no object: a block of pages, or a mapping.
    ///
    /// # Safety
    /// As [`GlobalAlloc::dealloc`].
    #[cold]
    unsafe fn free_large(&self, at: *mut u8, size: usize, error: SlabError) {
        let Some(offset) = self.offset(at) else {
            // SAFETY: not of the arena, so a mapping of this size.
            return unsafe { map::unmap(at, size.next_multiple_of(map::PAGE)) };
        };
        let pfn = Pfn(offset >> 12);
        match (error, self.block_order(pfn)) {
            (SlabError::NotAnObject(_), Some(order))
                if offset.is_multiple_of(map::PAGE as u64)
                    && self.slabs.cache_of(ObjAddr(offset)).is_none() =>
            {
                self.pages.free_pages(cpu::current(), pfn, order);
            }
            _ => map::die("mmspec heap: freed twice, or never allocated\n"),
        }
    }

    /// Bytes that an allocation of the arena has room for.
    fn room(&self, offset: u64) -> usize {
        match self.slabs.cache_of(ObjAddr(offset)) {
            Some(cache) => KMALLOC_SIZES[usize::from(cache.0)] as usize,
            None => self.block_order(Pfn(offset >> 12)).map_or(0, |order| map::PAGE << order.get()),
        }
    }

    /// # Safety
    /// As [`GlobalAlloc::realloc`].
    unsafe fn realloc(&self, at: *mut u8, layout: Layout, new: usize) -> *mut u8 {
        let old = layout.size();
        match self.offset(at) {
            Some(offset) => {
                // In place while it fits and is not much too large.
                let room = self.room(offset);
                if new <= room && (new >= room / 2 || new >= old) {
                    return at;
                }
            }
            // Of a mapping that stays one.
            None if layout.align() <= map::PAGE && block_of(new).is_none() => {
                let pages = |bytes: usize| bytes.next_multiple_of(map::PAGE);
                // SAFETY: a mapping of `old` bytes, which the caller uses no longer where it was.
                return unsafe { map::remap(at, pages(old), pages(new)) };
            }
            None => {}
        }
        let moved = self.alloc(new, layout.align());
        if !moved.is_null() {
            // SAFETY: both are allocations of at least so many bytes, and distinct: the old one is
            // not free yet.
            unsafe { ptr::copy_nonoverlapping(at, moved, old.min(new)) };
            // SAFETY: the caller gives it up.
            unsafe { self.free(at, old) };
        }
        moved
    }
}

/// Ends the process if a call unwinds, which a heap must not: a check of a debug build failed.
struct Bomb;

impl Drop for Bomb {
    #[cold]
    fn drop(&mut self) {
        map::die("mmspec heap: a check failed inside the allocator\n");
    }
}

// SAFETY: objects and blocks come from the slab and the page allocator, whose whole purpose is that
// what they hand out is apart from all else that is handed out; mappings come from the system.
// `class_of` and `block_of` give what is large enough and aligned: objects lie at multiples of
// their stride from a slab's start, a block at a multiple of its size from the arena's start, which
// is aligned to the largest. No call unwinds: the quick ways cannot, the others end the process
// (`Bomb`).
unsafe impl GlobalAlloc for SlabHeap {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as in `parts`.
        if let Some(parts) = unsafe { self.parts.load(Acquire).as_ref() } {
            let at = parts.alloc_quick(layout.size(), layout.align());
            if !at.is_null() {
                return at;
            }
        }
        self.alloc_at_length(layout.size(), layout.align())
    }

    #[inline]
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: as in `parts`.
        if let Some(parts) = unsafe { self.parts.load(Acquire).as_ref() }
            && parts.free_quick(at)
        {
            return;
        }
        // SAFETY: the caller's promise.
        unsafe { self.free_at_length(at, layout.size()) };
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        let at = unsafe { self.alloc(layout) };
        if !at.is_null() && self.owns(at) {
            // SAFETY: just allocated, with so many bytes. Mappings are zero already.
            unsafe { at.write_bytes(0, layout.size()) };
        }
        at
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        let bomb = Bomb;
        let at = match self.parts() {
            // SAFETY: the caller's promise.
            Some(parts) => unsafe { parts.realloc(at, layout, new_size) },
            None => ptr::null_mut(),
        };
        core::mem::forget(bomb);
        at
    }
}
