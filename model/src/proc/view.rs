//! Rendering of an allocator's state.

use super::line::{self, PageSetLines, Sizes};
use super::names::Names;
use crate::contract::{Nodes, Observe};
use crate::vocab::{
    CpuId, EventCounters, FairPolicy, MachineRef, MigrateType, NodeId, Order, Pfn, PfnRange, Rules,
    ZoneIdx, ZoneKind, ZoneState,
};
use core::fmt::{Result, Write};

/// MAX_RECLAIM_RETRIES: a node whose kswapd failed so often is shown as unreclaimable.
const HOPELESS: u32 = 16;

/// SWAP_CLUSTER_MAX, the least min mark of a Movable zone where it does not count as low memory:
/// an empty one shows it in all marks (page_alloc.md §3.2; recorded 6.12 and 6.18 texts).
const EMPTY_MOVABLE_MARK: u64 = 32;

/// Which text.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ProcFile {
    /// /proc/buddyinfo.
    Buddyinfo,
    /// /proc/pagetypeinfo.
    Pagetypeinfo,
    /// /proc/zoneinfo.
    Zoneinfo,
    /// /proc/vmstat.
    Vmstat,
}

impl ProcFile {
    /// All four.
    pub const ALL: [Self; 4] = [Self::Buddyinfo, Self::Pagetypeinfo, Self::Zoneinfo, Self::Vmstat];

    /// The name in /proc.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Buddyinfo => "buddyinfo",
            Self::Pagetypeinfo => "pagetypeinfo",
            Self::Zoneinfo => "zoneinfo",
            Self::Vmstat => "vmstat",
        }
    }
}

/// An allocator's state together with what decides how a kernel would print it.
#[derive(Clone, Copy)]
pub struct View<'a> {
    state: &'a dyn Observe,
    machine: MachineRef<'a>,
    rules: &'a Rules,
    online: Option<&'a dyn Fn(CpuId) -> bool>,
    nodes: Option<&'a dyn Nodes>,
}

impl<'a> View<'a> {
    /// A view with every CPU online.
    #[must_use]
    pub const fn new(state: &'a dyn Observe, machine: MachineRef<'a>, rules: &'a Rules) -> Self {
        Self { state, machine, rules, online: None, nodes: None }
    }

    /// Show per-CPU lists of these CPUs only.
    #[must_use]
    pub const fn with_online(mut self, online: &'a dyn Fn(CpuId) -> bool) -> Self {
        self.online = Some(online);
        self
    }

    /// Show what is known of the nodes: whether they are unreclaimable. Without it none is.
    #[must_use]
    pub const fn with_nodes(mut self, nodes: &'a dyn Nodes) -> Self {
        self.nodes = Some(nodes);
        self
    }

