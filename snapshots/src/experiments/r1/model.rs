//! The machine, the load and the costs, fixed before the first run.

use crate::experiments::Parameter;
use crate::experiments::known::{Known, parameters, variations};
use mmspec_proptests::world::Costs;

/// Everything that the simulation rests on. Times in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Model {
    pub(super) memory_mib: u64,
    pub(super) cpus: u64,
    /// Pages in a hundred that are taken at random places.
    pub(super) taken: u64,
    pub(super) cache_mib: u64,
    pub(super) hog_mib: u64,
    pub(super) groups: u64,
    pub(super) loops: u64,
    /// Messages on the way between two processes at most.
    pub(super) in_flight: u64,
    pub(super) process_pages: u64,
    pub(super) kernel_pages: u64,
    /// Messages that a process sends or takes before another of its CPU's runs.
    pub(super) slice: u64,
    pub(super) message: u64,
    pub(super) object: u64,
    pub(super) slab: u64,
    pub(super) scan: u64,
    pub(super) migrate: u64,
    pub(super) slow_step: u64,
    pub(super) runs: u64,
}

impl Model {
    pub(super) const STATED: Self = Self {
        memory_mib: 512,
        cpus: 8,
        taken: 25,
        cache_mib: 118,
        hog_mib: 150,
        groups: 20,
        loops: 1000,
        in_flight: 278,
        process_pages: 20,
        kernel_pages: 16,
        slice: 1000,
        message: 1000,
        object: 50,
        slab: 1000,
        scan: 20,
        migrate: 1000,
        slow_step: 1000,
        runs: 3,
    };

    const KNOWN: [Known<Self>; 18] = [
        Known {
            name: "memory",
            unit: "MiB",
            get: |model| &mut model.memory_mib,
            source: Ok("published"),
        },
        Known { name: "CPUs", unit: "", get: |model| &mut model.cpus, source: Ok("published") },
        Known {
            name: "pages taken at random places",
            unit: "%",
            get: |model| &mut model.taken,
            source: Ok("published"),
        },
        Known {
            name: "page cache, and what else the system keeps",
            unit: "MiB",
            get: |model| &mut model.cache_mib,
            // From a kernel and little else to all that the pages taken and the hog leave.
            source: Err((60, 234)),
        },
        Known {
            name: "memory of the hog",
            unit: "MiB",
            get: |model| &mut model.hog_mib,
            source: Ok("published"),
        },
        Known {
            name: "groups of 40 processes",
            unit: "",
            get: |model| &mut model.groups,
            source: Ok("published: hackbench -g 20"),
        },
        Known {
            name: "loops",
            unit: "",
            get: |model| &mut model.loops,
            source: Ok("published: -l 1000"),
        },
        Known {
            name: "messages on the way to a process at most",
            unit: "",
            get: |model| &mut model.in_flight,
            source: Ok("the send buffer of 212992 bytes by 768 a message (compaction.md §7.5)"),
        },
        Known {
            name: "anonymous pages of a process",
            unit: "",
            get: |model| &mut model.process_pages,
            source: Err((10, 40)),
        },
        Known {
            name: "kernel pages of a process, its stack not counted",
            unit: "",
            get: |model| &mut model.kernel_pages,
            // Page tables, task, files, maps, and its part of sockets, inodes and dentries.
            source: Err((8, 32)),
        },
        Known {
            name: "messages before another process runs",
            unit: "",
            get: |model| &mut model.slice,
            source: Err((250, 4000)),
        },
        Known {
            name: "message sent or taken",
            unit: "ns",
            get: |model| &mut model.message,
            source: Err((500, 2000)),
        },
        Known {
            name: "object from or to a CPU's list",
            unit: "ns",
            get: |model| &mut model.object,
            source: Err((25, 100)),
        },
        Known {
            name: "slab made or given back",
            unit: "ns",
            get: |model| &mut model.slab,
            source: Err((500, 2000)),
        },
        Known {
            name: "frame for a scanner",
            unit: "ns",
            get: |model| &mut model.scan,
            source: Err((10, 40)),
        },
        Known {
            name: "attempt to migrate a page",
            unit: "ns",
            get: |model| &mut model.migrate,
            source: Err((500, 2000)),
        },
        Known {
            name: "step of the slow path",
            unit: "ns",
            get: |model| &mut model.slow_step,
            source: Err((500, 2000)),
        },
        Known {
            name: "runs averaged",
            unit: "",
            get: |model| &mut model.runs,
            source: Ok("published were 10; chosen for the time that they take"),
        },
    ];

    /// What work costs in the world; messages and objects are counted beside it.
    pub(super) const fn costs(&self) -> Costs {
        Costs {
            migrate_scan: self.scan,
            free_scan: self.scan,
            migrate: self.migrate,
            lru_scan: 100,
            reclaim: 300,
            fill: 0,
            fault: 0,
            wait: 5000,
            list: 0,
            slow_step: self.slow_step,
        }
    }

    /// Fewer messages.
    pub(super) const fn short(self, loops: u64) -> Self {
        Self { loops, runs: 1, ..self }
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
