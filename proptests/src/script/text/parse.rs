//! Parsing: line by line, the header part before the operations.

use super::args::{Args, Word};
use super::{header, ops};
use crate::script::{Op, Script, ScriptError};
use mmspec_model::vocab::{Machine, Rules, Tunables};

/// Why a text is no script: where, what, and a way out.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{file}:{line}:{column}: {what}: {hint}")]
pub struct ParseError {
    /// The file, as the caller named it.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1, in characters.
    pub column: usize,
    /// What is wrong.
    pub what: String,
    /// What to do about it.
    pub hint: String,
}

const OPS_FOLLOW: &str = "move it above the first operation";

/// What has been read so far.
struct Reader {
    script: Script,
    in_force: Tunables,
    boot_set: bool,
    op_lines: Vec<usize>,
}

pub(super) fn script(file: &str, text: &str) -> Result<Script, ParseError> {
    let mut reader = Reader {
        script: Script {
            machine: Machine::new(1, &[]),
            rules: Rules::default(),
            tunables: Tunables::default(),
            ops: Vec::new(),
        },
        in_force: Tunables::default(),
        boot_set: false,
        op_lines: Vec::new(),
    };
    let mut versioned = false;
    let mut last = 1;
    for (at, line) in text.lines().enumerate() {
        last = at + 1;
        let mut args = Args::new(file, at + 1, line);
        let Some(first) = args.next() else { continue };
        if !versioned {
            version(&mut args, first)?;
            versioned = true;
        } else {
            reader.line(&mut args, first, at + 1)?;
        }
        args.finish()?;
    }
    let end = Args::new(file, last, "");
    if !versioned {
        return Err(end.error(1, "the file is empty".to_owned(), "start with the line \"mms 1\""));
    }
    reader.finish(file, last)
}

fn version(args: &mut Args<'_>, first: Word<'_>) -> Result<(), ParseError> {
    let hint = "start with the line \"mms 1\"";
    if first.text != "mms" {
        let hint = match first.text {
            "runs" => "a case of your own allocator runs in its test, with conformance::replay",
            _ => hint,
        };
        return Err(args.error(first.column, "not a script".to_owned(), hint));
    }
    let word = args.expect("the language version", hint)?;
    if word.text == "1" {
        return Ok(());
    }
    let what = format!("language version \"{}\" is not known", word.text);
    Err(args.error(word.column, what, "this mmspec reads version 1: use a newer mmspec"))
}

impl Reader {
    fn line(
        &mut self,
        args: &mut Args<'_>,
        first: Word<'_>,
        number: usize,
    ) -> Result<(), ParseError> {
        let is_header = matches!(
            first.text,
            "machine" | "zone" | "hole" | "reserved" | "cma" | "rules" | "rule"
        );
        if is_header && !self.script.ops.is_empty() {
            let what = format!("\"{}\" after an operation", first.text);
            return Err(args.error(first.column, what, OPS_FOLLOW));
        }
        let script = &mut self.script;
        match first.text {
            "machine" => header::machine(args, &mut script.machine)?,
            "zone" => script.machine.zones.push(header::zone(args)?),
            "hole" => script.machine.holes.push(header::range(args)?),
            "reserved" => script.machine.reserved.push(header::range(args)?),
            "cma" => script.machine.cma.push(header::range(args)?),
            "rules" => script.rules = header::rules(args)?,
            "rule" => header::rule(args, &mut script.rules)?,
            "set" if script.ops.is_empty() && !self.boot_set => {
                script.tunables = header::tunables(args, &Tunables::default())?;
                self.in_force = script.tunables;
                self.boot_set = true;
            }
            _ => {
                let op = ops::op(args, first, &self.in_force)?;
                script.check_op(&op).map_err(|wrong| {
                    let hint = if script.machine.zones.is_empty() {
                        "describe the machine first (machine and zone lines)"
                    } else {
                        "see the machine at the top of the file"
                    };
                    args.error(first.column, wrong.to_string(), hint)
                })?;
                if let Op::Set { tunables } = &op {
                    self.in_force = *tunables;
                }
                script.ops.push(op);
                self.op_lines.push(number);
            }
        }
        Ok(())
    }

    fn finish(self, file: &str, last: usize) -> Result<Script, ParseError> {
        match self.script.validate() {
            Ok(()) => Ok(self.script),
            Err(error) => {
                let (line, hint) = match error {
                    ScriptError::Op { at, .. } => (self.op_lines[at], "change this operation"),
                    ScriptError::Machine(_) => (last, "change the machine's lines"),
                    _ => (last, "change the script"),
                };
                let what = error.to_string();
                Err(Args::new(file, line, "").error(1, what, hint))
            }
        }
    }
}
