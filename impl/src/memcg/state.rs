//! What groups and stocks show. Exact at quiescence; the locks of the stocks are waited for.

use super::{GroupSlot, Memcg, StockCpuSlot};
use crate::{
    platform::{PcpLock, Platform, Word},
    storage::Backing,
};
use mmspec_model::vocab::{CpuId, MemcgId, MemcgState, StockSlot, StockState};

impl<P: Platform, B: Backing> Memcg<P, B> {
    /// How a group looks. Of an id that was never given: a removed group without a parent and with nothing in it.
    pub fn state(&self, memcg: MemcgId) -> MemcgState {
        let made = self.group(memcg);
        let unmade = GroupSlot::new();
        let slot = made.unwrap_or(&unmade);
        let held = &slot.life.held;
        MemcgState {
            parent: slot.parent(),
            online: slot.is_online(),
            memory: slot.memory.state(),
            swap: slot.swap.state(),
            local: core::array::from_fn(|at| slot.events.local[at].load()),
            events: core::array::from_fn(|at| slot.events.hierarchical[at].load()),
            kernel: held.kernel.load() as i64,
            references: made.map_or(0, |slot| self.references(memcg, slot)),
            charged_bytes: held.charged_bytes.load(),
            objcg_owner: if made.is_some() { slot.objcg_owner() } else { memcg },
        }
    }

    /// What refers to the group from outside: both words of `refs` without what they count for themselves, and
    /// without pages in stocks and credit.
    fn references(&self, memcg: MemcgId, slot: &GroupSlot<P>) -> u64 {
        let held = &slot.life.held;
        let (refs, objcg_refs) = (held.refs.load() as i64, held.objcg_refs.load() as i64);
        let online = i64::from(slot.is_online());
        let objcg_lives = i64::from(objcg_refs > 0);
        let stocked: i64 = self.cpus.iter().map(|stocks| Self::stocked(stocks, memcg)).sum();
        (refs - online - objcg_lives + objcg_refs - online - stocked).max(0) as u64
    }

    /// Pages of `memcg` in a stock, and credit for objects.
    fn stocked(stocks: &StockCpuSlot<P>, memcg: MemcgId) -> i64 {
        let slots = stocks.pages.lock_remote().slots;
        let own = slots.iter().filter(|slot| slot.memcg == memcg);
        let pages: i64 = own.map(|slot| i64::from(slot.pages)).sum();
        let bytes = stocks.bytes.lock_remote();
        pages + if bytes.objcg == Some(memcg) { bytes.credit } else { 0 }
    }

    /// How a CPU's stocks look. Of a CPU that the storage has no record for: empty.
    pub fn stock_state(&self, cpu: CpuId) -> StockState {
        let mut state = StockState {
            cpu,
            slots: Default::default(),
            objcg: None,
            bytes: 0,
            flushing: self.has_stock_work(cpu),
        };
        if let Some(stocks) = self.cpu(cpu) {
            state.slots = stocks.pages.lock_remote().slots.map(|slot| {
                let shown = StockSlot { memcg: slot.memcg, pages: u32::from(slot.pages) };
                (!slot.is_empty()).then_some(shown)
            });
            let bytes = stocks.bytes.lock_remote();
            (state.objcg, state.bytes) = (bytes.objcg, bytes.bytes);
        }
        state
    }
}
