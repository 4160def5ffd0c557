//! Folios: uncharging, one by one and in batches, and replacement (memcg-slub.md §2.10).

use super::Memcg;
use crate::{platform::Platform, storage::Backing};
use mmspec_model::vocab::{CounterKind, MemcgId};

/// Folios that are being uncharged: neighbours of one group are gathered and taken from the counters together.
/// Plain data; what it holds when it is dropped stays charged, so end with [`Memcg::uncharge_end`].
#[derive(Clone, Debug, Default)]
#[must_use = "what was gathered is uncharged by uncharge_end"]
pub struct UnchargeBatch {
    memcg: MemcgId,
    pages: u32,
}

impl UnchargeBatch {
    /// Nothing gathered.
    pub const fn new() -> Self {
        Self { memcg: MemcgId::ROOT, pages: 0 }
    }
}

impl<P: Platform, B: Backing> Memcg<P, B> {
    /// Uncharge `pages` pages of folios, at once and straight from the counters: not to a stock. Of the root:
    /// nothing. The group may be removed already.
    pub fn uncharge(&self, memcg: MemcgId, pages: u32) {
        if pages > 0 && self.chargeable(memcg).is_some() {
            self.uncharge_counter(memcg, CounterKind::Memory, pages);
            self.change_refs(memcg, -i64::from(pages));
        }
    }

    /// Add a folio of `pages` to a batch; what was gathered for another group is uncharged.
    #[inline]
    pub fn uncharge_add(&self, batch: &mut UnchargeBatch, memcg: MemcgId, pages: u32) {
        match batch.pages.checked_add(pages) {
            Some(sum) if batch.memcg == memcg => batch.pages = sum,
            _ => self.uncharge_flush(batch, memcg, pages),
        }
    }

    /// Uncharge what was gathered, and begin anew.
    #[cold]
    fn uncharge_flush(&self, batch: &mut UnchargeBatch, memcg: MemcgId, pages: u32) {
        self.uncharge(batch.memcg, batch.pages);
        *batch = UnchargeBatch { memcg, pages };
    }

    /// Uncharge what a batch holds.
    pub fn uncharge_end(&self, batch: UnchargeBatch) {
        self.uncharge(batch.memcg, batch.pages);
    }

    /// Page cache replacement: the new folio of `pages` is charged to `memcg`, over any limit and without an event,
    /// while the old one still is. Of the root: nothing (bug M20). The group may be removed already.
    pub fn charge_replacement(&self, memcg: MemcgId, pages: u32) {
        if pages > 0 && self.chargeable(memcg).is_some() {
            self.change_refs(memcg, i64::from(pages));
            self.charge_counter(memcg, CounterKind::Memory, pages);
        }
    }
}
