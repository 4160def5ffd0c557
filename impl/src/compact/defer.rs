//! Deferral: exponential back-off after runs that failed (compaction.md §1.8).

use super::state::CompactZone;
use crate::platform::{Platform, Word};

/// COMPACT_MAX_DEFER_SHIFT.
const MAX_SHIFT: u64 = 6;

impl<P: Platform> CompactZone<P> {
    /// A run for `order` came to nothing: twice as many are left out from now on.
    pub(super) fn defer(&self, order: u8) {
        self.considered.store(0);
        self.defer_shift.store((self.defer_shift.load() + 1).min(MAX_SHIFT));
        if u64::from(order) < self.order_failed.load() {
            self.order_failed.store(u64::from(order));
        }
    }

    /// Whether a run for `order` is left out; counts the attempt.
    pub(super) fn is_deferred(&self, order: u8) -> bool {
        if u64::from(order) < self.order_failed.load() {
            return false;
        }
        let limit = 1 << self.defer_shift.load();
        let considered = self.considered.load() + 1;
        self.considered.store(considered.min(limit));
        considered < limit
    }

    /// A run for `order` succeeded; `proven`: the block was allocated.
    pub(super) fn reset_deferral(&self, order: u8, proven: bool) {
        if proven {
            self.considered.store(0);
            self.defer_shift.store(0);
        }
        if u64::from(order) >= self.order_failed.load() {
            self.order_failed.store(u64::from(order) + 1);
        }
    }

    /// Whether the zone is tried again after the longest back-off.
    pub(super) fn is_restarting(&self, order: u8) -> bool {
        u64::from(order) >= self.order_failed.load()
            && self.defer_shift.load() == MAX_SHIFT
            && self.considered.load() >= 1 << MAX_SHIFT
    }
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use super::*;
    use crate::platform::StdPlatform;

    /// compaction.md §1.8: after k failures in a row exactly 2^k − 1 attempts are left out.
    #[test]
    fn attempts_left_out_double() {
        let zone = CompactZone::<StdPlatform>::default();
        zone.reset_deferral(3, false);
        for expected in [1, 3, 7, 15, 31, 63, 63] {
            zone.defer(4);
            let left_out = (0..).take_while(|_| zone.is_deferred(4)).count();
            assert_eq!(left_out, expected);
        }
        assert!(zone.is_restarting(4) && !zone.is_restarting(3));
        assert!(!zone.is_deferred(3), "smaller orders did not fail");
        zone.reset_deferral(4, true);
        assert!(!zone.is_deferred(4));
        assert_eq!(Word::load(&zone.order_failed), 5);
    }
}
