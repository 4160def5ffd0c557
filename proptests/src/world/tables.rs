//! Who owns what: page tables, the reverse map, and what is true of each frame.

use super::{
    Costs, Obstacle, Obstacles,
    locks::Holds,
    work::{Cpu, pcp_batch},
};
use crate::generate::Rng;
use mmspec_impl::reclaim::LruList;
use mmspec_model::vocab::{CpuId, Order, Pfn, ThpCounters};
use std::{collections::VecDeque, ops::Range};

/// Frames of a huge page.
pub(super) const HUGE: Order = Order::of(9);
pub(super) const HUGE_PAGES: usize = 1 << HUGE.get();

/// A process of the world.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Process(pub(super) u32);

/// A page of a process's address space.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Home {
    /// Whose.
    pub process: Process,
    /// The virtual page.
    pub page: u32,
}

/// What a mapping is of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Backing {
    /// Anonymous memory; `advised`: with madvise(MADV_HUGEPAGE).
    Anon {
        /// Asked for huge pages.
        advised: bool,
    },
    /// Pages of a file that is mapped only here: clean ones can be dropped and read again.
    File,
}

/// What is true of one frame.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Frame {
    /// The virtual page that is mapped to it. Each frame of a huge page has its own.
    pub(super) home: Option<Home>,
    /// What lies in it.
    pub(super) content: u64,
    /// The list that it was isolated from.
    pub(super) isolated: Option<LruList>,
    pub(super) file: bool,
    pub(super) accessed: bool,
    pub(super) dirty: bool,
    /// Heads a huge page that was not split.
    pub(super) huge: bool,
    /// Waits to be split.
    pub(super) queued: bool,
    pub(super) obstacle: Obstacle,
}

/// Where a virtual page is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Place {
    Nowhere,
    Frame(Pfn),
    /// In swap, with this content.
    Swap(u64),
}

/// An entry of a page table, and the content that its page must have.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) place: Place,
    pub(super) token: u64,
}

/// 512 entries: mapped by one huge page, or by a table in a page of the kernel.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Region {
    pub(super) huge: Option<Pfn>,
    /// The page of the table; a huge mapping keeps it for the day it is split.
    pub(super) table: Option<Pfn>,
}

/// One mapping: virtual pages from `start` to `end`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Area {
    pub(super) start: u32,
    pub(super) end: u32,
    pub(super) backing: Backing,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Space {
    /// By address.
    pub(super) areas: Vec<Area>,
    pub(super) entries: Vec<Entry>,
    pub(super) regions: Vec<Region>,
}

impl Space {
    /// These pages are mapped no more.
    pub(super) fn cut(&mut self, range: &Range<u32>) {
        let mut kept = Vec::with_capacity(self.areas.len() + 1);
        for area in self.areas.drain(..) {
            let before = Area { end: area.end.min(range.start), ..area };
            let after = Area { start: area.start.max(range.end), ..area };
            // What lies on neither side of the range keeps nothing.
            kept.extend([before, after].into_iter().filter(|part| part.start < part.end));
        }
        self.areas = kept;
    }

    /// Whether anything is mapped among the pages of a region.
    pub(super) fn is_used(&self, region: usize) -> bool {
        let (start, end) = (region * HUGE_PAGES, (region + 1) * HUGE_PAGES);
        let from = self.areas.partition_point(|area| area.end as usize <= start);
        self.areas.get(from).is_some_and(|area| (area.start as usize) < end)
    }
}

/// All of it, behind the lock of the owner.
#[derive(Debug)]
pub(super) struct Tables {
    pub(super) frames: Vec<Frame>,
    pub(super) spaces: Vec<Space>,
    /// Huge pages to be split, the oldest first.
    pub(super) queue: VecDeque<Pfn>,
    pub(super) thp: ThpCounters,
    /// By CPU.
    pub(super) cpus: Vec<Cpu>,
    /// The CPU that acts.
    pub(super) cpu: CpuId,
    pub(super) holds: Holds,
    pub(super) costs: Costs,
    /// Pages that go to or come from a per-CPU free list at once.
    pub(super) batch: u64,
    /// Isolated by compaction, in base pages.
    pub(super) isolated: u64,
    pub(super) obstacles: Obstacles,
    pub(super) rng: Rng,
    /// The world's clock in ticks: obstacles end by it.
    pub(super) tick: u64,
    pub(super) signal: bool,
    tokens: u64,
}

