//! A stored case: a script, and the schedule under which its columns run as threads, if it has one.

use crate::schedules::Schedule;
use crate::script::{ParseError, Script};
use std::fmt;

/// A script with its schedule. As text the schedule is one more line, `schedule 0*3 1*7 …`,
/// anywhere after the header line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Case {
    /// The script.
    pub script: Script,
    /// The thread that goes on at each step; `None`: one operation after another.
    pub schedule: Option<Schedule>,
}

impl Case {
    /// Parse a script with or without a schedule; `file` is only named in errors.
    ///
    /// # Errors
    /// The first line that does not parse, or that the machine cannot run.
    pub fn parse(file: &str, text: &str) -> Result<Self, ParseError> {
        let mut schedule = None;
        let mut rest = String::with_capacity(text.len());
        for (at, line) in text.lines().enumerate() {
            if let Some(steps) = line.trim_start().strip_prefix("schedule ") {
                let steps = steps.split('#').next().unwrap_or("");
                let parsed = steps.parse().map_err(|error| ParseError {
                    file: file.to_owned(),
                    line: at + 1,
                    column: line.chars().count() - line.trim_start().chars().count() + 10,
                    what: format!("{error}"),
                    hint: "write runs of threads, e.g. schedule 0*3 1*7".to_owned(),
                })?;
                schedule = Some(parsed);
            } else {
                rest.push_str(line);
            }
            // Lines keep their numbers.
            rest.push('\n');
        }
        Ok(Self { script: Script::parse(file, &rest)?, schedule })
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.script)?;
        match &self.schedule {
            Some(schedule) => writeln!(f, "schedule {schedule}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "mms 1\nzone Normal 0x0..0x40\n";

    #[test]
    fn a_schedule_is_a_line_of_the_case() {
        let text = format!("{HEAD}tick cpu=0\nschedule 0*3 1*2 # found by PCT\n");
        let case = Case::parse("case", &text).expect("parses");
        assert_eq!(case.schedule.as_ref().map(|schedule| schedule.0.len()), Some(5));
        assert_eq!(Case::parse("case", &case.to_string()), Ok(case));
        let plain = Case::parse("case", HEAD).expect("parses");
        assert_eq!(plain.schedule, None);
    }

    #[test]
    fn errors_keep_their_lines() {
        let error = Case::parse("case", &format!("{HEAD}schedule x\n")).expect_err("wrong");
        assert_eq!((error.line, error.column), (3, 10), "{error}");
        let text = format!("{HEAD}schedule 0*1\nfrob\n");
        let error = Case::parse("case", &text).expect_err("wrong");
        assert_eq!((error.line, error.column), (4, 1), "{error}");
    }
}
