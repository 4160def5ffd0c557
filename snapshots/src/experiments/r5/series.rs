//! The kernels that are compared, and what was published of them (compaction.md §2).

use super::Pair;
use mmspec_model::vocab::{CompactFeatures, CompactFixes, CompactRules};

/// Mean latency of a region in µs, and huge pages in percent, by threads: 5.0.0-rc1 with patches 01 to
/// 08, and with patch 09.
pub(super) const PATCH_09: [(u32, Pair, Pair); 8] = [
    (3, Pair::of(3771.41, 3390.40), Pair::of(86.50, 89.83)),
    (5, Pair::of(5409.05, 5082.28), Pair::of(92.52, 91.96)),
    (7, Pair::of(7040.74, 7012.51), Pair::of(92.44, 92.85)),
    (12, Pair::of(11_887.35, 11_346.63), Pair::of(92.98, 92.74)),
    (18, Pair::of(16_718.19, 15_324.19), Pair::of(91.70, 91.71)),
    (24, Pair::of(21_157.19, 16_088.50), Pair::of(91.59, 92.13)),
    (30, Pair::of(21_175.92, 18_723.42), Pair::of(90.14, 93.79)),
    (32, Pair::of(21_339.03, 18_612.01), Pair::of(90.03, 91.27)),
];

/// The same before the series and with all of it.
pub(super) const WHOLE: [(u32, Pair, Pair); 8] = [
    (3, Pair::of(3832.09, 2748.56), Pair::of(85.99, 97.96)),
    (5, Pair::of(4933.06, 4255.52), Pair::of(88.27, 96.87)),
    (7, Pair::of(7017.75, 6586.93), Pair::of(85.87, 94.53)),
    (12, Pair::of(11_610.51, 9162.34), Pair::of(82.38, 98.44)),
    (18, Pair::of(17_055.85, 11_530.06), Pair::of(83.29, 99.14)),
    (24, Pair::of(19_306.27, 17_956.13), Pair::of(81.41, 97.35)),
    (30, Pair::of(22_516.49, 15_686.47), Pair::of(80.98, 98.05)),
    (32, Pair::of(23_442.93, 16_564.83), Pair::of(80.53, 97.06)),
];

/// One patch of the series.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patch {
    pub(super) name: &'static str,
    pub(super) feature: CompactFeatures,
    /// What it is nothing without.
    needs: CompactFeatures,
    /// Frames scanned for sources, and for targets, in millions: without and with it, all patches before it
    /// being in.
    pub(super) migrate: Pair,
    pub(super) free: Pair,
}

const fn patch(name: &'static str, feature: CompactFeatures) -> Patch {
    let none = Pair { base: None, patched: None };
    Patch { name, feature, needs: CompactFeatures::empty(), migrate: none, free: none }
}

/// The patches that change what is done, as posted.
pub(super) const PATCHES: [Patch; 17] = [
    patch("03", CompactFeatures::F03),
    patch("06", CompactFeatures::F06),
    patch("07", CompactFeatures::F07),
    patch("08", CompactFeatures::F08),
    Patch { migrate: Pair::of(1.0, 0.69), ..patch("09", CompactFeatures::F09) },
    Patch { migrate: Pair::of(41.093, 25.647), ..patch("10", CompactFeatures::F10) },
    Patch {
        migrate: Pair::of(25.647, 29.507),
        free: Pair::of(201.558, 100.360),
        ..patch("11", CompactFeatures::F11)
    },
    Patch {
        migrate: Pair::of(29.507, 27.998),
        free: Pair::of(100.360, 120.783),
        ..patch("12", CompactFeatures::F12)
    },
    Patch {
        needs: CompactFeatures::F07,
        migrate: Pair::of(27.998, 20.149),
        free: Pair::of(120.783, 118.325),
        ..patch("13", CompactFeatures::F13)
    },
    Patch { free: Pair::of(1.0, 0.85), ..patch("14", CompactFeatures::F14) },
    patch("15", CompactFeatures::F15),
    patch("17", CompactFeatures::F17),
    Patch { needs: CompactFeatures::F11, ..patch("18", CompactFeatures::F18) },
    Patch { needs: CompactFeatures::F11, ..patch("19", CompactFeatures::F19) },
    Patch {
        migrate: Pair::of(21.607, 20.117),
        free: Pair::of(95.336, 16.669),
        ..patch("20", CompactFeatures::F20)
    },
    patch("21", CompactFeatures::F21),
    Patch {
        migrate: Pair::of(20.815, 19.573),
        free: Pair::of(16.353, 11.511),
        ..patch("22", CompactFeatures::F22)
    },
];

/// 5.0 with these features. A refusal to isolate ends the search for targets, as was repaired before the
/// release: without that the posted search ran over stale entries.
fn with(features: CompactFeatures) -> CompactRules {
    let fixes = if features.contains(CompactFeatures::F11) {
        CompactFixes::REFUSAL_ENDS
    } else {
        CompactFixes::empty()
    };
    CompactRules { features, fixes, ..CompactRules::linux_5_0() }
}

/// With the first `count` patches.
pub(super) fn up_to(count: usize) -> CompactRules {
    let features = PATCHES[..count].iter().map(|patch| patch.feature);
    with(features.fold(CompactFeatures::empty(), CompactFeatures::union))
}

impl Patch {
    /// 5.0 with what the patch needs, and with the patch.
    pub(super) fn alone(&self) -> [CompactRules; 2] {
        [with(self.needs), with(self.needs | self.feature)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_patches_but_those_of_layout_make_5_1() {
        use CompactFeatures as F;
        let layout = F::F01 | F::F02 | F::F04 | F::F05 | F::F16;
        let all = up_to(PATCHES.len());
        assert_eq!(all.features | layout, CompactRules::linux_5_1().features);
        assert_eq!(all.fixes, CompactRules::linux_5_1().fixes);
        assert_eq!(PATCHES[4].alone()[1], CompactRules::patch_09_alone());
    }
}
