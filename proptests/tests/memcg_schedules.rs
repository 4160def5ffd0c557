//! Memory cgroups and slab caches by threads: a fixed number of schedules, and faults that they must find.

use mmspec_proptests::canaries;
use mmspec_proptests::engine::{Budget, Config, EngineReport};
use mmspec_proptests::flat::{self, Case, Language};
use mmspec_proptests::memcg::Memcg;
use mmspec_proptests::slab::Slab;

fn clean<L: Language>(schedules: u64) -> EngineReport
where
    mmspec_proptests::engine::OwnCase: From<Case<L>>,
{
    let config = Config::new(2, Budget::cases(schedules));
    let report = flat::hunt_threads::<L>(&config, &L::explore);
    if let Some(failure) = report.failures.first() {
        panic!("{}: {}\n{}", failure.finding.kind, failure.finding.what, failure.case_text());
    }
    assert_eq!(report.schedules, Some(schedules));
    report
}

#[test]
fn groups_lose_nothing() {
    let report = clean::<Memcg>(20_000);
    for law in
        ["memcg-usage", "memcg-references", "memcg-objects", "memcg-children", "memcg-nowait"]
    {
        assert!(report.laws.get(law).is_some_and(|count| *count > 1000), "{law}");
    }
}

#[test]
fn caches_lose_nothing() {
    let report = clean::<Slab>(10_000);
    for law in ["slab-in-use", "slab-free-list", "slab-place", "slab-counts"] {
        assert!(report.laws.get(law).is_some_and(|count| *count > 1000), "{law}");
    }
}

/// What is found under a schedule replays from its text.
#[test]
fn schedules_replay() {
    let torn = mmspec_proptests::memcg::explore::<
        mmspec_impl::memcg::OwnedMemcg<mmspec_proptests::canaries::Torn>,
    >;
    let config = Config::new(3, Budget::cases(20_000));
    let report = flat::hunt_threads::<Memcg>(&config, &torn);
    let failure = report.failures.first().expect("found");
    let case = Case::<Memcg>::parse("case", &failure.to_text("")).expect("parses");
    let schedule = case.schedule.clone().expect("has a schedule");
    let strategy = mmspec_proptests::schedules::Strategy::Replay(schedule);
    let again = torn(&case, strategy, 1, &mut Default::default()).found.expect("replays");
    assert_eq!(again.0.kind, failure.finding.kind);
    assert!(flat::replay(&case).is_ok(), "{}", failure.case_text());
}

#[test]
fn planted_faults_are_found() {
    let config = Config::new(1, Budget::default());
    let mut report = EngineReport::new("memcg");
    canaries::of_memcg(&config, &mut report);
    canaries::of_slab(&config, &mut report);
    assert_eq!(report.canaries_missed, Vec::<&str>::new());
    assert_eq!(report.canaries_found.len(), 13);
}
