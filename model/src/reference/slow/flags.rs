//! The flags of the slow path's attempts (§3.7, D43).

use super::SlowWalk;
use crate::contract::TaskFlags;
use crate::reference::Reference;
use crate::vocab::{AllocFlags, Gfp, Order};

impl Reference {
    /// gfp_to_alloc_flags; the mark is MIN.
    pub(super) fn slow_flags(&self, walk: &SlowWalk) -> AllocFlags {
        let gfp = walk.gfp;
        let high = gfp.contains(Gfp::HIGH);
        let mut flags = AllocFlags::CPUSET | self.derived_flags(gfp, walk.migratetype);
        flags.set(AllocFlags::MIN_RESERVE, high);
        if !walk.reclaims() {
            if !gfp.contains(Gfp::NOMEMALLOC) {
                flags |= AllocFlags::NON_BLOCK;
                // Without the need for HIGH: bug P15.
                let may_reserve = high || !self.rules.highatomic_needs_high;
                flags.set(AllocFlags::HIGHATOMIC, walk.order > Order::ZERO && may_reserve);
            }
            if high {
                flags.remove(AllocFlags::CPUSET);
            }
        } else if walk.task.contains(TaskFlags::REALTIME) {
            flags |= AllocFlags::MIN_RESERVE;
        }
        flags
    }

    /// The reserves that the task may use instead of its flags (`__gfp_pfmemalloc_flags`).
    pub(super) fn reserves_of(&self, walk: &SlowWalk) -> Option<AllocFlags> {
        let task = |flag| walk.task.contains(flag);
        if walk.gfp.contains(Gfp::NOMEMALLOC) {
            None
        } else if walk.gfp.contains(Gfp::MEMALLOC) || task(TaskFlags::MEMALLOC) {
            Some(AllocFlags::NO_WATERMARKS)
        } else if task(TaskFlags::OOM_VICTIM) {
            Some(AllocFlags::OOM)
        } else {
            None
        }
    }
}
