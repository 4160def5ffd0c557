//! Which lines of a zone an allocation, a page added to an LRU list and a batch reclaimed touch.
//!
//! The allocator says what it did: zones looked at, batches reset, refills and drains of per-CPU lists
//! and what they left in the CPU's part of the free count. The rest is counted here.

use super::lines::{Field, Layout, Lines, Traffic};
use super::model::Model;
use mmspec_impl::OwnedAllocator;
use mmspec_impl::platform::SpinPlatform;
use mmspec_model::vocab::{CpuId, FairPolicy, MachineRef, NodeId, ZoneIdx};

/// Pages that are added to LRU lists together [mem].
const PAGEVEC: usize = 14;

/// What a CPU keeps for itself of a zone.
#[derive(Clone, Copy, Default)]
struct Private {
    /// Pages on its list.
    listed: u64,
    /// Not yet in the zone's count of free pages.
    free: i64,
    /// Not yet taken off the batch.
    batch: u64,
    /// Not yet in the zone's count of inactive pages.
    inactive: i64,
    /// Not yet in the zone's count of pages scanned.
    scanned: u64,
}

/// An attempt of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Attempt {
    /// Under the fair policy.
    First,
    /// On the slow path.
    Later,
}

/// The lines and what leads to them.
pub(super) struct Touch {
    lines: Lines,
    look: u64,
    policy: FairPolicy,
    /// Zonelists by node: each zone and whether it is on the first zone's node.
    lists: Vec<Vec<(usize, bool)>>,
    /// By node: entries that a fair pass looks at if it finds nothing.
    fair_pass: Vec<u64>,
    zones: usize,
    /// By zone: how far a CPU's part of a counter may go.
    thresholds: Vec<u64>,
    /// By zone: pages that a full list drains at once.
    batches: Vec<u64>,
    /// By CPU and zone.
    private: Vec<Private>,
    /// By CPU: the zones of pages that are on no LRU list yet.
    pagevecs: Vec<Vec<usize>>,
}

impl Touch {
    /// CPUs of lines: those of the machine, then one for each kswapd.
    pub(super) fn new(
        model: &Model,
        layout: Layout,
        machine: MachineRef<'_>,
        pages: &OwnedAllocator<SpinPlatform>,
        policy: FairPolicy,
    ) -> Self {
        let zones = machine.zones.len();
        let cpus = usize::from(machine.cpus);
        let node = |zone: usize| machine.zones[zone].node;
        let mut lists = Vec::new();
        for at in 0..machine.nodes {
            let mut list = Vec::new();
            pages.for_each_zonelist(NodeId(at), false, &mut |zone| list.push(zone.index()));
            let preferred = node(list[0]);
            lists.push(list.into_iter().map(|zone| (zone, node(zone) == preferred)).collect());
        }
        let fair_pass = |list: &Vec<(usize, bool)>| match policy {
            // It goes on to the first entry elsewhere; not at all if that is the second.
            FairPolicy::Draft => match list.iter().position(|entry| !entry.1) {
                Some(1) => 0,
                Some(at) => at as u64 + 1,
                None => list.len() as u64,
            },
            _ => list.len() as u64,
        };
        let nodes: Vec<u8> = (0..machine.cpus)
            .map(|cpu| machine.node_of(CpuId(cpu)).0)
            .chain(0..machine.nodes)
            .collect();
        let zone_idx = |zone: usize| ZoneIdx(zone as u8);
        Self {
            lines: Lines::new(model, layout, zones, &nodes),
            look: model.look,
            policy,
            fair_pass: lists.iter().map(fair_pass).collect(),
            lists,
            zones,
            thresholds: (0..zones).map(|z| pages.zone_state(zone_idx(z)).stat_threshold).collect(),
            batches: (0..zones).map(|z| pages.pcp_state(CpuId(0), zone_idx(z)).batch).collect(),
            private: vec![Private::default(); cpus * zones],
            pagevecs: vec![Vec::with_capacity(PAGEVEC); cpus],
        }
    }

