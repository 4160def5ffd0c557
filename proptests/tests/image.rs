//! Compaction by the implementation against a recording of Linux.

use flate2::read::GzDecoder;
use mmspec_model::vocab::{CompactFeatures, CompactRules, MigrateType, Pfn, ZoneIdx};
use mmspec_proptests::image::{
    Contents, Image, ImageError, ImageOptions, ImageReport, compare, compare_steps,
};
use mmspec_proptests::trace::{CompactStep, TraceErrorKind};
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("traces/linux-6.12-compact-memory")
}

fn run(hindsight: bool, rules: CompactRules) -> ImageReport {
    let options = ImageOptions { hindsight, compaction: Some(rules), ..ImageOptions::default() };
    compare(&folder(), &options).unwrap()
}

fn simulated(report: &ImageReport, name: &str) -> u64 {
    report.figure(name).unwrap().simulated
}

/// From the state before, without a look at what the kernel then did.
#[test]
fn compaction_goes_the_way_of_linux_6_12() {
    let report = compare(&folder(), &ImageOptions::default()).unwrap();
    assert_eq!((&*report.rules, &*report.compaction), ("linux_6_12_29", "linux_6_12"));
    for (name, recorded) in [
        ("compact_migrate_scanned", 111_103),
        ("compact_free_scanned", 22_698),
        ("compact_isolated", 33_547),
        ("pgmigrate_success", 16_721),
    ] {
        let figure = report.figure(name).unwrap();
        assert_eq!(figure.recorded, recorded);
        assert!(figure.is_within(1), "{figure:?}");
    }
    let migrate = report.of_kind("isolate_migratepages");
    assert_eq!((migrate.recorded, migrate.simulated, migrate.same), (330, 330, 328));
    let finished = report.of_kind("finished");
    assert_eq!((finished.recorded, finished.same), (332, 332));
    // Pages that were written between the snapshot and the trace.
    assert_eq!(report.first.unwrap().line, 30_300);
    assert!(report.is_alike());
    assert!(report.unknown.iter().all(|unknown| !unknown.effect.is_empty()));
}

/// With the kernel's word on which pages can be moved, nothing is left to differ: not a step, not a
/// counter, not a free frame.
#[test]
fn with_hindsight_every_step_and_every_free_frame_is_the_kernel_s() {
    let report = run(true, CompactRules::linux_6_12());
    assert_eq!(report.first, None);
    assert!(report.steps.iter().all(|steps| steps.recorded == steps.same), "{:?}", report.steps);
    let exact = |figure: &mmspec_proptests::image::Figure| figure.recorded == figure.simulated;
    assert!(report.figures.len() == 5 && report.figures.iter().all(exact), "{:?}", report.figures);
    let differing = report.free_lists.iter().filter(|list| list.recorded != list.simulated);
    assert_eq!(differing.count(), 0, "{:?}", report.free_lists);
    let frames = report.free_frames.unwrap();
    assert_eq!((frames.only_expected, frames.only_seen), (0, 0));
}

/// The recording tells one era's rules from another's.
#[test]
fn other_rules_go_another_way() {
    let older = run(true, CompactRules::linux_6_1());
    assert!(!older.is_alike());
    // Up to 6.6 what is jumped over does not count.
    assert!(simulated(&older, "compact_migrate_scanned") < 80_000, "{:?}", older.figures);
    let mut unfinished = CompactRules::linux_6_12();
    unfinished.features.remove(CompactFeatures::F12);
    let report = run(true, unfinished);
    assert!(!report.is_alike());
    assert!(report.of_kind("isolate_migratepages").simulated > 500, "{:?}", report.steps);
}

/// The allocator holds what the image says: blocks of every order, types, and no flag of low memory.
#[test]
fn an_allocator_is_brought_into_the_recorded_state() {
    let image = Image::load(&folder(), &ImageOptions::default()).unwrap();
    let (pages, untyped) = image.allocator().unwrap();
    // The first pageblock of zone DMA, which begins at frame 1.
    assert_eq!(untyped, 1);
    let machine = image.machine();
    let (mut wanted, mut free) = ([0; 11], [0; 11]);
    for (at, zone) in machine.zones.iter().enumerate() {
        for pfn in (zone.span.start.0..zone.span.end.0).map(Pfn) {
            if let Contents::Free(order) = image.contents(pfn) {
                wanted[order.index()] += 1;
            }
            let known = pages.pageblock_type(pfn);
            assert!(known == Some(image.type_of(pfn)) || pfn < Pfn(0x200), "{pfn}: {known:?}");
        }
        let state = pages.zone_state(ZoneIdx(at as u8));
        assert!(state.flags.is_empty(), "{:?}: {:?}", zone.kind, state.flags);
        for (order, lists) in state.nr_free.iter().enumerate() {
            free[order] += lists.iter().sum::<u64>();
        }
    }
    assert_eq!(free, wanted);
    // Part of the memory map.
    assert_eq!(image.type_of(Pfn(0x1f400)), MigrateType::Unmovable);
}

