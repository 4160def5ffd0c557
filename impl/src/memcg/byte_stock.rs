//! One CPU's stock of bytes for kernel objects, and charges of objects (memcg-slub.md §2.9).

use super::{Memcg, PAGE_SIZE, StockCpuSlot};
use crate::{
    platform::{Ordered, PcpLock, Platform, Word},
    storage::Backing,
};
use mmspec_model::vocab::{CpuId, MemcgId};

/// References that a byte stock takes at once, so that objects take theirs from it.
const CREDIT: i64 = 64;

/// What the lock of a byte stock guards.
#[derive(Clone, Debug)]
pub(super) struct ByteStock {
    /// Named by the group that it was made with. Holds a reference of the objcg.
    pub(super) objcg: Option<MemcgId>,
    /// Charged and not in use.
    pub(super) bytes: u32,
    /// References taken beforehand: never below 0, so that the objcg's word is never below the truth and it is
    /// not released while another CPU has objects to its account.
    pub(super) credit: i64,
}

impl ByteStock {
    pub(super) const EMPTY: Self = Self { objcg: None, bytes: 0, credit: 0 };
}

/// What becomes of the reference of an object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Object {
    Charged,
    Freed,
}

impl<P: Platform, B: Backing> Memcg<P, B> {
    /// consume_obj_stock: an object of `bytes` from the stock.
    #[inline]
    pub(super) fn consume_bytes(
        &self,
        cpu: CpuId,
        objcg: MemcgId,
        bytes: u32,
        nested: bool,
    ) -> bool {
        if nested {
            return false;
        }
        let Some(stocks) = self.cpu(cpu) else { return false };
        let Some(mut stock) = stocks.bytes.try_lock() else { return false };
        if stock.objcg != Some(objcg) || stock.bytes < bytes {
            return false;
        }
        stock.bytes -= bytes;
        self.count_object(&mut stock, objcg, Object::Charged);
        true
    }

    fn count_object(&self, stock: &mut ByteStock, objcg: MemcgId, object: Object) {
        match object {
            Object::Charged if stock.credit == 0 => {
                self.change_objcg_refs(objcg, CREDIT);
                stock.credit = CREDIT - 1;
            }
            Object::Charged => stock.credit -= 1,
            Object::Freed if stock.credit >= 2 * CREDIT => {
                self.change_objcg_refs(objcg, -CREDIT);
                stock.credit += 1 - CREDIT;
            }
            Object::Freed => stock.credit += 1,
        }
    }

    /// refill_obj_stock after a charge of pages for one new object: `rest` bytes are over, and stay whole.
    pub(super) fn object_charged(&self, cpu: CpuId, objcg: MemcgId, rest: u32, nested: bool) {
        self.refill_bytes(cpu, objcg, rest, nested, Object::Charged);
    }

    /// refill_obj_stock. A freed object allows pages to go back; so does a change of the stock's objcg.
    fn refill_bytes(&self, cpu: CpuId, objcg: MemcgId, bytes: u32, nested: bool, object: Object) {
        let Some(slot) = self.chargeable(objcg) else { return };
        let held = &slot.life.held;
        let stocks = self.cpu(cpu).filter(|_| !nested);
        let locked = stocks.and_then(|stocks| Some((stocks, stocks.bytes.try_lock()?)));
        let Some((stocks, mut stock)) = locked else {
            held.charged_bytes.fetch_add(u64::from(bytes % PAGE_SIZE));
            self.give_back_kernel(cpu, objcg, bytes / PAGE_SIZE, nested);
            self.change_objcg_refs(objcg, if object == Object::Charged { 1 } else { -1 });
            return;
        };
        let mut allow_uncharge = object == Object::Freed;
        if stock.objcg != Some(objcg) {
            self.drain_bytes(stocks, &mut stock);
            self.change_objcg_refs(objcg, 1);
            let left = held.charged_bytes.swap(0);
            *stock = ByteStock { objcg: Some(objcg), bytes: left as u32, credit: 0 };
            stocks.shown.objcg.store(u64::from(objcg.0) + 1);
            allow_uncharge = true;
        }
        stock.bytes = stock.bytes.saturating_add(bytes);
        let mut pages = 0;
        if allow_uncharge && stock.bytes > PAGE_SIZE {
            pages = stock.bytes / PAGE_SIZE;
            stock.bytes %= PAGE_SIZE;
        }
        self.count_object(&mut stock, objcg, object);
        drop(stock);
        self.give_back_kernel(cpu, objcg, pages, nested);
    }

    /// obj_cgroup_uncharge_pages: off the stat, and to the page stock of the group that the objcg points at.
    fn give_back_kernel(&self, cpu: CpuId, objcg: MemcgId, pages: u32, nested: bool) {
        let Some(slot) = self.group(objcg).filter(|_| pages > 0) else { return };
        let owner = slot.objcg_owner();
        self.add_kernel(owner, -i64::from(pages));
        if owner != MemcgId::ROOT {
            self.change_refs(owner, i64::from(pages));
            self.refill_stock(cpu, owner, pages, nested);
        }
    }

    /// drain_obj_stock: whole pages straight from the counters, the rest to the objcg's central bytes.
    fn drain_bytes(&self, stocks: &StockCpuSlot<P>, stock: &mut ByteStock) {
        let ByteStock { objcg, bytes, credit } = core::mem::replace(stock, ByteStock::EMPTY);
        let Some(objcg) = objcg else { return };
        let Some(slot) = self.group(objcg) else { return };
        if bytes >= PAGE_SIZE {
            self.uncharge_kernel(slot.objcg_owner(), bytes / PAGE_SIZE);
        }
        if bytes % PAGE_SIZE > 0 {
            slot.life.held.charged_bytes.fetch_add(u64::from(bytes % PAGE_SIZE));
        }
        stocks.shown.objcg.store(0);
        self.change_objcg_refs(objcg, -credit - 1);
    }

    /// Waits for the lock.
    pub(super) fn drain_byte_stock(&self, stocks: &StockCpuSlot<P>, and_then: impl FnOnce()) {
        let mut stock = stocks.bytes.lock_remote();
        self.drain_bytes(stocks, &mut stock);
        and_then();
    }

    /// An object of `bytes`, charged by [`MemcgCall::ChargeObject`](mmspec_model::contract::MemcgCall), was freed on
    /// `cpu`. Its bytes go to that CPU's stock; what makes whole pages there, to the page stock of the group that
    /// the objcg points at now. `nested`: the caller interrupted the holder of the stocks; then bytes below a page
    /// are kept centrally and pages go straight from the counters.
    pub fn uncharge_object(&self, cpu: CpuId, objcg: MemcgId, bytes: u32, nested: bool) {
        if bytes > 0 {
            self.refill_bytes(cpu, objcg, bytes, nested, Object::Freed);
        }
    }

    /// Kernel pages, charged by [`MemcgCall::ChargeKernelPages`](mmspec_model::contract::MemcgCall), were freed: straight
    /// from the counters of the group that the objcg points at now, and from the stat alone if that is the root.
    pub fn uncharge_kernel_pages(&self, objcg: MemcgId, pages: u32) {
        let Some(slot) = self.chargeable(objcg).filter(|_| pages > 0) else { return };
        self.uncharge_kernel(slot.objcg_owner(), pages);
        self.change_objcg_refs(objcg, -i64::from(pages));
    }
}
