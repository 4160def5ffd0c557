//! The heaps.

use mmspec_impl::heap::SlabHeap;
use std::{
    alloc::{GlobalAlloc, Layout, System},
    sync::{Mutex, OnceLock},
};

/// Batches, so that one indirect call covers many allocations and each heap is inlined as it would be
/// as the global allocator.
pub trait Heap: Sync {
    /// `pairs` allocations, each freed at once.
    fn hot(&self, layout: Layout, pairs: usize);
    /// Fill all places.
    fn fill(&self, layout: Layout, places: &mut [usize]);
    /// Free all, in their order.
    fn free(&self, layout: Layout, places: &[usize]);
    /// Free each place with its size and fill it with another.
    fn exchange(&self, places: &mut [(usize, usize)], draws: &[(u32, u32)]);
}

impl<A: GlobalAlloc + Sync> Heap for A {
    fn hot(&self, layout: Layout, pairs: usize) {
        for _ in 0..pairs {
            // SAFETY: no layout of a load has size 0; freed with the same.
            unsafe {
                let at = self.alloc(std::hint::black_box(layout));
                // The first byte is written, as a user would.
                at.write(1);
                self.dealloc(std::hint::black_box(at), layout);
            }
        }
    }

    fn fill(&self, layout: Layout, places: &mut [usize]) {
        for place in places {
            // SAFETY: as above.
            unsafe {
                let at = self.alloc(layout);
                at.write(1);
                *place = at as usize;
            }
        }
    }

    fn free(&self, layout: Layout, places: &[usize]) {
        for place in places {
            // SAFETY: filled with this layout.
            unsafe { self.dealloc(*place as *mut u8, layout) };
        }
    }

    fn exchange(&self, places: &mut [(usize, usize)], draws: &[(u32, u32)]) {
        for (at, size) in draws {
            let place = &mut places[*at as usize];
            // SAFETY: each place holds an allocation of its size, or nothing.
            unsafe {
                if place.0 != 0 {
                    let old = Layout::from_size_align_unchecked(place.1, 8);
                    self.dealloc(place.0 as *mut u8, old);
                }
                let new = Layout::from_size_align_unchecked(*size as usize, 8);
                let memory = self.alloc(new);
                memory.write(1);
                *place = (memory as usize, *size as usize);
            }
        }
    }
}

/// slab_allocator_rs behind its own lock, over an arena.
struct Locked(OnceLock<Mutex<slab_allocator_rs::Heap>>);

impl Locked {
    fn heap(&self) -> std::sync::MutexGuard<'_, slab_allocator_rs::Heap> {
        const BYTES: usize = 1 << 28;
        let made = self.0.get_or_init(|| {
            let layout = Layout::from_size_align(BYTES, 1 << 20).unwrap();
            // SAFETY: the arena is the heap's alone, for ever.
            Mutex::new(unsafe {
                slab_allocator_rs::Heap::new(System.alloc_zeroed(layout) as usize, BYTES)
            })
        });
        made.lock().unwrap()
    }
}

// SAFETY: the heap behind the lock does what a global allocator must.
unsafe impl GlobalAlloc for Locked {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.heap().allocate(layout).expect("the arena is used up").as_ptr()
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { self.heap().deallocate(std::ptr::NonNull::new_unchecked(at), layout) };
    }
}

static OURS: SlabHeap = SlabHeap::with_arena(1 << 30);
static LOCKED: Locked = Locked(OnceLock::new());

pub static HEAPS: [(&str, &dyn Heap); 6] = [
    ("mmspec", &OURS),
    ("mimalloc", &mimalloc::MiMalloc),
    ("snmalloc", &snmalloc_rs::SnMalloc),
    ("jemalloc", &tikv_jemallocator::Jemalloc),
    ("glibc", &System),
    ("slab_allocator_rs", &LOCKED),
];
