//! A proptest strategy for [`Script`].

use super::{Limits, script};
use crate::script::Script;
use crate::shrink::Shrinker;
use proptest::prelude::Rng as _;
use proptest::strategy::{NewTree, Strategy, ValueTree};
use proptest::test_runner::TestRunner;

/// Scripts of [`crate::generate::script()`], shrunk by [`crate::shrink`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Scripts {
    limits: Limits,
}

/// Scripts within `limits`.
#[must_use]
pub const fn scripts(limits: Limits) -> Scripts {
    Scripts { limits }
}

impl Strategy for Scripts {
    type Tree = ScriptTree;
    type Value = Script;

    fn new_tree(&self, runner: &mut TestRunner) -> NewTree<Self> {
        let seed = runner.rng().next_u64();
        Ok(ScriptTree::new(script(&mut super::Rng::new(seed), &self.limits)))
    }
}

impl proptest::arbitrary::Arbitrary for Script {
    type Parameters = Limits;
    type Strategy = Scripts;

    fn arbitrary_with(limits: Limits) -> Scripts {
        scripts(limits)
    }
}

/// A script on its way down: proptest says whether the candidate shown still fails.
#[derive(Clone, Debug)]
pub struct ScriptTree {
    shown: Script,
    shrinker: Shrinker,
}

impl ScriptTree {
    fn new(shown: Script) -> Self {
        let shrinker = Shrinker::new(shown.clone());
        Self { shown, shrinker }
    }

    fn show_next(&mut self) -> bool {
        match self.shrinker.next_candidate() {
            Some(candidate) => {
                self.shown = candidate;
                true
            }
            None => {
                self.shown = self.shrinker.best().clone();
                false
            }
        }
    }
}

impl ValueTree for ScriptTree {
    type Value = Script;

    fn current(&self) -> Script {
        self.shown.clone()
    }

    fn simplify(&mut self) -> bool {
        self.shrinker.accept();
        self.show_next()
    }

    fn complicate(&mut self) -> bool {
        self.shrinker.reject();
        self.show_next()
    }
}
