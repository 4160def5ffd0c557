//! The switches of compaction: the series of 2019, and what was repaired later.

bitflags::bitflags! {
    /// The 22 patches of January 2019 (compaction.md §2.1); off is Linux 5.0.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
    pub struct CompactFeatures: u32 {
        /// Shrink the control record. Layout only.
        const F01 = 1 << 0;
        /// Rearrange the control record. Layout only.
        const F02 = 1 << 1;
        /// `last_migrated` belongs to the run of a zone: the start of the iteration, not the first
        /// isolated frame.
        const F03 = 1 << 2;
        /// Drop an argument. Layout only.
        const F04 = 1 << 3;
        /// Rename a function. Layout only.
        const F05 = 1 << 4;
        /// A page without a handler that cannot drop its private data is busy and not tried again.
        const F06 = 1 << 5;
        /// Always finish a pageblock.
        const F07 = 1 << 6;
        /// Ignore the watermark boost when isolating free pages.
        const F08 = 1 << 7;
        /// Find a migration source by the free lists.
        const F09 = 1 << 8;
        /// A migration source belongs to one run: test and set the skip bit.
        const F10 = 1 << 9;
        /// Find migration targets by the free lists.
        const F11 = 1 << 10;
        /// A pageblock that is gone over again is isolated to its end.
        const F12 = 1 << 11;
        /// Finish the pageblock on lock contention.
        const F13 = 1 << 12;
        /// Reject huge pages early as a source.
        const F14 = 1 << 13;
        /// Keep the cached positions of async and sync runs in step.
        const F15 = 1 << 14;
        /// Rework a helper. Layout only.
        const F16 = 1 << 15;
        /// A pending reschedule is not contention.
        const F17 = 1 << 16;
        /// The free scanner does not advance too early.
        const F18 = 1 << 17;
        /// The search for targets begins at another order each time.
        const F19 = 1 << 18;
        /// Sample pageblocks with a stride.
        const F20 = 1 << 19;
        /// Clear skip bits selectively.
        const F21 = 1 << 20;
        /// Capture the page that a run makes.
        const F22 = 1 << 21;
    }
}

bitflags::bitflags! {
    /// What was changed after the series (compaction.md §3 and the version notes of §1).
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
    pub struct CompactFixes: u32 {
        /// 5.3: the totals begin anew with each zone (C19).
        const RESET_TOTALS = 1 << 0;
        /// 5.3: a fatal signal ends the run at once (670105a25608).
        const SIGNAL_ABORTS = 1 << 1;
        /// 5.2: the midpoint is used only where there is memory (e577c8b64d58).
        const VALID_MIDPOINT = 1 << 2;
        /// 5.4: a flush stays inside the pageblock and the zone (C10).
        const FLUSH_BOUNDS = 1 << 3;
        /// 5.11: a candidate of one order is not used with the list of another (74e21484e40b).
        const FRESH_CANDIDATE = 1 << 4;
        /// 5.12: entries of marked pageblocks count, success is explicit, failures are counted at the
        /// end (15d28d0d1160).
        const BOUNDED_SEARCH = 1 << 5;
        /// 5.12: the search for targets stays inside the zone (6e2b7044c199).
        const TARGETS_IN_ZONE = 1 << 6;
        /// 5.14: at least one entry, at most half of the limit (b55ca5264b0c).
        const LIMIT_MAX = 1 << 7;
        /// 5.19: a source found by the free lists stays inside the zone (bbe832b9db2e).
        const SOURCE_IN_ZONE = 1 << 8;
        /// 6.1, and again from 6.5: the fast search does not mark the pageblock that it picks
        /// (7efc3b726103, 90ed667c03fe).
        const UNMARKED_PICK = 1 << 9;
        /// 6.2: look around the whole pageblock inside the zone (be21b32afe47).
        const AROUND_BLOCK = 1 << 10;
        /// 6.3: the rest of a pageblock is isolated when migration fails (cfccd2e63e7e and three
        /// others); a captured page is looked for before the drain.
        const FINISH_FAILED = 1 << 11;
        /// 6.5: only where hints are honoured and the pageblock is partly scanned; the bit is tested and
        /// set on the first candidate, wherever it lies.
        const MARK_REPRESENTATIVE = 1 << 12;
        /// 6.5 or 6.6: the start of the zone counts as the start of a pageblock (C14).
        const ZONE_START = 1 << 13;
        /// 6.5: requests that may enter the filesystem bear fewer isolated pages (4fbbb3fde3c6).
        const ISOLATED_EIGHTH = 1 << 14;
        /// 5.10: the batch ends at 32 pages or more, and a run that holds pages never waits (C16).
        const STOP_WITH_PAGES = 1 << 15;
        /// 6.7: pages that are jumped over count as scanned.
        const COUNT_JUMPS = 1 << 16;
        /// 6.7: `last_migrated` is the pageblock that pages came from; the cached free position is the
        /// next pageblock to scan (C32).
        const EXACT_POSITIONS = 1 << 17;
        /// 6.10: large folios below the order asked for are isolated, and targets are kept by order.
        const LARGE_FOLIOS = 1 << 18;
        /// 5.2: looking around ends at the pageblock's end (60fce36afa9c).
        const AROUND_END = 1 << 19;
        /// 5.1: a refusal to isolate ends the search (5b56d996dd50).
        const REFUSAL_ENDS = 1 << 20;
        /// 6.8: what a search falls back to must be a suitable target \[mem\].
        const SUITABLE_FALLBACK = 1 << 21;
    }
}

