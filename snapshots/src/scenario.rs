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
    /// The rules under which it runs, in place of those that the script names: a preset, and switches
    /// on top of it (`linux_3_17+fair_policy=3.16`).
    pub presets: &'static [&'static str],
}

/// The scenarios of this package.
pub const SCENARIOS: [Scenario; 5] = [
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
    Scenario {
        name: "fair-zones",
        text: include_str!("../scenarios/fair-zones.mms"),
        presets: &[
            "linux_3_17+fair_policy=3.16",
            "linux_3_17+fair_policy=3.16+kswapd_checks_low=on",
            "linux_3_17+fair_policy=draft+kswapd_checks_low=on",
        ],
    },
    Scenario {
        name: "busy-drains",
        text: include_str!("../scenarios/busy-drains.mms"),
        presets: &["linux_6_1+drain_scheme=work_item", "linux_6_1"],
    },
];

/// The rules that a preset with switches names.
///
/// # Errors
/// No such preset or switch; the error's line is that of a script that says the same.
pub fn rules_of(preset: &str) -> Result<Rules, ParseError> {
    let mut text = String::from("mms 1\nmachine cpus=1\nzone Normal 0x0..0x400\n");
    for (at, word) in preset.split('+').enumerate() {
        text.push_str(if at == 0 { "rules " } else { "rule " });
        text.push_str(word);
        text.push('\n');
    }
    Script::parse(preset, &text).map(|script| script.rules)
}

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
