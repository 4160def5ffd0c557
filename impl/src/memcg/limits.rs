//! Settings that never wait, and effective protection (memcg-slub.md §1.2, §3).

use super::{
    Memcg,
    page_counter::{Counter, Protection},
};
use crate::{
    platform::{Lock, Ordered, Platform, Word},
    storage::Backing,
};
use mmspec_model::{
    contract::MemcgError,
    vocab::{CounterKind, MemcgId, PAGE_COUNTER_MAX},
};

impl<P: Platform, B: Backing> Memcg<P, B> {
    /// A group with files to write to.
    fn settable(&self, memcg: MemcgId) -> Result<&super::GroupSlot<P>, MemcgError> {
        if memcg == MemcgId::ROOT {
            return Err(MemcgError::Root);
        }
        self.online(memcg).ok_or(MemcgError::NoGroup)
    }

    /// page_counter_set_min and set_low: store, then every level from the group up claims anew.
    pub(super) fn store_protection(
        &self,
        memcg: MemcgId,
        which: impl Fn(&Counter<P>) -> &Protection<P>,
        pages: u64,
    ) {
        let Some(slot) = self.group(memcg) else { return };
        which(&slot.memory).value.store(pages.min(PAGE_COUNTER_MAX));
        for (_, level) in self.levels(memcg) {
            let above = self.counter_above(level, CounterKind::Memory);
            level.memory.propagate(level.memory.usage.load() as i64, above);
        }
    }

    /// memory.min, pages.
    ///
    /// # Errors
    /// [`MemcgError::Root`], [`MemcgError::NoGroup`].
    pub fn set_min(&self, memcg: MemcgId, pages: u64) -> Result<(), MemcgError> {
        // Not while it is removed: what were stored after its protection went would stay for ever. (In the kernel a
        // write to a file ends before the file goes.)
        let _tree = self.tree.lock();
        self.settable(memcg)?;
        self.store_protection(memcg, |counter| &counter.set.min, pages);
        Ok(())
    }

    /// memory.low, pages.
    ///
    /// # Errors
    /// [`MemcgError::Root`], [`MemcgError::NoGroup`].
    pub fn set_low(&self, memcg: MemcgId, pages: u64) -> Result<(), MemcgError> {
        let _tree = self.tree.lock();
        self.settable(memcg)?;
        self.store_protection(memcg, |counter| &counter.set.low, pages);
        Ok(())
    }

    /// page_counter_set_max, pages: never ends with a limit below usage (memcg-slub.md §1.2). A charge meanwhile may
    /// see the new limit although it is then taken back.
    ///
    /// # Errors
    /// [`MemcgError::Busy`]: usage is above `pages`. [`MemcgError::Root`], [`MemcgError::NoGroup`].
    pub fn set_max_v1(
        &self,
        memcg: MemcgId,
        kind: CounterKind,
        pages: u64,
    ) -> Result<(), MemcgError> {
        let counter = self.settable(memcg)?.counter(kind);
        let pages = pages.min(PAGE_COUNTER_MAX);
        let _limits = self.limits.lock();
        loop {
            let usage = counter.read();
            if usage > pages {
                return Err(MemcgError::Busy);
            }
            let before = counter.set.max.swap(pages);
            if counter.read() <= usage || pages >= before {
                return Ok(());
            }
            counter.set.max.store(before);
        }
    }

    /// memory.swap.max, pages; usage may be above it.
    ///
    /// # Errors
    /// [`MemcgError::Root`], [`MemcgError::NoGroup`].
    pub fn set_swap_max(&self, memcg: MemcgId, pages: u64) -> Result<(), MemcgError> {
        self.settable(memcg)?.swap.set.max.swap(pages.min(PAGE_COUNTER_MAX));
        Ok(())
    }

    /// memory.swap.high, pages (memcg-slub.md §2.3 step 20, §2.6).
    ///
    /// # Errors
    /// [`MemcgError::Root`], [`MemcgError::NoGroup`].
    pub fn set_swap_high(&self, memcg: MemcgId, pages: u64) -> Result<(), MemcgError> {
        self.settable(memcg)?.swap.set.high.store(pages.min(PAGE_COUNTER_MAX));
        Ok(())
    }