/// The comparison sees what is not there.
#[test]
fn a_doctored_recording_differs_from_itself() {
    let image = Image::load(&folder(), &ImageOptions::default()).unwrap();
    let recorded = &image.recorded().zones;
    let (steps, first) = compare_steps(recorded, recorded);
    assert!(first.is_none() && steps.iter().all(|one| one.same == one.recorded), "{steps:?}");

    let at = recorded[1].steps.iter().position(
        |step| matches!(step.step, CompactStep::IsolateMigrate(scan) if scan.taken == 60),
    );
    let at = at.unwrap();
    let same = |zones: &[mmspec_proptests::image::ZoneRun]| {
        let (steps, first) = compare_steps(recorded, zones);
        let of = |kind| steps.iter().find(|one| one.zone == Pfn(0x1000) && one.kind == kind);
        (of("isolate_migratepages").unwrap().same, of("end").unwrap().same, first.unwrap().line)
    };
    let mut doctored = recorded.clone();
    if let CompactStep::IsolateMigrate(scan) = &mut doctored[1].steps[at].step {
        scan.taken += 1;
    }
    assert_eq!(same(&doctored), (322, 1, recorded[1].steps[at].line));
    // A step too few does not put the later ones out of place.
    doctored[1].steps.remove(at);
    assert_eq!(same(&doctored), (322, 1, recorded[1].steps[at].line));
    if let Some(CompactStep::End { free, .. }) =
        doctored[1].steps.last_mut().map(|step| &mut step.step)
    {
        *free = free.add(1);
    }
    assert_eq!(same(&doctored).1, 0);
    assert_eq!(compare_steps(recorded, &[]).0.iter().map(|one| one.same).sum::<u64>(), 0);
}

/// A copy of the recording in which the trace is another; `name` tells copies apart.
fn with_trace(name: &str, change: impl FnOnce(String) -> String) -> PathBuf {
    let copy = std::env::temp_dir().join(format!("mmspec-image-{name}-{}", std::process::id()));
    fs::create_dir_all(&copy).unwrap();
    for entry in fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, copy.join(path.file_name().unwrap())).unwrap();
    }
    let mut text = String::new();
    let bytes = fs::read(copy.join("trace.txt.gz")).unwrap();
    GzDecoder::new(bytes.as_slice()).read_to_string(&mut text).unwrap();
    fs::write(copy.join("trace.txt"), change(text)).unwrap();
    copy
}

fn refused(folder: &Path) -> ImageError {
    let result = compare(folder, &ImageOptions::default());
    result.err().unwrap()
}

#[test]
fn unsuitable_folders_are_told_what_they_lack() {
    let traces = folder();
    let shell = traces.parent().unwrap().join("linux-6.12-shell");
    assert!(matches!(refused(&shell), ImageError::NoRun { .. }));
    let nowhere = traces.join("nowhere");
    let missing = refused(&nowhere);
    assert!(matches!(&missing, ImageError::Missing { file: "kpageflags.before", .. }), "{missing}");

    let copy = with_trace("broken", |text| text.replace("nr_taken=60", "nr_taken=x"));
    assert!(matches!(
        refused(&copy),
        ImageError::Trace(error) if matches!(error.kind, TraceErrorKind::Field { field: "nr_taken", .. })
    ));
    fs::write(copy.join("trace.txt"), "CPU:1 [LOST 7 EVENTS]\n").unwrap();
    assert!(matches!(refused(&copy), ImageError::Lost(7)));
    fs::remove_file(copy.join("zoneinfo.before.txt")).unwrap();
    assert!(matches!(refused(&copy), ImageError::Missing { file: "zoneinfo.before.txt", .. }));
    fs::write(copy.join("kpageflags.before.gz"), [0; 4096]).unwrap();
    fs::copy(traces.join("zoneinfo.before.txt"), copy.join("zoneinfo.before.txt")).unwrap();
    fs::remove_file(copy.join("trace.txt")).unwrap();
    assert!(matches!(refused(&copy), ImageError::ShortFlags { at: Pfn(512), .. }));
    fs::remove_dir_all(&copy).unwrap();
}

#[test]
fn only_a_run_over_whole_zones_begins_in_a_known_state() {
    let copy = with_trace("order", |text| text.replace("order=-1 ret=", "order=9 ret="));
    assert!(matches!(refused(&copy), ImageError::OtherRun { order: 9, .. }));
    fs::remove_dir_all(&copy).unwrap();
    let copy = with_trace("cut", |text| {
        let end = text.find("mm_compaction_end").unwrap();
        let end = text[..end].rfind('\n').unwrap();
        text[..end].to_owned()
    });
    assert!(matches!(refused(&copy), ImageError::NoRun { .. }));
    fs::remove_dir_all(&copy).unwrap();
}

/// Whatever a trace says, the answer is a report or an error.
#[test]
fn a_damaged_trace_is_no_reason_to_panic() {
    let mut reports = 0;
    for seed in 1..=16_u64 {
        let copy = with_trace(&format!("damaged-{seed}"), |text| {
            let mut bytes = text.into_bytes();
            let mut random = seed;
            for _ in 0..1 << (seed % 9) {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let at = (random >> 16) as usize % bytes.len();
                // Digits but those of 0x: lines stay lines, and say something else.
                if let Some(digit) = bytes[at..].iter_mut().find(|c| matches!(c, b'1'..=b'9')) {
                    *digit = b'0' + (random >> 60) as u8 % 10;
                }
            }
            String::from_utf8(bytes).unwrap()
        });
        let options = ImageOptions { hindsight: seed % 2 == 0, ..ImageOptions::default() };
        reports += u64::from(compare(&copy, &options).is_ok());
        fs::remove_dir_all(&copy).unwrap();
    }
    assert!(reports > 4, "only {reports} get as far as a report");
}
