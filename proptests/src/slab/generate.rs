//! Cases from choices.

use super::language::{Slab, Verb};
use crate::compaction::Choices;
use crate::flat::{Case, Language, Op};
use mmspec_model::vocab::{Gfp, SlabRules};

const GFPS: [Gfp; 6] = [
    Gfp::KERNEL,
    Gfp::KERNEL,
    Gfp::ATOMIC,
    Gfp::NOWAIT,
    Gfp::KERNEL.union(Gfp::NOFAIL),
    Gfp::KERNEL.union(Gfp::NORETRY),
];
/// Small objects fill slabs slowly, large ones at once.
const SIZES: [u64; 12] = [8, 24, 64, 96, 192, 256, 512, 1024, 2048, 2112, 4096, 9000];

const WEIGHTS: [(Verb, u64); 13] = [
    (Verb::Alloc, 34),
    (Verb::Free, 28),
    (Verb::Bulk, 10),
    (Verb::FreeBulk, 10),
    (Verb::Create, 1),
    (Verb::Destroy, 1),
    (Verb::Flush, 3),
    (Verb::Shrink, 2),
    (Verb::MinPartial, 1),
    (Verb::CpuPartial, 1),
    (Verb::Rcu, 2),
    (Verb::Refuse, 4),
    (Verb::Wrong, 1),
];

/// A valid case of up to a hundred and fifty operations.
pub(super) fn case(choices: &mut Choices<'_>) -> Case<Slab> {
    let cpus = 1 + choices.below(3) as u16;
    let rules =
        if choices.one_in(2) { choices.pick(Slab::PRESETS).1 } else { SlabRules::LINUX_6_17 };
    let mut case = Case::new(cpus, rules);
    for (_, on, set) in Slab::SWITCHES {
        if choices.one_in(4) {
            let other = !on(&case.rules);
            set(&mut case.rules, other);
        }
    }
    let caches = 1 + choices.below(3);
    for _ in 0..caches {
        case.ops.push(create(choices));
    }
    for _ in 0..10 + choices.below(140) {
        case.ops.push(op(choices, caches, cpus));
    }
    case.tidy()
}

fn create(choices: &mut Choices<'_>) -> Op<Verb> {
    let flags = if choices.one_in(3) { choices.pick(&[1, 4, 8, 12, 32]) } else { 0 };
    let (n, m) = (choices.pick(&SIZES), choices.pick(&[0, 3, 6]));
    Op { n, m, flags, ..Op::new(Verb::Create) }
}

fn op(choices: &mut Choices<'_>, caches: u64, cpus: u16) -> Op<Verb> {
    let all: u64 = WEIGHTS.iter().map(|(_, weight)| weight).sum();
    let mut at = choices.below(all);
    let verb = WEIGHTS.iter().find_map(|(verb, weight)| {
        let here = at < *weight;
        at = at.saturating_sub(*weight);
        here.then_some(*verb)
    });
    let verb = verb.unwrap_or(Verb::Alloc);
    if verb == Verb::Create {
        return create(choices);
    }
    let mut op = Op::new(verb);
    op.cpu = choices.below(u64::from(cpus)) as u16;
    if !matches!(verb, Verb::Rcu | Verb::Refuse) {
        op.id = choices.below(caches) as u16;
    }
    match verb {
        Verb::Alloc => op.gfp = choices.pick(&GFPS),
        Verb::Bulk => {
            op.gfp = choices.pick(&GFPS);
            op.n = choices.pick(&[1, 2, 5, 16, 33, 64]);
        }
        Verb::Free => op.n = choices.below(256),
        Verb::FreeBulk => {
            op.n = choices.pick(&[1, 2, 5, 16, 33, 64]);
            op.m = choices.below(256);
        }
        Verb::MinPartial => op.n = choices.below(8),
        Verb::CpuPartial => op.n = choices.pick(&[0, 6, 30, 120]),
        Verb::Refuse => {
            op.n = choices.pick(&[1, 1, 2, 5]);
            op.m = choices.below(2);
            op.cpu = 0;
        }
        Verb::Wrong => {
            op.n = choices.below(256);
            op.m = choices.pick(&[1, 4, 8, 4096]);
        }
        _ => {}
    }
    op
}

