//! Generators of interesting scripts.
//!
//! [`script()`] is the generator; [`strategy`] and [`quick`] are the same one as a proptest strategy and a
//! quickcheck `Arbitrary`, with the harness's own shrinking.

mod machine;
mod mixing;
mod ops;
mod profile;
pub mod quick;
mod rng;
pub mod strategy;
pub(crate) mod walks;

pub(crate) use machine::frame;
pub use machine::{machine, rules, tunables};
pub use rng::Rng;

use crate::script::Script;
use mmspec_model::vocab::{Machine, Rules};

/// How large scripts get.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Most operations.
    pub ops: usize,
    /// The rules of every script; `None` draws them.
    pub rules: Option<Rules>,
}

impl Limits {
    /// So many operations, rules drawn.
    #[must_use]
    pub const fn ops(ops: usize) -> Self {
        Self { ops, rules: None }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self { ops: 300, rules: None }
    }
}

/// A script drawn from `rng`: the same stream gives the same script.
#[must_use]
pub fn script(rng: &mut Rng, limits: &Limits) -> Script {
    let machine = machine(rng);
    script_on(rng, machine, limits)
}

/// A script for a given machine.
#[must_use]
pub fn script_on(rng: &mut Rng, machine: Machine, limits: &Limits) -> Script {
    let drawn = rules(rng);
    let rules = limits.rules.unwrap_or(drawn);
    let tunables = tunables(rng, &machine);
    let ops = ops::ops(rng, &machine, limits);
    Script { machine, rules, tunables, ops }
}
