//! Generated cases, one after another.

use super::case::Case;
use super::generate::{self, Choices};
use super::play::{Played, play};
use super::shrink::shrink;
use crate::drive::catch;
use crate::engine::{Config, EngineReport, Failure, Finding};
use crate::generate::Rng;
use crate::lawful::Exercised;
use mmspec_model::vocab::CompactRules;

/// Larger machines are too slow for a fuzzer.
const FRAMES_FUZZED: u64 = 1 << 12;

/// Play a case; panics are findings.
fn look(case: &Case, exercised: &mut Exercised) -> Result<Played, Finding> {
    catch(|| play(case, exercised))
        .unwrap_or_else(|what| Err(Finding { kind: "panic".to_owned(), what, at: None }))
}

/// Play a case again.
///
/// # Errors
/// What is wrong with it.
pub fn replay(case: &Case) -> Result<Played, Finding> {
    look(case, &mut Exercised::new())
}

/// Play generated cases within the budget.
pub fn run(config: &Config<'_>) -> EngineReport {
    hunt(config, None)
}

/// The same under these rules, whatever is known of them.
pub fn hunt(config: &Config<'_>, rules: Option<CompactRules>) -> EngineReport {
    let mut report = EngineReport::new("compaction");
    let mut clock = config.clock("compaction");
    while clock.goes_on(report.cases, report.operations) {
        let number = report.cases;
        let case = generate::case(&mut Choices::Random(Rng::for_case(config.seed, number)), rules);
        report.cases += 1;
        let finding = match look(&case, &mut report.laws) {
            Ok(played) => {
                report.operations += played.iterations;
                report.completeness = report.completeness.with(played.completeness);
                continue;
            }
            Err(finding) => finding,
        };
        let same = |case: &Case| replay(case).is_err_and(|other| other.kind == finding.kind);
        let small = shrink(&case, config.shrink_runs, same);
        let finding = replay(&small).err().unwrap_or(finding);
        let acts = case.acts.len();
        report.failures.push(Failure::own("compaction", finding, small, config.seed, number, acts));
        if report.failures.len() >= config.failures {
            break;
        }
    }
    report.cancelled = clock.cancelled();
    report.seconds = clock.seconds();
    report
}

/// Bytes are a case; the laws must hold, and its text must give it back.
///
/// # Panics
/// A law breaks; the message holds the case as text.
pub fn fuzz(data: &[u8]) {
    let case = generate::case(&mut Choices::Bytes(data), None);
    let text = case.to_string();
    assert_eq!(Case::parse("text", &text).as_ref(), Ok(&case), "{text}");
    if let Err(finding) = replay(&case) {
        panic!("{}\n{text}", finding.what);
    }
    if let Ok(text) = std::str::from_utf8(data)
        && let Ok(mut case) = Case::parse("input", text)
        && case.zones.last().is_none_or(|zone| zone.end.0 <= FRAMES_FUZZED)
    {
        generate::tame(&mut case);
        if let Err(finding) = replay(&case) {
            panic!("{}\n{case}", finding.what);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generated_cases_are_valid_and_survive_their_text() {
        for number in 0..500 {
            let case = generate::case(&mut Choices::Random(Rng::for_case(3, number)), None);
            assert_eq!(case.validate(), Ok(()));
            let text = case.to_string();
            assert_eq!(Case::parse("text", &text).as_ref(), Ok(&case), "{text}");
        }
    }

    #[test]
    fn wrong_lines_are_named() {
        let head = "mmc 1\nzone 0x0..0x100\npageblock 4\n";
        for (line, part) in [
            ("frob", "no line of a case"),
            ("used 0x10..0x11", "lacks a word"),
            ("used 0x90..0x200 movable", "lie in no zone"),
            ("compact linux_6_12 +F99", "no switch"),
            ("run order=12", "no such order"),
            ("run zone=3", "does not exist"),
            ("zone 0xffffffffffffffff..0x1", "too high"),
        ] {
            let error = Case::parse("case", &format!("{head}{line}\n")).expect_err(line);
            assert!(error.what.contains(part), "{line}: {error}");
            assert_eq!(error.line, 4, "{line}");
        }
        assert!(Case::parse("case", "").is_err());
    }
}
