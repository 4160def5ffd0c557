//! One CPU's stock of pages that are charged and not in use (memcg-slub.md §2.2).

use super::{Memcg, StockCpuSlot};
use crate::{
    platform::{PcpLock, Platform, Word},
    storage::Backing,
};
use mmspec_model::vocab::{CounterKind, CpuId, MemcgId, NR_MEMCG_STOCK, StockForm};

/// One group's pages. 0 pages still hold the slot, and a reference of the group. A slot of the root, whose pages
/// no stock holds, is empty: so the search compares one number.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    pub(super) memcg: MemcgId,
    /// At most a batch.
    pub(super) pages: u16,
}

impl Slot {
    const EMPTY: Self = Self { memcg: MemcgId::ROOT, pages: 0 };

    pub(super) fn is_empty(self) -> bool {
        self.memcg == MemcgId::ROOT
    }
}

/// What the lock of a page stock guards.
#[derive(Clone, Debug)]
pub(super) struct PageStock {
    pub(super) slots: [Slot; NR_MEMCG_STOCK],
    /// Which slot is emptied next for a group that finds none.
    drain_idx: u8,
}

impl PageStock {
    pub(super) const EMPTY: Self = Self { slots: [Slot::EMPTY; NR_MEMCG_STOCK], drain_idx: 0 };

    #[inline]
    fn find(&self, memcg: MemcgId) -> Option<usize> {
        self.slots.iter().position(|slot| slot.memcg == memcg)
    }
}

impl<P: Platform> StockCpuSlot<P> {
    /// Show other CPUs what a slot holds now.
    fn show(&self, at: usize, slot: Slot) {
        let shown = if slot.pages > 0 { u64::from(slot.memcg.0) + 1 } else { 0 };
        self.shown.slots[at].store(shown);
    }
}

impl<P: Platform, B: Backing> Memcg<P, B> {
    fn nr_slots(&self) -> usize {
        match self.rules.stock {
            StockForm::Single => 1,
            StockForm::Slots => NR_MEMCG_STOCK,
        }
    }

    /// consume_stock: all pages or none, and no counter is touched. `nested`: the lock is found taken.
    #[inline]
    pub(super) fn consume(&self, cpu: CpuId, memcg: MemcgId, pages: u32, nested: bool) -> bool {
        if nested || pages > self.rules.batch {
            return false;
        }
        let Some(stocks) = self.cpu(cpu) else { return false };
        let Some(mut stock) = stocks.pages.try_lock() else { return false };
        let mut slots = stock.slots.iter_mut().enumerate();
        let Some((at, slot)) = slots.find(|(_, slot)| slot.memcg == memcg) else { return false };
        let Some(left) = slot.pages.checked_sub(pages as u16) else { return false };
        slot.pages = left;
        if left == 0 {
            stocks.show(at, Slot::EMPTY);
        }
        true
    }

    /// refill_stock: `pages` of `memcg` that are charged, and counted in its `refs`, are wanted no more.
    pub(super) fn refill_stock(&self, cpu: CpuId, memcg: MemcgId, pages: u32, nested: bool) {
        if pages == 0 || memcg == MemcgId::ROOT {
            return;
        }
        let stocks = self.cpu(cpu).filter(|_| !nested && pages <= self.rules.batch);
        let locked = stocks.and_then(|stocks| Some((stocks, stocks.pages.try_lock()?)));
        let Some((stocks, mut stock)) = locked else {
            self.uncharge_counter(memcg, CounterKind::Memory, pages);
            self.change_refs(memcg, -i64::from(pages));
            return;
        };
        let at = match stock.find(memcg) {
            Some(at) => at,
            None => {
                let slots = self.nr_slots();
                let free = stock.slots[..slots].iter().position(|slot| slot.is_empty());
                let at = free.unwrap_or_else(|| {
                    let at = usize::from(stock.drain_idx) % slots;
                    stock.drain_idx = ((at + 1) % slots) as u8;
                    self.drain_slot(stocks, &mut stock, at);
                    at
                });
                self.change_refs(memcg, 1);
                stock.slots[at] = Slot { memcg, pages: 0 };
                at
            }
        };
        let slot = &mut stock.slots[at];
        let was_shown = slot.pages > 0;
        // Both at most a batch, which is at most 127.
        slot.pages += pages as u16;
        if u32::from(slot.pages) > self.rules.batch {
            self.drain_slot(stocks, &mut stock, at);
        } else if !was_shown {
            let slot = *slot;
            stocks.show(at, slot);
        }
    }

    /// Uncharge what a slot holds, drop its reference, and leave it empty.
    fn drain_slot(&self, stocks: &StockCpuSlot<P>, stock: &mut PageStock, at: usize) {
        let slot = core::mem::replace(&mut stock.slots[at], Slot::EMPTY);
        if slot.is_empty() {
            return;
        }
        let pages = u32::from(slot.pages);
        if pages > 0 {
            self.uncharge_counter(slot.memcg, CounterKind::Memory, pages);
        }
        stocks.show(at, Slot::EMPTY);
        self.change_refs(slot.memcg, -i64::from(pages) - 1);
    }

    /// All slots, also those of groups that nobody asked for. Waits for the lock.
    pub(super) fn drain_page_stock(&self, stocks: &StockCpuSlot<P>, and_then: impl FnOnce()) {
        let mut stock = stocks.pages.lock_remote();
        for at in 0..NR_MEMCG_STOCK {
            self.drain_slot(stocks, &mut stock, at);
        }
        and_then();
    }

    /// Give charged pages of a folio or a socket back through `cpu`'s stock: from there the next charges of the
    /// group on that CPU are served. More than a batch, with `nested` (the caller interrupted the holder of
    /// the stock), or when the stock overflows, they are uncharged at once. Of the root: nothing.
    pub fn refill(&self, cpu: CpuId, memcg: MemcgId, pages: u32, nested: bool) {
        if self.chargeable(memcg).is_some() {
            self.refill_stock(cpu, memcg, pages, nested);
        }
    }
}
