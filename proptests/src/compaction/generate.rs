//! Cases from a seed or from bytes.

use super::case::{Act, Case, Kind, Scan, Used};
use crate::generate::Rng;
use mmspec_model::contract::CompactMode;
use mmspec_model::vocab::{
    CompactFeatures, CompactFixes, CompactRules, MigrateType, Order, Pfn, PfnRange, Rules,
};

/// Where choices come from.
#[derive(Debug)]
pub enum Choices<'a> {
    /// A seed.
    Random(Rng),
    /// Bytes, which a fuzzer makes up; zeros follow.
    Bytes(&'a [u8]),
}

impl Choices<'_> {
    /// A number below `limit`; 0 if that is 0.
    pub fn below(&mut self, limit: u64) -> u64 {
        match self {
            Self::Random(rng) => rng.below(limit),
            Self::Bytes(bytes) => {
                let take = if limit <= 256 { 1 } else { 2 };
                let mut value = 0;
                for _ in 0..take {
                    let (first, rest) = bytes.split_first().map_or((0, &[][..]), |(f, r)| (*f, r));
                    value = value << 8 | u64::from(first);
                    *bytes = rest;
                }
                if limit == 0 { 0 } else { value % limit }
            }
        }
    }

    /// True once in `n` times.
    pub fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == n - 1
    }

    /// One of `values`, which are some.
    pub fn pick<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.below(values.len() as u64) as usize]
    }
}

const KINDS: [Kind; 11] = [
    Kind::Movable,
    Kind::Pinned,
    Kind::Busy,
    Kind::Again(4),
    Kind::Writeback,
    Kind::Dirty,
    Kind::Locked,
    Kind::File,
    Kind::Driver,
    Kind::Freed,
    Kind::Fixed,
];

/// A valid case, under `rules` or such as are not known to loop.
pub(super) fn case(choices: &mut Choices<'_>, rules: Option<CompactRules>) -> Case {
    let mut case = any_case(choices);
    match rules {
        Some(rules) => case.compact = rules,
        None => tame(&mut case),
    }
    case
}

/// Leave out what is known to loop: those cases are kept as tests of their own.
pub(super) fn tame(case: &mut Case) {
    if case.compact.may_loop() {
        case.compact.fixes.remove(CompactFixes::UNMARKED_PICK);
    }
    for act in &mut case.acts {
        // Who searches by free lists and marks nothing finds the same pageblock again: no kernel does.
        if let Act::Scan(scan) = act {
            scan.no_set_skip &= scan.order.is_none();
        }
    }
    if case.compact.loops_on_signals() {
        for act in &mut case.acts {
            if let Act::Scan(scan) = act {
                scan.signal = None;
            }
        }
    }
}

fn any_case(choices: &mut Choices<'_>) -> Case {
    let pageblock = 3 + choices.below(4) as u8;
    let zones = zones(choices, pageblock);
    let kernel = choices.pick(&[Rules::linux_6_12(), Rules::linux_6_18(), Rules::linux_6_1()]);
    let compact = rules(choices);
    let end = zones.last().map_or(0, |zone| zone.end.0);
    let start = zones.first().map_or(0, |zone| zone.start.0);
    let mut case = Case {
        used: used(choices, &zones, pageblock),
        unmovable: blocks(choices, start, end, pageblock, 8),
        skips: blocks(choices, start, end, pageblock, 3),
        cached: Vec::new(),
        acts: Vec::new(),
        zones,
        pageblock,
        kernel,
        compact,
    };
    for zone in 0..case.zones.len() as u8 {
        if choices.one_in(4) {
            let positions = [0; 3].map(|_| Pfn(choices.below(end + 64)));
            case.cached.push((zone, positions));
        }
    }
    let acts = 1 + choices.below(8);
    case.acts = (0..acts).map(|_| act(choices, &case)).collect();
    case
}

/// Zones that may begin and end in the middle of a pageblock.
fn zones(choices: &mut Choices<'_>, pageblock: u8) -> Vec<PfnRange> {
    let size = 1_u64 << pageblock;
    let count = if choices.one_in(4) { 2 } else { 1 };
    let mut at = if choices.one_in(3) { 1 + choices.below(size) } else { size * choices.below(3) };
    let mut zones = Vec::new();
    for _ in 0..count {
        let blocks = 6 + choices.below(40);
        let ragged = if choices.one_in(3) { choices.below(size) } else { 0 };
        let end = (at / size + blocks) * size + ragged;
        zones.push(PfnRange { start: Pfn(at), end: Pfn(end) });
        at = end;
    }
    zones
}

