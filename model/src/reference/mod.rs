//! The Linux policy, exact and sequential: same request, same state, same page frame, same
//! counters.
//!
//! Written for reading, from `page_alloc.md` (cited as §) and `docs/decisions.md` (cited as D).
//! The files follow the order of the facts:
//!
//! | file | rule |
//! |---|---|
//! | [`arith`] | pure arithmetic: marks, reserves, batches, thresholds, list indices |
//! | `boot` | the first state |
//! | `buddy` | split, merge, head or tail (§1.2 to §1.8) |
//! | `fallback` | other types' blocks (§1.9 to §1.12) |
//! | `highatomic`, `isolate` | reserves and isolation (§1.13, §1.15) |
//! | `failure` | a page that leaves the free lists for good (§1.17) |
//! | [`pcp`] | per-CPU list sizes: refill and drain amounts (§2.2 to §2.5) |
//! | `drain`, `work` | emptying per-CPU lists, the worker, hotplug (§2.6 to §2.8) |
//! | `watermark`, `vmstat` | decisions and counters (§3) |
//! | `zonelist`, `scan` | which zone comes next (§4.1, §4.3) |
//! | `fair` | zones of a node taking turns (§5) |
//! | `alloc`, `free` | the paths (§2.4, §2.5, §4.2, §4.3, §4.6) |
//! | `kswapd`, `nodes` | the nodes and their daemon (§4.5) |
//! | [`SlowWalk`] | the slow path (§4.4) |
//! | `observe` | what can be seen |
//! | [`memcg`] | memory cgroups (memcg-slub.md §1 to §3) |
//! | [`slab`] | how objects lie in slabs (memcg-slub.md §4.1 to §4.3) |
//! | [`steps`] | the same operations cut at their locks |

mod alloc;
pub mod arith;
mod boot;
mod buddy;
mod drain;
mod failure;
mod fair;
mod fallback;
mod free;
mod highatomic;
mod isolate;
mod kswapd;
mod list;
pub mod memcg;
mod nodes;
mod observe;
pub mod pcp;
mod scan;
pub mod slab;
mod slow;
pub mod steps;
mod vmstat;
mod watermark;
mod work;
mod zonelist;

use crate::vocab::{
    CpuId, EventCounters, KmemEvent, Machine, MachineError, MigrateType, NR_MIGRATETYPES,
    NR_PAGE_ORDERS, NR_ZONES, NodeId, NodeState, NumaCounters, Order, Pfn, PfnRange, Rules,
    RulesError, Tunables, TunablesError, ZoneFlags, ZoneKind,
};
use alloc_crate::vec::Vec;
use list::FreeList;
use pcp::Pcp;
pub use slow::SlowWalk;

use ::alloc as alloc_crate;

/// The reference allocator.
#[derive(Clone, Debug)]
pub struct Reference {
    machine: Machine,
    rules: Rules,
    tunables: Tunables,
    /// Mobility grouping is on (§1.1).
    grouping: bool,
    /// min_free_kbytes in force, in KiB.
    min_free_kbytes: u64,
    zones: Vec<Zone>,
    nodes: Vec<Node>,
    /// Times that the zonelists were built: the cookie of walks (§4.1).
    zonelists_built: u64,
    /// The type of every pageblock, from the pageblock of the lowest frame up. Zones may share a
    /// pageblock at their edge, so the types belong to no zone.
    pageblocks: Vec<MigrateType>,
    online: Vec<bool>,
    /// Attempts of each CPU to lock its own lists that are still to fail.
    trylock_failures: Vec<u32>,
    /// The drain that waits for each CPU's worker.
    queued: Vec<Option<work::WorkItem>>,
    events: EventCounters,
    /// The list that the last block was taken from.
    took_from: MigrateType,
    /// Tracepoints since the last [`Reference::take_trace`], if wanted.
    trace: Option<Vec<KmemEvent>>,
}

/// One zone.
#[derive(Clone, Debug)]
struct Zone {
    node: NodeId,
    kind: ZoneKind,
    span: PfnRange,
    present: u64,
    managed: u64,
    cma_pages: u64,
    /// One record for each spanned frame.
    frames: Vec<Frame>,
    lists: [[FreeList; NR_MIGRATETYPES]; NR_PAGE_ORDERS],
    /// NR_FREE_PAGES and NR_FREE_CMA_PAGES, the zone's part.
    nr_free_pages: i64,
    nr_free_cma: i64,
    nr_free_highatomic: i64,
    nr_reserved_highatomic: u64,
    nr_isolate_pageblock: u64,
    marks: [u64; 4],
    boost: u64,
    lowmem_reserve: [u64; NR_ZONES],
    flags: ZoneFlags,
    numa: NumaCounters,
    kswapd_wakeups: u64,
    stat_threshold: u64,
    /// percpu_drift_mark; 0 is none (§3.8).
    drift_mark: u64,
    /// NR_ALLOC_BATCH, the zone's part (§5).
    nr_alloc_batch: i64,
    /// zone_reclaimable_pages, as the embedder told.
    reclaimable: u64,
    pcp_disabled: bool,
    pcps: Vec<Pcp>,
}

/// One node.
#[derive(Clone, Debug, Default)]
struct Node {
    lists: zonelist::Zonelists,
    /// What others see of kswapd.
    state: NodeState,
    /// kswapd itself.
    kswapd: kswapd::Kswapd,
}

