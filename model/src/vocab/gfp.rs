//! gfp flags: what a request asks for.

use super::{MigrateType, ZoneKind};
use core::fmt;

bitflags::bitflags! {
    /// The flags of an allocation request (page_alloc.md §4.6; the same bits in 6.6 to 6.18).
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
    pub struct Gfp: u32 {
        /// Zone modifier: DMA.
        const DMA = 0x01;
        /// Zone modifier: HIGHMEM (the Normal zone on 64-bit machines).
        const HIGHMEM = 0x02;
        /// Zone modifier: DMA32.
        const DMA32 = 0x04;
        /// The pages can be moved; with HIGHMEM also the zone modifier for the Movable zone.
        const MOVABLE = 0x08;
        /// The pages can be reclaimed by a shrinker.
        const RECLAIMABLE = 0x10;
        /// `__GFP_HIGH`: access to half of the reserve.
        const HIGH = 0x20;
        /// May start physical I/O.
        const IO = 0x40;
        /// May call into file systems.
        const FS = 0x80;
        /// Give zeroed pages.
        const ZERO = 0x100;
        /// May reclaim directly.
        const DIRECT_RECLAIM = 0x400;
        /// May wake kswapd.
        const KSWAPD_RECLAIM = 0x800;
        /// The page will be dirtied.
        const WRITE = 0x1000;
        /// No failure report.
        const NOWARN = 0x2000;
        /// Try harder, but may fail.
        const RETRY_MAYFAIL = 0x4000;
        /// Must not fail.
        const NOFAIL = 0x8000;
        /// Give up early.
        const NORETRY = 0x1_0000;
        /// May use all reserves.
        const MEMALLOC = 0x2_0000;
        /// Compound page.
        const COMP = 0x4_0000;
        /// May use no reserve.
        const NOMEMALLOC = 0x8_0000;
        /// Keep to the cpuset strictly.
        const HARDWALL = 0x10_0000;
        /// This node only.
        const THISNODE = 0x20_0000;
        /// Charge to the memory cgroup.
        const ACCOUNT = 0x40_0000;
    }
}

impl Gfp {
    /// Both reclaim bits.
    pub const RECLAIM: Self = Self::DIRECT_RECLAIM.union(Self::KSWAPD_RECLAIM);
    /// GFP_ATOMIC.
    pub const ATOMIC: Self = Self::HIGH.union(Self::KSWAPD_RECLAIM);
    /// GFP_NOWAIT (6.12 and later; before, without NOWARN).
    pub const NOWAIT: Self = Self::KSWAPD_RECLAIM.union(Self::NOWARN);
    /// GFP_NOIO.
    pub const NOIO: Self = Self::RECLAIM;
    /// GFP_NOFS.
    pub const NOFS: Self = Self::RECLAIM.union(Self::IO);
    /// GFP_KERNEL.
    pub const KERNEL: Self = Self::RECLAIM.union(Self::IO).union(Self::FS);
    /// GFP_KERNEL_ACCOUNT.
    pub const KERNEL_ACCOUNT: Self = Self::KERNEL.union(Self::ACCOUNT);
    /// GFP_USER.
    pub const USER: Self = Self::KERNEL.union(Self::HARDWALL);
    /// GFP_HIGHUSER.
    pub const HIGHUSER: Self = Self::USER.union(Self::HIGHMEM);
    /// GFP_HIGHUSER_MOVABLE.
    pub const HIGHUSER_MOVABLE: Self = Self::HIGHUSER.union(Self::MOVABLE);
    /// GFP_TRANSHUGE_LIGHT.
    pub const TRANSHUGE_LIGHT: Self = Self::HIGHUSER_MOVABLE
        .union(Self::COMP)
        .union(Self::NOMEMALLOC)
        .union(Self::NOWARN)
        .difference(Self::RECLAIM);
    /// GFP_TRANSHUGE.
    pub const TRANSHUGE: Self = Self::TRANSHUGE_LIGHT.union(Self::DIRECT_RECLAIM);

