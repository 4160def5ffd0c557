//! A buddy allocator with a plausible mistake, and what the harness says of it:
//! `cargo run -p mmspec-proptests --example wrong_buddy`.

use mmspec_model::contract::FrameAllocator;
use mmspec_model::vocab::{Order, Pfn, PfnRange};
use mmspec_proptests::conformance::{self, Promise, Subject};
use std::collections::BTreeMap;

const TOP: Order = Order::of(4);

/// Free blocks: where each starts, and its order.
struct Buddy(BTreeMap<u64, u8>);

impl FrameAllocator for Buddy {
    fn allocate(&mut self, order: Order) -> Option<Pfn> {
        let (&start, &found) = self.0.iter().find(|(_, free)| **free >= order.get())?;
        self.0.remove(&start);
        for half in order.get()..found {
            self.0.insert(start + (1 << half), half);
        }
        Some(Pfn(start))
    }

    fn free(&mut self, pfn: Pfn, order: Order) {
        let (mut start, mut order) = (pfn.0, order.get());
        // The mistake: a buddy that starts here may be free in part only.
        while order < TOP.get() && self.0.remove(&(start ^ (1 << order))).is_some() {
            start &= !(1 << order);
            order += 1;
        }
        self.0.insert(start, order);
    }
}

fn new(regions: &[PfnRange]) -> Buddy {
    let mut buddy = Buddy(BTreeMap::new());
    for pfn in regions.iter().flat_map(|region| region.start.0..region.end.0) {
        buddy.free(Pfn(pfn), Order::ZERO);
    }
    buddy
}

/// What the harness says.
pub(crate) fn verdict() -> String {
    let promise = Promise::safe(TOP).regions(1);
    let report = conformance::check(&promise, &Subject::frames(new), 1, 1_000);
    match report.failures.first() {
        Some(failure) => failure.to_text("conformance::replay with this text"),
        None => format!("{} cases, nothing found\n", report.cases),
    }
}

fn main() {
    print!("{}", verdict());
}
