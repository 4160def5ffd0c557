//! mkdir and rmdir (memcg-slub.md §2.12).

use super::Memcg;
use crate::{
    platform::{Lock, Platform, Word},
    storage::Backing,
};
use mmspec_model::{
    contract::MemcgError,
    vocab::{CpuId, MemcgId},
};

impl<P: Platform, B: Backing> Memcg<P, B> {
    pub(super) fn make_root(&self) {
        if let Some(root) = self.groups.first() {
            root.life.held.refs.store(2);
            root.life.held.objcg_refs.store(1);
            root.life.online.store(1);
            self.count.store(1);
        }
    }

    /// mkdir: a group below `parent`, without limits and protection. Its id is the number of groups made before.
    ///
    /// # Errors
    /// [`MemcgError::NoGroup`]: the parent was never made, or was removed. [`MemcgError::TooMany`]: every record
    /// of the storage was given out; those of removed groups are not given again.
    pub fn create(&self, parent: MemcgId) -> Result<MemcgId, MemcgError> {
        let _tree = self.tree.lock();
        let above = self.online(parent).ok_or(MemcgError::NoGroup)?;
        let at = self.count();
        let memcg = MemcgId(u16::try_from(at).map_err(|_| MemcgError::TooMany)?);
        let slot = self.groups[..self.capacity()].get(at).ok_or(MemcgError::TooMany)?;
        slot.set_parent(parent);
        slot.life.objcg_owner.store(u64::from(memcg.0));
        slot.life.held.refs.store(2);
        slot.life.held.objcg_refs.store(1);
        above.life.online_children.fetch_add(1);
        self.change_refs(parent, 1);
        slot.life.online.store(1);
        self.count.store(at as u64 + 1);
        Ok(memcg)
    }

    /// rmdir; `cpu` runs it, and its stocks of the group are drained at once. Protection goes first, then the
    /// objcg (and those inherited) goes to the parent, then stocks. No counter is moved: what kernel objects were
    /// charged stays in the group's own usage, and is uncharged from the parent up. The group stays while something
    /// refers to it ([`MemcgState::references`](mmspec_model::vocab::MemcgState)).
    ///
    /// # Errors
    /// [`MemcgError::Root`], [`MemcgError::NoGroup`], and [`MemcgError::Busy`] with online children.
    pub fn offline(&self, cpu: CpuId, memcg: MemcgId) -> Result<(), MemcgError> {
        if memcg == MemcgId::ROOT {
            return Err(MemcgError::Root);
        }
        let parent = {
            let _tree = self.tree.lock();
            let slot = self.online(memcg).ok_or(MemcgError::NoGroup)?;
            if slot.life.online_children.load() > 0 {
                return Err(MemcgError::Busy);
            }
            slot.life.online.store(0);
            slot.parent().unwrap_or(MemcgId::ROOT)
        };
        self.store_protection(memcg, |counter| &counter.set.min, 0);
        self.store_protection(memcg, |counter| &counter.set.low, 0);
        {
            let _tree = self.tree.lock();
            self.reparent_objcgs(memcg, parent);
            if let Some(above) = self.group(parent) {
                above.life.online_children.fetch_add(u64::MAX);
            }
        }
        self.change_objcg_refs(memcg, -1);
        self.drain_all_stock(cpu, memcg);
        self.change_refs(memcg, -1);
        Ok(())
    }

    /// Every objcg that points at `from`: its own, and those inherited from removed children. Under the lock of
    /// the tree.
    fn reparent_objcgs(&self, from: MemcgId, to: MemcgId) {
        // Children have higher ids than their parents.
        for slot in &self.groups[usize::from(from.0)..self.count()] {
            if slot.objcg_owner() == from {
                slot.life.objcg_owner.store(u64::from(to.0));
            }
        }
    }
}
