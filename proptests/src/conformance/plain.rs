//! A plain buddy allocator, right by being short, and wrong ones like those of public bug reports
//! (facts/public-bugs.md): the canaries of the smallest contract.

use mmspec_model::contract::{
    FixedPlace, FrameAllocator, FrameCounters, Resize, Run, RunAllocator,
};
use mmspec_model::vocab::{Order, Pfn, PfnRange};
use std::collections::BTreeSet;

/// A fault of a real allocator.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum PlainFault {
    /// Merges with a buddy that is not free (public bug 1).
    MergesHeld,
    /// Two largest blocks that are buddies vanish when both are free (3).
    LosesTop,
    /// A region from frame 0 is cut into small blocks (4).
    CutsAtZero,
    /// A freed block is forgotten now and then, while the counter says otherwise (20).
    LiesAboutLoss,
    /// The counter of free frames misses blocks split off (40).
    Miscounts,
    /// A request above the largest order panics (31).
    PanicsAbove,
    /// Blocks are not aligned to their size (15, 17).
    Unaligned,
    /// One frame past the end of the last region is handed out (25, 35).
    PastTheEnd,
    /// A run grows over its neighbour without a look (15).
    GrowsBlind,
    /// A run that shrinks forgets its tail, while the counter says otherwise (20).
    ForgetsTail,
    /// A fixed place that is taken is answered with another one (28, 35).
    PlacesElsewhere,
}

impl PlainFault {
    /// All faults.
    pub const ALL: [Self; 11] = [
        Self::MergesHeld,
        Self::LosesTop,
        Self::CutsAtZero,
        Self::LiesAboutLoss,
        Self::Miscounts,
        Self::PanicsAbove,
        Self::Unaligned,
        Self::PastTheEnd,
        Self::GrowsBlind,
        Self::ForgetsTail,
        Self::PlacesElsewhere,
    ];

    /// The name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::MergesHeld => "buddy-merges-held",
            Self::LosesTop => "buddy-loses-top",
            Self::CutsAtZero => "buddy-cuts-at-zero",
            Self::LiesAboutLoss => "buddy-lies-about-loss",
            Self::Miscounts => "buddy-miscounts",
            Self::PanicsAbove => "buddy-panics-above",
            Self::Unaligned => "buddy-unaligned",
            Self::PastTheEnd => "buddy-past-the-end",
            Self::GrowsBlind => "buddy-grows-blind",
            Self::ForgetsTail => "buddy-forgets-tail",
            Self::PlacesElsewhere => "buddy-places-elsewhere",
        }
    }
}

/// The buddy allocator: one set of free blocks for each order and region.
#[derive(Clone, Debug)]
pub struct Plain {
    regions: Vec<Region>,
    max_order: Order,
    managed: u64,
    free: u64,
    fault: Option<PlainFault>,
    frees: u64,
}

#[derive(Clone, Debug)]
struct Region {
    range: PfnRange,
    blocks: Vec<BTreeSet<u64>>,
}

impl Plain {
    /// Over `regions`, with blocks up to `max_order`.
    #[must_use]
    pub fn new(regions: &[PfnRange], max_order: Order) -> Self {
        Self::planted(regions, max_order, None)
    }

    /// With a fault.
    #[must_use]
    pub fn planted(regions: &[PfnRange], max_order: Order, fault: Option<PlainFault>) -> Self {
        let managed = regions.iter().map(PfnRange::len).sum();
        let mut plain =
            Self { regions: Vec::new(), max_order, managed, free: managed, fault, frees: 0 };
        let last = regions.len().saturating_sub(1);
        for (at, range) in regions.iter().enumerate() {
            let mut region =
                Region { range: *range, blocks: vec![BTreeSet::new(); max_order.index() + 1] };
            let mut pfn = range.start.0;
            while pfn < range.end.0 {
                let small = fault == Some(PlainFault::CutsAtZero) && range.start.0 == 0;
                let top = if small { max_order.get().min(1) } else { max_order.get() };
                let order = (0..=top)
                    .rev()
                    .find(|order| {
                        let pages = 1_u64 << order;
                        pfn.is_multiple_of(pages) && pfn + pages <= range.end.0
                    })
                    .unwrap_or(0);
                region.blocks[usize::from(order)].insert(pfn);
                pfn += 1 << order;
            }
            if fault == Some(PlainFault::PastTheEnd) && at == last {
                region.blocks[0].insert(range.end.0);
            }
            plain.regions.push(region);
        }
        plain
    }

    /// Over memory given as runs.
    #[must_use]
    pub fn over(memory: &[Run], max_order: Order) -> Self {
        Self::planted_over(memory, max_order, None)
    }

    /// With a fault, over memory given as runs.
    #[must_use]
    pub fn planted_over(memory: &[Run], max_order: Order, fault: Option<PlainFault>) -> Self {
        let regions: Vec<_> =
            memory.iter().map(|run| PfnRange::new(run.start, run.end())).collect();
        Self::planted(&regions, max_order, fault)
    }

    /// The order of the block that a request takes; `None` above the largest.
    fn order_for(&self, len: u64, align: u64) -> Option<Order> {
        let block = len.checked_next_power_of_two()?.max(align);
        Order::new(block.trailing_zeros() as u8).filter(|order| *order <= self.max_order)
    }

