//! `buddy_system_allocator`: the heaps of two releases.

use crate::arena::{Arena, layout};
use crate::verdict::{clean, found};
use mmspec_model::contract::{FrameCounters, Run, RunAllocator};
use mmspec_proptests::conformance::{Promise, Subject};

/// The largest block: 512 bytes. The crate's `ORDER` is one more.
const LARGEST: u64 = 512;
const ORDER: usize = 10;

macro_rules! heap {
    ($name:ident, $inner:ty) => {
        struct $name {
            arena: Arena,
            heap: $inner,
        }

        impl $name {
            /// Memory is added in pieces of the largest block: neither release takes a larger one.
            fn new(memory: &[Run]) -> Self {
                let mut arena = Arena::new(memory);
                let mut heap = <$inner>::empty();
                for run in memory {
                    let mut start = run.start;
                    while start < run.end() {
                        let end = ((start / LARGEST + 1) * LARGEST).min(run.end());
                        let place = arena.at(start).addr().get();
                        // SAFETY: the arena holds these bytes and nobody else uses them.
                        unsafe { heap.add_to_heap(place, place + (end - start) as usize) };
                        start = end;
                    }
                }
                Self { arena, heap }
            }
        }

        impl RunAllocator for $name {
            fn allocate(&mut self, len: u64, align: u64) -> Option<u64> {
                let address = self.heap.alloc(layout(len, align)).ok()?;
                Some(self.arena.offset(address))
            }

            #[allow(unused_unsafe, reason = "unsafe from 0.11 on")]
            fn free(&mut self, run: Run, align: u64) {
                let address = self.arena.at(run.start);
                // SAFETY: the harness gives back what it holds, with the layout that it asked for.
                unsafe { self.heap.dealloc(address, layout(run.len, align)) };
            }
        }

        impl FrameCounters for $name {
            fn free_frames(&self) -> u64 {
                (self.heap.stats_total_bytes() - self.heap.stats_alloc_actual()) as u64
            }

            fn managed_frames(&self) -> u64 {
                self.heap.stats_total_bytes() as u64
            }
        }
    };
}

heap!(Current, buddy_system_allocator::Heap<ORDER>);
heap!(V0_9, buddy_system_allocator_0_9::Heap<ORDER>);

/// One region, so that nothing touches but the pieces.
const PROMISE: Promise = Promise::heap(2048).largest(LARGEST).least(64).grain(8);

#[test]
fn release_0_9_panics_when_two_largest_blocks_meet() {
    // Public report 14: merging goes on above the largest class.
    found(&PROMISE, &Subject::runs(V0_9::new).counted(), "panic");
}

#[test]
fn the_current_heap_returns_what_it_got() {
    let laws = ["no-overlap", "aligned", "frames-conserved", "same-again"];
    clean(&PROMISE, &Subject::runs(Current::new).counted(), 10_000, &laws);
}
