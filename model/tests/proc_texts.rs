//! Recorded /proc texts of three kernels: what is parsed prints back byte for byte, and what an
//! edited text gets wrong is named with its line.

use mmspec_model::proc::{
    Figures, ListLength, Names, ProcErrorKind, parse_buddyinfo, parse_pagetypeinfo, parse_vmstat,
    parse_zoneinfo,
};
use mmspec_model::vocab::{MigrateType, Vmstat, ZoneKind};

/// The recorded texts of one kernel.
struct Recorded {
    release: Vmstat,
    buddyinfo: &'static str,
    pagetypeinfo: &'static str,
    zoneinfo: &'static str,
    vmstat: &'static str,
}

macro_rules! recorded {
    ($release:ident, $folder:literal) => {
        Recorded {
            release: Vmstat::$release,
            buddyinfo: include_str!(concat!("proc/", $folder, "/buddyinfo.txt")),
            pagetypeinfo: include_str!(concat!("proc/", $folder, "/pagetypeinfo.txt")),
            zoneinfo: include_str!(concat!("proc/", $folder, "/zoneinfo.txt")),
            vmstat: include_str!(concat!("proc/", $folder, "/vmstat.txt")),
        }
    };
}

const ALL: [Recorded; 4] = [
    recorded!(V6_1, "6.1"),
    recorded!(V6_12, "6.12"),
    recorded!(V6_18, "6.18"),
    recorded!(V6_12, "6.12-two-nodes"),
];

#[test]
fn every_recorded_text_prints_back_byte_for_byte() {
    for recorded in ALL {
        let buddyinfo = parse_buddyinfo("buddyinfo", recorded.buddyinfo).expect("buddyinfo");
        assert_eq!(buddyinfo.to_string(), recorded.buddyinfo);
        let types = parse_pagetypeinfo("pagetypeinfo", recorded.pagetypeinfo).expect("types");
        assert_eq!(types.to_string(), recorded.pagetypeinfo);
        let zoneinfo = parse_zoneinfo("zoneinfo", recorded.zoneinfo).expect("zoneinfo");
        assert_eq!(zoneinfo.to_string(), recorded.zoneinfo);
        let vmstat = parse_vmstat("vmstat", recorded.vmstat).expect("vmstat");
        assert_eq!(vmstat.to_string(), recorded.vmstat);
    }
}

#[test]
fn names_and_their_order_are_those_of_the_recorded_texts() {
    for recorded in ALL {
        let names = Names::of(recorded.release);
        let vmstat = parse_vmstat("vmstat", recorded.vmstat).expect("vmstat");
        assert!(names.vmstat().eq(vmstat.iter().map(|(name, _)| name)), "{:?}", recorded.release);
        let zoneinfo = parse_zoneinfo("zoneinfo", recorded.zoneinfo).expect("zoneinfo");
        let node = zoneinfo.zones[0].node_stats.as_ref().expect("the first zone has them");
        assert!(names.node().eq(node.iter().map(|(name, _)| name)), "{:?}", recorded.release);
        for (_, zone) in zoneinfo.populated() {
            assert!(names.zone().eq(zone.counters.iter().map(|(name, _)| name)));
        }
    }
}

#[test]
fn the_four_texts_of_a_recording_agree_on_its_free_pages() {
    for recorded in ALL {
        let buddyinfo = parse_buddyinfo("buddyinfo", recorded.buddyinfo).expect("buddyinfo");
        let types = parse_pagetypeinfo("pagetypeinfo", recorded.pagetypeinfo).expect("types");
        let zoneinfo = parse_zoneinfo("zoneinfo", recorded.zoneinfo).expect("zoneinfo");
        for (zone, populated) in zoneinfo.populated() {
            assert_eq!(populated.counters.get("nr_free_pages"), Some(zone.free));
            let row = buddyinfo.row(zone.node, zone.kind).expect("a populated zone has a row");
            assert!(row.pages() > 0);
            let listed: u64 = types
                .types
                .iter()
                .filter_map(|of| types.row(zone.node, zone.kind, *of))
                .flat_map(|row| row.lists.iter().enumerate())
                .map(|(order, list)| list.blocks << order)
                .sum();
            // The texts are read one after the other on a running machine.
            assert!(row.pages().abs_diff(listed) < 200, "{} {listed}", row.pages());
            let per_block = types.pageblock_pages;
            let blocks: u64 = types
                .types
                .iter()
                .filter_map(|of| types.pageblocks_of(zone.node, zone.kind, *of))
                .sum();
            // Present memory whose sections are offline (the 6.18 machine has some) is not counted.
            assert!(
                (zone.managed / per_block..=zone.present.div_ceil(per_block)).contains(&blocks)
            );
        }
    }
}

