//! The texts of machines with several nodes, against a recording and by hand.

use mmspec_model::contract::{
    KswapdReply, KswapdStep, Nodes, Observe, PageAllocator, Request, SlowPath, SlowReply, SlowStep,
};
use mmspec_model::proc::{ProcFile, View, Zoneinfo, parse_vmstat, parse_zoneinfo};
use mmspec_model::reference::Reference;
use mmspec_model::vocab::{
    AllocFlags, CpuId, Gfp, Machine, Mark, NodeId, Order, PfnRange, Rules, Tunables, ZoneKind,
    ZoneSpan,
};

const BUDDYINFO: &str = include_str!("proc/6.12-two-nodes/buddyinfo.txt");
const PAGETYPEINFO: &str = include_str!("proc/6.12-two-nodes/pagetypeinfo.txt");
const ZONEINFO: &str = include_str!("proc/6.12-two-nodes/zoneinfo.txt");
const VMSTAT: &str = include_str!("proc/6.12-two-nodes/vmstat.txt");

/// The recorded machine: node 0 with CPU 0, node 1 with CPU 1.
fn recorded() -> Machine {
    let info: Zoneinfo = parse_zoneinfo("zoneinfo", ZONEINFO).expect("zoneinfo");
    let mut machine = Machine::new(2, &[]);
    machine.nodes = 2;
    machine.cpu_nodes = vec![NodeId(0), NodeId(1)];
    for (zone, populated) in info.populated() {
        let (start, end) = (populated.start_pfn, populated.start_pfn + zone.spanned);
        let span = ZoneSpan::new(zone.kind, PfnRange::new(start, end));
        machine.zones.push(span.on(NodeId(zone.node as u8)));
        machine.holes.push(PfnRange::new(end - (zone.spanned - zone.present), end));
        machine.reserved.push(PfnRange::new(start, start + zone.present - zone.managed));
    }
    machine
}

/// A text without its numbers, but for the nodes, the CPUs and the first columns' names.
fn shape(text: &str) -> Vec<String> {
    let blank = |line: &str| {
        if line.starts_with("Node") && line.split_whitespace().count() == 4 {
            return line.to_string();
        }
        if line.contains("cpu:") {
            return line.to_string();
        }
        let words = line.split_whitespace().enumerate().map(|(at, word)| {
            let kept = line.starts_with("Node") && at < 4;
            let number = word.bytes().any(|byte| byte.is_ascii_digit());
            let name = word.bytes().any(|byte| byte.is_ascii_lowercase());
            if kept || !number || name { word } else { "#" }
        });
        words.collect::<Vec<_>>().join(" ")
    };
    text.lines().map(blank).collect()
}

#[test]
fn the_recorded_shapes() {
    let machine = recorded();
    let rules = Rules::linux_6_12_29();
    let booted = Reference::new(&machine, rules, Tunables::default()).expect("possible");
    let view = View::new(&booted, machine.as_ref(), &rules).with_nodes(&booted);
    for (file, text) in [
        (ProcFile::Buddyinfo, BUDDYINFO),
        (ProcFile::Pagetypeinfo, PAGETYPEINFO),
        (ProcFile::Zoneinfo, ZONEINFO),
        (ProcFile::Vmstat, VMSTAT),
    ] {
        assert_eq!(shape(&view.text(file)), shape(text), "{}", file.name());
    }
    // What follows from sizes alone is what was recorded.
    let shown = parse_zoneinfo("rendered", &view.text(ProcFile::Zoneinfo)).expect("rendered");
    let info = parse_zoneinfo("zoneinfo", ZONEINFO).expect("zoneinfo");
    for (shown, recorded) in shown.zones.iter().zip(&info.zones) {
        let sizes = |z: &mmspec_model::proc::ZoneEntry| {
            (z.node, z.kind, z.spanned, z.present, z.managed, z.node_stats.is_some())
        };
        assert_eq!(sizes(shown), sizes(recorded));
        let sets = |z: &mmspec_model::proc::ZoneEntry| -> Vec<_> {
            let sets = z.populated.iter().flat_map(|populated| &populated.pagesets);
            sets.map(|set| (set.cpu, set.batch, set.stat_threshold)).collect()
        };
        assert_eq!(sets(shown), sets(recorded));
    }
}

