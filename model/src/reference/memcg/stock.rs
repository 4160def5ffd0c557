//! What each CPU keeps of charged pages and bytes (memcg-slub.md §2.2, §2.9).

use super::{Group, Reference, objects::PAGE};
use crate::vocab::{CounterKind, CpuId, MemcgId, NR_MEMCG_STOCK, StockForm, StockSlot, StockState};

/// One CPU's stocks.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Stock {
    slots: [Option<StockSlot>; NR_MEMCG_STOCK],
    /// Which slot is emptied next when a new group finds none.
    next: usize,
    pub(super) objcg: Option<MemcgId>,
    pub(super) bytes: u32,
    pages_flushing: bool,
    bytes_flushing: bool,
}

impl Stock {
    fn slot_of(&self, memcg: MemcgId) -> Option<usize> {
        self.slots.iter().position(|slot| slot.is_some_and(|slot| slot.memcg == memcg))
    }

    pub(super) fn shown(&self, cpu: CpuId) -> StockState {
        StockState {
            cpu,
            slots: self.slots,
            objcg: self.objcg,
            bytes: self.bytes,
            flushing: self.pages_flushing || self.bytes_flushing,
        }
    }
}

impl Reference {
    /// Take `pages` from the CPU's stock of `memcg`: all or nothing.
    pub(super) fn consume(&mut self, cpu: CpuId, memcg: MemcgId, pages: u32, nested: bool) -> bool {
        if pages > self.rules.batch || nested {
            return false;
        }
        let stock = self.stock_mut(cpu);
        let Some(slot) = stock.slot_of(memcg).and_then(|at| stock.slots[at].as_mut()) else {
            return false;
        };
        if slot.pages < pages {
            return false;
        }
        slot.pages -= pages;
        true
    }

    /// Put charged pages into the stock; too many empty the slot.
    pub(super) fn refill_stock(&mut self, cpu: CpuId, memcg: MemcgId, pages: u32, nested: bool) {
        let batch = self.rules.batch;
        if pages > batch || nested {
            self.tree.uncharge_walk(CounterKind::Memory, memcg, u64::from(pages));
            return;
        }
        let stock = self.stock_mut(cpu);
        if let Some(at) = stock.slot_of(memcg) {
            let slot = stock.slots[at].as_mut().expect("found above");
            slot.pages += pages;
            if slot.pages > batch {
                self.drain_slot(cpu, at);
            }
            return;
        }
        let at = self.free_slot(cpu);
        self.stock_mut(cpu).slots[at] = Some(StockSlot { memcg, pages });
        self.hold(memcg, 1);
    }

    /// A slot for a new group, emptied if need be.
    fn free_slot(&mut self, cpu: CpuId) -> usize {
        if self.rules.stock == StockForm::Single {
            self.drain_slot(cpu, 0);
            return 0;
        }
        let stock = self.stock_mut(cpu);
        if let Some(empty) = stock.slots.iter().position(Option::is_none) {
            return empty;
        }
        let at = stock.next;
        stock.next = (at + 1) % NR_MEMCG_STOCK;
        self.drain_slot(cpu, at);
        at
    }

    /// Uncharge what a slot holds and give its reference back.
    fn drain_slot(&mut self, cpu: CpuId, at: usize) {
        if let Some(slot) = self.stock_mut(cpu).slots[at].take() {
            self.tree.uncharge_walk(CounterKind::Memory, slot.memcg, u64::from(slot.pages));
            self.release(slot.memcg, 1);
        }
    }

    fn drain_pages(&mut self, cpu: CpuId) {
        for at in 0..NR_MEMCG_STOCK {
            self.drain_slot(cpu, at);
        }
        self.stock_mut(cpu).pages_flushing = false;
    }

    /// Whole pages of the byte stock go straight off the counters, the rest to the objcg.
    pub(super) fn drain_bytes(&mut self, cpu: CpuId) {
        let stock = self.stock_mut(cpu);
        let bytes = std::mem::take(&mut stock.bytes);
        let Some(objcg) = stock.objcg.take() else { return };
        let pages = bytes / PAGE;
        if pages > 0 {
            self.uncharge_of_objcg(objcg, pages);
        }
        self.tree.group_mut(objcg).charged_bytes += u64::from(bytes % PAGE);
        self.release_objcg(objcg, 1);
    }

    fn flush_bytes(&mut self, cpu: CpuId) {
        self.drain_bytes(cpu);
        self.stock_mut(cpu).bytes_flushing = false;
    }

    /// drain_all_stock: the caller's own at once, the others by work.
    pub(super) fn drain_stocks(&mut self, by: CpuId, root: MemcgId) {
        for at in 0..self.stocks.len() {
            let cpu = CpuId(at as u16);
            let stock = self.stock(cpu);
            let inside = |memcg| self.tree.is_below(memcg, root);
            let pages = !stock.pages_flushing
                && stock.slots.iter().flatten().any(|slot| slot.pages > 0 && inside(slot.memcg));
            let bytes = !stock.bytes_flushing
                && stock.objcg.is_some_and(|objcg| inside(self.tree.group(objcg).objcg_owner));
            match (cpu == by, pages, bytes) {
                (true, pages, bytes) => {
                    if pages {
                        self.drain_pages(cpu);
                    }
                    if bytes {
                        self.flush_bytes(cpu);
                    }
                }
                (false, pages, bytes) => {
                    let stock = self.stock_mut(cpu);
                    stock.pages_flushing |= pages;
                    stock.bytes_flushing |= bytes;
                }
            }
        }
    }

    /// The CPU's queued drains.
    pub(super) fn stock_work(&mut self, cpu: CpuId) -> bool {
        let Stock { pages_flushing, bytes_flushing, .. } = *self.stock(cpu);
        if pages_flushing {
            self.drain_pages(cpu);
        }
        if bytes_flushing {
            self.flush_bytes(cpu);
        }
        pages_flushing || bytes_flushing
    }

    /// The CPU died: bytes first, then pages (§2.2).
    pub(super) fn cpu_dead(&mut self, cpu: CpuId) {
        self.drain_bytes(cpu);
        for at in 0..NR_MEMCG_STOCK {
            self.drain_slot(cpu, at);
        }
    }

    /// One more reason for a group to stay.
    pub(super) fn hold(&mut self, memcg: MemcgId, times: u64) {
        self.tree.group_mut(memcg).references += times;
    }

    /// One less; a removed group without any lets go of its parent.
    pub(super) fn release(&mut self, memcg: MemcgId, times: u64) {
        let group = self.tree.group_mut(memcg);
        group.references -= times;
        if let Group { online: false, references: 0, parent: Some(parent), .. } = *group {
            self.release(parent, 1);
        }
    }
}
