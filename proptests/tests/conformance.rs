//! Allocators of frames against their promises.

use mmspec_impl::OwnedAllocator;
use mmspec_model::contract::{FrameAllocator, FrameCounters};
use mmspec_model::laws::Level;
use mmspec_model::vocab::{Machine, Order, Pfn, PfnRange, Rules, Tunables, ZoneKind, ZoneSpan};
use mmspec_proptests::conformance::{self, Plain, PlainFault, Promise};

const TOP: Order = Order::of(4);

fn plain(regions: &[PfnRange]) -> Plain {
    Plain::new(regions, TOP)
}

/// `impl` as an allocator of frames. It keeps marks, so it does not promise to serve the last
/// frame.
struct Linux(OwnedAllocator);

impl Linux {
    fn new(regions: &[PfnRange]) -> Self {
        let kinds = [ZoneKind::Dma, ZoneKind::Dma32, ZoneKind::Normal, ZoneKind::Movable];
        let mut machine = Machine::small(1, 1, TOP.get(), 3);
        machine.zones = kinds
            .into_iter()
            .zip(regions)
            .map(|(kind, span)| ZoneSpan { kind, span: *span })
            .collect();
        let tunables = Tunables { min_free_kbytes: Some(0), ..Tunables::default() };
        let made = OwnedAllocator::new(machine.as_ref(), Rules::linux_6_12(), tunables);
        Self(made.expect("regions make a machine"))
    }
}

impl FrameAllocator for Linux {
    fn allocate(&mut self, order: Order) -> Option<Pfn> {
        FrameAllocator::allocate(&mut self.0, order)
    }

    fn free(&mut self, pfn: Pfn, order: Order) {
        FrameAllocator::free(&mut self.0, pfn, order);
    }
}

impl FrameCounters for Linux {
    fn free_frames(&self) -> u64 {
        FrameCounters::free_frames(&self.0)
    }

    fn managed_frames(&self) -> u64 {
        FrameCounters::managed_frames(&self.0)
    }
}

mmspec_proptests::conformance!(a_plain_buddy_is_complete, Promise::complete(TOP), plain, counted);
mmspec_proptests::conformance!(a_plain_buddy_without_counters, Promise::complete(TOP), plain);
mmspec_proptests::conformance!(
    the_implementation_is_safe_and_conserves,
    Promise { levels: &[Level::Safe, Level::Conserved, Level::Contract], ..Promise::safe(TOP) },
    Linux::new,
    counted
);

#[test]
fn every_wrong_buddy_is_caught_and_its_case_replays() {
    for fault in PlainFault::ALL {
        let make = |regions: &[PfnRange]| Plain::planted(regions, TOP, Some(fault));
        let promise = Promise::complete(TOP);
        let report = conformance::check_counted(&promise, make, 7, 20_000);
        let failure = report.failures.first().unwrap_or_else(|| panic!("{fault:?} lives"));
        let text = failure.to_text("here");
        assert!(failure.script.ops.len() <= 12, "{fault:?} is not small:\n{text}");
        if !matches!(fault, PlainFault::Miscounts) {
            assert!(conformance::replay(&promise, make, &text).is_err(), "{fault:?}:\n{text}");
        }
        assert!(conformance::replay(&promise, plain, &text).is_ok(), "{fault:?}:\n{text}");
    }
}

#[test]
fn adjacent_regions_are_one_only_if_that_is_promised() {
    // Public bug 5: two ranges that touch never coalesce. Whether it is a bug depends on the
    // contract.
    let across = Promise::complete(TOP).across_regions();
    let report = conformance::check(&across, plain, 3, 20_000);
    let failure = report.failures.first().expect("a block across regions is refused");
    assert_eq!(failure.finding.kind, "served-if-possible");
    assert_eq!(failure.script.machine.zones.len(), 2, "{}", failure.script);
    assert_eq!(failure.script.ops.len(), 1, "{}", failure.script);
}

#[test]
fn levels_decide_what_is_asked() {
    let make = |regions: &[PfnRange]| Plain::planted(regions, TOP, Some(PlainFault::LosesTop));
    // A leak is no matter of safety.
    assert!(conformance::check(&Promise::safe(TOP), make, 1, 3_000).failures.is_empty());
    assert!(!conformance::check(&Promise::returns(TOP), make, 1, 3_000).failures.is_empty());
}