    /// Write one of the texts.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write(&self, file: ProcFile, out: &mut dyn Write) -> Result {
        match file {
            ProcFile::Buddyinfo => self.buddyinfo(out),
            ProcFile::Pagetypeinfo => self.pagetypeinfo(out),
            ProcFile::Zoneinfo => self.zoneinfo(out),
            ProcFile::Vmstat => self.vmstat(out),
        }
    }

    /// One of the texts as a string.
    #[cfg(feature = "alloc")]
    #[must_use]
    pub fn text(&self, file: ProcFile) -> alloc::string::String {
        let mut text = alloc::string::String::new();
        // A String takes everything.
        let _ = self.write(file, &mut text);
        text
    }

    fn zones(&self) -> impl Iterator<Item = (ZoneIdx, ZoneState)> + '_ {
        (0..self.state.zone_count()).map(|at| {
            let zone = ZoneIdx(at as u8);
            (zone, self.state.zone_state(zone))
        })
    }

    /// The kernel's "populated": some page exists.
    fn populated(&self) -> impl Iterator<Item = (ZoneIdx, ZoneState)> + '_ {
        self.zones().filter(|(_, state)| state.present > 0)
    }

    fn orders(&self) -> impl Iterator<Item = Order> + use<> {
        Order::ZERO.up_to(self.machine.max_order)
    }

    fn types(&self) -> impl Iterator<Item = MigrateType> + use<> {
        let cma = self.machine.cma_built;
        MigrateType::ALL.into_iter().filter(move |of| cma || *of != MigrateType::Cma)
    }

    fn buddyinfo(&self, out: &mut dyn Write) -> Result {
        for (_, state) in self.populated() {
            line::row_start(out, node_of(&state), state.kind)?;
            for order in self.orders() {
                line::block_count(out, state.blocks(order))?;
            }
            writeln!(out)?;
        }
        Ok(())
    }

    /// One table of each kind for every node that has memory (recorded two-node text).
    fn pagetypeinfo(&self, out: &mut dyn Write) -> Result {
        for node in self.machine.node_ids() {
            if self.zones().any(|(_, state)| state.node == node && state.present > 0) {
                self.pagetypeinfo_of(node, out)?;
            }
        }
        Ok(())
    }

    fn pagetypeinfo_of(&self, node: NodeId, out: &mut dyn Write) -> Result {
        line::pagetypeinfo_head(
            out,
            u32::from(self.machine.pageblock_order.get()),
            self.machine.pageblock_pages(),
            self.orders().count(),
        )?;
        let own = || self.populated().filter(move |(_, state)| state.node == node);
        for (_, state) in own() {
            for of in self.types() {
                line::type_row_start(out, u32::from(node.0), state.kind, of)?;
                for order in self.orders() {
                    let length = state.nr_free[order.index()][of.index()];
                    // Counting stops on reaching the cap: a list of exactly that length is
                    // marked too \[mem\].
                    let capped = length >= line::LIST_CAP;
                    line::list_length(out, length.min(line::LIST_CAP), capped)?;
                }
                writeln!(out)?;
            }
        }
        line::pageblock_head(out, line::PAGEBLOCKS, self.types())?;
        for (zone, state) in own() {
            line::row_start(out, u32::from(node.0), state.kind)?;
            let counts = self.pageblocks(zone);
            for of in self.types() {
                line::pageblock_count(out, counts[of.index()])?;
            }
            writeln!(out)?;
        }
        Ok(())
    }

    /// Pageblocks of a zone by type: steps of a pageblock from the zone's first frame, wherever
    /// that lies in its pageblock \[mem\]; steps without any present frame are not counted.
    fn pageblocks(&self, zone: ZoneIdx) -> [u64; crate::vocab::NR_MIGRATETYPES] {
        let mut counts = [0; crate::vocab::NR_MIGRATETYPES];
        let span = self.machine.zones[zone.index()].span;
        let step = self.machine.pageblock_pages();
        let mut at = span.start.0;
        while at < span.end.0 {
            let end = span.end.0.min(at + step);
            if self.any_present(PfnRange::new(at, end))
                && let Some(of) = self.state.pageblock_type(Pfn(at))
            {
                counts[of.index()] += 1;
            }
            at += step;
        }
        counts
    }

    /// Whether the holes leave a frame of `range`.
    fn any_present(&self, range: PfnRange) -> bool {
        let mut at = range.start;
        while at < range.end {
            match self.machine.holes.iter().find(|hole| hole.contains(at)) {
                Some(hole) => at = hole.end,
                None => return true,
            }
        }
        false
    }

    fn zoneinfo(&self, out: &mut dyn Write) -> Result {
        self.machine.node_ids().try_for_each(|node| self.zoneinfo_of(node, out))
    }

    /// All zones of a node; the node's own counters with its first populated one (page_alloc.md
    /// §6.3).
    fn zoneinfo_of(&self, node: NodeId, out: &mut dyn Write) -> Result {
        let own = |state: &ZoneState| state.node == node;
        let first = self.populated().find(|(_, state)| own(state)).map(|(zone, _)| zone);
        for kind in ZoneKind::ALL {
            line::zone_head(out, u32::from(node.0), kind)?;
            let found = self.zones().find(|(_, state)| own(state) && state.kind == kind);
            let Some((zone, state)) = found else {
                self.empty_zone(out, kind)?;
                continue;
            };
            if first == Some(zone) {
                line::per_node_head(out)?;
                for name in Names::of(self.rules.vmstat).node() {
                    line::zone_counter(out, name, 0)?;
                }
            }
            let [min, low, high, promo] = state.marks.map(|mark| mark + state.boost);
            let sizes = Sizes {
                free: shown(state.nr_free_pages),
                boost: state.boost,
                min,
                low,
                high,
                promo: self.rules.show_promo.then_some(promo),
                spanned: state.spanned,
                present: state.present,
                managed: state.managed,
                cma: state.cma_pages,
            };
            line::sizes(out, &sizes)?;
            line::protection(out, &state.lowmem_reserve)?;
            if state.present > 0 {
                self.populated_zone(out, zone, &state)?;
            }
        }
        Ok(())
    }

    /// A zone's counters; with a fair policy nr_alloc_batch comes second \[mem for the place\].
    fn zone_names(&self) -> impl Iterator<Item = &'static str> + use<> {
        let batch = (self.rules.fair_policy != FairPolicy::None).then_some("nr_alloc_batch");
        let names = Names::of(self.rules.vmstat).zone();
        names.clone().take(1).chain(batch).chain(names.skip(1))
    }

    fn empty_zone(&self, out: &mut dyn Write, kind: ZoneKind) -> Result {
        let marked = kind == ZoneKind::Movable && !self.rules.movable_is_lowmem;
        let mark = if marked { EMPTY_MOVABLE_MARK } else { 0 };
        let sizes = Sizes {
            free: 0,
            boost: 0,
            min: mark,
            low: mark,
            high: mark,
            promo: self.rules.show_promo.then_some(mark),
            spanned: 0,
            present: 0,
            managed: 0,
            cma: 0,
        };
        line::sizes(out, &sizes)?;
        line::protection(out, &[0; crate::vocab::NR_ZONES])
    }

    fn populated_zone(&self, out: &mut dyn Write, zone: ZoneIdx, state: &ZoneState) -> Result {
        for name in self.zone_names() {
            line::zone_counter(out, name, shown(zone_counter(state, name)))?;
        }
        line::pagesets_head(out)?;
        for cpu in self.machine.cpu_ids().filter(|cpu| self.online.is_none_or(|on| on(*cpu))) {
            let pcp = self.state.pcp_state(cpu, zone);
            let lines = PageSetLines {
                cpu: u32::from(cpu.0),
                count: pcp.count,
                high: pcp.high,
                batch: pcp.batch,
                limits: self.rules.free_pages_blocks.then_some((pcp.high_min, pcp.high_max)),
                threshold: Some(state.stat_threshold),
            };
            line::pageset(out, &lines)?;
        }
        let hopeless = self
            .nodes
            .is_some_and(|nodes| nodes.node_state(state.node).kswapd_failures >= HOPELESS);
        line::zone_tail(out, u64::from(hopeless), state.start_pfn)
    }

    fn vmstat(&self, out: &mut dyn Write) -> Result {
        let events = self.state.events();
        let zone_names = Names::of(self.rules.vmstat).zone().count();
        let rest = Names::of(self.rules.vmstat).vmstat().skip(zone_names);
        for name in self.zone_names().chain(rest) {
            let value = event(&events, name).unwrap_or_else(|| {
                shown(self.zones().map(|(_, state)| zone_counter(&state, name)).sum())
            });
            line::vmstat(out, name, value)?;
        }
        Ok(())
    }
}

