//! What a law may look at.

use super::{CompactSeen, KswapdSeen, Live, MemcgSeen, Runs, SlabSeen, SlowSeen};
use crate::contract::{CpuHotplug, DrainBegun, Nodes, Observe, Outcome, Request, Run};
use crate::vocab::{
    AllocFlags, CpuId, EventCounters, Fallback, FreeListType, Gfp, Machine, MachineRef, Mark,
    MigrateType, NodeId, NodeState, Order, PcpState, Pfn, Rules, Tunables, ZoneIdx, ZoneKind,
    ZoneState,
};
use alloc::vec;
use alloc::vec::Vec;

/// The memory under test: what every allocator has.
pub trait World {
    /// Whether the allocator was given this frame.
    fn is_managed(&self, pfn: Pfn) -> bool;
    /// How many frames it was given.
    fn managed(&self) -> u64;
}

/// A Linux machine as a [`World`], with its state at boot and what a frame is, precomputed.
#[derive(Clone, Debug)]
pub struct Setting {
    /// The machine.
    pub machine: Machine,
    /// The kernel's rules.
    pub rules: Rules,
    /// The state at boot.
    pub boot: Numbers,
    /// For each frame from 0: whether the allocator has it.
    managed: Vec<bool>,
    total: u64,
}

impl Setting {
    /// Note the machine and the state at boot.
    #[must_use]
    pub fn new(machine: &Machine, rules: Rules, boot: Numbers) -> Self {
        let borrowed: MachineRef<'_> = machine.as_ref();
        let mut managed = alloc::vec![false; borrowed.end().index()];
        let mut total = 0;
        for zone in &machine.zones {
            for pfn in zone.span.start.0..zone.span.end.0 {
                let has = borrowed.is_managed(Pfn(pfn));
                managed[pfn as usize] = has;
                total += u64::from(has);
            }
        }
        Self { machine: machine.clone(), rules, boot, managed, total }
    }

    /// Whether a free block is always on the list of its pageblock's type, as from 6.10 on. Under
    /// older rules blocks and their accounting may follow another type (page_alloc.md §1.8).
    #[must_use]
    pub fn keeps_types(&self) -> bool {
        self.rules.free_list_type == FreeListType::Pageblock
            && self.rules.direct_free_true_type
            && self.rules.fallback != Fallback::MoveThenRetype
    }

    /// Whether mobility grouping was on at boot: enough managed pages for one pageblock of every
    /// type (page_alloc.md §1.1, docs/decisions.md 4).
    #[must_use]
    pub fn groups_by_mobility(&self) -> bool {
        let types = if self.machine.cma_built { 6 } else { 5 };
        self.total >= self.machine.as_ref().pageblock_pages() * types
    }
}

impl World for Setting {
    fn is_managed(&self, pfn: Pfn) -> bool {
        self.managed.get(pfn.index()).copied().unwrap_or(false)
    }

    fn managed(&self) -> u64 {
        self.total
    }
}

/// All numbers that the contract shows.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Numbers {
    /// By zone.
    pub zones: Vec<ZoneState>,
    /// By zone, then CPU.
    pub pcps: Vec<PcpState>,
    /// Which CPUs are online.
    pub online: Vec<bool>,
    /// By node.
    pub nodes: Vec<NodeState>,
    /// Events.
    pub events: EventCounters,
}

impl Numbers {
    /// Look at an allocator with `cpus` CPUs.
    pub fn of<A: Observe + CpuHotplug + Nodes + ?Sized>(allocator: &A, cpus: u16) -> Self {
        let mut numbers = Self::default();
        numbers.update(allocator, cpus);
        numbers
    }

