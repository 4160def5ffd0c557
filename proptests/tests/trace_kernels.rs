//! Recordings of kernels under fragmentation: every kind of verdict, and the end frame by frame.

use flate2::read::GzDecoder;
use mmspec_model::vocab::{NodeId, Rules};
use mmspec_proptests::trace::{Kind, KindCounts, Options, Report, explain};
use std::io::Read as _;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

fn report(folder: &str, rules: Option<Rules>) -> Report {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("traces").join(folder);
    let options = Options { rules, ..Options::default() };
    let cancel = AtomicBool::new(false);
    explain(&folder.join("trace.txt.gz"), &options, &cancel, &mut |_| {}).unwrap()
}

/// Predicted at least so often, contradicted never.
#[track_caller]
fn predicted(report: &Report, kind: Kind, least: u64) -> KindCounts {
    let counts = report.kind(kind);
    assert!(counts.predicted >= least, "{kind:?} {counts:?}");
    assert_eq!(counts.contradicted, 0, "{kind:?} {:#?}", report.unexplained);
    counts
}

#[test]
fn fallbacks_of_linux_6_12_117_are_claims_and_steals() {
    let shown = report("linux-6.12.117-fallback", None);
    assert_eq!((shown.events, shown.rules.as_str()), (58_656, "linux_6_12_29"));
    predicted(&shown, Kind::Fallback, 7_490);
    predicted(&shown, Kind::BuddyTake, 8_800);
    predicted(&shown, Kind::Drain, 7_300);
    predicted(&shown, Kind::Refill, 280);
    predicted(&shown, Kind::DrainCount, 30);
    let alloc = shown.kind(Kind::PcpAlloc);
    // Kernel stacks that were in use when the recording ended.
    assert!(alloc.predicted >= 11_890 && alloc.contradicted <= 2, "{alloc:?}");
    assert_eq!((shown.ownership_contradictions, shown.untraced_compaction), (0, 0));
    let frames = shown.free_frames.unwrap();
    assert_eq!((frames.only_expected, frames.only_seen), (0, 0), "{frames:?}");
    // The fallback of 6.12.0 takes the largest block, not the smallest.
    let released = report("linux-6.12.117-fallback", Some(Rules::linux_6_12()));
    assert!(released.kind(Kind::Fallback).contradicted > 7_000, "{:?}", released.kinds);
}

#[test]
fn fallbacks_of_linux_6_1_move_before_they_retype() {
    let shown = report("linux-6.1-fallback", None);
    assert_eq!((shown.events, shown.rules.as_str()), (36_347, "linux_6_1"));
    predicted(&shown, Kind::Fallback, 37);
    predicted(&shown, Kind::BuddyTake, 8_480);
    predicted(&shown, Kind::Drain, 2_810);
    predicted(&shown, Kind::Refill, 510);
    predicted(&shown, Kind::DrainCount, 23);
    let alloc = shown.kind(Kind::PcpAlloc);
    assert!(alloc.predicted >= 10_960 && alloc.contradicted <= 2, "{alloc:?}");
    assert_eq!(shown.ownership_contradictions, 0);
    // The end differs by what fell between the trace and the file.
    let frames = shown.free_frames.unwrap();
    assert!(frames.only_expected <= 31 && frames.only_seen == 0, "{frames:?}");
}

#[test]
fn two_nodes_are_explained_each_by_its_lists() {
    let shown = report("linux-6.12.118-two-nodes", None);
    assert_eq!((shown.events, shown.rules.as_str()), (62_158, "linux_6_12_29"));
    let on = |kind, node| {
        let zones = shown.kinds.iter().filter(|((of, zone), _)| (*of, zone.node) == (kind, node));
        zones.map(|(_, counts)| counts.predicted).sum::<u64>()
    };
    for node in [NodeId(0), NodeId(1)] {
        assert!(on(Kind::PcpAlloc, node) > 8_500, "{:?}", shown.kinds);
        assert!(on(Kind::BuddyTake, node) > 3_900, "{:?}", shown.kinds);
        assert!(on(Kind::Refill, node) > 15, "{:?}", shown.kinds);
    }
    predicted(&shown, Kind::BuddyTake, 8_190);
    predicted(&shown, Kind::Drain, 480);
    predicted(&shown, Kind::Refill, 44);
    predicted(&shown, Kind::DrainCount, 1);
    let alloc = shown.kind(Kind::PcpAlloc);
    assert!(alloc.predicted >= 17_180 && alloc.contradicted <= 1, "{alloc:?}");
    assert_eq!(shown.ownership_contradictions, 0);
    let late = shown.after_first_tenth(Kind::BuddyTake);
    assert!(late.undecidable * 100 < late.total(), "{late:?}");
    let frames = shown.free_frames.unwrap();
    assert!(frames.agreed > 95_000, "{frames:?}");
    assert_eq!((frames.only_expected, frames.only_seen), (0, 0), "{frames:?}");
}

/// A recording that began before kpageflags was read, and lost events later: the second reading
/// takes the markers into account as the first does, so that up to the loss both say the same.
#[test]
fn a_loss_after_markers_changes_nothing_before_it() {
    let from = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("traces/linux-6.12.117-fallback");
    let dir = std::env::temp_dir().join(format!("mmspec-markers-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    for entry in std::fs::read_dir(&from).unwrap() {
        let path = entry.unwrap().path();
        std::fs::copy(&path, dir.join(path.file_name().unwrap())).unwrap();
    }
    let bytes = std::fs::read(from.join("trace.txt.gz")).unwrap();
    let mut text = String::new();
    GzDecoder::new(bytes.as_slice()).read_to_string(&mut text).unwrap();
    let mut lines: Vec<&str> = text.lines().take(20_000).collect();
    let mut takes = || {
        std::fs::write(dir.join("trace.txt"), lines.join("\n")).unwrap();
        let cancel = AtomicBool::new(false);
        let shown = explain(&dir.join("trace.txt"), &Options::default(), &cancel, &mut |_| {});
        let last = lines[lines.len() - 1];
        lines.extend(["CPU:0 [LOST 1 EVENTS]", last]);
        let shown = shown.unwrap();
        (shown.lost_events, shown.kind(Kind::BuddyTake), shown.kind(Kind::Drain))
    };
    let (complete, lossy) = (takes(), takes());
    std::fs::remove_dir_all(&dir).unwrap();
    assert_eq!((complete.0, lossy.0), (0, 1));
    assert!(complete.1.predicted > 1_000, "{complete:?}");
    assert_eq!((complete.1, complete.2), (lossy.1, lossy.2));
}
