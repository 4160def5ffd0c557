//! From gfp flags and the task's state to allocation flags (page_alloc.md §3.7, §4.6).

use super::Walk;
use crate::{allocator::PageAllocator, platform::Platform, storage::Backing};
use mmspec_model::{
    contract::TaskFlags,
    vocab::{AllocFlags, Gfp, Order},
};

/// What a task's scopes leave of a request's flags.
pub(crate) fn in_scope(gfp: Gfp, task: TaskFlags) -> Gfp {
    let mut cleared = Gfp::empty();
    if task.contains(TaskFlags::NOIO) {
        cleared |= Gfp::IO | Gfp::FS;
    }
    if task.contains(TaskFlags::NOFS) {
        cleared |= Gfp::FS;
    }
    if task.contains(TaskFlags::PIN) {
        cleared |= Gfp::MOVABLE;
    }
    gfp - cleared
}

/// The flags that replace all others for those whose work frees memory.
pub(super) fn override_of(walk: &Walk) -> Option<AllocFlags> {
    if walk.gfp.contains(Gfp::NOMEMALLOC) {
        None
    } else if walk.gfp.contains(Gfp::MEMALLOC) || walk.task_is(TaskFlags::MEMALLOC) {
        Some(AllocFlags::NO_WATERMARKS)
    } else if walk.task_is(TaskFlags::OOM_VICTIM) {
        Some(AllocFlags::OOM)
    } else {
        None
    }
}

impl<P: Platform, B: Backing> PageAllocator<P, B> {
    /// The flags of step A; `first` are those of a first attempt. Under the rules before 6.3
    /// MIN_RESERVE stands for HIGH and NON_BLOCK for HARDER.
    pub(super) fn slow_flags(&self, walk: &Walk, first: AllocFlags) -> AllocFlags {
        // The bits have the same value.
        const { assert!(Gfp::HIGH.bits() == AllocFlags::MIN_RESERVE.bits() as u32) };
        let derived = AllocFlags::KSWAPD.union(AllocFlags::CMA);
        let mut flags = AllocFlags::CPUSET | first.intersection(derived);
        if walk.gfp.contains(Gfp::HIGH) {
            flags |= AllocFlags::MIN_RESERVE;
        }
        if !walk.reclaims() {
            if !walk.gfp.contains(Gfp::NOMEMALLOC) {
                flags |= AllocFlags::NON_BLOCK;
                let urgent = flags.contains(AllocFlags::MIN_RESERVE)
                    || !self.geometry.rules.highatomic_needs_high;
                if walk.order() > Order::ZERO && urgent {
                    flags |= AllocFlags::HIGHATOMIC;
                }
            }
            if flags.contains(AllocFlags::MIN_RESERVE) {
                flags -= AllocFlags::CPUSET;
            }
        } else if walk.task_is(TaskFlags::REALTIME) {
            flags |= AllocFlags::MIN_RESERVE;
        }
        flags
    }
}
