//! Direct compaction over a zonelist, and the writes that ask for whole zones (compaction.md §1.1).

use super::{Compactor, Goal, Run};
use crate::{path::Attempt, platform::Platform, storage::Backing};
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

/// A direct compaction under way, zone by zone of the request's list ([`Compactor::direct_begin`]).
#[derive(Debug)]
#[must_use = "its run owns pages until it has ended"]
pub struct Direct {
    cpu: CpuId,
    attempt: Attempt,
    goal: Goal,
    priority: CompactPriority,
    /// The entry of the list to look at next.
    next: usize,
    run: Option<Run>,
    compacted: Compacted,
}

impl<P: Platform, B: Backing> Compactor<'_, P, B> {
    /// Compact for a request that failed (`try_to_compact_pages`), to the end.
    pub fn direct(&self, cpu: CpuId, request: &Request, priority: CompactPriority) -> Compacted {
        match self.direct_begin(cpu, request, priority) {
            Err(result) => Compacted { result, page: None },
            Ok(mut direct) => loop {
                if let Some(compacted) = self.direct_step(&mut direct) {
                    return compacted;
                }
            },
        }
    }

    /// Begin to compact for a request that failed.
    ///
    /// # Errors
    /// The request may not: it is for a single page, or may not do I/O.
    pub fn direct_begin(
        &self,
        cpu: CpuId,
        request: &Request,
        priority: CompactPriority,
    ) -> Result<Direct, CompactResult> {
        if request.order == Order::ZERO || !request.gfp.contains(Gfp::IO) {
            return Err(CompactResult::Skipped);
        }
        let migratetype = request.gfp.migratetype().map_err(|_| CompactResult::Skipped)?;
        let attempt = self.pages.prepare(cpu, request).map_err(|_| CompactResult::Skipped)?;
        let hardest = priority == CompactPriority::SyncFull;
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
        let compacted = Compacted { result: CompactResult::Skipped, page: None };
        Ok(Direct { cpu, attempt, goal, priority, next: 0, run: None, compacted })
    }

    /// One iteration of the run under way, or the begin of the next one; how it all ended, if it did.
    pub fn direct_step(&self, direct: &mut Direct) -> Option<Compacted> {
        let result = match &mut direct.run {
            Some(run) => {
                let result = self.step(run)?;
                direct.compacted.page = run.take_captured();
                result
            }
            None => {
                let mut number = 0;
                let entry = self.pages.find_entry(&direct.attempt, |entry| {
                    number += 1;
                    (number > direct.next).then_some(entry)
                });
                let Some(entry) = entry else { return Some(direct.compacted) };
                direct.next = number;
                let zone = self.state.zone(entry.zone);
                let deferred = |order: Order| zone.is_deferred(order.get());
                if direct.priority != CompactPriority::SyncFull
                    && direct.goal.order.is_some_and(deferred)
                {
                    let best = &mut direct.compacted.result;
                    *best = (*best).max(CompactResult::Deferred);
                    return None;
                }
                match self.begin(direct.cpu, ZoneIdx(entry.zone as u8), direct.goal) {
                    Err(result) => {
                        let ends = self.after_zone(direct, entry.zone, result);
                        return ends.then_some(direct.compacted);
                    }
                    Ok(run) => {
                        direct.run = Some(run);
                        return None;
                    }
                }
            }
        };
        let zone = direct.run.take().map_or(0, |run| run.zone);
        self.after_zone(direct, zone, result).then_some(direct.compacted)
    }

    /// Book the result of a zone; whether it was the last one.
    fn after_zone(&self, direct: &mut Direct, zone: usize, result: CompactResult) -> bool {
        let order = direct.goal.order.map_or(0, Order::get);
        let zone = self.state.zone(zone);
        direct.compacted.result = direct.compacted.result.max(result);
        if result == CompactResult::Success || direct.compacted.page.is_some() {
            zone.reset_deferral(order, false);
            return true;
        }
        let failed = matches!(result, CompactResult::Complete | CompactResult::PartialSkipped);
        let is_async = direct.priority == CompactPriority::Async;
        if !is_async && failed {
            zone.defer(order);
        }
        is_async && self.owner.needs_resched() || self.owner.fatal_signal()
    }

    /// Give a direct compaction up; what its run isolated goes back.
    pub fn direct_abandon(&self, direct: Direct) {
        if let Some(run) = direct.run {
            self.abandon(run);
        }
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
