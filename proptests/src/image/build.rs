//! An allocator in the state of an image.

use super::error::ImageError;
use super::frames::{Contents, Image};
use mmspec_impl::OwnedAllocator;
use mmspec_model::contract::Request;
use mmspec_model::vocab::{
    AllocFlags, CpuId, Gfp, Machine, Mark, MigrateType, NodeId, Order, Pfn, PfnRange, Tunables,
    ZoneIdx, ZoneSpan,
};

const BY: CpuId = CpuId(0);

impl Image {
    /// The recorded machine. Reserved frames of pageblocks that are not movable count as managed and
    /// in use, and a zone that ends inside such a pageblock reaches to its end: only whole pageblocks can
    /// be given a type. Holes count as reserved frames: the kernel has records of them too, and scans them,
    /// unless all of a section is missing.
    #[must_use]
    pub fn machine(&self) -> Machine {
        let zoneinfo = self.before.zoneinfo.iter().flat_map(|text| text.populated());
        let mut zones: Vec<ZoneSpan> = zoneinfo
            .filter(|(zone, _)| zone.spanned > 0)
            .map(|(zone, populated)| {
                let start = populated.start_pfn;
                let span = PfnRange::new(start, start + zone.spanned);
                ZoneSpan { node: NodeId(zone.node as u8), kind: zone.kind, span }
            })
            .collect();
        let starts: Vec<Pfn> = zones.iter().map(|zone| zone.span.start).collect();
        for zone in &mut zones {
            let last = Pfn(zone.span.end.0.saturating_sub(1));
            let end = Pfn(last.0 | (self.pageblock_order.pages() - 1)).add(1);
            let alone = !starts.iter().any(|start| zone.span.end <= *start && *start < end);
            if alone && self.type_of(last) != MigrateType::Movable {
                zone.span.end = end;
            }
        }
        let mut machine = Machine::new(self.cpus, &[]);
        machine.pageblock_order = self.pageblock_order;
        machine.nodes = zones.iter().map(|zone| zone.node.0 + 1).max().unwrap_or(1);
        machine.reserved = self.reserved(&zones);
        machine.zones = zones;
        machine
    }

    fn reserved(&self, zones: &[ZoneSpan]) -> Vec<PfnRange> {
        let mut ranges: Vec<PfnRange> = Vec::new();
        for zone in zones {
            for pfn in (zone.span.start.0..zone.span.end.0).map(Pfn) {
                if self.contents(pfn) != Contents::Reserved
                    || self.type_of(pfn) != MigrateType::Movable
                {
                    continue;
                }
                match ranges.last_mut() {
                    Some(last) if last.end == pfn => last.end = pfn.add(1),
                    _ => ranges.push(PfnRange::new(pfn.0, pfn.0 + 1)),
                }
            }
        }
        ranges
    }

    /// The type of the pageblock of `pfn`.
    #[must_use]
    pub fn type_of(&self, pfn: Pfn) -> MigrateType {
        let after = self.types.partition_point(|(start, _)| *start <= pfn);
        let block = after.checked_sub(1).and_then(|at| self.types.get(at));
        block.map_or(MigrateType::Movable, |(_, migratetype)| *migratetype)
    }

    /// So much `min_free_kbytes` that the largest zone has its recorded min mark, on which the sizes of
    /// the per-CPU lists depend; the others come near theirs.
    fn tunables(&self, machine: &Machine) -> Tunables {
        let is_managed = |at: &u64| machine.as_ref().is_managed(Pfn(*at));
        let managed = |zone: &ZoneSpan| {
            (zone.span.start.0..zone.span.end.0).filter(is_managed).count() as u64
        };
        let zones = machine.zones.iter().map(|zone| (managed(zone), zone));
        let all: u64 = zones.clone().map(|(managed, _)| managed).sum();
        let largest = zones.max_by_key(|(managed, _)| *managed);
        let min_free_kbytes = largest.and_then(|(managed, zone)| {
            let zoneinfo = self.before.zoneinfo.as_ref()?;
            let min = zoneinfo.zone(u32::from(zone.node.0), zone.kind)?.min;
            let pages = min.checked_mul(all)?.checked_next_multiple_of(managed)? / managed;
            u32::try_from(pages * 4).ok().filter(|kbytes| *kbytes > 0)
        });
        Tunables { min_free_kbytes, ..Tunables::default() }
    }

