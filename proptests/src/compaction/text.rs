//! The text form, `.mmc`.
//!
//! ```text
//! mmc 1
//! zone 0x1..0x400                   # ascending; at most three
//! pageblock 5                       # the order of a pageblock
//! kernel linux_6_12                 # rules of the allocator
//! compact linux_6_12 -F09 +ZONE_START   # rules of compaction: a preset, patches and repairs more or less
//! used 0x10..0x20 movable           # also: pinned busy again=4 writeback dirty locked file driver freed fixed
//! unmovable 0x40                    # an Unmovable pageblock
//! skip 0x40                         # a skip bit
//! cached zone=0 0x40 0x40 0x3e0     # migrate async, migrate sync, free
//! run zone=0 order=5 type=Movable mode=async direct
//! flush
//! drain
//! free 0x12
//! alloc
//! range 0x40..0x80
//! ```
//!
//! `run` takes `order=all` for a whole zone, and the words `direct`, `whole`, `no_set_skip`, `contended`,
//! `resched`, `signal=N` (after N iterations).

use super::case::{Act, Case, Kind, Scan, Used};
use crate::script::ParseError;
use mmspec_model::contract::CompactMode;
use mmspec_model::vocab::{
    CompactFeatures, CompactFixes, CompactRules, MigrateType, Order, Pfn, PfnRange, Rules,
};
use std::fmt;

const KINDS: [(&str, Kind); 10] = [
    ("movable", Kind::Movable),
    ("pinned", Kind::Pinned),
    ("busy", Kind::Busy),
    ("writeback", Kind::Writeback),
    ("dirty", Kind::Dirty),
    ("locked", Kind::Locked),
    ("file", Kind::File),
    ("driver", Kind::Driver),
    ("freed", Kind::Freed),
    ("fixed", Kind::Fixed),
];

const MODES: [(&str, CompactMode); 3] = [
    ("async", CompactMode::Async),
    ("sync_light", CompactMode::SyncLight),
    ("sync", CompactMode::Sync),
];

/// The name of a value in a table.
fn name_of<T: Copy + PartialEq>(table: &[(&'static str, T)], value: T) -> &'static str {
    table.iter().find(|(_, known)| *known == value).map_or("?", |(name, _)| name)
}

struct Frames(PfnRange);

impl fmt::Display for Frames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}..{:#x}", self.0.start.0, self.0.end.0)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Again(times) => write!(f, "again={times}"),
            kind => f.write_str(name_of(&KINDS, *kind)),
        }
    }
}

impl fmt::Display for Act {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flush => f.write_str("flush"),
            Self::Drain => f.write_str("drain"),
            Self::Alloc => f.write_str("alloc"),
            Self::Free(pfn) => write!(f, "free {:#x}", pfn.0),
            Self::Range(range) => write!(f, "range {}", Frames(*range)),
            Self::Scan(scan) => {
                write!(f, "run zone={} order=", scan.zone)?;
                match scan.order {
                    Some(order) => write!(f, "{order}")?,
                    None => f.write_str("all")?,
                }
                write!(f, " type={} mode={}", scan.migratetype, name_of(&MODES, scan.mode))?;
                for (name, on) in [
                    ("direct", scan.direct),
                    ("whole", scan.whole),
                    ("no_set_skip", scan.no_set_skip),
                    ("contended", scan.contended),
                    ("resched", scan.resched),
                ] {
                    if on {
                        write!(f, " {name}")?;
                    }
                }
                scan.signal.map_or(Ok(()), |at| write!(f, " signal={at}"))
            }
        }
    }
}

