//! Rendering of an allocator's state.

use super::line::{self, PageSetLines, Sizes};
use super::names::Names;
use crate::contract::Observe;
use crate::vocab::{
    CpuId, EventCounters, MachineRef, MigrateType, Order, Pfn, PfnRange, Rules, ZoneIdx, ZoneKind,
    ZoneState,
};
use core::fmt::{Result, Write};

/// The only node.
const NODE: u32 = 0;

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
}

impl<'a> View<'a> {
    /// A view with every CPU online.
    #[must_use]
    pub const fn new(state: &'a dyn Observe, machine: MachineRef<'a>, rules: &'a Rules) -> Self {
        Self { state, machine, rules, online: None }
    }

    /// Show per-CPU lists of these CPUs only.
    #[must_use]
    pub const fn with_online(mut self, online: &'a dyn Fn(CpuId) -> bool) -> Self {
        self.online = Some(online);
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
            line::row_start(out, NODE, state.kind)?;
            for order in self.orders() {
                line::block_count(out, state.blocks(order))?;
            }
            writeln!(out)?;
        }
        Ok(())
    }

    fn pagetypeinfo(&self, out: &mut dyn Write) -> Result {
        line::pagetypeinfo_head(
            out,
            u32::from(self.machine.pageblock_order.get()),
            self.machine.pageblock_pages(),
            self.orders().count(),
        )?;
        for (_, state) in self.populated() {
            for of in self.types() {
                line::type_row_start(out, NODE, state.kind, of)?;
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
        for (zone, state) in self.populated() {
            line::row_start(out, NODE, state.kind)?;
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
        let first = self.populated().next().map(|(zone, _)| zone);
        for kind in ZoneKind::ALL {
            line::zone_head(out, NODE, kind)?;
            let Some((zone, state)) = self.zones().find(|(_, state)| state.kind == kind) else {
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
        for name in Names::of(self.rules.vmstat).zone() {
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
        line::zone_tail(out, 0, state.start_pfn)
    }

    fn vmstat(&self, out: &mut dyn Write) -> Result {
        let events = self.state.events();
        for name in Names::of(self.rules.vmstat).vmstat() {
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
    if name == "pgfree" {
        return Some(events.pgfree);
    }
    let suffix = name.strip_prefix("pgalloc_")?;
    let kind = ZoneKind::ALL.into_iter().find(|kind| kind.event_suffix() == suffix)?;
    Some(events.pgalloc[kind.index()])
}
