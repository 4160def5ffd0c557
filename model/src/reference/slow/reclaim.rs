//! J and K: the throttle (compaction.md §4.5), direct reclaim, direct compaction (D45, D46).

use super::{At, Go, SlowWalk};
use crate::contract::{CompactResult, DrainBegun, DrainWork, SlowStep, TaskFlags};
use crate::reference::Reference;
use crate::reference::kswapd::HOPELESS;
use crate::vocab::{Gfp, Mark, NodeId, Pfn, ZoneKind};

impl Reference {
    /// The start of J: wait first while the node's reserves are low.
    pub(super) fn throttle(&mut self, walk: &SlowWalk) -> Go {
        if walk.task.intersects(TaskFlags::KTHREAD | TaskFlags::DYING) {
            return Go::Reclaim;
        }
        let low = |z: &usize| self.zones[*z].kind <= ZoneKind::Normal;
        let first = self.walk_zones(walk).into_iter().find(low);
        let Some(node) = first.map(|z| self.zones[z].node) else { return Go::Reclaim };
        if self.allows_direct_reclaim(node) {
            return Go::Reclaim;
        }
        self.rouse_kswapd(node);
        self.events.direct_throttle += 1;
        let killable = walk.gfp.contains(Gfp::FS);
        Go::Say(At::Throttle, SlowStep::Throttle { node, killable })
    }

    /// Whether the zones up to Normal hold more than half of their MIN marks.
    fn allows_direct_reclaim(&self, node: NodeId) -> bool {
        if self.nodes[node.index()].state.kswapd_failures >= HOPELESS {
            return true;
        }
        let (mut free, mut reserve) = (0, 0);
        for z in self.zones_up_to(node, ZoneKind::Normal) {
            let exact = self.exact_free(z);
            // 6.18 leaves out zones without reclaimable pages only while something is free there
            // (D69).
            let counts_empty = self.rules.avoid_awake_nodes && exact == 0;
            if self.zones[z].reclaimable > 0 || counts_empty {
                free += exact;
                reserve += self.mark(z, Mark::Min);
            }
        }
        reserve == 0 || free > reserve / 2
    }

    pub(super) fn after_throttle(&mut self, walk: &mut SlowWalk, killed: bool) -> Go {
        self.note_signal(walk, killed);
        if !killed {
            return Go::Reclaim;
        }
        // "Progress", so that the dying task gets on.
        walk.progress = 1;
        self.page_after_progress(walk)
    }

    pub(super) fn ask_reclaim(&mut self, walk: &SlowWalk) -> Go {
        self.events.allocstall[walk.highest.index()] += 1;
        Go::Say(At::Reclaim, SlowStep::Reclaim { order: walk.order })
    }

    pub(super) fn after_reclaim(&mut self, walk: &mut SlowWalk, pages: u64) -> Go {
        walk.progress = pages;
        if pages == 0 {
            return Go::Compact;
        }
        for z in self.walk_zones(walk) {
            let node = self.zones[z].node;
            self.nodes[node.index()].state.kswapd_failures = 0;
        }
        self.page_after_progress(walk)
    }

    /// The rest of J: an attempt, and one more when reserves and per-CPU lists were given up.
    fn page_after_progress(&mut self, walk: &mut SlowWalk) -> Go {
        let mut page = self.walk_page(walk, Mark::Min, walk.flags);
        if page.is_none() {
            self.unreserve_for(walk, false);
            if let DrainBegun::Queued { .. } = self.drain_begin(walk.cpu, None) {
                return Go::Say(At::DrainWait, SlowStep::DrainWait);
            }
            page = self.walk_page(walk, Mark::Min, walk.flags);
        }
        Go::page_or(page, Go::Compact)
    }

    /// The lists of all CPUs are empty.
    pub(super) fn after_drain(&mut self, walk: &mut SlowWalk) -> Go {
        let page = self.walk_page(walk, Mark::Min, walk.flags);
        Go::page_or(page, Go::Compact)
    }

    /// Give up a reserved pageblock of a zone in reach.
    pub(super) fn unreserve_for(&mut self, walk: &SlowWalk, force: bool) -> bool {
        let zones = self.walk_zones(walk);
        zones.into_iter().any(|z| self.unreserve_in(walk.cpu, z, walk.migratetype, force))
    }

    /// K.
    pub(super) fn ask_compaction(&mut self, walk: &mut SlowWalk) -> Go {
        if !walk.may_compact() {
            walk.compacted = CompactResult::Skipped;
            return Go::Decide;
        }
        let (order, priority) = (walk.order, walk.priority);
        Go::Say(At::Compaction, SlowStep::Compact { order, priority })
    }

    /// Compaction ran: an attempt, and its counters (D46).
    pub(super) fn after_compaction(
        &mut self,
        walk: &mut SlowWalk,
        result: CompactResult,
    ) -> Option<Pfn> {
        walk.compacted = result;
        if result == CompactResult::Skipped {
            return None;
        }
        self.events.compact_stall += 1;
        let page = self.walk_page(walk, Mark::Min, walk.flags);
        if page.is_some() {
            self.events.compact_success += 1;
        } else {
            self.events.compact_fail += 1;
        }
        page
    }
}