/// The preset that differs least, and what differs.
fn write_rules(f: &mut fmt::Formatter<'_>, rules: &CompactRules) -> fmt::Result {
    let distance = |preset: &CompactRules| {
        (preset.features ^ rules.features).bits().count_ones()
            + (preset.fixes ^ rules.fixes).bits().count_ones()
    };
    let presets = CompactRules::PRESETS;
    let Some((name, nearest)) = presets.iter().min_by_key(|(_, preset)| distance(preset)) else {
        return Ok(());
    };
    write!(f, "compact {name}")?;
    for (name, feature) in (nearest.features ^ rules.features).iter_names() {
        write!(f, " {}{name}", if rules.features.contains(feature) { '+' } else { '-' })?;
    }
    for (name, fix) in (nearest.fixes ^ rules.fixes).iter_names() {
        write!(f, " {}{name}", if rules.fixes.contains(fix) { '+' } else { '-' })?;
    }
    writeln!(f)
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "mmc 1")?;
        for zone in &self.zones {
            writeln!(f, "zone {}", Frames(*zone))?;
        }
        writeln!(f, "pageblock {}", self.pageblock)?;
        writeln!(f, "kernel {}", self.kernel.preset_name().unwrap_or("linux_6_12"))?;
        write_rules(f, &self.compact)?;
        for Used { range, kind } in &self.used {
            writeln!(f, "used {} {kind}", Frames(*range))?;
        }
        for block in &self.unmovable {
            writeln!(f, "unmovable {:#x}", block.0)?;
        }
        for block in &self.skips {
            writeln!(f, "skip {:#x}", block.0)?;
        }
        for (zone, [fast, slow, free]) in &self.cached {
            writeln!(f, "cached zone={zone} {:#x} {:#x} {:#x}", fast.0, slow.0, free.0)?;
        }
        self.acts.iter().try_for_each(|act| writeln!(f, "{act}"))
    }
}

/// What a line lacks, and a way out.
type Wrong = (String, &'static str);

fn number(word: &str) -> Result<u64, Wrong> {
    let parsed = match word.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => word.parse(),
    };
    parsed.map_err(|_| (format!("{word:?} is no number"), "write 12 or 0xc"))
}

fn frame(word: &str) -> Result<Pfn, Wrong> {
    let pfn = number(word)?;
    // Sums of frames stay far from the largest number.
    if pfn >> 32 != 0 {
        return Err((format!("frame {word} is too high"), "frames are below 0x10000"));
    }
    Ok(Pfn(pfn))
}

fn frames(word: &str) -> Result<PfnRange, Wrong> {
    let split = word.split_once("..");
    let (start, end) =
        split.ok_or_else(|| (format!("{word:?} is no range"), "write 0x10..0x20"))?;
    Ok(PfnRange { start: frame(start)?, end: frame(end)? })
}

fn of_table<T: Copy>(table: &[(&str, T)], word: &str) -> Result<T, Wrong> {
    table.iter().find(|(name, _)| *name == word).map(|(_, value)| *value).ok_or_else(|| {
        let names: Vec<&str> = table.iter().map(|(name, _)| *name).collect();
        (format!("{word:?} is none of {}", names.join(" ")), "take one of these words")
    })
}

fn kind(word: &str) -> Result<Kind, Wrong> {
    match word.strip_prefix("again=") {
        Some(times) => Ok(Kind::Again(number(times)?.min(255) as u8)),
        None => of_table(&KINDS, word),
    }
}

fn rules(words: &[&str]) -> Result<CompactRules, Wrong> {
    let presets = CompactRules::PRESETS;
    let mut rules = of_table(&presets, words.first().copied().unwrap_or(""))?;
    for word in &words[1..] {
        let (on, name) = match (word.strip_prefix('+'), word.strip_prefix('-')) {
            (Some(name), _) => (true, name),
            (_, Some(name)) => (false, name),
            _ => return Err((format!("{word:?} is no switch"), "write +F09 or -F09")),
        };
        if let Some(feature) = CompactFeatures::from_name(name) {
            rules.features.set(feature, on);
        } else if let Some(fix) = CompactFixes::from_name(name) {
            rules.fixes.set(fix, on);
        } else {
            return Err((
                format!("there is no switch {name:?}"),
                "see CompactFeatures and CompactFixes",
            ));
        }
    }
    Ok(rules)
}

