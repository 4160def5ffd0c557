//! The trace engine: a real kernel's recording, traces made by the reference, and damaged input.

use flate2::read::GzDecoder;
use mmspec_model::contract::{BatchFree, Observe, Outcome, PageAllocator, Request};
use mmspec_model::proc::parse_zoneinfo;
use mmspec_model::reference::Reference;
use mmspec_model::vocab::{
    CpuId, Gfp, KmemEvent, Machine, MigrateType, Order, Pfn, Rules, Tunables, ZoneIdx, ZoneKind,
};
use mmspec_proptests::trace::{
    Kind, Line, Options, Payload, Reader, RecordError, Recording, Report, Snapshot, TraceErrorKind,
    explain, explain_reader, record,
};
use std::fmt::Write as _;
use std::io::Read as _;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("traces/linux-6.12-shell")
}

fn recorded() -> String {
    let bytes = std::fs::read(folder().join("trace.txt.gz")).unwrap();
    let mut text = String::new();
    GzDecoder::new(bytes.as_slice()).read_to_string(&mut text).unwrap();
    text
}

fn run(text: &str, before: &Snapshot, rules: Rules) -> Result<Report, TraceErrorKind> {
    let reader = Reader::new(text.as_bytes(), "trace.txt");
    let cancel = AtomicBool::new(false);
    explain_reader(reader, before, &Snapshot::default(), rules, &cancel, &mut |_| {})
        .map_err(|error| error.kind)
}

/// A recording of Linux 6.12 under a shell's load.
#[test]
fn a_recording_of_linux_6_12_is_explained() {
    let cancel = AtomicBool::new(false);
    let options = Options::default();
    let report = explain(&folder().join("trace.txt.gz"), &options, &cancel, &mut |_| {}).unwrap();
    assert_eq!((report.events, report.lost_events), (152_997, 0));
    assert_eq!(report.rules, "linux_6_12_29");
    assert_eq!(report.ownership_contradictions, 0);
    let alloc = report.kind(Kind::PcpAlloc);
    assert!(alloc.predicted >= 39_300 && alloc.undecidable <= 450, "{alloc:?}");
    assert!(alloc.predicted * 1000 >= alloc.decidable() * 996, "{alloc:?}");
    // Pages of the last processes' stacks, which the recording ends before they are freed.
    assert_eq!(alloc.contradicted, 4, "{:#?}", report.unexplained);
    let take = report.kind(Kind::BuddyTake);
    assert!(take.predicted >= 14_730 && take.contradicted == 0, "{take:?}");
    let drain = report.kind(Kind::Drain);
    assert!(drain.predicted >= 9_890 && drain.contradicted == 0, "{drain:?}");
    let refill = report.kind(Kind::Refill);
    assert!(refill.predicted >= 79 && refill.contradicted == 0, "{refill:?}");
    let drains = report.kind(Kind::DrainCount);
    assert!(drains.predicted >= 75 && drains.contradicted == 0, "{drains:?}");
    let late = report.after_first_tenth(Kind::BuddyTake);
    assert!(late.undecidable * 100 < late.total(), "{late:?}");
    // What fell between the trace's end and the snapshot after.
    let frames = report.free_frames.unwrap();
    assert!(frames.agreed >= 105_500 && frames.only_expected < 50, "{frames:?}");
}

/// The sizes of refills and drains are those of the kernel's era, and of no other.
#[test]
fn another_era_is_contradicted_by_its_amounts() {
    let before = Snapshot::load(&folder(), "before").unwrap();
    let report = run(&recorded(), &before, Rules::linux_6_1()).unwrap();
    assert!(report.kind(Kind::DrainCount).contradicted > 0, "{:?}", report.kinds);
    assert!(report.kind(Kind::Refill).contradicted > 0, "{:?}", report.kinds);
}

