//! Refill sizes and drain counts: the arithmetic of §2.4 and §2.5 over what is not known.
//!
//! A recording does not show a pcp's factors, nor when the periodic worker let `high` decay. So the
//! numbers of one CPU's lists are a *set* of possibilities. Every event moves all of them; an amount
//! that all agree on is a prediction, and the amount seen strikes out those that said otherwise.
//!
//! Of each combination of factors and flags only the corners are kept of the box that `high`, the
//! pages on the lists, and those freed lately span: the rules are monotone in all three.
//!
//! The number of pages on the lists is blurred in all of them: pages that leave untraced are missed
//! only later, and some came or went between the snapshot and the first event. So nothing that
//! depends on it alone is decided: *that* a free drains teaches the count, and only the size of
//! the drain is predicted; a refill that the count caps is left open.

use super::possible::{MEASURES, Possible, Sizes};
use super::report::Verdict;
use mmspec_model::knowledge::Answer;
use mmspec_model::reference::pcp::{AfterFree, PcpSizes};
use mmspec_model::vocab::{Order, PcpTuning, ZoneFlags};

/// How many possibilities agree with what was seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Agreement {
    None,
    Some,
    All,
}

impl Sizes {
    /// Pages came or went without an effect on the factors.
    pub(super) fn change_count(&mut self, pages: i64) {
        if self.is_known() {
            for Possible { sizes, .. } in &mut self.possible {
                sizes.count = sizes.count.saturating_add_signed(pages);
            }
        }
    }

    /// An allocation reached the lists.
    pub(super) fn note_alloc(&mut self) {
        let tuning = self.rules.pcp_tuning;
        if self.is_known() {
            self.possible.iter_mut().for_each(|possible| possible.sizes.note_alloc(tuning));
            self.settle();
        }
    }

    /// A turn of the periodic worker begins: it may run once until the next turn.
    pub(super) fn begin_turn(&mut self) {
        self.possible.iter_mut().for_each(|possible| possible.due = true);
        self.settle();
    }

    /// The turn is over: it ran, or was not needed.
    pub(super) fn end_turn(&mut self) {
        self.possible.iter_mut().for_each(|possible| possible.due = false);
        self.settle();
    }

    /// Perhaps the periodic worker ran by now, in its turn, without draining anything.
    pub(super) fn maybe_tick(&mut self) {
        if self.rules.pcp_tuning != PcpTuning::Auto || !self.is_known() {
            return;
        }
        for at in 0..self.possible.len() {
            let Possible { mut sizes, due } = self.possible[at];
            if due {
                sizes.decay();
                // Nothing was drained, so the lists held no more than high.
                sizes.count = sizes.count.min(sizes.high);
                self.possible.push(Possible { sizes, due: false });
            }
        }
        self.settle();
    }

    /// The periodic worker drained `pages` pages: so many were on the lists above high.
    pub(super) fn tick_drained(&mut self, pages: u64) -> Verdict {
        if !self.is_known() {
            return Verdict::Undecidable;
        }
        if self.possible.iter().any(|possible| possible.due) {
            self.possible.retain(|possible| possible.due);
        }
        let (mut exact, mut most) = (true, 0);
        for Possible { sizes, due } in &mut self.possible {
            let (excess, _) = sizes.decay();
            exact &= excess == pages;
            most = most.max(excess);
            sizes.count = sizes.high;
            *due = false;
        }
        self.settle();
        match exact {
            true => Verdict::Predicted,
            // The lists hold what was counted, or less.
            false if self.anchored && pages > most => Verdict::Contradicted,
            false => Verdict::Undecidable,
        }
    }

    /// A refill asked for blocks of `order`; `seen` came. `next` is the block of its own type that
    /// would have come next: without one the refill may end early (§2.4).
    pub(super) fn refill(
        &mut self,
        order: Order,
        zone: ZoneFlags,
        seen: u64,
        next: Answer,
    ) -> Verdict {
        if !self.is_known() {
            return Verdict::Undecidable;
        }
        let tuning = self.rules.pcp_tuning;
        let mut exact = true;
        let agreement = self.each_checked(|sizes| {
            // With fewer pages on the lists there is more room below high: up to the wish without a
            // cap.
            let mut empty = PcpSizes { count: 0, ..*sizes };
            let most = empty.refill_blocks(order, zone, tuning);
            let blocks = sizes.refill_blocks(order, zone, tuning);
            if blocks > seen && !matches!(next, Answer::Exactly(_)) {
                exact &= next == Answer::Nothing;
                return true;
            }
            exact &= blocks == seen && blocks == most;
            if blocks == seen {
                return true;
            }
            let fits = order == Order::ZERO && (blocks..=most).contains(&seen);
            if fits {
                let count = sizes.high.saturating_sub(sizes.batch + seen);
                let factor = if seen == most { empty.alloc_factor } else { sizes.alloc_factor };
                sizes.count = sizes.count.min(count);
                sizes.alloc_factor = factor;
            }
            fits
        });
        self.change_count((seen << order.get()) as i64);
        match agreement {
            Agreement::None => Verdict::Contradicted,
            Agreement::All if exact => Verdict::Predicted,
            _ => Verdict::Undecidable,
        }
    }

