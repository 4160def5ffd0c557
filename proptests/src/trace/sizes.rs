//! Refill sizes and drain counts: the arithmetic of §2.4 and §2.5 over what is not known.
//!
//! A recording does not show a pcp's factors, nor when the periodic worker let `high` decay. So the
//! numbers of one CPU's lists are a *set* of possibilities. Every event moves all of them; an amount
//! that all agree on is a prediction, and the amount seen strikes out those that said otherwise.

use super::report::Verdict;
use mmspec_model::reference::pcp::{AfterFree, PcpSizes};
use mmspec_model::vocab::{Order, PcpFlags, PcpTuning, Rules, ZoneFlags};
use std::collections::BTreeSet;

/// More possibilities than this are given up as unknown.
const MOST: usize = 20_000;

/// The possible numbers of one CPU's lists in one zone.
#[derive(Clone, Debug, Default)]
pub(super) struct Sizes {
    possible: Vec<PcpSizes>,
    rules: Rules,
}

impl Sizes {
    /// All that a snapshot leaves open: the factors, the flag, and how many pages were freed
    /// lately.
    pub(super) fn from_snapshot(known: PcpSizes, rules: Rules) -> Self {
        let mut possible = Vec::new();
        match rules.pcp_tuning {
            PcpTuning::FreeFactor => {
                for free_factor in 0..=known.scale_max {
                    possible.push(PcpSizes { free_factor, ..known });
                }
            }
            PcpTuning::Auto => {
                let top = (known.batch << known.scale_max) + 8;
                for alloc_factor in 0..=known.scale_max {
                    for free_count in 0..=top {
                        for flags in [PcpFlags::empty(), PcpFlags::PREV_FREE_HIGH_ORDER] {
                            possible.push(PcpSizes { alloc_factor, free_count, flags, ..known });
                        }
                    }
                }
            }
        }
        Self { possible, rules }
    }

    /// Whether anything is known.
    pub(super) fn is_known(&self) -> bool {
        !self.possible.is_empty()
    }

    /// Nothing is known any more.
    pub(super) fn forget(&mut self) {
        self.possible.clear();
    }

    fn settle(&mut self) {
        if self.possible.len() < 2 {
            return;
        }
        {
            let set: BTreeSet<Key> = self.possible.iter().map(key).collect();
            if set.len() < self.possible.len() {
                let mut seen = BTreeSet::new();
                self.possible.retain(|sizes| seen.insert(key(sizes)));
            }
        }
        if self.possible.len() > MOST {
            self.possible.clear();
        }
    }

    fn each(&mut self, change: impl Fn(&mut PcpSizes)) {
        self.possible.iter_mut().for_each(change);
        self.settle();
    }

    /// Pages came or went without an effect on the factors.
    pub(super) fn change_count(&mut self, pages: i64) {
        self.each(|sizes| sizes.count = sizes.count.saturating_add_signed(pages));
    }

    /// An allocation reached the lists.
    pub(super) fn note_alloc(&mut self) {
        let tuning = self.rules.pcp_tuning;
        self.each(|sizes| sizes.note_alloc(tuning));
    }

    /// Perhaps an allocation reached the lists.
    pub(super) fn maybe_note_alloc(&mut self) {
        let mut noted = self.clone();
        noted.note_alloc();
        self.possible.append(&mut noted.possible);
        self.settle();
    }

    /// Perhaps the periodic worker ran without draining anything.
    pub(super) fn maybe_tick(&mut self) {
        if self.rules.pcp_tuning != PcpTuning::Auto {
            return;
        }
        let mut ticked: Vec<PcpSizes> = self.possible.clone();
        for sizes in &mut ticked {
            sizes.decay();
            // Nothing was drained, so the lists held no more than high.
            sizes.count = sizes.count.min(sizes.high);
        }
        self.possible.append(&mut ticked);
        self.settle();
    }

    /// The periodic worker drained `pages` pages: so many were on the lists above high.
    pub(super) fn tick_drained(&mut self, pages: u64) -> Verdict {
        if !self.is_known() {
            return Verdict::Undecidable;
        }
        let before = self.possible.clone();
        let mut exact = true;
        self.possible.retain_mut(|sizes| {
            let (excess, _) = sizes.decay();
            exact &= excess == pages;
            let fits = excess >= pages;
            sizes.count = sizes.count.min(sizes.high + pages).saturating_sub(pages);
            fits
        });
        if self.possible.is_empty() {
            self.possible = before;
            return Verdict::Contradicted;
        }
        self.settle();
        if exact { Verdict::Predicted } else { Verdict::Undecidable }
    }

