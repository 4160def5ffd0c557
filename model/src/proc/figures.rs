//! The numbers of all four texts under one name each, and what changed between two moments.

use super::{
    Buddyinfo, NamedCounters, Pagetypeinfo, ProcError, ProcFile, View, Zoneinfo, parse_buddyinfo,
    parse_pagetypeinfo, parse_vmstat, parse_zoneinfo,
};
use core::fmt;
use std::collections::BTreeMap;
use std::format;
use std::string::String;
use std::vec::Vec;

/// Every number that the four texts show, in the order in which they show them: buddyinfo, the
/// pageblocks of pagetypeinfo, zoneinfo, vmstat. Names start with the zone, if there is one:
/// `DMA32 order 3`, `DMA32 pageblocks Movable`, `DMA32 min`, `DMA32 cpu 0 count`, `pgfree`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Figures(Vec<(String, u64)>);

/// A number that is not what it was.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Change {
    /// Its name.
    pub name: String,
    /// Before; `None` if it was not shown (a CPU came online).
    pub before: Option<u64>,
    /// After; `None` if it is not shown (a CPU went offline).
    pub after: Option<u64>,
}

impl Figures {
    /// The numbers of four parsed texts of one moment. A second node's zones are named `1/DMA`.
    #[must_use]
    pub fn new(
        buddyinfo: &Buddyinfo,
        pagetypeinfo: &Pagetypeinfo,
        zoneinfo: &Zoneinfo,
        vmstat: &NamedCounters,
    ) -> Self {
        let mut all = Self::default();
        for row in &buddyinfo.rows {
            let zone = place(row.node, row.zone.name());
            for (order, blocks) in row.blocks.iter().enumerate() {
                all.push(format!("{zone} order {order}"), *blocks);
            }
        }
        for row in &pagetypeinfo.pageblocks {
            let zone = place(row.node, row.zone.name());
            for (of, count) in pagetypeinfo.types.iter().zip(&row.counts) {
                all.push(format!("{zone} pageblocks {of}"), *count);
            }
        }
        all.zoneinfo(zoneinfo);
        vmstat.iter().for_each(|(name, value)| all.push(name.into(), value));
        all
    }

    /// The numbers that a state shows.
    ///
    /// # Errors
    /// None in practice: what [`View`] writes can be parsed.
    pub fn of_view(view: &View<'_>) -> Result<Self, ProcError> {
        let text = |file| view.text(file);
        Ok(Self::new(
            &parse_buddyinfo("buddyinfo", &text(ProcFile::Buddyinfo))?,
            &parse_pagetypeinfo("pagetypeinfo", &text(ProcFile::Pagetypeinfo))?,
            &parse_zoneinfo("zoneinfo", &text(ProcFile::Zoneinfo))?,
            &parse_vmstat("vmstat", &text(ProcFile::Vmstat))?,
        ))
    }

    fn push(&mut self, name: String, value: u64) {
        self.0.push((name, value));
    }

    fn zoneinfo(&mut self, info: &Zoneinfo) {
        for entry in &info.zones {
            let zone = place(entry.node, entry.kind.name());
            let sizes = [
                ("free", entry.free),
                ("boost", entry.boost),
                ("min", entry.min),
                ("low", entry.low),
                ("high", entry.high),
                ("managed", entry.managed),
                ("cma", entry.cma),
            ];
            for (name, value) in sizes {
                self.push(format!("{zone} {name}"), value);
            }
            for (kind, pages) in entry.protection.iter().enumerate() {
                self.push(format!("{zone} protection {kind}"), *pages);
            }
            let Some(populated) = &entry.populated else { continue };
            // The first counter, nr_free_pages, is the `free` above.
            for (name, value) in populated.counters.iter().skip(1) {
                self.push(format!("{zone} {name}"), value);
            }
            for set in &populated.pagesets {
                let cpu = format!("{zone} cpu {}", set.cpu);
                self.push(format!("{cpu} count"), set.count);
                self.push(format!("{cpu} high"), set.high);
                self.push(format!("{cpu} batch"), set.batch);
            }
        }
    }

    /// The number of that name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<u64> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| *value)
    }

    /// What changed from `self` to `later`, in the order of the texts.
    #[must_use]
    pub fn changes(&self, later: &Self) -> Vec<Change> {
        let before: BTreeMap<&str, u64> = self.by_name();
        let after: BTreeMap<&str, u64> = later.by_name();
        let came = later.0.iter().map(|(name, _)| name);
        let gone = self.0.iter().map(|(name, _)| name).filter(|n| !after.contains_key(n.as_str()));
        came.chain(gone)
            .map(|name| Change {
                name: name.clone(),
                before: before.get(name.as_str()).copied(),
                after: after.get(name.as_str()).copied(),
            })
            .filter(|change| change.before != change.after)
            .collect()
    }

    fn by_name(&self) -> BTreeMap<&str, u64> {
        self.0.iter().map(|(name, value)| (name.as_str(), *value)).collect()
    }
}

/// `DMA32`, or `1/DMA32` on another node than the first.
fn place(node: u32, zone: &str) -> String {
    if node == 0 { zone.into() } else { format!("{node}/{zone}") }
}

impl fmt::Display for Change {
    /// `pgfree 10 -> 12 (+2)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.name)?;
        match (self.before, self.after) {
            (Some(before), Some(after)) => {
                let by = i128::from(after) - i128::from(before);
                write!(f, " {before} -> {after} ({by:+})")
            }
            (Some(before), None) => write!(f, " {before} -> not shown"),
            (None, Some(after)) => write!(f, " not shown -> {after}"),
            (None, None) => Ok(()),
        }
    }
}
