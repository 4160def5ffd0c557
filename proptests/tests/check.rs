//! The whole run, its report, saved failures and the regression folder.

mod common;

use common::{Std, owned, reference};
use mmspec_proptests::canaries::{Fault, Planted};
use mmspec_proptests::check::{self, Engine, Options};
use mmspec_proptests::engine::{Budget, Case, Config, EngineReport, Folder};
use mmspec_proptests::lawful::{self, Depth};
use mmspec_proptests::script::Script;
use mmspec_proptests::{canaries, differential};
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("mmspec-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    folder
}

#[test]
fn a_full_run_is_green_and_reports_what_json_md_says() {
    let mut options = Options::new(7, Duration::from_secs(20));
    options.failures = None;
    let report = check::check(&options).expect("runs");
    for failure in &report.failures {
        eprintln!("{}", failure.to_text(""));
    }
    assert!(report.ok, "{:?}", report.complaints);
    let json: serde_json::Value = serde_json::from_str(&report.to_json()).expect("is JSON");
    assert_eq!((json["ok"].as_bool(), json["seed"].as_u64()), (Some(true), Some(7)));
    let names: Vec<_> = report.engines.iter().map(|engine| engine.name).collect();
    assert_eq!(names, Engine::ALL.map(Engine::name));
    for engine in json["engines"].as_array().expect("a list") {
        for field in [
            "cases",
            "operations",
            "states",
            "schedules",
            "violations",
            "canaries_found",
            "canaries",
            "longest_wait",
            "seconds",
        ] {
            assert!(engine[field].is_u64(), "{field} of {engine}");
        }
        let canaries = engine["canaries"].as_u64();
        assert_eq!(engine["canaries_found"].as_u64(), canaries, "{engine}");
        assert!(canaries > Some(1) || engine["name"] == "regressions", "{engine}");
    }
    assert!(json["laws"][0]["id"].is_string() && json["laws"][0]["exercised"].is_u64());
    assert!(json["marks"][0]["name"] == "merged-to-top" && json["marks"][0]["reached"].is_u64());
    let keys: Vec<_> = json.as_object().expect("an object").keys().cloned().collect();
    assert_eq!(keys, ["engines", "laws", "marks", "ok", "seed"]);
}

#[test]
fn a_run_by_count_is_the_same_twice() {
    let run = |seed| {
        let mut options = Options::new(seed, Duration::ZERO);
        options.cases = Some(300);
        options.failures = None;
        let report = check::check(&options).expect("runs");
        let mut json: serde_json::Value = serde_json::from_str(&report.to_json()).expect("is JSON");
        for engine in json["engines"].as_array_mut().expect("a list") {
            assert!(engine["cases"].as_u64() > Some(0), "{engine}");
            engine["seconds"] = 0.into();
        }
        json.to_string()
    };
    assert_eq!(run(11), run(11));
}

/// What is found and how it is shrunk follows from the seed, in every engine with random cases.
#[test]
fn findings_are_the_same_twice() {
    let texts = |report: EngineReport| -> Vec<String> {
        report.failures.iter().map(|failure| failure.to_text("")).collect()
    };
    let planted =
        |script: &Script| Planted::new(owned::<Std>(script), script, Fault::MiscountsFree);
    let config = Config { shrink_runs: 400, ..Config::new(9, Budget::cases(2_000)) };
    let threads = Config { budget: Budget::cases(20_000), ..config };
    let runs: [&dyn Fn() -> Vec<String>; 4] = [
        &|| texts(differential::run(&config, reference, planted)),
        &|| texts(lawful::run(&config, Depth::default(), planted)),
        &|| texts((canaries::RACES[0].hunt)(&threads)),
        &|| texts((canaries::UNORDERED[0].hunt)(&threads)),
    ];
    for run in runs {
        let first = run();
        assert!(!first.is_empty());
        assert_eq!(first, run());
    }
}

