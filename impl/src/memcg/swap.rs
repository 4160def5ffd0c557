//! Swap entries (memcg-slub.md §2.11, cgroup v2).

use super::Memcg;
use crate::{platform::Platform, storage::Backing};
use mmspec_model::{
    contract::MemcgError,
    vocab::{CounterKind, MemcgId},
};

impl<P: Platform, B: Backing> Memcg<P, B> {
    /// Charge `pages` swap entries to the nearest online group from `memcg` up. That group is to be recorded with the
    /// entries (bug M22 recorded another one than was charged), each of which refers to it. The root: no limit,
    /// and nothing is counted.
    ///
    /// # Errors
    /// [`MemcgError::Limit`] with the group whose memory.swap.max is reached; [`MemcgError::NoGroup`].
    pub fn charge_swap(&self, memcg: MemcgId, pages: u32) -> Result<MemcgId, MemcgError> {
        self.group(memcg).ok_or(MemcgError::NoGroup)?;
        let mut online = self.below_root(memcg).filter(|(_, slot)| slot.is_online());
        let Some((target, _)) = online.next() else { return Ok(MemcgId::ROOT) };
        self.try_charge_counter(target, CounterKind::Swap, pages).map_err(MemcgError::Limit)?;
        self.change_refs(target, i64::from(pages));
        Ok(target)
    }

    /// Swap entries recorded for `memcg` were freed.
    pub fn uncharge_swap(&self, memcg: MemcgId, pages: u32) {
        if self.chargeable(memcg).is_some() {
            self.uncharge_counter(memcg, CounterKind::Swap, pages);
            self.change_refs(memcg, -i64::from(pages));
        }
    }
}
