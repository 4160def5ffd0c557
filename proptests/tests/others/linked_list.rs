//! `linked_list_allocator`: release 0.10.1 here. The newer ones need a lock file of their own, so
//! they are run by the package in `proptests/newer`, through this very adapter.

use crate::arena::{Arena, layout};
use linked_list_allocator::Heap;
use mmspec_model::contract::{FrameCounters, Run, RunAllocator};
use mmspec_proptests::conformance::Promise;

/// Requests of up to 200 bytes from an arena of 64 to 1024 bytes.
pub(crate) const PROMISE: Promise = Promise::heap(1024).largest(200).least(64);

pub(crate) struct List {
    arena: Arena,
    heap: Heap,
}

impl List {
    pub(crate) fn new(memory: &[Run]) -> Self {
        let mut arena = Arena::new(memory);
        let place = arena.at(memory[0].start).as_ptr();
        // SAFETY: the arena holds these bytes, nobody else uses them, and they live as long.
        let heap = unsafe { Heap::new(place, memory[0].len as usize) };
        Self { arena, heap }
    }
}

impl RunAllocator for List {
    fn allocate(&mut self, len: u64, align: u64) -> Option<u64> {
        let address = self.heap.allocate_first_fit(layout(len, align)).ok()?;
        Some(self.arena.offset(address))
    }

    fn free(&mut self, run: Run, align: u64) {
        let address = self.arena.at(run.start);
        // SAFETY: the harness gives back what it holds, with the layout that it asked for.
        unsafe { self.heap.deallocate(address, layout(run.len, align)) };
    }
}

impl FrameCounters for List {
    fn free_frames(&self) -> u64 {
        self.heap.free() as u64
    }

    fn managed_frames(&self) -> u64 {
        self.heap.size() as u64
    }
}
