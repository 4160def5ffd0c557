//! Reference and implementation in lockstep.

mod common;

use common::{Std, clean, owned, reference};
use mmspec_model::vocab::Rules;
use mmspec_proptests::differential;
use mmspec_proptests::engine::{Budget, Config};
use mmspec_proptests::fuzz;
use mmspec_proptests::generate::strategy::scripts;
use mmspec_proptests::generate::{Limits, Rng};
use mmspec_proptests::script::Script;
use proptest::prelude::*;
use quickcheck::TestResult;

fn differs(script: &Script) -> Option<String> {
    if differential::unspecified(script).is_some() {
        return None;
    }
    let checked = differential::check_script(script, reference, owned::<Std>, None);
    checked.err().map(|finding| format!("{}\n{script}", finding.what))
}

proptest! {
    #![proptest_config(common::fixed(1_500))]

    #[test]
    fn proptest_finds_no_difference(script in scripts(Limits::default())) {
        prop_assert_eq!(differs(&script), None);
    }

    #[test]
    fn any_bytes_show_no_difference(data in prop::collection::vec(any::<u8>(), 0..600)) {
        fuzz::differential(&data);
    }
}

#[test]
fn quickcheck_finds_no_difference() {
    fn equal(script: Script) -> TestResult {
        match differs(&script) {
            None => TestResult::passed(),
            Some(what) => TestResult::error(what),
        }
    }
    common::quickcheck().tests(1_500).quickcheck(equal as fn(Script) -> TestResult);
}

#[test]
fn every_preset_is_equal() {
    for (name, rules) in Rules::PRESETS {
        let mut config = Config::new(11, Budget::cases(4_000));
        config.limits.rules = Some(rules);
        let report = differential::run(&config, reference, owned::<Std>);
        clean(&report);
        assert!(report.operations > 1_500, "{name}: {} operations", report.operations);
    }
}

#[test]
fn a_seed_fixes_the_run() {
    let run = |seed| {
        let config = Config::new(seed, Budget::cases(400));
        let report = differential::run(&config, reference, owned::<Std>);
        (report.cases, report.operations, report.marks)
    };
    assert_eq!(run(5), run(5));
    assert_ne!(run(5), run(6));
}

#[test]
fn long_scripts_on_a_larger_machine_are_equal() {
    use mmspec_model::vocab::Machine;
    use mmspec_proptests::generate;
    let limits = Limits::ops(6_000);
    for case in 0..12 {
        let mut machine = Machine::small(4, 32_768, 10, 9);
        machine.free_high_batch = case % 2 == 0;
        let script = generate::script_on(&mut Rng::for_case(21, case), machine, &limits);
        assert_eq!(differs(&script), None, "case {case}");
    }
}
