//! The kernels that are compared.

use super::lines::Layout;
use mmspec_model::vocab::{FairPolicy, Rules};

/// A kernel: its policy, and how the fields of its zones lie.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kernel {
    /// 3.16-rc2, and -rc3.
    Vanilla,
    /// The posting of 30 June up to its third patch.
    CheckLow,
    /// All of it.
    FairZone,
    /// The posting of 9 July up to its second patch: the fields regrouped, nothing else.
    Regrouped,
    /// Up to its third: pages scanned are a counter.
    ScannedCounted,
}

impl Kernel {
    /// Those of the published table.
    pub(super) const TABLE: [Self; 3] = [Self::Vanilla, Self::CheckLow, Self::FairZone];

    pub(super) fn rules(self) -> Rules {
        // The posting was a series: its last kernel has all of its changes.
        let (fair_policy, kswapd_checks_low) = match self {
            Self::Vanilla | Self::Regrouped | Self::ScannedCounted => (FairPolicy::V3_16, false),
            Self::CheckLow => (FairPolicy::V3_16, true),
            Self::FairZone => (FairPolicy::Draft, true),
        };
        Rules { fair_policy, kswapd_checks_low, ..Rules::linux_3_17() }
    }

    pub(super) const fn layout(self) -> Layout {
        match self {
            Self::Vanilla => Layout::Vanilla,
            // Regrouping is the second patch of that series.
            Self::CheckLow | Self::FairZone | Self::Regrouped => Layout::Regrouped,
            Self::ScannedCounted => Layout::ScannedCounted,
        }
    }
}
