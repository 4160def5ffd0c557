//! The figures at the end against the snapshot after.

use super::engine::Engine;
use super::folder::Snapshot;
use super::report::{Difference, FreeFrames};
use mmspec_model::proc::NamedCounters;
use mmspec_model::vocab::{Pfn, ZoneKind};

impl Engine<'_> {
    /// Compare what is known at the end with /proc. What falls between a snapshot and the trace
    /// shows as a difference.
    pub(super) fn compare(&mut self, before: &Snapshot, after: &Snapshot) {
        for (z, (kind, _)) in self.k.shape().zones.clone().into_iter().enumerate() {
            let (known, all) = self.k.known_pageblocks(z);
            self.report.pageblocks.push((kind, known, all));
            self.compare_free_lists(z, after);
            self.compare_cached(z, after);
        }
        self.compare_free_frames(after);
        if self.report.lost_events == 0 {
            self.compare_vmstat(before, after);
        }
    }

    fn figure(&mut self, name: String, expected: u64, seen: u64) {
        self.report.compared += 1;
        if expected != seen {
            let (expected, seen) = (expected as i64, seen as i64);
            self.report.differences.push(Difference { name, expected, seen });
        }
    }

    fn compare_free_lists(&mut self, z: usize, after: &Snapshot) {
        let name = self.zone_name(z);
        let node = u32::from(name.node.0);
        let row = after.buddyinfo.as_ref().and_then(|text| text.row(node, name.kind));
        let Some(row) = row else { return };
        if !self.k.is_complete() {
            return;
        }
        for (order, (expected, seen)) in
            self.k.free_counts(z).into_iter().zip(&row.blocks).enumerate()
        {
            self.figure(format!("buddyinfo {name} order {order}"), expected as u64, *seen);
        }
    }

    fn compare_free_frames(&mut self, after: &Snapshot) {
        if after.kpageflags.is_none() || !self.k.is_complete() {
            return;
        }
        let mut frames = FreeFrames::default();
        for z in 0..self.k.shape().zones.len() {
            let span = self.k.shape().zones[z].1;
            for pfn in (span.start.0..span.end.0).map(Pfn) {
                match (self.k.is_on_free_list(pfn), after.is_free(pfn)) {
                    (true, true) => frames.agreed += 1,
                    (true, false) => frames.only_expected += 1,
                    (false, true) => frames.only_seen += 1,
                    (false, false) => {}
                }
            }
        }
        self.report.free_frames = Some(frames);
    }

    fn compare_cached(&mut self, z: usize, after: &Snapshot) {
        let name = self.zone_name(z);
        let node = u32::from(name.node.0);
        let zone = after.zoneinfo.as_ref().and_then(|text| text.zone(node, name.kind));
        let Some(populated) = zone.and_then(|zone| zone.populated.as_ref()) else { return };
        for set in &populated.pagesets {
            let cpu = set.cpu as usize;
            if cpu < self.cpus.len() && self.k.knows_all_cached(cpu, z) {
                let name = format!("zoneinfo {name} cpu {cpu} count");
                self.figure(name, self.k.cached_pages(cpu, z), set.count);
            }
        }
    }

    fn compare_vmstat(&mut self, before: &Snapshot, after: &Snapshot) {
        let (Some(before), Some(after)) = (&before.vmstat, &after.vmstat) else { return };
        if !self.compacted {
            let isolated = |counters: &NamedCounters| counters.get("compact_isolated").unwrap_or(0);
            self.report.untraced_compaction = isolated(after).saturating_sub(isolated(before));
        }
        // On which node a request wanted to be is in no event: that it was served is.
        let mut moved = vec![
            (vec!["pgfree"], self.moved.free),
            (vec!["numa_hit", "numa_miss"], self.moved.operations),
            (vec!["numa_local", "numa_other"], self.moved.operations),
        ];
        for kind in ZoneKind::ALL {
            let of_kind = (0..self.moved.alloc.len()).filter(|z| self.zone_name(*z).kind == kind);
            let pages: u64 = of_kind.map(|z| self.moved.alloc[z]).sum();
            if pages > 0 {
                moved.push((vec![pgalloc(kind)], pages));
            }
        }
        for (names, by) in moved {
            let sum = |counters: &NamedCounters| -> Option<u64> {
                names.iter().map(|name| counters.get(name)).sum()
            };
            if let (Some(from), Some(to)) = (sum(before), sum(after)) {
                self.figure(format!("vmstat {}", names.join(" + ")), from + by, to);
            }
        }
    }
}

/// The event that counts pages handed out from zones of this kind.
const fn pgalloc(kind: ZoneKind) -> &'static str {
    match kind {
        ZoneKind::Dma => "pgalloc_dma",
        ZoneKind::Dma32 => "pgalloc_dma32",
        ZoneKind::Normal => "pgalloc_normal",
        ZoneKind::Movable => "pgalloc_movable",
        ZoneKind::Device => "pgalloc_device",
    }
}
