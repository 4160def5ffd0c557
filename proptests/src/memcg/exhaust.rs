//! All sequences of a few operations on two groups and two CPUs, the specification and the implementation in
//! lockstep. States that look the same are gone on from once.

use super::bench::Bench;
use super::language::{CACHE, Memcg, Verb};
use super::lockstep::step;
use crate::drive::catch;
use crate::engine::{Config, EngineReport, Failure, Finding};
use crate::flat::{Case, Language, Op};
use mmspec_impl::memcg::OwnedMemcg;
use mmspec_impl::platform::StdPlatform;
use mmspec_model::reference::memcg::Reference;
use mmspec_model::vocab::{Gfp, MemcgRules};
use std::collections::BTreeSet;

const CPUS: u16 = 2;

/// How far to search.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bounds {
    /// Longest sequence of operations after the groups are made.
    pub depth: usize,
    /// Most states. Each takes some kilobytes while it waits.
    pub states: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { depth: 8, states: 60_000 }
    }
}

/// A group and one below it, with limits near a batch.
fn begin(rules: MemcgRules) -> Case<Memcg> {
    let mut case = Case::new(CPUS, rules);
    case.ops = vec![
        Op::new(Verb::Create),
        Op { id: 1, ..Op::new(Verb::Create) },
        Op { id: 1, n: 70, ..Op::new(Verb::Max) },
        Op { id: 2, n: 2, ..Op::new(Verb::Low) },
    ];
    case
}

/// What can come next: around a batch, on both CPUs, by stock and without.
fn alphabet() -> Vec<Op<Verb>> {
    let op = |verb, id, cpu, n, gfp, flags| Op { id, cpu, n, gfp, flags, ..Op::new(verb) };
    let none = Gfp::empty();
    vec![
        op(Verb::Charge, 2, 0, 1, Gfp::NOWAIT, 0),
        op(Verb::Charge, 2, 1, 6, Gfp::KERNEL.union(Gfp::NORETRY), CACHE),
        op(Verb::Charge, 1, 0, 64, Gfp::ATOMIC, 0),
        op(Verb::Uncharge, 2, 0, 1, none, 0),
        op(Verb::Refill, 1, 0, 64, none, 0),
        op(Verb::Refill, 2, 1, 6, none, 0),
        op(Verb::Object, 2, 0, 2120, Gfp::NOWAIT, 0),
        op(Verb::Object, 2, 1, 4097, Gfp::KERNEL, 0),
        op(Verb::FreeObject, 2, 1, 0, none, 0),
        op(Verb::Drain, 1, 1, 0, none, 0),
        op(Verb::Work, 0, 0, 0, none, 0),
        op(Verb::Dead, 0, 1, 0, none, 0),
        op(Verb::MaxV1, 1, 0, 8, none, 0),
        op(Verb::Low, 2, 0, 0, none, 0),
        op(Verb::Remove, 2, 0, 0, none, 0),
    ]
}

type Both = (Bench<Reference>, Bench<OwnedMemcg<StdPlatform>>);

struct Waiting {
    both: Both,
    path: Vec<Op<Verb>>,
}

/// Search within the bounds and the budget, whose cases are transitions here.
pub fn explore(config: &Config<'_>, bounds: Bounds) -> EngineReport {
    let mut report = EngineReport::new(Memcg::ENGINE);
    let mut clock = config.clock(Memcg::ENGINE);
    let rules = MemcgRules::LINUX_6_17;
    let start = begin(rules);
    let mut both: Both = (
        Bench::new(Reference::new(rules, CPUS), CPUS),
        Bench::new(OwnedMemcg::new(usize::from(CPUS), 3, 1, rules), CPUS),
    );
    for op in &start.ops {
        both.0.act(op);
        both.1.act(op);
    }
    let mut known = BTreeSet::from([both.1.key()]);
    let mut layer = vec![Waiting { both, path: Vec::new() }];
    let alphabet = alphabet();
    let (mut depth, mut goes_on) = (0, true);
    while depth < bounds.depth && !layer.is_empty() && goes_on && report.failures.is_empty() {
        let mut next = Vec::new();
        for waiting in layer {
            let before = waiting.both.1.picture();
            for op in &alphabet {
                goes_on &= clock.goes_on(report.operations, report.operations);
                if !goes_on || !report.failures.is_empty() {
                    break;
                }
                report.operations += 1;
                let mut both = waiting.both.clone();
                let laws = &mut report.laws;
                let stepped = catch(|| step(rules, &mut both.0, &mut both.1, &before, op, laws))
                    .unwrap_or_else(|what| Err(("panic", what)));
                let mut path = waiting.path.clone();
                path.push(*op);
                if let Err((kind, what)) = stepped {
                    let mut case = start.clone();
                    case.ops.extend(path);
                    let at = Some(case.ops.len() - 1);
                    let finding = Finding { kind: kind.to_owned(), what, at };
                    let before = case.ops.len();
                    report.failures.push(Failure::own(
                        Memcg::ENGINE,
                        finding,
                        case,
                        config.seed,
                        0,
                        before,
                    ));
                    break;
                }
                if known.len() < bounds.states && known.insert(both.1.key()) {
                    next.push(Waiting { both, path });
                }
            }
        }
        depth += 1;
        layer = next;
    }
    report.states = Some(known.len() as u64);
    report.depth = Some(depth as u64);
    report.cancelled = clock.cancelled();
    report.seconds = clock.seconds();
    report
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Budget;

    #[test]
    fn all_sequences_of_four_operations_are_equal_and_lawful() {
        let bounds = Bounds { depth: 4, ..Bounds::default() };
        let report = explore(&Config::new(1, Budget::default()), bounds);
        if let Some(failure) = report.failures.first() {
            panic!("{}\n{}", failure.finding.what, failure.case_text());
        }
        assert_eq!(report.depth, Some(4));
        // A fact of the policy: a change here is a change of behaviour.
        assert!(report.states > Some(1_000), "{:?}", report.states);
        assert!(report.operations > 2 * report.states.unwrap_or(0), "states are met again");
    }
}
