//! Who holds which lock when, in virtual time.

use mmspec_model::contract::CompactLock;
use std::collections::VecDeque;

/// A lock was held from `start` to `end` (exclusive).
#[derive(Clone, Copy, Debug)]
struct Hold {
    start: u64,
    end: u64,
}

/// The times at which each lock is held. A step is played as a whole at its beginning: what it holds lies
/// ahead of the clocks of the others.
#[derive(Debug)]
pub(super) struct Holds {
    /// By lock and CPU, in order of time.
    held: [Vec<VecDeque<Hold>>; 2],
    /// Since when a CPU holds the one that it has.
    since: Vec<u64>,
}

impl Holds {
    pub(super) fn new(cpus: usize) -> Self {
        let none = vec![VecDeque::new(); cpus];
        Self { held: [none.clone(), none], since: vec![0; cpus] }
    }

    /// The end of a hold by another CPU than `cpu` at this moment.
    fn held(&self, lock: CompactLock, cpu: usize, moment: u64) -> Option<u64> {
        let others = self.held[lock as usize].iter().enumerate().filter(|(other, _)| *other != cpu);
        let at = |holds: &VecDeque<Hold>| {
            let next = holds.partition_point(|hold| hold.end <= moment);
            holds.get(next).filter(|hold| hold.start <= moment).map(|hold| hold.end)
        };
        others.filter_map(|(_, holds)| at(holds)).max()
    }

    /// Whether another CPU than `cpu` holds a lock at this moment.
    pub(super) fn is_taken(&self, lock: CompactLock, cpu: usize, moment: u64) -> bool {
        self.held(lock, cpu, moment).is_some()
    }

    /// When `cpu`, which waits from `moment` on, gets a lock.
    pub(super) fn free_from(&self, lock: CompactLock, cpu: usize, moment: u64) -> u64 {
        let mut at = moment;
        while let Some(end) = self.held(lock, cpu, at) {
            at = end;
        }
        at
    }

    /// `cpu` has a lock from this moment on.
    pub(super) fn take(&mut self, cpu: usize, moment: u64) {
        self.since[cpu] = moment;
    }

    /// `cpu` drops the lock that it has.
    pub(super) fn drop(&mut self, lock: CompactLock, cpu: usize, moment: u64) {
        let hold = Hold { start: self.since[cpu], end: moment };
        if hold.start < hold.end {
            self.held[lock as usize][cpu].push_back(hold);
        }
    }

    /// No clock is behind this moment any more.
    pub(super) fn forget(&mut self, moment: u64) {
        for holds in self.held.iter_mut().flatten() {
            while holds.front().is_some_and(|hold| hold.end <= moment) {
                holds.pop_front();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use CompactLock::{Lru, Zone};

    #[test]
    fn a_lock_is_taken_while_another_cpu_holds_it() {
        let mut holds = Holds::new(3);
        holds.take(0, 100);
        holds.drop(Lru, 0, 200);
        holds.take(1, 200);
        holds.drop(Lru, 1, 250);
        let taken = |cpu, moment| holds.is_taken(Lru, cpu, moment);
        assert!(!taken(2, 99) && taken(2, 100) && taken(2, 199) && taken(2, 249) && !taken(2, 250));
        assert!(!taken(0, 150) && taken(1, 150), "nobody is in the way of himself");
        assert!(!holds.is_taken(Zone, 2, 150), "the other lock is free");
        assert_eq!(holds.free_from(Lru, 2, 120), 250, "one waits for all who have it in turn");
        assert_eq!((holds.free_from(Lru, 1, 120), holds.free_from(Lru, 2, 300)), (200, 300));
        holds.forget(200);
        assert!(!holds.is_taken(Lru, 2, 150) && holds.is_taken(Lru, 2, 220));
    }
}
