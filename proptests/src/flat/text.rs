//! The text form.

use super::{Case, Field, Language, Op};
use crate::schedules::ScheduleError;
use crate::script::ParseError;
use mmspec_model::vocab::Gfp;
use std::fmt::{self, Write as _};

/// Text of one operation: words that are 0 or empty are left out.
pub(super) fn op_text<L: Language>(op: &Op<L::Verb>) -> String {
    let (name, words) = Case::<L>::words(op.verb);
    let mut text = name.to_owned();
    for word in words {
        // Writing to a String cannot fail.
        let _ = match word {
            Field::Id => write!(text, " {}{}", L::LETTER, op.id),
            Field::Other => write!(text, " of={}{}", L::LETTER, op.other),
            Field::Cpu if op.cpu > 0 => write!(text, " cpu={}", op.cpu),
            Field::N if op.n > 0 => write!(text, " n={}", op.n),
            Field::M if op.m > 0 => write!(text, " m={}", op.m),
            Field::Gfp if !op.gfp.is_empty() => write!(text, " gfp={}", op.gfp),
            Field::Flags if op.flags > 0 => write!(text, " as={}", flags_text::<L>(op.flags)),
            _ => Ok(()),
        };
    }
    text
}

fn flags_text<L: Language>(flags: u8) -> String {
    let on = L::FLAGS.iter().enumerate().filter(|(bit, _)| flags & 1 << bit != 0);
    on.map(|(_, name)| *name).collect::<Vec<_>>().join("|")
}

impl<L: Language> fmt::Display for Case<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} 1\ncpus {}", L::MAGIC, self.cpus)?;
        let apart = |preset: &L::Rules| {
            L::SWITCHES.iter().filter(|(_, on, _)| on(preset) != on(&self.rules)).count()
        };
        // Switches do not tell all presets apart: the one that they lead from.
        let leads = |(_, preset): &&(&str, L::Rules)| {
            let mut rules = *preset;
            L::SWITCHES.iter().for_each(|(_, on, set)| set(&mut rules, on(&self.rules)));
            rules == self.rules
        };
        let preset = L::PRESETS.iter().filter(leads).min_by_key(|(_, preset)| apart(preset));
        if let Some((name, preset)) = preset {
            write!(f, "rules {name}")?;
            for (switch, on, _) in L::SWITCHES {
                if on(preset) != on(&self.rules) {
                    write!(f, " {}{switch}", if on(&self.rules) { '+' } else { '-' })?;
                }
            }
            writeln!(f)?;
        }
        self.ops.iter().try_for_each(|op| writeln!(f, "{}", op_text::<L>(op)))?;
        self.schedule.iter().try_for_each(|schedule| writeln!(f, "schedule {schedule}"))
    }
}

/// Whether a text begins as a case of the language does.
#[must_use]
pub fn begins<L: Language>(text: &str) -> bool {
    let mut words =
        text.lines().flat_map(|line| line.split('#').next().unwrap_or("").split_whitespace());
    words.next() == Some(L::MAGIC)
}

/// What is wrong with a line, and a way out.
type Wrong = (String, String);

fn number<T: TryFrom<u64>>(word: &str) -> Result<T, Wrong> {
    let value: Option<u64> = word.parse().ok();
    value
        .and_then(|value| T::try_from(value).ok())
        .ok_or_else(|| (format!("{word:?} is no number, or too large"), "write 12".into()))
}

fn id<L: Language>(word: &str) -> Result<u16, Wrong> {
    let digits = word.strip_prefix(L::LETTER);
    digits.map_or_else(
        || Err((format!("{word:?} names nobody"), format!("write {}1", L::LETTER))),
        number,
    )
}

fn flags<L: Language>(words: &str) -> Result<u8, Wrong> {
    words.split('|').try_fold(0, |flags, word| {
        let bit = L::FLAGS.iter().position(|known| *known == word);
        let bit = bit.ok_or_else(|| {
            (format!("{word:?} is none of {}", L::FLAGS.join(" ")), "take one of them".to_owned())
        })?;
        Ok(flags | 1 << bit)
    })
}

fn op<L: Language>(first: &str, rest: &[&str]) -> Result<Op<L::Verb>, Wrong> {
    let verb = L::VERBS.iter().find(|(_, name, _)| *name == first);
    let (verb, _, fields) =
        verb.ok_or_else(|| (format!("{first:?} is no operation"), format!("see {}", L::DOC)))?;
    let mut op = Op::new(*verb);
    for word in rest {
        let (field, value) = match word.split_once('=') {
            Some(("cpu", value)) => (Field::Cpu, value),
            Some(("of", value)) => (Field::Other, value),
            Some(("n", value)) => (Field::N, value),
            Some(("m", value)) => (Field::M, value),
            Some(("gfp", value)) => (Field::Gfp, value),
            Some(("as", value)) => (Field::Flags, value),
            _ => (Field::Id, *word),
        };
        if !fields.contains(&field) {
            return Err((format!("{first} has no {word:?}"), format!("see {}", L::DOC)));
        }
        match field {
            Field::Cpu => op.cpu = number(value)?,
            Field::Id => op.id = id::<L>(value)?,
            Field::Other => op.other = id::<L>(value)?,
            Field::N => op.n = number(value)?,
            Field::M => op.m = number(value)?,
            Field::Gfp => {
                op.gfp = Gfp::parse(value).map_err(|error| {
                    (format!("{value:?}: {error}"), "GFP_KERNEL, for one".into())
                })?;
            }
            Field::Flags => op.flags = flags::<L>(value)?,
        }
    }
    Ok(op)
}

