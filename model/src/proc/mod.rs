//! The texts of /proc/buddyinfo, pagetypeinfo, zoneinfo, vmstat and slabinfo, and the files of memory cgroups,
//! byte for byte.
//!
//! One set of line writers (`line`, private) stands under two uses:
//!
//! * [`View`] renders an allocator's state in the format of a kernel release
//!   ([`crate::vocab::Vmstat`]). It needs no heap.
//! * [`parse_buddyinfo`] and its siblings read a recorded text into plain structs (feature
//!   `std`), whose `Display` writes the text back. Tests hold recorded texts of real kernels
//!   against it, so the format is proved on real input and not on our memory of it.
//!
//! Formats: page_alloc.md §6.1 to §6.4 and the recorded texts. What the model does not count (LRU,
//! dirty, compaction's scans and other items, the dirty thresholds, `numa_interleave`) is printed as 0.

mod line;
mod memcg;
mod names;
mod slabinfo;
mod view;

#[cfg(feature = "std")]
mod buddyinfo;
#[cfg(feature = "std")]
mod cursor;
#[cfg(feature = "std")]
mod figures;
#[cfg(feature = "std")]
mod pagetypeinfo;
#[cfg(feature = "std")]
mod vmstat;
#[cfg(feature = "std")]
mod zoneinfo;
#[cfg(feature = "std")]
mod zoneinfo_parse;

pub use memcg::{MemoryEvents, MemoryStat, NotPages, Pages};
pub use names::Names;
pub use slabinfo::{SLABINFO_HEADER, SlabInfo};
pub use view::{ProcFile, View};

#[cfg(feature = "std")]
pub use buddyinfo::{Buddyinfo, BuddyinfoRow, parse_buddyinfo};
#[cfg(feature = "std")]
pub use cursor::{ProcError, ProcErrorKind};
#[cfg(feature = "std")]
pub use figures::{Change, Figures};
#[cfg(feature = "std")]
pub use pagetypeinfo::{
    ListLength, PageblockRow, Pagetypeinfo, PagetypeinfoRow, parse_pagetypeinfo,
};
#[cfg(feature = "std")]
pub use vmstat::{NamedCounters, parse_vmstat};
#[cfg(feature = "std")]
pub use zoneinfo::{PageSet, PopulatedZone, ZoneEntry, Zoneinfo};
#[cfg(feature = "std")]
pub use zoneinfo_parse::parse_zoneinfo;
