//! The machine, the load and the costs, fixed before the first run.

use crate::experiments::Parameter;
use crate::experiments::known::{Known, parameters, variations};
use mmspec_proptests::generate::Rng;

/// Everything that the simulation rests on. Times in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Model {
    /// CPUs that are busy; the drainer has one more to itself.
    pub(super) cpus: u64,
    pub(super) simulated_s: u64,
    pub(super) drains_per_s: u64,
    /// The longest stretch without a reschedule.
    pub(super) longest_stretch: u64,
    /// One stretch in this many is a long one.
    pub(super) long_one_in: u64,
    /// The longest of the others.
    pub(super) longest_short: u64,
    /// From one burst of requests of a CPU to the next.
    pub(super) burst_every: u64,
    /// Most pages of a burst.
    pub(super) burst_pages: u64,
    /// An allocation or a free that the CPU's own lists serve.
    pub(super) hit: u64,
    /// To take and leave the zone lock.
    pub(super) zone_lock: u64,
    /// One page from the lists to the zone or back, with splits and merges.
    pub(super) page: u64,
    /// To fetch a line that another CPU wrote: the count of its lists, their lock, or the lists back.
    pub(super) line: u64,
    /// To the worker and back, on the CPU that drains its lists.
    pub(super) switch: u64,
    /// To queue an item of work on another CPU.
    pub(super) queue: u64,
    /// To wake the drainer when the last item is done.
    pub(super) wake: u64,
}

pub(super) const MS: u64 = 1_000_000;

impl Model {
    pub(super) const STATED: Self = Self {
        cpus: 8,
        simulated_s: 60,
        drains_per_s: 100,
        longest_stretch: 200 * MS,
        long_one_in: 30_000,
        longest_short: MS,
        burst_every: 250_000,
        burst_pages: 32,
        hit: 25,
        zone_lock: 50,
        page: 40,
        line: 100,
        switch: 3_000,
        queue: 1_000,
        wake: 3_000,
    };

    const KNOWN: [Known<Self>; 15] = [
        Known { name: "busy CPUs", unit: "", get: |model| &mut model.cpus, source: Err((2, 32)) },
        Known {
            name: "simulated time",
            unit: "s",
            get: |model| &mut model.simulated_s,
            source: Ok("chosen: 6000 drains"),
        },
        Known {
            name: "drains",
            unit: "1/s",
            get: |model| &mut model.drains_per_s,
            source: Ok("published: about 100 times per second"),
        },
        Known {
            name: "longest stretch without reschedule",
            unit: "ns",
            get: |model| &mut model.longest_stretch,
            source: Ok("published worst wait, 166.7 ms, rounded up"),
        },
        Known {
            name: "one long stretch in",
            unit: "stretches",
            get: |model| &mut model.long_one_in,
            source: Err((1_000, 1_000_000)),
        },
        Known {
            name: "longest short stretch",
            unit: "ns",
            get: |model| &mut model.longest_short,
            source: Err((MS / 10, 10 * MS)),
        },
        Known {
            name: "time between bursts",
            unit: "ns",
            get: |model| &mut model.burst_every,
            source: Err((62_500, 1_000_000)),
        },
        Known {
            name: "most pages of a burst",
            unit: "pages",
            get: |model| &mut model.burst_pages,
            source: Err((8, 128)),
        },
        Known { name: "hit of own lists", unit: "ns", get: |m| &mut m.hit, source: Err((10, 62)) },
        Known { name: "zone lock", unit: "ns", get: |m| &mut m.zone_lock, source: Err((25, 100)) },
        Known {
            name: "page to or from the zone",
            unit: "ns",
            get: |model| &mut model.page,
            source: Err((20, 80)),
        },
        Known {
            name: "line from another CPU",
            unit: "ns",
            get: |model| &mut model.line,
            source: Err((50, 200)),
        },
        Known {
            name: "switch to the worker and back",
            unit: "ns",
            get: |model| &mut model.switch,
            source: Err((1_500, 6_000)),
        },
        Known {
            name: "queueing of one work item",
            unit: "ns",
            get: |model| &mut model.queue,
            source: Err((500, 2_000)),
        },
        Known {
            name: "wake-up of the drainer",
            unit: "ns",
            get: |model| &mut model.wake,
            source: Err((1_500, 6_000)),
        },
    ];

    /// All parameters, for the report.
    pub(super) fn parameters(self) -> Vec<Parameter> {
        parameters(self, &Self::KNOWN)
    }

    /// Each parameter without a source, with the model in which it is halved and doubled.
    pub(super) fn variations(self) -> Vec<(&'static str, Self, Self)> {
        variations(self, Self::KNOWN.iter().filter(|known| known.source.is_err()))
    }

    /// The next stretch without a reschedule: log-uniform from a microsecond up to the longest short
    /// one, and once in a while from there up to the longest.
    pub(super) fn stretch(&self, rng: &mut Rng) -> u64 {
        if rng.below(self.long_one_in) == 0 {
            log_uniform(rng, self.longest_short, self.longest_stretch)
        } else {
            log_uniform(rng, 1_000, self.longest_short)
        }
    }
}

/// A number of which each doubling from `low` on is as likely as any other, in integers: what a
/// logarithm gives may differ between machines.
fn log_uniform(rng: &mut Rng, low: u64, high: u64) -> u64 {
    let doublings = u64::from((high / low).max(1).ilog2()) + 1;
    loop {
        let start = low << rng.below(doublings);
        let value = start + rng.below(start);
        if value <= high {
            return value;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_without_a_source_are_the_middle_of_their_range() {
        assert_eq!(crate::experiments::known::off_the_middle(Model::STATED, &Model::KNOWN), None);
    }

    #[test]
    fn stretches_keep_their_bounds_and_spread_over_the_scale() {
        let mut rng = Rng::new(3);
        let all: Vec<u64> = (0..10_000).map(|_| log_uniform(&mut rng, 1_000, MS)).collect();
        assert!(all.iter().all(|value| (1_000..=MS).contains(value)));
        for decade in [10_000, 100_000, 1_000_000] {
            let share = all.iter().filter(|value| (decade / 10..decade).contains(*value)).count();
            assert!((2_900..3_800).contains(&share), "{share} below {decade}");
        }
    }
}