/// What one frame is. Only the first frame of a block knows the block's order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Frame {
    /// In a hole, or reserved: not the allocator's.
    Absent,
    /// First frame of a block that is handed out.
    Allocated { order: Order, movable: bool },
    /// First frame of a block on a per-CPU list.
    Cached,
    /// First frame of a block on a free list, with its place there.
    Free { order: Order, list: MigrateType, place: i64 },
    /// A frame of a block that is not its first.
    Tail,
}

/// Why a reference can't be built.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SetupError {
    /// The machine cannot exist.
    #[error(transparent)]
    Machine(#[from] MachineError),
    /// A tunable is out of range.
    #[error(transparent)]
    Tunables(#[from] TunablesError),
    /// Rules that no kernel has.
    #[error(transparent)]
    Rules(#[from] RulesError),
}

impl Reference {
    /// Boot `machine` under `rules`.
    ///
    /// # Errors
    /// The machine, the tunables or the rules are impossible.
    pub fn new(machine: &Machine, rules: Rules, tunables: Tunables) -> Result<Self, SetupError> {
        machine.validate()?;
        tunables.validate()?;
        rules.validate()?;
        Ok(boot::boot(machine, rules, tunables))
    }

    /// The machine.
    #[must_use]
    pub const fn machine(&self) -> &Machine {
        &self.machine
    }

    /// The rules in force.
    #[must_use]
    pub const fn rules(&self) -> &Rules {
        &self.rules
    }

    /// min_free_kbytes in force, in KiB.
    #[must_use]
    pub const fn min_free_kbytes(&self) -> u64 {
        self.min_free_kbytes
    }

    /// Record tracepoints from now on.
    pub fn start_trace(&mut self) {
        self.trace.get_or_insert_with(Vec::new);
    }

    /// The tracepoints recorded since the start or the last call.
    pub fn take_trace(&mut self) -> Vec<KmemEvent> {
        self.trace.as_mut().map(core::mem::take).unwrap_or_default()
    }

    fn emit(&mut self, event: impl FnOnce() -> KmemEvent) {
        if let Some(trace) = &mut self.trace {
            trace.push(event());
        }
    }

    /// Position of the zone that spans `pfn`.
    fn zone_at(&self, pfn: Pfn) -> Option<usize> {
        self.zones.iter().position(|zone| zone.span.contains(pfn))
    }

    fn pageblock_index(&self, pfn: Pfn) -> usize {
        let order = self.machine.pageblock_order.get();
        let first = self.zones[0].span.start.0 >> order;
        ((pfn.0 >> order) - first) as usize
    }

    /// The type of the pageblock that holds `pfn`.
    fn block_type(&self, pfn: Pfn) -> MigrateType {
        self.pageblocks[self.pageblock_index(pfn)]
    }

    /// Retype one pageblock (§1.1: with grouping off a pcp type is stored as Unmovable).
    fn set_block_type(&mut self, pfn: Pfn, migratetype: MigrateType) {
        let stored = if !self.grouping && migratetype.is_pcp_type() {
            MigrateType::Unmovable
        } else {
            migratetype
        };
        let at = self.pageblock_index(pfn);
        self.pageblocks[at] = stored;
    }

    /// Retype every pageblock that a block of `order` at `pfn` covers.
    fn set_range_type(&mut self, pfn: Pfn, order: Order, migratetype: MigrateType) {
        let step = self.machine.pageblock_order.pages();
        let mut at = 0;
        while at < order.pages() {
            self.set_block_type(pfn.add(at), migratetype);
            at += step;
        }
    }

    /// The pageblock of `pfn`, if it lies completely inside the zone.
    fn whole_pageblock(&self, z: usize, pfn: Pfn) -> Option<PfnRange> {
        let pages = self.machine.pageblock_order.pages();
        let start = pfn.0 & !(pages - 1);
        let span = self.zones[z].span;
        (span.start.0 <= start && start + pages <= span.end.0)
            .then(|| PfnRange::new(start, start + pages))
    }

    /// Whether per-CPU lists hold blocks of `order` (§2.1).
    fn is_cached_order(&self, order: Order) -> bool {
        arith::is_cached_order(order, self.machine.thp_order, self.rules.pcp_orders)
    }

    /// §2.3: the CPUs that share a zone's pages: those online of its node; if there are none, all.
    fn online_cpus_of(&self, node: NodeId) -> u64 {
        let machine = self.machine.as_ref();
        let local =
            machine.cpu_ids().filter(|&cpu| machine.node_of(cpu) == node && self.is_up(cpu));
        match local.count() as u64 {
            0 => self.online_cpus(),
            local => local,
        }
    }

    fn online_cpus(&self) -> u64 {
        self.online.iter().filter(|online| **online).count() as u64
    }

    fn is_up(&self, cpu: CpuId) -> bool {
        self.online.get(cpu.index()).copied().unwrap_or(false)
    }
}

impl Zone {
    fn at(&self, pfn: Pfn) -> usize {
        (pfn.0 - self.span.start.0) as usize
    }

    /// The record of a frame; frames outside the zone are absent.
    fn frame(&self, pfn: Pfn) -> Frame {
        if self.span.contains(pfn) { self.frames[self.at(pfn)] } else { Frame::Absent }
    }

    fn set_frame(&mut self, pfn: Pfn, frame: Frame) {
        let at = self.at(pfn);
        self.frames[at] = frame;
    }
}
