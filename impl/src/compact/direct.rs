//! Direct compaction over a zonelist, and the writes that ask for whole zones (compaction.md §1.1).

use super::{Compactor, Goal};
use crate::{platform::Platform, storage::Backing};
use mmspec_model::{
    contract::{CompactMode, CompactPriority, CompactResult, Request},
    vocab::{AllocFlags, CpuId, Gfp, Mark, MigrateType, NodeId, Order, Pfn, ZoneIdx},
};

/// What direct compaction came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Compacted {
    /// The best result of all zones.
    pub result: CompactResult,
    /// The block that was captured: the caller's.
    pub page: Option<Pfn>,
}

impl<P: Platform, B: Backing> Compactor<'_, P, B> {
    /// Compact for a request that failed (`try_to_compact_pages`), zone by zone of its list.
    pub fn direct(&self, cpu: CpuId, request: &Request, priority: CompactPriority) -> Compacted {
        let nothing = |result| Compacted { result, page: None };
        let Some(migratetype) =
            request.gfp.migratetype().ok().filter(|_| request.order > Order::ZERO)
        else {
            return nothing(CompactResult::Skipped);
        };
        let Some(attempt) = self.pages.prepare(cpu, request).ok() else {
            return nothing(CompactResult::Skipped);
        };
        if !request.gfp.contains(Gfp::IO) {
            return nothing(CompactResult::Skipped);
        }
        let hardest = priority == CompactPriority::SyncFull;
        let mut best = CompactResult::Skipped;
        let mut page = None;
        let order = request.order.get();
        let mut flags = AllocFlags::empty();
        if migratetype == MigrateType::Movable {
            flags |= AllocFlags::CMA;
        }
        let goal = Goal {
            order: Some(request.order),
            migratetype,
            mode: match priority {
                CompactPriority::Async => CompactMode::Async,
                CompactPriority::SyncLight | CompactPriority::SyncFull => CompactMode::SyncLight,
            },
            mark: Mark::Min,
            flags,
            highest: attempt.classzone,
            may_fs: request.gfp.contains(Gfp::FS),
            direct: true,
            proactive: None,
            whole_zone: hardest,
            ignore_skip_hint: hardest,
            no_set_skip_hint: false,
            ignore_block_suitable: hardest,
            alloc_contig: false,
        };
        self.pages.find_entry(&attempt, |entry| {
            let zone = self.state.zone(entry.zone);
            if !hardest && zone.is_deferred(order) {
                best = best.max(CompactResult::Deferred);
                return None;
            }
            let result = match self.begin(cpu, ZoneIdx(entry.zone as u8), goal) {
                Err(result) => result,
                Ok(mut run) => {
                    let result = self.finish(&mut run);
                    page = run.take_captured();
                    result
                }
            };
            best = best.max(result);
            if result == CompactResult::Success || page.is_some() {
                zone.reset_deferral(order, false);
                return Some(());
            }
            let failed = matches!(result, CompactResult::Complete | CompactResult::PartialSkipped);
            if priority != CompactPriority::Async && failed {
                zone.defer(order);
            }
            let stops = priority == CompactPriority::Async && self.owner.needs_resched()
                || self.owner.fatal_signal();
            stops.then_some(())
        });
        Compacted { result: best, page }
    }

    /// A block of `order` was allocated from a zone after a compaction: it is no longer deferred.
    pub fn proven(&self, pfn: Pfn, order: Order) {
        if let Some(zone) = self.pages.zone_of(pfn) {
            self.cancel_flush(zone);
            self.state.zone(zone).reset_deferral(order.get(), true);
        }
    }

    /// Compact every zone of a node, from one end to the other (the sysfs file `compact`).
    pub fn compact_node(&self, cpu: CpuId, node: NodeId) {
        let zones =
            (0..self.pages.zones().len()).filter(|at| self.pages.zone(*at).info.node == node);
        for zone in zones {
            if self.owner.fatal_signal() {
                return;
            }
            if let Ok(mut run) = self.begin(cpu, ZoneIdx(zone as u8), Goal::WHOLE) {
                self.finish(&mut run);
            }
        }
    }

    /// Compact all nodes (a write to `/proc/sys/vm/compact_memory`).
    pub fn compact_all(&self, cpu: CpuId) {
        self.owner.drain_lru();
        for node in 0..self.pages.node_count() {
            self.compact_node(cpu, NodeId(node as u8));
        }
    }
}
