//! The machines, the load and the costs, fixed before the first run.

use crate::experiments::Parameter;
use crate::experiments::known::{Known, parameters, variations};

/// Everything that the simulation rests on. Times in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Model {
    /// Memory of a node, MiB.
    pub(super) node_mib: u64,
    /// Readers on each node, a CPU each.
    pub(super) cpus_per_node: u64,
    /// Pages that one read brings in.
    pub(super) window: u64,
    /// Pages read after the caches are full, in hundredths of the machine's memory.
    pub(super) read_percent: u64,
    /// To bring one page into the cache and copy it out, whatever zone it lies in.
    pub(super) page: u64,
    /// To look at one entry of a zonelist: its zone's node, counters and marks.
    pub(super) zone: u64,
    /// To read a batch counter that other CPUs write.
    pub(super) counter: u64,
    /// To reset the batch of one zone.
    pub(super) reset: u64,
    /// To enter the slow path and look whom to wake.
    pub(super) slow: u64,
    /// To reclaim one clean page.
    pub(super) reclaim: u64,
}

impl Model {
    pub(super) const STATED: Self = Self {
        node_mib: 8192,
        cpus_per_node: 4,
        window: 32,
        read_percent: 25,
        page: 1000,
        zone: 60,
        counter: 100,
        reset: 200,
        slow: 1000,
        reclaim: 300,
    };

    const KNOWN: [Known<Self>; 10] = [
        Known {
            name: "memory of a node",
            unit: "MiB",
            get: |model| &mut model.node_mib,
            source: Err((4096, 16384)),
        },
        Known {
            name: "readers on a node",
            unit: "",
            get: |model| &mut model.cpus_per_node,
            source: Err((1, 16)),
        },
        Known {
            name: "read-ahead window",
            unit: "pages",
            get: |model| &mut model.window,
            source: Ok("the kernel's default, 128 KiB [mem]"),
        },
        Known {
            name: "pages read with full caches",
            unit: "% of memory",
            get: |model| &mut model.read_percent,
            source: Ok("chosen: many turns of every kswapd"),
        },
        Known {
            name: "page into the cache and out",
            unit: "ns",
            get: |model| &mut model.page,
            source: Err((500, 2000)),
        },
        Known {
            name: "look at a zone of the list",
            unit: "ns",
            get: |model| &mut model.zone,
            source: Err((36, 100)),
        },
        Known {
            name: "read of a shared batch counter",
            unit: "ns",
            get: |model| &mut model.counter,
            source: Err((50, 200)),
        },
        Known {
            name: "reset of a zone's batch",
            unit: "ns",
            get: |model| &mut model.reset,
            source: Err((100, 400)),
        },
        Known {
            name: "entry of the slow path",
            unit: "ns",
            get: |model| &mut model.slow,
            source: Err((500, 2000)),
        },
        Known {
            name: "reclaim of a clean page",
            unit: "ns",
            get: |model| &mut model.reclaim,
            source: Err((150, 600)),
        },
    ];

    /// For the report.
    pub(super) fn parameters(self) -> Vec<Parameter> {
        parameters(self, &Self::KNOWN)
    }

    /// The model with each parameter that has no source halved, and doubled.
    pub(super) fn variations(self) -> Vec<(&'static str, Self, Self)> {
        variations(self, &Self::KNOWN)
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
