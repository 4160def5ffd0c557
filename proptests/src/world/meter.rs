//! What was done, and what it costs in virtual time.

/// Work that costs time, as counted while it is done.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Meter {
    /// Frames that migrate scanners looked at, entries of free lists included.
    pub migrate_scanned: u64,
    /// Frames that free scanners looked at, entries of free lists included.
    pub free_scanned: u64,
    /// Pages migrated.
    pub migrated: u64,
    /// Attempts to migrate a page that failed.
    pub failed: u64,
    /// Pages that reclaim looked at.
    pub lru_scanned: u64,
    /// Pages that reclaim freed.
    pub reclaimed: u64,
    /// Pages zeroed or read from a file.
    pub filled: u64,
    /// Faults taken.
    pub faults: u64,
    /// Waits for other tasks.
    pub waits: u64,
    /// Entries put on or taken off lists under a lock, of pages or of free blocks.
    pub listed: u64,
    /// Waits for locks, in ns.
    pub lock_ns: u64,
    /// Locks that async compaction tried, by [`mmspec_model::contract::CompactLock`].
    pub tries: [u64; 2],
    /// Of these, found taken.
    pub taken: [u64; 2],
    /// Steps of slow paths.
    pub slow_steps: u64,
}

/// What each costs, in ns.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Costs {
    /// One frame looked at by a migrate scanner.
    pub migrate_scan: u64,
    /// One frame looked at by a free scanner.
    pub free_scan: u64,
    /// One attempt to migrate a page, whether it succeeds or not.
    pub migrate: u64,
    /// One page looked at by reclaim.
    pub lru_scan: u64,
    /// One page freed by reclaim.
    pub reclaim: u64,
    /// One page zeroed or read.
    pub fill: u64,
    /// One fault.
    pub fault: u64,
    /// One wait for a task.
    pub wait: u64,
    /// One entry put on or taken off a list under a lock.
    pub list: u64,
    /// One step of a slow path.
    pub slow_step: u64,
}

impl Meter {
    /// What was done since `before`.
    #[must_use]
    pub const fn since(&self, before: &Self) -> Self {
        Self {
            migrate_scanned: self.migrate_scanned - before.migrate_scanned,
            free_scanned: self.free_scanned - before.free_scanned,
            migrated: self.migrated - before.migrated,
            failed: self.failed - before.failed,
            lru_scanned: self.lru_scanned - before.lru_scanned,
            reclaimed: self.reclaimed - before.reclaimed,
            filled: self.filled - before.filled,
            faults: self.faults - before.faults,
            waits: self.waits - before.waits,
            listed: self.listed - before.listed,
            lock_ns: self.lock_ns - before.lock_ns,
            tries: [self.tries[0] - before.tries[0], self.tries[1] - before.tries[1]],
            taken: [self.taken[0] - before.taken[0], self.taken[1] - before.taken[1]],
            slow_steps: self.slow_steps - before.slow_steps,
        }
    }

    /// Both together.
    #[must_use]
    pub const fn plus(&self, more: &Self) -> Self {
        Self {
            migrate_scanned: self.migrate_scanned + more.migrate_scanned,
            free_scanned: self.free_scanned + more.free_scanned,
            migrated: self.migrated + more.migrated,
            failed: self.failed + more.failed,
            lru_scanned: self.lru_scanned + more.lru_scanned,
            reclaimed: self.reclaimed + more.reclaimed,
            filled: self.filled + more.filled,
            faults: self.faults + more.faults,
            waits: self.waits + more.waits,
            listed: self.listed + more.listed,
            lock_ns: self.lock_ns + more.lock_ns,
            tries: [self.tries[0] + more.tries[0], self.tries[1] + more.tries[1]],
            taken: [self.taken[0] + more.taken[0], self.taken[1] + more.taken[1]],
            slow_steps: self.slow_steps + more.slow_steps,
        }
    }

    /// Its cost, in ns.
    #[must_use]
    pub const fn cost(&self, costs: &Costs) -> u64 {
        self.compaction(costs)
            + self.lru_scanned * costs.lru_scan
            + self.reclaimed * costs.reclaim
            + self.filled * costs.fill
            + self.faults * costs.fault
            + self.slow_steps * costs.slow_step
            + self.listed * costs.list
            + self.lock_ns
    }

    /// The part of compaction in it: scanning, migrating, and waits.
    #[must_use]
    pub const fn compaction(&self, costs: &Costs) -> u64 {
        self.migrate_scanned * costs.migrate_scan
            + self.free_scanned * costs.free_scan
            + (self.migrated + self.failed) * costs.migrate
            + self.waits * costs.wait
    }
}
