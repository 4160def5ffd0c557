//! The script language: text and bytes, with any script and with any input.

mod common;

use mmspec_model::vocab::Rules;
use mmspec_proptests::engine::Case;
use mmspec_proptests::fuzz;
use mmspec_proptests::generate::Limits;
use mmspec_proptests::generate::strategy::scripts;
use mmspec_proptests::script::Script;
use proptest::prelude::*;
use quickcheck::TestResult;

proptest! {
    #![proptest_config(common::fixed(400))]

    #[test]
    fn text_and_bytes_give_the_script_back(script in scripts(Limits::ops(120))) {
        prop_assert_eq!(script.validate(), Ok(()));
        prop_assert_eq!(Script::parse("text", &script.to_text()), Ok(script.clone()));
        prop_assert_eq!(Script::decode(&script.encode()), script);
    }

    #[test]
    fn any_bytes_are_a_script(data in prop::collection::vec(any::<u8>(), 0..300)) {
        fuzz::script(&data);
    }

    #[test]
    fn damaged_text_is_parsed_or_refused_with_its_place(
        script in scripts(Limits::ops(20)),
        at in any::<prop::sample::Index>(),
        cut in 0_usize..4,
        insert in "[a-z0-9=#. \n|,-]{0,5}",
    ) {
        let mut text: Vec<char> = script.to_text().chars().collect();
        let at = at.index(text.len());
        let end = (at + cut).min(text.len());
        text.splice(at..end, insert.chars());
        let text: String = text.into_iter().collect();
        match Case::parse("damaged.mms", &text) {
            Ok(case) => {
                prop_assert_eq!(Case::parse("printed", &case.to_string()), Ok(case));
            }
            Err(error) => {
                let lines = text.lines().count().max(1);
                prop_assert!((1..=lines).contains(&error.line), "{}", error);
                let length = text.lines().nth(error.line - 1).unwrap_or("").chars().count();
                prop_assert!((1..=length + 1).contains(&error.column), "{}", error);
                prop_assert!(!error.what.is_empty() && !error.hint.is_empty(), "{}", error);
            }
        }
    }
}

#[test]
fn quickcheck_scripts_survive_text_and_bytes() {
    fn survives(script: Script) -> TestResult {
        let text = Script::parse("text", &script.to_text()) == Ok(script.clone());
        TestResult::from_bool(text && Script::decode(&script.encode()) == script)
    }
    common::quickcheck().tests(300).quickcheck(survives as fn(Script) -> TestResult);
}

#[test]
fn quickcheck_shrinks_to_the_operation_that_matters() {
    use mmspec_proptests::script::Op;
    fn no_tick(script: Script) -> bool {
        !script.ops.iter().any(|op| matches!(op, Op::Tick { .. }))
    }
    let failed = common::quickcheck().tests(2_000).quicktest(no_tick as fn(Script) -> bool);
    let text = format!("{:?}", failed.expect_err("some script ticks"));
    assert!(text.contains("ops: [Tick {"), "{text}");
}

#[test]
fn proptest_shrinks_to_the_operation_that_matters() {
    use mmspec_proptests::script::Op;
    use proptest::test_runner::{TestError, TestRunner};
    let config = ProptestConfig { max_shrink_iters: 50_000, ..common::fixed(2_000) };
    let mut runner = TestRunner::new(config);
    let result = runner.run(&scripts(Limits::ops(120)), |script| {
        let ticks = script.ops.iter().any(|op| matches!(op, Op::Tick { .. }));
        prop_assert!(!ticks);
        Ok(())
    });
    let Err(TestError::Fail(_, script)) = result else { panic!("{result:?}") };
    assert!(matches!(script.ops.as_slice(), [Op::Tick { .. }]), "{script}");
    assert_eq!(script.machine.cpus, 1, "{script}");
}

#[test]
fn rules_of_two_eras_are_refused() {
    let text = "mms 1\nmachine cpus=1 max_order=3 pageblock_order=3\nzone Normal 0x0..0x80\n\
                rules linux_6_12\nrule free_list_type=cached\na1 = alloc cpu=0 order=0 gfp=GFP_KERNEL\n";
    let error = Script::parse("two-eras.mms", text).unwrap_err().to_string();
    assert!(error.contains("free_list_type must be pageblock"), "{error}");
    let mut rules = Rules::linux_6_1();
    assert_eq!(rules.validate(), Ok(()));
    rules.split_large_frees = true;
    assert_eq!(rules.validate().unwrap_err().switch, "split_large_frees");
}
