//! The policy over a state that is only partly known: what a recorded kernel trace is checked
//! against.
//!
//! The rules are those of [`crate::reference`] (its [`arith`] is used
//! here); the state is not. A recording does not say in which order the first free lists stood,
//! which type each pageblock had, or what lay on the per-CPU lists. So each listed block carries
//! the *set* of types that its list may have, lists have parts whose order is unknown, and a
//! question to a list answers "exactly this block", "nothing", or "that depends". Knowledge only
//! grows: from snapshots, and from events that could not have happened otherwise.

mod buddy;
mod cells;
mod frames;
mod pcp;
mod sequence;
mod typeset;
mod words;

pub use buddy::FallbackChoice;
pub use cells::Cells;
pub use frames::{FrameKnowledge, Source};
pub use pcp::Departure;
pub use sequence::Answer;
pub use typeset::TypeSet;

use crate::reference::arith;
use crate::vocab::{MigrateType, NR_PAGE_ORDERS, Order, Pfn, PfnRange, Rules, ZoneName};
use frames::FrameTable;
use pcp::PcpKnowledge;
use sequence::Sequence;
use std::vec::Vec;

/// Number of order slots of a pcp: orders 0 to 3, and huge pages.
pub(crate) const PCP_SLOTS: usize = 5;

/// The shape of the machine that was recorded.
#[derive(Clone, Debug)]
pub struct Shape {
    /// The kernel's rules.
    pub rules: Rules,
    /// Largest block order.
    pub max_order: Order,
    /// Pageblock order.
    pub pageblock_order: Order,
    /// Huge page order, if per-CPU lists hold it.
    pub thp_order: Option<Order>,
    /// Zones, ascending.
    pub zones: Vec<(ZoneName, PfnRange)>,
    /// Number of CPUs.
    pub cpus: usize,
    /// Types that pageblocks can have at all.
    pub types: TypeSet,
}

/// What is known of an allocator's state.
#[derive(Clone, Debug)]
pub struct Knowledge {
    shape: Shape,
    frames: FrameTable,
    cells: Cells,
    free: Vec<[Sequence; NR_PAGE_ORDERS]>,
    pcps: Vec<Vec<PcpKnowledge>>,
    /// The free lists are known to hold nothing but what is listed.
    complete: bool,
}

impl Knowledge {
    /// Nothing is known but the shape.
    #[must_use]
    pub fn new(shape: Shape) -> Self {
        let free = shape.zones.iter().map(|_| Self::unknown_lists(&shape)).collect();
        let pcp = PcpKnowledge::unknown();
        let pcps = shape.zones.iter().map(|_| std::vec![pcp.clone(); shape.cpus]).collect();
        Self {
            frames: FrameTable::default(),
            cells: Cells::new(&shape),
            free,
            pcps,
            complete: false,
            shape,
        }
    }

    fn unknown_lists(shape: &Shape) -> [Sequence; NR_PAGE_ORDERS] {
        core::array::from_fn(|_| Sequence::unknown(shape.types))
    }

    /// The shape.
    #[must_use]
    pub const fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Forget everything (events were lost): only the shape stays.
    pub fn forget(&mut self) {
        *self = Self::new(self.shape.clone());
    }

    /// From now on blocks may leave the free lists unseen (compaction isolates free pages without a
    /// kmem event): nothing is predicted of them any more.
    pub const fn lose_free_lists(&mut self) {
        self.complete = false;
    }

    /// Position of the zone that spans `pfn`.
    #[must_use]
    pub fn zone_of(&self, pfn: Pfn) -> Option<usize> {
        self.shape.zones.iter().position(|(_, span)| span.contains(pfn))
    }

    /// What is known of one frame.
    #[must_use]
    pub fn frame(&self, pfn: Pfn) -> FrameKnowledge {
        self.frames.get(pfn)
    }

    /// Say what a frame is; used for blocks outside all lists.
    pub fn set_frame(&mut self, pfn: Pfn, frame: FrameKnowledge) {
        self.frames.set(pfn, frame);
    }

    /// Whether the free lists are known to hold nothing but what is listed.
    #[must_use]
    pub const fn is_complete(&self) -> bool {
        self.complete
    }