    /// The implementation's allocator in the state of the image, and the number of pageblocks that
    /// could not be given their type.
    ///
    /// # Errors
    /// The zones are no machine, or a block can't be brought into its state.
    pub fn allocator(&self) -> Result<(OwnedAllocator, u64), ImageError> {
        let machine = self.machine();
        let tunables = self.tunables(&machine);
        // Steals of the set-up must not raise the marks.
        let quiet = Tunables { watermark_boost_factor: 0, ..tunables };
        let pages = OwnedAllocator::new(machine.as_ref(), self.rules, quiet)?;
        let zones = (0..machine.zones.len()).map(|at| ZoneIdx(at as u8));
        zones.clone().for_each(|zone| pages.pcp_disable(BY, zone));
        while take(&pages, Order::ZERO, Gfp::HIGHUSER_MOVABLE).is_some() {}
        let managed = |pfn: Pfn| machine.as_ref().is_managed(pfn);
        let mut untyped = 0;
        for (start, migratetype) in &self.types {
            untyped += u64::from(!self.retype(&pages, *start, *migratetype, &managed));
        }
        for (at, contents) in self.frames.iter().enumerate() {
            let pfn = Pfn(at as u64);
            let order = match contents {
                Contents::Cached(order) | Contents::Compound(order) => *order,
                Contents::Lru(page) => page.order,
                _ => continue,
            };
            as_one(&pages, pfn, order, gfp_of(self.type_of(pfn)))?;
        }
        for (pfn, order) in &self.free {
            for offset in 0..order.pages() {
                pages.free_pages(BY, pfn.add(offset), Order::ZERO);
            }
        }
        zones.for_each(|zone| pages.pcp_enable(zone));
        for (pfn, cpu, order) in &self.cached {
            pages.free_pages(CpuId(*cpu), *pfn, *order);
        }
        self.free_in_a_row(&pages);
        // They were accepted with another boost already.
        let _ = pages.set_tunables(tunables);
        Ok((pages, untyped))
    }

    /// Take pages off the compacting CPU's list, which forgets earlier frees, and put them back.
    fn free_in_a_row(&self, pages: &OwnedAllocator) {
        let cpu = self.run.cpu;
        let request = Request::new(Order::ZERO, Gfp::HIGHUSER_MOVABLE)
            .at(Mark::Min, AllocFlags::NO_WATERMARKS);
        let taken = (0..self.freed_in_a_row).map_while(|_| pages.alloc_pages(cpu, request).page());
        let taken: Vec<Pfn> = taken.collect();
        for pfn in taken.into_iter().rev() {
            pages.free_pages(cpu, pfn, Order::ZERO);
        }
    }

    /// Give a pageblock its type, while everything is handed out: a request of that type that finds
    /// nothing but this pageblock claims it. Whether it has the type.
    fn retype(
        &self,
        pages: &OwnedAllocator,
        start: Pfn,
        migratetype: MigrateType,
        managed: &dyn Fn(Pfn) -> bool,
    ) -> bool {
        if migratetype == MigrateType::Movable {
            return true;
        }
        let end = (start.0 | (self.pageblock_order.pages() - 1)) + 1;
        for pfn in (start.0..end).map(Pfn).filter(|pfn| managed(*pfn)) {
            pages.free_pages(BY, pfn, Order::ZERO);
        }
        while take(pages, Order::ZERO, gfp_of(migratetype)).is_some() {}
        pages.pageblock_type(start) == Some(migratetype)
    }
}

/// What asks for pages of a type.
const fn gfp_of(migratetype: MigrateType) -> Gfp {
    match migratetype {
        MigrateType::Unmovable => Gfp::KERNEL,
        MigrateType::Reclaimable => Gfp::KERNEL.union(Gfp::RECLAIMABLE),
        _ => Gfp::HIGHUSER_MOVABLE,
    }
}

/// Make one block of frames that are handed out one by one, while everything is.
fn as_one(pages: &OwnedAllocator, pfn: Pfn, order: Order, gfp: Gfp) -> Result<(), ImageError> {
    if order == Order::ZERO {
        return Ok(());
    }
    for offset in 0..order.pages() {
        pages.free_pages(BY, pfn.add(offset), Order::ZERO);
    }
    match take(pages, order, gfp) {
        Some(block) if block == pfn => Ok(()),
        _ => Err(ImageError::Block { pfn, order }),
    }
}

/// A block from whatever zone has one, below all marks.
fn take(pages: &OwnedAllocator, order: Order, gfp: Gfp) -> Option<Pfn> {
    let request = Request::new(order, gfp).at(Mark::Min, AllocFlags::NO_WATERMARKS);
    pages.alloc_pages(BY, request).page()
}
