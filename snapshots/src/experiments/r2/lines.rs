//! The cache lines of each zone that several CPUs write, and what it takes to fetch them.
//!
//! A line is held by the CPUs that fetched it since it was last written. A CPU that holds it reads it
//! at no cost; any other fetches it, which takes the measured time and keeps the line busy for as
//! long: the next CPU waits. So a line is a queue with one server, whose service is the transfer and
//! whose load is what the simulation does; nothing of it is set by hand.

use super::model::Model;

/// What one zone shares between CPUs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Field {
    /// The number of its node: never written.
    Node,
    /// The lock of its free lists.
    Lock,
    /// Its counters, among them the batch.
    Stats,
    /// The lock of its LRU lists.
    Lru,
    /// Pages scanned since the last free.
    Scanned,
    /// Its flags, among them that the batch is spent.
    Flags,
}

/// Which fields of a zone share a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Layout {
    /// The node lies with the lock of the free lists, and counters with the LRU lock.
    Vanilla,
    /// Fields that are only read, those of the allocator, the counters and those of reclaim have
    /// lines of their own.
    Regrouped,
    /// So, and pages scanned are a counter with per-CPU parts.
    ScannedCounted,
}

/// Lines of a zone.
const LINES: usize = 5;

impl Layout {
    const fn line(self, field: Field) -> usize {
        match (self, field) {
            (_, Field::Lock) | (Self::Vanilla, Field::Node) => 0,
            (_, Field::Lru) | (Self::Vanilla, Field::Stats) => 1,
            (Self::Vanilla | Self::Regrouped, Field::Scanned) => 1,
            (_, Field::Stats) | (Self::ScannedCounted, Field::Scanned) => 2,
            (_, Field::Node) => 3,
            (_, Field::Flags) => 4,
        }
    }
}

/// What fetching lines came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Traffic {
    /// Lines fetched, or taken from their other holders.
    pub(super) transfers: u64,
    /// Time for it, waits included, ns.
    pub(super) time: u64,
    /// Waits for a line that was on its way to another CPU, ns.
    pub(super) waits: u64,
}

#[derive(Clone, Copy, Default)]
struct Line {
    /// By CPU: holds a copy.
    holders: u64,
    /// When the last transfer began, and when it is over, ns.
    busy: (u64, u64),
}

pub(super) struct Lines {
    lines: Vec<Line>,
    layout: Layout,
    /// By CPU: the CPUs of its node.
    nodes: Vec<u64>,
    local: u64,
    remote: u64,
    shared: u64,
    pub(super) traffic: Traffic,
}

impl Lines {
    /// `nodes`: the node of each CPU, at most 64 CPUs.
    pub(super) fn new(model: &Model, layout: Layout, zones: usize, nodes: &[u8]) -> Self {
        assert!(nodes.len() <= 64, "holders are a word of bits");
        let of = |node: u8| {
            nodes.iter().enumerate().filter(|one| *one.1 == node).map(|one| 1 << one.0).sum()
        };
        Self {
            lines: vec![Line::default(); zones * LINES],
            layout,
            nodes: nodes.iter().map(|node| of(*node)).collect(),
            local: model.local,
            remote: model.remote,
            shared: model.shared,
            traffic: Traffic::default(),
        }
    }

    /// How the fields lie.
    pub(super) const fn layout(&self) -> Layout {
        self.layout
    }

    /// A CPU reads a field at that time; the time it took.
    pub(super) fn read(&mut self, at: u64, cpu: usize, zone: usize, field: Field) -> u64 {
        let own = 1 << cpu;
        let line = &mut self.lines[zone * LINES + self.layout.line(field)];
        let held = line.holders;
        line.holders |= own;
        if held & own != 0 || held == 0 {
            return 0;
        }
        let near = held & self.nodes[cpu] != 0;
        self.transfer(at, zone, field, if near { self.local } else { self.remote })
    }

