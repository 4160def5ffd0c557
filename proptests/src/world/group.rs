//! A memory cgroup in the world: its pages are charged, and have lists of their own.

use super::{Memory, Process, World, tables::Tables};
use mmspec_impl::{
    Owned, PageAllocator, SetupError, StorageSize,
    memcg::OwnedMemcg,
    platform::{Platform, StdPlatform},
    reclaim::{Lru, LruList, LruStorage, Reclaim, Shrink},
};
use mmspec_model::{
    contract::{
        ChargeTask, KswapdReply, MemcgCall, MemcgDone, MemcgReply, MemcgStep, OomOutcome, SlowReply,
    },
    vocab::{CpuId, Gfp, MemcgId, MemcgRules, MemcgState, NodeId, Order, Pfn, ZoneKind},
};

/// The first, gentle priority of reclaim (DEF_PRIORITY).
const DEF_PRIORITY: u8 = 12;

/// Pages that a reclaim takes at least (SWAP_CLUSTER_MAX).
const CLUSTER: u64 = 32;

/// A group of a world: its rules and its limit in pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limit {
    /// The rules of memory cgroups.
    pub rules: MemcgRules,
    /// memory.max.
    pub pages: u64,
}

/// The group and the lists of its pages.
pub(super) struct Group<P: Platform> {
    charges: OwnedMemcg<StdPlatform>,
    memcg: MemcgId,
    lru: Lru<P, Owned>,
}

impl<P: Platform> Group<P> {
    pub(super) fn new(
        limit: Limit,
        size: &StorageSize,
        cpus: u16,
        swap: bool,
    ) -> Result<Self, SetupError> {
        let charges = OwnedMemcg::new(usize::from(cpus), 2, 1, limit.rules);
        // The second of two groups that there is room for.
        let memcg = charges.create(MemcgId::ROOT).unwrap_or_default();
        let call = MemcgCall::WriteMax { memcg, pages: limit.pages, nonblock: true };
        charges.begin(CpuId(0), call);
        Ok(Self { charges, memcg, lru: Lru::new(size, LruStorage::on_heap(size), swap)? })
    }
}

impl<P: Platform> Memory<P> {
    /// The lists that a page of the group, or another, lies on.
    pub(super) fn lists(&self, grouped: bool) -> &Lru<P, Owned> {
        self.group.as_ref().filter(|_| grouped).map_or(&self.lru, |group| &group.lru)
    }

    /// All lists: those of pages without a group first.
    pub(super) fn all_lists(&self) -> impl Iterator<Item = &Lru<P, Owned>> {
        std::iter::once(&self.lru).chain(self.group.as_ref().map(|group| &group.lru))
    }

    /// The list that a page is on.
    pub(super) fn list_of(&self, pfn: Pfn) -> Option<LruList> {
        let pages: &PageAllocator<P, Owned> = &self.pages;
        self.all_lists().find_map(|lists| lists.list_of(pages, pfn))
    }

    /// Take a page off its list; false if it is on none.
    pub(super) fn unlist(&self, pfn: Pfn) -> bool {
        self.all_lists().any(|lists| lists.remove(&self.pages, pfn))
    }

    /// A block of the group is freed.
    pub(super) fn uncharge(&self, grouped: bool, order: Order) {
        if let Some(group) = self.group.as_ref().filter(|_| grouped) {
            group.charges.uncharge(group.memcg, order.pages() as u32);
        }
    }

    /// How the group looks, if there is one.
    pub fn group(&self) -> Option<MemcgState> {
        self.group.as_ref().map(|group| group.charges.state(group.memcg))
    }
}

impl Tables {
    /// Whether a process is in the group.
    pub(super) fn is_grouped(&self, process: Process) -> bool {
        self.spaces.get(process.0 as usize).is_some_and(|space| space.grouped)
    }
}

impl<P: Platform> World<'_, P> {
    /// A new process in the group.
    pub fn spawn_grouped(&mut self) -> Process {
        let process = self.spawn();
        self.memory.tables().spaces[process.0 as usize].grouped = self.memory.group.is_some();
        process
    }

    /// Charge a block to the group of a process; false: there is no room. Nobody else acts meanwhile.
    pub(super) fn charge(&mut self, cpu: CpuId, process: Process, order: Order, gfp: Gfp) -> bool {
        let Some(group) = &self.memory.group else { return true };
        if !self.memory.tables().is_grouped(process) {
            return true;
        }
        let (memcg, pages) = (group.memcg, order.pages() as u32);
        let task = ChargeTask::empty();
        let call = MemcgCall::Charge { memcg, pages, gfp, task, over_high: 0 };
        let (mut running, mut step) = group.charges.begin(cpu, call);
        loop {
            let reply = match step {
                MemcgStep::Done(done) => return matches!(done, MemcgDone::Charged { .. }),
                MemcgStep::Reclaim { goal, .. } => MemcgReply::Reclaimed {
                    pages: self.shrink_group(cpu, &group.lru, goal.max(CLUSTER)),
                    signal: false,
                },
                // Nobody is killed here.
                MemcgStep::Oom { .. } => MemcgReply::Oom(OomOutcome::NoVictim),
                MemcgStep::Sleep { .. } => MemcgReply::Slept,
            };
            step = group.charges.go_on(&mut running, reply);
        }
    }

    /// try_to_free_mem_cgroup_pages: harder and harder until so many are free.
    fn shrink_group(&self, cpu: CpuId, lru: &Lru<P, Owned>, goal: u64) -> u64 {
        let reclaim = Reclaim { lru, ..self.reclaim() };
        let mut reclaimed = 0;
        for priority in (0..=DEF_PRIORITY).rev() {
            let shrink = Shrink {
                priority,
                target: goal,
                order: Order::ZERO,
                highest: ZoneKind::Movable,
                may_write: true,
                may_swap: true,
                unbalanced_only: false,
                kswapd: false,
                swappiness: 60,
            };
            reclaimed += reclaim.shrink_node(cpu, NodeId(0), &shrink).reclaimed;
            if reclaimed >= goal {
                break;
            }
        }
        reclaimed
    }

    /// Reclaim of a task without limit: from pages without a group, then from the group's, as much of each.
    pub(super) fn reclaim_each(
        &self,
        reclaim: impl Fn(&Reclaim<'_, P, Owned>) -> SlowReply,
    ) -> SlowReply {
        let pages =
            self.memory.all_lists().map(|lru| match reclaim(&Reclaim { lru, ..self.reclaim() }) {
                SlowReply::Reclaimed(pages) => pages,
                _ => 0,
            });
        SlowReply::Reclaimed(pages.sum())
    }

    /// The same of kswapd.
    pub(super) fn kswapd_each(
        &self,
        shrink: impl Fn(&Reclaim<'_, P, Owned>) -> Option<KswapdReply>,
    ) -> Option<KswapdReply> {
        let mut sum: Option<(u64, u64)> = None;
        for lru in self.memory.all_lists() {
            if let Some(KswapdReply::Shrunk { scanned, reclaimed }) =
                shrink(&Reclaim { lru, ..self.reclaim() })
            {
                let (all, freed) = sum.unwrap_or_default();
                sum = Some((all + scanned, freed + reclaimed));
            }
        }
        sum.map(|(scanned, reclaimed)| KswapdReply::Shrunk { scanned, reclaimed })
    }
}
