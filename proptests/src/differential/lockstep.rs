//! One script on two allocators.

use crate::drive::{Call, Ledger, perform};
use crate::engine::Finding;
use crate::marks::{Marks, Moment, Watcher};
use crate::script::Script;
use mmspec_model::contract::LinuxPolicy;
use mmspec_model::laws::{Numbers, Setting};
use mmspec_model::vocab::{CpuId, MigrateType, Order, Pfn, ZoneIdx};
use std::cell::Cell;
use std::fmt::Debug;

/// Where in a run something differs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// Right after boot.
    Boot,
    /// After this operation.
    Op(usize),
    /// After the last one, all lists compared.
    End,
}

/// The first difference.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{what}: expected {expected}, got {got}")]
pub struct Difference {
    /// Where.
    pub place: Place,
    /// What is compared.
    pub what: String,
    /// The first allocator's value.
    pub expected: String,
    /// The second one's.
    pub got: String,
}

impl Difference {
    /// As a finding.
    #[must_use]
    pub fn finding(&self) -> Finding {
        let at = match self.place {
            Place::Op(at) => Some(at),
            Place::Boot | Place::End => None,
        };
        Finding { kind: "difference".to_owned(), what: self.to_string(), at }
    }
}

/// How closely to look.
#[derive(Clone, Copy, Debug)]
pub struct Options<'a> {
    /// Compare all lists after this many operations; 0: only at the end.
    pub every: usize,
    /// Lists up to this length are compared as soon as they are touched.
    pub touched: u64,
    /// Follows the position, so that it is known after a panic.
    pub position: Option<&'a Cell<usize>>,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Self { every: 64, touched: 16, position: None }
    }
}

/// What a run did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Stats {
    /// Operations that made a call.
    pub operations: u64,
}

fn differ<T: PartialEq + Debug>(
    place: Place,
    what: impl FnOnce() -> String,
    expected: &T,
    got: &T,
) -> Result<(), Difference> {
    if expected == got {
        return Ok(());
    }
    let (expected, got) = (format!("{expected:?}"), format!("{got:?}"));
    Err(Difference { place, what: what(), expected, got })
}

/// Run `script` on both and compare. `marks`, if given, counts the situations met.
///
/// # Errors
/// The first difference.
pub fn lockstep<R: LinuxPolicy, S: LinuxPolicy>(
    script: &Script,
    expected: &mut R,
    got: &mut S,
    options: Options<'_>,
    mut marks: Option<&mut Marks>,
) -> Result<Stats, Difference> {
    let cpus = script.machine.cpus;
    let mut pair = Pair {
        script,
        now: Numbers::of(expected, cpus),
        got: Numbers::of(got, cpus),
        before: Numbers::default(),
        lists: (Vec::new(), Vec::new()),
    };
    pair.numbers(Place::Boot)?;
    pair.all_lists(Place::Boot, expected, got)?;
    let mut watcher = marks.as_deref_mut().map(|marks| {
        let setting = Setting::new(&script.machine, script.rules, pair.now.clone());
        (Watcher::new(&setting, marks), setting)
    });
    let mut ledger = Ledger::new(script);
    let mut stats = Stats::default();
    for (at, op) in script.ops.iter().enumerate() {
        if let Some(position) = options.position {
            position.set(at);
        }
        let call = ledger.call(op);
        if call == Call::Skip {
            continue;
        }
        stats.operations += 1;
        let place = Place::Op(at);
        let wanted = perform(expected, &call, &ledger);
        let answer = perform(got, &call, &ledger);
        differ(place, || answer_of(&call), &wanted, &answer)?;
        ledger.record(op, &call, &wanted);
        pair.step(expected, got);
        pair.numbers(place)?;
        pair.touched(place, options.touched, expected, got)?;
        if options.every > 0 && at % options.every == options.every - 1 {
            pair.all_lists(place, expected, got)?;
        }
        if let (Some(marks), Some((watcher, setting))) = (&mut marks, &mut watcher) {
            let moment = Moment {
                setting,
                before: &pair.before,
                now: &pair.now,
                call: &call,
                answer: &wanted,
                held: ledger.frames(),
                type_of: &|pfn| expected.pageblock_type(pfn),
            };
            watcher.watch(marks, &moment);
        }
    }
    pair.all_lists(Place::End, expected, got)?;
    Ok(stats)
}