    /// A CPU writes a field at that time; the time it took.
    pub(super) fn write(&mut self, at: u64, cpu: usize, zone: usize, field: Field) -> u64 {
        let own = 1 << cpu;
        let line = &mut self.lines[zone * LINES + self.layout.line(field)];
        let others = line.holders & !own;
        line.holders = own;
        if others == 0 {
            return 0;
        }
        let cost = if others & !self.nodes[cpu] == 0 {
            self.local
        } else if others.is_power_of_two() {
            self.remote
        } else {
            self.shared
        };
        self.transfer(at, zone, field, cost)
    }

    fn transfer(&mut self, at: u64, zone: usize, field: Field, cost: u64) -> u64 {
        let line = &mut self.lines[zone * LINES + self.layout.line(field)];
        // A step goes on while it fetches lines, so a transfer may be known that begins only after
        // this one is over: it is not waited for.
        let wait = if at + cost <= line.busy.0 { 0 } else { line.busy.1.saturating_sub(at) };
        if at + wait >= line.busy.0 {
            line.busy = (at + wait, at + wait + cost);
        }
        self.traffic.transfers += 1;
        self.traffic.time += wait + cost;
        self.traffic.waits += wait;
        wait + cost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODEL: Model = Model { local: 10, remote: 100, shared: 200, ..Model::STATED };

    /// Two CPUs on each of two nodes, one zone.
    fn lines(layout: Layout) -> Lines {
        Lines::new(&MODEL, layout, 1, &[0, 0, 1, 1])
    }

    #[test]
    fn a_line_is_fetched_once_until_another_writes_it() {
        let mut lines = lines(Layout::Regrouped);
        assert_eq!(lines.write(0, 0, 0, Field::Stats), 0);
        assert_eq!(lines.read(1000, 2, 0, Field::Stats), 100);
        assert_eq!(lines.read(2000, 2, 0, Field::Stats), 0);
        assert_eq!(lines.read(3000, 3, 0, Field::Stats), 10, "from its neighbour");
        assert_eq!(lines.write(4000, 0, 0, Field::Stats), 200, "two hold it elsewhere");
        assert_eq!(lines.write(5000, 1, 0, Field::Stats), 10);
        assert_eq!(lines.write(6000, 2, 0, Field::Stats), 100);
        assert_eq!(lines.traffic, Traffic { transfers: 5, time: 420, waits: 0 });
    }

    #[test]
    fn a_line_serves_one_cpu_at_a_time() {
        let mut lines = lines(Layout::Regrouped);
        lines.write(0, 0, 0, Field::Lock);
        assert_eq!(lines.read(1000, 2, 0, Field::Lock), 100);
        assert_eq!(lines.read(1020, 1, 0, Field::Lock), 80 + 10);
        assert_eq!(lines.traffic.waits, 80);
        assert_eq!(lines.write(2000, 3, 0, Field::Lock), 200);
        assert_eq!(lines.read(1200, 0, 0, Field::Lock), 100, "long before");
    }

    #[test]
    fn fields_that_share_a_line_are_fetched_together() {
        for (layout, node, counters, scanned) in [
            (Layout::Vanilla, 10, 10, 0),
            (Layout::Regrouped, 0, 0, 0),
            (Layout::ScannedCounted, 0, 0, 10),
        ] {
            let mut lines = lines(layout);
            for field in [Field::Node, Field::Stats, Field::Lru, Field::Lock] {
                lines.read(0, 0, 0, field);
            }
            lines.write(1000, 1, 0, Field::Lock);
            assert_eq!(lines.read(2000, 0, 0, Field::Node), node, "{layout:?}");
            lines.write(3000, 1, 0, Field::Lru);
            assert_eq!(lines.read(4000, 0, 0, Field::Stats), counters, "{layout:?}");
            lines.write(5000, 0, 0, Field::Stats);
            lines.write(6000, 1, 0, Field::Lru);
            assert_eq!(lines.write(7000, 1, 0, Field::Scanned), scanned, "{layout:?}");
        }
    }
}
