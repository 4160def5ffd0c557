//! The machine, the load and the costs, fixed before the first run.

use crate::experiments::Parameter;
use crate::experiments::known::{Known, parameters, variations};

/// Everything that the simulation rests on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Model {
    pub(super) memory_mib: u64,
    pub(super) limit_mib: u64,
    pub(super) others_mib: u64,
    pub(super) mapped_mib: u64,
    /// Faults that could be huge.
    pub(super) huge: u64,
    /// Faults that could not, for each of them.
    pub(super) small: u64,
    /// Pages read from files, for each of them.
    pub(super) read: u64,
    pub(super) nodes_in: u64,
    pub(super) kernel_page_in: u64,
    pub(super) runs: u64,
}

impl Model {
    pub(super) const STATED: Self = Self {
        memory_mib: 4096,
        limit_mib: 2048,
        others_mib: 1024,
        mapped_mib: 1024,
        huge: 749,
        small: 144,
        read: 5130,
        nodes_in: 448,
        kernel_page_in: 50,
        runs: 1,
    };

    const KNOWN: [Known<Self>; 10] = [
        Known {
            name: "memory",
            unit: "MiB",
            get: |model| &mut model.memory_mib,
            source: Err((1024, 16384)),
        },
        Known {
            name: "limit of the group",
            unit: "MiB",
            get: |model| &mut model.limit_mib,
            source: Ok("half of the memory, so that group and others have as much"),
        },
        Known {
            name: "page cache of others",
            unit: "MiB",
            get: |model| &mut model.others_mib,
            source: Err((512, 2048)),
        },
        Known {
            name: "anonymous memory mapped at a time",
            unit: "MiB",
            get: |model| &mut model.mapped_mib,
            source: Err((512, 2048)),
        },
        Known {
            name: "faults that could be huge",
            unit: "",
            get: |model| &mut model.huge,
            source: Ok("published: thp_fault_alloc and thp_fault_fallback together"),
        },
        Known {
            name: "other faults for each",
            unit: "",
            get: |model| &mut model.small,
            source: Ok("published: pgfault of the base, less 512 for each, divided by 749"),
        },
        Known {
            name: "pages read for each",
            unit: "",
            get: |model| &mut model.read,
            source: Ok(
                "published: pgalloc of the base, less the huge pages given back and the faults, divided by 749",
            ),
        },
        Known {
            name: "pages read for a page of cache nodes",
            unit: "",
            get: |model| &mut model.nodes_in,
            source: Ok("64 slots in 576 bytes, 7 to a page [mem]"),
        },
        Known {
            name: "one page of the kernel in",
            unit: "pages read before",
            get: |model| &mut model.kernel_page_in,
            source: Err((12, 200)),
        },
        Known {
            name: "runs summed up",
            unit: "",
            get: |model| &mut model.runs,
            source: Ok("one: the load is as large as the published one"),
        },
    ];

    /// A fraction of it: machine, group and load.
    pub(super) const fn part(self, of: u64) -> Self {
        Self {
            memory_mib: self.memory_mib / of,
            limit_mib: self.limit_mib / of,
            others_mib: self.others_mib / of,
            mapped_mib: self.mapped_mib / of,
            huge: self.huge / of,
            ..self
        }
    }

    /// For the report.
    pub(super) fn parameters(self) -> Vec<Parameter> {
        parameters(self, &Self::KNOWN)
    }

    /// The model with each parameter that has no source halved, and doubled. The limit goes with the memory.
    pub(super) fn variations(self) -> Vec<(&'static str, Self, Self)> {
        let known = Self::KNOWN.iter().filter(|known| known.source.is_err());
        let with_limit = |model: Self| Self { limit_mib: model.memory_mib / 2, ..model };
        variations(self, known)
            .into_iter()
            .map(|(name, half, double)| (name, with_limit(half), with_limit(double)))
            .collect()
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
