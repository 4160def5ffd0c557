//! The machine's shape and the rules, as every part of the allocator reads them.

use crate::frame::{BlockType, Frame, FrameState, Links};
use mmspec_model::vocab::{
    FreeListType, MachineRef, MigrateType, NR_PCP_TYPES, Order, PcpTuning, Pfn, Rules, ThpLists,
};

/// Per-CPU lists of the small orders: orders 0 to 3, three types each.
const SMALL_LISTS: usize = (Order::COSTLY.index() + 1) * NR_PCP_TYPES;

/// Shape and rules. Never changes after start-up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Geometry {
    /// The frame that table index 0 stands for: a multiple of the largest block.
    pub(crate) base: u64,
    pub(crate) max_order: u8,
    pub(crate) pageblock_order: u8,
    thp_order: Option<u8>,
    pub(crate) cma_built: bool,
    pub(crate) free_high_batch: bool,
    /// Mobility grouping is on (page_alloc.md §1.1).
    pub(crate) grouping: bool,
    /// Free pages are accounted at each change of list (6.10) and not only at free and hand-out.
    pub(crate) accounts_moves: bool,
    /// Per-CPU lists adapt their high mark (6.7).
    pub(crate) auto_tuning: bool,
    pub(crate) rules: Rules,
}

impl Geometry {
    pub(crate) fn new(machine: &MachineRef<'_>, rules: Rules) -> Self {
        let start = machine.zones.iter().map(|zone| zone.span.start.0).min().unwrap_or(0);
        Self {
            base: start & !(machine.max_order.pages() - 1),
            max_order: machine.max_order.get(),
            pageblock_order: machine.pageblock_order.get(),
            thp_order: machine.thp_order.map(Order::get),
            cma_built: machine.cma_built,
            free_high_batch: machine.free_high_batch,
            grouping: true,
            accounts_moves: rules.free_list_type == FreeListType::Pageblock,
            auto_tuning: rules.pcp_tuning == PcpTuning::Auto,
            rules,
        }
    }

    /// Frames that the tables hold, and pageblocks.
    pub(crate) fn table_sizes(&self, machine: &MachineRef<'_>) -> (usize, usize) {
        let frames = machine.end().0.saturating_sub(self.base) as usize;
        (frames, frames.div_ceil(1 << self.pageblock_order))
    }

    /// The table index of a frame.
    #[inline]
    pub(crate) fn index(&self, pfn: Pfn) -> u32 {
        pfn.0.wrapping_sub(self.base) as u32
    }

    /// The frame at a table index.
    #[inline]
    pub(crate) fn pfn(&self, frame: u32) -> Pfn {
        Pfn(self.base + u64::from(frame))
    }

    /// The type that a pageblock gets when it is to have `migratetype`: with grouping off the pcp
    /// types are all stored as Unmovable (page_alloc.md §1.1).
    pub(crate) fn stored_type(&self, migratetype: MigrateType) -> MigrateType {
        if !self.grouping && migratetype.is_pcp_type() {
            MigrateType::Unmovable
        } else {
            migratetype
        }
    }

    #[inline]
    pub(crate) fn pageblock_pages(&self) -> u32 {
        1 << self.pageblock_order
    }

    /// First frame of the pageblock that holds `frame`.
    #[inline]
    pub(crate) fn pageblock_start(&self, frame: u32) -> u32 {
        frame & !(self.pageblock_pages() - 1)
    }

    /// Whether per-CPU lists hold blocks of `order` (page_alloc.md §2.1).
    #[inline]
    pub(crate) fn is_pcp_order(&self, order: u8) -> bool {
        order <= Order::COSTLY.get() || self.thp_order == Some(order)
    }

    /// Number of per-CPU lists (page_alloc.md §2.1).
    pub(crate) fn pcp_lists(&self) -> usize {
        let huge = match (self.thp_order, self.rules.thp_lists) {
            (None, _) => 0,
            (Some(_), ThpLists::PerType) => 3,
            (Some(_), ThpLists::Shared) => 1,
            (Some(_), ThpLists::MovableOrNot) => 2,
        };
        SMALL_LISTS + huge
    }

    /// The per-CPU list of a pcp order and type.
    #[inline]
    pub(crate) fn pcp_list(&self, order: u8, migratetype: MigrateType) -> usize {
        if order <= Order::COSTLY.get() {
            return NR_PCP_TYPES * usize::from(order) + migratetype.index();
        }
        SMALL_LISTS
            + match self.rules.thp_lists {
                ThpLists::PerType => migratetype.index(),
                ThpLists::Shared => 0,
                ThpLists::MovableOrNot => usize::from(migratetype == MigrateType::Movable),
            }
    }

    /// The order of the blocks on a per-CPU list.
    #[inline]
    pub(crate) fn pcp_list_order(&self, list: usize) -> u8 {
        if list < SMALL_LISTS {
            (list / NR_PCP_TYPES) as u8
        } else {
            self.thp_order.unwrap_or(Order::COSTLY.get())
        }
    }
}

/// The tables, with the shape that says how to read them.
#[derive(Clone, Copy)]
pub(crate) struct Tables<'a> {
    pub(crate) geometry: &'a Geometry,
    pub(crate) frames: &'a [FrameState],
    pub(crate) links: &'a [Links],
    pub(crate) blocks: &'a [BlockType],
}

impl Tables<'_> {
    #[inline]
    pub(crate) fn frame(&self, frame: u32) -> Frame {
        self.frames[frame as usize].get()
    }

    #[inline]
    pub(crate) fn set_frame(&self, frame: u32, state: Frame) {
        self.frames[frame as usize].set(state);
    }

    /// The type of the pageblock that holds `frame`.
    #[inline]
    pub(crate) fn block_type(&self, frame: u32) -> MigrateType {
        self.blocks[(frame >> self.geometry.pageblock_order) as usize].get()
    }

    /// Retype the pageblock that holds `frame`.
    pub(crate) fn set_block_type(&self, frame: u32, migratetype: MigrateType) {
        let stored = self.geometry.stored_type(migratetype);
        self.blocks[(frame >> self.geometry.pageblock_order) as usize].set(stored);
    }

    /// Retype all pageblocks under a block of `order`, at least the first.
    pub(crate) fn set_block_types(&self, frame: u32, order: u8, migratetype: MigrateType) {
        for block in (frame..frame + (1 << order)).step_by(self.geometry.pageblock_pages() as usize)
        {
            self.set_block_type(block, migratetype);
        }
    }
}
