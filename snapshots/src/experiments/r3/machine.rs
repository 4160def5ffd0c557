//! A group that reads files and takes huge faults, on a machine whose memory is in use.

use super::model::Model;
use crate::experiments::ExperimentError;
use mmspec_impl::platform::SpinPlatform;
use mmspec_impl::reclaim::GoesOn;
use mmspec_model::contract::Request;
use mmspec_model::vocab::{
    CompactRules, CpuId, FreeCheck, Gfp, Machine, MemcgEvent, MemcgRules, NodeId, Order, Pfn,
    Rules, ThpDefrag, ThpEnabled, Tunables, ZoneKind,
};
use mmspec_proptests::generate::Rng;
use mmspec_proptests::world::{
    Allocation, Backing, Config, Costs, Faulted, KswapdTurn, Limit, Memory, Obstacles, Process,
    World,
};
use std::collections::VecDeque;

const NODE: NodeId = NodeId(0);
const FAULTS: CpuId = CpuId(0);
const READS: CpuId = CpuId(1);
/// Frames of a MiB, and of a huge page.
const MIB: u64 = 256;
const HUGE: u32 = 512;

/// What a run came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Outcome {
    pub(super) pgalloc: u64,
    pub(super) pgfault: u64,
    pub(super) thp_fault_alloc: u64,
    pub(super) thp_fault_fallback: u64,
    pub(super) compact_stall: u64,
    pub(super) compact_success: u64,
    pub(super) migrated: u64,
    pub(super) reclaimed: u64,
    pub(super) max_events: u64,
    /// Faults and reads that found no memory.
    pub(super) failed: u64,
}

struct Run<'w, 'm> {
    world: &'w mut World<'m, SpinPlatform>,
    model: Model,
    rng: Rng,
    outcome: Outcome,
    /// Pages of the cache's nodes, the oldest first.
    nodes: VecDeque<Pfn>,
    reads: u64,
}

/// Those of 3.17, but above order 0 the check looks for a block, as since 4.4: compaction of 5.0 takes its
/// answer for one, and a counter that is off by a few pages was enough for the old check.
fn rules_of_the_allocator() -> Rules {
    Rules { free_check: FreeCheck::Lists, ..Rules::linux_3_17() }
}

/// One kernel on the machine.
pub(super) fn run(model: &Model, rules: MemcgRules, seed: u64) -> Result<Outcome, ExperimentError> {
    let frames = model.memory_mib * MIB;
    let limit = Limit { rules, pages: model.limit_mib * MIB };
    let memory: Memory<SpinPlatform> = Memory::new(Config {
        machine: Machine::new(2, &[(ZoneKind::Normal, 16 * MIB, 16 * MIB + frames)]),
        rules: rules_of_the_allocator(),
        tunables: Tunables::default(),
        compact: CompactRules::linux_5_0(),
        goes_on: GoesOn::UpToGap,
        enabled: ThpEnabled::Always,
        defrag: ThpDefrag::Always,
        swap: false,
        group: Some(limit),
        obstacles: Obstacles::default(),
        costs: Costs::default(),
        seed,
    })?;
    let mut world = World::new(&memory);
    let mut run = Run {
        world: &mut world,
        model: *model,
        rng: Rng::for_case(seed, 3),
        outcome: Outcome::default(),
        nodes: VecDeque::new(),
        reads: 0,
    };
    run.fill();
    let reader = run.fill_group();
    let before = memory.pages().events();
    let stolen = memory.meter().reclaimed;
    let thp = memory.thp();
    run.load(reader);
    let mut outcome = run.outcome;
    debug_assert_eq!(memory.check(), Ok(()));
    let after = memory.pages().events();
    let sum = |zones: &[u64]| zones.iter().sum::<u64>();
    outcome.pgalloc = sum(&after.pgalloc) - sum(&before.pgalloc);
    outcome.thp_fault_alloc = memory.thp().fault_alloc - thp.fault_alloc;
    outcome.thp_fault_fallback = memory.thp().fault_fallback - thp.fault_fallback;
    outcome.compact_stall = after.compact_stall - before.compact_stall;
    outcome.compact_success = after.compact_success - before.compact_success;
    outcome.migrated = memory.compaction().counters().pgmigrate_success;
    outcome.reclaimed = memory.meter().reclaimed - stolen;
    outcome.max_events = memory.group().map_or(0, |group| group.events[MemcgEvent::Max as usize]);
    Ok(outcome)
}

