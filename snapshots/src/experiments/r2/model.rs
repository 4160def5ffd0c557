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
    /// Pages read after the caches are full, in hundredths of the machine's memory.
    pub(super) read_percent: u64,
    /// To bring one page into the cache and copy it out, whatever zone it lies in.
    pub(super) page: u64,
    /// To look at one entry of a zonelist, or reset a batch, with all lines at hand.
    pub(super) look: u64,
    /// To enter the slow path and look whom to wake.
    pub(super) slow: u64,
    /// To reclaim one clean page.
    pub(super) reclaim: u64,
    /// To fetch a line from a CPU of the same node.
    pub(super) local: u64,
    /// To fetch a line from a CPU of another node.
    pub(super) remote: u64,
    /// To write a line that several CPUs hold, some of them on other nodes.
    pub(super) shared: u64,
}

impl Model {
    pub(super) const STATED: Self = Self {
        node_mib: 8192,
        cpus_per_node: 4,
        read_percent: 25,
        page: 2900,
        look: 10,
        slow: 1000,
        reclaim: 300,
        local: 51,
        remote: 136,
        shared: 209,
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
            name: "pages read with full caches",
            unit: "% of memory",
            get: |model| &mut model.read_percent,
            source: Ok("chosen: many turns of every kswapd"),
        },
        Known {
            name: "page into the cache and out",
            unit: "ns",
            get: |model| &mut model.page,
            // 404.41 s / (5412.45 s * 93.55 MB/s / 4096 B) = 3272 ns; with MiB 3120 ns.
            source: Ok(
                "UMA rows: system time of vanilla by the pages that its mean rate of 93.55 MB/s \
                 brings in over the run, 3.1 to 3.3 us each, less reclaim",
            ),
        },
        Known {
            name: "look at a zone, lines at hand",
            unit: "ns",
            get: |model| &mut model.look,
            source: Err((5, 20)),
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
        Known {
            name: "line from a CPU of the node",
            unit: "ns",
            get: |model| &mut model.local,
            source: Ok(
                "109 cycles: modified line, same die of a Xeon E7-8867L (David et al., SOSP 2013; \
                 2.13 GHz [mem])",
            ),
        },
        Known {
            name: "line from another node",
            unit: "ns",
            get: |model| &mut model.remote,
            source: Ok("289 cycles: the same, one hop"),
        },
        Known {
            name: "write of a line that many hold",
            unit: "ns",
            get: |model| &mut model.shared,
            source: Ok("445 cycles: store to a line that all cores share, same source"),
        },
    ];

    /// For the report.
    pub(super) fn parameters(self) -> Vec<Parameter> {
        parameters(self, &Self::KNOWN)
    }

    /// The model with each parameter but the length of the run halved, and doubled.
    pub(super) fn variations(self) -> Vec<(&'static str, Self, Self)> {
        let length = "pages read with full caches";
        variations(self, Self::KNOWN.iter().filter(|known| known.name != length))
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
