//! The machine, the load and the costs, fixed before the first run.

use crate::experiments::Parameter;
use crate::experiments::known::{Known, parameters, variations};
use mmspec_proptests::world::Costs;

/// Everything that the simulation rests on. Times in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Model {
    pub(super) memory_mib: u64,
    pub(super) cpus: u64,
    /// Runs that are averaged, each with a seed of its own.
    pub(super) runs: u64,
    /// One page in this many that the kernel takes for itself while the work file is written.
    pub(super) kernel_page_in: u64,
    pub(super) migrate_scan: u64,
    pub(super) free_scan: u64,
    pub(super) migrate: u64,
    pub(super) lru_scan: u64,
    pub(super) reclaim: u64,
    pub(super) fill: u64,
    pub(super) fault: u64,
    pub(super) slow_step: u64,
    pub(super) wait: u64,
    /// An entry put on or taken off a list under a lock.
    pub(super) list: u64,
    /// How long a thread runs before another of its CPU's does.
    pub(super) slice: u64,
}

pub(super) const MS: u64 = 1_000_000;

impl Model {
    pub(super) const STATED: Self = Self {
        memory_mib: 8192,
        cpus: 8,
        runs: 1,
        kernel_page_in: 50,
        migrate_scan: 20,
        free_scan: 20,
        migrate: 1000,
        lru_scan: 100,
        reclaim: 300,
        fill: 250,
        fault: 1000,
        slow_step: 1000,
        wait: 5000,
        list: 50,
        slice: 3 * MS,
    };

    const KNOWN: [Known<Self>; 15] = [
        Known {
            name: "memory",
            unit: "MiB",
            get: |model| &mut model.memory_mib,
            source: Ok(
                "chosen: the largest that two minutes suffice for; the published machine's is unknown",
            ),
        },
        Known {
            name: "CPUs",
            unit: "",
            get: |model| &mut model.cpus,
            source: Ok("the least for a table that ends at 32 threads"),
        },
        Known {
            name: "runs averaged",
            unit: "",
            get: |model| &mut model.runs,
            source: Ok("chosen: one large machine has the samples of many small ones"),
        },
        Known {
            name: "one page of the kernel in",
            unit: "pages of the work file",
            get: |model| &mut model.kernel_page_in,
            source: Err((12, 200)),
        },
        Known {
            name: "frame for the migrate scanner",
            unit: "ns",
            get: |model| &mut model.migrate_scan,
            source: Err((10, 40)),
        },
        Known {
            name: "frame for the free scanner",
            unit: "ns",
            get: |model| &mut model.free_scan,
            source: Err((10, 40)),
        },
        Known {
            name: "attempt to migrate a page",
            unit: "ns",
            get: |model| &mut model.migrate,
            source: Err((500, 2000)),
        },
        Known {
            name: "page looked at by reclaim",
            unit: "ns",
            get: |model| &mut model.lru_scan,
            source: Err((50, 200)),
        },
        Known {
            name: "page reclaimed",
            unit: "ns",
            get: |model| &mut model.reclaim,
            source: Err((150, 600)),
        },
        Known {
            name: "page zeroed or read",
            unit: "ns",
            get: |model| &mut model.fill,
            source: Err((125, 500)),
        },
        Known {
            name: "fault",
            unit: "ns",
            get: |model| &mut model.fault,
            source: Err((500, 2000)),
        },
        Known {
            name: "step of the slow path",
            unit: "ns",
            get: |model| &mut model.slow_step,
            source: Err((500, 2000)),
        },
        Known {
            name: "wait for kswapd",
            unit: "ns",
            get: |model| &mut model.wait,
            source: Err((1000, 25_000)),
        },
        Known {
            name: "entry put on or taken off a list under a lock",
            unit: "ns",
            get: |model| &mut model.list,
            source: Err((25, 100)),
        },
        Known {
            name: "time slice",
            unit: "ns",
            get: |model| &mut model.slice,
            source: Err((1_500_000, 6_000_000)),
        },
    ];

    /// What work costs in the world.
    pub(super) const fn costs(&self) -> Costs {
        Costs {
            migrate_scan: self.migrate_scan,
            free_scan: self.free_scan,
            migrate: self.migrate,
            lru_scan: self.lru_scan,
            reclaim: self.reclaim,
            fill: self.fill,
            fault: self.fault,
            wait: self.wait,
            list: self.list,
            slow_step: self.slow_step,
        }
    }

    /// For the report.
    pub(super) fn parameters(self) -> Vec<Parameter> {
        parameters(self, &Self::KNOWN)
    }

    /// The model with each parameter that has no source halved, and doubled.
    pub(super) fn variations(self) -> Vec<(&'static str, Self, Self)> {
        variations(self, Self::KNOWN.iter().filter(|known| known.source.is_err()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_without_a_source_are_the_middle_of_their_range() {
        assert_eq!(crate::experiments::known::off_the_middle(Model::STATED, &Model::KNOWN), None);
    }
}
