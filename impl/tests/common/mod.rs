//! What the tests share: machines, and an owner of pages that checks what it is given.
#![allow(dead_code)] // Each test binary uses its part.

use mmspec_impl::OwnedAllocator;
use mmspec_model::{
    contract::Request,
    vocab::{
        AllocFlags, CpuId, Gfp, Machine, Mark, MigrateType, Order, Pfn, Rules, Tunables, ZoneIdx,
        ZoneKind,
    },
};
use std::vec::Vec;

pub(crate) const CPU0: CpuId = CpuId(0);
pub(crate) const CPU1: CpuId = CpuId(1);
pub(crate) const NORMAL: ZoneIdx = ZoneIdx(0);

/// A machine with one Normal zone from frame 0.
pub(crate) fn single_zone(cpus: u16, frames: u64, rules: Rules) -> OwnedAllocator {
    let machine = Machine::new(cpus, &[(ZoneKind::Normal, 0, frames)]);
    OwnedAllocator::new(machine.as_ref(), rules, Tunables::default()).unwrap()
}

/// Blocks held by CPU 0; checks that none overlaps another.
pub(crate) struct Pages<'a> {
    allocator: &'a OwnedAllocator,
    held: Vec<(Pfn, Order)>,
}

impl<'a> Pages<'a> {
    pub(crate) fn new(allocator: &'a OwnedAllocator) -> Self {
        Self { allocator, held: Vec::new() }
    }

    pub(crate) fn allocator(&self) -> &'a OwnedAllocator {
        self.allocator
    }

    pub(crate) fn request(&mut self, request: Request) -> Option<Pfn> {
        let pfn = self.allocator.alloc_pages(CPU0, request).page()?;
        assert!(pfn.is_aligned(request.order));
        self.held.push((pfn, request.order));
        Some(pfn)
    }

    pub(crate) fn alloc(&mut self, order: Order, gfp: Gfp) -> Option<Pfn> {
        self.request(Request::new(order, gfp))
    }

    /// Allocate `n` blocks.
    pub(crate) fn fill(&mut self, order: Order, gfp: Gfp, n: u64) {
        for _ in 0..n {
            self.request(Request::new(order, gfp).at(Mark::Min, AllocFlags::NO_WATERMARKS))
                .expect("a block is free");
        }
    }

    /// Free the block held longest.
    pub(crate) fn free_first(&mut self) {
        let (pfn, order) = self.held.remove(0);
        self.allocator.free_pages(CPU0, pfn, order);
    }

    /// Free the blocks whose first frame satisfies `which`.
    pub(crate) fn free_if(&mut self, which: impl Fn(Pfn) -> bool) {
        let allocator = self.allocator;
        self.held.retain(|&(pfn, order)| {
            if which(pfn) {
                allocator.free_pages(CPU0, pfn, order);
            }
            !which(pfn)
        });
    }

    /// Pages on CPU 0's lists.
    pub(crate) fn count(&self) -> u64 {
        self.allocator.pcp_state(CPU0, NORMAL).count
    }

    /// Allocate past the per-CPU lists, whatever the watermarks.
    pub(crate) fn direct(&mut self, order: Order) -> Option<Pfn> {
        self.allocator.fail_trylock(CPU0, 1);
        let request = Request::new(order, Gfp::HIGHUSER_MOVABLE);
        self.request(request.at(Mark::Min, AllocFlags::NO_WATERMARKS))
    }

    /// Free past the per-CPU lists.
    pub(crate) fn free_direct(&mut self, pfn: Pfn, order: Order) {
        self.allocator.fail_trylock(CPU0, 1);
        self.held.retain(|block| *block != (pfn, order));
        self.allocator.free_pages(CPU0, pfn, order);
    }

    /// Check the Movable free lists: these orders hold these blocks, the others none.
    #[track_caller]
    pub(crate) fn free_lists<const N: usize>(&self, expected: [(u8, &[u64]); N]) {
        for order in Order::ZERO.up_to(Order::MAX) {
            let mut found = Vec::new();
            self.allocator
                .for_each_free(NORMAL, order, MigrateType::Movable, &mut |pfn| found.push(pfn.0));
            let expected = expected.iter().find(|(at, _)| *at == order.get());
            assert_eq!(found, expected.map_or(&[][..], |(_, blocks)| *blocks), "order {order}");
        }
    }
}
