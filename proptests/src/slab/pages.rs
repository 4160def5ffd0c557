//! Where slab pages come from here: a small memory that remembers what was asked, and refuses on demand.

use mmspec_model::contract::SlabPages;
use mmspec_model::laws::PageAsked;
use mmspec_model::vocab::{CpuId, Gfp, NodeId, Order, Pfn};
use std::collections::BTreeMap;

/// Frames of the machine.
pub(super) const FRAMES: u64 = 1 << 13;
/// Frames of the machine that threads share: it is made for each schedule.
pub(super) const FEW_FRAMES: u64 = 1 << 6;

/// The memory.
#[derive(Debug)]
pub(super) struct Pages {
    used: Vec<bool>,
    /// Blocks handed out, and the cache for which.
    pub blocks: BTreeMap<Pfn, (Order, u16)>,
    /// For whom the operation is.
    pub cache: u16,
    /// Requests of this operation.
    pub asked: Vec<PageAsked>,
    refuse: (u64, u8),
    /// What was given back that was not given out.
    pub wrong: Option<String>,
}

impl Pages {
    pub(super) fn new() -> Self {
        Self::of_frames(FRAMES)
    }

    pub(super) fn of_frames(frames: u64) -> Self {
        Self {
            used: vec![false; frames as usize],
            blocks: BTreeMap::new(),
            cache: 0,
            asked: Vec::new(),
            refuse: (0, 0),
            wrong: None,
        }
    }

    /// The next `times` requests of `order` and more are refused.
    pub(super) fn refuse(&mut self, times: u64, order: u8) {
        self.refuse = (times, order);
    }

    /// Blocks of a cache, ascending.
    pub(super) fn of(&self, cache: u16) -> Vec<(Pfn, Order)> {
        let of = self.blocks.iter().filter(|(_, (_, owner))| *owner == cache);
        of.map(|(pfn, (order, _))| (*pfn, *order)).collect()
    }

    /// The lowest free block; frame 0 is never one.
    fn find(&mut self, order: Order) -> Option<Pfn> {
        let size = order.pages() as usize;
        let start = (size..self.used.len())
            .step_by(size)
            .find(|start| !self.used[*start..*start + size].contains(&true))?;
        self.used[start..start + size].fill(true);
        Some(Pfn(start as u64))
    }
}

impl SlabPages for Pages {
    fn alloc(&mut self, _: CpuId, order: Order, gfp: Gfp, _: Option<NodeId>) -> Option<Pfn> {
        let (times, from) = &mut self.refuse;
        // What may not fail is not refused.
        let refused = *times > 0 && order.get() >= *from && !gfp.contains(Gfp::NOFAIL);
        *times -= u64::from(refused);
        let got = if refused { None } else { self.find(order) };
        self.asked.push(PageAsked { order, gfp, got });
        if let Some(pfn) = got {
            self.blocks.insert(pfn, (order, self.cache));
        }
        got
    }

    fn free(&mut self, _: CpuId, pfn: Pfn, order: Order) {
        match self.blocks.remove(&pfn) {
            Some((given, _)) if given == order => {
                let start = pfn.index();
                self.used[start..start + order.pages() as usize].fill(false);
            }
            given => {
                self.wrong =
                    Some(format!("{pfn} of order {order} given back, given was {given:?}"));
            }
        }
    }
}
