//! Which pages can be moved, from the recording itself.

use super::frames::{Contents, Image};
use crate::trace::{CompactStep, Moment, Payload};
use mmspec_model::contract::LruUse;
use mmspec_model::vocab::{KmemEvent, Order, Pfn};
use std::collections::BTreeSet;

impl Image {
    /// Which pages could be moved, by what the recorded run freed.
    pub(super) fn correct(&mut self, moment: &Moment) {
        let freed: BTreeSet<Pfn> = moment
            .rest
            .iter()
            .filter(|event| event.line < self.run.end)
            .filter_map(|event| match event.payload {
                Payload::Kmem(KmemEvent::PageFree { pfn, .. }) => Some(pfn),
                _ => None,
            })
            .collect();
        let (mut more, mut fewer) = (0, 0);
        let steps: Vec<_> = self.run.zones.iter().flat_map(|zone| &zone.steps).collect();
        let ranges: Vec<_> = steps
            .iter()
            .enumerate()
            .filter_map(|(at, step)| {
                let CompactStep::IsolateMigrate(scan) = step.step else { return None };
                // A batch that was put back in part does not tell which pages it held.
                let next = steps.get(at + 1).map(|next| next.step);
                (!matches!(next, Some(CompactStep::Migrate { failed: 1.., .. })))
                    .then_some(scan.range)
            })
            .collect();
        for pfn in ranges.into_iter().flat_map(|range| (range.start.0..range.end.0).map(Pfn)) {
            match self.contents(pfn) {
                Contents::Lru(page) if !freed.contains(&pfn) && !page.pinned => {
                    self.put(pfn, page.order, Contents::Fixed);
                    fewer += 1;
                }
                Contents::Fixed if freed.contains(&pfn) => {
                    self.put(pfn, Order::ZERO, Contents::Lru(LruUse::ANON));
                    more += 1;
                }
                _ => {}
            }
        }
        self.note(
            "pages that the recorded run moved and the snapshot does not show as movable",
            Some(more),
            "taken for movable (hindsight)",
        );
        self.note(
            "pages that the snapshot shows as movable and the recorded run passed over",
            Some(fewer),
            "taken for fixed (hindsight)",
        );
    }
}
