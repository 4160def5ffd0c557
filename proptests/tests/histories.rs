//! Small concurrent histories against the sequential specification.

mod common;

use common::{clean, owned};
use mmspec_proptests::engine::{Budget, Config};
use mmspec_proptests::marks::Mark;
use mmspec_proptests::schedules::{self, Coarse};

#[test]
fn every_history_of_the_implementation_has_an_order() {
    let report = schedules::run_histories(&Config::new(3, Budget::cases(20_000)), owned::<Coarse>);
    clean(&report);

    for mark in [Mark::Explained, Mark::Reordered, Mark::StepsMixed, Mark::BusyExplained] {
        assert!(report.marks.count(mark) > 0, "{}", mark.name());
    }
}