/// How compaction goes about its work.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct CompactRules {
    /// Patches of the series of 2019.
    pub features: CompactFeatures,
    /// Later changes.
    pub fixes: CompactFixes,
    /// `compact_unevictable_allowed`: pages locked in memory may be moved (1 but on PREEMPT_RT).
    pub unevictable_allowed: bool,
}

impl CompactRules {
    /// Linux 5.0: before the series.
    #[must_use]
    pub const fn linux_5_0() -> Self {
        Self {
            features: CompactFeatures::empty(),
            fixes: CompactFixes::empty(),
            unevictable_allowed: true,
        }
    }

    /// Linux 5.0 with the search for migration sources by free lists (patch 09) and nothing else.
    #[must_use]
    pub const fn patch_09_alone() -> Self {
        Self { features: CompactFeatures::F09, ..Self::linux_5_0() }
    }

    /// Linux 5.1: the series with the repairs made before the release.
    #[must_use]
    pub const fn linux_5_1() -> Self {
        Self {
            features: CompactFeatures::all(),
            fixes: CompactFixes::REFUSAL_ENDS,
            unevictable_allowed: true,
        }
    }

    /// Linux 6.1 as released. (6.1.y took [`CompactFixes::UNMARKED_PICK`] back in its first months.)
    #[must_use]
    pub const fn linux_6_1() -> Self {
        let fixes = CompactFixes::REFUSAL_ENDS
            .union(CompactFixes::AROUND_END)
            .union(CompactFixes::VALID_MIDPOINT)
            .union(CompactFixes::RESET_TOTALS)
            .union(CompactFixes::SIGNAL_ABORTS)
            .union(CompactFixes::FLUSH_BOUNDS)
            .union(CompactFixes::STOP_WITH_PAGES)
            .union(CompactFixes::FRESH_CANDIDATE)
            .union(CompactFixes::BOUNDED_SEARCH)
            .union(CompactFixes::TARGETS_IN_ZONE)
            .union(CompactFixes::LIMIT_MAX)
            .union(CompactFixes::SOURCE_IN_ZONE)
            .union(CompactFixes::UNMARKED_PICK);
        Self { fixes, ..Self::linux_5_1() }
    }

    /// Linux 6.12.
    #[must_use]
    pub const fn linux_6_12() -> Self {
        Self { fixes: CompactFixes::all(), ..Self::linux_5_1() }
    }

    /// The presets by name.
    pub const PRESETS: [(&'static str, Self); 5] = [
        ("linux_5_0", Self::linux_5_0()),
        ("patch_09_alone", Self::patch_09_alone()),
        ("linux_5_1", Self::linux_5_1()),
        ("linux_6_1", Self::linux_6_1()),
        ("linux_6_12", Self::linux_6_12()),
    ];

    /// The preset with that name.
    #[must_use]
    pub fn preset(name: &str) -> Option<Self> {
        Self::PRESETS.iter().find(|(known, _)| *known == name).map(|(_, rules)| *rules)
    }

    /// Whether a patch of the series is in.
    #[must_use]
    pub const fn has(&self, feature: CompactFeatures) -> bool {
        self.features.contains(feature)
    }

    /// Whether a later change is in.
    #[must_use]
    pub const fn fixed(&self, fix: CompactFixes) -> bool {
        self.fixes.contains(fix)
    }
}

impl Default for CompactRules {
    fn default() -> Self {
        Self::linux_6_12()
    }
}

/// The counters of compaction with the kernel's names (compaction.md §6.1).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct CompactCounters {
    /// `compact_migrate_scanned`: frames looked at by migrate scanners.
    pub migrate_scanned: u64,
    /// `compact_free_scanned`: frames looked at by free scanners.
    pub free_scanned: u64,
    /// `compact_isolated`: pages isolated, sources and targets.
    pub isolated: u64,
    /// `compact_daemon_wake`: rounds of work of kcompactd.
    pub daemon_wake: u64,
    /// `compact_daemon_migrate_scanned`: of the first, by kcompactd.
    pub daemon_migrate_scanned: u64,
    /// `compact_daemon_free_scanned`: of the second, by kcompactd.
    pub daemon_free_scanned: u64,
    /// `pgmigrate_success`: pages migrated.
    pub pgmigrate_success: u64,
    /// `pgmigrate_fail`: pages that could not be.
    pub pgmigrate_fail: u64,
}
