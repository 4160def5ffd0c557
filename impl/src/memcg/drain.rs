//! Drains of all CPUs' stocks (memcg-slub.md §2.2): synchronous here, by a queued item of work elsewhere.

use super::{Memcg, StockCpuSlot};
use crate::{
    platform::{Lock, Platform, Word},
    storage::Backing,
};
use mmspec_model::vocab::{CpuId, MemcgId};

/// FLUSHING of the page stock.
const PAGES: u64 = 1;
/// FLUSHING of the byte stock.
const BYTES: u64 = 2;

impl<P: Platform, B: Backing> Memcg<P, B> {
    /// drain_all_stock from `cpu`, which the caller runs on, of groups in `root`'s subtree: the stocks of `cpu` at once,
    /// those of other CPUs by work that is queued and that [`Memcg::run_stock_work`] runs. Returns at once if
    /// another drain is under way, even of another subtree.
    pub fn drain_all_stock(&self, cpu: CpuId, root: MemcgId) {
        let Some(_draining) = self.draining.try_lock() else { return };
        for (at, stocks) in self.cpus.iter().enumerate() {
            for bit in [PAGES, BYTES] {
                let is_flushing = |word: u64| word & bit != 0;
                if !is_flushing(stocks.shown.flushing.load())
                    && self.has_stock_of(stocks, bit, root)
                    && !is_flushing(stocks.shown.flushing.fetch_or(bit))
                    && at == usize::from(cpu.0)
                {
                    self.drain_local(stocks, bit);
                }
            }
        }
    }

    /// Looks without the lock: what it sees may be over.
    fn has_stock_of(&self, stocks: &StockCpuSlot<P>, bit: u64, root: MemcgId) -> bool {
        let id = |word: &P::Ordered| word.load().checked_sub(1).map(|id| MemcgId(id as u16));
        if bit == PAGES {
            let mut memcgs = stocks.shown.slots.iter().filter_map(id);
            return memcgs.any(|memcg| self.is_descendant(memcg, root));
        }
        let owner = id(&stocks.shown.objcg).and_then(|objcg| self.group(objcg));
        owner.is_some_and(|slot| self.is_descendant(slot.objcg_owner(), root))
    }

    /// The bit is cleared under the lock: who fills the stock again after can have it drained again.
    fn drain_local(&self, stocks: &StockCpuSlot<P>, bit: u64) {
        let done = || {
            stocks.shown.flushing.fetch_and(!bit);
        };
        if bit == PAGES {
            self.drain_page_stock(stocks, done);
        } else {
            self.drain_byte_stock(stocks, done);
        }
    }

    /// Whether a drain is queued for `cpu`. What its worker polls.
    pub fn has_stock_work(&self, cpu: CpuId) -> bool {
        self.cpu(cpu).is_some_and(|stocks| stocks.shown.flushing.load() != 0)
    }

    /// `cpu`'s worker: drains its stocks if that was queued. Whether it was. The caller must not have interrupted a
    /// call on that CPU: it waits for the locks.
    pub fn run_stock_work(&self, cpu: CpuId) -> bool {
        let Some(stocks) = self.cpu(cpu) else { return false };
        let queued = stocks.shown.flushing.load();
        for bit in [PAGES, BYTES].into_iter().filter(|bit| queued & bit != 0) {
            self.drain_local(stocks, bit);
        }
        queued != 0
    }

    /// `cpu` died: its stocks are drained, bytes first (bug M23: pages alone). Work that was queued for it stays so.
    pub fn stock_cpu_dead(&self, cpu: CpuId) {
        if let Some(stocks) = self.cpu(cpu) {
            self.drain_byte_stock(stocks, || ());
            self.drain_page_stock(stocks, || ());
        }
    }
}
