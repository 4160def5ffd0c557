//! The machine: CPUs, the zones of its one node, holes and reserved frames.

use super::{CpuId, Order, Pfn, PfnRange, ZoneKind};
#[cfg(feature = "alloc")]
use alloc::vec::Vec;

/// Most CPUs that a machine may have.
pub const MAX_CPUS: u16 = 1024;

/// The span of one zone. Its edges need not be aligned to anything.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ZoneSpan {
    /// The zone's kind.
    pub kind: ZoneKind,
    /// The spanned frames.
    pub span: PfnRange,
}

/// A machine with one node, borrowed: what an allocator is built from. It needs no heap.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MachineRef<'a> {
    /// Number of CPUs, all online at boot, ids `0..cpus`.
    pub cpus: u16,
    /// MAX_PAGE_ORDER of this build.
    pub max_order: Order,
    /// Order of a pageblock, at most `max_order`.
    pub pageblock_order: Order,
    /// The order of a transparent huge page, if per-CPU lists hold it: above
    /// [`Order::COSTLY`], at most `pageblock_order`.
    pub thp_order: Option<Order>,
    /// Whether the build has CMA. Needed for `cma` ranges; adds a row to pagetypeinfo.
    pub cma_built: bool,
    /// Whether each CPU's slice of the data cache is large enough for PCPF_FREE_HIGH_BATCH
    /// (page_alloc.md §2.1, flag bit 1; the cache-size rule behind it is outside the model).
    pub free_high_batch: bool,
    /// The populated zones, ascending in both address and kind, disjoint.
    pub zones: &'a [ZoneSpan],
    /// Frames inside a zone's span that do not exist.
    pub holes: &'a [PfnRange],
    /// Frames that exist but are not given to the allocator (kernel image, boot allocations).
    pub reserved: &'a [PfnRange],
    /// Frames given to CMA: whole pageblocks, each inside one zone and clear of holes and
    /// reserved frames.
    pub cma: &'a [PfnRange],
}

impl MachineRef<'_> {
    /// Frames in a pageblock.
    #[must_use]
    pub const fn pageblock_pages(&self) -> u64 {
        self.pageblock_order.pages()
    }

    /// All CPU ids.
    pub fn cpu_ids(&self) -> impl DoubleEndedIterator<Item = CpuId> + Clone {
        (0..self.cpus).map(CpuId)
    }

    /// Position of the zone that spans `pfn`.
    #[must_use]
    pub fn zone_of(&self, pfn: Pfn) -> Option<super::ZoneIdx> {
        let at = self.zones.iter().position(|zone| zone.span.contains(pfn))?;
        Some(super::ZoneIdx(at as u8))
    }

    /// Whether `pfn` exists: spanned by a zone and in no hole.
    #[must_use]
    pub fn is_present(&self, pfn: Pfn) -> bool {
        self.zone_of(pfn).is_some() && !self.holes.iter().any(|hole| hole.contains(pfn))
    }

    /// Whether `pfn` belongs to the allocator.
    #[must_use]
    pub fn is_managed(&self, pfn: Pfn) -> bool {
        self.is_present(pfn) && !self.reserved.iter().any(|range| range.contains(pfn))
    }

    /// One past the highest spanned frame.
    #[must_use]
    pub fn end(&self) -> Pfn {
        self.zones.iter().map(|zone| zone.span.end).max().unwrap_or(Pfn(0))
    }

    /// Check every statement made on the fields.
    ///
    /// # Errors
    /// The first statement that does not hold.
    pub fn validate(&self) -> Result<(), MachineError> {
        if self.cpus == 0 || self.cpus > MAX_CPUS {
            return Err(MachineError::Cpus(self.cpus));
        }
        if self.pageblock_order > self.max_order {
            return Err(MachineError::PageblockOrder(self.pageblock_order, self.max_order));
        }
        if let Some(thp) = self.thp_order
            && (thp <= Order::COSTLY || thp > self.pageblock_order)
        {
            return Err(MachineError::ThpOrder(thp, self.pageblock_order));
        }
        if self.zones.is_empty() {
            return Err(MachineError::NoZone);
        }
        for zone in self.zones {
            if zone.span.is_empty() {
                return Err(MachineError::EmptyZone(zone.kind));
            }
            if zone.kind == ZoneKind::Device {
                return Err(MachineError::DeviceZone);
            }
            if zone.span.end.0 > u64::from(u32::MAX) {
                return Err(MachineError::TooLarge(zone.span.end));
            }
        }
        for pair in self.zones.windows(2) {
            if pair[1].span.start < pair[0].span.end || pair[1].kind <= pair[0].kind {
                return Err(MachineError::ZoneOrder(pair[0].kind, pair[1].kind));
            }
        }
        self.validate_cma()
    }

    fn validate_cma(&self) -> Result<(), MachineError> {
        if !self.cma.is_empty() && !self.cma_built {
            return Err(MachineError::CmaNotBuilt);
        }
        for range in self.cma {
            let aligned = range.start.is_aligned(self.pageblock_order)
                && range.end.is_aligned(self.pageblock_order);
            let zone = self.zones.iter().find(|zone| zone.span.contains(range.start));
            let inside = zone.is_some_and(|zone| range.end <= zone.span.end);
            let overlaps = |other: &PfnRange| {
                !other.is_empty() && other.start < range.end && range.start < other.end
            };
            let clash = self.holes.iter().any(overlaps)
                || self.reserved.iter().any(overlaps)
                || self.cma.iter().filter(|other| overlaps(other)).count() > 1;
            if range.is_empty() || !aligned || !inside || clash {
                return Err(MachineError::CmaRange(*range));
            }
        }
        Ok(())
    }
}

