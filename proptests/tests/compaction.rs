//! Generated cases of compaction under the laws, and the loops of real kernels.

use mmspec_model::laws::{self, Family};
use mmspec_model::vocab::{CompactFixes, CompactRules};
use mmspec_proptests::compaction::{self, Case};
use mmspec_proptests::engine::{Budget, Config};
use std::path::Path;

#[test]
fn generated_cases_keep_the_laws_and_exercise_each() {
    let report = compaction::run(&Config::new(11, Budget::cases(8_000)));
    if let Some(failure) = report.failures.first() {
        panic!("{}", failure.to_text("mmspec replay FILE"));
    }
    for law in laws::all().filter(|law| law.family == Family::Compaction) {
        let times = report.laws.get(law.id).copied().unwrap_or(0);
        assert!(times > 50, "{} compared {times} times", law.id);
    }
    let rate = report.completeness;
    assert!(rate.found * 2 > rate.possible, "{rate:?}");
}

/// The loops of real kernels (compaction.md §3.1, and 5.1 under a signal): each kept case goes on without
/// progress under the rules of its kernel, and ends under those of 6.12.
#[test]
fn the_loops_of_real_kernels_are_loops_and_were_repaired() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("regressions/compaction");
    let mut cases = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let name = path.display().to_string();
        let case = Case::parse(&name, &text).unwrap_or_else(|error| panic!("{error}"));
        let finding = compaction::replay(&case).expect_err(&name);
        assert_eq!(finding.kind, "compact-progress", "{name}: {}", finding.what);
        let repaired = Case { compact: CompactRules::linux_6_12(), ..case };
        let played = compaction::replay(&repaired);
        assert!(played.is_ok(), "{name}: {played:?}");
        cases += 1;
    }
    assert_eq!(cases, 4);
}

/// And generated cases find them: how many it takes.
#[test]
fn generated_cases_find_the_loops() {
    let rules = CompactRules::linux_6_12();
    let but = |fix: CompactFixes| CompactRules { fixes: rules.fixes.difference(fix), ..rules };
    for (name, rules) in [
        ("5.1 under a fatal signal", CompactRules::linux_5_1()),
        ("6.1: picked, not marked", CompactRules::linux_6_1()),
        ("6.4: the first candidate further on", but(CompactFixes::MARK_REPRESENTATIVE)),
        ("6.5: the zone begins in mid-block", but(CompactFixes::ZONE_START)),
    ] {
        let mut config = Config::new(1, Budget::cases(20_000));
        config.shrink_runs = 0;
        let report = compaction::hunt(&config, Some(rules));
        let found = report.failures.first().map(|failure| failure.finding.kind.as_str());
        assert_eq!(found, Some("compact-progress"), "{name} in {} cases", report.cases);
    }
}
