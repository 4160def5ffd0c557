//! Moments without running calls, of which only the sums of what happened are known.

use super::judge::{Broke, Exercised};
use crate::script::Script;
use mmspec_model::contract::{CpuHotplug, Nodes, Observe};
use mmspec_model::laws::{
    self, Law, LinuxView, Lists, Live, Numbers, Observation, Past, Setting, Step, When,
};
use mmspec_model::vocab::Tunables;

/// What stays the same over such moments.
#[derive(Clone, Copy, Debug)]
pub struct Quiet<'a> {
    /// The script.
    pub script: &'a Script,
    /// Its machine and boot state.
    pub setting: &'a Setting,
    /// The tunables in force.
    pub tunables: &'a Tunables,
    /// The laws to ask: of [`quiet_laws`].
    pub laws: &'a [&'static Law],
}

/// The laws that can be asked of a quiet moment; with `only`, those of them with these ids.
#[must_use]
pub fn quiet_laws(only: Option<&[&str]>) -> Vec<&'static Law> {
    let asked = |law: &&'static Law| {
        law.when != When::Sequential && only.is_none_or(|only| only.contains(&law.id))
    };
    laws::all().filter(asked).collect()
}

impl Quiet<'_> {
    /// Judge by the laws that need no before.
    ///
    /// # Errors
    /// The first law that broke.
    pub fn judge<A: Observe + CpuHotplug + Nodes>(
        &self,
        allocator: &A,
        live: &Live,
        past: &Past,
        step: Step<'_>,
        exercised: &mut Exercised,
    ) -> Result<(), Broke> {
        let now = Numbers::of(allocator, self.script.machine.cpus);
        let lists = Lists::of(allocator, &self.script.machine);
        self.judge_seen(&now, &lists, live, past, step, exercised)
    }

    /// As [`Quiet::judge`], with what was seen.
    ///
    /// # Errors
    /// The first law that broke.
    pub fn judge_seen(
        &self,
        now: &Numbers,
        lists: &Lists,
        live: &Live,
        past: &Past,
        step: Step<'_>,
        exercised: &mut Exercised,
    ) -> Result<(), Broke> {
        let observation = Observation {
            world: self.setting,
            live,
            granted: &[],
            step,
            linux: Some(LinuxView {
                setting: self.setting,
                tunables: self.tunables,
                before: now,
                now,
                past,
                asked_before: &[],
                asked_now: &[],
            }),
            lists: Some(lists),
            runs: None,
            compaction: None,
            memcg: None,
            slab: None,
        };
        for law in self.laws {
            let count = exercised.entry(law.id).or_default();
            law.judge(&observation, count).map_err(|violation| Broke { violation, at: None })?;
        }
        Ok(())
    }
}