fn rules<L: Language>(words: &[&str]) -> Result<L::Rules, Wrong> {
    let name = words.first().copied().unwrap_or("");
    let mut rules = L::PRESETS.iter().find(|(known, _)| *known == name).map(|(_, rules)| *rules);
    let names = || L::PRESETS.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(" ");
    let rules = rules
        .as_mut()
        .ok_or_else(|| (format!("there are no rules {name:?}"), format!("one of {}", names())))?;
    for word in &words[1.min(words.len())..] {
        let (on, name) = match (word.strip_prefix('+'), word.strip_prefix('-')) {
            (Some(name), _) => (true, name),
            (_, Some(name)) => (false, name),
            _ => return Err((format!("{word:?} is no switch"), "write +name or -name".into())),
        };
        let switch = L::SWITCHES.iter().find(|(known, ..)| *known == name);
        let (.., set) = switch
            .ok_or_else(|| (format!("there is no switch {name:?}"), format!("see {}", L::DOC)))?;
        set(rules, on);
    }
    Ok(*rules)
}

impl<L: Language> Case<L> {
    /// Parse a case; `file` is only named in errors.
    ///
    /// # Errors
    /// The first line that does not parse.
    pub fn parse(file: &str, text: &str) -> Result<Self, ParseError> {
        let error = |line: usize, (what, hint): Wrong| ParseError {
            file: file.to_owned(),
            line,
            column: 1,
            what,
            hint,
        };
        let head = format!("the first line is: {} 1", L::MAGIC);
        let Some((_, preset)) = L::PRESETS.last() else {
            return Err(error(1, ("a language without rules".into(), head)));
        };
        let mut case = Self::new(1, *preset);
        let mut begun = false;
        for (at, line) in text.lines().enumerate() {
            let words: Vec<&str> =
                line.split('#').next().unwrap_or("").split_whitespace().collect();
            let Some((first, rest)) = words.split_first() else { continue };
            let line = at + 1;
            if !begun {
                begun = true;
                if words != [L::MAGIC, "1"] {
                    return Err(error(line, (format!("{first:?} begins no such case"), head)));
                }
                continue;
            }
            case.line(first, rest).map_err(|wrong| error(line, wrong))?;
        }
        if !begun {
            return Err(error(1, ("an empty case".into(), head)));
        }
        Ok(case)
    }

    fn line(&mut self, first: &str, rest: &[&str]) -> Result<(), Wrong> {
        let early = |what: &str| {
            Err((format!("{what} after an operation"), "move it above the first one".to_owned()))
        };
        match first {
            "cpus" | "rules" if !self.ops.is_empty() => return early(first),
            "cpus" => {
                self.cpus = number(rest.first().copied().unwrap_or(""))?;
                if self.cpus == 0 || self.cpus > L::CPUS {
                    let way = format!("1 to {}", L::CPUS);
                    return Err((format!("{} CPUs", self.cpus), way));
                }
            }
            "rules" => self.rules = rules::<L>(rest)?,
            "schedule" => {
                let schedule = rest.join(" ").parse();
                self.schedule = Some(schedule.map_err(|error: ScheduleError| {
                    (error.to_string(), "write schedule 0*3 1*7".to_owned())
                })?);
            }
            _ => {
                let op = op::<L>(first, rest)?;
                if op.cpu >= self.cpus {
                    let way = "raise the number of cpus".to_owned();
                    return Err((format!("there is no cpu {}", op.cpu), way));
                }
                self.ops.push(op);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compaction::Choices;
    use crate::generate::Rng;
    use crate::memcg::Memcg;
    use crate::slab::Slab;

    fn survive<L: Language>() {
        let empty = L::generate(&mut Choices::Bytes(&[]));
        let random = |number| L::generate(&mut Choices::Random(Rng::for_case(3, number)));
        for case in (0..500).map(random).chain([empty]) {
            let text = case.to_string();
            assert_eq!(Case::<L>::parse("text", &text).as_ref(), Ok(&case), "{text}");
        }
    }

    #[test]
    fn generated_cases_survive_their_text() {
        survive::<Memcg>();
        survive::<Slab>();
    }

    #[test]
    fn wrong_lines_are_named() {
        for (line, part) in [
            ("frob", "no operation"),
            ("create", ""),
            ("charge k1", "names nobody"),
            ("charge g1 cpu=9", "no cpu"),
            ("charge g1 n=x", "no number"),
            ("charge g1 gfp=GFP_NONSENSE", "GFP_NONSENSE"),
            ("charge g1 as=never", "none of"),
            ("work g1", "has no"),
            ("rules linux_6_17", "after an operation"),
        ] {
            let text = format!("mcg 1\ncpus 2\ncreate g0\n{line}\n");
            match Case::<Memcg>::parse("case", &text) {
                Ok(_) => assert_eq!(line, "create", "{line}"),
                Err(error) => {
                    assert!(error.what.contains(part), "{line}: {error}");
                    assert_eq!(error.line, 4, "{line}");
                }
            }
        }
        assert!(Case::<Memcg>::parse("case", "").is_err());
        assert!(Case::<Memcg>::parse("case", "mcg 1\nrules linux_2_4\n").is_err());
        assert!(Case::<Memcg>::parse("case", "mcg 1\ncpus 99\n").is_err());
    }
}