    /// A block of `order` was freed to the lists, and `seen` pages were drained after it; `last` is the
    /// size of the last one, as a drain goes on until at least the amount asked for is freed. `None`
    /// if there was nothing to predict.
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
        self.split_free_counts(order);
        if seen == 0 {
            self.each_checked(|sizes| {
                // No drain: the lists hold less than the limit.
                let high = within(sizes, sizes.high, tuning);
                sizes.count = sizes.count.min(high.saturating_sub(pages + 1));
                sizes.commit_free(order, zone, tuning, half) == AfterFree::Keep
            });
            return None;
        }
        self.anchored = true;
        let measures = MEASURES.map(|measure| {
            let values = || self.possible.iter().map(|possible| measure(&possible.sizes) as u64);
            values().min().unwrap_or(0)..=values().max().unwrap_or(0)
        });
        let [highs, _, freed] = measures;
        // Between the extremes: as many were freed lately as were drained, but for the part by which
        // the last block went beyond; or the limit capped the drain.
        let ends = [seen, (seen + 1).saturating_sub(last)];
        let free_counts = ends
            .into_iter()
            .flat_map(|end| [end, end.saturating_sub(pages)])
            .filter(|free_count| freed.contains(free_count));
        let free_counts: Vec<u64> = free_counts.collect();
        let mut agreeing = Vec::new();
        let mut exact = true;
        for Possible { sizes, due } in std::mem::take(&mut self.possible) {
            let mut agree = |sizes: PcpSizes| {
                // The lists hold what was counted, or just enough; or all of them were drained.
                let reached = within(&sizes, sizes.high, tuning).saturating_sub(pages);
                let counts = [sizes.count.max(reached), sizes.count, seen.saturating_sub(pages)];
                let after = counts.into_iter().find_map(|count| {
                    let at = PcpSizes { count, ..sizes };
                    drained(at, order, zone, tuning, half, seen, last)
                });
                agreeing.extend(after.map(|sizes| Possible { sizes, due }));
                after.is_some()
            };
            exact &= agree(sizes);
            for &free_count in &free_counts {
                agree(PcpSizes { free_count, ..sizes });
            }
            let high = seen + sizes.batch;
            if highs.contains(&high) {
                agree(PcpSizes { high, ..sizes });
            }
        }
        self.possible = agreeing;
        if self.possible.is_empty() {
            self.forget();
            return Some(Verdict::Contradicted);
        }
        self.settle();
        Some(if exact { Verdict::Predicted } else { Verdict::Undecidable })
    }

    /// Where the rules ask whether enough was freed lately, both sides of the border become
    /// possibilities of their own: the cap, below which a free counts its pages, and the threshold
    /// from which a block of several pages flushes the lists.
    fn split_free_counts(&mut self, order: Order) {
        let Some(limits) = self.limits else { return };
        if self.rules.pcp_tuning != PcpTuning::Auto {
            return;
        }
        self.split_at(limits.batch << limits.scale_max);
        if order > Order::ZERO && order <= Order::COSTLY {
            let half = if self.rules.free_high_half_min { limits.high_min / 2 } else { 0 };
            self.split_at(limits.batch + half);
        }
    }

    fn split_at(&mut self, border: u64) {
        let free_counts = || self.possible.iter().map(|possible| possible.sizes.free_count);
        let (least, most) = (free_counts().min().unwrap_or(0), free_counts().max().unwrap_or(0));
        if !(least + 1 < border || border < most) || most < border || least >= border {
            return;
        }
        for at in 0..self.possible.len() {
            let Possible { sizes, due } = self.possible[at];
            for free_count in [border - 1, border] {
                let sizes = PcpSizes { free_count, ..sizes };
                self.possible.push(Possible { sizes, due });
            }
        }
        self.settle();
    }

    /// Move every possibility and keep those of which `fits` says that they agree with what was
    /// seen; all of them, moved, if none does.
    fn each_checked(&mut self, mut fits: impl FnMut(&mut PcpSizes) -> bool) -> Agreement {
        let mut agreeing = 0;
        // The agreeing ones go to the front.
        for at in 0..self.possible.len() {
            if fits(&mut self.possible[at].sizes) {
                self.possible.swap(agreeing, at);
                agreeing += 1;
            }
        }
        let agreement = match agreeing {
            0 => Agreement::None,
            n if n == self.possible.len() => Agreement::All,
            _ => Agreement::Some,
        };
        if agreement == Agreement::Some {
            self.possible.truncate(agreeing);
        }
        self.settle();
        agreement
    }

    /// What the possibilities say of themselves, for a failure's text.
    pub(super) fn describe(&self) -> String {
        let span = |of: fn(&PcpSizes) -> u64| {
            let values = || self.possible.iter().map(|possible| of(&possible.sizes));
            match (values().min(), values().max()) {
                (Some(low), Some(high)) if low == high => low.to_string(),
                (Some(low), Some(high)) => format!("{low} to {high}"),
                _ => "unknown".to_owned(),
            }
        };
        format!(
            "count {}, high {}, batch {}, alloc_factor {}, free_factor {}, free_count {}",
            span(|sizes| sizes.count),
            span(|sizes| sizes.high),
            span(|sizes| sizes.batch),
            span(|sizes| u64::from(sizes.alloc_factor)),
            span(|sizes| u64::from(sizes.free_factor)),
            span(|sizes| sizes.free_count),
        )
    }
}

/// `high` as a free reads it.
fn within(sizes: &PcpSizes, high: u64, tuning: PcpTuning) -> u64 {
    match tuning {
        PcpTuning::FreeFactor | PcpTuning::Fixed => high,
        PcpTuning::Auto => high.max(sizes.high_min).min(sizes.high_max),
    }
}

/// The numbers after a free that drained `seen` pages, the last of `last` pages, if these would.
fn drained(
    mut at: PcpSizes,
    order: Order,
    zone: ZoneFlags,
    tuning: PcpTuning,
    half: bool,
    seen: u64,
    last: u64,
) -> Option<PcpSizes> {
    let AfterFree::Drain(wanted) = at.commit_free(order, zone, tuning, half) else { return None };
    let wanted = wanted.min(at.count);
    let fits = wanted == seen || (wanted < seen && seen - last < wanted);
    at.count = at.count.saturating_sub(seen);
    fits.then_some(at)
}