    /// Composite names, largest first: the order in which a flag set is spelled.
    const COMPOSITES: [(&'static str, Self); 12] = [
        ("GFP_TRANSHUGE", Self::TRANSHUGE),
        ("GFP_TRANSHUGE_LIGHT", Self::TRANSHUGE_LIGHT),
        ("GFP_HIGHUSER_MOVABLE", Self::HIGHUSER_MOVABLE),
        ("GFP_HIGHUSER", Self::HIGHUSER),
        ("GFP_USER", Self::USER),
        ("GFP_KERNEL_ACCOUNT", Self::KERNEL_ACCOUNT),
        ("GFP_KERNEL", Self::KERNEL),
        ("GFP_NOFS", Self::NOFS),
        ("GFP_ATOMIC", Self::ATOMIC),
        ("GFP_NOIO", Self::NOIO),
        ("GFP_NOWAIT", Self::NOWAIT),
        ("__GFP_RECLAIM", Self::RECLAIM),
    ];
    /// Single flags as the kernel's tracepoints spell them.
    const SINGLES: [(&'static str, Self); 23] = [
        ("GFP_DMA", Self::DMA),
        ("__GFP_HIGHMEM", Self::HIGHMEM),
        ("GFP_DMA32", Self::DMA32),
        ("__GFP_MOVABLE", Self::MOVABLE),
        ("__GFP_RECLAIMABLE", Self::RECLAIMABLE),
        ("__GFP_HIGH", Self::HIGH),
        ("__GFP_IO", Self::IO),
        ("__GFP_FS", Self::FS),
        ("__GFP_ZERO", Self::ZERO),
        ("__GFP_DIRECT_RECLAIM", Self::DIRECT_RECLAIM),
        ("__GFP_KSWAPD_RECLAIM", Self::KSWAPD_RECLAIM),
        ("__GFP_WRITE", Self::WRITE),
        ("__GFP_NOWARN", Self::NOWARN),
        ("__GFP_RETRY_MAYFAIL", Self::RETRY_MAYFAIL),
        ("__GFP_NOFAIL", Self::NOFAIL),
        ("__GFP_NORETRY", Self::NORETRY),
        ("__GFP_MEMALLOC", Self::MEMALLOC),
        ("__GFP_COMP", Self::COMP),
        ("__GFP_NOMEMALLOC", Self::NOMEMALLOC),
        ("__GFP_HARDWALL", Self::HARDWALL),
        ("__GFP_THISNODE", Self::THISNODE),
        ("__GFP_ACCOUNT", Self::ACCOUNT),
        ("__GFP_NONE", Self::empty()),
    ];

    /// The flags spelled by `text`: names joined by `|`, or a hexadecimal number. Names that the
    /// tracepoints print and that decide nothing here (`__GFP_SKIP_ZERO` and the like) are passed
    /// over.
    ///
    /// # Errors
    /// A word that is neither a known name nor one of those passed over.
    pub fn parse(text: &str) -> Result<Self, GfpError> {
        let mut flags = Self::empty();
        for word in text.split('|').map(str::trim) {
            if let Some(hex) = word.strip_prefix("0x") {
                let bits = u32::from_str_radix(hex, 16).map_err(|_| GfpError::UnknownName)?;
                flags |= Self::from_bits_truncate(bits);
                continue;
            }
            let named = Self::COMPOSITES
                .iter()
                .chain(Self::SINGLES.iter())
                .find(|(name, _)| *name == word)
                .map(|(_, value)| *value);
            match named {
                Some(value) => flags |= value,
                None if word.starts_with("__GFP_SKIP") || word.starts_with("__GFP_ZEROTAGS") => {}
                None if matches!(word, "__GFP_NOLOCKDEP" | "__GFP_NO_OBJ_EXT" | "none" | "") => {}
                None => return Err(GfpError::UnknownName),
            }
        }
        Ok(flags)
    }

    /// The migratetype that the request asks for (page_alloc.md §1.1): the MOVABLE and RECLAIMABLE
    /// bits as a number.
    ///
    /// # Errors
    /// Both bits are set.
    pub const fn migratetype(self) -> Result<MigrateType, GfpError> {
        match (self.contains(Self::MOVABLE), self.contains(Self::RECLAIMABLE)) {
            (false, false) => Ok(MigrateType::Unmovable),
            (true, false) => Ok(MigrateType::Movable),
            (false, true) => Ok(MigrateType::Reclaimable),
            (true, true) => Err(GfpError::MovableAndReclaimable),
        }
    }

    /// The highest zone that may serve the request (page_alloc.md §4.1).
    ///
    /// # Errors
    /// A combination of zone modifiers that the kernel calls illegal.
    pub const fn highest_zone(self) -> Result<ZoneKind, GfpError> {
        let (dma, dma32, high, movable) = (
            self.contains(Self::DMA),
            self.contains(Self::DMA32),
            self.contains(Self::HIGHMEM),
            self.contains(Self::MOVABLE),
        );
        match (dma, dma32, high, movable) {
            (false, false, false, _) => Ok(ZoneKind::Normal),
            (true, false, false, _) => Ok(ZoneKind::Dma),
            (false, true, false, _) => Ok(ZoneKind::Dma32),
            // 64-bit machines have no HighMem zone: HIGHMEM alone means Normal.
            (false, false, true, false) => Ok(ZoneKind::Normal),
            (false, false, true, true) => Ok(ZoneKind::Movable),
            _ => Err(GfpError::ZoneModifiers),
        }
    }
}

impl fmt::Display for Gfp {
    /// The spelling that the kernel's tracepoints use: composite names first, then single flags.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = *self;
        let mut first = true;
        let mut put = |f: &mut fmt::Formatter<'_>, name: &str| {
            let bar = if first { "" } else { "|" };
            first = false;
            write!(f, "{bar}{name}")
        };
        for (name, value) in Self::COMPOSITES {
            if rest.contains(value) {
                put(f, name)?;
                rest = rest.difference(value);
            }
        }
        for (name, value) in Self::SINGLES {
            if !value.is_empty() && rest.contains(value) {
                put(f, name)?;
                rest = rest.difference(value);
            }
        }
        if self.is_empty() { put(f, "__GFP_NONE") } else { Ok(()) }
    }
}