/// Node 0: DMA32 and Normal; node 1: CPUs only; node 2: Normal only.
fn three() -> Machine {
    let mut machine = Machine::new(2, &[]);
    machine.nodes = 3;
    machine.cpu_nodes = vec![NodeId(0), NodeId(1)];
    for (node, kind, start, end) in [
        (0, ZoneKind::Dma32, 0, 8192),
        (0, ZoneKind::Normal, 8192, 16384),
        (2, ZoneKind::Normal, 16384, 32768),
    ] {
        machine.zones.push(ZoneSpan::new(kind, PfnRange::new(start, end)).on(NodeId(node)));
    }
    machine
}

fn boot(rules: Rules) -> Reference {
    let tunables = Tunables { min_free_kbytes: Some(1024), ..Tunables::default() };
    Reference::new(&three(), rules, tunables).expect("possible")
}

#[test]
fn a_node_without_memory_lists_its_empty_zones() {
    let rules = Rules::linux_6_18();
    let booted = boot(rules);
    let machine = three();
    let view = View::new(&booted, machine.as_ref(), &rules);
    let text = view.text(ProcFile::Zoneinfo);
    let heads: Vec<&str> = text.lines().filter(|line| line.starts_with("Node")).collect();
    let expected: Vec<String> = (0..3)
        .flat_map(|node| ZoneKind::ALL.map(|kind| format!("Node {node}, zone {:>8}", kind.name())))
        .collect();
    assert_eq!(heads, expected);
    let shown = parse_zoneinfo("rendered", &text).expect("rendered");
    let with_stats: Vec<(u32, ZoneKind)> = shown
        .zones
        .iter()
        .filter(|zone| zone.node_stats.is_some())
        .map(|zone| (zone.node, zone.kind))
        .collect();
    assert_eq!(with_stats, [(0, ZoneKind::Dma32), (2, ZoneKind::Normal)]);
    assert_eq!(shown.populated().count(), 3);
    assert_eq!(
        view.text(ProcFile::Buddyinfo),
        "Node 0, zone    DMA32      0      0      0      0      0      0      0      0      0      0      8 \n\
         Node 0, zone   Normal      0      0      0      0      0      0      0      0      0      0      8 \n\
         Node 2, zone   Normal      0      0      0      0      0      0      0      0      0      0     16 \n"
    );
    let types = view.text(ProcFile::Pagetypeinfo);
    assert_eq!(types.matches("Page block order: 9\n").count(), 2, "one for each node with memory");
    assert!(types.contains("\nNode 2, zone   Normal            0           32            0            0            0 \n"));
    assert!(!types.contains("Node 1"));
}

#[test]
fn numa_counters_of_each_zone_and_their_sums() {
    let rules = Rules::linux_6_12();
    let mut r = boot(rules);
    // CPU 1's node has no memory: node 2 is nearer than node 0, a hit and not local.
    let request = Request::new(Order::ZERO, Gfp::KERNEL);
    assert!(r.alloc_pages(CpuId(1), request).page().is_some());
    assert!(r.alloc_pages(CpuId(0), request).page().is_some());
    let machine = three();
    let view = View::new(&r, machine.as_ref(), &rules);
    let info = parse_zoneinfo("rendered", &view.text(ProcFile::Zoneinfo)).expect("rendered");
    let of = |node, name| {
        let zone = info.zone(node, ZoneKind::Normal).and_then(|zone| zone.populated.as_ref());
        zone.and_then(|zone| zone.counters.get(name))
    };
    assert_eq!([of(2, "numa_hit"), of(2, "numa_local"), of(2, "numa_other")], [1, 0, 1].map(Some));
    assert_eq!([of(0, "numa_hit"), of(0, "numa_local"), of(0, "numa_other")], [1, 1, 0].map(Some));
    let vmstat = parse_vmstat("rendered", &view.text(ProcFile::Vmstat)).expect("rendered");
    let sums = ["numa_hit", "numa_miss", "numa_foreign", "numa_local", "numa_other"];
    assert_eq!(sums.map(|name| vmstat.get(name)), [2, 0, 0, 1, 1].map(Some));
}

