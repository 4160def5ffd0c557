//! Cases from choices.

use super::language::{CACHE, Memcg, NONBLOCK, SIGNAL, Verb};
use crate::compaction::Choices;
use crate::flat::{Case, Language, Op};
use mmspec_model::vocab::{Gfp, MemcgEvent, PAGE_COUNTER_MAX};

const GFPS: [Gfp; 8] = [
    Gfp::KERNEL,
    Gfp::KERNEL,
    Gfp::KERNEL_ACCOUNT,
    Gfp::NOWAIT,
    Gfp::ATOMIC,
    Gfp::KERNEL.union(Gfp::NORETRY),
    Gfp::KERNEL.union(Gfp::RETRY_MAYFAIL),
    Gfp::KERNEL.union(Gfp::NOFAIL),
];
/// Pages: around a batch, a costly order, a huge page.
const PAGES: [u64; 14] = [1, 1, 1, 2, 3, 8, 9, 31, 32, 63, 64, 65, 100, 512];
const BYTES: [u64; 10] = [8, 72, 100, 520, 1032, 2120, 4095, 4096, 4097, 9000];
const LIMITS: [u64; 14] =
    [0, 1, 8, 10, 32, 64, 65, 100, 128, 200, 512, 1000, 5000, PAGE_COUNTER_MAX];

/// How often each is done.
const WEIGHTS: [(Verb, u64); 30] = [
    (Verb::Charge, 26),
    (Verb::Object, 12),
    (Verb::Uncharge, 8),
    (Verb::FreeObject, 8),
    (Verb::Create, 5),
    (Verb::Remove, 4),
    (Verb::Max, 4),
    (Verb::High, 3),
    (Verb::Refill, 4),
    (Verb::Replace, 2),
    (Verb::Pages, 3),
    (Verb::FreePages, 3),
    (Verb::Min, 3),
    (Verb::Low, 3),
    (Verb::MaxV1, 1),
    (Verb::SwapMax, 1),
    (Verb::Reclaim, 2),
    (Verb::OverHigh, 2),
    (Verb::Swap, 2),
    (Verb::Unswap, 2),
    (Verb::Drain, 3),
    (Verb::Work, 4),
    (Verb::Dead, 1),
    (Verb::Event, 1),
    (Verb::Protect, 4),
    (Verb::OpenPeak, 1),
    (Verb::ResetPeak, 1),
    (Verb::ReadPeak, 2),
    (Verb::ClosePeak, 1),
    (Verb::Reclaimer, 2),
];

fn verb(choices: &mut Choices<'_>) -> Verb {
    let all: u64 = WEIGHTS.iter().map(|(_, weight)| weight).sum();
    let mut at = choices.below(all);
    for (verb, weight) in WEIGHTS {
        if at < weight {
            return verb;
        }
        at -= weight;
    }
    Verb::Charge
}

/// A valid case of up to a hundred operations.
pub(super) fn case(choices: &mut Choices<'_>) -> Case<Memcg> {
    let cpus = 1 + choices.below(3) as u16;
    let rules = if choices.one_in(3) {
        choices.pick(Memcg::PRESETS).1
    } else {
        mmspec_model::vocab::MemcgRules::LINUX_6_17
    };
    let mut case = Case::new(cpus, rules);
    for (_, on, set) in Memcg::SWITCHES {
        if choices.one_in(8) {
            let other = !on(&case.rules);
            set(&mut case.rules, other);
        }
    }
    // The root and two groups, one below the other more often than not.
    let mut groups = 1;
    for _ in 0..2 {
        let parent = choices.below(groups) as u16;
        case.ops.push(Op { id: parent, ..Op::new(Verb::Create) });
        groups += 1;
    }
    for _ in 0..8 + choices.below(92) {
        let op = op(choices, groups, cpus);
        if op.verb == Verb::Create {
            groups += 1;
        }
        case.ops.push(op);
    }
    case
}

fn op(choices: &mut Choices<'_>, groups: u64, cpus: u16) -> Op<Verb> {
    let mut op = Op::new(verb(choices));
    let (_, words) = Case::<Memcg>::words(op.verb);
    for word in words {
        use crate::flat::Field;
        match word {
            Field::Cpu => op.cpu = choices.below(u64::from(cpus)) as u16,
            // Recent groups are the deep ones.
            Field::Id => op.id = (groups - 1 - choices.below(groups).min(groups - 1)) as u16,
            Field::Other => op.other = choices.below(groups) as u16,
            Field::Gfp => op.gfp = choices.pick(&GFPS),
            Field::Flags if choices.one_in(3) => op.flags = flags(choices),
            Field::N => op.n = amount(choices, op.verb),
            Field::M if op.verb == Verb::Reclaimer => op.m = choices.below(2),
            Field::M if choices.one_in(8) => op.m = choices.pick(&[1, 32, 64, 65]),
            Field::Flags | Field::M => {}
        }
    }
    if op.verb == Verb::Charge && choices.one_in(2) {
        op.flags |= CACHE;
    }
    op
}

fn flags(choices: &mut Choices<'_>) -> u8 {
    choices.pick(&[1, 2, 4, 12, NONBLOCK, SIGNAL, CACHE])
}

fn amount(choices: &mut Choices<'_>, verb: Verb) -> u64 {
    match verb {
        Verb::Object => choices.pick(&BYTES),
        Verb::FreeObject | Verb::ResetPeak | Verb::ReadPeak | Verb::ClosePeak => choices.below(8),
        Verb::Event => choices.below(MemcgEvent::COUNT as u64),
        Verb::Min | Verb::Low | Verb::Max | Verb::High | Verb::MaxV1 | Verb::SwapMax => {
            choices.pick(&LIMITS)
        }
        Verb::Reclaimer => choices.pick(&[0, 1, 7, 32, 1000]),
        _ => choices.pick(&PAGES),
    }
}