    fn region_of(&mut self, pfn: u64) -> Option<&mut Region> {
        self.regions.iter_mut().find(|region| region.range.contains(Pfn(pfn)))
    }

    fn is(&self, fault: PlainFault) -> bool {
        self.fault == Some(fault)
    }
}

impl FrameAllocator for Plain {
    fn allocate(&mut self, order: Order) -> Option<Pfn> {
        if order > self.max_order {
            assert!(!self.is(PlainFault::PanicsAbove), "order above the largest");
            return None;
        }
        let (miscounts, unaligned) =
            (self.is(PlainFault::Miscounts), self.is(PlainFault::Unaligned));
        for region in &mut self.regions {
            let found = (order.index()..region.blocks.len())
                .find(|order| !region.blocks[*order].is_empty());
            let Some(mut from) = found else { continue };
            let pfn = region.blocks[from].pop_first()?;
            if miscounts && from > order.index() {
                self.free -= 1;
            }
            while from > order.index() {
                from -= 1;
                region.blocks[from].insert(pfn + (1 << from));
            }
            self.free = self.free.saturating_sub(order.pages());
            let shift = u64::from(unaligned && order.get() == 1 && region.range.len() > 2);
            return Some(Pfn(pfn + shift));
        }
        None
    }

    fn free(&mut self, pfn: Pfn, order: Order) {
        self.free += order.pages();
        self.frees += 1;
        if self.is(PlainFault::LiesAboutLoss) && self.frees.is_multiple_of(9) {
            return;
        }
        let (loses_top, merges_held) =
            (self.is(PlainFault::LosesTop), self.is(PlainFault::MergesHeld));
        let Some(region) = self.regions.iter_mut().find(|region| region.range.contains(pfn)) else {
            return;
        };
        let (mut pfn, mut at) = (pfn.0, order.index());
        while at < self.max_order.index() {
            let buddy = pfn ^ (1 << at);
            let inside =
                region.range.contains(Pfn(buddy)) && buddy + (1 << at) <= region.range.end.0;
            // The wrong one looks at the buddy of the buddy.
            let blind = merges_held && inside && region.blocks[at].contains(&(buddy ^ (2 << at)));
            let merges = region.blocks[at].remove(&buddy) || blind;
            if !merges {
                break;
            }
            pfn &= buddy;
            at += 1;
        }
        if loses_top && at == self.max_order.index() && region.blocks[at].remove(&(pfn ^ (1 << at)))
        {
            return;
        }
        region.blocks[at].insert(pfn);
    }
}

impl FrameCounters for Plain {
    fn free_frames(&self) -> u64 {
        self.free
    }

    fn managed_frames(&self) -> u64 {
        self.managed
    }
}

impl RunAllocator for Plain {
    fn allocate(&mut self, len: u64, align: u64) -> Option<u64> {
        match self.order_for(len, align) {
            Some(order) => FrameAllocator::allocate(self, order).map(|pfn| pfn.0),
            None => {
                assert!(!self.is(PlainFault::PanicsAbove), "request above the largest");
                None
            }
        }
    }

    fn free(&mut self, run: Run, align: u64) {
        if let Some(order) = self.order_for(run.len, align) {
            FrameAllocator::free(self, Pfn(run.start), order);
        }
    }
}

impl FixedPlace for Plain {
    fn allocate_at(&mut self, run: Run) -> Option<u64> {
        let order = self.order_for(run.len, 1)?;
        let place = Pfn(run.start).is_aligned(order).then(|| self.cut_out(run.start, order));
        match place.flatten() {
            Some(()) => Some(run.start),
            None if self.is(PlainFault::PlacesElsewhere) => {
                RunAllocator::allocate(self, run.len, 1)
            }
            None => None,
        }
    }
}

impl Plain {
    /// Take the block at `start` out of the free block that holds it.
    fn cut_out(&mut self, start: u64, order: Order) -> Option<()> {
        let region = self.region_of(start)?;
        let of = |order: usize| start >> order << order;
        let mut from = (order.index()..region.blocks.len())
            .find(|from| region.blocks[*from].contains(&of(*from)))?;
        region.blocks[from].remove(&of(from));
        while from > order.index() {
            from -= 1;
            region.blocks[from].insert(of(from) ^ (1 << from));
        }
        self.free -= order.pages();
        Some(())
    }
}

impl Resize for Plain {
    fn resize(&mut self, run: Run, align: u64, len: u64) -> Option<u64> {
        let (old, new) = (self.order_for(run.len, align)?, self.order_for(len, align)?);
        let halves = |from: Order, to: Order| {
            (from.index()..to.index()).map(move |at| (run.start + (1 << at), Order::of(at as u8)))
        };
        if new > old {
            let blind = self.is(PlainFault::GrowsBlind);
            let region = self.region_of(run.start)?;
            let free = |(start, order): (u64, Order)| region.blocks[order.index()].contains(&start);
            if !blind && (!Pfn(run.start).is_aligned(new) || !halves(old, new).all(free)) {
                return None;
            }
            for (start, order) in halves(old, new) {
                region.blocks[order.index()].remove(&start);
            }
            self.free = self.free.saturating_sub(new.pages() - old.pages());
        }
        for (start, order) in halves(new, old) {
            if self.is(PlainFault::ForgetsTail) {
                self.free += order.pages();
            } else {
                FrameAllocator::free(self, Pfn(start), order);
            }
        }
        Some(run.start)
    }
}
