//! How much a refill takes and a free drains: events gathered into amounts, and judged.

use super::engine::{Amount, CpuState, Engine, Taking};
use super::folder::Snapshot;
use super::report::{Kind, Verdict};
use super::sizes::Sizes;
use mmspec_model::reference::arith;
use mmspec_model::reference::pcp::PcpSizes;
use mmspec_model::vocab::{KmemEvent, Order, PcpTuning, Pfn, Tunables, ZoneFlags};

/// The periodic worker runs once a second, at the same moment within it but for some jitter.
const SECOND: u64 = 1_000_000;
/// How much earlier and later than its moment it may run.
const EARLY: u64 = 4_000;
const LATE: u64 = 60_000;
/// While its moment is not known, a run is allowed for this often.
const ANY_TIME: u64 = 20_000;

impl Engine<'_> {
    /// The numbers of the per-CPU lists as zoneinfo shows them.
    pub(super) fn load_sizes(&mut self, before: &Snapshot) {
        let Some(zoneinfo) = &before.zoneinfo else { return };
        let rules = self.k.shape().rules;
        for (z, (kind, _)) in self.k.shape().zones.clone().into_iter().enumerate() {
            let Some(zone) = zoneinfo.zone(0, kind) else { continue };
            let Some(populated) = &zone.populated else { continue };
            let cpus = populated.pagesets.len() as u64;
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
                    *sizes = Sizes::from_snapshot(known, rules);
                }
            }
        }
    }

    /// A block went to the list that is being refilled.
    pub(super) fn amount_of_refill(&mut self, cpu: usize, run: Taking, goes_on: bool, pfn: Pfn) {
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

    /// Blocks left a list untraced: by a bulk allocation, which does not note itself, or a single
    /// one by an allocation whose event is missing.
    pub(super) fn left_untraced(&mut self, cpu: usize, z: usize, order: Order, blocks: usize) {
        let sizes = &mut self.sizes[z][cpu];
        if blocks == 1 {
            sizes.maybe_note_alloc();
        }
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
        match self.cpus[cpu].amount {
            Amount::Free(zone, freed, drained, _) if zone == z && own_task && owner == cpu => {
                self.cpus[cpu].amount = Amount::Free(z, freed, drained + pages, pages);
            }
            Amount::Tick(zone, drained) if zone == z && owner == cpu => {
                self.cpus[cpu].amount = Amount::Tick(z, drained + pages);
            }
            _ if owner == cpu && self.in_worker => {
                self.complete_amount(cpu, None);
                self.cpus[cpu].tick_phase = Some(time % SECOND);
                self.cpus[cpu].amount = Amount::Tick(z, pages);
            }
            _ => self.sizes[z][owner].change_count(-(pages as i64)),
        }
    }

    /// The CPU's next event is `next`: judge the amount before it, unless it goes on.
    pub(super) fn complete_amount(&mut self, cpu: usize, next: Option<KmemEvent>) {
        let goes_on = match (self.cpus[cpu].amount, next) {
            (Amount::None, _) => true,
            (
                Amount::Refill(..),
                Some(KmemEvent::ZoneLocked { .. } | KmemEvent::ExtFrag { .. }),
            )
            | (Amount::Free(..) | Amount::Tick(..), Some(KmemEvent::PcpuDrain { .. })) => true,
            _ => false,
        };
        if goes_on {
            return;
        }
        let amount = std::mem::take(&mut self.cpus[cpu].amount);
        let zone = ZoneFlags::empty();
        let (kind, z, verdict, seen, text) = match amount {
            Amount::None => return,
            Amount::Refill(run, first, blocks) => {
                // A bulk allocation refills too, but notes no allocation and shows no event.
                let single = matches!(next,
                    Some(KmemEvent::PageAlloc { pfn: Some(pfn), .. }) if pfn == first);
                let sizes = &mut self.sizes[run.z][cpu];
                if single {
                    sizes.note_alloc();
                    self.cpus[cpu].noted = true;
                }
                let text = sizes.describe();
                let verdict = sizes.refill(run.order, zone, blocks);
                (Kind::Refill, run.z, verdict, blocks, text)
            }
            Amount::Free(z, order, drained, last) => {
                let sizes = &mut self.sizes[z][cpu];
                let text = if drained > 0 { sizes.describe() } else { String::new() };
                let Some(verdict) = sizes.free(order, zone, drained, last) else { return };
                (Kind::DrainCount, z, verdict, drained, text)
            }
            Amount::Tick(z, drained) => {
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

    /// The worker may have run, unseen, since the last event of this CPU: once at each of its moments,
    /// or, while those are not known, at any time.
    pub(super) fn allow_for_ticks(&mut self, cpu: usize, time: u64) {
        let state = &mut self.cpus[cpu];
        if state.ticked_until == 0 {
            state.ticked_until = time;
        }
        let since = state.ticked_until;
        let times = match state.tick_phase {
            Some(phase) => {
                // Moments passed, and the one whose jitter covers now.
                let moment = |t: u64| (t + SECOND - phase + EARLY) / SECOND;
                let jitter = (time + SECOND - phase + EARLY) % SECOND < LATE + EARLY;
                (moment(time).saturating_sub(moment(since)) + u64::from(jitter)).min(8)
            }
            None if time.saturating_sub(since) < ANY_TIME => return,
            None => ((time - since) / SECOND + 1).min(8),
        };
        self.cpus[cpu].ticked_until = time;
        for z in 0..self.sizes.len() {
            for _ in 0..times {
                self.sizes[z][cpu].maybe_tick();
            }
        }
    }
}
