//! A stand-in allocator that holds the numbers of a recorded machine renders the recorded texts,
//! but for the counters that are outside the model.

use mmspec_model::contract::Observe;
use mmspec_model::proc::{
    Buddyinfo, Pagetypeinfo, ProcFile, View, Zoneinfo, parse_buddyinfo, parse_pagetypeinfo,
    parse_vmstat, parse_zoneinfo,
};
use mmspec_model::vocab::{
    CpuId, EventCounters, Machine, MigrateType, NumaCounters, Order, PcpState, Pfn, PfnRange,
    Rules, ZoneFlags, ZoneIdx, ZoneKind, ZoneState,
};

/// Numbers set by hand.
struct Numbers {
    zones: Vec<ZoneState>,
    /// By zone, then CPU.
    pcp: Vec<Vec<PcpState>>,
    events: EventCounters,
    /// The types of the pageblocks by start of the step, all else Movable.
    types: Vec<(u64, MigrateType)>,
}

impl Observe for Numbers {
    fn zone_count(&self) -> usize {
        self.zones.len()
    }
    fn zone_state(&self, zone: ZoneIdx) -> ZoneState {
        self.zones[zone.index()]
    }
    fn pcp_state(&self, cpu: CpuId, zone: ZoneIdx) -> PcpState {
        self.pcp[zone.index()][cpu.index()]
    }
    fn events(&self) -> EventCounters {
        self.events
    }
    fn for_each_free(&self, _: ZoneIdx, _: Order, _: MigrateType, _: &mut dyn FnMut(Pfn)) {}
    fn pcp_list_count(&self) -> usize {
        0
    }
    fn for_each_cached(&self, _: CpuId, _: ZoneIdx, _: usize, _: &mut dyn FnMut(Pfn)) {}
    fn pageblock_type(&self, pfn: Pfn) -> Option<MigrateType> {
        let listed = self.types.iter().find(|(start, _)| *start == pfn.0);
        Some(listed.map_or(MigrateType::Movable, |(_, of)| *of))
    }
}

fn zone_state(kind: ZoneKind, start_pfn: u64) -> ZoneState {
    ZoneState {
        node: mmspec_model::vocab::NodeId(0),
        nr_alloc_batch: 0,
        nr_alloc_batch_exact: 0,
        drift_mark: 0,
        kind,
        start_pfn,
        spanned: 0,
        present: 0,
        managed: 0,
        cma_pages: 0,
        nr_free_pages: 0,
        nr_free_pages_exact: 0,
        nr_free_cma: 0,
        nr_free_cma_exact: 0,
        nr_free_pages_blocks: 0,
        nr_free_highatomic: 0,
        nr_reserved_highatomic: 0,
        nr_isolate_pageblock: 0,
        nr_free: [[0; 6]; 11],
        marks: [0; 4],
        boost: 0,
        lowmem_reserve: [0; 5],
        flags: ZoneFlags::empty(),
        numa: NumaCounters::default(),
        kswapd_wakeups: 0,
        stat_threshold: 0,
    }
}

/// The state and the machine that the recorded texts show.
fn recorded_state(info: &Zoneinfo, types: &Pagetypeinfo) -> (Machine, Numbers) {
    let mut machine = Machine::new(2, &[]);
    let mut numbers =
        Numbers { zones: vec![], pcp: vec![], events: EventCounters::default(), types: vec![] };
    for (zone, populated) in info.populated() {
        let start = populated.start_pfn;
        let span = PfnRange::new(start, start + zone.spanned);
        machine.zones.push(mmspec_model::vocab::ZoneSpan::new(zone.kind, span));
        let mut state = zone_state(zone.kind, start);
        state.spanned = zone.spanned;
        state.present = zone.present;
        state.managed = zone.managed;
        state.nr_free_pages = zone.free as i64;
        let blocks = populated.counters.get("nr_free_pages_blocks");
        state.nr_free_pages_blocks = blocks.unwrap_or(0) as i64;
        state.marks = [zone.min, zone.low, zone.high, zone.promo.unwrap_or(0)];
        state.lowmem_reserve.copy_from_slice(&zone.protection);
        state.numa.hit = populated.counters.get("numa_hit").expect("numa_hit");
        state.numa.local = populated.counters.get("numa_local").expect("numa_local");
        let mut at = start;
        for of in &types.types {
            let row = types.row(0, zone.kind, *of).expect("a row");
            for (order, list) in row.lists.iter().enumerate() {
                state.nr_free[order][of.index()] = list.blocks;
            }
            for _ in 0..types.pageblocks_of(0, zone.kind, *of).expect("a count") {
                numbers.types.push((at, *of));
                at += types.pageblock_pages;
            }
        }
        if at < span.end.0 {
            machine.holes.push(PfnRange::new(at, span.end.0));
        }
        let sets = populated.pagesets.iter().map(|set| PcpState {
            count: set.count,
            high: set.high,
            batch: set.batch,
            high_min: set.high_min.unwrap_or(0),
            high_max: set.high_max.unwrap_or(0),
            ..PcpState::default()
        });
        numbers.pcp.push(sets.collect());
        state.stat_threshold = populated.pagesets[0].stat_threshold.expect("SMP");
        numbers.zones.push(state);
    }
    (machine, numbers)
}

