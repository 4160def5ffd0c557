//! The text of /proc/slabinfo, version 2.1 (memcg-slub.md §4.12).

use core::fmt;

/// The two lines that stand before those of the caches.
pub const SLABINFO_HEADER: &str = "slabinfo - version: 2.1\n\
    # name            <active_objs> <num_objs> <objsize> <objperslab> <pagesperslab> \
    : tunables <limit> <batchcount> <sharedfactor> \
    : slabdata <active_slabs> <num_slabs> <sharedavail>\n";

/// The numbers of one cache. `Display` is its line, without the end of line.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct SlabInfo<'a> {
    /// The cache's name.
    pub name: &'a str,
    /// Objects but for the free ones of slabs on nodes' partial lists: what CPUs hold free counts.
    pub active_objs: u64,
    /// Objects that its slabs have room for.
    pub num_objs: u64,
    /// Bytes from object to object (the stride).
    pub objsize: u32,
    /// Objects of a slab of the order asked for first.
    pub objperslab: u32,
    /// Pages of such a slab.
    pub pagesperslab: u32,
    /// Slabs; SLUB does not tell those in use apart.
    pub active_slabs: u64,
    /// Slabs.
    pub num_slabs: u64,
}

impl fmt::Display for SlabInfo<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, active_objs, num_objs, objsize, objperslab, .. } = self;
        let Self { pagesperslab, active_slabs, num_slabs, .. } = self;
        write!(
            f,
            "{name:<17} {active_objs:>6} {num_objs:>6} {objsize:>6} {objperslab:>4} {pagesperslab:>4}"
        )?;
        // What SLUB has no use for.
        write!(f, " : tunables {:>4} {:>4} {:>4}", 0, 0, 0)?;
        write!(f, " : slabdata {active_slabs:>6} {num_slabs:>6} {:>6}", 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    extern crate std;
    use std::string::ToString;

    /// Lines of a running kernel.
    #[test]
    fn lines_are_those_of_a_kernel() {
        let info = SlabInfo {
            name: "btrfs_delayed_node",
            active_objs: 0,
            num_objs: 0,
            objsize: 312,
            objperslab: 13,
            pagesperslab: 1,
            active_slabs: 0,
            num_slabs: 0,
        };
        assert_eq!(
            info.to_string(),
            "btrfs_delayed_node      0      0    312   13    1 : tunables    0    0    0 : slabdata      0      0      0"
        );
        assert_eq!(SLABINFO_HEADER.lines().count(), 2);
        assert!(SLABINFO_HEADER.ends_with("<sharedavail>\n"));
    }
}
