//! Moments without running calls, of which only the sums of what happened are known.

use super::judge::{Broke, Exercised};
use crate::script::Script;
use mmspec_model::contract::{CpuHotplug, Observe};
use mmspec_model::laws::{
    self, LinuxView, Lists, Live, Numbers, Observation, Past, Setting, Step, When,
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
    /// The laws to ask, by id; `None`: all.
    pub only: Option<&'a [&'a str]>,
}

impl Quiet<'_> {
    /// Judge by the laws that need no before.
    ///
    /// # Errors
    /// The first law that broke.
    pub fn judge<A: Observe + CpuHotplug>(
        &self,
        allocator: &A,
        live: &Live,
        past: &Past,
        step: Step<'_>,
        exercised: &mut Exercised,
    ) -> Result<(), Broke> {
        let now = Numbers::of(allocator, self.script.machine.cpus);
        let lists = Lists::of(allocator, &self.script.machine);
        let observation = Observation {
            world: self.setting,
            live,
            granted: &[],
            step,
            linux: Some(LinuxView {
                setting: self.setting,
                tunables: self.tunables,
                before: &now,
                now: &now,
                past,
                asked_before: &[],
                asked_now: &[],
            }),
            lists: Some(&lists),
            frames: None,
        };
        let asked = |law: &&'static laws::Law| {
            law.when != When::Sequential && self.only.is_none_or(|only| only.contains(&law.id))
        };
        for law in laws::all().filter(asked) {
            let count = exercised.entry(law.id).or_default();
            law.judge(&observation, count).map_err(|violation| Broke { violation, at: None })?;
        }
        Ok(())
    }
}
