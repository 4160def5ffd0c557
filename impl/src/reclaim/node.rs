//! Shrinking a node (compaction.md §4.6, §4.7), and the answer to kswapd.

use super::{
    BATCH, GoesOn, LruList, Reclaim, Shrink, Shrunk,
    balance::{Surroundings, amounts, is_inactive_low},
};
use crate::{
    kswapd::DEF_PRIORITY,
    platform::{Lock, Platform},
    storage::Backing,
    zone::Check,
};
use mmspec_model::{
    contract::{KswapdReply, KswapdStep},
    vocab::{AllocFlags, CpuId, Mark, NodeId, Order},
};

/// Priority from which on reclaim for small orders looks for room for compaction, too.
const COMPACTION_PRIORITY: u8 = DEF_PRIORITY - 2;

/// `vm.swappiness`, the default.
pub(super) const SWAPPINESS: u8 = 60;

impl<P: Platform, B: Backing> Reclaim<'_, P, B> {
    /// Do what a step of a node's kswapd asks for, on `cpu`; `None` if it asks for no shrink.
    pub fn kswapd(&self, cpu: CpuId, node: NodeId, step: KswapdStep) -> Option<KswapdReply> {
        let KswapdStep::Shrink {
            priority,
            target,
            order,
            highest,
            may_write,
            may_swap,
            unbalanced_only,
        } = step
        else {
            return None;
        };
        let kswapd = true;
        let swappiness = SWAPPINESS;
        let shrink = Shrink {
            priority,
            target,
            order,
            highest,
            may_write,
            may_swap,
            unbalanced_only,
            kswapd,
            swappiness,
        };
        if may_swap && self.lru.has_swap() && node.index() < self.pages.nr_nodes {
            self.age_anon(node, self.kinds(node, &shrink));
        }
        let Shrunk { scanned, reclaimed } = self.shrink_node(cpu, node, &shrink);
        Some(KswapdReply::Shrunk { scanned, reclaimed })
    }

    /// Shrink a node's lists and caches once, and again while that makes room for compaction. Nothing for
    /// a node that does not exist. A node's lists may be shrunk by several threads at once.
    pub fn shrink_node(&self, cpu: CpuId, node: NodeId, shrink: &Shrink) -> Shrunk {
        let mut all = Shrunk::default();
        if node.index() >= self.pages.nr_nodes || node.index() >= self.lru.storage.nodes.len() {
            return all;
        }
        let kinds = self.kinds(node, shrink);
        loop {
            let round = self.shrink_lists(cpu, node, shrink, kinds);
            let reclaimed = round.reclaimed + self.shrink_slabs(node, shrink.priority);
            all.scanned += round.scanned;
            all.reclaimed += reclaimed;
            if !self.goes_on(node, shrink, kinds, reclaimed, all.reclaimed) {
                return all;
            }
        }
    }

    /// The kinds of zones whose pages are wanted, a bit each.
    fn kinds(&self, node: NodeId, shrink: &Shrink) -> u8 {
        let pages = self.pages;
        let order = shrink.order.get();
        let wanted = |at: &usize| {
            !shrink.unbalanced_only || !pages.is_zone_balanced(*at, order, shrink.highest)
        };
        let zones = pages.zones_up_to(node, shrink.highest).filter(wanted);
        zones.fold(0, |kinds, at| kinds | 1 << pages.zone(at).info.kind.index())
    }

    fn shrink_lists(&self, cpu: CpuId, node: NodeId, shrink: &Shrink, kinds: u8) -> Shrunk {
        let swap = shrink.may_swap && self.lru.has_swap();
        let mut around = Surroundings {
            priority: shrink.priority,
            swappiness: shrink.swappiness,
            swap,
            kinds,
            free: 0,
            high: 0,
        };
        for at in self.pages.node(node).zones() {
            around.free += self.pages.exact_free(at) as u64;
            around.high += self.pages.zone(at).mark(Mark::High);
        }
        let targets = amounts(&self.lru.storage.nodes[node.index()].0.lock(), &around);
        let mut left = targets;
        let mut done = Shrunk::default();
        let [anon, file] = [LruList::InactiveAnon, LruList::InactiveFile].map(LruList::index);
        while left[anon] > 0 || left[file] > 0 || left[file + 1] > 0 {
            for list in LruList::EVICTABLE {
                let pages = left[list.index()].min(BATCH);
                left[list.index()] -= pages;
                if pages > 0 {
                    let part = self.shrink_list(cpu, node, list, pages, kinds, shrink);
                    done.scanned += part.scanned;
                    done.reclaimed += part.reclaimed;
                }
            }
            // Who reclaims for itself at first scans all that was planned.
            let all = !shrink.kswapd && shrink.priority == DEF_PRIORITY;
            if done.reclaimed < shrink.target || all {
                continue;
            }
            let (of_anon, of_file) = (left[anon] + left[anon + 1], left[file] + left[file + 1]);
            if of_anon == 0 || of_file == 0 {
                break;
            }
            // Enough: leave the type with less left, and as much of the other in proportion.
            let (less, more) = if of_file > of_anon { (anon, file) } else { (file, anon) };
            let planned = targets[less] + targets[less + 1] + 1;
            let percent = (left[less] + left[less + 1]) * 100 / planned;
            (left[less], left[less + 1]) = (0, 0);
            for list in [more, more + 1] {
                let scanned = targets[list] - left[list];
                left[list] = (targets[list] * (100 - percent) / 100).saturating_sub(scanned);
            }
        }
        if swap {
            self.age_anon(node, kinds);
        }
        done
    }

    /// Keep the inactive list of anonymous memory long enough.
    fn age_anon(&self, node: NodeId, kinds: u8) {
        let low = is_inactive_low(&self.lru.storage.nodes[node.index()].0.lock(), false, kinds);
        if low {
            self.shrink_active(node, false, BATCH, kinds);
        }
    }

    /// should_continue_reclaim: `reclaimed` in this round, `in_all` in all.
    fn goes_on(
        &self,
        node: NodeId,
        shrink: &Shrink,
        kinds: u8,
        reclaimed: u64,
        in_all: u64,
    ) -> bool {
        let order = shrink.order;
        let compacts =
            order > Order::COSTLY || (order > Order::ZERO && shrink.priority < COMPACTION_PRIORITY);
        if !compacts || reclaimed == 0 {
            return false;
        }
        let more = || {
            let lists = self.lru.storage.nodes[node.index()].0.lock();
            let anon =
                if self.lru.has_swap() { lists.size(LruList::InactiveAnon, kinds) } else { 0 };
            lists.size(LruList::InactiveFile, kinds) + anon > compact_gap(order)
        };
        let has_room = || {
            let mut zones = self.pages.zones_up_to(node, shrink.highest);
            zones.any(|at| {
                self.has_block(at, order, shrink) || self.is_suitable(at, order, shrink.highest)
            })
        };
        match self.goes_on {
            GoesOn::UpToGap => (in_all < compact_gap(order) && more()) || !has_room(),
            GoesOn::UntilSuitable => !has_room() && more(),
        }
    }

    fn has_block(&self, at: usize, order: Order, shrink: &Shrink) -> bool {
        self.pages.is_zone_ok(
            at,
            &Check {
                order: order.get(),
                mark: Mark::Min,
                extra: 0,
                highest: shrink.highest,
                flags: AllocFlags::empty(),
            },
        )
    }

    /// Whether compaction has enough free pages to work with.
    pub(super) fn is_suitable(
        &self,
        at: usize,
        order: Order,
        highest: mmspec_model::vocab::ZoneKind,
    ) -> bool {
        let mark = if order > Order::COSTLY { Mark::Low } else { Mark::Min };
        let flags = AllocFlags::CMA;
        let extra = compact_gap(order);
        self.pages.is_zone_ok(at, &Check { order: 0, mark, extra, highest, flags })
    }
}

/// Free pages that compaction for an order needs.
pub(super) fn compact_gap(order: Order) -> u64 {
    2 << order.get()
}