    /// As [`Numbers::of`], reusing memory.
    pub fn update<A: Observe + CpuHotplug + Nodes + ?Sized>(&mut self, allocator: &A, cpus: u16) {
        self.zones.clear();
        self.pcps.clear();
        self.online.clear();
        for zone in 0..allocator.zone_count() {
            let zone = ZoneIdx(zone as u8);
            self.zones.push(allocator.zone_state(zone));
            self.pcps.extend((0..cpus).map(|cpu| allocator.pcp_state(CpuId(cpu), zone)));
        }
        self.online.extend((0..cpus).map(|cpu| allocator.is_online(CpuId(cpu))));
        self.nodes.clear();
        let nodes = (0..allocator.node_count()).map(|node| NodeId(node as u8));
        self.nodes.extend(nodes.map(|node| allocator.node_state(node)));
        self.events = allocator.events();
    }

    /// One CPU's lists in one zone.
    #[must_use]
    pub fn pcp(&self, cpu: CpuId, zone: usize) -> &PcpState {
        &self.pcps[zone * self.online.len() + cpu.index()]
    }

    /// The lists of all CPUs in one zone.
    #[must_use]
    pub fn pcps_of(&self, zone: usize) -> &[PcpState] {
        let cpus = self.online.len();
        &self.pcps[zone * cpus..(zone + 1) * cpus]
    }

    /// Whether a drain waits for this CPU's worker.
    #[must_use]
    pub fn is_queued(&self, cpu: CpuId) -> bool {
        (0..self.zones.len()).any(|zone| self.pcp(cpu, zone).drain_queued)
    }

    /// Whether a drain waits for any CPU's worker.
    #[must_use]
    pub fn drain_underway(&self) -> bool {
        self.pcps.iter().any(|pcp| pcp.drain_queued)
    }

    /// Pages on per-CPU lists of one zone.
    #[must_use]
    pub fn cached(&self, zone: usize) -> u64 {
        self.pcps_of(zone).iter().map(|pcp| pcp.count).sum()
    }
}

/// A block on a free list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FreeBlock {
    /// Its first frame.
    pub pfn: Pfn,
    /// Its order.
    pub order: Order,
    /// The list's type.
    pub migratetype: MigrateType,
    /// The zone.
    pub zone: usize,
}

/// A block on a per-CPU list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CachedBlock {
    /// Its first frame.
    pub pfn: Pfn,
    /// Its order; `None` if the list index holds no order on this machine.
    pub order: Option<Order>,
    /// Whose list.
    pub cpu: CpuId,
    /// The zone.
    pub zone: usize,
}

/// All lists, head first within each.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Lists {
    /// Free lists by zone, order, type.
    pub free: Vec<FreeBlock>,
    /// Per-CPU lists by zone, CPU, list.
    pub cached: Vec<CachedBlock>,
    /// Types of the pageblocks from frame 0 up.
    pub pageblocks: Vec<Option<MigrateType>>,
}

impl Lists {
    /// Look at an allocator on `machine`.
    pub fn of<A: Observe + ?Sized>(allocator: &A, machine: &Machine) -> Self {
        let mut lists = Self::default();
        // A block listed twice closes its list to a ring: without a bound the look would not end.
        let most = machine.as_ref().end().index();
        let bounded =
            |seen: usize| assert!(seen < most, "the lists hold more blocks than frames exist");
        let thp_from = 3 * (Order::COSTLY.index() + 1);
        for z in 0..allocator.zone_count() {
            let zone = ZoneIdx(z as u8);
            for order in Order::ZERO.up_to(machine.max_order) {
                for migratetype in MigrateType::ALL {
                    allocator.for_each_free(zone, order, migratetype, &mut |pfn| {
                        bounded(lists.free.len());
                        lists.free.push(FreeBlock { pfn, order, migratetype, zone: z });
                    });
                }
            }
            for cpu in machine.as_ref().cpu_ids() {
                for list in 0..allocator.pcp_list_count() {
                    let order = if list < thp_from {
                        Some(Order::of((list / 3) as u8))
                    } else {
                        machine.thp_order
                    };
                    allocator.for_each_cached(cpu, zone, list, &mut |pfn| {
                        bounded(lists.cached.len());
                        lists.cached.push(CachedBlock { pfn, order, cpu, zone: z });
                    });
                }
            }
        }
        let pages = machine.as_ref().pageblock_pages();
        let blocks = machine.as_ref().end().0.div_ceil(pages);
        lists.pageblocks = (0..blocks)
            .map(|at| {
                // The pageblock's first frame may lie outside all zones.
                (at * pages..(at + 1) * pages).find_map(|pfn| allocator.pageblock_type(Pfn(pfn)))
            })
            .collect();
        lists
    }

