//! Allocators of frames and runs against their promises.

use mmspec_impl::OwnedAllocator;
use mmspec_model::contract::{FrameAllocator, FrameCounters, Run};
use mmspec_model::vocab::{Machine, Order, Pfn, PfnRange, Rules, Tunables, ZoneKind, ZoneSpan};
use mmspec_proptests::conformance::{self, Fit, Plain, PlainFault, Promise, Subject};

const TOP: Order = Order::of(4);

fn plain(regions: &[PfnRange]) -> Plain {
    Plain::new(regions, TOP)
}

fn plain_over(memory: &[Run]) -> Plain {
    Plain::over(memory, TOP)
}

/// `impl` as an allocator of frames. It keeps marks, so it does not promise to serve the last
/// frame.
struct Linux(OwnedAllocator);

impl Linux {
    /// Zones ascend, whatever the order in which the regions come.
    fn new(regions: &[PfnRange]) -> Self {
        let kinds = [ZoneKind::Dma, ZoneKind::Dma32, ZoneKind::Normal, ZoneKind::Movable];
        let mut ascending = regions.to_vec();
        ascending.sort_unstable_by_key(|region| region.start);
        let mut machine = Machine::small(1, 1, TOP.get(), 3);
        machine.zones = kinds
            .into_iter()
            .zip(ascending)
            .map(|(kind, span)| ZoneSpan::new(kind, span))
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
    runs a_plain_buddy_takes_odd_sizes_resizes_and_places,
    Promise::complete(TOP),
    plain_over,
    counted,
    resizing,
    placing
);
mmspec_proptests::conformance!(
    the_implementation_is_safe_and_conserves,
    Promise::conserved(TOP),
    Linux::new,
    counted
);

#[test]
fn every_wrong_buddy_is_caught_and_its_case_replays() {
    for fault in PlainFault::ALL {
        let wrong = Subject::runs(|memory| Plain::planted_over(memory, TOP, Some(fault)));
        let wrong = wrong.counted().resizing().placing();
        let right = Subject::runs(plain_over).counted().resizing().placing();
        let promise = Promise::complete(TOP);
        let report = conformance::check(&promise, &wrong, 7, 20_000);
        let failure = report.failures.first().unwrap_or_else(|| panic!("{fault:?} lives"));
        let text = failure.to_text("here");
        assert!(failure.operations() <= 12, "{fault:?} is not small:\n{text}");
        assert!(conformance::replay(&promise, &wrong, &text).is_err(), "{fault:?}:\n{text}");
        assert_eq!(conformance::replay(&promise, &right, &text), Ok(()), "{fault:?}:\n{text}");
    }
}

#[test]
fn adjacent_regions_are_one_only_if_that_is_promised() {
    // Public bug 5: two ranges that touch never coalesce. Whether it is a bug depends on the
    // contract.
    let across = Promise::complete(TOP).across_regions();
    let report = conformance::check(&across, &Subject::frames(plain), 3, 20_000);
    let failure = report.failures.first().expect("a block across regions is refused");
    assert_eq!(failure.finding.kind, "served-if-possible");
    assert_eq!(
        failure.case_text(),
        "runs 1\nmemory 0x0..0x1\nmemory 0x1..0x2\na1 = alloc len=2 align=2\n"
    );
}

#[test]
fn levels_decide_what_is_asked() {
    let loses = Subject::frames(|regions| Plain::planted(regions, TOP, Some(PlainFault::LosesTop)));
    // A leak is no matter of safety.
    assert!(conformance::check(&Promise::safe(TOP), &loses, 1, 3_000).failures.is_empty());
    assert!(!conformance::check(&Promise::returns(TOP), &loses, 1, 3_000).failures.is_empty());
}

#[test]
fn rounding_is_part_of_the_promise() {
    // A buddy allocator rounds up: what it refuses then is possible for one that does not.
    let subject = Subject::runs(plain_over);
    let exact = Promise::complete(TOP).fit(Fit::Exact);
    let report = conformance::check(&exact, &subject, 5, 20_000);
    let failure = report.failures.first().expect("an odd size is refused");
    assert_eq!(failure.finding.kind, "served-if-possible");
    // Nothing is held to be possible of an allocator whose rounding is not known.
    let opaque = Promise::complete(TOP).fit(Fit::Opaque);
    assert!(conformance::check(&opaque, &subject, 5, 3_000).failures.is_empty());
}

#[expect(dead_code, reason = "its main is the example's")]
#[path = "../examples/wrong_buddy.rs"]
mod wrong_buddy;

#[test]
fn the_guide_shows_the_wrong_buddy_and_what_is_said_of_it() {
    let guide = include_str!("../../docs/guide.md");
    let example = include_str!("../examples/wrong_buddy.rs");
    let start = example.find("/// Free blocks").expect("the allocator");
    let end = example.find("fn new").expect("what follows it");
    assert!(guide.contains(example[start..end].trim_end()), "{}", &example[start..end]);
    assert!(guide.contains(&wrong_buddy::verdict()), "{}", wrong_buddy::verdict());
}
