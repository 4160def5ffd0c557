//! Verdicts over the length of a recording.

use super::report::{Kind, KindCounts, Verdict};

/// Most slices that a recording is cut into.
const SLICES: usize = 200;

/// Verdicts by slice of a recording: each covers the same number of kmem events.
#[derive(Clone, Debug)]
pub struct Timeline {
    width: u64,
    slices: Vec<[KindCounts; Kind::ALL.len()]>,
}

impl Default for Timeline {
    fn default() -> Self {
        Self { width: 64, slices: Vec::new() }
    }
}

impl Timeline {
    /// Number of events in each slice.
    #[must_use]
    pub const fn width(&self) -> u64 {
        self.width
    }

    /// Number of slices.
    #[must_use]
    pub fn len(&self) -> usize {
        self.slices.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.slices.is_empty()
    }

    /// Verdicts of one kind in one slice.
    #[must_use]
    pub fn slice(&self, slice: usize, kind: Kind) -> KindCounts {
        self.slices.get(slice).map_or_else(KindCounts::default, |counts| counts[kind as usize])
    }

    /// Verdicts of one kind from event number `first` on, to the slice.
    #[must_use]
    pub fn from(&self, first: u64, kind: Kind) -> KindCounts {
        let skip = usize::try_from(first.div_ceil(self.width)).unwrap_or(usize::MAX);
        let mut sum = KindCounts::default();
        for slice in self.slices.iter().skip(skip) {
            sum.merge(&slice[kind as usize]);
        }
        sum
    }

    /// A verdict at the event of this number.
    pub(super) fn count(&mut self, event: u64, kind: Kind, verdict: Verdict) {
        while event / self.width >= SLICES as u64 {
            self.width *= 2;
            let halves = self.slices.chunks(2).map(|pair| {
                let mut both = pair[0];
                if let Some(second) = pair.get(1) {
                    both.iter_mut().zip(second).for_each(|(sum, counts)| sum.merge(counts));
                }
                both
            });
            self.slices = halves.collect();
        }
        let at = (event / self.width) as usize;
        if self.slices.len() <= at {
            self.slices.resize(at + 1, Default::default());
        }
        self.slices[at][kind as usize].add(verdict);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_are_joined_as_a_recording_grows() {
        let mut timeline = Timeline::default();
        for event in 0..100_000 {
            let verdict = if event < 20_000 { Verdict::Undecidable } else { Verdict::Predicted };
            timeline.count(event, Kind::Drain, verdict);
        }
        assert!(timeline.len() <= SLICES, "{}", timeline.len());
        let all = timeline.from(0, Kind::Drain);
        assert_eq!((all.undecidable, all.predicted), (20_000, 80_000));
        let late = timeline.from(20_000 + timeline.width(), Kind::Drain);
        assert_eq!(late.undecidable, 0);
        assert!(late.predicted > 80_000 - 2 * timeline.width(), "{late:?}");
        assert_eq!(timeline.from(0, Kind::Refill), KindCounts::default());
    }
}
