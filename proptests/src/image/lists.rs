//! The lists of the CPU that compacts.

use super::frames::{Contents, Image};
use crate::trace::{Moment, Payload};
use mmspec_model::vocab::{KmemEvent, MigrateType, Order, Pfn};

impl Image {
    /// What the first drain of the compacting CPU's lists tells. It comes when they are full, so it shows
    /// how many pages they held; those that no event names never leave: they lie on the lists of other
    /// types, and any frames that may be such do. And it is as large as the frees that came in a row.
    pub(super) fn fill_lists(&mut self, moment: &Moment) {
        let cpu = self.run.cpu.0;
        let Some((pfn, freed, drained)) = first_drain(moment, cpu) else { return };
        let shape = moment.knowledge.shape();
        let Some(z) = moment.knowledge.zone_of(pfn) else { return };
        let (name, span) = shape.zones[z];
        let zoneinfo = self.before.zoneinfo.as_ref();
        let zone = zoneinfo.and_then(|text| text.zone(u32::from(name.node.0), name.kind));
        let sets = zone.and_then(|zone| zone.populated.as_ref()).map(|zone| &zone.pagesets);
        let set = sets.and_then(|sets| sets.iter().find(|set| set.cpu == u32::from(cpu)));
        let known = self.cached.iter().filter(|(pfn, of, _)| *of == cpu && span.contains(*pfn));
        let movable = known
            .clone()
            .filter(|(pfn, _, order)| {
                *order == Order::ZERO && self.type_of(*pfn) == MigrateType::Movable
            })
            .count();
        self.freed_in_a_row = drained.saturating_sub(freed).min(movable as u64);
        let known: u64 = known.map(|(.., order)| order.pages()).sum();
        let missing = set.map_or(0, |set| set.high).saturating_sub(freed + known);
        let bare = (span.start.0..span.end.0).map(Pfn).filter(|pfn| {
            self.contents(*pfn) == Contents::Fixed
                && self.before.flags(*pfn) == Some(0)
                && self.type_of(*pfn) != MigrateType::Movable
        });
        let filling: Vec<Pfn> = bare.take(missing as usize).collect();
        for pfn in &filling {
            self.put(*pfn, Order::ZERO, Contents::Cached(Order::ZERO));
            self.cached.push((*pfn, cpu, Order::ZERO));
        }
        self.note(
            "pages on the compacting CPU's lists that no event names",
            Some(filling.len() as u64),
            "their number follows from the first drain, their frames are made up: they never leave the lists",
        );
    }
}

/// The first drain on a CPU: a page of it, pages freed until then, and pages drained.
fn first_drain(moment: &Moment, cpu: u16) -> Option<(Pfn, u64, u64)> {
    let events = moment.rest.iter().filter(|event| event.cpu == cpu);
    let (mut first, mut freed, mut drained) = (None, 0, 0);
    for event in events {
        match event.payload {
            Payload::Kmem(KmemEvent::PcpuDrain { pfn, order, .. }) => {
                first = first.or(Some(pfn));
                drained += order.pages();
            }
            _ if first.is_some() => break,
            Payload::Kmem(KmemEvent::PageFree { order, .. }) => freed += order.pages(),
            _ => {}
        }
    }
    first.map(|pfn| (pfn, freed, drained))
}