/// A preset, some patches of the series more or less, or some repairs.
fn rules(choices: &mut Choices<'_>) -> CompactRules {
    let presets = CompactRules::PRESETS.map(|(_, rules)| rules);
    let mut rules =
        if choices.one_in(2) { CompactRules::linux_6_12() } else { choices.pick(&presets) };
    if choices.one_in(4) {
        for bit in 0..22 {
            if choices.one_in(4) {
                rules.features ^= CompactFeatures::from_bits_truncate(1 << bit);
            }
        }
    }
    if choices.one_in(8) {
        let bit = choices.below(22);
        rules.fixes ^= CompactFixes::from_bits_truncate(1 << bit);
    }
    rules
}

/// Frames in use: some density everywhere, and whole stretches of one kind.
fn used(choices: &mut Choices<'_>, zones: &[PfnRange], pageblock: u8) -> Vec<Used> {
    let mut used: Vec<Used> = Vec::new();
    let density = choices.pick(&[50_u64, 30, 70, 80, 90]);
    for zone in zones {
        let mut at = zone.start.0;
        while at < zone.end.0 {
            let longest = if choices.one_in(8) { 2 << pageblock } else { 6 };
            let run = 1 + choices.below(longest);
            let end = (at + run).min(zone.end.0);
            if choices.below(100) < density {
                let kind = if choices.one_in(6) { choices.pick(&KINDS) } else { Kind::Movable };
                match used.last_mut() {
                    Some(last) if last.range.end.0 == at && last.kind == kind => {
                        last.range.end = Pfn(end);
                    }
                    _ => {
                        used.push(Used { range: PfnRange { start: Pfn(at), end: Pfn(end) }, kind })
                    }
                }
            }
            at = end;
        }
    }
    used
}

/// One pageblock in so many.
fn blocks(choices: &mut Choices<'_>, start: u64, end: u64, pageblock: u8, one_in: u64) -> Vec<Pfn> {
    if choices.one_in(2) {
        return Vec::new();
    }
    let size = 1_usize << pageblock;
    let first = start >> pageblock << pageblock;
    (first..end).step_by(size).filter(|_| choices.one_in(one_in)).map(Pfn).collect()
}

fn act(choices: &mut Choices<'_>, case: &Case) -> Act {
    let end = case.zones.last().map_or(0, |zone| zone.end.0);
    match choices.below(12) {
        0..=6 => Act::Scan(scan(choices, case)),
        7 => Act::Flush,
        8 => Act::Drain,
        9 => Act::Free(Pfn(choices.below(end))),
        10 => Act::Alloc,
        _ => {
            let size = 1 << case.pageblock;
            let at = choices.below(end / size + 1) * size;
            let end = at + size * (1 + choices.below(2));
            Act::Range(PfnRange { start: Pfn(at), end: Pfn(end) })
        }
    }
}

fn scan(choices: &mut Choices<'_>, case: &Case) -> Scan {
    let whole = choices.one_in(3);
    let direct = choices.one_in(2);
    let top = u64::from(case.pageblock);
    let order = if whole && choices.one_in(2) {
        None
    } else if choices.one_in(3) {
        Some(1 + choices.below(top + 1) as u8)
    } else {
        Some(top as u8)
    };
    let modes = [CompactMode::SyncLight, CompactMode::Async, CompactMode::Sync];
    Scan {
        zone: choices.below(case.zones.len() as u64) as u8,
        order: order.map(Order::of),
        migratetype: choices.pick(&[
            MigrateType::Movable,
            MigrateType::Movable,
            MigrateType::Unmovable,
            MigrateType::Reclaimable,
        ]),
        mode: choices.pick(&modes),
        direct,
        whole,
        // Ranges leave the bits alone, and are for no order.
        no_set_skip: order.is_none() && choices.one_in(4),
        signal: choices.one_in(6).then(|| choices.below(4) as u8),
        contended: choices.one_in(10),
        resched: choices.one_in(10),
    }
}
