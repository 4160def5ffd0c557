//! Taking one block with a locked zone (page_alloc.md §1.9).

use super::Buddy;
use crate::frame::Frame;
use crate::platform::Platform;
use mmspec_model::vocab::{AllocFlags, Fallback, HighatomicAccess, MigrateType};

/// Where the last block of a refill was found; the next search starts there (6.15 and later).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(crate) enum Mode {
    /// On the lists of the type asked for.
    #[default]
    Normal,
    /// On the CMA lists.
    Cma,
    /// In a claimed pageblock; never remembered, because a claim fills the own lists.
    Claim,
    /// Stolen from another type.
    Steal,
}

impl<P: Platform> Buddy<'_, P> {
    /// Take a block for a request of `migratetype`; with the type of the list that it came from.
    #[inline]
    pub(crate) fn rmqueue(
        &mut self,
        order: u8,
        migratetype: MigrateType,
        flags: AllocFlags,
        mode: &mut Mode,
    ) -> Option<(u32, MigrateType)> {
        if flags.contains(AllocFlags::CMA)
            && self.cma_outweighs()
            && let Some(frame) = self.smallest(order, MigrateType::Cma)
        {
            return Some((frame, MigrateType::Cma));
        }
        if *mode == Mode::Normal
            && let Some(frame) = self.smallest(order, migratetype)
        {
            return Some((frame, migratetype));
        }
        self.rmqueue_elsewhere(order, migratetype, flags, mode)
    }

    /// More than half of the free pages are CMA's, by the cached counters.
    #[inline]
    fn cma_outweighs(&self) -> bool {
        self.z.now.rare().free_cma.max(0) > self.z.now.free.max(0) / 2
    }

    #[cold]
    fn rmqueue_elsewhere(
        &mut self,
        order: u8,
        migratetype: MigrateType,
        flags: AllocFlags,
        mode: &mut Mode,
    ) -> Option<(u32, MigrateType)> {
        if *mode <= Mode::Cma
            && flags.contains(AllocFlags::CMA)
            && let Some(frame) = self.smallest(order, MigrateType::Cma)
        {
            if self.geometry.rules.fallback == Fallback::ClaimThenSteal {
                *mode = Mode::Cma;
            }
            return Some((frame, MigrateType::Cma));
        }
        match self.geometry.rules.fallback {
            Fallback::MoveThenRetype => {
                // The moved blocks are on the type's own lists now, at least one large enough.
                self.fallback_move(order, migratetype, flags)
                    .then(|| self.smallest(order, migratetype))
                    .flatten()
                    .map(|frame| (frame, migratetype))
            }
            Fallback::Whole => self.fallback_whole(order, migratetype, flags),
            Fallback::ClaimThenSteal => {
                if *mode <= Mode::Claim
                    && let Some(frame) = self.claim(order, migratetype, flags)
                {
                    *mode = Mode::Normal;
                    return Some((frame, migratetype));
                }
                if flags.contains(AllocFlags::NOFRAGMENT) {
                    return None;
                }
                let stolen = self.steal(order, migratetype)?;
                *mode = Mode::Steal;
                Some(stolen)
            }
        }
    }

    /// Take a block past the per-CPU lists, the atomic reserve included where the flags open it
    /// (page_alloc.md §1.13, Use).
    pub(crate) fn rmqueue_direct(
        &mut self,
        order: u8,
        migratetype: MigrateType,
        flags: AllocFlags,
    ) -> Option<u32> {
        let highatomic = MigrateType::HighAtomic;
        let mut taken = None;
        if flags.contains(AllocFlags::HIGHATOMIC) {
            taken = self.smallest(order, highatomic).map(|frame| (frame, highatomic));
        }
        if taken.is_none() {
            taken = self.rmqueue(order, migratetype, flags, &mut Mode::Normal);
        }
        if taken.is_none() {
            let access = match self.geometry.rules.highatomic_access {
                HighatomicAccess::Oom => AllocFlags::OOM,
                HighatomicAccess::OomOrNonBlock => AllocFlags::OOM.union(AllocFlags::NON_BLOCK),
            };
            if flags.intersects(access) {
                taken = self.smallest(order, highatomic).map(|frame| (frame, highatomic));
            }
        }
        let (frame, list) = taken?;
        self.tables.set_frame(frame, Frame::busy(order, list));
        if !self.geometry.accounts_moves {
            self.account(-(1 << order), list);
        }
        self.z.allocs += 1;
        self.z.pgalloc += 1 << order;
        Some(frame)
    }
}
