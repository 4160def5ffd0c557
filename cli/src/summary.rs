//! What a run of several engines comes to.

use mmspec_model::laws;
use mmspec_proptests::engine::EngineReport;
use mmspec_proptests::marks::{Mark, Marks};
use std::collections::BTreeMap;

/// The reports of a run, added up.
pub(crate) struct Summary<'a> {
    pub(crate) seed: u64,
    pub(crate) reports: &'a [EngineReport],
    /// Every law and how often it compared something.
    pub(crate) laws: Vec<(&'static laws::Law, u64)>,
    /// Every mark, its name, and how often it was reached.
    pub(crate) marks: Vec<(Mark, String, u64)>,
    /// Every engine ran to its end.
    pub(crate) full: bool,
}

impl<'a> Summary<'a> {
    /// Add up `reports`; `all` says that no engine was left out.
    pub(crate) fn new(seed: u64, reports: &'a [EngineReport], all: bool) -> Self {
        let mut exercised: BTreeMap<&str, u64> = BTreeMap::new();
        let mut marks = Marks::default();
        for report in reports {
            for (law, times) in &report.laws {
                *exercised.entry(law).or_default() += times;
            }
            marks.add(&report.marks);
        }
        let times = |law: &laws::Law| exercised.get(law.id).copied().unwrap_or(0);
        Self {
            seed,
            reports,
            laws: laws::all().map(|law| (law, times(law))).collect(),
            marks: Mark::ALL.iter().map(|mark| (*mark, kebab(*mark), marks.count(*mark))).collect(),
            full: all && reports.iter().all(|report| !report.cancelled),
        }
    }

    /// Nothing was violated, and a full run was not blind.
    pub(crate) fn ok(&self) -> bool {
        let seen = self.unexercised().next().is_none() && self.unreached().next().is_none();
        self.reports.iter().all(EngineReport::ok) && (!self.full || seen)
    }

    /// Laws that never compared anything.
    pub(crate) fn unexercised(&self) -> impl Iterator<Item = &'static laws::Law> + '_ {
        self.laws.iter().filter(|(_, times)| *times == 0).map(|(law, _)| *law)
    }

    /// Marks that were never reached.
    pub(crate) fn unreached(&self) -> impl Iterator<Item = &(Mark, String, u64)> + '_ {
        self.marks.iter().filter(|(_, _, reached)| *reached == 0)
    }
}

/// `MergedToTop` as `merged-to-top`.
fn kebab(mark: Mark) -> String {
    let mut name = String::new();
    for letter in format!("{mark:?}").chars() {
        if letter.is_uppercase() && !name.is_empty() {
            name.push('-');
        }
        name.extend(letter.to_lowercase());
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A report in which every law and every mark was met.
    fn seen() -> EngineReport {
        let mut report = EngineReport::new("laws");
        report.laws = laws::all().map(|law| (law.id, 1)).collect();
        Mark::ALL.iter().for_each(|mark| report.marks.hit(*mark));
        report
    }

    #[test]
    fn a_full_run_must_exercise_every_law_and_reach_every_mark() {
        assert!(Summary::new(1, &[seen()], true).ok());
        let mut blind = seen();
        blind.laws.remove("no-overlap");
        assert!(!Summary::new(1, &[blind.clone()], true).ok());
        assert!(Summary::new(1, &[blind.clone()], false).ok(), "one engine alone may miss some");
        blind.cancelled = true;
        assert!(Summary::new(1, &[blind], true).ok(), "a run that was cut short may miss some");
        assert!(!Summary::new(1, &[EngineReport::new("laws")], true).ok());
    }

    #[test]
    fn a_missed_canary_fails_any_run() {
        let mut missed = seen();
        missed.canary("loses-page", false);
        assert!(!Summary::new(1, &[missed], false).ok());
    }

    #[test]
    fn marks_are_named_in_kebab_case() {
        assert_eq!(kebab(Mark::MergedToTop), "merged-to-top");
    }
}
