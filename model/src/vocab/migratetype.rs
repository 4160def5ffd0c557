//! Migratetypes: how free pages are grouped by mobility.

use core::fmt;

/// Number of migratetypes with every option built in.
pub const NR_MIGRATETYPES: usize = 6;
/// Number of migratetypes that per-CPU lists know (MIGRATE_PCPTYPES).
pub const NR_PCP_TYPES: usize = 3;

/// A migratetype; the discriminant is the kernel's number (page_alloc.md §1.1, 6.6 to 6.18).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum MigrateType {
    /// Kernel memory that cannot move.
    Unmovable = 0,
    /// Memory that migration can move.
    Movable = 1,
    /// Kernel memory that shrinkers can free.
    Reclaimable = 2,
    /// The reserve for high-order atomic requests.
    HighAtomic = 3,
    /// Contiguous memory area: movable requests only.
    Cma = 4,
    /// Isolated: free but not to be had.
    Isolate = 5,
}

impl MigrateType {
    /// All types, ascending by number.
    pub const ALL: [Self; NR_MIGRATETYPES] = [
        Self::Unmovable,
        Self::Movable,
        Self::Reclaimable,
        Self::HighAtomic,
        Self::Cma,
        Self::Isolate,
    ];
    /// The types that requests can ask for and per-CPU lists hold.
    pub const PCP: [Self; NR_PCP_TYPES] = [Self::Unmovable, Self::Movable, Self::Reclaimable];

    /// The kernel's number.
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// The type with that number.
    #[must_use]
    pub const fn from_index(index: usize) -> Option<Self> {
        if index < NR_MIGRATETYPES { Some(Self::ALL[index]) } else { None }
    }

    /// The name as pagetypeinfo prints it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unmovable => "Unmovable",
            Self::Movable => "Movable",
            Self::Reclaimable => "Reclaimable",
            Self::HighAtomic => "HighAtomic",
            Self::Cma => "CMA",
            Self::Isolate => "Isolate",
        }
    }

    /// The type with that pagetypeinfo name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mt| mt.name() == name)
    }

    /// Whether this is one of the three types that requests name.
    #[must_use]
    pub const fn is_pcp_type(self) -> bool {
        (self as usize) < NR_PCP_TYPES
    }
}

impl fmt::Display for MigrateType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
