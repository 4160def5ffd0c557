//! The machine's shape and the rules, as every part of the allocator reads them.

use crate::frame::{Allocated, BlockType, Frame, FrameState, Records, Spread};
use mmspec_model::vocab::{
    FreeListType, MachineRef, MigrateType, NR_PCP_LISTS_MAX, NR_PCP_TYPES, Order, PcpOrders,
    PcpTuning, Pfn, Rules, ThpLists,
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
    pcp_lists: PcpLists,
    pub(crate) cma_built: bool,
    pub(crate) free_high_batch: bool,
    /// Mobility grouping is on (page_alloc.md §1.1).
    pub(crate) grouping: bool,
    /// Free pages are accounted at each change of list (6.10) and not only at free and hand-out.
    pub(crate) accounts_moves: bool,
    /// Per-CPU lists adapt their high mark (6.7).
    pub(crate) auto_tuning: bool,
    /// How the records of frames lie.
    pub(crate) spread: Spread,
    pub(crate) rules: Rules,
}

impl Geometry {
    pub(crate) fn new(machine: &MachineRef<'_>, rules: Rules, spread: Spread) -> Self {
        let start = machine.zones.iter().map(|zone| zone.span.start.0).min().unwrap_or(0);
        Self {
            base: start & !(machine.max_order.pages() - 1),
            max_order: machine.max_order.get(),
            pageblock_order: machine.pageblock_order.get(),
            pcp_lists: PcpLists::new(machine.thp_order.map(Order::get), &rules),
            cma_built: machine.cma_built,
            free_high_batch: machine.free_high_batch,
            grouping: true,
            accounts_moves: rules.free_list_type == FreeListType::Pageblock,
            auto_tuning: rules.pcp_tuning == PcpTuning::Auto,
            spread,
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

    /// Number of per-CPU lists (page_alloc.md §2.1).
    pub(crate) fn pcp_lists(&self) -> usize {
        self.pcp_lists.count
    }

    /// Whether per-CPU lists hold blocks of `order` (page_alloc.md §2.1).
    #[inline]
    pub(crate) fn is_pcp_order(&self, order: u8) -> bool {
        self.pcp_list(order, MigrateType::Unmovable).is_some()
    }

    /// The per-CPU list of an order and the type of a request or of a pageblock; none for orders
    /// that no list holds and for isolated pageblocks. Below [`NR_LISTS`].
    #[inline(always)]
    pub(crate) fn pcp_list(&self, order: u8, migratetype: MigrateType) -> Option<usize> {
        self.pcp_list_of(order, migratetype as u8)
    }

    /// The same for the number of a type.
    #[inline(always)]
    pub(crate) fn pcp_list_of(&self, order: u8, number: u8) -> Option<usize> {
        let list = self.pcp_lists.of[usize::from(order) % 16][usize::from(number) % 8];
        (list != PcpLists::NONE).then_some(usize::from(list) % NR_LISTS)
    }

    /// The order of the blocks on a per-CPU list.
    #[inline]
    pub(crate) fn pcp_list_order(&self, list: usize) -> u8 {
        self.pcp_lists.orders[list % NR_LISTS]
    }
}

/// Room for the per-CPU lists: a power of two, so that a mask proves an index good.
pub(crate) const NR_LISTS: usize = NR_PCP_LISTS_MAX.next_power_of_two();

/// Which per-CPU list holds what, as tables (page_alloc.md §2.1).
#[derive(Clone, Copy, Debug)]
struct PcpLists {
    count: usize,
    /// By order and type.
    of: [[u8; 8]; 16],
    orders: [u8; NR_LISTS],
}

impl PcpLists {
    const NONE: u8 = u8::MAX;

    fn new(thp_order: Option<u8>, rules: &Rules) -> Self {
        let thp_lists = rules.thp_lists;
        let (small, last, thp_order) = match rules.pcp_orders {
            PcpOrders::Zero => (NR_PCP_TYPES, 0, None),
            PcpOrders::ToCostly => (SMALL_LISTS, Order::COSTLY.get(), thp_order),
        };
        let huge = match thp_lists {
            ThpLists::PerType => 3,
            ThpLists::Shared => 1,
            ThpLists::MovableOrNot => 2,
        };
        let count = small + thp_order.map_or(0, |_| huge);
        let mut lists = Self { count, of: [[Self::NONE; 8]; 16], orders: [0; NR_LISTS] };
        for order in (0..=last).chain(thp_order) {
            for migratetype in MigrateType::ALL {
                // Pages of the atomic reserve and of CMA are cached as movable ones.
                let cached_as = match migratetype {
                    MigrateType::Isolate => continue,
                    pcp_type if pcp_type.is_pcp_type() => pcp_type,
                    _ => MigrateType::Movable,
                };
                let list = if order <= Order::COSTLY.get() {
                    NR_PCP_TYPES * usize::from(order) + cached_as.index()
                } else {
                    SMALL_LISTS
                        + match thp_lists {
                            ThpLists::PerType => cached_as.index(),
                            ThpLists::Shared => 0,
                            ThpLists::MovableOrNot => {
                                usize::from(cached_as == MigrateType::Movable)
                            }
                        }
                };
                lists.of[usize::from(order)][migratetype.index()] = list as u8;
                lists.orders[list] = order;
            }
        }
        lists
    }
}

/// The tables, with the shape that says how to read them.
#[derive(Clone, Copy)]
pub(crate) struct Tables<'a> {
    pub(crate) geometry: &'a Geometry,
    pub(crate) frames: &'a [FrameState],
    pub(crate) links: Records<'a>,
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

    /// Record that a busy block goes to a caller.
    #[inline(always)]
    pub(crate) fn hand_out(&self, frame: u32, block: Allocated) {
        let record = self.links.at(frame);
        debug_assert!(
            self.frame(frame).is_busy_of(block.order),
            "frame {} is handed out at order {}, but it is {:?}",
            self.geometry.pfn(frame),
            block.order,
            self.frame(frame)
        );
        debug_assert!(
            record.allocated(frame).is_none(),
            "frame {} is handed out while it is allocated",
            self.geometry.pfn(frame)
        );
        record.set_allocated(frame, block);
    }

    /// The type of the pageblock that holds `frame`.
    #[inline]
    pub(crate) fn block_type(&self, frame: u32) -> MigrateType {
        self.blocks[(frame >> self.geometry.pageblock_order) as usize].get()
    }

    /// The same as a number.
    #[inline]
    pub(crate) fn block_type_number(&self, frame: u32) -> u8 {
        self.blocks[(frame >> self.geometry.pageblock_order) as usize].number()
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
