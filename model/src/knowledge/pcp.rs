//! Per-CPU lists as far as they are known.

use super::sequence::{Answer, Sequence};
use super::{FrameKnowledge, Knowledge, PCP_SLOTS, Source, TypeSet};
use crate::reference::arith;
use crate::vocab::{MigrateType, Order, Pfn, ThpLists};
use std::vec::Vec;

/// One CPU's lists in one zone: one sequence for each order, with the types inside.
#[derive(Clone, Debug)]
pub(crate) struct PcpKnowledge {
    pub(crate) lists: [Sequence; PCP_SLOTS],
}

impl PcpKnowledge {
    pub(crate) fn unknown() -> Self {
        Self { lists: core::array::from_fn(|_| Sequence::unknown(TypeSet::PCP)) }
    }
}

/// The slot of a pcp order.
pub(crate) fn slot(order: Order) -> usize {
    if order <= Order::COSTLY { order.index() } else { PCP_SLOTS - 1 }
}

/// The list classes of a set of pageblock types: HighAtomic and CMA pages lie with the Movable
/// ones (§1.13), and huge pages have fewer lists (§2.1).
pub(crate) fn class(slot: usize, types: TypeSet, thp: ThpLists) -> TypeSet {
    let fold = |mt: MigrateType| {
        let mt = if mt.is_pcp_type() { mt } else { MigrateType::Movable };
        match thp {
            ThpLists::Shared if slot == PCP_SLOTS - 1 => MigrateType::Unmovable,
            ThpLists::MovableOrNot if slot == PCP_SLOTS - 1 && mt != MigrateType::Movable => {
                MigrateType::Unmovable
            }
            _ => mt,
        }
    };
    types.iter().map(fold).collect()
}

/// The pageblock types that a list class excludes when a block turns out not to be in it.
fn types_of_class(of: MigrateType, slot: usize, thp: ThpLists) -> TypeSet {
    MigrateType::ALL
        .into_iter()
        .filter(|mt| class(slot, TypeSet::of(*mt), thp).contains(of))
        .collect()
}

/// What was found when a block left a per-CPU list.
#[derive(Clone, Debug, Default)]
pub struct Departure {
    /// Blocks that surely were nearer to the end at which it left.
    pub passed_over: Vec<Pfn>,
    /// The block itself was known to be on the list.
    pub was_known: bool,
}

impl Knowledge {
    fn class_of(&self, order: Order, migratetype: MigrateType) -> MigrateType {
        let set = class(slot(order), TypeSet::of(migratetype), self.shape.rules.thp_lists);
        set.single().unwrap_or(MigrateType::Unmovable)
    }

    fn pcp(&self, cpu: usize, z: usize, order: Order) -> &Sequence {
        &self.pcps[z][cpu].lists[slot(order)]
    }

    fn pcp_mut(&mut self, cpu: usize, z: usize, order: Order) -> &mut Sequence {
        &mut self.pcps[z][cpu].lists[slot(order)]
    }

    /// The block at the head of the list that serves such a request.
    #[must_use]
    pub fn predict_pop(
        &self,
        cpu: usize,
        z: usize,
        order: Order,
        migratetype: MigrateType,
    ) -> Answer {
        self.pcp(cpu, z, order).at_head(self.class_of(order, migratetype))
    }

    /// The block at the tail of list number `list`.
    #[must_use]
    pub fn predict_drain(&self, cpu: usize, z: usize, list: usize) -> Answer {
        let (order, migratetype) = self.list_meaning(list);
        self.pcp(cpu, z, order).at_tail(migratetype)
    }

    /// Order and type class of list number `list` (§2.1).
    #[must_use]
    pub fn list_meaning(&self, list: usize) -> (Order, MigrateType) {
        if list < 12 {
            (Order::of((list / 3) as u8), MigrateType::PCP[list % 3])
        } else {
            let thp = self.shape.thp_order.unwrap_or(Order::MAX);
            let migratetype = match self.shape.rules.thp_lists {
                ThpLists::PerType => MigrateType::PCP[list - 12],
                ThpLists::Shared => MigrateType::Unmovable,
                ThpLists::MovableOrNot if list == 13 => MigrateType::Movable,
                ThpLists::MovableOrNot => MigrateType::Unmovable,
            };
            (thp, migratetype)
        }
    }

    /// Number of per-CPU lists.
    #[must_use]
    pub fn list_count(&self) -> usize {
        arith::pcp_list_count(self.shape.thp_order, &self.shape.rules)
    }

    /// The numbers of the lists on which a cached block may lie.
    #[must_use]
    pub fn lists_of(&self, pfn: Pfn) -> Vec<usize> {
        let FrameKnowledge::Cached { order, filed, .. } = self.frames.get(pfn) else {
            return Vec::new();
        };
        filed.iter().map(|mt| arith::pcp_list(order, mt, self.shape.rules.thp_lists)).collect()
    }

    /// The page was freed to a per-CPU list: which one follows from its pageblock.
    pub fn cache_freed(&mut self, cpu: usize, z: usize, pfn: Pfn, order: Order) {
        let source = Source::Cell(self.cells.current(pfn));
        let filed = class(slot(order), self.types_of(source), self.shape.rules.thp_lists);
        let place = self.pcp_mut(cpu, z, order).push_head(pfn, filed);
        let frame = FrameKnowledge::Cached { cpu: cpu as u16, order, source, place, filed };
        self.frames.set(pfn, frame);
    }

