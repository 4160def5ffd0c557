//! Effective protection (memcg-slub.md §3).

use super::{Counter, Reference};
use crate::contract::MemcgError;
use crate::vocab::MemcgId;

impl Reference {
    /// Store a protection and let every level claim anew.
    pub(super) fn set_protection(
        &mut self,
        memcg: MemcgId,
        set: impl FnOnce(&mut Counter),
    ) -> Result<(), MemcgError> {
        if !self.online(memcg) {
            return Err(MemcgError::NoGroup);
        }
        if memcg == MemcgId::ROOT {
            return Err(MemcgError::Root);
        }
        set(&mut self.tree.group_mut(memcg).memory);
        self.tree.claim_anew(memcg);
        Ok(())
    }

    /// Computed top-down: the parent's was computed before. The root of the reclaim and the root of
    /// all are not protected, and what they stored before is not looked at.
    pub(super) fn effective(&mut self, root: MemcgId, memcg: MemcgId) -> (u64, u64) {
        let Some(parent) = self.tree.group(memcg).parent else { return (0, 0) };
        if memcg == root {
            return (0, 0);
        }
        let above = self.tree.group(parent).memory;
        let recursive = self.rules.recursive_protection;
        let counter = &mut self.tree.group_mut(memcg).memory;
        if counter.usage > 0 {
            let usage = counter.usage as u64;
            (counter.emin, counter.elow) = if parent == root {
                (counter.min, counter.low)
            } else {
                let of = |setting, parent_effective, claimed| Share {
                    usage,
                    parent_usage: above.used(),
                    setting,
                    parent_effective,
                    claimed,
                };
                (
                    of(counter.min, above.emin, above.children_min_usage).of(recursive),
                    of(counter.low, above.elow, above.children_low_usage).of(recursive),
                )
            };
        }
        (counter.emin, counter.elow)
    }
}

/// What rule 4 of memcg-slub.md §3 is computed from.
struct Share {
    usage: u64,
    parent_usage: u64,
    setting: u64,
    parent_effective: u64,
    claimed: u64,
}

impl Share {
    /// Multiply, then divide; the product is wide, because a setting may be `max`.
    fn of(&self, recursive: bool) -> u64 {
        let part = |a: u64, b: u64, c: u64| (u128::from(a) * u128::from(b) / u128::from(c)) as u64;
        let protected = self.usage.min(self.setting);
        if self.claimed > self.parent_effective {
            return part(protected, self.parent_effective, self.claimed);
        }
        let spare = self.parent_effective - self.claimed;
        if recursive && spare > 0 && self.parent_usage > self.claimed && self.usage > protected {
            return protected
                + part(spare, self.usage - protected, self.parent_usage - self.claimed);
        }
        protected
    }
}
