//! Bytes as a kernel's trace of a small machine: an error or a report, never a panic.
#![no_main]

use mmspec_model::proc::{ProcFile, View, parse_zoneinfo};
use mmspec_model::reference::Reference;
use mmspec_model::vocab::{Machine, Rules, Tunables, ZoneKind};
use mmspec_proptests::trace::{Reader, Snapshot, explain_reader};
use std::sync::LazyLock;
use std::sync::atomic::AtomicBool;

/// The machine as its /proc shows it before the trace: nothing is known of its lists.
static BEFORE: LazyLock<Snapshot> = LazyLock::new(|| {
    let zones = [(ZoneKind::Dma, 1, 0x400), (ZoneKind::Normal, 0x400, 0x2000)];
    let machine = Machine::new(2, &zones);
    let rules = Rules::linux_6_12();
    let booted = Reference::new(&machine, rules, Tunables::default()).expect("the machine boots");
    let text = View::new(&booted, machine.as_ref(), &rules).text(ProcFile::Zoneinfo);
    let zoneinfo = parse_zoneinfo("zoneinfo", &text).expect("rendered texts parse");
    Snapshot { zoneinfo: Some(zoneinfo), ..Snapshot::default() }
});

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let (rules, trace) = match data.split_first() {
        Some((first, rest)) => (Rules::PRESETS[usize::from(*first) % Rules::PRESETS.len()].1, rest),
        None => return,
    };
    let reader = Reader::new(trace, "fuzzed");
    let report = explain_reader(
        reader,
        &BEFORE,
        &Snapshot::default(),
        rules,
        &AtomicBool::new(false),
        &mut |_| {},
    );
    if let Ok(report) = report {
        // An event is judged once under each heading at most; each CPU's last amount at the end.
        for (kind, counts) in &report.kinds {
            let judged = counts.total();
            let events = report.events;
            assert!(judged <= events + 2, "{judged} verdicts on {kind:?} for {events} events");
        }
    }
});