fn counted(name: &str) -> bool {
    let numa = ["numa_hit", "numa_miss", "numa_foreign", "numa_local", "numa_other"];
    let free = ["nr_free_pages", "nr_free_pages_blocks", "nr_free_cma"];
    numa.contains(&name) || free.contains(&name) || name.starts_with("pgalloc_") || name == "pgfree"
}

/// Set what the model does not count to 0.
fn zero_the_rest(counters: &mut [(String, u64)]) {
    counters.iter_mut().filter(|(name, _)| !counted(name)).for_each(|(_, value)| *value = 0);
}

#[test]
fn a_recorded_state_renders_the_recorded_texts() {
    let recordings = [
        (
            Rules::linux_6_1(),
            include_str!("proc/6.1/pagetypeinfo.txt"),
            include_str!("proc/6.1/zoneinfo.txt"),
            include_str!("proc/6.1/vmstat.txt"),
        ),
        (
            Rules::linux_6_12(),
            include_str!("proc/6.12/pagetypeinfo.txt"),
            include_str!("proc/6.12/zoneinfo.txt"),
            include_str!("proc/6.12/vmstat.txt"),
        ),
        (
            Rules::linux_6_18(),
            include_str!("proc/6.18/pagetypeinfo.txt"),
            include_str!("proc/6.18/zoneinfo.txt"),
            include_str!("proc/6.18/vmstat.txt"),
        ),
    ];
    for (rules, types, zoneinfo, vmstat) in recordings {
        let parsed = parse_pagetypeinfo("pagetypeinfo", types).expect("pagetypeinfo");
        let mut info = parse_zoneinfo("zoneinfo", zoneinfo).expect("zoneinfo");
        let (machine, mut numbers) = recorded_state(&info, &parsed);
        let mut stat = parse_vmstat("vmstat", vmstat).expect("vmstat");
        for kind in ZoneKind::ALL {
            let name = format!("pgalloc_{}", kind.event_suffix());
            numbers.events.pgalloc[kind.index()] = stat.get(&name).expect("pgalloc");
        }
        numbers.events.pgfree = stat.get("pgfree").expect("pgfree");
        let view = View::new(&numbers, machine.as_ref(), &rules);

        assert_eq!(view.text(ProcFile::Pagetypeinfo), types);

        for zone in &mut info.zones {
            zone.node_stats.iter_mut().for_each(|stats| zero_the_rest(&mut stats.0));
            zone.populated.iter_mut().for_each(|zone| zero_the_rest(&mut zone.counters.0));
        }
        assert_eq!(view.text(ProcFile::Zoneinfo), info.to_string());

        // The recorded vmstat is some moments older than zoneinfo.
        let total = |name: &str| -> u64 {
            info.populated().map(|(_, zone)| zone.counters.get(name).unwrap_or(0)).sum()
        };
        zero_the_rest(&mut stat.0);
        for (name, value) in &mut stat.0 {
            if name.starts_with("nr_free") || name.starts_with("numa_") {
                *value = total(name);
            }
        }
        assert_eq!(view.text(ProcFile::Vmstat), stat.to_string());

        let buddyinfo: Buddyinfo =
            parse_buddyinfo("rendered", &view.text(ProcFile::Buddyinfo)).expect("buddyinfo");
        assert_eq!(buddyinfo.rows.len(), info.populated().count());
        for row in &buddyinfo.rows {
            let listed = |order: usize| -> u64 {
                let rows = parsed.types.iter().filter_map(|of| parsed.row(0, row.zone, *of));
                rows.map(|row| row.lists[order].blocks).sum()
            };
            assert!((0..11).all(|order| row.blocks[order] == listed(order)));
        }
        assert_eq!(buddyinfo.to_string(), view.text(ProcFile::Buddyinfo));
    }
}