/// A machine with one node, owned.
#[cfg(feature = "alloc")]
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Machine {
    /// See [`MachineRef::cpus`].
    pub cpus: u16,
    /// See [`MachineRef::max_order`].
    pub max_order: Order,
    /// See [`MachineRef::pageblock_order`].
    pub pageblock_order: Order,
    /// See [`MachineRef::thp_order`].
    pub thp_order: Option<Order>,
    /// See [`MachineRef::cma_built`].
    pub cma_built: bool,
    /// See [`MachineRef::free_high_batch`].
    pub free_high_batch: bool,
    /// See [`MachineRef::zones`].
    pub zones: Vec<ZoneSpan>,
    /// See [`MachineRef::holes`].
    pub holes: Vec<PfnRange>,
    /// See [`MachineRef::reserved`].
    pub reserved: Vec<PfnRange>,
    /// See [`MachineRef::cma`].
    pub cma: Vec<PfnRange>,
}

#[cfg(feature = "alloc")]
impl Machine {
    /// A machine of the x86-64 build (orders to 10, pageblocks and huge pages of order 9) with
    /// these zones and no holes.
    #[must_use]
    pub fn new(cpus: u16, zones: &[(ZoneKind, u64, u64)]) -> Self {
        Self {
            cpus,
            max_order: Order::MAX,
            pageblock_order: Order::of(9),
            thp_order: Some(Order::of(9)),
            cma_built: false,
            free_high_batch: false,
            zones: zones
                .iter()
                .map(|&(kind, start, end)| ZoneSpan { kind, span: PfnRange::new(start, end) })
                .collect(),
            holes: Vec::new(),
            reserved: Vec::new(),
            cma: Vec::new(),
        }
    }

    /// A one-zone (Normal) machine of `frames` frames from frame 0 with small orders, so that
    /// merging to the top and pageblock borders are met soon.
    #[must_use]
    pub fn small(cpus: u16, frames: u64, max_order: u8, pageblock_order: u8) -> Self {
        let pageblock_order = Order::of(pageblock_order);
        Self {
            max_order: Order::of(max_order),
            pageblock_order,
            thp_order: (pageblock_order > Order::COSTLY).then_some(pageblock_order),
            ..Self::new(cpus, &[(ZoneKind::Normal, 0, frames)])
        }
    }

    /// The borrowed form.
    #[must_use]
    pub fn as_ref(&self) -> MachineRef<'_> {
        MachineRef {
            cpus: self.cpus,
            max_order: self.max_order,
            pageblock_order: self.pageblock_order,
            thp_order: self.thp_order,
            cma_built: self.cma_built,
            free_high_batch: self.free_high_batch,
            zones: &self.zones,
            holes: &self.holes,
            reserved: &self.reserved,
            cma: &self.cma,
        }
    }

    /// As [`MachineRef::validate`].
    ///
    /// # Errors
    /// The first statement on the fields that does not hold.
    pub fn validate(&self) -> Result<(), MachineError> {
        self.as_ref().validate()
    }
}

/// Why a machine cannot exist.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum MachineError {
    /// Too few or too many CPUs.
    #[error("{0} CPUs: give 1 to 1024")]
    Cpus(u16),
    /// Pageblocks larger than the largest block.
    #[error("pageblock order {0} is above the machine's largest order {1}: lower it")]
    PageblockOrder(Order, Order),
    /// A huge page order that per-CPU lists cannot hold.
    #[error("huge page order {0} must be 4 or more and at most the pageblock order {1}")]
    ThpOrder(Order, Order),
    /// No zone at all.
    #[error("the machine has no zone: give at least one")]
    NoZone,
    /// A zone without frames.
    #[error("zone {0} is empty: leave it out or widen it")]
    EmptyZone(ZoneKind),
    /// A populated device zone.
    #[error("the Device zone is never populated: choose another kind")]
    DeviceZone,
    /// Frames beyond what the tables can index.
    #[error("frame {0} is out of range: the last frame must be below 2^32")]
    TooLarge(Pfn),
    /// Zones out of order or overlapping.
    #[error("zones {0} and {1} must ascend in address and kind and must not overlap")]
    ZoneOrder(ZoneKind, ZoneKind),
    /// CMA ranges on a build without CMA.
    #[error("cma ranges need a build with CMA: set cma_built")]
    CmaNotBuilt,
    /// A CMA range that is not made of whole, existing pageblocks of one zone.
    #[error(
        "cma range {0:?} must be whole pageblocks inside one zone, clear of holes, reserved frames and other cma ranges"
    )]
    CmaRange(PfnRange),
}
