//! What the gfp flags decide at a node, packed into a word each: preferred zone, type, flags.

use crate::{
    allocator::PageAllocator, frame::BlockType, pcp::Want, platform::Platform, storage::Backing,
    zonelist::Entry,
};
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use mmspec_model::vocab::{
    AllocFlags, FairPolicy, Gfp, MigrateType, NodeId, ReserveIndex, ZoneKind,
};

/// The bits that decide: zone modifiers, MOVABLE, RECLAIMABLE; and THISNODE, moved next to them.
const MODIFIERS: u32 = 0x1f;
const THISNODE: u32 = MODIFIERS + 1;
const THISNODE_SHIFT: u32 = Gfp::THISNODE.bits().trailing_zeros() - THISNODE.trailing_zeros();

/// Combinations of deciding bits.
pub(crate) const CLASSES: usize = 2 * THISNODE as usize;

/// The deciding bits of a request, as an index.
#[inline(always)]
pub(crate) fn deciding(gfp: Gfp) -> usize {
    let bits = gfp.bits();
    (bits & MODIFIERS | bits >> THISNODE_SHIFT & THISNODE) as usize % CLASSES
}

/// A request with these deciding bits.
pub(crate) fn gfp_of(deciding: usize) -> Gfp {
    let bits = deciding as u32;
    Gfp::from_bits_retain(bits & MODIFIERS | (bits & THISNODE) << THISNODE_SHIFT)
}

/// The packed classes of requests by what decides them; 0 where a request is refused. Each is one word,
/// so that a reader never sees half of a rebuild.
#[derive(Debug)]
pub(crate) struct Classes([AtomicU64; CLASSES]);

impl Classes {
    pub(crate) fn new() -> Self {
        Self([const { AtomicU64::new(0) }; CLASSES])
    }

    #[inline(always)]
    pub(crate) fn get(&self, gfp: Gfp) -> u64 {
        self.0[deciding(gfp)].load(Relaxed)
    }

    pub(crate) fn set(&self, deciding: usize, class: u64) {
        self.0[deciding].store(class, Relaxed);
    }

    #[cfg(feature = "std")]
    pub(crate) fn copy(&self) -> Self {
        Self(core::array::from_fn(|at| AtomicU64::new(self.0[at].load(Relaxed))))
    }
}

/// What a first attempt comes to whose preferred zone is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Class {
    /// Position and node of the preferred zone.
    pub(crate) zone: usize,
    pub(crate) node: NodeId,
    /// The kind whose `lowmem_reserve` entry checks mind.
    pub(crate) classzone: ZoneKind,
    /// The type of the lists to take from.
    pub(crate) migratetype: MigrateType,
    /// The request has the movable gfp bit.
    pub(crate) movable: bool,
    /// The flags of a first attempt, without KSWAPD.
    pub(crate) flags: AllocFlags,
    /// One check of the preferred zone does not settle the matter.
    pub(crate) slow: bool,
}

/// Where a packed class has the number of its kind and of its type.
const KIND_SHIFT: u32 = 8;
const TYPE_SHIFT: u32 = 11;
const MOVABLE_SHIFT: u32 = 14;
const NODE_SHIFT: u32 = 16;
const FLAGS_SHIFT: u32 = 32;

/// The number of the kind whose reserve checks mind, in a packed class.
#[inline(always)]
pub(crate) fn packed_kind(word: u64) -> usize {
    (word >> KIND_SHIFT) as usize % 8
}

/// The number of the type in a packed class.
#[inline(always)]
pub(crate) fn packed_type(word: u64) -> u8 {
    (word >> TYPE_SHIFT) as u8 % 8
}

/// The position of the preferred zone in a packed class.
#[inline(always)]
pub(crate) fn packed_zone(word: u64) -> usize {
    (word & 0xff) as usize
}

/// The preferred zone's node in a packed class.
#[inline(always)]
pub(crate) fn packed_node(word: u64) -> NodeId {
    NodeId((word >> NODE_SHIFT) as u8)
}

