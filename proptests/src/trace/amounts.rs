//! How much a refill takes and a free drains: events gathered into amounts, and judged.

use super::engine::{Amount, CpuState, Engine, Taking};
use super::folder::Snapshot;
use super::possible::Sizes;
use super::report::{Kind, Verdict};
use mmspec_model::reference::arith;
use mmspec_model::reference::pcp::PcpSizes;
use mmspec_model::vocab::{KmemEvent, Order, PcpTuning, Pfn, Tunables, ZoneFlags};

/// The periodic worker runs once a second, at the same moment within it but for some jitter.
const SECOND: u64 = 1_000_000;
/// How much earlier and later than its moment it may run (µs).
const EARLY: u64 = 4_000;
const LATE: u64 = 60_000;
/// Most pages that a CPU's diff of a counter can hide (§3.4).
const MOST_HIDDEN: u64 = 125;
/// More turns than this in a row change nothing.
const MOST_TURNS: u64 = 64;

impl Engine<'_> {
    /// The numbers of the per-CPU lists as zoneinfo shows them.
    pub(super) fn load_sizes(&mut self, before: &Snapshot) {
        let Some(zoneinfo) = &before.zoneinfo else { return };
        let rules = self.k.shape().rules;
        let largest = self.largest_cached();
        for (z, (name, _)) in self.k.shape().zones.clone().into_iter().enumerate() {
            let Some(zone) = zoneinfo.zone(u32::from(name.node.0), name.kind) else { continue };
            let Some(populated) = &zone.populated else { continue };
            // HIGH with the most boost of the default watermark_boost_factor (§1.14), half as much again
            // for what a recording does not tell, the reserve, and what the CPUs' diffs may hide.
            // Where the free lists are not known the snapshot has to do.
            let reserve = zone.protection.iter().max().copied().unwrap_or(0);
            let mark = 3 * zone.high
                + self.k.shape().pageblock_order.pages()
                + reserve
                + MOST_HIDDEN * populated.pagesets.len() as u64;
            self.low_below[z] = (zone.free >= mark).then_some(mark);
            let all = populated.pagesets.len() as u64;
            let Some(cpus) = before.cpus_of(u32::from(name.node.0), all) else { continue };
            for set in &populated.pagesets {
                let auto = rules.pcp_tuning == PcpTuning::Auto;
                let (low, top) = if auto {
                    (
                        arith::pcp_high(zone.low, cpus, set.batch),
                        arith::pcp_high(zone.managed / 8, cpus, set.batch),
                    )
                } else {
                    (set.high, set.high)
                };
                let known = PcpSizes {
                    count: set.count,
                    high: set.high,
                    high_min: set.high_min.unwrap_or(low),
                    high_max: set.high_max.unwrap_or(top),
                    batch: set.batch.max(1),
                    scale_max: Tunables::default().pcp_batch_scale_max,
                    ..PcpSizes::default()
                };
                if let Some(sizes) = self.sizes[z].get_mut(set.cpu as usize) {
                    *sizes = Sizes::from_snapshot(known, largest, rules);
                }
            }
        }
    }

    /// Pages of the largest block that per-CPU lists hold.
    pub(super) fn largest_cached(&self) -> u64 {
        self.k.shape().thp_order.unwrap_or(Order::COSTLY).max(Order::COSTLY).pages()
    }

    /// A block went to the list that is being refilled.
    pub(super) fn amount_of_refill(&mut self, cpu: usize, run: Taking, goes_on: bool, pfn: Pfn) {
        if !goes_on {
            self.complete_amount(cpu, None);
        }
        self.cpus[cpu].amount = match self.cpus[cpu].amount {
            Amount::Refill(taking, first, blocks) if goes_on => {
                Amount::Refill(taking, first, blocks + 1)
            }
            _ => Amount::Refill(run, pfn, 1),
        };
    }

    /// A page left a per-CPU list by a traced allocation.
    pub(super) fn amount_of_alloc(&mut self, cpu: usize, z: usize, order: Order) {
        let noted = std::mem::take(&mut self.cpus[cpu].noted);
        let sizes = &mut self.sizes[z][cpu];
        if !noted {
            sizes.note_alloc();
        }
        sizes.change_count(-(order.pages() as i64));
    }

    /// Blocks left a list untraced: by a bulk allocation, which does not note itself, or by one whose
    /// event comes later and notes it then.
    pub(super) fn left_untraced(&mut self, cpu: usize, z: usize, order: Order, blocks: usize) {
        let sizes = &mut self.sizes[z][cpu];
        sizes.change_count(-((blocks as u64 * order.pages()) as i64));
    }

    /// A page was drained: after a free of the same task, by the CPU's own worker, or by someone
    /// else.
    pub(super) fn amount_of_drain(
        &mut self,
        cpu: usize,
        state: CpuState,
        pfn: Pfn,
        order: Order,
        time: u64,
    ) {
        let Some(z) = self.k.zone_of(pfn) else { return };
        let pages = order.pages();
        let owner = self.cpus[cpu].draining.map_or(cpu, |(owner, ..)| owner);
        let own_task = state.committed.is_some_and(|(_, _, pid)| pid == self.pid);
        // The amount may be judged long after: at this CPU's next event, which may never come.
        self.cpus[cpu].near |= owner == cpu && (self.is_low(z) || self.flagged[z]);
        match self.cpus[cpu].amount {
            Amount::Free { zone, order, drained, .. } if zone == z && own_task && owner == cpu => {
                let (drained, by_worker) = (drained + pages, self.in_worker);
                self.cpus[cpu].amount =
                    Amount::Free { zone, order, drained, last: pages, by_worker };
            }
            Amount::Tick { zone, drained, at }
                if zone == z && owner == cpu && time.saturating_sub(at) < LATE =>
            {
                let drained = drained + pages;
                self.cpus[cpu].amount = Amount::Tick { zone, drained, at: time };
            }
            _ if owner == cpu && self.in_worker => {
                self.complete_amount(cpu, None);
                self.cpus[cpu].tick_phase = Some(time % SECOND);
                self.cpus[cpu].amount = Amount::Tick { zone: z, drained: pages, at: time };
            }
            _ => {
                // What the owner drained itself is judged by what its lists held before this.
                let own = self.cpus[owner].amount;
                if owner != cpu && matches!(own, Amount::Free { .. } | Amount::Tick { .. }) {
                    self.complete_amount(owner, None);
                }
                self.sizes[z][owner].change_count(-(pages as i64));
            }
        }
    }

    /// The CPU's next event is `next`: judge the amount before it, unless it goes on.
    pub(super) fn complete_amount(&mut self, cpu: usize, next: Option<KmemEvent>) {
        let goes_on = matches!(
            (self.cpus[cpu].amount, next),
            (Amount::None, _)
                | (
                    Amount::Refill(..),
                    Some(KmemEvent::ZoneLocked { .. } | KmemEvent::ExtFrag { .. })
                )
                | (Amount::Free { .. } | Amount::Tick { .. }, Some(KmemEvent::PcpuDrain { .. }))
        );
        if goes_on {
            return;
        }
        let amount = std::mem::take(&mut self.cpus[cpu].amount);
        let near = std::mem::take(&mut self.cpus[cpu].near);
        if self.near_marks(amount, cpu, near) {
            return;
        }
        let flags = ZoneFlags::empty();
        let (kind, z, verdict, seen, text) = match amount {
            Amount::None => return,
            Amount::Refill(run, first, blocks) => {
                // A bulk allocation refills too, but notes no allocation and shows no event.
                let single = matches!(next,
                    Some(KmemEvent::PageAlloc { pfn: Some(pfn), .. }) if pfn == first);
                let left = self.k.predict_take(run.z, run.order, run.migratetype);
                let sizes = &mut self.sizes[run.z][cpu];
                if single {
                    sizes.note_alloc();
                    self.cpus[cpu].noted = true;
                }
                let text = sizes.describe();
                let verdict = sizes.refill(run.order, flags, blocks, left);
                (Kind::Refill, run.z, verdict, blocks, text)
            }
            Amount::Free { zone: z, order, drained, last, by_worker } => {
                let sizes = &mut self.sizes[z][cpu];
                let text = if drained > 0 { sizes.describe() } else { String::new() };
                let before = by_worker.then(|| sizes.clone());
                let Some(verdict) = sizes.free(order, flags, drained, last) else { return };
                match before {
                    // The task that freed is the one that runs the periodic worker: it did, right after.
                    Some(before) if verdict == Verdict::Contradicted => {
                        *sizes = before;
                        sizes.free(order, flags, 0, 0);
                        (Kind::DrainCount, z, sizes.tick_drained(drained), drained, text)
                    }
                    _ => (Kind::DrainCount, z, verdict, drained, text),
                }
            }
            Amount::Tick { zone: z, drained, .. } => {
                let sizes = &mut self.sizes[z][cpu];
                let text = sizes.describe();
                let verdict = sizes.tick_drained(drained);
                (Kind::DrainCount, z, verdict, drained, text)
            }
        };
        if verdict == Verdict::Contradicted {
            let rule = match kind {
                Kind::Refill => "the size of a refill (§2.4)",
                _ => "the number of pages drained after a free or by the worker (§2.5, §2.8)",
            };
            self.contradict(kind, z, rule, format!("that of: {text}"), format!("{seen}"));
        } else {
            self.verdict(kind, z, verdict);
        }
    }

    /// A request found no block of its type, or was served below its preferred zone: refills that
    /// brought nothing may have moved the factors unseen, in the zones that were tried before.
    pub(super) fn forget_sizes_from(&mut self, cpu: usize, z: usize) {
        for zone in &mut self.sizes[z..] {
            zone[cpu].forget();
        }
    }

    /// A block left the free lists of the zone: it may have come near its marks.
    pub(super) fn note_taken(&mut self, z: usize) {
        self.flagged[z] |= self.is_low(z);
    }

    /// A request of several pages tried the zones down to `z`: where there is no block as large, it
    /// found the zone below HIGH however much is free.
    pub(super) fn note_request(&mut self, z: usize, order: Order) {
        if order == Order::ZERO || !self.k.is_complete() {
            return;
        }
        for zone in z..self.flagged.len() {
            let counts = self.k.free_counts(zone);
            self.flagged[zone] |= counts[order.index()..].iter().all(|blocks| *blocks == 0);
        }
    }

    fn is_low(&self, z: usize) -> bool {
        self.low_below[z].is_none_or(|mark| self.k.is_complete() && self.k.free_pages(z) < mark)
    }

    /// Near the marks two flags of the zone decide too (below HIGH, reclaim active), and no event
    /// shows them. Then the amount is left open and nothing is known of the lists' numbers, until a
    /// drain far from the marks has cleared the flags (§2.5). `near`: it was so when pages were drained.
    fn near_marks(&mut self, amount: Amount, cpu: usize, near: bool) -> bool {
        let (kind, z) = match amount {
            Amount::Refill(run, ..) => (Kind::Refill, run.z),
            Amount::Free { zone, drained: 1.., .. } => (Kind::DrainCount, zone),
            _ => return false,
        };
        let low = self.is_low(z);
        if !low && !near && !self.flagged[z] {
            return false;
        }
        self.flagged[z] = low || kind != Kind::DrainCount;
        self.sizes[z][cpu].forget();
        self.verdict(kind, z, Verdict::Undecidable);
        true
    }

    /// The worker may have run, unseen, before this event of this CPU: once in each of its turns. While
    /// its moment within the second is not known, a turn is a whole second. It matters where a turn
    /// begins or ends, and before an amount that is `judged`.
    pub(super) fn allow_for_ticks(&mut self, cpu: usize, time: u64, judged: bool) {
        let (turn, in_turn) = match self.cpus[cpu].tick_phase {
            Some(phase) => {
                let since = time + SECOND - phase + EARLY;
                (since / SECOND, since % SECOND < EARLY + LATE)
            }
            None => (time / SECOND, true),
        };
        let state = &mut self.cpus[cpu];
        let last = state.turn.replace(turn).unwrap_or(turn);
        // After so many turns high has come down as far as it can.
        let passed = turn.saturating_sub(last).min(MOST_TURNS);
        let ends = state.in_turn && (passed > 0 || !in_turn);
        state.in_turn = in_turn;
        for sizes in self.sizes.iter_mut().filter_map(|zone| zone.get_mut(cpu)) {
            if ends {
                sizes.maybe_tick();
                sizes.end_turn();
            }
            for _ in 0..passed {
                sizes.begin_turn();
                sizes.maybe_tick();
            }
            if judged && in_turn {
                sizes.maybe_tick();
            }
            if passed > 0 && !in_turn {
                sizes.end_turn();
            }
        }
    }
}
