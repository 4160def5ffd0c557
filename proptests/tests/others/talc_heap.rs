//! `talc`: a heap that grows and shrinks blocks in place.

use crate::arena::{Arena, layout};
use crate::verdict::clean;
use mmspec_model::contract::{Resize, Run, RunAllocator};
use mmspec_proptests::conformance::{Promise, Subject};
use talc::DefaultBinning;
use talc::base::Talc;
use talc::source::Manual;

struct Heap {
    arena: Arena,
    talc: Talc<Manual, DefaultBinning>,
}

impl Heap {
    fn new(memory: &[Run]) -> Self {
        let mut arena = Arena::new(memory);
        let mut talc = Talc::new(Manual);
        // SAFETY: the arena holds these bytes, nobody else uses them, and they live as long.
        let claimed =
            unsafe { talc.claim(arena.at(memory[0].start).as_ptr(), memory[0].len as usize) };
        assert!(claimed.is_some(), "room for its records is promised");
        Self { arena, talc }
    }
}

impl RunAllocator for Heap {
    fn allocate(&mut self, len: u64, align: u64) -> Option<u64> {
        // SAFETY: nothing of size 0 is asked for.
        let address = unsafe { self.talc.allocate(layout(len, align)) }?;
        Some(self.arena.offset(address))
    }

    fn free(&mut self, run: Run, align: u64) {
        let address = self.arena.at(run.start).as_ptr();
        // SAFETY: the harness gives back what it holds, with the size that it has now.
        unsafe { self.talc.deallocate(address, layout(run.len, align)) };
    }
}

impl Resize for Heap {
    fn resize(&mut self, run: Run, align: u64, len: u64) -> Option<u64> {
        let (address, old) = (self.arena.at(run.start).as_ptr(), layout(run.len, align));
        // SAFETY: as for free; the new size is at least, or at most, the old one.
        unsafe {
            if len >= run.len {
                return self
                    .talc
                    .try_grow_in_place(address, old, len as usize)
                    .then_some(run.start);
            }
            self.talc.shrink(address, old, len as usize);
        }
        Some(run.start)
    }
}

#[test]
fn release_5_1_1_returns_what_it_got_after_growing_and_shrinking() {
    let promise = Promise::heap(8192).largest(200).least(4096);
    let laws = ["managed-only", "no-overlap", "aligned", "same-again"];
    clean(&promise, &Subject::runs(Heap::new).resizing(), 10_000, &laws);
}