#[test]
fn the_stored_cases_hold() {
    let own = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("regressions");
    let cases = Folder::new(own).cases().expect("all parse");
    assert!(cases.len() >= 5);
    assert!(cases.iter().any(|(_, case)| case.schedule.is_some()));
    for (path, case) in cases {
        assert_eq!(check::replay(&case), Ok(()), "{}", path.display());
    }
}

#[test]
fn a_stored_case_that_fails_fails_the_run_and_is_named() {
    let stored = folder("stored");
    std::fs::create_dir_all(&stored).expect("can be made");
    let text = "mms 1\nzone Normal 0x0..0x400\na1 = alloc cpu=0 order=0 gfp=GFP_KERNEL\n";
    std::fs::write(stored.join("fine.mms"), text).expect("can be written");
    let mut options = Options::new(1, Duration::from_millis(1));
    options.engines = vec![Engine::Regressions];
    options.failures = None;
    options.regressions = Some(stored.clone());
    let report = check::check(&options).expect("runs");
    assert!(report.ok && report.engines[0].cases == 1);
    std::fs::write(stored.join("broken.mms"), "mms 1\nfrob\n").expect("can be written");
    let error = check::check(&options).expect_err("is no script").to_string();
    assert!(error.contains("broken.mms:2:1"), "{error}");
    let _ = std::fs::remove_dir_all(stored);
}

#[test]
fn failures_are_saved_replayable_and_never_overwritten() {
    let planted =
        |script: &Script| Planted::new(owned::<Std>(script), script, Fault::MiscountsFree);
    let report = differential::run(&Config::new(1, Budget::cases(500)), reference, planted);
    let mut failure = report.failures.into_iter().next().expect("found");
    let saved = Folder::new(folder("saved"));
    saved.save(&mut failure).expect("is saved");
    let first = failure.file.clone().expect("has a file");
    let text = std::fs::read_to_string(&first).expect("is there");
    assert!(text.starts_with("# difference: nr_free_pages"), "{text}");
    assert!(text.contains(&format!("# replay: mmspec replay {}", first.display())), "{text}");
    assert!(text.contains("with seed 1, case "), "{text}");
    let case = Case::parse("saved", &text).expect("parses");
    assert_eq!(case.script, failure.script);
    assert_eq!(check::replay(&case), Ok(()), "right allocators differ nowhere");
    // The same case again changes nothing; a file of the same name with another case stays.
    saved.save(&mut failure).expect("is found");
    assert_eq!(failure.file.as_ref(), Some(&first));
    std::fs::write(&first, "mms 1\nzone Normal 0x0..0x1\n").expect("can be written");
    saved.save(&mut failure).expect("is saved beside");
    assert_ne!(failure.file.as_ref(), Some(&first));
    assert_eq!(std::fs::read_to_string(&first).expect("is there").lines().count(), 2);
    let _ = std::fs::remove_dir_all(folder("saved"));
}

#[test]
fn every_canary_of_every_engine_is_found() {
    let config = Config::new(42, Budget::default());
    let mut report = mmspec_proptests::engine::EngineReport::new("canaries");
    canaries::of_differential(&config, &mut report, reference);
    canaries::of_laws(&config, &mut report, reference);
    canaries::of_explorer(&config, &mut report, reference);
    canaries::of_schedules(&config, &mut report);
    canaries::of_histories(&config, &mut report);
    assert!(report.canaries_missed.is_empty(), "{:?}", report.canaries_missed);
    assert!(report.canaries_found.len() >= 45, "{}", report.canaries_found.len());
}

#[test]
fn a_cancelled_run_ends_and_does_not_ask_for_marks() {
    let cancel = AtomicBool::new(true);
    let mut options = Options::new(1, Duration::from_secs(60));
    options.failures = None;
    options.cancel = Some(&cancel);
    let report = check::check(&options).expect("runs");
    assert!(report.cancelled && report.complaints.is_empty(), "{:?}", report.complaints);
}
