//! Generators of interesting scripts.
//!
//! [`script()`] is the generator; [`strategy`] and [`quick`] are the same one as a proptest strategy and a
//! quickcheck `Arbitrary`, with the harness's own shrinking.

mod machine;
mod ops;
mod profile;
pub mod quick;
mod rng;
pub mod strategy;

pub use machine::{machine, rules, tunables};
pub use rng::Rng;

use crate::script::Script;

/// How large scripts get.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Most operations.
    pub ops: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { ops: 300 }
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
pub fn script_on(rng: &mut Rng, machine: mmspec_model::vocab::Machine, limits: &Limits) -> Script {
    let rules = rules(rng);
    let tunables = tunables(rng, &machine);
    let ops = ops::ops(rng, &machine, limits);
    Script { machine, rules, tunables, ops }
}