fn one_zone(cpus: u16, frames: u64) -> (Machine, Numbers) {
    let machine = Machine::small(cpus, frames, 5, 4);
    let mut state = zone_state(ZoneKind::Normal, 0);
    state.present = frames;
    let pcp = vec![vec![PcpState::default(); usize::from(cpus)]];
    (machine, Numbers { zones: vec![state], pcp, events: EventCounters::default(), types: vec![] })
}

#[test]
fn a_boost_is_added_to_every_mark_and_negative_counters_show_zero() {
    let (machine, mut numbers) = one_zone(1, 64);
    numbers.zones[0].marks = [1, 2, 3, 4];
    numbers.zones[0].boost = 10;
    numbers.zones[0].nr_free_pages = -3;
    let rules = Rules::linux_6_12();
    let view = View::new(&numbers, machine.as_ref(), &rules);
    let info = parse_zoneinfo("z", &view.text(ProcFile::Zoneinfo)).expect("rendered");
    let zone = info.zone(0, ZoneKind::Normal).expect("Normal");
    assert_eq!((zone.free, zone.boost), (0, 10));
    assert_eq!((zone.min, zone.low, zone.high, zone.promo), (11, 12, 13, Some(14)));
    let stat = parse_vmstat("v", &view.text(ProcFile::Vmstat)).expect("rendered");
    assert_eq!(stat.get("nr_free_pages"), Some(0));
}

#[test]
fn offline_cpus_are_left_out() {
    let (machine, numbers) = one_zone(3, 64);
    let rules = Rules::linux_6_12();
    let online = |cpu: CpuId| cpu.0 != 1;
    let view = View::new(&numbers, machine.as_ref(), &rules).with_online(&online);
    let info = parse_zoneinfo("z", &view.text(ProcFile::Zoneinfo)).expect("rendered");
    let (_, zone) = info.populated().next().expect("Normal");
    assert_eq!(zone.pagesets.iter().map(|set| set.cpu).collect::<Vec<_>>(), [0, 2]);
}

#[test]
fn a_list_is_counted_up_to_the_cap() {
    let (machine, mut numbers) = one_zone(1, 64);
    numbers.zones[0].nr_free[0] = [99_999, 100_000, 100_001, 0, 0, 0];
    let rules = Rules::linux_6_12();
    let text = View::new(&numbers, machine.as_ref(), &rules).text(ProcFile::Pagetypeinfo);
    let info = parse_pagetypeinfo("p", &text).expect("rendered");
    let shown = |of| info.row(0, ZoneKind::Normal, of).expect("a row").lists[0];
    let shown = [MigrateType::Unmovable, MigrateType::Movable, MigrateType::Reclaimable].map(shown);
    let shown = shown.map(|list| (list.blocks, list.capped));
    assert_eq!(shown, [(99_999, false), (100_000, true), (100_000, true)]);
}

#[test]
fn pageblocks_are_counted_from_the_zones_edge_and_skip_holes() {
    let (mut machine, numbers) = one_zone(1, 64);
    machine.cma_built = true;
    // Steps of 16 from frame 5: 5, 21, 37, 53. The second lies in holes altogether.
    machine.zones[0].span = PfnRange::new(5, 64);
    machine.holes = vec![PfnRange::new(30, 38), PfnRange::new(20, 30)];
    let rules = Rules::linux_6_12();
    let text = View::new(&numbers, machine.as_ref(), &rules).text(ProcFile::Pagetypeinfo);
    let info = parse_pagetypeinfo("p", &text).expect("rendered");
    assert_eq!(info.pageblocks_of(0, ZoneKind::Normal, MigrateType::Movable), Some(3));
    assert_eq!(info.types.len(), 6, "a build with CMA lists it");
    assert_eq!(info.orders, 6);
}