#[test]
fn zoneinfo_is_read_into_its_fields() {
    let zoneinfo = parse_zoneinfo("zoneinfo", ALL[2].zoneinfo).expect("zoneinfo");
    let zone = zoneinfo.zone(0, ZoneKind::Dma32).expect("DMA32");
    assert_eq!((zone.min, zone.low, zone.high, zone.promo), (3997, 4996, 5995, Some(6994)));
    assert_eq!((zone.spanned, zone.present, zone.managed), (1_044_480, 782_336, 772_917));
    assert_eq!(zone.protection, [0, 0, 9728, 9728, 9728]);
    let populated = zone.populated.as_ref().expect("DMA32 has pages");
    assert_eq!(populated.start_pfn, 4096);
    let set = populated.pagesets[1];
    assert_eq!((set.cpu, set.count, set.high, set.batch), (1, 62, 2498, 63));
    assert_eq!((set.high_min, set.high_max), (Some(2498), Some(48307)));
    assert_eq!(set.stat_threshold, Some(24));
    assert!(zoneinfo.zone(0, ZoneKind::Movable).expect("Movable").populated.is_none());

    let older = parse_zoneinfo("zoneinfo", ALL[0].zoneinfo).expect("zoneinfo");
    let zone = older.zone(0, ZoneKind::Dma32).expect("DMA32");
    assert_eq!(zone.promo, None);
    assert_eq!(zone.populated.as_ref().expect("populated").pagesets[0].high_min, None);
}

#[test]
fn capped_lists_and_mixed_blocks_print_back() {
    let text = ALL[1]
        .pagetypeinfo
        .replace("     0      1      0      1 ", ">100000      1      0      1 ");
    assert_ne!(text, ALL[1].pagetypeinfo);
    let text = format!("{text}\n{:<23}", "Number of mixed blocks ")
        + "   Unmovable      Movable  Reclaimable   HighAtomic      Isolate \n"
        + "Node 0, zone      DMA            1            0            0            0            0 \n";
    let info = parse_pagetypeinfo("pagetypeinfo", &text).expect("capped");
    let row = info.row(0, ZoneKind::Dma32, MigrateType::Unmovable).expect("a row");
    assert_eq!(row.lists[0], ListLength { blocks: 100_000, capped: true });
    assert_eq!(info.mixed.as_ref().map(Vec::len), Some(1));
    assert_eq!(info.to_string(), text);
}

#[test]
fn an_error_names_file_line_and_a_way_out() {
    let text = ALL[1].zoneinfo.replace("        managed  3840", "        managed  many");
    let error = parse_zoneinfo("before/zoneinfo.txt", &text).expect_err("not a number");
    let shown = error.to_string();
    assert!(shown.starts_with("before/zoneinfo.txt:58: "), "{shown}");
    assert!(shown.contains("many") && shown.contains("unedited copy"), "{shown}");

    let error = parse_vmstat("vmstat", "nr_free_pages 1\nnr_mlock\n").expect_err("no value");
    assert_eq!(error.line, 2);
    assert!(matches!(error.kind, ProcErrorKind::Unexpected { .. }));

    let error = parse_buddyinfo("b", "Node 0, zone  HighMem 1 2 3\n").expect_err("HighMem");
    assert!(matches!(&error.kind, ProcErrorKind::Zone { found } if found == "HighMem"));

    for empty in ["", "\n"] {
        assert!(parse_buddyinfo("b", empty).is_err());
        assert!(parse_pagetypeinfo("p", empty).is_err());
        assert!(parse_zoneinfo("z", empty).is_err());
        assert!(parse_vmstat("v", empty).is_err());
    }
}

/// Every prefix and every single-line deletion of a text is read or refused, never a panic; and
/// what is accepted prints back to what was given.
#[test]
fn damaged_texts_are_refused_or_read_as_given() {
    for recorded in ALL {
        for text in [recorded.buddyinfo, recorded.pagetypeinfo, recorded.zoneinfo] {
            let lines: Vec<&str> = text.lines().collect();
            for at in 0..lines.len() {
                for damaged in [lines[..at].to_vec(), [&lines[..at], &lines[at + 1..]].concat()] {
                    let damaged: String = damaged.iter().flat_map(|line| [*line, "\n"]).collect();
                    let printed = [
                        parse_buddyinfo("b", &damaged).map(|info| info.to_string()),
                        parse_pagetypeinfo("p", &damaged).map(|info| info.to_string()),
                        parse_zoneinfo("z", &damaged).map(|info| info.to_string()),
                    ];
                    for printed in printed.into_iter().flatten() {
                        assert_eq!(printed, damaged);
                    }
                }
            }
        }
    }
}

#[test]
fn figures_name_every_number_that_changed() {
    let figures = |buddyinfo: &str, vmstat: &str| {
        let recorded = &ALL[1];
        Figures::new(
            &parse_buddyinfo("b", buddyinfo).expect("buddyinfo"),
            &parse_pagetypeinfo("p", recorded.pagetypeinfo).expect("pagetypeinfo"),
            &parse_zoneinfo("z", recorded.zoneinfo).expect("zoneinfo"),
            &parse_vmstat("v", vmstat).expect("vmstat"),
        )
    };
    let before = figures(ALL[1].buddyinfo, "pgfree 7\nold 1\n");
    assert_eq!(before.get("DMA32 cpu 1 count"), Some(1816));
    assert_eq!(before.get("DMA32 pageblocks Movable"), Some(228));
    assert_eq!(before.changes(&before), []);
    let fewer = ALL[1].buddyinfo.replace("  101 ", "  100 ");
    let after = figures(&fewer, "pgfree 9\nnew 2\n");
    let shown: Vec<String> = before.changes(&after).iter().map(ToString::to_string).collect();
    let expected = [
        "DMA32 order 10 101 -> 100 (-1)",
        "pgfree 7 -> 9 (+2)",
        "new not shown -> 2",
        "old 1 -> not shown",
    ];
    assert_eq!(shown, expected);
}