    pub(super) const fn traffic(&self) -> Traffic {
        self.lines.traffic
    }

    fn private(&mut self, cpu: CpuId, zone: usize) -> &mut Private {
        &mut self.private[usize::from(cpu.0) * self.zones + zone]
    }

    /// A CPU's attempt looked at so many zones and reset so many batches; the time it took.
    pub(super) fn looked(
        &mut self,
        at: u64,
        cpu: CpuId,
        node: NodeId,
        attempt: Attempt,
        [looks, resets]: [u64; 2],
    ) -> u64 {
        let agent = usize::from(cpu.0);
        let list = &self.lists[node.index()];
        let fair = if attempt == Attempt::First { self.fair_pass[node.index()] } else { 0 };
        let tested = if self.policy == FairPolicy::Draft { Field::Flags } else { Field::Stats };
        let mut cost = (looks + resets) * self.look;
        for look in 0..looks {
            let is_fair = look < fair;
            let step = if is_fair { look } else { look - fair } as usize;
            let (zone, local) = list[step % list.len()];
            if is_fair {
                cost += self.lines.read(at + cost, agent, zone, Field::Node);
            }
            if !is_fair || local {
                let field = if is_fair { tested } else { Field::Stats };
                cost += self.lines.read(at + cost, agent, zone, field);
            }
        }
        // Which of the local zones had their flags set is not known: the first of the list.
        let local = list.iter().filter(|entry| entry.1);
        for (zone, _) in local.take(resets as usize) {
            cost += self.lines.write(at + cost, agent, *zone, Field::Stats);
            if self.policy == FairPolicy::Draft {
                cost += self.lines.write(at + cost, agent, *zone, Field::Flags);
            }
        }
        cost
    }

    /// A CPU took a page of a zone, perhaps after a refill; the time it took.
    pub(super) fn took(
        &mut self,
        at: u64,
        cpu: CpuId,
        zone: usize,
        pages: &OwnedAllocator<SpinPlatform>,
    ) -> u64 {
        let agent = usize::from(cpu.0);
        let threshold = self.thresholds[zone];
        let mut cost = self.lines.read(at, agent, zone, Field::Stats);
        let mut pushes = false;
        let private = self.private(cpu, zone);
        private.batch += 1;
        if private.batch > threshold {
            private.batch = 0;
            pushes = true;
        }
        if private.listed == 0 {
            let state = pages.pcp_state(cpu, ZoneIdx(zone as u8));
            let refill = state.count + 1;
            private.listed = refill;
            pushes |= state.vm_stat_diff != private.free - refill as i64;
            private.free = state.vm_stat_diff;
            cost += self.lines.write(at + cost, agent, zone, Field::Lock);
        }
        self.private(cpu, zone).listed -= 1;
        if pushes {
            cost += self.lines.write(at + cost, agent, zone, Field::Stats);
        }
        self.pagevecs[agent].push(zone);
        if self.pagevecs[agent].len() == PAGEVEC {
            cost += self.add_to_lru(at + cost, cpu);
        }
        cost
    }

    /// The lock is taken anew where the zone changes.
    fn add_to_lru(&mut self, at: u64, cpu: CpuId) -> u64 {
        let agent = usize::from(cpu.0);
        let pagevec = std::mem::take(&mut self.pagevecs[agent]);
        let mut cost = 0;
        for run in pagevec.chunk_by(|one, next| one == next) {
            let zone = run[0];
            cost += self.lines.write(at + cost, agent, zone, Field::Lru);
            cost += self.count_inactive(at + cost, agent, cpu, zone, run.len() as i64);
        }
        self.pagevecs[agent] = pagevec;
        self.pagevecs[agent].clear();
        cost
    }

