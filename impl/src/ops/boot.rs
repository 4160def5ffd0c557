//! Start-up: from a machine and slices to an allocator with all memory free
//! (docs/decisions.md, Boot).

use crate::{
    allocator::{Config, MAX_ZONES, PageAllocator, Parts, Spans},
    error::SetupError,
    frame::{Frame, Records},
    geometry::{Geometry, Tables},
    node::NodeSlot,
    platform::{PcpLock, Platform},
    storage::{Backing, Storage, StorageSize},
    vmstat::{Item, StatDiff},
    zone::{Buddy, Placement, Zone, ZoneInfo},
};
use mmspec_model::vocab::{
    CpuId, MachineRef, MigrateType, NR_MIGRATETYPES, PfnRange, Rules, Tunables, ZoneSpan,
};

impl<P: Platform, B: Backing> PageAllocator<P, B> {
    /// Build an allocator of `machine`'s memory in `storage`; all CPUs are online.
    ///
    /// # Errors
    /// The machine or the tunables contradict themselves, or a slice is too short.
    pub fn new(
        machine: MachineRef<'_>,
        rules: Rules,
        tunables: Tunables,
        mut storage: Storage<P, B>,
    ) -> Result<Self, SetupError> {
        machine.validate()?;
        tunables.validate()?;
        rules.validate()?;
        let size = StorageSize::of(&machine);
        storage.check(&size)?;
        let mut geometry = Geometry::new(&machine, rules, storage.spread);
        let tables = Tables {
            geometry: &geometry,
            frames: &storage.frames[..size.frames],
            links: Records::new(&storage.links, storage.spread),
            blocks: &storage.blocks[..size.blocks],
        };
        tables.blocks.iter().for_each(|block| block.set(MigrateType::Movable));
        (0..size.frames as u32).for_each(|frame| tables.links.at(frame).clear());
        mark_frames(&machine, tables);
        let nr_zones = machine.zones.len();
        for (slot, span) in storage.zones.iter_mut().zip(machine.zones) {
            *slot = Zone::of(zone_info(&machine, tables, span));
        }
        let zones = &storage.zones[..nr_zones];
        place_nodes(&machine, &mut storage.nodes);
        for (at, slot) in storage.cpus[..size.cpus].iter_mut().enumerate() {
            slot.home = machine.node_of(CpuId(at as u16));
        }
        let boot_diff = StatDiff::default();
        for zone in zones {
            let mut locked = zone.lock(tables, &boot_diff);
            free_all(locked.buddy(), &machine);
        }
        let managed = zones.iter().map(|zone| zone.info.managed).sum::<u64>();
        let migratetypes = NR_MIGRATETYPES - usize::from(!machine.cma_built);
        geometry.grouping = managed >= machine.pageblock_pages() * migratetypes as u64;
        let config = Config {
            tunables,
            min_free_kbytes: 0,
            online_cpus: machine.cpus,
            disabled: [false; MAX_ZONES],
            zonelist_order: rules.zonelist_order,
        };
        let spans = Spans::new(zones.iter().map(|zone| (zone.info.start, zone.info.end)));
        let (nr_cpus, nr_nodes) = (size.cpus, size.nodes);
        let parts =
            Parts { geometry, nr_zones, nr_cpus, nr_nodes, spans, zonelists: 0, storage, config };
        let allocator = Self::assemble(parts);
        allocator.start_cpus();
        Ok(allocator)
    }

    /// Bring all CPUs online, then compute marks, reserves, thresholds and limits.
    fn start_cpus(&self) {
        for cpu in self.cpu_ids() {
            self.cpu(cpu).reset();
            for zone in 0..self.nr_zones {
                let slot = self.slot(cpu, zone);
                slot.lock.lock_remote().reset(&self.geometry);
                slot.diff.take(Item::Free);
                slot.diff.take(Item::FreeCma);
                slot.diff.take(Item::Batch);
                slot.numa.reset();
            }
        }
        let mut config = self.lock_config();
        self.build_zonelists(&config);
        self.apply_tunables(&mut config);
        self.refresh_thresholds(&config);
    }
}

/// Say of each node where it lies: its zones, its CPUs, its distances.
fn place_nodes<P: Platform>(machine: &MachineRef<'_>, nodes: &mut [NodeSlot<P>]) {
    for (slot, node) in nodes.iter_mut().zip(machine.node_ids()) {
        *slot = NodeSlot::new();
        for (distance, to) in slot.distances.iter_mut().zip(machine.node_ids()) {
            *distance = machine.distance(node, to);
        }
        slot.has_cpus = machine.cpu_ids().any(|cpu| machine.node_of(cpu) == node);
        // Zones ascend in node.
        let first = machine.zones.iter().position(|zone| zone.node == node).unwrap_or(0);
        let count = machine.zones.iter().filter(|zone| zone.node == node).count();
        slot.first_zone = first as u16;
        slot.end_zone = (first + count) as u16;
    }
}

/// The part of `range` inside `span`, as table indices.
fn clip(geometry: &Geometry, range: PfnRange, span: PfnRange) -> core::ops::Range<u32> {
    let start = range.start.max(span.start).min(span.end);
    let end = range.end.min(span.end).max(start);
    geometry.index(start)..geometry.index(end)
}