/// What threads do, and how often.
const THREADS: [(Verb, u64); 9] = [
    (Verb::Alloc, 14),
    (Verb::Free, 26),
    (Verb::Bulk, 6),
    (Verb::FreeBulk, 8),
    (Verb::Flush, 6),
    (Verb::Shrink, 4),
    (Verb::CpuPartial, 2),
    (Verb::MinPartial, 1),
    (Verb::Rcu, 1),
];

/// Two or three threads of a few operations each, on a cache or two with few objects in a slab.
pub(super) fn threads(choices: &mut Choices<'_>) -> Case<Slab> {
    let cpus = 2 + choices.below(2) as u16;
    let mut case = Case::new(cpus, SlabRules::LINUX_6_17);
    if choices.one_in(4) {
        case.rules = choices.pick(Slab::PRESETS).1;
    }
    for (_, on, set) in Slab::SWITCHES {
        if choices.one_in(6) {
            let other = !on(&case.rules);
            set(&mut case.rules, other);
        }
    }
    let caches = 1 + choices.below(2);
    for _ in 0..caches {
        let flags = if choices.one_in(6) { choices.pick(&[4, 8, 32]) } else { 0 };
        let n = choices.pick(&[1024, 2048, 4096, 4096]);
        case.ops.push(Op { n, flags, ..Op::new(Verb::Create) });
    }
    if choices.one_in(2) {
        case.ops.push(Op { n: choices.below(3), ..Op::new(Verb::MinPartial) });
    }
    if choices.one_in(3) {
        case.ops.push(Op { n: choices.pick(&[0, 6, 16]), ..Op::new(Verb::CpuPartial) });
    }
    // Full slabs of this CPU and of that: remote frees are what threads are for.
    for cpu in 0..cpus {
        let (n, id) = (choices.pick(&[1, 3, 8, 9, 16]), choices.below(caches) as u16);
        case.ops.push(Op { n, id, cpu, gfp: Gfp::KERNEL, ..Op::new(Verb::Bulk) });
    }
    case.ops.push(Op::new(Verb::Together));
    for cpu in 0..cpus {
        for at in 0..1 + choices.below(5) {
            let mut op = thread_op(choices, caches);
            let own = !matches!(op.verb, Verb::Flush | Verb::MinPartial);
            if at == 0 && !own {
                op = Op { id: op.id, n: op.n, ..Op::new(Verb::Free) };
            }
            let own = own || at == 0;
            op.cpu = if own { cpu } else { choices.below(u64::from(cpus)) as u16 };
            if op.verb == Verb::MinPartial {
                op.cpu = 0;
            }
            case.ops.push(op);
        }
    }
    case.tidy()
}

fn thread_op(choices: &mut Choices<'_>, caches: u64) -> Op<Verb> {
    let mut at = choices.below(THREADS.iter().map(|(_, weight)| weight).sum());
    let found = THREADS.iter().find(|(_, weight)| {
        let here = at < *weight;
        at = at.saturating_sub(*weight);
        here
    });
    let verb = found.map_or(Verb::Free, |(verb, _)| *verb);
    let mut op = Op { id: choices.below(caches) as u16, ..Op::new(verb) };
    match verb {
        Verb::Alloc => op.gfp = choices.pick(&GFPS),
        Verb::Bulk => {
            op.gfp = choices.pick(&GFPS);
            op.n = choices.pick(&[2, 5, 8]);
        }
        Verb::Free => op.n = choices.below(32),
        Verb::FreeBulk => {
            op.n = choices.pick(&[2, 5, 16]);
            op.m = choices.below(32);
        }
        Verb::MinPartial => op.n = choices.below(4),
        Verb::CpuPartial => op.n = choices.pick(&[0, 6, 16]),
        Verb::Rcu => op.id = 0,
        _ => {}
    }
    op
}
