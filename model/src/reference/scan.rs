//! One scan of a zonelist: which zone comes next (§4.3 steps 1, 3, 4 and the end, D32 to D34).

use super::Reference;
use super::alloc::Attempt;
use super::fair::{FairTurn, ResetAt};
use crate::vocab::{AllocFlags, CpuId, FairPolicy};
use alloc::collections::VecDeque;
use alloc::vec::Vec;

/// A scan underway, with its rescans.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Scan {
    pub(super) attempt: Attempt,
    /// The entries within kind and mask, from the preferred zone on.
    pub(super) list: Vec<usize>,
    /// The next entry to look at.
    place: usize,
    /// Zones of nodes whose kswapd is awake are passed over.
    avoids_awake: bool,
    /// One was.
    avoided: bool,
    /// The fair pass passed a zone over.
    pub(super) fair_skipped: bool,
    /// Zones whose batch is being reset.
    pub(super) resets: VecDeque<(usize, ResetAt)>,
}

/// What a look led to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Look {
    /// This zone is tried.
    Zone(usize),
    /// Nothing yet.
    Later,
    /// Every pass is done.
    End,
}

impl Reference {
    /// A scan from the beginning.
    pub(super) fn begin_scan(&self, attempt: Attempt, list: Vec<usize>) -> Scan {
        let avoids_awake = self.rules.avoid_awake_nodes && self.nodes.len() > 1;
        let resets = VecDeque::new();
        Scan { attempt, list, place: 0, avoids_awake, avoided: false, fair_skipped: false, resets }
    }

    /// The next zone to try; `None` when every pass is done.
    pub(super) fn next_zone(&mut self, cpu: CpuId, scan: &mut Scan) -> Option<usize> {
        loop {
            match self.look(cpu, scan) {
                Look::Zone(z) => return Some(z),
                Look::Later => {}
                Look::End => return None,
            }
        }
    }

    /// One look: at an entry of the list, at what comes after its end, or one action of a reset.
    pub(super) fn look(&mut self, cpu: CpuId, scan: &mut Scan) -> Look {
        if self.reset_step(cpu, scan) {
            return Look::Later;
        }
        let Some(&z) = scan.list.get(scan.place) else {
            if !self.scans_again(scan) {
                return Look::End;
            }
            scan.place = 0;
            return Look::Later;
        };
        scan.place += 1;
        if !self.cpuset_allows(z, &scan.attempt) {
            return Look::Later;
        }
        if self.rules.fair_policy != FairPolicy::None {
            self.events.zones_scanned += 1;
        }
        match self.fair_turn(z, scan) {
            FairTurn::Try => {}
            FairTurn::Pass => return Look::Later,
            FairTurn::Stop => {
                scan.place = scan.list.len();
                return Look::Later;
            }
            FairTurn::Again => {
                scan.place = 0;
                return Look::Later;
            }
        }
        if scan.attempt.flags.contains(AllocFlags::NOFRAGMENT) && self.is_remote(z, scan) {
            scan.attempt.flags.remove(AllocFlags::NOFRAGMENT);
            scan.place = 0;
            return Look::Later;
        }
        if scan.avoids_awake && self.nodes[self.zones[z].node.index()].state.kswapd_awake {
            scan.avoided = true;
            return Look::Later;
        }
        Look::Zone(z)
    }

    /// D32: CPUSET keeps to the task's nodes.
    pub(super) fn cpuset_allows(&self, z: usize, attempt: &Attempt) -> bool {
        !attempt.flags.contains(AllocFlags::CPUSET) || attempt.mems.contains(self.zones[z].node)
    }

    /// The zone is on another node than the preferred zone.
    pub(super) fn is_remote(&self, z: usize, scan: &Scan) -> bool {
        self.zones[z].node != self.zones[scan.attempt.preferred].node
    }

    /// At the end of the list: whether another pass follows, under which rules.
    fn scans_again(&self, scan: &mut Scan) -> bool {
        if self.ends_fair_pass(scan) {
            return true;
        }
        if scan.avoids_awake && scan.avoided {
            scan.avoids_awake = false;
            return true;
        }
        if scan.attempt.flags.contains(AllocFlags::NOFRAGMENT) {
            scan.attempt.flags.remove(AllocFlags::NOFRAGMENT);
            return true;
        }
        false
    }
}
