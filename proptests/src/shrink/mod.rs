//! Shrinking of scripts: what fails becomes smaller while it keeps failing.
//!
//! One algorithm serves every engine, the fuzzer's crashes included, because a case is always a
//! script: operations are dropped (halves first, then single ones, then whole lives of blocks),
//! handles are dropped from bulk and batch operations, operations are simplified, the machine,
//! the rules and the tunables are made plainer, and handles are numbered anew. Passes repeat until
//! none of them gets further.

mod edit;

use crate::script::Script;
use edit::Edit;

/// The passes in order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Pass {
    /// Drop `chunk` neighbouring operations, from the end.
    Drop(usize),
    /// Drop an operation that defines handles with all uses of them.
    DropLife,
    /// Drop one handle of a bulk or batch operation.
    DropHandle,
    /// Make one operation simpler.
    Operation,
    /// Make the machine, rules or tunables plainer.
    Setting,
    /// Number the handles from 1.
    Renumber,
}

/// A shrink in progress. The caller runs each candidate and says whether it still fails.
#[derive(Clone, Debug)]
pub struct Shrinker {
    best: Script,
    pending: Option<Script>,
    pass: Pass,
    at: usize,
    /// Whether any candidate was accepted since the passes began.
    improved: bool,
    done: bool,
}

impl Shrinker {
    /// Start from a failing script.
    #[must_use]
    pub fn new(best: Script) -> Self {
        let pass = Pass::Drop((best.ops.len() / 2).max(1));
        Self { best, pending: None, pass, at: 0, improved: false, done: false }
    }

    /// The smallest failing script so far.
    #[must_use]
    pub const fn best(&self) -> &Script {
        &self.best
    }

    /// The next candidate, if there is any left. Ask again only after [`Shrinker::accept`] or
    /// [`Shrinker::reject`]; a candidate without a verdict counts as rejected.
    pub fn next_candidate(&mut self) -> Option<Script> {
        self.reject();
        while !self.done {
            match self.edit() {
                Edit::Candidate(script) => {
                    self.pending = Some((*script).clone());
                    return Some(*script);
                }
                Edit::Nothing => self.at += 1,
                Edit::End => self.next_pass(),
            }
        }
        None
    }

    /// The candidate still fails: go on from it.
    pub fn accept(&mut self) {
        if let Some(script) = self.pending.take() {
            self.best = script;
            self.improved = true;
            // What was dropped made room for the next one at the same position.
            if !matches!(self.pass, Pass::Drop(_) | Pass::DropLife | Pass::DropHandle) {
                self.at += 1;
            }
        }
    }

    /// The candidate does not fail.
    pub fn reject(&mut self) {
        if self.pending.take().is_some() {
            self.at += 1;
        }
    }

    fn edit(&self) -> Edit {
        match self.pass {
            Pass::Drop(chunk) => edit::drop_chunk(&self.best, chunk, self.at),
            Pass::DropLife => edit::drop_life(&self.best, self.at),
            Pass::DropHandle => edit::drop_handle(&self.best, self.at),
            Pass::Operation => edit::operation(&self.best, self.at),
            Pass::Setting => edit::setting(&self.best, self.at),
            Pass::Renumber => edit::renumber(&self.best, self.at),
        }
    }

    fn next_pass(&mut self) {
        self.at = 0;
        self.pass = match self.pass {
            Pass::Drop(chunk) if chunk > 1 => Pass::Drop(chunk / 2),
            Pass::Drop(_) => Pass::DropLife,
            Pass::DropLife => Pass::DropHandle,
            Pass::DropHandle => Pass::Operation,
            Pass::Operation => Pass::Setting,
            Pass::Setting if self.improved => {
                self.improved = false;
                Pass::Drop((self.best.ops.len() / 4).clamp(1, 8))
            }
            Pass::Setting => Pass::Renumber,
            Pass::Renumber => {
                self.done = true;
                Pass::Renumber
            }
        };
    }
}

/// Every candidate one step below `script`, largest steps first.
pub fn candidates(script: &Script) -> impl Iterator<Item = Script> + use<> {
    let mut shrinker = Shrinker::new(script.clone());
    std::iter::from_fn(move || shrinker.next_candidate())
}

/// Shrink `script` as long as `fails` says so, with at most `runs` trials.
#[must_use]
pub fn shrink(script: &Script, runs: usize, mut fails: impl FnMut(&Script) -> bool) -> Script {
    let mut shrinker = Shrinker::new(script.clone());
    for _ in 0..runs {
        let Some(candidate) = shrinker.next_candidate() else { break };
        if fails(&candidate) {
            shrinker.accept();
        } else {
            shrinker.reject();
        }
    }
    shrinker.best().clone()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::{self, Limits, Rng};
    use crate::script::Op;

    #[test]
    fn candidates_are_valid_and_smaller_or_plainer() {
        for seed in 0..60 {
            let script = generate::script(&mut Rng::new(seed), &Limits::ops(60));
            for candidate in candidates(&script) {
                assert_eq!(candidate.validate(), Ok(()), "seed {seed}");
                assert_ne!(candidate, script, "seed {seed}");
            }
        }
    }

    #[test]
    fn a_case_of_two_operations_is_found_again() {
        let needs = |script: &Script| {
            let tick = script.ops.iter().position(|op| matches!(op, Op::Tick { .. }));
            tick.is_some_and(|at| {
                script.ops[at..].iter().any(|op| matches!(op, Op::FreeBatch { .. }))
            })
        };
        let mut found = 0;
        for seed in 0..300 {
            let script = generate::script(&mut Rng::new(seed), &Limits::default());
            if !needs(&script) {
                continue;
            }
            found += 1;
            let small = shrink(&script, 20_000, needs);
            assert_eq!(small.ops.len(), 2, "seed {seed}:\n{small}");
            assert!(small.machine.holes.is_empty() && small.machine.cpus == 1, "{small}");
        }
        assert!(found > 10, "{found} scripts");
    }

    #[test]
    fn shrinking_ends() {
        for seed in 0..40 {
            let script = generate::script(&mut Rng::new(seed), &Limits::ops(80));
            let mut shrinker = Shrinker::new(script);
            let mut steps = 0;
            // The worst verdict for termination: everything keeps failing.
            while shrinker.next_candidate().is_some() {
                shrinker.accept();
                steps += 1;
                assert!(steps < 10_000);
            }
            assert!(shrinker.best().ops.is_empty());
        }
    }
}
