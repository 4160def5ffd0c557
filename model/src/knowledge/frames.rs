//! What is known of each frame: a sparse table, so that memory grows with what was seen.

use super::TypeSet;
use crate::vocab::{MigrateType, Order, Pfn};
use std::boxed::Box;
use std::vec::Vec;

/// Where a listed block's list type comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Source {
    /// The type of a pageblock at some time: a cell of [`super::Cells`].
    Cell(u32),
    /// Known.
    Type(MigrateType),
}

/// What is known of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum FrameKnowledge {
    /// Nothing.
    #[default]
    Unknown,
    /// It is not on a free list; whether it is handed out or on a per-CPU list is not known.
    NotFree,
    /// First frame of a block that was handed out.
    Allocated(Order),
    /// First frame of a block taken from the free lists, whose hand-out is not traced yet.
    Taken(Order),
    /// First frame of a block that left a per-CPU list by an untraced step; the number is that of
    /// the inference that says so.
    Gone(Order, u32),
    /// First frame of a block on a per-CPU list.
    Cached {
        /// Whose list.
        cpu: u16,
        /// Its order.
        order: Order,
        /// Where its type comes from.
        source: Source,
        /// Its place.
        place: i64,
        /// The set under which it is filed.
        filed: TypeSet,
    },
    /// First frame of a block on a free list.
    Free {
        /// Its order.
        order: Order,
        /// Where its type comes from.
        source: Source,
        /// Its place.
        place: i64,
        /// The set under which it is filed.
        filed: TypeSet,
    },
    /// A frame inside a free block, not its first.
    FreeTail,
}

const CHUNK: usize = 512;

/// The table.
#[derive(Clone, Default, Debug)]
pub(crate) struct FrameTable {
    chunks: Vec<Option<Box<[FrameKnowledge]>>>,
}

impl FrameTable {
    pub(crate) fn get(&self, pfn: Pfn) -> FrameKnowledge {
        match self.chunks.get(pfn.index() / CHUNK) {
            Some(Some(chunk)) => chunk[pfn.index() % CHUNK],
            _ => FrameKnowledge::Unknown,
        }
    }

    pub(crate) fn set(&mut self, pfn: Pfn, frame: FrameKnowledge) {
        let at = pfn.index() / CHUNK;
        if at >= self.chunks.len() {
            self.chunks.resize(at + 1, None);
        }
        let chunk = self.chunks[at]
            .get_or_insert_with(|| std::vec![FrameKnowledge::Unknown; CHUNK].into_boxed_slice());
        chunk[pfn.index() % CHUNK] = frame;
    }
}