    /// Effective memory.min and memory.low of `memcg`, pages, for a reclaim from `root`; parents must have been asked
    /// before their children (memcg-slub.md §3). (0, 0) for `root` itself, which an earlier reclaim may have left other
    /// values, and for the root of all. An empty group keeps what it has.
    pub fn protection(&self, root: MemcgId, memcg: MemcgId) -> (u64, u64) {
        let Some(slot) = self.group(memcg).filter(|_| memcg != root) else { return (0, 0) };
        let Some(parent) = slot.parent() else { return (0, 0) };
        let Some(above) = self.group(parent) else { return (0, 0) };
        let (own, above) = (&slot.memory, &above.memory);
        let usage = own.read();
        if usage > 0 {
            let (min, low) = (own.set.min.value.load(), own.set.low.value.load());
            let (emin, elow) = if parent == root {
                (min, low)
            } else {
                let parent_usage = above.read();
                let recursive = self.rules.recursive_protection;
                let share = |setting, effective, claimed| {
                    effective_protection(
                        usage,
                        parent_usage,
                        setting,
                        effective,
                        claimed,
                        recursive,
                    )
                };
                let (seen_min, seen_low) =
                    (above.seen.children_min_usage.load(), above.seen.children_low_usage.load());
                (
                    share(min, above.seen.emin.load(), seen_min),
                    share(low, above.seen.elow.load(), seen_low),
                )
            };
            own.seen.emin.store(emin);
            own.seen.elow.store(elow);
        }
        (own.seen.emin.load(), own.seen.elow.load())
    }
}

/// §3, steps 4 of the formula: what of the parent's `effective` protection a child with `usage` and `setting`
/// gets. `claimed`: what all children claim (children_*_usage). Products need more than 64 bits when a group
/// below the root of reclaim has `max` for its protection.
fn effective_protection(
    usage: u64,
    parent_usage: u64,
    setting: u64,
    effective: u64,
    claimed: u64,
    recursive: bool,
) -> u64 {
    let share = |of: u64, part: u64, whole: u64| {
        (u128::from(of) * u128::from(part) / u128::from(whole)) as u64
    };
    let protected = usage.min(setting);
    if claimed > effective {
        return share(protected, effective, claimed);
    }
    let unclaimed = effective - claimed;
    if recursive && unclaimed > 0 && parent_usage > claimed && usage > protected {
        return protected + share(unclaimed, usage - protected, parent_usage - claimed);
    }
    protected
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Children of a parent with effective protection `effective`, each (usage, setting): what they get.
    fn shares<const N: usize>(
        children: [(u64, u64); N],
        effective: u64,
        recursive: bool,
    ) -> [u64; N] {
        let all: u64 = children.iter().map(|(usage, _)| usage).sum();
        let claimed = children.iter().map(|(usage, setting)| usage.min(setting)).sum();
        children.map(|(usage, setting)| {
            effective_protection(usage, all, setting, effective, claimed, recursive)
        })
    }

    /// The examples of §3 (oracle 3 of §8.4).
    #[test]
    fn shares_are_those_of_the_facts() {
        let first = [(50, 75), (50, 25), (50, 0), (0, 500)];
        assert_eq!(shares(first, 50, false), [33, 16, 0, 0]);
        assert_eq!(shares([(100, 30), (100, 0)], 50, false), [30, 0]);
        assert_eq!(shares([(100, 30), (100, 0)], 50, true), [38, 11]);
        assert_eq!(shares([(100, 0), (50, 0), (50, 0)], 80, true), [40, 20, 20]);
        assert_eq!(shares([(10, 40), (100, 0)], 50, true), [10, 40]);
    }

    /// A group below the root of reclaim with memory.low = max: 64 bits would not do.
    #[test]
    fn unlimited_protection_does_not_overflow() {
        let usage = 1 << 40;
        assert!(shares([(usage, 0), (usage, 0)], PAGE_COUNTER_MAX, true)[0] > usage);
    }
}