/// After a loss the free lists are worked out from the end of the trace.
#[test]
fn knowledge_begins_anew_after_a_loss() {
    let dir = std::env::temp_dir().join(format!("mmspec-resume-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    for entry in std::fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        std::fs::copy(&path, dir.join(path.file_name().unwrap())).unwrap();
    }
    let text = recorded();
    let mut lines: Vec<&str> = text.lines().collect();
    lines.drain(20_000..20_400);
    lines.insert(20_000, "CPU:1 [LOST 400 EVENTS]");
    std::fs::write(dir.join("trace.txt"), lines.join("\n")).unwrap();
    let cancel = AtomicBool::new(false);
    let report = explain(&dir.join("trace.txt"), &Options::default(), &cancel, &mut |_| {});
    std::fs::remove_dir_all(&dir).unwrap();
    let report = report.unwrap();
    assert_eq!((report.lost_events, report.ownership_contradictions), (400, 0));
    let take = report.kind(Kind::BuddyTake);
    // Pages that were taken in the lost part, and came back after the end of the trace.
    assert!(take.predicted > 14_500 && take.contradicted <= 4, "{take:?}");
}

/// The recording with the frame number of one event changed.
fn with_other_pfn(text: &str, event: &str, skip: usize) -> String {
    let mut seen = 0;
    let mut out = String::new();
    for line in text.lines() {
        if line.contains(event) {
            seen += 1;
            if seen == skip {
                let start = line.find("pfn=0x").unwrap() + 6;
                let end = start + line[start..].find(' ').unwrap();
                let pfn = u64::from_str_radix(&line[start..end], 16).unwrap();
                // A frame far away that the machine has: it can't head the same list.
                writeln!(out, "{}{:x}{}", &line[..start], pfn ^ 0x4000, &line[end..]).unwrap();
                continue;
            }
        }
        writeln!(out, "{line}").unwrap();
    }
    assert!(seen >= skip, "only {seen} {event} events");
    out
}

/// Canary: a kernel that hands out another page than the rules say is contradicted.
#[test]
fn a_wrong_frame_is_contradicted() {
    let text = recorded();
    let before = Snapshot::load(&folder(), "before").unwrap();
    let clean = run(&text, &before, Rules::linux_6_12()).unwrap();
    for (event, skip, kind) in [
        ("mm_page_alloc:", 30000, Kind::PcpAlloc),
        ("mm_page_alloc_zone_locked:", 5000, Kind::BuddyTake),
        ("mm_page_pcpu_drain:", 8000, Kind::Drain),
    ] {
        let text = with_other_pfn(&text, event, skip);
        let report = run(&text, &before, Rules::linux_6_12()).unwrap();
        let worse = report.kind(kind).contradicted > clean.kind(kind).contradicted;
        assert!(worse || report.ownership_contradictions > 0, "{event} {:?}", report.kinds);
    }
}

/// A trace that the reference makes holds no contradiction, whatever the rules; under the rules of
/// another kernel the same trace does.
#[test]
fn a_trace_of_the_reference_is_predicted() {
    for rules in [Rules::linux_6_1(), Rules::linux_6_12(), Rules::linux_6_18()] {
        let machine = Machine::new(2, &[(ZoneKind::Normal, 4096, 20480)]);
        let mut reference = Reference::new(&machine, rules, Tunables::default()).unwrap();
        let before = snapshot(&reference);
        reference.start_trace();
        let text = play(&mut reference);
        let report = run(&text, &before, rules).unwrap();
        assert!(report.is_consistent(), "{rules:?}: {:#?}", report.unexplained);
        assert!(report.kind(Kind::PcpAlloc).predicted > 1000, "{:?}", report.kinds);
        assert!(report.kind(Kind::BuddyTake).predicted > 1000, "{:?}", report.kinds);
        assert!(report.kind(Kind::Drain).predicted > 500, "{:?}", report.kinds);
        assert!(report.kind(Kind::Fallback).predicted > 0, "{:?}", report.kinds);
    }
}

fn snapshot(reference: &Reference) -> Snapshot {
    let zone = reference.zone_state(ZoneIdx(0));
    let mut flags = vec![0_u64; 20480];
    for order in Order::ZERO.up_to(Order::MAX) {
        for mt in MigrateType::ALL {
            reference.for_each_free(ZoneIdx(0), order, mt, &mut |pfn| {
                flags[pfn.index()..pfn.index() + order.pages() as usize].fill(1 << 10);
            });
        }
    }
    let mut text = format!(
        "Node 0, zone   Normal\n  pages free     {free}\n        boost    0\n        min      {min}\n        \
         low      {low}\n        high     {high}\n        spanned  16384\n        present  16384\n        \
         managed  {managed}\n        cma      0\n        protection: (0, 0, 0, 0, 0)\n      \
         nr_free_pages {free}\n  pagesets\n",
        free = zone.nr_free_pages_exact,
        managed = zone.managed,
        min = zone.marks[0],
        low = zone.marks[1],
        high = zone.marks[2],
    );
    for cpu in 0..2 {
        let pcp = reference.pcp_state(CpuId(cpu), ZoneIdx(0));
        write!(
            text,
            "    cpu: {cpu}\n              count: {}\n              high:  {}\n              batch: {}\n  \
             vm stats threshold: 4\n",
            pcp.count, pcp.high, pcp.batch
        )
        .unwrap();
    }
    text.push_str("  node_unreclaimable:  0\n  start_pfn:           4096\n");
    let zoneinfo = parse_zoneinfo("zoneinfo", &text).unwrap();
    Snapshot { zoneinfo: Some(zoneinfo), kpageflags: Some(flags), ..Snapshot::default() }
}

/// A fixed load on two CPUs: growth, random frees, batches, kernel and movable pages.
fn play(reference: &mut Reference) -> String {
    let mut text = String::new();
    let mut time = 1_000_000;
    let mut random = 0x9E37_79B9_u64;
    let mut next = move || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random
    };
    let mut held: Vec<(Pfn, Order)> = Vec::new();
    for _ in 0..12_000 {
        let cpu = CpuId((next() % 2) as u16);
        if held.len() < 200 || next() % 100 < 52 {
            let order = Order::of([0, 0, 0, 0, 1, 2, 3, 4, 9][(next() % 9) as usize]);
            let gfp = [Gfp::KERNEL, Gfp::HIGHUSER_MOVABLE, Gfp::KERNEL | Gfp::RECLAIMABLE]
                [(next() % 3) as usize];
            if let Outcome::Page(pfn) = reference.alloc_pages(cpu, Request::new(order, gfp)) {
                held.push((pfn, order));
            }
        } else if next() % 8 == 0 {
            let mut batch = Vec::new();
            for _ in 0..8 {
                batch.push(held.swap_remove((next() as usize) % held.len()));
            }
            reference.free_batch(cpu, &batch);
        } else {
            let (pfn, order) = held.swap_remove((next() as usize) % held.len());
            reference.free_pages(cpu, pfn, order);
        }
        for event in reference.take_trace() {
            time += 1;
            let line = Line {
                cpu: cpu.0,
                pid: 100 + u32::from(cpu.0),
                worker: false,
                time_us: time,
                event,
            };
            writeln!(text, "{line}").unwrap();
        }
    }
    text
}

