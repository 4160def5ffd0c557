//! Kernel objects charged by bytes, and whole kernel pages (memcg-slub.md §2.9).

use super::Reference;
use crate::vocab::{CounterKind, CpuId, MemcgId};

/// Bytes of a page.
pub(super) const PAGE: u32 = 4096;

impl Reference {
    /// Serve an object from the CPU's bytes.
    pub(super) fn consume_bytes(
        &mut self,
        cpu: CpuId,
        objcg: MemcgId,
        bytes: u32,
        nested: bool,
    ) -> bool {
        let stock = self.stock_mut(cpu);
        if nested || stock.objcg != Some(objcg) || stock.bytes < bytes {
            return false;
        }
        stock.bytes -= bytes;
        true
    }

    /// Bytes that are charged and not used come to the CPU's stock. `allow`: whole pages above one
    /// are given back.
    pub(super) fn refill_bytes(
        &mut self,
        cpu: CpuId,
        objcg: MemcgId,
        bytes: u32,
        allow: bool,
        nested: bool,
    ) {
        if nested {
            self.tree.group_mut(objcg).charged_bytes += u64::from(bytes % PAGE);
            self.give_back(cpu, objcg, bytes / PAGE, nested);
            return;
        }
        let mut allow = allow;
        if self.stock(cpu).objcg != Some(objcg) {
            self.drain_bytes(cpu);
            self.hold_objcg(objcg, 1);
            let kept = std::mem::take(&mut self.tree.group_mut(objcg).charged_bytes);
            let stock = self.stock_mut(cpu);
            stock.objcg = Some(objcg);
            stock.bytes = kept as u32;
            allow = true;
        }
        let stock = self.stock_mut(cpu);
        stock.bytes += bytes;
        if allow && stock.bytes > PAGE {
            let pages = stock.bytes / PAGE;
            stock.bytes %= PAGE;
            self.give_back(cpu, objcg, pages, nested);
        }
    }

    /// Pages of an objcg that its bytes no longer need: to the page stock of the group that it points at.
    fn give_back(&mut self, cpu: CpuId, objcg: MemcgId, pages: u32, nested: bool) {
        if pages == 0 {
            return;
        }
        let owner = self.tree.group(objcg).objcg_owner;
        self.tree.group_mut(owner).kernel -= i64::from(pages);
        if owner != MemcgId::ROOT {
            self.refill_stock(cpu, owner, pages, nested);
        }
    }

    /// The same, straight off the counters.
    pub(super) fn uncharge_of_objcg(&mut self, objcg: MemcgId, pages: u32) {
        let owner = self.tree.group(objcg).objcg_owner;
        self.tree.group_mut(owner).kernel -= i64::from(pages);
        if owner != MemcgId::ROOT {
            self.tree.uncharge_walk(CounterKind::Memory, owner, u64::from(pages));
        }
    }

    /// So many objects, pages or stocks more use the objcg.
    pub(super) fn hold_objcg(&mut self, objcg: MemcgId, times: u64) {
        self.tree.group_mut(objcg).objcg_references += times;
        self.hold(objcg, times);
    }

    /// So many less. The last use of a removed group's objcg gives back what bytes it kept: whole
    /// pages, for every object that was charged is freed.
    pub(super) fn release_objcg(&mut self, objcg: MemcgId, times: u64) {
        self.tree.group_mut(objcg).objcg_references -= times;
        self.end_objcg(objcg);
        self.release(objcg, times);
    }

    /// Whether it was the last use: see [`Self::release_objcg`].
    pub(super) fn end_objcg(&mut self, objcg: MemcgId) {
        let group = self.tree.group_mut(objcg);
        if group.online || group.objcg_references > 0 {
            return;
        }
        let bytes = std::mem::take(&mut group.charged_bytes);
        let pages = (bytes / u64::from(PAGE)) as u32;
        if pages > 0 {
            self.uncharge_of_objcg(objcg, pages);
        }
    }
}