/// Mark every frame as managed (TAIL), reserved or no memory at all (ABSENT).
fn mark_frames(machine: &MachineRef<'_>, tables: Tables<'_>) {
    let fill = |range: core::ops::Range<u32>, state: Frame| {
        for frame in &tables.frames[range.start as usize..range.end as usize] {
            frame.set(state);
        }
    };
    fill(0..tables.frames.len() as u32, Frame::ABSENT);
    for zone in machine.zones {
        fill(clip(tables.geometry, zone.span, zone.span), Frame::TAIL);
        for range in machine.reserved {
            fill(clip(tables.geometry, *range, zone.span), Frame::RESERVED);
        }
        for range in machine.holes {
            fill(clip(tables.geometry, *range, zone.span), Frame::ABSENT);
        }
    }
    // CMA pageblocks are freed later; till then they are known by their type.
    for range in machine.cma {
        for zone in machine.zones {
            let frames = clip(tables.geometry, *range, zone.span);
            for block in frames.step_by(tables.geometry.pageblock_pages() as usize) {
                tables.set_block_type(block, MigrateType::Cma);
            }
        }
    }
}

/// Count a zone's pages. Holes and reserved ranges may overlap, so frames are looked at.
fn zone_info(machine: &MachineRef<'_>, tables: Tables<'_>, zone: &ZoneSpan) -> ZoneInfo {
    let geometry = tables.geometry;
    let frames = clip(geometry, zone.span, zone.span);
    let states = &tables.frames[frames.start as usize..frames.end as usize];
    let managed = states.iter().filter(|state| state.get() == Frame::TAIL).count() as u64;
    let cma_pages = machine.cma.iter().map(|range| clip(geometry, *range, zone.span).len() as u64);
    ZoneInfo {
        node: zone.node,
        kind: zone.kind,
        start: frames.start,
        end: frames.end,
        whole: (frames.start | frames.end).is_multiple_of(1 << geometry.max_order),
        present: zone.span.len() - pages_in(machine.holes, zone.span),
        managed,
        cma_pages: cma_pages.sum(),
    }
}

/// Frames of `span` that any of `ranges` covers.
fn pages_in(ranges: &[PfnRange], span: PfnRange) -> u64 {
    // Sweep upwards: from each point to the end of the ranges that cover it, or to the next range.
    let (mut at, mut covered) = (span.start, 0);
    while at < span.end {
        let around = ranges.iter().filter(|range| range.contains(at)).map(|range| range.end).max();
        if let Some(end) = around {
            let end = end.min(span.end);
            covered += end.0 - at.0;
            at = end;
        } else {
            let starts = ranges.iter().filter(|range| !range.is_empty()).map(|range| range.start);
            at = starts.filter(|start| *start > at).min().unwrap_or(span.end).min(span.end);
        }
    }
    covered
}

/// Free a zone's memory: ordinary runs in the largest blocks, then CMA by pageblock.
fn free_all<P: Platform>(mut buddy: Buddy<'_, P>, machine: &MachineRef<'_>) {
    let tables = buddy.tables;
    let (start, end) = (buddy.info.start, buddy.info.end);
    let pageblock = tables.geometry.pageblock_pages();
    let mut frame = start;
    while frame < end {
        if tables.block_type(frame) == MigrateType::Cma {
            frame = tables.geometry.pageblock_start(frame) + pageblock;
            continue;
        }
        let run = run_length(tables, frame, end);
        free_run(&mut buddy, frame, frame + run);
        frame += run.max(1);
    }
    if !machine.cma.is_empty() {
        for block in (start.next_multiple_of(pageblock)..end).step_by(pageblock as usize) {
            if tables.block_type(block) == MigrateType::Cma {
                let order = tables.geometry.pageblock_order;
                buddy.free_block(block, order, MigrateType::Cma, Placement::ByBuddy);
            }
        }
    }
    buddy.z.pgfree += buddy.info.managed;
}

/// Managed frames that are not CMA from `frame` on.
fn run_length(tables: Tables<'_>, frame: u32, end: u32) -> u32 {
    let pageblock = tables.geometry.pageblock_pages();
    let mut at = frame;
    while at < end {
        if tables.block_type(at) == MigrateType::Cma {
            break;
        }
        let block_end = (tables.geometry.pageblock_start(at) + pageblock).min(end);
        let states = &tables.frames[at as usize..block_end as usize];
        match states.iter().position(|state| state.get() != Frame::TAIL) {
            Some(managed) => return at + managed as u32 - frame,
            None => at = block_end,
        }
    }
    at - frame
}

/// Free a run in ascending blocks, each the largest that its alignment and the run allow.
fn free_run<P: Platform>(buddy: &mut Buddy<'_, P>, mut frame: u32, end: u32) {
    while frame < end {
        let fits = (end - frame).ilog2() as u8;
        let aligned = frame.trailing_zeros() as u8;
        let order = fits.min(aligned).min(buddy.geometry.max_order);
        buddy.free_block(frame, order, MigrateType::Movable, Placement::Tail);
        frame += 1 << order;
    }
}
