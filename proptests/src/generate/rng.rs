//! The harness's own random numbers: a fixed algorithm, so that a seed means the same case forever.

/// SplitMix64 (Steele, Lea, Flood 2014). Small, fast, and each state is its own stream.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rng {
    state: u64,
}

impl Rng {
    /// The stream of `seed`.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// An independent stream for case `number` of `seed`.
    #[must_use]
    pub fn for_case(seed: u64, number: u64) -> Self {
        let mut mixer = Self::new(seed ^ number.wrapping_mul(0xd134_2543_de82_ef95));
        Self::new(mixer.next_u64())
    }

    /// The next 64 bits.
    pub const fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `limit`; 0 if `limit` is 0. The bias (below 2^-32 for limits below 2^32)
    /// does not matter for tests.
    pub const fn below(&mut self, limit: u64) -> u64 {
        if limit == 0 { 0 } else { self.next_u64() % limit }
    }

    /// A number from `low` to `high`, both included.
    pub const fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high.saturating_sub(low).saturating_add(1))
    }

    /// True `percent` times in a hundred.
    pub const fn percent(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// One of `values`.
    ///
    /// # Panics
    /// If there is none.
    pub fn pick<'a, T>(&mut self, values: &'a [T]) -> &'a T {
        &values[self.below(values.len() as u64) as usize]
    }

    /// A position, with these weights; 0 if all are 0.
    pub fn weighted(&mut self, weights: &[u32]) -> usize {
        let total: u64 = weights.iter().map(|weight| u64::from(*weight)).sum();
        let mut at = self.below(total);
        for (position, weight) in weights.iter().enumerate() {
            if at < u64::from(*weight) {
                return position;
            }
            at -= u64::from(*weight);
        }
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_means_the_same_numbers_forever() {
        let mut rng = Rng::new(0);
        assert_eq!(rng.next_u64(), 0xe220_a839_7b1d_cdaf);
        assert_eq!(rng.next_u64(), 0x6e78_9e6a_a1b9_65f4);
    }

    #[test]
    fn weights_of_zero_are_never_picked() {
        let mut rng = Rng::new(3);
        let mut seen = [0; 4];
        for _ in 0..4_000 {
            seen[rng.weighted(&[1, 0, 3, 0])] += 1;
        }
        assert_eq!((seen[1], seen[3]), (0, 0));
        assert!(seen[2] > 2 * seen[0] && seen[0] > 500, "{seen:?}");
    }
}
