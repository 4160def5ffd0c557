//! What the gfp flags decide, as a table: preferred zone, type, flags.

use crate::{geometry::Geometry, pcp::Want};
use mmspec_model::vocab::{AllocFlags, Gfp, MigrateType, NR_ZONES, ZoneKind};

/// The bits that decide: zone modifiers, MOVABLE, RECLAIMABLE.
const DECIDING: u32 = 0x1f;

/// What a request with certain deciding bits comes to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Class {
    /// Position of the preferred zone.
    pub(crate) zone: u8,
    pub(crate) highest: ZoneKind,
    /// The type of the lists to take from.
    migratetype: MigrateType,
    /// The request has the movable gfp bit.
    movable: bool,
    /// The flags of a first attempt, without KSWAPD.
    flags: AllocFlags,
}

impl Class {
    /// What a first attempt wants.
    #[inline]
    pub(crate) fn want(&self, order: u8, gfp: Gfp) -> Want {
        // The two bits have the same value (page_alloc.md §3.7).
        const { assert!(Gfp::KSWAPD_RECLAIM.bits() == AllocFlags::KSWAPD.bits() as u32) };
        let kswapd = gfp.intersection(Gfp::KSWAPD_RECLAIM).bits() as u16;
        Want {
            order,
            migratetype: self.migratetype,
            flags: self.flags | AllocFlags::from_bits_retain(kswapd),
            movable: self.movable,
        }
    }
}

/// The class of every combination of deciding bits; `None` where the request is refused.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Classes([Option<Class>; DECIDING as usize + 1]);

impl Classes {
    /// The table of a machine. `preferred` is the position of the preferred zone for each highest
    /// kind, `kinds` the kind of each zone.
    pub(crate) fn new(
        geometry: &Geometry,
        preferred: &[Option<u8>; NR_ZONES],
        kind_of: impl Fn(u8) -> ZoneKind,
    ) -> Self {
        let class = |gfp: Gfp| {
            let highest = gfp.highest_zone().ok()?;
            let asked = gfp.migratetype().ok()?;
            let zone = preferred[highest.index()]?;
            let migratetype = if geometry.grouping { asked } else { MigrateType::Unmovable };
            let mut flags = AllocFlags::empty();
            if kind_of(zone) == ZoneKind::Normal {
                flags |= AllocFlags::NOFRAGMENT;
            }
            if geometry.cma_built && migratetype == MigrateType::Movable {
                flags |= AllocFlags::CMA;
            }
            let movable = asked == MigrateType::Movable;
            Some(Class { zone, highest, migratetype, movable, flags })
        };
        Self(core::array::from_fn(|bits| class(Gfp::from_bits_retain(bits as u32))))
    }

    /// The class of a request.
    #[inline]
    pub(crate) fn get(&self, gfp: Gfp) -> Option<&Class> {
        self.0[(gfp.bits() & DECIDING) as usize].as_ref()
    }
}
