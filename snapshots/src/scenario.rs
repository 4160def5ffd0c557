//! Scripts with named phases.

use mmspec_model::vocab::Rules;
use mmspec_proptests::script::{Op, ParseError, Script};

/// A fixed script. A comment line `# phase NAME: what happens` begins a phase; boot is the first.
#[derive(Clone, Copy, Debug)]
pub struct Scenario {
    /// The name; its script is `scenarios/NAME.mms`.
    pub name: &'static str,
    /// The script.
    pub text: &'static str,
    /// The presets under which it runs, in place of the rules that the script names.
    pub presets: &'static [&'static str],
}

/// The scenarios of this package.
pub const SCENARIOS: [Scenario; 3] = [
    Scenario {
        name: "vm-512m",
        text: include_str!("../scenarios/vm-512m.mms"),
        presets: &["linux_6_1", "linux_6_12", "linux_6_18"],
    },
    Scenario {
        name: "odd-edges",
        text: include_str!("../scenarios/odd-edges.mms"),
        presets: &["linux_6_1", "linux_6_12", "linux_6_18"],
    },
    Scenario {
        name: "eight-cpus",
        text: include_str!("../scenarios/eight-cpus.mms"),
        presets: &["linux_6_12"],
    },
];

/// A part of a scenario.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Phase {
    /// Its name and what happens in it.
    pub title: String,
    /// Its operations.
    pub ops: Vec<Op>,
}

impl Scenario {
    /// The script under one of the presets.
    ///
    /// # Errors
    /// The script does not parse.
    pub fn script(&self, rules: Rules) -> Result<Script, ParseError> {
        let mut script = Script::parse(self.name, self.text)?;
        script.rules = rules;
        Ok(script)
    }

    /// The phases of [`Scenario::script`].
    ///
    /// # Errors
    /// The script does not parse.
    pub fn phases(&self, script: &Script) -> Result<Vec<Phase>, ParseError> {
        let mut phases = vec![("boot".to_owned(), 0)];
        let mut before = String::new();
        for line in self.text.lines() {
            if let Some(title) = line.strip_prefix("# phase ") {
                // What stands above a phase is a script of its own: it says where the phase begins.
                phases.push((title.to_owned(), Script::parse(self.name, &before)?.ops.len()));
            }
            before.push_str(line);
            before.push('\n');
        }
        let ends = phases.iter().skip(1).map(|(_, start)| *start).chain([script.ops.len()]);
        Ok(phases
            .iter()
            .zip(ends)
            .map(|((title, start), end)| Phase {
                title: title.clone(),
                ops: script.ops[*start..end].to_vec(),
            })
            .collect())
    }
}
