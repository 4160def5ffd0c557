//! Direct reclaim over a zonelist (compaction.md §4.5).

use super::{
    BATCH, Reclaim, Shrink, Shrunk,
    node::{SWAPPINESS, compact_gap},
};
use crate::{
    Walk, kswapd::DEF_PRIORITY, path::Attempt, platform::Platform, storage::Backing, zone::Check,
    zonelist::Entry,
};
use mmspec_model::{
    contract::SlowReply,
    vocab::{AllocFlags, Gfp, Mark, NodeMask, Order},
};

impl<P: Platform, B: Backing> Reclaim<'_, P, B> {
    /// Do what a walk's [`mmspec_model::contract::SlowStep::Reclaim`] asks for.
    pub fn direct(&self, walk: &Walk) -> SlowReply {
        let Some(attempt) = walk.attempt() else { return SlowReply::Reclaimed(0) };
        SlowReply::Reclaimed(self.try_to_free_pages(walk, &attempt))
    }

    /// Pages reclaimed, at least as many as a batch if that goes; 1 if nothing was, but compaction
    /// should be tried now.
    fn try_to_free_pages(&self, walk: &Walk, attempt: &Attempt) -> u64 {
        let order = walk.order();
        let mut reclaimed = 0;
        for priority in (0..=DEF_PRIORITY).rev() {
            let mut ready = false;
            let mut shrunk = NodeMask::NONE;
            self.pages.for_each_entry(attempt, |entry| {
                if order > Order::COSTLY && self.is_compaction_ready(attempt, entry) {
                    ready = true;
                } else if !shrunk.contains(entry.node) {
                    shrunk.0 |= 1 << entry.node.0;
                    let shrink = Shrink {
                        priority,
                        target: BATCH,
                        order,
                        highest: attempt.highest,
                        may_write: true,
                        may_swap: walk.gfp().contains(Gfp::IO),
                        unbalanced_only: false,
                        kswapd: false,
                        swappiness: SWAPPINESS,
                    };
                    let Shrunk { reclaimed: pages, .. } =
                        self.shrink_node(walk.cpu(), entry.node, &shrink);
                    reclaimed += pages;
                }
            });
            if reclaimed >= BATCH {
                break;
            }
            if ready {
                return reclaimed.max(1);
            }
        }
        reclaimed
    }

    /// Whether reclaiming more in a zone would only delay compaction.
    fn is_compaction_ready(&self, attempt: &Attempt, entry: Entry) -> bool {
        let order = Order::new(attempt.want.order).unwrap_or(Order::MAX);
        if !attempt.gfp.contains(Gfp::IO) {
            return false;
        }
        let check = |order, mark, extra| {
            let (highest, flags) = (attempt.classzone, AllocFlags::empty());
            self.pages.is_zone_ok(entry.zone, &Check { order, mark, extra, highest, flags })
        };
        check(attempt.want.order, Mark::Min, 0)
            || (self.is_suitable(entry.zone, order, attempt.classzone)
                && check(0, Mark::High, compact_gap(order)))
    }
}
