//! What a test says of an allocator.

use mmspec_proptests::conformance::{self, Promise, Subject};

/// Fixes every case: the figures in docs/others.md are those of this seed.
const SEED: u64 = 1;

/// More than any finding here takes.
const MOST: u64 = 20_000;

/// Where findings are told.
const DOCUMENT: &str = include_str!("../../../docs/others.md");

/// The laws say `law`, in a case that is small, replays, and stands in the document.
#[track_caller]
pub(crate) fn found<A>(promise: &Promise, subject: &Subject<'_, A>, law: &str) {
    let report = conformance::check(promise, subject, SEED, MOST);
    let failure = report.failures.first().unwrap_or_else(|| panic!("{MOST} cases are clean"));
    let text = failure.to_text("conformance::replay");
    assert_eq!(failure.finding.kind, law, "in case {}:\n{text}", failure.case);
    assert!(failure.operations() <= 4, "in case {}:\n{text}", failure.case);
    assert!(conformance::replay(promise, subject, &text).is_err(), "{text}");
    let case = failure.case_text();
    assert!(DOCUMENT.contains(&case), "docs/others.md lacks case {}:\n{text}", failure.case);
    println!("{law}: case {} after {} operations", failure.case, report.operations);
}

/// No law says anything in so many cases (`CASES` in the environment asks for another number), and
/// those named had something to look at.
#[track_caller]
pub(crate) fn clean<A>(promise: &Promise, subject: &Subject<'_, A>, cases: u64, laws: &[&str]) {
    let asked = std::env::var("CASES").ok().and_then(|number| number.parse().ok());
    let cases = asked.unwrap_or(cases);
    let report = conformance::check(promise, subject, SEED, cases);
    if let Some(failure) = report.failures.first() {
        panic!("{}", failure.to_text("conformance::replay"));
    }
    assert_eq!(report.cases, cases);
    for law in laws {
        let times = report.laws.get(law).copied().unwrap_or(0);
        assert!(times >= cases / 10, "law {law} looked {times} times");
    }
    println!("clean: {cases} cases, {} operations, {:.1} s", report.operations, report.seconds);
}