impl Tables {
    pub(super) fn new(config: &super::Config) -> Self {
        let machine = config.machine.as_ref();
        let (frames, cpus) = (machine.end().index(), usize::from(machine.cpus));
        Self {
            frames: vec![Frame::default(); frames],
            spaces: Vec::new(),
            queue: VecDeque::new(),
            thp: ThpCounters::default(),
            cpus: vec![Cpu::default(); cpus],
            cpu: CpuId(0),
            holds: Holds::new(cpus),
            costs: config.costs,
            batch: pcp_batch(frames as u64),
            isolated: 0,
            obstacles: config.obstacles,
            rng: Rng::new(config.seed),
            tick: 0,
            signal: false,
            tokens: 0,
        }
    }

    pub(super) fn frame(&self, pfn: Pfn) -> &Frame {
        &self.frames[pfn.index()]
    }

    pub(super) fn frame_mut(&mut self, pfn: Pfn) -> &mut Frame {
        &mut self.frames[pfn.index()]
    }

    pub(super) fn entry(&self, home: Home) -> Option<&Entry> {
        self.spaces.get(home.process.0 as usize)?.entries.get(home.page as usize)
    }

    pub(super) fn entry_mut(&mut self, home: Home) -> &mut Entry {
        &mut self.spaces[home.process.0 as usize].entries[home.page as usize]
    }

    pub(super) fn region(&self, home: Home) -> &Region {
        &self.spaces[home.process.0 as usize].regions[home.page as usize / HUGE_PAGES]
    }

    pub(super) fn region_mut(&mut self, home: Home) -> &mut Region {
        &mut self.spaces[home.process.0 as usize].regions[home.page as usize / HUGE_PAGES]
    }

    pub(super) fn area(&self, home: Home) -> Option<Area> {
        let areas = &self.spaces.get(home.process.0 as usize)?.areas;
        let after = areas.partition_point(|area| area.start <= home.page);
        areas[..after].last().filter(|area| home.page < area.end).copied()
    }

    /// A content that no page had before.
    pub(super) fn fresh(&mut self) -> u64 {
        self.tokens += 1;
        self.tokens
    }

    /// Frames of the block that `pfn` heads.
    pub(super) fn size(&self, pfn: Pfn) -> usize {
        if self.frame(pfn).huge { HUGE_PAGES } else { 1 }
    }

    pub(super) fn order(&self, pfn: Pfn) -> Order {
        if self.frame(pfn).huge { HUGE } else { Order::ZERO }
    }

    /// The frames of the block that `pfn` heads.
    pub(super) fn block(&self, pfn: Pfn) -> impl Iterator<Item = Pfn> + use<> {
        (0..self.size(pfn) as u64).map(move |at| pfn.add(at))
    }

    /// The huge page that waits to be split and that `home` belongs to, or the block itself.
    pub(super) fn head(&self, pfn: Pfn) -> Pfn {
        let first = Pfn(pfn.0 & !(HUGE_PAGES as u64 - 1));
        if self.frames[first.index()].huge { first } else { pfn }
    }

    /// Whether any frame of a block is mapped.
    pub(super) fn is_mapped(&self, pfn: Pfn) -> bool {
        self.block(pfn).any(|frame| self.frame(frame).home.is_some())
    }

    /// Put content into a frame and map it.
    pub(super) fn install(&mut self, home: Home, pfn: Pfn, content: u64) {
        let entry = self.entry_mut(home);
        (entry.place, entry.token) = (Place::Frame(pfn), content);
        let frame = self.frame_mut(pfn);
        (frame.home, frame.content) = (Some(home), content);
    }

    /// Nothing is true of these frames any more.
    pub(super) fn forget(&mut self, pfn: Pfn) {
        if self.frame(pfn).queued {
            self.queue.retain(|queued| *queued != pfn);
        }
        for frame in self.block(pfn) {
            *self.frame_mut(frame) = Frame::default();
        }
    }

    /// Move what is true of a block, and its mappings.
    pub(super) fn move_block(&mut self, from: Pfn, to: Pfn) {
        for (at, source) in self.block(from).enumerate() {
            let target = to.add(at as u64);
            let frame = *self.frame(source);
            if let Some(home) = frame.home {
                self.entry_mut(home).place = Place::Frame(target);
                if let Some(huge) = &mut self.region_mut(home).huge
                    && *huge == from
                {
                    *huge = to;
                }
            }
            *self.frame_mut(target) = frame;
        }
        if self.frame(from).queued {
            self.queue.iter_mut().filter(|queued| **queued == from).for_each(|queued| *queued = to);
            self.frame_mut(from).queued = false;
        }
        self.forget(from);
    }
}
