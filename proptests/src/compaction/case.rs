//! What a case is.

use mmspec_model::contract::CompactMode;
use mmspec_model::vocab::{
    CompactRules, Machine, MigrateType, Order, Pfn, PfnRange, Rules, Tunables, ZoneKind,
};

/// What lies in a range of frames.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Kind {
    /// Single movable pages.
    Movable,
    /// Anonymous pages with more references than mappings.
    Pinned,
    /// Migration always fails.
    Busy,
    /// Migration says "again" so many times.
    Again(u8),
    /// Under writeback.
    Writeback,
    /// Dirty without a handler.
    Dirty,
    /// Locked in memory.
    Locked,
    /// Pages of files.
    File,
    /// Movable by a driver.
    Driver,
    /// Freed by their owner while they are isolated.
    Freed,
    /// The kernel's own: they never move.
    Fixed,
}

/// A range of frames in use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Used {
    /// The frames.
    pub range: PfnRange,
    /// What lies there.
    pub kind: Kind,
}

/// A run over a zone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Scan {
    /// Which zone.
    pub zone: u8,
    /// The order wanted; `None`: all of the zone.
    pub order: Option<Order>,
    /// The type of the request.
    pub migratetype: MigrateType,
    /// How hard it tries.
    pub mode: CompactMode,
    /// For a task that waits.
    pub direct: bool,
    /// From end to end, skip bits not minded (priority SYNC_FULL and the sysctl).
    pub whole: bool,
    /// Skip bits left alone.
    pub no_set_skip: bool,
    /// After so many iterations a fatal signal comes.
    pub signal: Option<u8>,
    /// Locks are found taken.
    pub contended: bool,
    /// The task's processor is wanted by others.
    pub resched: bool,
}

/// What is done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Act {
    /// A run.
    Scan(Scan),
    /// kswapd goes to sleep: skip bits are flushed if a run asked for it.
    Flush,
    /// The statistics worker and a drain: what per-CPU lists hold reaches the free lists.
    Drain,
    /// The owner of a page frees it.
    Free(Pfn),
    /// A new movable page is allocated.
    Alloc,
    /// A contiguous range is emptied and given back.
    Range(PfnRange),
}

/// A case.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Case {
    /// Zones of one node, ascending: their frames.
    pub zones: Vec<PfnRange>,
    /// The order of pageblocks.
    pub pageblock: u8,
    /// Rules of the allocator.
    pub kernel: Rules,
    /// Rules of compaction.
    pub compact: CompactRules,
    /// What is in use at first; the rest is free.
    pub used: Vec<Used>,
    /// Pageblocks that are Unmovable.
    pub unmovable: Vec<Pfn>,
    /// Pageblocks whose skip bit is set.
    pub skips: Vec<Pfn>,
    /// Cached positions by zone: migrate async, migrate sync, free.
    pub cached: Vec<(u8, [Pfn; 3])>,
    /// What is done.
    pub acts: Vec<Act>,
}

impl Case {
    /// The machine.
    #[must_use]
    pub fn machine(&self) -> Machine {
        let kinds = [ZoneKind::Dma, ZoneKind::Dma32, ZoneKind::Normal];
        let kinds = &kinds[kinds.len() - self.zones.len().min(kinds.len())..];
        let zones: Vec<(ZoneKind, u64, u64)> = self
            .zones
            .iter()
            .zip(kinds)
            .map(|(range, kind)| (*kind, range.start.0, range.end.0))
            .collect();
        let mut machine = Machine::new(1, &zones);
        machine.pageblock_order = Order::of(self.pageblock);
        machine.max_order = Order::of((self.pageblock + 1).min(Order::MAX.get()));
        machine.thp_order = None;
        machine
    }

    /// The sysctls: little is kept free, for the machines are small.
    #[must_use]
    pub fn tunables(&self) -> Tunables {
        Tunables { min_free_kbytes: Some(64), ..Tunables::default() }
    }

    /// Whether everything in it names frames, zones and orders that are there.
    ///
    /// # Errors
    /// What is not.
    pub fn validate(&self) -> Result<(), String> {
        if self.zones.is_empty() || self.zones.len() > 3 {
            return Err("one to three zones".into());
        }
        if !(2..Order::MAX.get()).contains(&self.pageblock) {
            return Err(format!(
                "pageblock={} is not 2 to {}",
                self.pageblock,
                Order::MAX.get() - 1
            ));
        }
        let machine = self.machine();
        machine.as_ref().validate().map_err(|error| error.to_string())?;
        if machine.as_ref().end().0 > 1 << 16 {
            return Err("frames beyond 0x10000".into());
        }
        self.kernel.validate().map_err(|error| error.to_string())?;
        let inside = |pfn: Pfn| self.zones.iter().any(|zone| zone.start <= pfn && pfn < zone.end);
        let mut last = Pfn(0);
        for used in &self.used {
            let range = used.range;
            if range.start >= range.end || range.start < last {
                return Err(format!("ranges in use overlap or are empty at {}", range.start));
            }
            if !(range.start.0..range.end.0).all(|pfn| inside(Pfn(pfn))) {
                return Err(format!("frames in use from {} lie in no zone", range.start));
            }
            last = range.end;
        }
        for act in &self.acts {
            if let Act::Scan(scan) = act
                && (usize::from(scan.zone) >= self.zones.len()
                    || scan.order.is_some_and(|order| order > machine.max_order))
            {
                return Err(format!("zone {} or order of a run does not exist", scan.zone));
            }
        }
        let zones = self.zones.len();
        if self.cached.iter().any(|(zone, _)| usize::from(*zone) >= zones) {
            return Err("cached positions of a zone that does not exist".into());
        }
        Ok(())
    }
}