fn run(words: &[&str]) -> Result<Act, Wrong> {
    let mut scan = Scan {
        zone: 0,
        order: None,
        migratetype: MigrateType::Movable,
        mode: CompactMode::SyncLight,
        direct: false,
        whole: false,
        no_set_skip: false,
        signal: None,
        contended: false,
        resched: false,
    };
    for word in words {
        match word.split_once('=').unwrap_or((word, "")) {
            ("zone", zone) => scan.zone = number(zone)?.min(255) as u8,
            ("order", "all") => scan.order = None,
            ("order", order) => {
                let order = u8::try_from(number(order)?).ok().and_then(Order::new);
                scan.order = Some(
                    order.ok_or_else(|| (format!("{word}: no such order"), "0 to 10, or all"))?,
                );
            }
            ("type", name) => {
                let known = MigrateType::ALL.into_iter().find(|known| known.to_string() == name);
                scan.migratetype = known.filter(|known| known.is_pcp_type()).ok_or_else(|| {
                    (format!("{name:?} is no type"), "Movable, Unmovable, Reclaimable")
                })?;
            }
            ("mode", mode) => scan.mode = of_table(&MODES, mode)?,
            ("signal", at) => scan.signal = Some(number(at)?.min(255) as u8),
            ("direct", "") => scan.direct = true,
            ("whole", "") => scan.whole = true,
            ("no_set_skip", "") => scan.no_set_skip = true,
            ("contended", "") => scan.contended = true,
            ("resched", "") => scan.resched = true,
            _ => {
                return Err((
                    format!("{word:?} says nothing about a run"),
                    "see docs/compaction.md",
                ));
            }
        }
    }
    Ok(Act::Scan(scan))
}

impl Case {
    /// Parse a case; `file` is only named in errors.
    ///
    /// # Errors
    /// The first line that does not parse, or that the machine does not allow.
    pub fn parse(file: &str, text: &str) -> Result<Self, ParseError> {
        let error = |line: usize, (what, hint): Wrong| ParseError {
            file: file.to_owned(),
            line,
            column: 1,
            what,
            hint: hint.to_owned(),
        };
        let mut case = Self {
            zones: Vec::new(),
            pageblock: 9,
            kernel: Rules::linux_6_12(),
            compact: CompactRules::linux_6_12(),
            used: Vec::new(),
            unmovable: Vec::new(),
            skips: Vec::new(),
            cached: Vec::new(),
            acts: Vec::new(),
        };
        let mut begun = false;
        let mut last = 1;
        for (at, line) in text.lines().enumerate() {
            let words: Vec<&str> =
                line.split('#').next().unwrap_or("").split_whitespace().collect();
            let Some((first, rest)) = words.split_first() else { continue };
            last = at + 1;
            if !begun {
                begun = true;
                if words != ["mmc", "1"] {
                    let what = format!("{first:?} begins no case of compaction");
                    return Err(error(last, (what, "the first line is: mmc 1")));
                }
                continue;
            }
            case.line(first, rest).map_err(|wrong| error(last, wrong))?;
        }
        if !begun {
            return Err(error(1, ("an empty case".into(), "the first line is: mmc 1")));
        }
        case.validate().map_err(|what| error(last, (what, "change the machine or the case")))?;
        Ok(case)
    }

    fn line(&mut self, first: &str, rest: &[&str]) -> Result<(), Wrong> {
        let word = |at: usize| {
            rest.get(at)
                .copied()
                .ok_or_else(|| (format!("{first} lacks a word"), "see docs/compaction.md"))
        };
        match first {
            "zone" => self.zones.push(frames(word(0)?)?),
            "pageblock" => self.pageblock = number(word(0)?)?.min(255) as u8,
            "kernel" => {
                let name = word(0)?;
                self.kernel = Rules::preset(name).ok_or_else(|| {
                    (format!("there are no rules {name:?}"), "linux_6_12, for one")
                })?;
            }
            "compact" => self.compact = rules(rest)?,
            "used" => self.used.push(Used { range: frames(word(0)?)?, kind: kind(word(1)?)? }),
            "unmovable" => self.unmovable.push(frame(word(0)?)?),
            "skip" => self.skips.push(frame(word(0)?)?),
            "cached" => {
                let zone = word(0)?.strip_prefix("zone=").unwrap_or("");
                let positions = [frame(word(1)?)?, frame(word(2)?)?, frame(word(3)?)?];
                self.cached.push((number(zone)?.min(255) as u8, positions));
            }
            "run" => self.acts.push(run(rest)?),
            "flush" => self.acts.push(Act::Flush),
            "drain" => self.acts.push(Act::Drain),
            "alloc" => self.acts.push(Act::Alloc),
            "free" => self.acts.push(Act::Free(frame(word(0)?)?)),
            "range" => self.acts.push(Act::Range(frames(word(0)?)?)),
            _ => return Err((format!("{first:?} is no line of a case"), "see docs/compaction.md")),
        }
        Ok(())
    }
}