    /// The page was appended to the list that is being refilled.
    pub fn cache_refilled(
        &mut self,
        cpu: usize,
        z: usize,
        pfn: Pfn,
        order: Order,
        migratetype: MigrateType,
    ) {
        let class = self.class_of(order, migratetype);
        let filed = TypeSet::of(class);
        let place = self.pcp_mut(cpu, z, order).push_tail(pfn, filed);
        let source = Source::Type(class);
        let frame = FrameKnowledge::Cached { cpu: cpu as u16, order, source, place, filed };
        self.frames.set(pfn, frame);
    }

    /// A refill proves that its list was empty. Returns the blocks that were thought to be on it.
    pub fn prove_empty(
        &mut self,
        cpu: usize,
        z: usize,
        order: Order,
        migratetype: MigrateType,
    ) -> Vec<Pfn> {
        let of = self.class_of(order, migratetype);
        self.pcp_mut(cpu, z, order).close(TypeSet::of(of));
        let (sure, maybe) = self.pcp(cpu, z, order).all(of);
        self.rule_out(&maybe, order, of);
        sure
    }

    /// These blocks are not on the list of class `of`.
    fn rule_out(&mut self, blocks: &[Pfn], order: Order, of: MigrateType) {
        let thp = self.shape.rules.thp_lists;
        let excluded = types_of_class(of, slot(order), thp);
        for pfn in blocks {
            self.learn_block(*pfn, TypeSet::ALL.without(excluded));
        }
    }

    fn rule_in(&mut self, pfn: Pfn, order: Order, of: MigrateType) {
        let thp = self.shape.rules.thp_lists;
        self.learn_block(pfn, types_of_class(of, slot(order), thp));
    }

    /// A block left the head of a list.
    pub fn pop(
        &mut self,
        cpu: usize,
        z: usize,
        order: Order,
        migratetype: MigrateType,
        pfn: Pfn,
    ) -> Departure {
        let of = self.class_of(order, migratetype);
        self.leave(cpu, z, order, of, pfn, true)
    }

    /// A block left the tail of list number `list`.
    pub fn drain(&mut self, cpu: usize, z: usize, list: usize, pfn: Pfn) -> Departure {
        let (order, of) = self.list_meaning(list);
        self.leave(cpu, z, order, of, pfn, false)
    }

    fn leave(
        &mut self,
        cpu: usize,
        z: usize,
        order: Order,
        of: MigrateType,
        pfn: Pfn,
        head: bool,
    ) -> Departure {
        let place = match self.frames.get(pfn) {
            FrameKnowledge::Cached { cpu: c, order: o, filed, place, .. }
                if usize::from(c) == cpu && slot(o) == slot(order) && filed.contains(of) =>
            {
                Some(place)
            }
            _ => None,
        };
        // A block that is not known stood in the part that was there before: place 0.
        let at = place.unwrap_or(0);
        let sequence = self.pcp(cpu, z, order);
        let (sure, maybe) = if head { sequence.before(of, at) } else { sequence.after(of, at) };
        self.rule_out(&maybe, order, of);
        if let Some(place) = place {
            self.rule_in(pfn, order, of);
            self.uncache(z, pfn);
            // What was there before lay nearer to this end: it is gone.
            if (head && place > 0) || (!head && place < 0) {
                self.pcp_mut(cpu, z, order).close(TypeSet::of(of));
            }
        }
        Departure { passed_over: sure, was_known: place.is_some() }
    }

    /// The blocks of the same refill, or an older one, that surely stood before a refilled block on
    /// its list for as long as it was there. What was freed since may have come after it left.
    #[must_use]
    pub fn refilled_before(&self, pfn: Pfn) -> Vec<Pfn> {
        let FrameKnowledge::Cached { cpu, order, place, filed, .. } = self.frames.get(pfn) else {
            return Vec::new();
        };
        let (Some(z), Some(of)) = (self.zone_of(pfn), filed.single()) else { return Vec::new() };
        let (mut sure, _) = self.pcp(usize::from(cpu), z, order).before(of, place);
        sure.retain(|other| {
            matches!(self.frames.get(*other), FrameKnowledge::Cached { place, .. } if place > 0)
        });
        sure
    }

    /// Whether list content from before the recording may still be on the list.
    #[must_use]
    pub fn may_hold_unknown(
        &self,
        cpu: usize,
        z: usize,
        order: Order,
        migratetype: MigrateType,
    ) -> bool {
        self.pcp(cpu, z, order).may_hold_unknown(self.class_of(order, migratetype))
    }

    /// Take a block off its per-CPU list without any conclusion.
    pub fn uncache(&mut self, z: usize, pfn: Pfn) {
        if let FrameKnowledge::Cached { cpu, order, place, filed, .. } = self.frames.get(pfn) {
            self.pcp_mut(usize::from(cpu), z, order).remove(pfn, place, filed);
            self.frames.set(pfn, FrameKnowledge::NotFree);
        }
    }

    /// Pages known to be on one CPU's lists.
    #[must_use]
    pub fn cached_pages(&self, cpu: usize, z: usize) -> u64 {
        let thp = self.shape.thp_order.unwrap_or(Order::ZERO);
        let lists = self.pcps[z][cpu].lists.iter().enumerate();
        lists
            .map(|(at, list)| {
                let order = if at == PCP_SLOTS - 1 { thp.get() } else { at as u8 };
                (list.len() as u64) << order
            })
            .sum()
    }

    /// Whether everything on one CPU's lists is known.
    #[must_use]
    pub fn knows_all_cached(&self, cpu: usize, z: usize) -> bool {
        self.pcps[z][cpu]
            .lists
            .iter()
            .all(|list| MigrateType::PCP.iter().all(|mt| !list.may_hold_unknown(*mt)))
    }
}