/// What is rendered is read back.
#[test]
fn rendered_events_are_read_back() {
    let (pfn, order, migratetype) = (Pfn(0x2bd8), Order::of(3), MigrateType::Movable);
    let gfp = Gfp::HIGHUSER_MOVABLE | Gfp::ZERO;
    for event in [
        KmemEvent::PageAlloc { pfn: Some(pfn), order, gfp, migratetype },
        KmemEvent::PageAlloc { pfn: None, order, gfp, migratetype },
        KmemEvent::PageFree { pfn, order },
        KmemEvent::PageFreeBatched { pfn },
        KmemEvent::ZoneLocked { pfn, order, migratetype, percpu_refill: true },
        KmemEvent::PcpuDrain { pfn, order, migratetype },
        KmemEvent::ExtFrag {
            pfn,
            alloc_order: order,
            fallback_order: Order::of(9),
            alloc_migratetype: migratetype,
            fallback_migratetype: MigrateType::Unmovable,
            change_ownership: true,
        },
    ] {
        let line = Line { cpu: 1, pid: 42, worker: false, time_us: 6_212_793, event }.to_string();
        let mut reader = Reader::new(line.as_bytes(), "t");
        let read = reader.next_event().unwrap().unwrap();
        assert_eq!(read.payload, Payload::Kmem(event));
        assert_eq!((read.cpu, read.pid, read.time_us), (1, 42, 6_212_793));
    }
}