    /// A refill asked for blocks of `order`; `seen` came.
    pub(super) fn refill(&mut self, order: Order, zone: ZoneFlags, seen: u64) -> Verdict {
        let tuning = self.rules.pcp_tuning;
        let verdict = self.judge(seen, |sizes| sizes.refill_blocks(order, zone, tuning));
        self.change_count((seen << order.get()) as i64);
        verdict
    }

    /// A block of `order` was freed to the lists, and `seen` pages were drained after it; `last` is the
    /// size of the last one, as a drain goes on until at least the amount asked for is freed. `None`
    /// if there was nothing to predict.
    ///
    /// The count in a possibility is the most that the lists can hold: pages that left untraced are
    /// missed a little later. So whether a drain is due teaches the count, and only its size is
    /// predicted.
    pub(super) fn free(
        &mut self,
        order: Order,
        zone: ZoneFlags,
        seen: u64,
        last: u64,
    ) -> Option<Verdict> {
        if !self.is_known() {
            return (seen > 0).then_some(Verdict::Undecidable);
        }
        let (tuning, half) = (self.rules.pcp_tuning, self.rules.free_high_half_min);
        let pages = order.pages();
        let before = self.possible.clone();
        let (mut agree, mut differ) = (0_usize, 0_usize);
        self.possible.retain_mut(|sizes| {
            let most = sizes.count;
            // With auto-tuning a free reaches the limit exactly when the count reaches high.
            let high = sizes.high.clamp(sizes.high_min, sizes.high_max);
            let (mut reached, mut missed) = (*sizes, *sizes);
            reached.count = most.min(high.saturating_sub(1));
            missed.count = most.min(high.saturating_sub(pages + 1));
            if seen == 0 {
                // No drain: the lists hold less than the limit.
                let kept = missed.commit_free(order, zone, tuning, half) == AfterFree::Keep;
                *sizes = missed;
                return kept;
            }
            let mut fits = false;
            for mut at in [reached, *sizes] {
                if let AfterFree::Drain(wanted) = at.commit_free(order, zone, tuning, half) {
                    let wanted = wanted.min(at.count);
                    fits = wanted == seen || (wanted < seen && seen - last < wanted);
                    if fits {
                        at.count = at.count.saturating_sub(seen);
                        *sizes = at;
                        break;
                    }
                    differ += 1;
                }
            }
            agree += usize::from(fits);
            fits
        });
        if self.possible.is_empty() {
            self.possible = before;
            self.each(|sizes| {
                sizes.commit_free(order, zone, tuning, half);
                sizes.count = sizes.count.saturating_sub(seen);
            });
            return Some(Verdict::Contradicted);
        }
        self.settle();
        match (seen, agree, differ) {
            (0, ..) => None,
            (_, _, 0) => Some(Verdict::Predicted),
            _ => Some(Verdict::Undecidable),
        }
    }

    /// Apply `amount` to every possibility and compare with what was seen.
    fn judge(&mut self, seen: u64, amount: impl Fn(&mut PcpSizes) -> u64) -> Verdict {
        if !self.is_known() {
            return Verdict::Undecidable;
        }
        let total = self.possible.len();
        let before = self.possible.clone();
        self.possible.retain_mut(|sizes| amount(sizes) == seen);
        match self.possible.len() {
            0 => {
                self.possible = before;
                self.each(|sizes| {
                    amount(sizes);
                });
                Verdict::Contradicted
            }
            left if left == total => Verdict::Predicted,
            _ => Verdict::Undecidable,
        }
    }

    /// What the possibilities say of themselves, for a failure's text.
    pub(super) fn describe(&self) -> String {
        match self.possible.as_slice() {
            [] => "unknown".to_owned(),
            [one] => format!(
                "count {} high {} ({}..{}) batch {} alloc_factor {} free_factor {} free_count {}",
                one.count,
                one.high,
                one.high_min,
                one.high_max,
                one.batch,
                one.alloc_factor,
                one.free_factor,
                one.free_count
            ),
            many => format!("{} possibilities, such as {:?}", many.len(), &many[..many.len().min(3)]),
        }
    }
}

type Key = (u64, u64, u8, u8, u64, u8);

fn key(sizes: &PcpSizes) -> Key {
    (
        sizes.count,
        sizes.high,
        sizes.alloc_factor,
        sizes.free_factor,
        sizes.free_count,
        sizes.flags.bits(),
    )
}
