//! The reference, booted as the machine of the recorded 6.18 texts, shows the numbers that depend
//! on sizes alone: marks, lowmem reserves, batches, limits of per-CPU lists, thresholds, pageblocks.

use mmspec_model::proc::{ProcFile, View, Zoneinfo, parse_pagetypeinfo, parse_zoneinfo};
use mmspec_model::reference::Reference;
use mmspec_model::vocab::{Machine, MigrateType, PfnRange, Rules, Tunables, ZoneKind};

const ZONEINFO: &str = include_str!("proc/6.18/zoneinfo.txt");

/// The recorded machine. Where its holes and its reserved frames lie is not in the texts; how many
/// there are is, and nothing compared here depends on the place.
fn machine(recorded: &Zoneinfo) -> Machine {
    let mut machine = Machine::new(2, &[]);
    for (zone, populated) in recorded.populated() {
        let (start, end) = (populated.start_pfn, populated.start_pfn + zone.spanned);
        let span = PfnRange::new(start, end);
        machine.zones.push(mmspec_model::vocab::ZoneSpan::new(zone.kind, span));
        machine.holes.push(PfnRange::new(end - (zone.spanned - zone.present), end));
        machine.reserved.push(PfnRange::new(start, start + zone.present - zone.managed));
    }
    machine
}

/// Set to 0 what moves while a machine runs.
fn still(info: &mut Zoneinfo) {
    for zone in &mut info.zones {
        zone.free = 0;
        zone.node_stats.iter_mut().flat_map(|stats| &mut stats.0).for_each(|(_, value)| *value = 0);
        let Some(populated) = &mut zone.populated else { continue };
        populated.counters.0.iter_mut().for_each(|(_, value)| *value = 0);
        for set in &mut populated.pagesets {
            set.count = 0;
            set.high = 0;
        }
    }
}

#[test]
fn the_reference_booted_as_a_recorded_machine_shows_its_zoneinfo() {
    let mut recorded = parse_zoneinfo("zoneinfo", ZONEINFO).expect("zoneinfo");
    let machine = machine(&recorded);
    let rules = Rules::linux_6_18();
    // khugepaged had raised it: the sum of the recorded min marks, in KiB.
    let tunables = Tunables { min_free_kbytes: Some(67_584), ..Tunables::default() };
    let booted = Reference::new(&machine, rules, tunables).expect("the machine is possible");
    let view = View::new(&booted, machine.as_ref(), &rules);
    let text = view.text(ProcFile::Zoneinfo);
    let mut shown = parse_zoneinfo("rendered", &text).expect("rendered");
    let dma = shown.zone(0, ZoneKind::Dma).expect("DMA");
    assert_eq!(dma.free, 3840, "all managed pages are free after boot");
    still(&mut shown);
    still(&mut recorded);
    assert_eq!(shown.to_string(), recorded.to_string());

    let types = parse_pagetypeinfo("rendered", &view.text(ProcFile::Pagetypeinfo)).expect("types");
    let blocks = types.pageblocks_of(0, ZoneKind::Dma, MigrateType::Movable);
    assert_eq!(blocks, Some(8), "as many as the recorded machine's, which starts at frame 1");
    let blocks = types.pageblocks_of(0, ZoneKind::Dma32, MigrateType::Movable);
    assert_eq!(blocks, Some(2 + 1526));
}
