//! Allocation: the quick way of a first attempt, and taking a block from one zone
//! (page_alloc.md §4.1 to §4.3).

use super::class::{
    Class, packed_kind, packed_movable, packed_node, packed_type, packed_zone, unpack_class,
};
use crate::{
    allocator::PageAllocator,
    frame::Allocated,
    pcp::{CpuSlot, PcpSlot, Want},
    platform::{Platform, Word},
    storage::Backing,
    zone::{Buddy, Zone},
};
use mmspec_model::{
    contract::{Outcome, Refusal, Request},
    vocab::{AllocFlags, CpuId, FreeCheck, Gfp, Mark, NodeId, NodeMask, Order, ZoneFlags},
};

/// Where a block is looked for.
struct Source<'a, P: Platform> {
    own: &'a CpuSlot<P>,
    zone: &'a Zone<P>,
    slot: &'a PcpSlot<P>,
    /// The CPU's list, if the lists hold the order.
    list: Option<usize>,
}

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
        let outcome = if attempt.is_some() || restricted || !task.flags.is_empty() {
            self.alloc_at_length(cpu, request)
        } else if order == Order::ZERO {
            // The common order as a constant makes the whole way shorter.
            self.alloc_quick(cpu, Order::ZERO, gfp, node)
        } else {
            self.alloc_order(cpu, order, gfp, node)
        };
        self.trace_alloc(&request, outcome);
        outcome
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
        let own = self.cpu(cpu);
        let class = match node {
            None => own.classes.get(gfp),
            Some(node) => self.class(node, gfp),
        };
        if class as i64 <= 0 {
            return self.alloc_slowly(cpu, order, gfp, node, false);
        }
        let (at, kind) = (packed_zone(class), packed_kind(class));
        let zone = self.zone(at);
        if !zone.has_plenty(order.get(), kind) && !self.has_room(zone, order.get(), class) {
            return self.alloc_slowly(cpu, order, gfp, node, false);
        }
        // The number of the type leads to the list with a look-up less than the type.
        let from = Source {
            own,
            zone,
            slot: self.slot(cpu, at),
            list: self.geometry.pcp_list_of(order.get(), packed_type(class)),
        };
        // Most parts of what is wanted are asked for only if the list is empty.
        let want = || unpack_class(class).want(order.get(), gfp);
        let block = Allocated { order: order.get(), movable: packed_movable(class) };
        let mut frame = self.rmqueue_lists(&from, block, want);
        if frame.is_none() {
            frame = self.rmqueue_direct(cpu, at, want());
        }
        if gfp.contains(Gfp::KSWAPD_RECLAIM) {
            self.look_at_boost(at, zone);
        }
        let Some(frame) = frame else {
            return self.alloc_slowly(cpu, order, gfp, node, true);
        };
        if packed_node(class) != own.node() {
            from.slot.numa.count_other();
        }
        Outcome::Page(self.geometry.pfn(frame))
    }

    /// The packed class of a request that begins at `node`; 0 if it is refused.
    #[inline(never)]
    fn class(&self, node: NodeId, gfp: Gfp) -> u64 {
        let nodes = &self.storage.nodes[..];
        nodes.get(node.index()).map_or(0, |slot| slot.classes.get(gfp))
    }

    /// Whether a zone has room for a first attempt, to its mark.
    #[cold]
    fn has_room(&self, zone: &Zone<P>, order: u8, class: u64) -> bool {
        let Class { classzone, flags, .. } = unpack_class(class);
        let rules = &self.geometry.rules;
        // Nodes with an awake kswapd are passed over at first, if there are others.
        if rules.avoid_awake_nodes && self.nr_nodes > 1 && self.node(zone.info.node).is_awake() {
            return false;
        }
        let below = rules.below_high && !zone.flags().contains(ZoneFlags::BELOW_HIGH);
        let mark = if below { Mark::High } else { Mark::Low };
        zone.has_room(rules, order, mark, classzone, flags)
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
    pub(super) fn rmqueue(&self, cpu: CpuId, at: usize, want: Want) -> Option<u32> {
        let zone = self.zone(at);
        let from = Source {
            own: self.cpu(cpu),
            zone,
            slot: self.slot(cpu, at),
            list: self.geometry.pcp_list(want.order, want.migratetype),
        };
        let block = Allocated { order: want.order, movable: want.movable };
        let mut frame = self.rmqueue_lists(&from, block, || want);
        if frame.is_none() {
            frame = self.rmqueue_direct(cpu, at, want);
        }
        if want.flags.contains(AllocFlags::KSWAPD) {
            self.look_at_boost(at, zone);
        }
        let reserves = want.flags.contains(AllocFlags::HIGHATOMIC) && want.order > 0;
        if let (Some(frame), true) = (frame, reserves) {
            self.reserve_highatomic(cpu, at, frame, want.order);
        }
        frame
    }

    /// Take a block from the CPU's lists, if they hold its order and are not busy.
    #[inline(always)]
    fn rmqueue_lists(
        &self,
        from: &Source<'_, P>,
        block: Allocated,
        want: impl Fn() -> Want,
    ) -> Option<u32> {
        let list = from.list?;
        let mut pcp = Self::try_lock_as(from.own, from.slot)?;
        pcp.free_count >>= 1;
        pcp.free_factor >>= 1;
        self.pcp_take(from.zone, &mut pcp, &from.slot.diff, list, block, want)
    }

    /// Wake kswapd if a fallback boosted the zone's marks (page_alloc.md §3.6).
    #[inline(always)]
    fn look_at_boost(&self, at: usize, zone: &Zone<P>) {
        if zone.clear_flag(ZoneFlags::BOOSTED_WATERMARK) {
            self.wake_for_boost(at);
        }
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
        let limit = Buddy::<P>::highatomic_limit(
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
