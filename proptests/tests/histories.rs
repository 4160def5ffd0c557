//! Small concurrent histories against the sequential specification.

mod common;

use common::{clean, owned};
use mmspec_proptests::engine::{Budget, Config};
use mmspec_proptests::histories;
use mmspec_proptests::marks::Mark;
use mmspec_proptests::schedules::{self, Coarse};
use mmspec_proptests::script::Script;

#[test]
fn every_history_of_the_implementation_has_an_order() {
    let report = schedules::run_histories(&Config::new(3, Budget::cases(20_000)), owned::<Coarse>);
    clean(&report);

    for mark in [Mark::Explained, Mark::Reordered, Mark::StepsMixed, Mark::BusyExplained] {
        assert!(report.marks.count(mark) > 0, "{}", mark.name());
    }
}

/// What has no steps in the reference is not judged by order, whatever file asks for it.
#[test]
fn walks_and_daemons_have_no_history() {
    let head = "mms 1\nmachine cpus=2 max_order=3 pageblock_order=3\nzone Normal 0x0..0x40\n";
    let plain = Script::parse("plain", &format!("{head}a1 = alloc cpu=0 order=0 gfp=GFP_KERNEL\n"));
    assert!(histories::fits(&plain.expect("parses")));
    for op in [
        "a1 = slow cpu=0 order=0 gfp=GFP_KERNEL",
        "kswapd node=0",
        "rebuild-zonelists",
        "reclaimable zone=0 pages=1",
        "drain-begin by=0",
    ] {
        let script = Script::parse(op, &format!("{head}{op}\n")).expect("parses");
        assert!(!histories::fits(&script), "{op}");
    }
}