/// A counter that is below zero for a moment is shown as 0.
const fn shown(value: i64) -> u64 {
    if value < 0 { 0 } else { value as u64 }
}

/// A zone's counter; 0 for what the model does not count.
fn zone_counter(state: &ZoneState, name: &str) -> i64 {
    let numa = |count: u64| count as i64;
    match name {
        "nr_free_pages" => state.nr_free_pages,
        "nr_free_pages_blocks" => state.nr_free_pages_blocks,
        "nr_free_cma" => state.nr_free_cma,
        "nr_alloc_batch" => state.nr_alloc_batch,
        "numa_hit" => numa(state.numa.hit),
        "numa_miss" => numa(state.numa.miss),
        "numa_foreign" => numa(state.numa.foreign),
        "numa_local" => numa(state.numa.local),
        "numa_other" => numa(state.numa.other),
        _ => 0,
    }
}

/// The event of that name, if the model counts it.
fn event(events: &EventCounters, name: &str) -> Option<u64> {
    let by_kind = |suffix: &str, counts: &[u64; crate::vocab::NR_ZONES]| {
        let kind = ZoneKind::ALL.into_iter().find(|kind| kind.event_suffix() == suffix)?;
        Some(counts[kind.index()])
    };
    if let Some(suffix) = name.strip_prefix("pgalloc_") {
        return by_kind(suffix, &events.pgalloc);
    }
    if let Some(suffix) = name.strip_prefix("allocstall_") {
        return by_kind(suffix, &events.allocstall);
    }
    match name {
        "pgfree" => Some(events.pgfree),
        "compact_stall" => Some(events.compact_stall),
        "compact_success" => Some(events.compact_success),
        "compact_fail" => Some(events.compact_fail),
        "pgscan_direct_throttle" => Some(events.direct_throttle),
        "oom_kill" => Some(events.oom_kill),
        "pageoutrun" => Some(events.pageoutrun),
        "kswapd_low_wmark_hit_quickly" => Some(events.kswapd_low_wmark_hit_quickly),
        "kswapd_high_wmark_hit_quickly" => Some(events.kswapd_high_wmark_hit_quickly),
        _ => None,
    }
}

/// The node's number in the texts.
fn node_of(state: &ZoneState) -> u32 {
    u32::from(state.node.0)
}
