//! What keeps a removed group.
//!
//! Two words for each group. `refs`: 1 while it is online, 1 while its objcg lives, 1 for each child that is
//! still kept, 1 for each slot of a stock that names it, and 1 for each page: of a folio, of a swap entry, **or in
//! a stock**. So a charge from a stock changes nothing here. `objcg_refs`: 1 while the group is online, 1 for each
//! object or kernel page, 1 for each byte stock that names it, and the credit of those stocks (`byte_stock`),
//! which objects are counted against.
//!
//! A group that nothing keeps is gone, and its id with it: ids are not given twice, so nothing is left to free,
//! and a late user finds a record and not somebody else's.

use super::{Memcg, PAGE_SIZE};
use crate::{
    platform::{Platform, Word},
    storage::Backing,
};
use mmspec_model::vocab::{CounterKind, MemcgId};

/// Add to a signed word; the values before and after.
fn add(word: &impl Word, delta: i64) -> (i64, i64) {
    let before = word.fetch_add(delta as u64) as i64;
    (before, before.wrapping_add(delta))
}

impl<P: Platform, B: Backing> Memcg<P, B> {
    /// Take (or drop, below 0) references of a group. The first and the last take and drop one of the parent.
    pub(super) fn change_refs(&self, memcg: MemcgId, mut delta: i64) {
        for (_, slot) in self.levels(memcg) {
            let (before, after) = add(&slot.life.held.refs, delta);
            // Edges telescope: however threads interleave, the parent ends up with 1 for a child that is kept.
            delta = i64::from(after > 0) - i64::from(before > 0);
            if delta == 0 {
                return;
            }
        }
    }

    /// The same for the objcg made with `objcg`. Its last reference releases it: what bytes make whole pages are
    /// uncharged (memcg-slub.md §2.9).
    pub(super) fn change_objcg_refs(&self, objcg: MemcgId, delta: i64) {
        let Some(slot) = self.chargeable(objcg) else { return };
        let held = &slot.life.held;
        let (before, after) = add(&held.objcg_refs, delta);
        if before <= 0 && after > 0 {
            self.change_refs(objcg, 1);
        } else if before > 0 && after <= 0 {
            let pages = held.charged_bytes.load() / u64::from(PAGE_SIZE);
            if pages > 0 {
                held.charged_bytes.fetch_add((pages * u64::from(PAGE_SIZE)).wrapping_neg());
                self.uncharge_kernel(slot.objcg_owner(), pages as u32);
            }
            self.change_refs(objcg, -1);
        }
    }

    /// Kernel pages of an objcg that points at `owner` were charged: the stat.
    pub(super) fn add_kernel(&self, owner: MemcgId, pages: i64) {
        if let Some(slot) = self.group(owner) {
            slot.life.held.kernel.fetch_add(pages as u64);
        }
    }

    /// Take kernel pages from the stat and straight from the counters; from the root's stat alone (§2.12).
    pub(super) fn uncharge_kernel(&self, owner: MemcgId, pages: u32) {
        self.add_kernel(owner, -i64::from(pages));
        if owner != MemcgId::ROOT {
            self.uncharge_counter(owner, CounterKind::Memory, pages);
        }
    }
}
