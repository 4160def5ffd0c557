//! The words of `.mcg` cases (docs/memcg.md).

use super::{generate, lockstep, threads};
use crate::compaction::Choices;
use crate::engine::Finding;
use crate::flat::{Case, Field, Language, Switch};
use crate::lawful::Exercised;
use crate::schedules::{Executed, Strategy};
use mmspec_model::contract::ChargeTask;
use mmspec_model::vocab::MemcgRules;

/// The language.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Memcg;

/// What can be done.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Verb {
    /// mkdir below a group.
    Create,
    /// rmdir.
    Remove,
    /// Charge pages of a folio.
    Charge,
    /// Uncharge them.
    Uncharge,
    /// Give charged pages back to a stock.
    Refill,
    /// Charge by force, for a replacement.
    Replace,
    /// Charge an object.
    Object,
    /// Free one.
    FreeObject,
    /// Charge kernel pages.
    Pages,
    /// Free them.
    FreePages,
    /// memory.min.
    Min,
    /// memory.low.
    Low,
    /// memory.max.
    Max,
    /// memory.high.
    High,
    /// A limit of version 1.
    MaxV1,
    /// memory.swap.max, by version 1's rule.
    SwapMax,
    /// memory.reclaim.
    Reclaim,
    /// On the way to user space.
    OverHigh,
    /// Charge swap entries.
    Swap,
    /// Free them.
    Unswap,
    /// drain_all_stock.
    Drain,
    /// A CPU's worker.
    Work,
    /// A CPU dies.
    Dead,
    /// Raise an event.
    Event,
    /// Compute effective protection.
    Protect,
    /// Open memory.peak.
    OpenPeak,
    /// Write to it.
    ResetPeak,
    /// Read it.
    ReadPeak,
    /// Close it.
    ClosePeak,
    /// From here on threads run.
    Together,
    /// How the embedder reclaims from now on: at most n pages at a time; a killer if m is not 0.
    Reclaimer,
}

/// Flags beyond those of a task.
pub(super) const CACHE: u8 = 16;
pub(super) const NONBLOCK: u8 = 32;
pub(super) const SIGNAL: u8 = 64;

/// The task in an operation's flags. Who interrupts the holder of a stock is no task, and never waits.
pub(super) fn task(flags: u8) -> ChargeTask {
    ChargeTask::from_bits_truncate(flags & 15)
}

const SWITCHES: &[Switch<MemcgRules>] = &[
    ("recursive", |rules| rules.recursive_protection, |rules, on| rules.recursive_protection = on),
    ("local_events", |rules| rules.local_events, |rules, on| rules.local_events = on),
    ("high_may_exceed", |rules| rules.high_may_exceed, |rules, on| rules.high_may_exceed = on),
    (
        "forced_raises_max",
        |rules| rules.forced_raises_max,
        |rules, on| {
            rules.forced_raises_max = on;
        },
    ),
    ("high_in_charge", |rules| rules.high_in_charge, |rules, on| rules.high_in_charge = on),
];

use Field::{Cpu, Flags, Gfp, Id, M, N, Other};

impl Language for Memcg {
    const MAGIC: &'static str = "mcg";
    const ENGINE: &'static str = "memcg";
    const LETTER: char = 'g';
    const DOC: &'static str = "docs/memcg.md";
    const FLAGS: &'static [&'static str] =
        &["memalloc", "dying", "interrupt", "nested", "cache", "nonblock", "signal"];
    const PRESETS: &'static [(&'static str, MemcgRules)] = &MemcgRules::PRESETS;
    const SWITCHES: &'static [Switch<MemcgRules>] = SWITCHES;
    const VERBS: &'static [(Verb, &'static str, &'static [Field])] = &[
        (Verb::Create, "create", &[Id]),
        (Verb::Remove, "remove", &[Id, Cpu]),
        (Verb::Charge, "charge", &[Id, Cpu, N, M, Gfp, Flags]),
        (Verb::Uncharge, "uncharge", &[Id, N]),
        (Verb::Refill, "refill", &[Id, Cpu, N, Flags]),
        (Verb::Replace, "replace", &[Id, N]),
        (Verb::Object, "object", &[Id, Cpu, N, M, Gfp, Flags]),
        (Verb::FreeObject, "free_object", &[Id, Cpu, N, Flags]),
        (Verb::Pages, "pages", &[Id, Cpu, N, M, Gfp, Flags]),
        (Verb::FreePages, "free_pages", &[Id, N]),
        (Verb::Min, "min", &[Id, N]),
        (Verb::Low, "low", &[Id, N]),
        (Verb::Max, "max", &[Id, Cpu, N, Flags]),
        (Verb::High, "high", &[Id, Cpu, N, Flags]),
        (Verb::MaxV1, "max_v1", &[Id, N]),
        (Verb::SwapMax, "swap_max", &[Id, N]),
        (Verb::Reclaim, "reclaim", &[Id, Cpu, N, Flags]),
        (Verb::OverHigh, "over_high", &[Id, Cpu, N, Flags]),
        (Verb::Swap, "swap", &[Id, N]),
        (Verb::Unswap, "unswap", &[Id, N]),
        (Verb::Drain, "drain", &[Id, Cpu]),
        (Verb::Work, "work", &[Cpu]),
        (Verb::Dead, "dead", &[Cpu]),
        (Verb::Event, "event", &[Id, N]),
        (Verb::Protect, "protect", &[Id, Other]),
        (Verb::OpenPeak, "open_peak", &[Id]),
        (Verb::ResetPeak, "reset_peak", &[N]),
        (Verb::ReadPeak, "read_peak", &[N]),
        (Verb::ClosePeak, "close_peak", &[N]),
        (Verb::Together, "together", &[]),
        (Verb::Reclaimer, "reclaimer", &[N, M]),
    ];
    type Verb = Verb;
    type Rules = MemcgRules;

    fn generate(choices: &mut Choices<'_>) -> Case<Self> {
        generate::case(choices)
    }

    fn play(case: &Case<Self>, exercised: &mut Exercised) -> Result<u64, Finding> {
        lockstep::compared(case, exercised)
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