fn answer_of(call: &Call) -> String {
    match call {
        Call::Alloc(..) => "outcome of alloc".to_owned(),
        Call::Slow(..) => "steps and outcome of slow".to_owned(),
        Call::Bulk(..) => "slots and result of bulk".to_owned(),
        Call::Check(probe) => format!("full and fast check {probe:?}"),
        other => format!("answer of {other:?}"),
    }
}

struct Pair<'a> {
    script: &'a Script,
    before: Numbers,
    now: Numbers,
    got: Numbers,
    lists: (Vec<Pfn>, Vec<Pfn>),
}

impl Pair<'_> {
    fn step<R: LinuxPolicy, S: LinuxPolicy>(&mut self, expected: &R, got: &S) {
        let cpus = self.script.machine.cpus;
        std::mem::swap(&mut self.before, &mut self.now);
        self.now.update(expected, cpus);
        self.got.update(got, cpus);
    }

    fn numbers(&self, place: Place) -> Result<(), Difference> {
        let (now, got) = (&self.now, &self.got);
        if now == got {
            return Ok(());
        }
        differ(place, || "number of zones".into(), &now.zones.len(), &got.zones.len())?;
        for (z, (now, got)) in now.zones.iter().zip(&got.zones).enumerate() {
            zone_fields(place, z, now, got)?;
        }
        for zone in 0..now.zones.len() {
            let pairs = now.pcps_of(zone).iter().zip(got.pcps_of(zone));
            for (cpu, (now, got)) in pairs.enumerate() {
                differ(place, || format!("lists of CPU {cpu} in zone {zone}"), now, got)?;
            }
        }
        for (node, (now, got)) in now.nodes.iter().zip(&got.nodes).enumerate() {
            differ(place, || format!("kswapd of node {node}"), now, got)?;
        }
        differ(place, || "events".into(), &now.events, &got.events)?;
        differ(place, || "online CPUs".into(), &now.online, &got.online)
    }

    /// The zonelists of all nodes.
    fn zonelists<R: LinuxPolicy, S: LinuxPolicy>(
        &self,
        place: Place,
        expected: &R,
        got: &S,
    ) -> Result<(), Difference> {
        for node in self.script.machine.as_ref().node_ids() {
            for this_node in [false, true] {
                let (mut left, mut right) = (Vec::new(), Vec::new());
                expected.for_each_zonelist(node, this_node, &mut |zone| left.push(zone));
                got.for_each_zonelist(node, this_node, &mut |zone| right.push(zone));
                let what = || format!("zonelist of node {node}, this node only: {this_node}");
                differ(place, what, &left, &right)?;
            }
        }
        Ok(())
    }

    /// Lists whose length changed, if they are short: a long one waits for the interval.
    fn touched<R: LinuxPolicy, S: LinuxPolicy>(
        &mut self,
        place: Place,
        longest: u64,
        expected: &R,
        got: &S,
    ) -> Result<(), Difference> {
        let max_order = self.script.machine.max_order;
        for z in 0..self.now.zones.len() {
            let zone = ZoneIdx(z as u8);
            if self.before.zones[z].nr_free != self.now.zones[z].nr_free {
                for order in Order::ZERO.up_to(max_order) {
                    for mt in MigrateType::ALL {
                        let length =
                            |numbers: &Numbers| numbers.zones[z].nr_free[order.index()][mt.index()];
                        let (before, now) = (length(&self.before), length(&self.now));
                        if before != now && now <= longest {
                            self.free_list(place, zone, order, mt, expected, got)?;
                        }
                    }
                }
            }
            for cpu in 0..self.script.machine.cpus {
                let count = |numbers: &Numbers| numbers.pcp(CpuId(cpu), z).count;
                let (before, now) = (count(&self.before), count(&self.now));
                if before != now && now <= longest {
                    self.cached_lists(place, CpuId(cpu), zone, expected, got)?;
                }
            }
        }
        Ok(())
    }

    fn free_list<R: LinuxPolicy, S: LinuxPolicy>(
        &mut self,
        place: Place,
        zone: ZoneIdx,
        order: Order,
        mt: MigrateType,
        expected: &R,
        got: &S,
    ) -> Result<(), Difference> {
        let (left, right) = (&mut self.lists.0, &mut self.lists.1);
        left.clear();
        right.clear();
        expected.for_each_free(zone, order, mt, &mut |pfn| left.push(pfn));
        got.for_each_free(zone, order, mt, &mut |pfn| right.push(pfn));
        let what = || format!("free list of zone {}, order {order}, {mt}", zone.0);
        differ(place, what, left, right)
    }

    fn cached_lists<R: LinuxPolicy, S: LinuxPolicy>(
        &mut self,
        place: Place,
        cpu: CpuId,
        zone: ZoneIdx,
        expected: &R,
        got: &S,
    ) -> Result<(), Difference> {
        for list in 0..expected.pcp_list_count() {
            let (left, right) = (&mut self.lists.0, &mut self.lists.1);
            left.clear();
            right.clear();
            expected.for_each_cached(cpu, zone, list, &mut |pfn| left.push(pfn));
            got.for_each_cached(cpu, zone, list, &mut |pfn| right.push(pfn));
            let what = || format!("list {list} of CPU {cpu} in zone {}", zone.0);
            differ(place, what, left, right)?;
        }
        Ok(())
    }

    fn all_lists<R: LinuxPolicy, S: LinuxPolicy>(
        &mut self,
        place: Place,
        expected: &R,
        got: &S,
    ) -> Result<(), Difference> {
        let (left, right) = (expected.pcp_list_count(), got.pcp_list_count());
        differ(place, || "number of per-CPU lists".into(), &left, &right)?;
        self.zonelists(place, expected, got)?;
        let machine = &self.script.machine;
        for z in 0..self.now.zones.len() {
            let zone = ZoneIdx(z as u8);
            for order in Order::ZERO.up_to(machine.max_order) {
                for mt in MigrateType::ALL {
                    // Lengths were compared as numbers; what neither lists need not be walked.
                    self.free_list(place, zone, order, mt, expected, got)?;
                }
            }
            for cpu in machine.as_ref().cpu_ids() {
                self.cached_lists(place, cpu, zone, expected, got)?;
            }
        }
        let pages = machine.as_ref().pageblock_pages();
        for zone in &machine.zones {
            let mut at = zone.span.start;
            while at < zone.span.end {
                let (left, right) = (expected.pageblock_type(at), got.pageblock_type(at));
                differ(place, || format!("type of the pageblock of {at}"), &left, &right)?;
                at = Pfn((at.0 / pages + 1) * pages);
            }
        }
        Ok(())
    }
}

/// Name the field that differs.
fn zone_fields(
    place: Place,
    z: usize,
    now: &mmspec_model::vocab::ZoneState,
    got: &mmspec_model::vocab::ZoneState,
) -> Result<(), Difference> {
    macro_rules! fields {
        ($($field:ident),+ $(,)?) => {
            $(differ(place, || format!(concat!(stringify!($field), " of zone {}"), z), &now.$field, &got.$field)?;)+
        };
    }
    fields!(
        kind,
        start_pfn,
        spanned,
        present,
        managed,
        cma_pages,
        nr_free_pages,
        nr_free_pages_exact,
        nr_free_cma,
        nr_free_cma_exact,
        nr_free_pages_blocks,
        nr_free_highatomic,
        nr_reserved_highatomic,
        nr_isolate_pageblock,
        nr_free,
        marks,
        boost,
        lowmem_reserve,
        flags,
        numa,
        kswapd_wakeups,
        stat_threshold,
        nr_alloc_batch,
        nr_alloc_batch_exact,
        drift_mark,
    );
    differ(place, || format!("zone {z}"), now, got)
}
