//! What is known of pageblock types, over time.
//!
//! A *cell* is "the type of this pageblock from one retyping to the next". A page put on a list
//! while a cell was current keeps pointing at it, so that what is learnt later of the pageblock's
//! type then also tells on which list the page lies now.

use super::{Shape, TypeSet};
use crate::vocab::{MigrateType, Order, Pfn, PfnRange};
use std::vec::Vec;

#[derive(Clone, Copy, Debug)]
struct Cell {
    types: TypeSet,
    block: u32,
    /// The zone whose count of pageblocks by type it takes part in.
    counted: Option<u8>,
    /// An event named the type; else it is only known what it is not.
    named: bool,
}

/// The number of pageblocks of each type in one zone at the start.
#[derive(Clone, Debug)]
struct Census {
    wanted: [usize; 6],
    members: Vec<u32>,
}

/// All cells.
#[derive(Clone, Debug)]
pub struct Cells {
    order: Order,
    first: u64,
    cells: Vec<Cell>,
    current: Vec<u32>,
    censuses: Vec<Option<Census>>,
}

impl Cells {
    pub(crate) fn new(shape: &Shape) -> Self {
        let order = shape.pageblock_order;
        let start = shape.zones.iter().map(|(_, span)| span.start.0).min().unwrap_or(0);
        let end = shape.zones.iter().map(|(_, span)| span.end.0).max().unwrap_or(0);
        let first = start >> order.get();
        let blocks = (end.div_ceil(order.pages()) - first) as u32;
        let cells = (0..blocks)
            .map(|block| Cell { types: shape.types, block, counted: None, named: false })
            .collect();
        Self {
            order,
            first,
            cells,
            current: (0..blocks).collect(),
            censuses: std::vec![None; shape.zones.len()],
        }
    }

    fn block(&self, pfn: Pfn) -> usize {
        ((pfn.0 >> self.order.get()) - self.first) as usize
    }

    pub(crate) fn current(&self, pfn: Pfn) -> u32 {
        self.current[self.block(pfn)]
    }

    pub(crate) fn same_block(&self, a: Pfn, b: Pfn) -> bool {
        self.block(a) == self.block(b)
    }

    pub(crate) fn types(&self, cell: u32) -> TypeSet {
        self.cells[cell as usize].types
    }

    /// The frames of the cell's pageblock.
    pub(crate) fn range(&self, cell: u32) -> PfnRange {
        let start = (u64::from(self.cells[cell as usize].block) + self.first) << self.order.get();
        PfnRange::new(start, start + self.order.pages())
    }

    /// The pageblock of `pfn` was retyped: a new cell begins.
    pub(crate) fn retype(&mut self, pfn: Pfn, types: TypeSet) {
        let block = self.block(pfn);
        self.current[block] = self.cells.len() as u32;
        self.cells.push(Cell { types, block: block as u32, counted: None, named: false });
    }

    /// What was ruled out for the pageblock of `pfn` may be wrong: unless an event named its type, it
    /// may have any of `types` again.
    pub(crate) fn doubt(&mut self, pfn: Pfn, types: TypeSet) {
        if !self.cells[self.current(pfn) as usize].named {
            self.retype(pfn, types);
        }
    }

    /// A zone's pageblocks by type at the start, with the first frame of each pageblock. Nothing
    /// is taken over if the numbers do not add up.
    pub(crate) fn set_census(
        &mut self,
        z: usize,
        wanted: [usize; 6],
        blocks: &[Pfn],
        changed: &mut Vec<u32>,
    ) {
        if wanted.iter().sum::<usize>() != blocks.len() {
            return;
        }
        let members: Vec<u32> = blocks.iter().map(|pfn| self.current(*pfn)).collect();
        for cell in &members {
            self.cells[*cell as usize].counted = Some(z as u8);
        }
        self.censuses[z] = Some(Census { wanted, members });
        self.apply_census(z, changed);
    }

    /// Narrow a cell. False if nothing is left of it; then `types` replaces what was known.
    /// Every cell whose set changed is added to `changed`.
    pub(crate) fn narrow(&mut self, cell: u32, types: TypeSet, changed: &mut Vec<u32>) -> bool {
        self.cells[cell as usize].named |= types.single().is_some();
        let known = self.cells[cell as usize].types;
        let both = known.and(types);
        let consistent = !both.is_empty();
        let set = if consistent { both } else { types };
        if set == known || set.is_empty() {
            return consistent;
        }
        self.cells[cell as usize].types = set;
        changed.push(cell);
        if let (Some(z), true) = (self.cells[cell as usize].counted, consistent) {
            self.apply_census(usize::from(z), changed);
        }
        consistent
    }

    /// As many pageblocks have a type as the zone had at the start: no more, no fewer.
    fn apply_census(&mut self, z: usize, changed: &mut Vec<u32>) {
        let Some(census) = self.censuses[z].clone() else { return };
        loop {
            let mut moved = false;
            for migratetype in MigrateType::ALL {
                let wanted = census.wanted[migratetype.index()];
                let only = TypeSet::of(migratetype);
                let of = |cell: &u32| self.cells[*cell as usize].types;
                let sure = census.members.iter().filter(|cell| of(cell) == only).count();
                let possible =
                    census.members.iter().filter(|cell| of(cell).contains(migratetype)).count();
                if sure == possible {
                    continue;
                }
                for &cell in &census.members {
                    let types = self.cells[cell as usize].types;
                    if types == only || !types.contains(migratetype) {
                        continue;
                    }
                    let narrowed = if sure >= wanted {
                        types.without(only)
                    } else if possible <= wanted {
                        only
                    } else {
                        continue;
                    };
                    self.cells[cell as usize].types = narrowed;
                    changed.push(cell);
                    moved = true;
                }
            }
            if !moved {
                return;
            }
        }
    }

    pub(crate) fn known(&self, shape: &Shape, z: usize) -> (usize, usize) {
        let span = shape.zones[z].1;
        let first = self.block(span.start);
        let last = self.block(Pfn(span.end.0 - 1));
        let cells = &self.current[first..=last];
        let known = cells.iter().filter(|cell| self.types(**cell).single().is_some()).count();
        (known, cells.len())
    }
}
