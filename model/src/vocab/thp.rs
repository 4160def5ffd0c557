//! Transparent huge pages: what a fault asks for, and what is counted (compaction.md §5).

use super::Gfp;

/// `transparent_hugepage/defrag`: how hard a fault tries for a huge page (compaction.md §5.1).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum ThpDefrag {
    /// Reclaim and compact directly.
    Always,
    /// Wake kswapd, which wakes kcompactd.
    Defer,
    /// Directly in regions that asked for huge pages, by the daemons elsewhere.
    DeferMadvise,
    /// Directly in regions that asked for huge pages, not at all elsewhere.
    #[default]
    Madvise,
    /// Not at all.
    Never,
}

impl ThpDefrag {
    /// All, in the order in which sysfs shows them.
    pub const ALL: [Self; 5] =
        [Self::Always, Self::Defer, Self::DeferMadvise, Self::Madvise, Self::Never];

    /// The word in sysfs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Always => "always",
            Self::Defer => "defer",
            Self::DeferMadvise => "defer+madvise",
            Self::Madvise => "madvise",
            Self::Never => "never",
        }
    }

    /// The flags with which a fault asks for a huge page; `advised`: in a region with
    /// madvise(MADV_HUGEPAGE).
    #[must_use]
    pub const fn gfp(self, advised: bool) -> Gfp {
        let light = Gfp::TRANSHUGE_LIGHT;
        match (self, advised) {
            (Self::Always, true) | (Self::DeferMadvise | Self::Madvise, true) => Gfp::TRANSHUGE,
            (Self::Always, false) => Gfp::TRANSHUGE.union(Gfp::NORETRY),
            (Self::Defer, _) | (Self::DeferMadvise, false) => light.union(Gfp::KSWAPD_RECLAIM),
            (Self::Madvise, false) | (Self::Never, _) => light,
        }
    }
}

/// `transparent_hugepage/enabled`: which faults try for a huge page at all.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum ThpEnabled {
    /// All.
    #[default]
    Always,
    /// Those in regions that asked for huge pages.
    Madvise,
    /// None.
    Never,
}

impl ThpEnabled {
    /// Whether a fault tries; `advised` as for [`ThpDefrag::gfp`].
    #[must_use]
    pub const fn tries(self, advised: bool) -> bool {
        match self {
            Self::Always => true,
            Self::Madvise => advised,
            Self::Never => false,
        }
    }
}

/// The counters of huge pages with the kernel's names (compaction.md §5.3, §5.4).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct ThpCounters {
    /// `thp_fault_alloc`: faults that installed a huge page.
    pub fault_alloc: u64,
    /// `thp_fault_fallback`: faults that got none and went on with base pages.
    pub fault_fallback: u64,
    /// `thp_split_pmd`: huge mappings that were split.
    pub split_pmd: u64,
    /// `thp_deferred_split_page`: huge pages queued to be split under memory pressure.
    pub deferred_split_page: u64,
    /// `thp_split_page`: huge pages that were split.
    pub split_page: u64,
    /// `thp_split_page_failed`: huge pages that could not be.
    pub split_page_failed: u64,
    /// `thp_swpout`: huge pages swapped out whole.
    pub swpout: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_ask_as_the_table_says() {
        let (light, direct) = (Gfp::TRANSHUGE_LIGHT, Gfp::TRANSHUGE_LIGHT | Gfp::DIRECT_RECLAIM);
        let kswapd = light | Gfp::KSWAPD_RECLAIM;
        // By setting: madvised region, other region.
        let table = [
            ("always", direct, direct | Gfp::NORETRY),
            ("defer", kswapd, kswapd),
            ("defer+madvise", direct, kswapd),
            ("madvise", direct, light),
            ("never", light, light),
        ];
        for (defrag, (name, advised, other)) in ThpDefrag::ALL.into_iter().zip(table) {
            assert_eq!(defrag.name(), name);
            assert_eq!((defrag.gfp(true), defrag.gfp(false)), (advised, other), "{name}");
        }
        assert!(!light.intersects(Gfp::RECLAIM));
    }

    #[test]
    fn the_switch_decides_who_tries() {
        let tries = |enabled: ThpEnabled| (enabled.tries(true), enabled.tries(false));
        assert_eq!(tries(ThpEnabled::Always), (true, true));
        assert_eq!(tries(ThpEnabled::Madvise), (true, false));
        assert_eq!(tries(ThpEnabled::Never), (false, false));
    }
}
