//! R to T: the OOM killer (D48).

use super::{At, Go, SlowWalk};
use crate::contract::{Outcome, SlowStep, TaskFlags};
use crate::reference::Reference;
use crate::vocab::{AllocFlags, Gfp, Mark, Pfn, ZoneKind};

impl Reference {
    /// R, up to the kill.
    pub(super) fn with_oom_lock(&mut self, walk: &mut SlowWalk, locked: bool) -> Go {
        if !locked {
            // Somebody else is killing: that is progress.
            walk.progress = 1;
            return Go::AfterOom;
        }
        walk.progress = 0;
        if let Some(pfn) = self.last_look(walk) {
            return Go::End(Outcome::Page(pfn));
        }
        let spares = Gfp::RETRY_MAYFAIL | Gfp::THISNODE;
        let gives_up =
            walk.is_costly() || walk.gfp.intersects(spares) || walk.highest < ZoneKind::Normal;
        if gives_up {
            return Go::AfterOom;
        }
        Go::Say(At::OomKill, SlowStep::OomKill { order: walk.order })
    }

    /// Whether somebody freed a lot meanwhile: an attempt at HIGH that cannot reclaim.
    fn last_look(&mut self, walk: &SlowWalk) -> Option<Pfn> {
        let mut look = walk.clone();
        look.gfp.remove(Gfp::DIRECT_RECLAIM);
        look.gfp |= Gfp::HARDWALL;
        self.walk_page(&look, Mark::High, AllocFlags::CPUSET)
    }

    pub(super) fn after_kill(&mut self, walk: &mut SlowWalk, killed: bool) -> Go {
        self.events.oom_kill += u64::from(killed);
        let must_go_on = walk.gfp.contains(Gfp::NOFAIL);
        if !killed && !must_go_on {
            return Go::AfterOom;
        }
        walk.progress = 1;
        if !must_go_on {
            return Go::AfterOom;
        }
        let page = self.page_past_cpuset(walk, AllocFlags::NO_WATERMARKS);
        Go::page_or(page, Go::AfterOom)
    }

    /// S and T.
    pub(super) fn after_oom(&mut self, walk: &mut SlowWalk) -> Go {
        let had_reserve =
            walk.flags.contains(AllocFlags::OOM) || walk.gfp.contains(Gfp::NOMEMALLOC);
        if walk.task.contains(TaskFlags::OOM_VICTIM) && had_reserve {
            return Go::NoPage;
        }
        if walk.progress > 0 {
            walk.fruitless = 0;
            return Go::Retry;
        }
        Go::NoPage
    }
}
