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
        ticked.retain_mut(|sizes| sizes.decay().0 == 0);
        self.possible.append(&mut ticked);
        self.settle();
    }

    /// The periodic worker drained `pages` pages.
    pub(super) fn tick_drained(&mut self, pages: u64) -> Verdict {
        self.judge(pages, |sizes| sizes.decay().0)
    }

    /// A refill asked for blocks of `order`; `seen` came.
    pub(super) fn refill(&mut self, order: Order, zone: ZoneFlags, seen: u64) -> Verdict {
        let tuning = self.rules.pcp_tuning;
        let verdict = self.judge(seen, |sizes| sizes.refill_blocks(order, zone, tuning));
        self.change_count((seen << order.get()) as i64);
        verdict
    }

    /// A block of `order` was freed to the lists, and `seen` pages were drained after it. The
    /// drained pages' number is at least what was asked for, as blocks are not cut: `last` is the
    /// size of the last one.
    pub(super) fn free(
        &mut self,
        order: Order,
        zone: ZoneFlags,
        seen: u64,
        last: u64,
    ) -> Option<Verdict> {
        let (tuning, half) = (self.rules.pcp_tuning, self.rules.free_high_half_min);
        if !self.is_known() {
            return None;
        }
        let mut agree = 0;
        let total = self.possible.len();
        let before = self.possible.clone();
        let mut asked = false;
        self.possible.retain_mut(|sizes| {
            let wanted = match sizes.commit_free(order, zone, tuning, half) {
                AfterFree::Keep => 0,
                AfterFree::Drain(pages) => pages.min(sizes.count),
            };
            asked |= wanted > 0;
            let fits = wanted == seen || (wanted > 0 && wanted < seen && seen - last < wanted);
            agree += usize::from(fits);
            fits
        });
        let verdict = if agree == total {
            Verdict::Predicted
        } else if agree > 0 {
            Verdict::Undecidable
        } else {
            self.possible = before;
            self.each(|sizes| {
                sizes.commit_free(order, zone, tuning, half);
            });
            Verdict::Contradicted
        };
        self.change_count(-(seen as i64));
        // A free after which nothing is due is no event of its own, unless it contradicts.
        (seen > 0 || verdict == Verdict::Contradicted).then_some(verdict)
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
