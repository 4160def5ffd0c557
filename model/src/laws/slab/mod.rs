//! Slab caches: where every object and every page is, what is counted, and how pages are asked for
//! (memcg-slub.md §4, §5).
//!
//! Which object is handed out is the implementation's; the laws hold for any choice.

mod pages;
mod state;

use super::{Family, Law, Level, Observation, When};
use crate::vocab::{
    CacheLayout, CacheNodeState, CacheSpec, Gfp, ObjAddr, Order, Pfn, SlabRules, SlabStat,
    SlabState,
};
use alloc::vec::Vec;

/// All that is to be seen of a cache at one moment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CachePicture {
    /// Its slabs.
    pub slabs: Vec<SlabState>,
    /// Its numbers by node.
    pub nodes: Vec<CacheNodeState>,
    /// Its statistics, [`SlabStat::ALL`] order.
    pub stats: [u64; SlabStat::COUNT],
}

impl CachePicture {
    fn stat(&self, stat: SlabStat) -> u64 {
        self.stats[stat as usize]
    }
}

/// A request for slab pages that the harness saw.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PageAsked {
    /// The order.
    pub order: Order,
    /// The flags.
    pub gfp: Gfp,
    /// What it got.
    pub got: Option<Pfn>,
}

/// What was just done to the cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SlabDid {
    /// So many allocations were attempted; how many objects came.
    Alloc {
        /// Flags asked with.
        gfp: Gfp,
        /// Attempts.
        asked: u64,
        /// Objects.
        got: u64,
        /// By one call for all: none came unless all did.
        bulk: bool,
    },
    /// So many objects were freed, by one call.
    Free(u64),
    /// All CPUs were flushed and empty slabs freed; whether a slab is said to be left.
    Shrink(bool),
    /// `min_partial` was lowered, or `cpu_partial` written.
    Limits,
    /// Something else: a flush, a grace period, another cache's business.
    Other,
}

/// One operation on a slab cache, looked at while no other is underway.
#[derive(Clone, Copy, Debug)]
pub struct SlabSeen<'a> {
    /// The switches.
    pub rules: SlabRules,
    /// What was asked of the cache.
    pub spec: CacheSpec,
    /// How its objects lie.
    pub layout: CacheLayout,
    /// Empty slabs that a node may keep now, however it was written.
    pub min_partial: u32,
    /// Slabs that a CPU's partial list may hold now.
    pub cpu_partial_slabs: u32,
    /// Before it; `None`: calls ran side by side.
    pub before: Option<&'a CachePicture>,
    /// After it.
    pub after: &'a CachePicture,
    /// Live objects, ascending.
    pub live: &'a [ObjAddr],
    /// Blocks that the source of pages handed to this cache and has not got back, ascending.
    pub blocks: &'a [(Pfn, Order)],
    /// Blocks of these that wait for a grace period.
    pub waiting: u64,
    /// Requests for pages on the way.
    pub asked: &'a [PageAsked],
    /// What was done.
    pub did: SlabDid,
}

impl SlabSeen<'_> {
    /// Live objects in a slab.
    fn live_in(&self, slab: &SlabState) -> u64 {
        let start = slab.pfn.0 << 12;
        let end = start + (slab.order.pages() << 12);
        let first = self.live.partition_point(|object| object.0 < start);
        let last = self.live.partition_point(|object| object.0 < end);
        (last - first) as u64
    }

    /// How much a statistic rose.
    fn rose(&self, before: &CachePicture, stat: SlabStat) -> u64 {
        self.after.stat(stat).wrapping_sub(before.stat(stat))
    }
}

const fn law(
    id: &'static str,
    statement: &'static str,
    level: Level,
    when: When,
    check: super::Check,
) -> Law {
    Law { id, family: Family::Slab, statement, level, when, check }
}

/// What an observation shows of a cache.
fn seen<'a>(observation: &Observation<'a>) -> Option<&'a SlabSeen<'a>> {
    observation.slab
}

pub(super) const LAWS: &[Law] = &[
    law(
        "slab-objects-in-place",
        "A live object lies in a slab of its cache, a whole number of strides from its start, and only once.",
        Level::Safe,
        When::Quiescent,
        state::in_place,
    ),
    law(
        "slab-free-list",
        "A slab's own free list is as long as its objects that are not in use.",
        Level::Conserved,
        When::Always,
        state::free_list,
    ),
    law(
        "slab-in-use",
        "Objects in use in a slab are the live ones and those that a CPU has taken as its list.",
        Level::Conserved,
        When::Quiescent,
        state::in_use,
    ),
    law(
        "slab-place",
        "A slab is in one place, and its flags say which.",
        Level::Exact,
        When::Quiescent,
        state::place,
    ),
    law(
        "slab-counts",
        "A node counts its slabs, their objects, and those on its partial list.",
        Level::Conserved,
        When::Quiescent,
        state::counts,
    ),
    law(
        "slab-sizes",
        "A slab has the order and the objects of the cache's first choice, or those fallen back to.",
        Level::Exact,
        When::Quiescent,
        state::sizes,
    ),
    law(
        "slab-empty",
        "A node keeps at most min_partial empty slabs.",
        Level::Exact,
        When::Sequential,
        state::empty,
    ),
    law(
        "slab-cpu-partial",
        "A CPU's partial list is not longer than its limit.",
        Level::Exact,
        When::Quiescent,
        state::cpu_partial,
    ),
    law(
        "slab-pages",
        "The pages that a cache has are those of its slabs and of those that wait for a grace period.",
        Level::Conserved,
        When::Quiescent,
        pages::held,
    ),
    law(
        "slab-returns",
        "Without live objects nothing but empty slabs is left, and shrinking leaves none.",
        Level::Returns,
        When::Sequential,
        pages::returns,
    ),
    law(
        "slab-served",
        "An allocation fails only if pages were asked for and refused.",
        Level::Complete,
        When::Sequential,
        pages::served,
    ),
    law(
        "slab-first-order",
        "Pages of the first order are asked for without patience, and not for reclaim where the rules forbid it.",
        Level::Exact,
        When::Sequential,
        pages::first_order,
    ),
    law(
        "slab-fallback",
        "A refusal of the first order is followed by one request for the least order with the caller's flags, and counted if that is served.",
        Level::Exact,
        When::Sequential,
        pages::fallback,
    ),
    law(
        "slab-stat-allocs",
        "Each attempt to allocate counts as fast or slow, once.",
        Level::Conserved,
        When::Sequential,
        pages::stat_allocs,
    ),
    law(
        "slab-stat-frees",
        "Objects freed fast are counted each, slow calls once.",
        Level::Conserved,
        When::Sequential,
        pages::stat_frees,
    ),
    law(
        "slab-stat-slabs",
        "Slabs made and given back explain how many there are.",
        Level::Conserved,
        When::Sequential,
        pages::stat_slabs,
    ),
];