    /// The type of the pageblock that holds `pfn`.
    #[must_use]
    pub fn type_at(&self, pfn: Pfn, pageblock_order: Order) -> Option<MigrateType> {
        let at = (pfn.0 >> pageblock_order.get()) as usize;
        self.pageblocks.get(at).copied().flatten()
    }
}

/// A watermark question and its arguments.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Probe {
    /// The zone.
    pub zone: ZoneIdx,
    /// The order.
    pub order: Order,
    /// The mark.
    pub mark: Mark,
    /// The request's highest zone.
    pub highest: ZoneKind,
    /// The flags.
    pub flags: AllocFlags,
    /// The flags of the request (fast form only).
    pub gfp: Gfp,
}

/// A watermark question with both answers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Decision {
    /// The question.
    pub probe: Probe,
    /// The full check's answer.
    pub full: bool,
    /// The fast check's answer.
    pub fast: bool,
}

/// What was just done. Blocks handed out are in [`Observation::granted`].
#[derive(Clone, Copy, Debug)]
pub enum Step<'a> {
    /// One allocation attempt and its outcome.
    Alloc(CpuId, Request, Outcome),
    /// A bulk allocation: slots before and after, and the number returned.
    Bulk(CpuId, Gfp, &'a [Option<Pfn>], usize),
    /// A free, or a batch of frees (the flag says which), of these blocks.
    Free(CpuId, &'a [(Pfn, Order)], bool),
    /// One CPU's lists were drained.
    DrainCpu(CpuId),
    /// All CPUs' lists were drained, in one zone or all.
    DrainAll(Option<ZoneIdx>),
    /// A drain of all CPUs' lists was begun, in one zone or all, and this became of it.
    DrainBegin(Option<ZoneIdx>, DrainBegun),
    /// A CPU came to its worker; whether work was queued.
    Work(CpuId, bool),
    /// The drain before this step was repeated at once.
    DrainAgain,
    /// The zone's per-CPU lists were disabled.
    PcpDisable(ZoneIdx),
    /// A statistics worker ran.
    Tick(CpuId),
    /// Tunables were written.
    Set,
    /// A watermark question.
    Check(Decision),
    /// A walk through the slow path took a step.
    Slow(SlowSeen<'a>),
    /// A node's kswapd took a step.
    Kswapd(KswapdSeen),
    /// Something else.
    Other,
    /// Everything was given back and drained, on every CPU; per-CPU lists are enabled.
    Emptied,
}

/// What happened since boot that some laws excuse.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Past {
    /// A pageblock was isolated, so free neighbours may be unmerged and types restored by choice.
    pub isolated: bool,
    /// A pageblock was reserved for or released from HighAtomic.
    pub highatomic: bool,
    /// Zones whose per-CPU lists are disabled.
    pub disabled: Vec<bool>,
    /// Allocation operations that succeeded, by zone; each page of a bulk call is one.
    pub grants: Vec<u64>,
    /// Pages handed out, by zone.
    pub granted_pages: Vec<u64>,
    /// Pages that memory failure took off the free lists, by zone.
    pub taken_pages: Vec<u64>,
    /// Pages given back, by zone.
    pub freed_pages: Vec<u64>,
}

impl Past {
    /// Nothing happened yet on a machine of so many zones.
    #[must_use]
    pub fn new(zones: usize) -> Self {
        Self {
            disabled: vec![false; zones],
            grants: vec![0; zones],
            granted_pages: vec![0; zones],
            taken_pages: vec![0; zones],
            freed_pages: vec![0; zones],
            ..Self::default()
        }
    }
}

/// What the Linux contract shows.
#[derive(Clone, Copy, Debug)]
pub struct LinuxView<'a> {
    /// The machine, the rules and the state at boot.
    pub setting: &'a Setting,
    /// The tunables in force.
    pub tunables: &'a Tunables,
    /// The numbers before the step.
    pub before: &'a Numbers,
    /// The numbers now.
    pub now: &'a Numbers,
    /// What is excused.
    pub past: &'a Past,
    /// Questions asked before the step with their answers.
    pub asked_before: &'a [Decision],
    /// Questions asked now: the same ones as before the step, where there were any.
    pub asked_now: &'a [Decision],
}

