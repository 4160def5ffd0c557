//! Per-CPU statistics diffs: what makes the cached counters lag (page_alloc.md §3.8).

use crate::compact::Capture;
use core::sync::atomic::{AtomicI32, AtomicU64, Ordering::Relaxed};

/// One CPU's part of a zone's counters that is not pushed yet. It lies with the CPU's lists so that
/// updates touch no line of other CPUs; all but the batch is written under the zone lock only, so
/// plain loads and stores do.
#[derive(Debug, Default)]
pub(crate) struct StatDiff {
    free: AtomicI32,
    cma: AtomicI32,
    batch: AtomicI32,
    /// What a compactor on this CPU waits for.
    pub(crate) capture: Capture,
}

/// The counters that have a diff.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Item {
    /// NR_FREE_PAGES.
    Free,
    /// NR_FREE_CMA_PAGES.
    FreeCma,
    /// NR_ALLOC_BATCH, which changes without the zone lock.
    Batch,
}

/// Hand-outs that were not hits on the CPU's own node (page_alloc.md §6.1), of one CPU and zone.
#[derive(Debug, Default)]
pub(crate) struct NumaEvents {
    miss: AtomicU64,
    foreign: AtomicU64,
    other: AtomicU64,
}

impl NumaEvents {
    pub(crate) fn count_miss(&self) {
        self.miss.fetch_add(1, Relaxed);
    }

    pub(crate) fn count_foreign(&self) {
        self.foreign.fetch_add(1, Relaxed);
    }

    pub(crate) fn count_other(&self) {
        self.other.fetch_add(1, Relaxed);
    }

    /// miss, foreign, other.
    pub(crate) fn get(&self) -> [u64; 3] {
        [&self.miss, &self.foreign, &self.other].map(|word| word.load(Relaxed))
    }

    pub(crate) fn reset(&self) {
        for word in [&self.miss, &self.foreign, &self.other] {
            word.store(0, Relaxed);
        }
    }

    #[cfg(feature = "std")]
    pub(crate) fn copy(&self) -> Self {
        let [miss, foreign, other] = self.get().map(AtomicU64::new);
        Self { miss, foreign, other }
    }
}

impl StatDiff {
    #[inline]
    fn cell(&self, item: Item) -> &AtomicI32 {
        match item {
            Item::Free => &self.free,
            Item::FreeCma => &self.cma,
            Item::Batch => &self.batch,
        }
    }

    #[inline]
    pub(crate) fn get(&self, item: Item) -> i64 {
        i64::from(self.cell(item).load(Relaxed))
    }

    /// Add `delta`; what is to be pushed to the zone: all of the diff once it passes `threshold`.
    #[inline]
    pub(crate) fn add(&self, item: Item, delta: i64, threshold: i64) -> i64 {
        let cell = self.cell(item);
        let sum = i64::from(cell.load(Relaxed)) + delta;
        if sum.abs() > threshold {
            cell.store(0, Relaxed);
            sum
        } else {
            cell.store(sum as i32, Relaxed);
            0
        }
    }

    /// As [`StatDiff::add`] for an item that several threads may change at once.
    pub(crate) fn add_unlocked(&self, item: Item, delta: i64, threshold: i64) -> i64 {
        let cell = self.cell(item);
        let mut seen = cell.load(Relaxed);
        loop {
            let sum = i64::from(seen) + delta;
            let (kept, pushed) = if sum.abs() > threshold { (0, sum) } else { (sum, 0) };
            match cell.compare_exchange_weak(seen, kept as i32, Relaxed, Relaxed) {
                Ok(_) => return pushed,
                Err(found) => seen = found,
            }
        }
    }

