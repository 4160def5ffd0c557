//! /proc/zoneinfo as plain data.

use super::line::{self, PageSetLines, Sizes};
use super::vmstat::NamedCounters;
use crate::vocab::ZoneKind;
use core::fmt;
use std::vec::Vec;

/// A parsed zoneinfo; `Display` writes it back.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Zoneinfo {
    /// All zones, empty ones included, in the order of the text.
    pub zones: Vec<ZoneEntry>,
}

/// One zone of zoneinfo. Pages are base pages.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ZoneEntry {
    /// The node.
    pub node: u32,
    /// The zone.
    pub kind: ZoneKind,
    /// The node's counters, printed with its first populated zone only.
    pub node_stats: Option<NamedCounters>,
    /// Free pages, without per-CPU diffs.
    pub free: u64,
    /// The watermark boost.
    pub boost: u64,
    /// The min mark, boost included.
    pub min: u64,
    /// The low mark, boost included.
    pub low: u64,
    /// The high mark, boost included.
    pub high: u64,
    /// The promo mark, boost included; kernels before 6.8 do not print it.
    pub promo: Option<u64>,
    /// Pages spanned.
    pub spanned: u64,
    /// Pages that exist.
    pub present: u64,
    /// Pages that belong to the allocator.
    pub managed: u64,
    /// Pages given to CMA.
    pub cma: u64,
    /// The lowmem reserve, by the request's highest zone.
    pub protection: Vec<u64>,
    /// What is printed for populated zones only.
    pub populated: Option<PopulatedZone>,
}

/// The second half of a populated zone.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PopulatedZone {
    /// The zone's counters, the numa ones included.
    pub counters: NamedCounters,
    /// The per-CPU lists of online CPUs.
    pub pagesets: Vec<PageSet>,
    /// Whether the kernel has given up on reclaiming the node.
    pub node_unreclaimable: u64,
    /// The first frame that the zone spans.
    pub start_pfn: u64,
}

/// One CPU's lists.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PageSet {
    /// The CPU.
    pub cpu: u32,
    /// Pages on its lists.
    pub count: u64,
    /// The current high mark.
    pub high: u64,
    /// The batch.
    pub batch: u64,
    /// The lower bound of `high`; printed from 6.18 on.
    pub high_min: Option<u64>,
    /// The upper bound of `high`; printed from 6.18 on.
    pub high_max: Option<u64>,
    /// The per-CPU diff at which statistics are pushed; absent on a build for one CPU.
    pub stat_threshold: Option<u64>,
}

impl Zoneinfo {
    /// The entry of a zone.
    #[must_use]
    pub fn zone(&self, node: u32, kind: ZoneKind) -> Option<&ZoneEntry> {
        self.zones.iter().find(|zone| zone.node == node && zone.kind == kind)
    }

    /// The zones that have pages.
    pub fn populated(&self) -> impl Iterator<Item = (&ZoneEntry, &PopulatedZone)> + '_ {
        self.zones.iter().filter_map(|zone| Some((zone, zone.populated.as_ref()?)))
    }
}

impl fmt::Display for Zoneinfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.zones.iter().try_for_each(|zone| zone.fmt(f))
    }
}

impl fmt::Display for ZoneEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        line::zone_head(f, self.node, self.kind)?;
        if let Some(stats) = &self.node_stats {
            line::per_node_head(f)?;
            stats.iter().try_for_each(|(name, value)| line::zone_counter(f, name, value))?;
        }
        let sizes = Sizes {
            free: self.free,
            boost: self.boost,
            min: self.min,
            low: self.low,
            high: self.high,
            promo: self.promo,
            spanned: self.spanned,
            present: self.present,
            managed: self.managed,
            cma: self.cma,
        };
        line::sizes(f, &sizes)?;
        line::protection(f, &self.protection)?;
        self.populated.as_ref().map_or(Ok(()), |populated| populated.fmt(f))
    }
}

impl fmt::Display for PopulatedZone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut counters = self.counters.iter();
        counters.try_for_each(|(name, value)| line::zone_counter(f, name, value))?;
        line::pagesets_head(f)?;
        for set in &self.pagesets {
            let lines = PageSetLines {
                cpu: set.cpu,
                count: set.count,
                high: set.high,
                batch: set.batch,
                limits: set.high_min.zip(set.high_max),
                threshold: set.stat_threshold,
            };
            line::pageset(f, &lines)?;
        }
        line::zone_tail(f, self.node_unreclaimable, self.start_pfn)
    }
}