/// Whether the request has the movable bit.
#[inline(always)]
pub(crate) fn packed_movable(word: u64) -> bool {
    word >> MOVABLE_SHIFT & 1 != 0
}

/// A class that is there at all.
const VALID: u64 = 1 << 62;
/// The sign: one comparison tells that a class is there and quick.
const SLOW: u64 = 1 << 63;

/// A class as a word, never 0.
pub(crate) fn pack_class(class: &Class) -> u64 {
    VALID
        | if class.slow { SLOW } else { 0 }
        | class.zone as u64
        | (class.classzone as u64) << KIND_SHIFT
        | (class.migratetype as u64) << TYPE_SHIFT
        | u64::from(class.movable) << MOVABLE_SHIFT
        | u64::from(class.node.0) << NODE_SHIFT
        | u64::from(class.flags.bits()) << FLAGS_SHIFT
}

/// The class in a word that is not 0.
#[inline(always)]
pub(crate) fn unpack_class(word: u64) -> Class {
    const KINDS: [ZoneKind; 8] = {
        let mut kinds = [ZoneKind::Device; 8];
        let mut at = 0;
        while at < ZoneKind::ALL.len() {
            kinds[at] = ZoneKind::ALL[at];
            at += 1;
        }
        kinds
    };
    Class {
        zone: packed_zone(word),
        node: packed_node(word),
        classzone: KINDS[packed_kind(word)],
        migratetype: BlockType::type_of(packed_type(word)),
        movable: packed_movable(word),
        flags: AllocFlags::from_bits_retain((word >> FLAGS_SHIFT) as u16),
        slow: word & SLOW != 0,
    }
}

impl Class {
    /// What a first attempt wants.
    #[inline(always)]
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

impl<P: Platform, B: Backing> PageAllocator<P, B> {
    /// What a first attempt comes to that asks for zones up to `highest` and for `asked`, if its
    /// preferred zone is that of `entry`.
    pub(crate) fn first_class(&self, highest: ZoneKind, asked: MigrateType, entry: Entry) -> Class {
        let (geometry, rules) = (&self.geometry, &self.geometry.rules);
        let migratetype = if geometry.grouping { asked } else { MigrateType::Unmovable };
        let mut flags = AllocFlags::empty();
        if geometry.cma_built && migratetype == MigrateType::Movable {
            flags |= AllocFlags::CMA;
        }
        let avoids_mixing = rules.nofragment
            && entry.kind == ZoneKind::Normal
            && (self.nr_nodes == 1 || self.zone_on(entry.node, ZoneKind::Dma32).is_some());
        if avoids_mixing {
            flags |= AllocFlags::NOFRAGMENT;
        }
        Class {
            zone: entry.zone,
            node: entry.node,
            classzone: match rules.reserve_index {
                ReserveIndex::Highest => highest,
                ReserveIndex::Preferred => entry.kind,
            },
            migratetype,
            movable: asked == MigrateType::Movable,
            flags,
            slow: rules.fair_policy != FairPolicy::None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_survives_its_packing() {
        for migratetype in MigrateType::ALL {
            for (zone, kind, slow) in [(0, ZoneKind::Dma, false), (255, ZoneKind::Movable, true)] {
                let class = Class {
                    zone,
                    node: NodeId(63),
                    classzone: kind,
                    migratetype,
                    movable: slow,
                    flags: AllocFlags::CMA | AllocFlags::KSWAPD,
                    slow,
                };
                let word = pack_class(&class);
                assert_eq!(unpack_class(word), class);
                assert_eq!(word as i64 > 0, !slow, "quick classes are positive");
            }
        }
    }

    #[test]
    fn deciding_bits_go_there_and_back() {
        for index in 0..CLASSES {
            assert_eq!(deciding(gfp_of(index)), index);
        }
        for gfp in [Gfp::KERNEL, Gfp::HIGHUSER_MOVABLE] {
            assert_eq!(deciding(gfp | Gfp::THISNODE), deciding(gfp) + CLASSES / 2);
        }
        assert_eq!(deciding(Gfp::KERNEL), 0);
    }
}
