//! Cases made of one-line operations: text, choices, shrinking and the engine that memory cgroups and slab
//! caches share.
//!
//! ```text
//! mcg 1
//! cpus 2
//! rules linux_6_17 -recursive
//! create g0
//! charge g1 cpu=0 n=3 gfp=GFP_KERNEL
//! ```
//!
//! What comes after the line `together` is run by threads, one for each CPU, under the schedule that the case
//! names. An operation belongs to the thread of its CPU; one that has none, or whose CPU is somebody it works on,
//! to the thread of the operation before it.

mod engine;
mod shrink;
mod text;
mod threads;

pub use engine::{Play, fuzz, hunt, replay, run};
pub use text::begins;
pub use threads::{Explore, Thread, columns, hunt as hunt_threads};

use crate::compaction::Choices;
use crate::engine::Finding;
use crate::lawful::Exercised;
use crate::schedules::{Executed, Schedule, Strategy};
use mmspec_model::vocab::Gfp;
use std::fmt::Debug;
use std::marker::PhantomData;

/// A word of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Field {
    /// `cpu=`.
    Cpu,
    /// A letter of the language and a number: who.
    Id,
    /// `of=` and the same: another one.
    Other,
    /// `n=`.
    N,
    /// `m=`.
    M,
    /// `gfp=`.
    Gfp,
    /// Words of the language, joined by `|`, after `as=`.
    Flags,
}

/// One operation. Fields that its verb does not have are 0.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Op<V> {
    /// What is done.
    pub verb: V,
    /// Where.
    pub cpu: u16,
    /// To whom.
    pub id: u16,
    /// And whom.
    pub other: u16,
    /// How much.
    pub n: u64,
    /// Another number.
    pub m: u64,
    /// With which flags.
    pub gfp: Gfp,
    /// Under which conditions.
    pub flags: u8,
}

impl<V> Op<V> {
    /// The verb alone.
    #[must_use]
    pub const fn new(verb: V) -> Self {
        Self { verb, cpu: 0, id: 0, other: 0, n: 0, m: 0, gfp: Gfp::empty(), flags: 0 }
    }
}

/// What a language consists of.
pub trait Language: Copy + PartialEq + Debug + 'static {
    /// The first word of its files, and their ending.
    const MAGIC: &'static str;
    /// The engine.
    const ENGINE: &'static str;
    /// The letter of an id.
    const LETTER: char;
    /// Where its words are told.
    const DOC: &'static str;
    /// CPUs at most.
    const CPUS: u16 = 8;
    /// Names of the flags, lowest bit first.
    const FLAGS: &'static [&'static str];
    /// Presets of the rules.
    const PRESETS: &'static [(&'static str, Self::Rules)];
    /// Switches of the rules, told apart by their setters.
    const SWITCHES: &'static [Switch<Self::Rules>];
    /// What can be done, with the words that it has.
    const VERBS: &'static [(Self::Verb, &'static str, &'static [Field])];
    /// What can be done.
    type Verb: Copy + PartialEq + Eq + Debug + std::hash::Hash;
    /// Switches between kernels.
    type Rules: Copy + PartialEq + Debug;

    /// A case.
    fn generate(choices: &mut Choices<'_>) -> Case<Self>;

    /// Play a case; laws that compared something are counted. How many operations did something.
    ///
    /// # Errors
    /// What is wrong.
    fn play(case: &Case<Self>, exercised: &mut Exercised) -> Result<u64, Finding>;

    /// A case with threads.
    fn generate_threads(choices: &mut Choices<'_>) -> Case<Self>;

    /// Run a case's threads under at most `most` schedules, up to the first finding.
    fn explore(
        case: &Case<Self>,
        strategy: Strategy,
        most: u64,
        exercised: &mut Exercised,
    ) -> Executed;
}

/// A switch of rules: its name, whether it is on, and how to set it.
pub type Switch<R> = (&'static str, fn(&R) -> bool, fn(&mut R, bool));

/// A case.
#[derive(Clone, PartialEq, Debug)]
pub struct Case<L: Language> {
    /// Number of CPUs.
    pub cpus: u16,
    /// The rules.
    pub rules: L::Rules,
    /// What is done.
    pub ops: Vec<Op<L::Verb>>,
    /// Under which schedule threads run what comes after `together`; `None`: one operation after another.
    pub schedule: Option<Schedule>,
    /// Only a name.
    pub language: PhantomData<L>,
}

impl<L: Language> Case<L> {
    /// Nothing done yet.
    #[must_use]
    pub const fn new(cpus: u16, rules: L::Rules) -> Self {
        Self { cpus, rules, ops: Vec::new(), schedule: None, language: PhantomData }
    }

    /// Words that an operation's verb does not have are 0: its text would not give them back.
    pub(crate) fn tidy(mut self) -> Self {
        for op in &mut self.ops {
            let (_, words) = Self::words(op.verb);
            let has = |word| words.contains(&word);
            let plain = Op::new(op.verb);
            *op = Op {
                cpu: if has(Field::Cpu) { op.cpu } else { plain.cpu },
                id: if has(Field::Id) { op.id } else { plain.id },
                other: if has(Field::Other) { op.other } else { plain.other },
                n: if has(Field::N) { op.n } else { plain.n },
                m: if has(Field::M) { op.m } else { plain.m },
                gfp: if has(Field::Gfp) { op.gfp } else { plain.gfp },
                flags: if has(Field::Flags) { op.flags } else { plain.flags },
                ..plain
            };
        }
        self
    }

    /// The name of a verb and its words.
    pub(crate) fn words(verb: L::Verb) -> (&'static str, &'static [Field]) {
        L::VERBS
            .iter()
            .find(|(known, ..)| *known == verb)
            .map_or(("?", &[]), |(_, name, words)| (name, words))
    }

    /// Text of one operation.
    #[must_use]
    pub fn op_text(&self, at: usize) -> Option<String> {
        self.ops.get(at).map(text::op_text::<L>)
    }
}