    /// The types that the pageblock of `pfn` may have.
    #[must_use]
    pub fn pageblock_types(&self, pfn: Pfn) -> TypeSet {
        self.cells.types(self.cells.current(pfn))
    }

    /// Number of pageblocks of a zone whose type is known, and of all.
    #[must_use]
    pub fn known_pageblocks(&self, z: usize) -> (usize, usize) {
        self.cells.known(&self.shape, z)
    }

    /// The pageblock of `pfn` has one of `types` now. False if that contradicts what was known;
    /// then the new word counts.
    pub fn learn_pageblock(&mut self, pfn: Pfn, types: TypeSet) -> bool {
        let cell = self.cells.current(pfn);
        self.learn_cell(cell, types)
    }

    /// A page of the pageblock was passed over because it had left its list untraced, so what that
    /// seemed to rule out is open again.
    pub fn doubt_pageblock(&mut self, pfn: Pfn) {
        self.cells.doubt(pfn, self.shape.types);
    }

    /// Narrow a cell and re-file every listed block that depends on it.
    pub(crate) fn learn_cell(&mut self, cell: u32, types: TypeSet) -> bool {
        let mut changed = Vec::new();
        let consistent = self.cells.narrow(cell, types, &mut changed);
        for cell in changed {
            self.refile(cell);
        }
        consistent
    }

    /// Put blocks that depend on `cell` into the buckets of its new set.
    fn refile(&mut self, cell: u32) {
        let range = self.cells.range(cell);
        for at in range.start.0..range.end.0 {
            let pfn = Pfn(at);
            match self.frames.get(pfn) {
                FrameKnowledge::Free { order, source: Source::Cell(c), place, filed }
                    if c == cell =>
                {
                    let Some(z) = self.zone_of(pfn) else { continue };
                    let types = self.cells.types(cell);
                    self.free[z][order.index()].refile(pfn, place, filed, types);
                    let frame = FrameKnowledge::Free {
                        order,
                        source: Source::Cell(c),
                        place,
                        filed: types,
                    };
                    self.frames.set(pfn, frame);
                }
                FrameKnowledge::Cached { cpu, order, source: Source::Cell(c), place, filed }
                    if c == cell =>
                {
                    let Some(z) = self.zone_of(pfn) else { continue };
                    let slot = pcp::slot(order);
                    let types =
                        pcp::class(slot, self.cells.types(cell), self.shape.rules.thp_lists);
                    self.pcps[z][usize::from(cpu)].lists[slot].refile(pfn, place, filed, types);
                    let frame = FrameKnowledge::Cached {
                        cpu,
                        order,
                        source: Source::Cell(c),
                        place,
                        filed: types,
                    };
                    self.frames.set(pfn, frame);
                }
                _ => {}
            }
        }
    }

    /// The set of types that a source stands for.
    pub(crate) fn types_of(&self, source: Source) -> TypeSet {
        match source {
            Source::Cell(cell) => self.cells.types(cell),
            Source::Type(migratetype) => TypeSet::of(migratetype),
        }
    }

    /// The free list of a block lies with its pageblock's type (6.10 and later).
    pub(crate) fn hygiene(&self) -> bool {
        self.shape.rules.free_list_type == crate::vocab::FreeListType::Pageblock
    }

    /// Whether per-CPU lists hold blocks of this order.
    #[must_use]
    pub fn is_pcp_order(&self, order: Order) -> bool {
        arith::is_cached_order(order, self.shape.thp_order, self.shape.rules.pcp_orders)
    }

    /// The type that the pageblock of `pfn` has now, as a source.
    #[must_use]
    pub fn pageblock_source(&self, pfn: Pfn) -> Source {
        Source::Cell(self.cells.current(pfn))
    }

    /// Where a block that goes to the lists of `migratetype` gets its type from.
    pub(crate) fn source_for(&self, pfn: Pfn, migratetype: MigrateType) -> Source {
        if self.hygiene() {
            Source::Cell(self.cells.current(pfn))
        } else {
            Source::Type(migratetype)
        }
    }
}
