//! All sequences up to a bound.

mod common;

use common::{Std, clean, owned, reference};
use mmspec_proptests::canaries::{Fault, Planted};
use mmspec_proptests::engine::{Budget, Config};
use mmspec_proptests::explorer::{self, Bounds};
use mmspec_proptests::script::Script;

fn config() -> Config<'static> {
    Config::new(1, Budget::default())
}

#[test]
fn all_sequences_of_five_operations_are_equal_and_lawful() {
    let bounds = Bounds { depth: Some(5), ..Bounds::default() };
    let report = explorer::explore(&config(), bounds, reference, owned::<Std>);
    clean(&report);
    // The sizes are a fact of the policy: a change here is a change of behaviour.
    assert_eq!((report.cases, report.depth), (5, Some(5)));
    assert!(report.states > Some(20_000), "{:?}", report.states);
    assert!(report.operations > 2 * report.states.unwrap_or(0), "states are met again");
}

#[test]
fn one_thread_or_two_see_the_same_states() {
    let run = |threads| {
        let bounds = Bounds { depth: Some(4), threads, ..Bounds::default() };
        explorer::explore(&config(), bounds, reference, owned::<Std>).states
    };
    assert_eq!(run(1), run(2));
}

#[test]
fn a_planted_fault_is_found_by_a_shortest_sequence() {
    for (fault, most) in
        [(Fault::LeavesPage, 2), (Fault::IgnoresTrylock, 2), (Fault::IdleWorker, 3)]
    {
        let planted = move |script: &Script| Planted::new(owned::<Std>(script), script, fault);
        let bounds = Bounds { depth: Some(3), ..Bounds::default() };
        let report = explorer::explore(&config(), bounds, reference, planted);
        let shortest = report.failures.iter().map(|failure| failure.script.ops.len()).min();
        assert!(shortest.is_some_and(|length| length <= most), "{fault:?}: {shortest:?}");
    }
}