/// Damaged input is refused with its reason.
#[test]
fn damaged_traces_are_refused() {
    let before = Snapshot::load(&folder(), "before").unwrap();
    let bad = |text: &str| run(text, &before, Rules::linux_6_12()).unwrap_err();
    assert!(matches!(bad("hello\n"), TraceErrorKind::Line));
    assert!(matches!(bad("# tracer: nop\n"), TraceErrorKind::NoEvents));
    let good = "  a-1 [000] ..... 1.000001: mm_page_free: page=1 pfn=0x2bd8 order=0\n";
    assert!(run(good, &before, Rules::linux_6_12()).is_ok());
    let cut = "  a-1 [000] ..... 1.000001: mm_page_free: page=1 pfn=0x2bd8 ord";
    assert!(matches!(bad(cut), TraceErrorKind::Field { field: "order", .. }));
    let order = "  a-1 [000] ..... 1.000001: mm_page_free: page=1 pfn=0x2bd8 order=99\n";
    assert!(matches!(bad(order), TraceErrorKind::Field { field: "order", .. }));
    let nowhere = run(good, &Snapshot::default(), Rules::linux_6_12()).unwrap_err();
    assert!(matches!(nowhere, TraceErrorKind::NoZoneinfo));
}

/// Lost events end all knowledge; what was known before them contradicts nothing after them.
#[test]
fn lost_events_end_knowledge() {
    let text = recorded();
    let before = Snapshot::load(&folder(), "before").unwrap();
    let mut lines: Vec<&str> = text.lines().collect();
    let dropped = lines.drain(6000..6400).count();
    lines.insert(6000, "CPU:0 [LOST 400 EVENTS]");
    let report = run(&lines.join("\n"), &before, Rules::linux_6_12()).unwrap();
    assert_eq!(report.lost_events, dropped as u64);
    assert_eq!(report.ownership_contradictions, 0);
    assert_eq!(report.kind(Kind::BuddyTake).contradicted, 0);
    lines.remove(6000);
    let silent = run(&lines.join("\n"), &before, Rules::linux_6_12()).unwrap();
    assert!(!silent.is_consistent(), "events that vanish without a word must show");
}

/// A recording never writes over files that are there, with or without root.
#[test]
fn a_recording_overwrites_nothing() {
    let cancel = AtomicBool::new(true);
    let error = record(&folder(), &Recording::default(), &cancel, &mut |_| {}).unwrap_err();
    assert!(matches!(error, RecordError::NotEmpty(_)), "{error}");
}

/// Events that fall into the reading of kpageflags correct it.
#[test]
fn events_during_the_snapshot_correct_it() {
    let before = Snapshot::load(&folder(), "before").unwrap();
    let line = |us: u64, text: &str| format!("  a-1 [000] ..... 1.{us:06}: {text}\n");
    let taken =
        "mm_page_alloc_zone_locked: page=1 pfn=0x10000 order=10 migratetype=1 percpu_refill=0";
    let during = line(1, "tracing_mark_write: mmspec: snapshot begins")
        + &line(2, taken)
        + &line(3, "tracing_mark_write: mmspec: snapshot ends");
    // Freed after: only a block that is known to be in use merges back without a contradiction.
    let after = line(4, "mm_page_free: page=1 pfn=0x10000 order=10");
    let report = run(&format!("{during}{after}"), &before, Rules::linux_6_12()).unwrap();
    assert_eq!(report.ownership_contradictions, 0, "{:?}", report.unexplained);
    let report = run(&after, &before, Rules::linux_6_12()).unwrap();
    assert_eq!(report.ownership_contradictions, 1);
}
