//! The recorded run once more, by the implementation.

use super::compare::compare_steps;
use super::error::ImageError;
use super::frames::{Image, ImageOptions, Unknown};
use super::mover::Owner;
use super::recorded::{RecordedStep, ZoneRun};
use super::report::{Figure, FreeList, ImageReport};
use crate::trace::{CompactStep, FreeFrames, Snapshot};
use mmspec_impl::compact::{CompactStorage, Compaction, Compactor};
use mmspec_impl::{OwnedAllocator, StorageSize};
use mmspec_model::knowledge::Knowledge;
use mmspec_model::vocab::{
    CompactCounters, CompactRules, Machine, MigrateType, Order, Pfn, Rules, ZoneIdx, ZoneName,
};
use std::path::Path;

/// Compact the image of a recording, and compare with what its kernel did.
///
/// # Errors
/// The recording is damaged, incomplete, or does not show such a run.
pub fn compare(folder: &Path, options: &ImageOptions) -> Result<ImageReport, ImageError> {
    let image = Image::load(folder, options)?;
    let rules = options.compaction.unwrap_or_else(|| of_the_time(&image.rules));
    let machine = image.machine();
    let (pages, untyped) = image.allocator()?;
    let size = StorageSize::of(&machine.as_ref());
    let state = Compaction::new(&size, CompactStorage::on_heap(&size), rules)?;
    let owner = Owner::new(&image);
    let compactor = Compactor { pages: pages.shared(), state: &state, owner: &owner };
    compactor.compact_all(image.recorded().cpu);

    let simulated = zone_runs(&owner.steps());
    let (steps, first) = compare_steps(&image.recorded().zones, &simulated);
    let (free_lists, free_frames) = free_at_end(&image, &machine, &pages);
    let mut unknown = image.unknown().to_vec();
    unknown.extend(not_compared(&image, untyped));
    Ok(ImageReport {
        rules: image.rules.preset_name().unwrap_or("custom").to_owned(),
        compaction: name_of(rules).to_owned(),
        hindsight: options.hindsight,
        figures: figures(&image, &state.counters()),
        steps,
        first,
        free_lists,
        free_frames,
        unknown,
    })
}

/// Compaction of the kernels that have these rules of allocation. Later changes than those of 6.12 are
/// not known.
fn of_the_time(rules: &Rules) -> CompactRules {
    if *rules == Rules::linux_6_1() {
        CompactRules::linux_6_1()
    } else {
        CompactRules::linux_6_12()
    }
}

fn name_of(rules: CompactRules) -> &'static str {
    CompactRules::PRESETS
        .iter()
        .find(|(_, known)| *known == rules)
        .map_or("custom", |(name, _)| name)
}

fn zone_runs(steps: &[CompactStep]) -> Vec<ZoneRun> {
    let mut runs: Vec<ZoneRun> = Vec::new();
    for step in steps {
        if let CompactStep::Begin { zone, .. } = step {
            runs.push(ZoneRun { zone: *zone, steps: Vec::new() });
        }
        if let Some(run) = runs.last_mut() {
            run.steps.push(RecordedStep { line: 0, step: *step });
        }
    }
    runs
}

/// What could not be compared.
fn not_compared(image: &Image, untyped: u64) -> Vec<Unknown> {
    let run = image.recorded();
    let shows = |is: fn(&CompactStep) -> bool| {
        run.zones.iter().flat_map(|zone| &zone.steps).any(|step| is(&step.step))
    };
    let mut all = Vec::new();
    if !shows(|step| matches!(step, CompactStep::IsolateFree(_))) {
        all.push(Unknown {
            what: "ranges scanned for targets: the trace has no mm_compaction_isolate_freepages",
            count: None,
            effect: "only their sum and where the free scanner ended are compared",
        });
    }
    if run.foreign > 0 {
        all.push(Unknown {
            what: "steps of other tasks that compacted at the same time",
            count: Some(run.foreign),
            effect: "they are not simulated",
        });
    }
    if untyped > 0 {
        all.push(Unknown {
            what: "pageblocks that could not be given their type",
            count: Some(untyped),
            effect: "taken for movable: may give targets",
        });
    }
    all
}

/// The counters, recorded and simulated, as far as the recording has them.
fn figures(image: &Image, counters: &CompactCounters) -> Vec<Figure> {
    let grown = |name: &str| {
        let value = |snapshot: &Snapshot| snapshot.vmstat.as_ref()?.get(name);
        Some(value(&image.after)?.saturating_sub(value(&image.before)?))
    };
    let run = image.recorded();
    // Without vmstat some are the sums of the steps.
    let all = [
        ("compact_migrate_scanned", Some(run.migrate_scanned()), counters.migrate_scanned),
        ("compact_free_scanned", None, counters.free_scanned),
        ("compact_isolated", None, counters.isolated),
        ("pgmigrate_success", Some(run.migrated()), counters.pgmigrate_success),
        ("pgmigrate_fail", None, counters.pgmigrate_fail),
    ];
    let figure = |(name, summed, simulated)| {
        Some(Figure { name, recorded: grown(name).or(summed)?, simulated })
    };
    all.into_iter().filter_map(figure).collect()
}

/// Blocks of every order and frames that are free at the end of the simulation and of the recorded run.
fn free_at_end(
    image: &Image,
    machine: &Machine,
    pages: &OwnedAllocator,
) -> (Vec<FreeList>, Option<FreeFrames>) {
    let Some(recorded) = &image.free_at_end else { return (Vec::new(), None) };
    let is_free = |pfn: Pfn| recorded.get(pfn.index()) == Some(&true);
    let (mut lists, mut frames) = (Vec::new(), FreeFrames::default());
    let mut blocks = Knowledge::new(image.shape.clone());
    for (z, zone) in machine.zones.iter().enumerate() {
        blocks.load_free(z, &is_free);
        let idx = ZoneIdx(z as u8);
        let state = pages.zone_state(idx);
        let name = ZoneName { node: zone.node, kind: zone.kind };
        for (order, recorded) in Order::ZERO.up_to(Order::MAX).zip(blocks.free_counts(z)) {
            let simulated = state.nr_free[order.index()].iter().sum();
            lists.push(FreeList { zone: name, order, recorded: recorded as u64, simulated });
            for migratetype in MigrateType::ALL {
                pages.for_each_free(idx, order, migratetype, &mut |pfn| {
                    let agreed = (0..order.pages()).filter(|at| is_free(pfn.add(*at))).count();
                    frames.agreed += agreed as u64;
                    frames.only_expected += order.pages() - agreed as u64;
                });
            }
        }
        frames.only_seen += blocks.free_pages(z);
    }
    frames.only_seen -= frames.agreed;
    (lists, Some(frames))
}
