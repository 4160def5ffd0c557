//! The types of pageblocks, known and inferred.

use super::frames::kpf;
use crate::trace::{Moment, Snapshot};
use mmspec_model::knowledge::{FrameKnowledge, TypeSet};
use mmspec_model::vocab::{MigrateType, Pfn, PfnRange};

/// The type of every pageblock, and how many of them are inferred.
///
/// What lists and events prove is known. The rest must have the types that pagetypeinfo counts, so as
/// many pageblocks as are missing of a type get it: those that look most like it.
pub(super) fn pageblock_types(
    moment: &Moment,
    before: &Snapshot,
) -> (Vec<(Pfn, MigrateType)>, u64) {
    let (mut all, mut inferred) = (Vec::new(), 0);
    let shape = moment.knowledge.shape();
    let pages = shape.pageblock_order.pages();
    for (name, span) in &shape.zones {
        let mut blocks: Vec<(Pfn, TypeSet)> = (span.start.0 / pages..span.end.0.div_ceil(pages))
            .map(|block| Pfn((block * pages).max(span.start.0)))
            .map(|start| (start, moment.knowledge.pageblock_types(start)))
            .collect();
        for migratetype in [MigrateType::Reclaimable, MigrateType::Unmovable] {
            let counted = before.pagetypeinfo.as_ref().and_then(|text| {
                text.pageblocks_of(u32::from(name.node.0), name.kind, migratetype)
            });
            // Of those that the file counts, some are known, or had the type until a fallback.
            let mut missing = counted.unwrap_or(0) as usize;
            for (start, types) in &blocks {
                let aligned = Pfn(start.0 / pages * pages);
                let then = moment.retyped.get(&aligned).copied().or(types.single());
                missing = missing.saturating_sub(usize::from(then == Some(migratetype)));
            }
            let mut open: Vec<usize> = (0..blocks.len())
                .filter(|at| blocks[*at].1.single().is_none())
                .filter(|at| blocks[*at].1.contains(migratetype))
                .collect();
            open.sort_by_key(|at| {
                let start = blocks[*at].0;
                let end = (start.0 / pages + 1) * pages;
                std::cmp::Reverse(likeness(
                    moment,
                    before,
                    PfnRange::new(start.0, end.min(span.end.0)),
                ))
            });
            for at in open.into_iter().take(missing) {
                blocks[at].1 = TypeSet::of(migratetype);
                inferred += 1;
            }
        }
        for (start, types) in blocks {
            inferred += u64::from(types.single().is_none());
            all.push((start, types.single().unwrap_or(MigrateType::Movable)));
        }
    }
    (all, inferred)
}

/// How much a pageblock looks like one of kernel pages: such that kpageflags names, then frames of the
/// memory map (which is allocated at boot, when nothing is movable yet), then any that nobody could move.
fn likeness(moment: &Moment, before: &Snapshot, block: PfnRange) -> (u64, u64, u64) {
    let (mut named, mut map, mut fixed) = (0, 0, 0);
    for pfn in (block.start.0..block.end.0).map(Pfn) {
        let flags = before.flags(pfn).unwrap_or(0);
        let still = matches!(
            moment.knowledge.frame(pfn),
            FrameKnowledge::Unknown | FrameKnowledge::NotFree
        );
        named += u64::from(still && flags & (kpf::SLAB | kpf::PGTABLE) != 0);
        map += u64::from(flags & kpf::RESERVED != 0 && flags & kpf::PRIVATE != 0);
        fixed += u64::from(still && flags == 0);
    }
    (named, map, fixed)
}