impl Run<'_, '_> {
    /// The machine has been up for a while: others read files, and the kernel took a page here and there.
    fn fill(&mut self) {
        let reader = self.world.spawn();
        let pages = self.model.others_mib * MIB;
        let range = self.world.map(reader, pages as u32, Backing::File);
        for page in range {
            self.world.read(READS, reader, page);
            if self.rng.below(self.model.kernel_page_in) == 0 {
                self.kernel_page();
            }
            self.daemons();
        }
    }

    /// So is the group: in the published base no huge page was charged, from the first fault on.
    fn fill_group(&mut self) -> Process {
        let reader = self.world.spawn_grouped();
        let pages = self.model.limit_mib * MIB;
        for _ in 0..pages.div_ceil(self.model.read) {
            self.read(reader);
        }
        reader
    }

    /// A page of the kernel's own.
    fn kernel_page(&mut self) -> Option<Pfn> {
        let mut asks = Allocation::new(READS, Request::new(Order::ZERO, Gfp::KERNEL));
        loop {
            if let Some(page) = asks.step(self.world) {
                return page;
            }
        }
    }

    /// kswapd works when it is woken; up to 4.5 it was that compacted, kcompactd does it here.
    fn daemons(&mut self) {
        if self.world.is_awake(NODE) {
            while self.world.kswapd(READS, NODE) == KswapdTurn::Shrunk {}
        }
        self.world.kcompactd(READS, NODE);
    }

    fn load(&mut self, reader: Process) {
        let owner = self.world.spawn_grouped();
        let most = self.model.mapped_mib / 2;
        let mut regions = VecDeque::new();
        for _ in 0..self.model.huge {
            let region = self.world.map(owner, HUGE, Backing::Anon { advised: false });
            let start = region.start;
            self.outcome.pgfault += 1;
            match self.world.touch(FAULTS, owner, start) {
                Faulted::Huge => {}
                Faulted::Base => self.touch(owner, region.clone().skip(1)),
                _ => self.outcome.failed += 1,
            }
            regions.push_back(region);
            if regions.len() as u64 > most
                && let Some(oldest) = regions.pop_front()
            {
                self.world.unmap(FAULTS, owner, oldest);
            }
            // Too short for a huge page.
            let short =
                self.world.map(owner, self.model.small as u32, Backing::Anon { advised: false });
            self.touch(owner, short.clone());
            self.world.unmap(FAULTS, owner, short);
            self.read(reader);
        }
    }

    fn touch(&mut self, owner: Process, pages: impl Iterator<Item = u32>) {
        for page in pages {
            self.outcome.pgfault += 1;
            if self.world.touch(FAULTS, owner, page) == Faulted::NoMemory {
                self.outcome.failed += 1;
            }
        }
    }

    /// The reader goes on.
    fn read(&mut self, reader: Process) {
        let range = self.world.map(reader, self.model.read as u32, Backing::File);
        for page in range {
            if self.world.read(READS, reader, page) == Faulted::NoMemory {
                self.outcome.failed += 1;
            }
            self.reads += 1;
            if self.reads.is_multiple_of(self.model.nodes_in) {
                let node = self.kernel_page();
                self.nodes.extend(node);
                // Nodes go with what they hold.
                let cached = self.model.limit_mib * MIB / self.model.nodes_in;
                if self.nodes.len() as u64 > cached
                    && let Some(node) = self.nodes.pop_front()
                {
                    self.world.memory().pages().free_pages(READS, node, Order::ZERO);
                }
            }
            self.daemons();
        }
    }
}
