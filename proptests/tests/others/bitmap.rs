//! `bitmap-allocator`: one bit a frame.

use crate::verdict::clean;
use bitmap_allocator::{BitAlloc, BitAlloc4K};
use mmspec_model::contract::{FixedPlace, Run, RunAllocator};
use mmspec_model::vocab::Order;
use mmspec_proptests::conformance::{Fit, Promise, Subject};

struct Bits(BitAlloc4K);

impl Bits {
    fn new(memory: &[Run]) -> Self {
        let mut bits = BitAlloc4K::default();
        for run in memory {
            bits.insert(run.start as usize..run.end() as usize);
        }
        Self(bits)
    }
}

impl RunAllocator for Bits {
    fn allocate(&mut self, len: u64, align: u64) -> Option<u64> {
        let found = self.0.alloc_contiguous(None, len as usize, align.trailing_zeros() as usize);
        found.map(|start| start as u64)
    }

    fn free(&mut self, run: Run, _: u64) {
        self.0.dealloc_contiguous(run.start as usize, run.len as usize);
    }
}

impl FixedPlace for Bits {
    fn allocate_at(&mut self, run: Run) -> Option<u64> {
        let found = self.0.alloc_contiguous(Some(run.start as usize), run.len as usize, 0);
        found.map(|start| start as u64)
    }
}

#[test]
fn release_0_4_6_is_complete_also_across_regions() {
    let promise = Promise::complete(Order::of(6)).fit(Fit::Exact).largest(160).across_regions();
    let laws = ["no-overlap", "served-if-possible", "placed-if-free", "exact-place", "same-again"];
    clean(&promise, &Subject::runs(Bits::new).placing(), 10_000, &laws);
}
