//! What is known at the start of a trace, and after a loss.

use super::engine::Engine;
use super::error::TraceError;
use super::event::Payload;
use super::folder::Snapshot;
use super::window::Window;
use mmspec_model::knowledge::{Shape, TypeSet};
use mmspec_model::proc::Pagetypeinfo;
use mmspec_model::vocab::{KmemEvent, NodeId, Order, Pfn, PfnRange, Rules, ZoneName};
use std::io::BufRead;

/// A recording that began before kpageflags was read says so: the events up to the end of the reading
/// then tell what became of the frames that they touch, whatever kpageflags says of those.
pub(super) fn adjust<R: BufRead>(
    window: &mut Window<R>,
    before: &Snapshot,
) -> Result<Option<Snapshot>, TraceError> {
    if !window.begins_with_snapshot()? {
        return Ok(None);
    }
    let mut snapshot = before.clone();
    while let Some(event) = window.next()? {
        let (pfn, order, free) = match event.payload {
            Payload::SnapshotEnds => break,
            Payload::Kmem(KmemEvent::ZoneLocked { pfn, order, .. }) => (pfn, order, false),
            Payload::Kmem(KmemEvent::PageAlloc { pfn: Some(pfn), order, .. }) => {
                (pfn, order, false)
            }
            Payload::Kmem(KmemEvent::ExtFrag { pfn, alloc_order, .. }) => (pfn, alloc_order, false),
            Payload::Kmem(KmemEvent::PcpuDrain { pfn, order, .. }) => (pfn, order, true),
            Payload::Kmem(KmemEvent::PageFree { pfn, order })
                if order > Order::COSTLY && order != Order::of(9) =>
            {
                (pfn, order, true)
            }
            _ => continue,
        };
        snapshot.set_free(pfn, order, free);
    }
    Ok(Some(snapshot))
}

/// The machine's shape from a snapshot.
pub(super) fn shape_of(snapshot: &Snapshot, rules: Rules) -> Option<Shape> {
    let zoneinfo = snapshot.zoneinfo.as_ref()?;
    let zones: Vec<(ZoneName, PfnRange)> = zoneinfo
        .populated()
        .filter(|(zone, _)| zone.spanned > 0)
        .map(|(zone, populated)| {
            let start = populated.start_pfn;
            let name = ZoneName { node: NodeId(zone.node as u8), kind: zone.kind };
            (name, PfnRange::new(start, start + zone.spanned))
        })
        .collect();
    let cpus = zoneinfo.populated().map(|(_, zone)| zone.pagesets.len()).max()?;
    let types = snapshot.pagetypeinfo.as_ref();
    let order = types.and_then(|text| Order::new(u8::try_from(text.pageblock_order).ok()?));
    let pageblock_order = order.unwrap_or(Order::of(9));
    let possible = types.map(|text| text.types.iter().copied().collect::<TypeSet>());
    (!zones.is_empty()).then(|| Shape {
        rules,
        max_order: Order::MAX,
        pageblock_order,
        // Every recorded build has transparent huge pages of order 9.
        thp_order: Some(Order::of(9)),
        zones,
        cpus,
        // Without pagetypeinfo reserved, CMA and isolated pageblocks are taken not to exist: else no
        // merge across pageblocks could be told.
        types: possible.unwrap_or(TypeSet::PCP),
    })
}

impl Engine<'_> {
    /// Take over what the snapshot before tells. Unless it is `of_one_moment` its list lengths are
    /// those of another moment than its free frames.
    pub(super) fn load(&mut self, before: &Snapshot, of_one_moment: bool) {
        let zones = self.k.shape().zones.clone();
        if before.kpageflags.is_some() {
            for z in 0..zones.len() {
                self.k.load_free(z, &|pfn| before.is_free(pfn));
            }
        }
        let Some(types) = &before.pagetypeinfo else { return };
        self.load_types(types, &|pfn| before.kpageflags.is_none() || before.exists(pfn));
        if before.kpageflags.is_none() || !of_one_moment {
            return;
        }
        let mut learnt = true;
        while learnt {
            learnt = false;
            for (z, (name, _)) in zones.iter().enumerate() {
                for order in Order::ZERO.up_to(Order::MAX) {
                    let mut lengths = [0; 6];
                    for mt in &types.types {
                        let row = types.row(u32::from(name.node.0), name.kind, *mt);
                        let length = row.and_then(|row| row.lists.get(order.index()));
                        lengths[mt.index()] = length.map_or(0, |length| length.blocks as usize);
                    }
                    learnt |= self.k.load_list_lengths(z, order, lengths);
                }
            }
        }
    }

    /// Numbers of pageblocks by type; those whose first frame `exists` are counted.
    fn load_types(&mut self, types: &Pagetypeinfo, exists: &dyn Fn(Pfn) -> bool) {
        let step = self.k.shape().pageblock_order.pages();
        for (z, (name, span)) in self.k.shape().zones.clone().into_iter().enumerate() {
            let mut counts = [0; 6];
            for mt in &types.types {
                let count = types.pageblocks_of(u32::from(name.node.0), name.kind, *mt);
                counts[mt.index()] = count.unwrap_or(0) as usize;
            }
            let blocks: Vec<Pfn> = (span.start.0..span.end.0)
                .step_by(step as usize)
                .map(Pfn)
                .filter(|pfn| exists(*pfn))
                .collect();
            self.k.load_pageblock_counts(z, counts, &blocks);
        }
    }

    /// The last loss is over: the free frames are known again.
    pub(super) fn begin_anew(&mut self) {
        let Some(resume) = &self.resume else { return };
        for z in 0..self.k.shape().zones.len() {
            self.k.load_free(z, &|pfn| resume.is_free(pfn));
        }
    }

    /// The block at `pfn` should have been taken, and was not: if parts of it were only assumed to be
    /// free, they were not. Whether that was so.
    pub(super) fn drop_assumed(&mut self, z: usize, pfn: Pfn) -> bool {
        let Some(resume) = &self.resume else { return false };
        self.k.withdraw(z, pfn, &|pfn| resume.is_assumed(pfn))
    }
}
