//! The words of `.slb` cases (docs/slub.md).

use super::{bench, generate, threads};
use crate::compaction::Choices;
use crate::engine::Finding;
use crate::flat::{Case, Field, Language, Switch};
use crate::lawful::Exercised;
use crate::schedules::{Executed, Strategy};
use mmspec_model::vocab::SlabRules;

/// The language.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Slab;

/// What can be done.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Verb {
    /// Make a cache for objects of n bytes, aligned to 2^m.
    Create,
    /// Destroy it.
    Destroy,
    /// An object.
    Alloc,
    /// Free the n-th live one.
    Free,
    /// n objects by one call.
    Bulk,
    /// Free n objects from the m-th live one on by one call.
    FreeBulk,
    /// Flush a CPU.
    Flush,
    /// Shrink.
    Shrink,
    /// Write min_partial.
    MinPartial,
    /// Write cpu_partial.
    CpuPartial,
    /// A grace period passes.
    Rcu,
    /// The next n requests for pages of order m and more are refused.
    Refuse,
    /// Free what is no object: m bytes into the n-th live one.
    Wrong,
    /// Free the object again that was freed last.
    Twice,
    /// From here on threads run.
    Together,
}

const SWITCHES: &[Switch<SlabRules>] = &[
    ("random", |rules| rules.random_freelist, |rules, on| rules.random_freelist = on),
    ("hardened", |rules| rules.hardened, |rules, on| rules.hardened = on),
];

use Field::{Cpu, Flags, Gfp, Id, M, N};

impl Language for Slab {
    const MAGIC: &'static str = "slb";
    const ENGINE: &'static str = "slab";
    const LETTER: char = 'k';
    const DOC: &'static str = "docs/slub.md";
    const FLAGS: &'static [&'static str] =
        &["reclaim_account", "account", "rcu", "ctor", "dma", "debug"];
    const PRESETS: &'static [(&'static str, SlabRules)] = &SlabRules::PRESETS;
    const SWITCHES: &'static [Switch<SlabRules>] = SWITCHES;
    const VERBS: &'static [(Verb, &'static str, &'static [Field])] = &[
        (Verb::Create, "create", &[N, M, Flags]),
        (Verb::Destroy, "destroy", &[Id, Cpu]),
        (Verb::Alloc, "alloc", &[Id, Cpu, Gfp]),
        (Verb::Free, "free", &[Id, Cpu, N]),
        (Verb::Bulk, "bulk", &[Id, Cpu, N, Gfp]),
        (Verb::FreeBulk, "free_bulk", &[Id, Cpu, N, M]),
        (Verb::Flush, "flush", &[Id, Cpu]),
        (Verb::Shrink, "shrink", &[Id, Cpu]),
        (Verb::MinPartial, "min_partial", &[Id, N]),
        (Verb::CpuPartial, "cpu_partial", &[Id, Cpu, N]),
        (Verb::Rcu, "rcu", &[Cpu]),
        (Verb::Refuse, "refuse", &[N, M]),
        (Verb::Wrong, "wrong", &[Id, Cpu, N, M]),
        (Verb::Twice, "twice", &[Id, Cpu]),
        (Verb::Together, "together", &[]),
    ];
    type Verb = Verb;
    type Rules = SlabRules;

    fn generate(choices: &mut Choices<'_>) -> Case<Self> {
        generate::case(choices)
    }

    fn play(case: &Case<Self>, exercised: &mut Exercised) -> Result<u64, Finding> {
        bench::of_implementation(case, exercised)
    }

    fn generate_threads(choices: &mut Choices<'_>) -> Case<Self> {
        generate::threads(choices)
    }

    fn explore(
        case: &Case<Self>,
        strategy: Strategy,
        most: u64,
        exercised: &mut Exercised,
    ) -> Executed {
        threads::of_implementation(case, strategy, most, exercised)
    }
}
