//! `buddy_system_allocator`: the frame allocators of three releases.

use crate::arena::layout;
use crate::verdict::{clean, found};
use mmspec_model::contract::{FixedPlace, FrameAllocator, Run, RunAllocator};
use mmspec_model::laws::Level;
use mmspec_model::vocab::{Order, Pfn, PfnRange};
use mmspec_proptests::conformance::{Promise, Subject};

/// The largest block: 64 frames. The crate's `ORDER` is one more.
const TOP: Order = Order::of(6);
const ORDER: usize = 7;

macro_rules! frames {
    ($name:ident, $inner:ty) => {
        struct $name($inner);

        impl $name {
            fn new(regions: &[PfnRange]) -> Self {
                let mut inner = <$inner>::new();
                for region in regions {
                    inner.add_frame(region.start.index(), region.end.index());
                }
                Self(inner)
            }
        }

        impl FrameAllocator for $name {
            fn allocate(&mut self, order: Order) -> Option<Pfn> {
                self.0.alloc(order.pages() as usize).map(|pfn| Pfn(pfn as u64))
            }

            fn free(&mut self, pfn: Pfn, order: Order) {
                self.0.dealloc(pfn.index(), order.pages() as usize);
            }
        }
    };
}

frames!(Current, buddy_system_allocator::FrameAllocator<ORDER>);
frames!(V0_11, buddy_system_allocator_0_11::FrameAllocator<ORDER>);
frames!(V0_6, buddy_system_allocator_0_6::FrameAllocator);

impl Current {
    fn over(memory: &[Run]) -> Self {
        let regions: Vec<_> =
            memory.iter().map(|run| PfnRange::new(run.start, run.end())).collect();
        Self::new(&regions)
    }
}

impl RunAllocator for Current {
    fn allocate(&mut self, len: u64, align: u64) -> Option<u64> {
        self.0.alloc_aligned(layout(len, align)).map(|start| start as u64)
    }

    fn free(&mut self, run: Run, align: u64) {
        self.0.dealloc_aligned(run.start as usize, layout(run.len, align));
    }
}

impl FixedPlace for Current {
    fn allocate_at(&mut self, run: Run) -> Option<u64> {
        self.0.alloc_at(run.start as usize, run.len as usize).map(|start| start as u64)
    }
}

/// As [`Promise::complete`], without what is asked at the end of each case.
const SERVES: Promise = Promise {
    levels: &[Level::Safe, Level::Conserved, Level::Complete, Level::Contract],
    ..Promise::complete(TOP)
};

#[test]
fn the_current_release_does_not_join_regions_that_touch() {
    // Public report 50, open: a matter of level complete only.
    found(&SERVES.across_regions(), &Subject::frames(Current::new), "served-if-possible");
    let laws = ["managed-only", "aligned", "no-overlap", "order-refused"];
    clean(&Promise::conserved(TOP), &Subject::frames(Current::new), 10_000, &laws);
}

#[test]
fn the_current_release_joins_regions_that_touch_when_blocks_come_back() {
    // The other side of the same report: what it serves depends on what was freed before.
    found(&Promise::returns(TOP), &Subject::frames(Current::new), "same-again");
}

#[test]
fn the_current_release_is_complete_on_one_region() {
    let promise = Promise::complete(TOP).regions(1);
    let laws = ["no-overlap", "served-if-possible", "placed-if-free", "exact-place", "same-again"];
    clean(&promise, &Subject::runs(Current::over).placing(), 10_000, &laws);
}

#[test]
fn release_0_11_loses_two_largest_blocks_that_are_buddies() {
    // Public report 31: both are freed, neither can be had again.
    let promise = SERVES.regions(1);
    found(&promise, &Subject::frames(V0_11::new), "served-if-possible");
}

#[test]
fn release_0_11_cuts_a_region_from_frame_0_small() {
    // Seen at level returns: after a free the blocks have grown together.
    let promise = Promise::returns(TOP).regions(1).units(64);
    found(&promise, &Subject::frames(V0_11::new), "same-again");
}

#[test]
fn release_0_6_hands_out_a_frame_twice() {
    // Public report 8: a merge leaves the buddy on its list.
    found(&Promise::safe(TOP).regions(1), &Subject::frames(V0_6::new), "no-overlap");
}