/// nr_alloc_batch stands second in zoneinfo and vmstat, below 0 it is shown as 0; other rules do not
/// have it.
#[test]
fn the_batch_is_shown_under_fair_rules() {
    let rules = Rules::linux_3_17();
    let mut r = boot(rules);
    let machine = three();
    let full: Vec<u64> = (0..3)
        .map(|zone| r.zone_state(mmspec_model::vocab::ZoneIdx(zone)).nr_alloc_batch as u64)
        .collect();
    assert_eq!(full, [16, 16, 32], "256 pages of MIN: t/2 − t/4 of 64, 64 and 128");
    let text = |r: &Reference| {
        let view = View::new(r, machine.as_ref(), &rules);
        (view.text(ProcFile::Vmstat), view.text(ProcFile::Zoneinfo))
    };
    let (vmstat, zoneinfo) = text(&r);
    assert!(vmstat.starts_with("nr_free_pages 32768\nnr_alloc_batch 64\n"), "{}", &vmstat[..60]);
    assert_eq!(zoneinfo.matches("      nr_alloc_batch 16\n").count(), 2);
    assert!(zoneinfo.contains("      nr_free_pages 16384\n      nr_alloc_batch 32\n"));
    for _ in 0..3 {
        let request = Request::new(Order::of(5), Gfp::KERNEL).on(NodeId(2));
        assert!(r.alloc_pages(CpuId(0), request).page().is_some());
    }
    let (_, zoneinfo) = text(&r);
    assert!(zoneinfo.contains("      nr_alloc_batch 0\n"));
    let plain = Rules::linux_6_1();
    let r = boot(plain);
    let view = View::new(&r, machine.as_ref(), &plain);
    assert!(!view.text(ProcFile::Vmstat).contains("nr_alloc_batch"));
    assert!(!view.text(ProcFile::Zoneinfo).contains("nr_alloc_batch"));
}

/// Every event of the slow path and of kswapd under its kernel name, and a hopeless node.
#[test]
fn events_of_the_slow_path() {
    let rules = Rules::linux_6_12();
    let mut r = boot(rules);
    let take = Request::new(Order::of(5), Gfp::KERNEL).at(Mark::Min, AllocFlags::NO_WATERMARKS);
    while r.alloc_pages(CpuId(0), take).page().is_some() {}
    r.set_reclaimable(mmspec_model::vocab::ZoneIdx(1), 100);
    let mut walk = r.slow_begin(CpuId(0), Request::new(Order::of(1), Gfp::KERNEL));
    let mut reply = None;
    let mut kills = 0;
    loop {
        reply = Some(match r.slow_step(&mut walk, reply) {
            SlowStep::Done(_) => break,
            SlowStep::Reclaim { .. } => SlowReply::Reclaimed(0),
            SlowStep::Compact { .. } => {
                SlowReply::Compacted(mmspec_model::contract::CompactResult::Complete)
            }
            SlowStep::OomLock => SlowReply::OomLock(true),
            SlowStep::OomKill { .. } => {
                kills += 1;
                SlowReply::Killed(kills == 1)
            }
            SlowStep::Throttle { .. } | SlowStep::Yield | SlowStep::DrainWait => {
                SlowReply::Woken { killed: false }
            }
        });
    }
    let machine = three();
    let of = |r: &Reference, name: &str| {
        let text = View::new(r, machine.as_ref(), &rules).text(ProcFile::Vmstat);
        parse_vmstat("rendered", &text).expect("rendered").get(name)
    };
    // Two rounds, since the first ended in a kill.
    for (name, value) in [
        ("allocstall_normal", 2),
        ("allocstall_movable", 0),
        ("pgscan_direct_throttle", 2),
        ("compact_stall", 3),
        ("compact_fail", 3),
        ("compact_success", 0),
        ("oom_kill", 1),
        ("pageoutrun", 0),
    ] {
        assert_eq!(of(&r, name), Some(value), "{name}");
    }
    let mut reply = None;
    let mut early = true;
    loop {
        reply = match r.kswapd_step(NodeId(0), reply) {
            KswapdStep::Asleep => break,
            KswapdStep::Nap => {
                let reply = KswapdReply::Napped { early };
                early = false;
                Some(reply)
            }
            KswapdStep::Shrink { .. } => Some(KswapdReply::Shrunk { scanned: 0, reclaimed: 0 }),
        };
    }
    // 16 rounds; between them it cannot sleep; the nap is cut short once, for a 17th.
    assert_eq!(of(&r, "pageoutrun"), Some(17));
    assert_eq!(of(&r, "kswapd_high_wmark_hit_quickly"), Some(15));
    assert_eq!(of(&r, "kswapd_low_wmark_hit_quickly"), Some(1));
    let unreclaimable = |text: &str| {
        let info = parse_zoneinfo("rendered", text).expect("rendered");
        info.populated().map(|(_, zone)| zone.node_unreclaimable).collect::<Vec<_>>()
    };
    let view = View::new(&r, machine.as_ref(), &rules);
    assert_eq!(unreclaimable(&view.text(ProcFile::Zoneinfo)), [0, 0, 0]);
    assert_eq!(unreclaimable(&view.with_nodes(&r).text(ProcFile::Zoneinfo)), [1, 1, 0]);
}