/// What is wrong with a set of gfp flags.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, thiserror::Error)]
pub enum GfpError {
    /// MOVABLE and RECLAIMABLE together.
    #[error("__GFP_MOVABLE and __GFP_RECLAIMABLE exclude each other: drop one")]
    MovableAndReclaimable,
    /// Contradictory zone modifiers.
    #[error(
        "these zone modifiers exclude each other: use at most one of DMA, DMA32, HIGHMEM, and MOVABLE only alone or with one of them"
    )]
    ZoneModifiers,
    /// A name that is no gfp flag.
    #[error("not a gfp flag: use kernel names such as GFP_KERNEL or __GFP_MOVABLE joined by |")]
    UnknownName,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_single_flag_round_trips_through_its_name() {
        extern crate std;
        for (name, value) in Gfp::COMPOSITES.iter().chain(Gfp::SINGLES.iter()) {
            assert_eq!(Gfp::parse(name), Ok(*value), "{name}");
            assert_eq!(Gfp::parse(&std::format!("{value}")), Ok(*value), "{name}");
        }
    }

    #[test]
    fn zone_modifiers_follow_the_table() {
        assert_eq!(Gfp::KERNEL.highest_zone(), Ok(ZoneKind::Normal));
        assert_eq!(Gfp::HIGHUSER_MOVABLE.highest_zone(), Ok(ZoneKind::Movable));
        assert_eq!((Gfp::KERNEL | Gfp::MOVABLE).highest_zone(), Ok(ZoneKind::Normal));
        assert_eq!((Gfp::DMA32 | Gfp::MOVABLE).highest_zone(), Ok(ZoneKind::Dma32));
        assert_eq!((Gfp::DMA | Gfp::DMA32).highest_zone(), Err(GfpError::ZoneModifiers));
        assert_eq!((Gfp::DMA | Gfp::HIGHMEM).highest_zone(), Err(GfpError::ZoneModifiers));
    }
}
