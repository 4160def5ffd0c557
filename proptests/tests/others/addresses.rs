//! `vm-allocator`: ranges of guest addresses.

use crate::verdict::{clean, found};
use mmspec_model::contract::{FixedPlace, Run, RunAllocator};
use mmspec_model::vocab::Order;
use mmspec_proptests::conformance::{Fit, Promise, Subject};
use vm_allocator::{AddressAllocator, AllocPolicy, RangeInclusive};

/// A unit is a page of addresses, as for memory slots and bars.
const PAGE: u64 = 0x1000;

struct Addresses(AddressAllocator);

impl Addresses {
    fn new(memory: &[Run]) -> Self {
        let [run] = memory else { panic!("one region is promised") };
        let made = AddressAllocator::new(run.start * PAGE, run.len * PAGE);
        Self(made.expect("a range of addresses"))
    }

    fn ask(&mut self, len: u64, align: u64, policy: AllocPolicy) -> Option<u64> {
        let range = self.0.allocate(len * PAGE, align * PAGE, policy).ok()?;
        Some(range.start() / PAGE)
    }
}

impl RunAllocator for Addresses {
    fn allocate(&mut self, len: u64, align: u64) -> Option<u64> {
        self.ask(len, align, AllocPolicy::FirstMatch)
    }

    fn free(&mut self, run: Run, _: u64) {
        let range = RangeInclusive::new(run.start * PAGE, run.end() * PAGE - 1);
        self.0.free(&range.expect("a range of addresses")).expect("the range is held");
    }
}

impl FixedPlace for Addresses {
    fn allocate_at(&mut self, run: Run) -> Option<u64> {
        self.ask(run.len, 1, AllocPolicy::ExactMatch(run.start * PAGE))
    }
}

/// Runs of any length at any alignment from one region.
const PROMISE: Promise = Promise::complete(Order::of(6)).fit(Fit::Exact).largest(160).regions(1);

#[test]
fn release_0_1_4_grants_a_fixed_place_inside_a_range_that_is_held() {
    found(&PROMISE, &Subject::runs(Addresses::new).placing(), "no-overlap");
}

#[test]
fn release_0_1_4_is_complete_without_fixed_places() {
    let laws = ["managed-only", "no-overlap", "aligned", "served-if-possible", "same-again"];
    clean(&PROMISE, &Subject::runs(Addresses::new), 5_000, &laws);
}
