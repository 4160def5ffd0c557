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
/// One whose lower half is 0 (bug M5).
const LIMITS: [u64; 15] =
    [0, 1, 8, 10, 32, 64, 65, 100, 128, 200, 512, 1000, 5000, 1 << 32, PAGE_COUNTER_MAX];

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
    case.tidy()
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

/// What threads do, and how often.
const THREADS: [(Verb, u64); 22] = [
    (Verb::Charge, 24),
    (Verb::Uncharge, 12),
    (Verb::Refill, 6),
    (Verb::Object, 8),
    (Verb::FreeObject, 8),
    (Verb::Pages, 4),
    (Verb::FreePages, 4),
    (Verb::Max, 2),
    (Verb::MaxV1, 6),
    (Verb::High, 1),
    (Verb::Min, 2),
    (Verb::Low, 2),
    (Verb::Drain, 6),
    (Verb::Work, 6),
    (Verb::Dead, 3),
    (Verb::Remove, 4),
    (Verb::Create, 1),
    (Verb::Reclaim, 1),
    (Verb::Swap, 2),
    (Verb::Unswap, 2),
    (Verb::Event, 1),
    (Verb::Replace, 1),
];
/// The plain half: for these the rules of limits can be told.
const PLAIN: [Verb; 6] =
    [Verb::Charge, Verb::Uncharge, Verb::Refill, Verb::MaxV1, Verb::Drain, Verb::Work];
/// Groups go while their objects are freed and stocks are drained.
const GOING: [Verb; 10] = [
    Verb::Remove,
    Verb::Remove,
    Verb::Dead,
    Verb::Dead,
    Verb::Drain,
    Verb::Work,
    Verb::Object,
    Verb::FreeObject,
    Verb::Charge,
    Verb::Pages,
];
const FEW_PAGES: [u64; 8] = [1, 1, 5, 30, 60, 64, 65, 100];
const FEW_LIMITS: [u64; 7] = [1, 10, 60, 64, 100, 128, 200];

/// Two or three threads of a few operations each, in few groups.
pub(super) fn threads(choices: &mut Choices<'_>) -> Case<Memcg> {
    let cpus = 2 + choices.below(2) as u16;
    let mut case = Case::new(cpus, mmspec_model::vocab::MemcgRules::LINUX_6_17);
    if choices.one_in(4) {
        case.rules = mmspec_model::vocab::MemcgRules::LINUX_6_12;
    }
    let (all, plain, going) =
        (&THREADS[..], PLAIN.map(|verb| (verb, 1)), GOING.map(|verb| (verb, 1)));
    let weights = choices.pick(&[all, &plain, &plain, &going]);
    let plain = weights.len() == PLAIN.len();
    // One below the other more often than not.
    let groups = 2 + choices.below(2);
    for parent in 0..groups - 1 {
        let parent = if choices.one_in(4) { 0 } else { parent as u16 };
        case.ops.push(Op { id: parent, ..Op::new(Verb::Create) });
    }
    for id in 1..groups as u16 {
        if plain || choices.one_in(2) {
            let n = choices.pick(&FEW_LIMITS);
            case.ops.push(Op { id, n, flags: NONBLOCK, ..Op::new(Verb::Max) });
        }
        if choices.one_in(4) {
            let verb = choices.pick(&[Verb::Min, Verb::Low]);
            case.ops.push(Op { id, n: choices.pick(&FEW_LIMITS), ..Op::new(verb) });
        }
    }
    case.ops.push(Op { n: choices.pick(&[0, 7, 100]), m: 1, ..Op::new(Verb::Reclaimer) });
    if weights.len() == GOING.len() {
        // A page of a stock of bytes, which nobody has any more.
        let (id, cpu) = ((groups - 1) as u16, choices.below(u64::from(cpus)) as u16);
        let n = choices.pick(&[4095, 4096]);
        case.ops.push(Op { id, cpu, n, gfp: Gfp::ATOMIC, ..Op::new(Verb::Object) });
        case.ops.push(Op { id, cpu, ..Op::new(Verb::FreeObject) });
    }
    for _ in 0..choices.below(4) {
        let first = thread_op(choices, groups, weights);
        let on_a_cpu = Case::<Memcg>::words(first.verb).1.contains(&crate::flat::Field::Cpu);
        let cpu = choices.below(if on_a_cpu { u64::from(cpus) } else { 1 }) as u16;
        case.ops.push(Op { cpu, ..first });
    }
    case.ops.push(Op::new(Verb::Together));
    for cpu in 0..cpus {
        for at in 0..1 + choices.below(4) {
            let mut op = thread_op(choices, groups, weights);
            let on_a_cpu = Case::<Memcg>::words(op.verb).1.contains(&crate::flat::Field::Cpu);
            let remote = matches!(op.verb, Verb::Work | Verb::Dead);
            if at == 0 && (remote || !on_a_cpu) {
                // The first one of a thread says whose it is.
                let id = op.id.max(1);
                op = Op { id, n: 1, gfp: Gfp::NOWAIT, ..Op::new(Verb::Charge) };
                op.cpu = cpu;
            } else if remote {
                op.cpu = choices.below(u64::from(cpus)) as u16;
            } else if on_a_cpu {
                op.cpu = cpu;
            }
            case.ops.push(op);
        }
    }
    case.tidy()
}

fn thread_op(choices: &mut Choices<'_>, groups: u64, weights: &[(Verb, u64)]) -> Op<Verb> {
    let plain = weights.len() == PLAIN.len();
    let mut at = choices.below(weights.iter().map(|(_, weight)| weight).sum());
    let found = weights.iter().find(|(_, weight)| {
        let here = at < *weight;
        at = at.saturating_sub(*weight);
        here
    });
    let verb = found.map_or(Verb::Charge, |(verb, _)| *verb);
    let mut op = Op { id: 1 + choices.below(groups - 1) as u16, ..Op::new(verb) };
    op.n = match verb {
        Verb::Object => choices.pick(&BYTES),
        Verb::FreeObject => choices.below(8),
        Verb::Event => choices.below(MemcgEvent::COUNT as u64),
        Verb::Max | Verb::MaxV1 | Verb::High | Verb::Min | Verb::Low => choices.pick(&FEW_LIMITS),
        Verb::Work | Verb::Dead | Verb::Drain | Verb::Remove | Verb::Create => 0,
        _ => choices.pick(&FEW_PAGES),
    };
    match verb {
        Verb::Charge | Verb::Object | Verb::Pages => {
            let may_exceed = !plain && choices.one_in(6);
            let gfps = [Gfp::NOWAIT, Gfp::NOWAIT, Gfp::KERNEL.union(Gfp::NORETRY), Gfp::KERNEL];
            op.gfp = if may_exceed { Gfp::ATOMIC } else { choices.pick(&gfps) };
            if verb == Verb::Charge && choices.one_in(2) {
                op.flags = CACHE;
            }
        }
        Verb::Max => op.flags = NONBLOCK,
        Verb::Drain => op.id = choices.below(groups) as u16,
        Verb::Work | Verb::Dead => op.id = 0,
        Verb::Refill | Verb::FreeObject if choices.one_in(6) => op.flags = 8,
        _ => {}
    }
    op
}
