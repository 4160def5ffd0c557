//! Allocation: the quick way of a first attempt, and taking a block from one zone
//! (page_alloc.md §4.1 to §4.3).

use super::class::unpack_class;
use crate::{
    allocator::PageAllocator,
    frame::Allocated,
    pcp::Want,
    platform::{Platform, Word},
    storage::Backing,
    zone::{Buddy, Zone},
};
use mmspec_model::{
    contract::{Outcome, Refusal, Request},
    vocab::{
        AllocFlags, CpuId, FreeCheck, Gfp, Mark, NodeId, NodeMask, Order, ZoneFlags, ZoneKind,
    },
};

impl<P: Platform, B: Backing> PageAllocator<P, B> {
    /// One attempt on `cpu`; see [`mmspec_model::contract::PageAllocator::alloc_pages`].
    ///
    /// # Panics
    /// If the machine has no such CPU.
    #[inline]
    pub fn alloc_pages(&self, cpu: CpuId, request: Request) -> Outcome {
        // The parts of the request go on in registers: a request read back from memory that was
        // just written piece by piece would wait for all stores before it.
        let Request { order, gfp, attempt, node, nodes, task } = request;
        let restricted = nodes.0 & task.mems.0 != NodeMask::ALL.0;
        if attempt.is_some() || restricted {
            return self.alloc_at_length(cpu, request);
        }
        match order {
            // The common order as a constant makes the whole way shorter.
            Order::ZERO => self.alloc_quick(cpu, Order::ZERO, gfp, node),
            _ => self.alloc_order(cpu, order, gfp, node),
        }
    }

    /// A first attempt of any order.
    #[inline(never)]
    fn alloc_order(&self, cpu: CpuId, order: Order, gfp: Gfp, node: Option<NodeId>) -> Outcome {
        if order.get() > self.geometry.max_order {
            return Outcome::Refused(Refusal::OrderTooLarge(order));
        }
        if self.geometry.rules.free_check == FreeCheck::HalvePerOrder {
            return self.alloc_slowly(cpu, order, gfp, node, false);
        }
        self.alloc_quick(cpu, order, gfp, node)
    }

    /// A first attempt. All is decided by a table and by one check of the preferred zone; what that
    /// does not settle takes the long way.
    #[inline(always)]
    fn alloc_quick(&self, cpu: CpuId, order: Order, gfp: Gfp, node: Option<NodeId>) -> Outcome {
        let own = self.cpu(cpu).node();
        let class = self.class(node.unwrap_or(own), gfp);
        if class as i64 <= 0 {
            return self.alloc_slowly(cpu, order, gfp, node, false);
        }
        let class = unpack_class(class);
        let want = class.want(order.get(), gfp);
        let at = class.zone;
        let zone = self.zone(at);
        if !zone.has_plenty(order.get(), class.classzone)
            && !self.has_room(zone, order.get(), class.classzone, want.flags)
        {
            return self.alloc_slowly(cpu, order, gfp, node, false);
        }
        let Some(frame) = self.rmqueue(cpu, at, want) else {
            return self.alloc_slowly(cpu, order, gfp, node, true);
        };
        if class.node != own {
            self.slot(cpu, at).numa.count_other();
        }
        Outcome::Page(self.geometry.pfn(frame))
    }

    /// The packed class of a request that begins at `node`; 0 if it is refused.
    #[inline(always)]
    fn class(&self, node: NodeId, gfp: Gfp) -> u64 {
        let nodes = &self.storage.nodes[..];
        nodes.get(node.index()).map_or(0, |slot| slot.class(gfp))
    }

    /// Whether a zone has room for a first attempt, to its mark.
    #[cold]
    fn has_room(&self, zone: &Zone<P>, order: u8, highest: ZoneKind, flags: AllocFlags) -> bool {
        let rules = &self.geometry.rules;
        // Nodes with an awake kswapd are passed over at first, if there are others.
        if rules.avoid_awake_nodes && self.nr_nodes > 1 && self.node(zone.info.node).is_awake() {
            return false;
        }
        let below = rules.below_high && !zone.flags().contains(ZoneFlags::BELOW_HIGH);
        let mark = if below { Mark::High } else { Mark::Low };
        zone.has_room(rules, order, mark, highest, flags)
    }

    /// A first attempt zone by zone. With `failed`, the preferred zone was allowed and had nothing.
    #[cold]
    fn alloc_slowly(
        &self,
        cpu: CpuId,
        order: Order,
        gfp: Gfp,
        node: Option<NodeId>,
        failed: bool,
    ) -> Outcome {
        let request = Request { node, ..Request::new(order, gfp) };
        match self.prepare(cpu, &request) {
            Ok(mut attempt) => self.get_page(cpu, &mut attempt, failed),
            Err(refusal) => Outcome::Refused(refusal),
        }
    }

    /// An attempt at a given mark, or within some nodes only.
    #[cold]
    fn alloc_at_length(&self, cpu: CpuId, request: Request) -> Outcome {
        match self.prepare(cpu, &request) {
            Ok(mut attempt) => self.get_page(cpu, &mut attempt, false),
            Err(refusal) => Outcome::Refused(refusal),
        }
    }

    /// Take a block from one zone: the CPU's lists first, then the zone's.
    #[inline(always)]
    pub(super) fn rmqueue(&self, cpu: CpuId, at: usize, want: Want) -> Option<u32> {
        let zone = self.zone(at);
        let slot = self.slot(cpu, at);
        let mut frame = None;
        if let Some(list) = self.geometry.pcp_list(want.order, want.migratetype)
            && let Some(mut pcp) = self.try_lock_lists(cpu, slot)
        {
            pcp.free_count >>= 1;
            pcp.free_factor >>= 1;
            frame = self.pcp_take(zone, &mut pcp, &slot.diff, list, want);
        }
        if frame.is_none() {
            frame = self.rmqueue_direct(cpu, at, want);
        }
        if want.flags.contains(AllocFlags::KSWAPD) && zone.clear_flag(ZoneFlags::BOOSTED_WATERMARK)
        {
            zone.rare.kswapd_wakeups.fetch_add(1);
            self.wake_for_boost(at);
        }
        let reserves = want.flags.contains(AllocFlags::HIGHATOMIC) && want.order > 0;
        if let (Some(frame), true) = (frame, reserves) {
            self.reserve_highatomic(cpu, at, frame, want.order);
        }
        frame
    }

    /// Take a block from the zone's lists.
    #[inline(never)]
    fn rmqueue_direct(&self, cpu: CpuId, at: usize, want: Want) -> Option<u32> {
        let mut locked = self.zone(at).lock(self.tables(), &self.slot(cpu, at).diff);
        let frame = locked.buddy().rmqueue_direct(want.order, want.migratetype, want.flags)?;
        self.tables().hand_out(frame, Allocated { order: want.order, movable: want.movable });
        Some(frame)
    }

    /// Perhaps reserve the pageblock of a block just handed out (page_alloc.md §1.13).
    #[cold]
    fn reserve_highatomic(&self, cpu: CpuId, at: usize, frame: u32, order: u8) {
        let zone = self.zone(at);
        let limit = Buddy::highatomic_limit(
            self.geometry.rules.highatomic_limit,
            zone.info.managed,
            u64::from(self.geometry.pageblock_pages()),
        );
        let Some(limit) = limit else { return };
        if zone.rare.reserved_highatomic.load() < limit {
            let mut locked = zone.lock(self.tables(), &self.slot(cpu, at).diff);
            locked.buddy().reserve_highatomic(frame, order, limit);
        }
    }
}
