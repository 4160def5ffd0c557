//! A phase in which migratetypes mix while kswapd works off what earlier mixing asked it for.

use super::ops::Builder;
use super::walks::kswapd;
use crate::script::Op;
use mmspec_model::vocab::{AllocFlags, Gfp, Mark, Order, Tunables};

impl Builder<'_> {
    /// The memory is filled with movable blocks somewhat smaller than a pageblock, and every other one
    /// comes back: each pageblock has room, none is free as a whole. Then requests of other types have
    /// to fall back, which boosts the marks, between the steps of kswapd.
    pub(super) fn mix(&mut self) {
        let pageblock = self.machine.pageblock_order;
        if self.rng.percent(80) {
            // Marks high enough for boosts of several pageblocks (page_alloc.md §3.6).
            let pages = self.rng.between(pageblock.pages(), 4 * pageblock.pages());
            let min_free_kbytes = Some(4 * pages.min(self.frames / 4) as u32);
            let tunables = Tunables { min_free_kbytes, ..Tunables::default() };
            self.ops.push(Op::Set { tunables });
        }
        let order = pageblock.get().saturating_sub(self.rng.between(1, 2) as u8);
        let order = Order::of(order);
        let anyhow = Some((Mark::Min, AllocFlags::NO_WATERMARKS));
        let first = self.alive.len();
        for _ in 0..self.frames >> order.get() {
            if self.full() {
                return;
            }
            self.ask(order, Gfp::HIGHUSER_MOVABLE, anyhow);
        }
        let mut at = first;
        while at < self.alive.len() && !self.full() {
            self.free_at(&[at]);
            at += 1;
        }
        for _ in 0..self.rng.between(8, 40) {
            if self.full() {
                return;
            }
            if self.rng.percent(40) {
                let gfp = *self.rng.pick(&[Gfp::KERNEL, Gfp::KERNEL | Gfp::RECLAIMABLE]);
                let order = Order::of(self.rng.between(0, u64::from(order.get())) as u8);
                self.ask(order, gfp, anyhow);
            } else {
                let step = kswapd(self.rng, self.machine);
                self.ops.push(step);
            }
        }
    }
}