impl LinuxView<'_> {
    /// Before 6.10 a block that covers an isolated pageblock among others is listed under its first
    /// pageblock's type, and its pages drift out of the count of free pages when they merge there
    /// (bug P29's kind): so pages are not to be counted after an isolation under those rules.
    #[must_use]
    pub const fn has_drifted(&self) -> bool {
        self.past.isolated && !self.setting.rules.split_large_frees
    }
}

/// How a run was asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ask {
    /// Anywhere.
    Anywhere,
    /// At this place.
    At(u64),
    /// Instead of this run, which is not in [`RunView::held`] any more.
    Resize(Run),
}

/// A request for a run and its answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RunRequest {
    /// How it was asked for.
    pub ask: Ask,
    /// Units asked for.
    pub len: u64,
    /// The alignment that is due.
    pub align: u64,
    /// Where the run starts; `None`: refused.
    pub answer: Option<u64>,
    /// Whether the harness holds that it could have been served: the units are free and, for a
    /// resize, in place.
    pub possible: bool,
}

/// What an allocator of frames or runs shows, and what the harness knows of its memory.
#[derive(Clone, Copy, Debug)]
pub struct RunView<'a> {
    /// What callers hold: without what this step asked for.
    pub held: &'a Runs,
    /// The largest request that it serves.
    pub largest: u64,
    /// The request of this step.
    pub asked: Option<RunRequest>,
    /// Free and managed units as the allocator counts them, if it does.
    pub counters: Option<(u64, u64)>,
    /// Units that the held runs take; `None` if the allocator alone knows, and they take at least
    /// what was asked for.
    pub taken: Option<u64>,
    /// The sizes that a fresh allocator serves one after another, largest first, until it is
    /// empty; and the same asked of this one after all was given back.
    pub fresh: Option<(&'a [u64], &'a [u64])>,
}

impl RunView<'_> {
    /// The run that this step handed out, with the alignment that is due.
    #[must_use]
    pub fn granted(&self) -> Option<(Run, u64)> {
        let asked = self.asked?;
        Some((Run::new(asked.answer?, asked.len), asked.align))
    }
}

/// Everything that laws can look at.
#[derive(Clone, Copy)]
pub struct Observation<'a> {
    /// The memory under test.
    pub world: &'a dyn World,
    /// What callers hold: after the step's frees, before its grants.
    pub live: &'a Live,
    /// Blocks handed out by the step.
    pub granted: &'a [(Pfn, Order)],
    /// What was done.
    pub step: Step<'a>,
    /// The Linux contract's numbers.
    pub linux: Option<LinuxView<'a>>,
    /// All lists, after the step, with the step's grants in `live`.
    pub lists: Option<&'a Lists>,
    /// The view of an allocator of frames or runs.
    pub runs: Option<RunView<'a>>,
    /// A call of compaction.
    pub compaction: Option<&'a CompactSeen<'a>>,
    /// An operation on memory cgroups.
    pub memcg: Option<&'a MemcgSeen<'a>>,
    /// An operation on a slab cache.
    pub slab: Option<&'a SlabSeen<'a>>,
}