    fn count_inactive(&mut self, at: u64, agent: usize, cpu: CpuId, zone: usize, by: i64) -> u64 {
        let threshold = self.thresholds[zone];
        let private = self.private(cpu, zone);
        private.inactive += by;
        if private.inactive.unsigned_abs() <= threshold {
            return 0;
        }
        private.inactive = 0;
        self.lines.write(at, agent, zone, Field::Stats)
    }

    /// So many pages of a zone were taken off its LRU list and freed on a CPU, by `agent`; the time it
    /// took.
    pub(super) fn reclaimed(
        &mut self,
        at: u64,
        agent: usize,
        cpu: CpuId,
        zone: usize,
        freed: u64,
        pages: &OwnedAllocator<SpinPlatform>,
    ) -> u64 {
        let mut cost = self.lines.write(at, agent, zone, Field::Lru);
        cost += self.count_inactive(at + cost, agent, cpu, zone, -(freed as i64));
        let counted = self.lines.layout() == Layout::ScannedCounted;
        let threshold = self.thresholds[zone];
        let private = self.private(cpu, zone);
        private.scanned += freed;
        if !counted || private.scanned > threshold {
            private.scanned = 0;
            cost += self.lines.write(at + cost, agent, zone, Field::Scanned);
        }
        let state = pages.pcp_state(cpu, ZoneIdx(zone as u8));
        let batch = self.batches[zone].max(1);
        let private = self.private(cpu, zone);
        let drained = (private.listed + freed).saturating_sub(state.count);
        private.listed = state.count;
        let pushes = state.vm_stat_diff != private.free + drained as i64;
        private.free = state.vm_stat_diff;
        for _ in 0..drained.div_ceil(batch) {
            cost += self.lines.write(at + cost, agent, zone, Field::Lock);
            if !counted {
                // A free says that the zone can be reclaimed.
                cost += self.lines.write(at + cost, agent, zone, Field::Scanned);
            }
        }
        if pushes {
            cost += self.lines.write(at + cost, agent, zone, Field::Stats);
        }
        // What could not be freed goes back: the lock is taken for that too.
        cost + self.lines.write(at + cost, agent, zone, Field::Lru)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::r2::kernel::Kernel;
    use mmspec_model::contract::{Outcome, Request};
    use mmspec_model::vocab::{Gfp, Machine, Order, Tunables, ZoneKind};

    #[test]
    fn lists_and_counts_of_a_cpu_are_followed() {
        let machine = Machine::new(2, &[(ZoneKind::Normal, 0, 1 << 17)]);
        let (machine, kernel) = (machine.as_ref(), Kernel::Vanilla);
        let pages =
            OwnedAllocator::new(machine, kernel.rules(), Tunables::default()).expect("boots");
        let policy = kernel.rules().fair_policy;
        let mut touch = Touch::new(&Model::STATED, kernel.layout(), machine, &pages, policy);
        let agrees = |touch: &mut Touch| {
            let state = pages.pcp_state(CpuId(0), ZoneIdx(0));
            let private = touch.private(CpuId(0), 0);
            assert_eq!((private.listed, private.free), (state.count, state.vm_stat_diff));
        };
        let mut held = Vec::new();
        for _ in 0..1000 {
            let request = Request::new(Order::ZERO, Gfp::HIGHUSER_MOVABLE);
            let Outcome::Page(page) = pages.alloc_pages(CpuId(0), request) else { panic!("none") };
            touch.took(0, CpuId(0), 0, &pages);
            agrees(&mut touch);
            held.push(page);
        }
        for cluster in held.chunks(32) {
            for page in cluster {
                pages.free_pages(CpuId(0), *page, Order::ZERO);
            }
            touch.reclaimed(0, 0, CpuId(0), 0, cluster.len() as u64, &pages);
            agrees(&mut touch);
        }
        assert_eq!(touch.traffic(), Traffic::default(), "one CPU fetches no line from another");
    }
}