    /// As many additions of `delta`, one after the other; what they push together.
    #[inline]
    pub(crate) fn add_steps(&self, item: Item, delta: i64, steps: u32, threshold: i64) -> i64 {
        let (mut left, mut pushed) = (i64::from(steps), 0);
        // A threshold that shrank can leave the diff beyond it.
        while left > 0 && self.get(item).abs() > threshold {
            pushed += self.add(item, delta, threshold);
            left -= 1;
        }
        if left == 0 || delta == 0 {
            return pushed;
        }
        let mut diff = self.get(item);
        let size = delta.abs();
        let room = threshold - diff * delta.signum();
        let first = room / size + 1;
        if left >= first {
            // From 0 on every push takes the same number of steps.
            let period = threshold / size + 1;
            pushed += diff + (first + (left - first) / period * period) * delta;
            left = (left - first) % period;
            diff = 0;
        }
        self.cell(item).store((diff + left * delta) as i32, Relaxed);
        pushed
    }

    /// Empty the diff; what was in it.
    pub(crate) fn take(&self, item: Item) -> i64 {
        i64::from(self.cell(item).swap(0, Relaxed))
    }

    #[cfg(feature = "std")]
    pub(crate) fn copy(&self) -> Self {
        Self {
            free: AtomicI32::new(self.free.load(Relaxed)),
            cma: AtomicI32::new(self.cma.load(Relaxed)),
            batch: AtomicI32::new(self.batch.load(Relaxed)),
            capture: Capture::default(),
        }
    }
}

/// The threshold of a zone's diffs: `min(125, 2 × fls(cpus) × (1 + fls(managed in 128 MiB)))`.
pub(crate) fn normal_threshold(online_cpus: u64, managed: u64) -> i64 {
    const PAGES_PER_128_MIB_SHIFT: u32 = 27 - 12;
    let fls = |value: u64| i64::from(u64::BITS - value.leading_zeros());
    (2 * fls(online_cpus) * (1 + fls(managed >> PAGES_PER_128_MIB_SHIFT))).min(125)
}

/// The threshold while the node's kswapd is awake: small enough that no zone can fall from LOW to
/// MIN unseen (page_alloc.md §3.8).
pub(crate) fn pressure_threshold(online_cpus: u64, low: u64, min: u64) -> i64 {
    (low.saturating_sub(min) / online_cpus.max(1)).clamp(1, 125) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thresholds_are_those_of_the_fact_sheet() {
        // page_alloc.md §8.1 and §8.2.
        for (cpus, managed, expected) in [
            (4, 3840, 6),
            (4, 490_000, 30),
            (4, 1_500_000, 42),
            (1, 1024, 2),
            (4, 16384, 6),
            (1, 65536, 6),
            (4, 65536, 18),
            (1024, 1 << 32, 125),
        ] {
            assert_eq!(normal_threshold(cpus, managed), expected, "{cpus} CPUs, {managed} pages");
        }
    }

    #[test]
    fn a_diff_is_pushed_whole_when_it_passes_the_threshold() {
        let diff = StatDiff::default();
        assert_eq!(diff.add(Item::Free, 6, 6), 0);
        assert_eq!(diff.add(Item::Free, 1, 6), 7);
        assert_eq!(diff.get(Item::Free), 0);
        assert_eq!(diff.add(Item::FreeCma, -7, 6), -7);
        assert_eq!(diff.add(Item::Free, -2, 6), 0);
        assert_eq!((diff.take(Item::Free), diff.get(Item::Free)), (-2, 0));
    }

    #[test]
    fn steps_together_are_steps_one_by_one() {
        for (threshold, start, delta) in (0..9)
            .flat_map(|threshold| (-9..9).map(move |start| (threshold, start)))
            .flat_map(|(threshold, start)| (-5..=5).map(move |delta| (threshold, start, delta)))
        {
            for steps in 0..40 {
                let (together, single) = (StatDiff::default(), StatDiff::default());
                together.add(Item::Free, start, 100);
                single.add(Item::Free, start, 100);
                let pushed = together.add_steps(Item::Free, delta, steps, threshold);
                let expected: i64 =
                    (0..steps).map(|_| single.add(Item::Free, delta, threshold)).sum();
                assert_eq!(
                    (pushed, together.get(Item::Free)),
                    (expected, single.get(Item::Free)),
                    "{steps} × {delta} from {start}, threshold {threshold}"
                );
            }
        }
    }
}
