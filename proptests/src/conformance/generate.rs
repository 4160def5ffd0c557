//! Cases within a promise: boundary shapes of memory, fills, and frees in adversarial orders.

use super::case::{Case, Step};
use super::{Fit, Promise, Subject};
use crate::generate::Rng;
use crate::script::Handle;
use mmspec_model::contract::Run;
use mmspec_model::vocab::Order;

/// A case that `subject` can be asked.
#[must_use]
pub fn case<A>(rng: &mut Rng, promise: &Promise, subject: &Subject<'_, A>) -> Case {
    let memory = memory(rng, promise);
    let steps = steps(rng, promise, subject, &memory);
    Case { memory, steps }
}

/// Regions from 0 or nowhere round, one unit short or long of a power of two, touching or apart,
/// ascending or not.
fn memory(rng: &mut Rng, promise: &Promise) -> Vec<Run> {
    let mut memory = Vec::new();
    let top = promise.largest.next_power_of_two();
    let grained = |units: u64| units.next_multiple_of(promise.grain);
    let mut start = match rng.weighted(&[3, 2, 2]) {
        0 => 0,
        1 => top,
        _ => grained(rng.below(2 * top + 8)),
    };
    let mut left = promise.units;
    for _ in 0..rng.between(1, promise.regions.max(1) as u64) {
        let round = match rng.weighted(&[2, 2, 2]) {
            0 => 2 * top,
            1 => 1 << rng.below(u64::from(top.trailing_zeros()) + 2),
            _ => rng.between(1, promise.units.min(4 * top)),
        };
        let length = match rng.weighted(&[3, 1, 1]) {
            0 => round,
            1 => round + 1,
            _ => round.saturating_sub(1),
        };
        let least = grained(promise.least.max(1));
        if left < least {
            break;
        }
        let length = grained(length.max(least)).min(left / promise.grain * promise.grain);
        memory.push(Run::new(start, length));
        left -= length;
        let gap = if rng.percent(50) { 0 } else { grained(rng.between(1, top + 3)) };
        start += length + gap;
    }
    if rng.percent(50) {
        for at in (1..memory.len()).rev() {
            memory.swap(at, rng.below(at as u64 + 1) as usize);
        }
    }
    memory
}

/// How sizes are drawn in one case.
enum Sizes {
    /// Mostly this one.
    Mostly(u64),
    Small,
    Any,
}

struct Draw<'a> {
    promise: &'a Promise,
    orders_only: bool,
    sizes: Sizes,
}

impl Draw<'_> {
    fn len(&self, rng: &mut Rng) -> u64 {
        let largest = self.promise.largest;
        if rng.percent(2) && largest < Order::MAX.pages() {
            return if self.orders_only { 2 * largest } else { largest + rng.between(1, largest) };
        }
        match self.sizes {
            Sizes::Mostly(len) if rng.percent(70) => len,
            Sizes::Small => self.within(rng, largest.min(4)),
            _ => self.within(rng, largest),
        }
    }

    fn within(&self, rng: &mut Rng, most: u64) -> u64 {
        let power = 1 << rng.below(u64::from(most.ilog2()) + 1);
        if self.orders_only {
            return power;
        }
        match rng.below(4) {
            0 => power,
            1 => (power + 1).min(most),
            _ => rng.between(1, most),
        }
    }

    fn align(&self, rng: &mut Rng, len: u64) -> u64 {
        if self.orders_only {
            len
        } else if rng.percent(60) {
            1
        } else {
            let most = match self.promise.fit {
                // A block never starts at a smaller multiple than its size.
                Fit::Buddy => self.promise.align.min(len.next_power_of_two()),
                _ => self.promise.align,
            };
            1 << rng.below(u64::from(most.ilog2()) + 1)
        }
    }

    /// A place: anywhere in the memory or just beyond, often a multiple of the length.
    fn place(&self, rng: &mut Rng, memory: &[Run], len: u64) -> u64 {
        let region = rng.pick(memory);
        let start = region.start + rng.below(region.len + 2);
        if rng.percent(60) {
            start / len.next_power_of_two() * len.next_power_of_two()
        } else {
            start
        }
    }

    /// Another length for a run that was asked for with `len`.
    fn other(&self, rng: &mut Rng, len: u64) -> u64 {
        match rng.below(5) {
            0 => len + 1,
            1 => len - 1,
            2 => len / 2,
            3 => len * 2,
            _ => rng.between(1, self.promise.largest),
        }
        .clamp(1, self.promise.largest)
    }
}

fn steps<A>(
    rng: &mut Rng,
    promise: &Promise,
    subject: &Subject<'_, A>,
    memory: &[Run],
) -> Vec<Step> {
    let most = *rng.pick(&[4, 16, 60, 120]);
    let style = rng.below(3);
    let orders_only = subject.orders_only();
    let mut draw = Draw { promise, orders_only, sizes: Sizes::Any };
    let favoured = draw.within(rng, promise.largest);
    draw.sizes = match style {
        0 => Sizes::Mostly(favoured),
        1 => Sizes::Small,
        _ => Sizes::Any,
    };
    // A capability is used in half of the cases.
    let places = if subject.can_place() && rng.percent(50) { 30 } else { 0 };
    let resizes = if subject.can_resize() && rng.percent(50) { 25 } else { 0 };
    let mut held: Vec<(Handle, u64)> = Vec::new();
    let mut steps = Vec::new();
    let mut next = 1;
    let mut filling = true;
    while steps.len() < most {
        if rng.percent(6) {
            filling = !filling;
        }
        if !held.is_empty() && rng.percent(resizes) {
            let at = rng.below(held.len() as u64) as usize;
            held[at].1 = draw.other(rng, held[at].1);
            steps.push(Step::Resize { handle: held[at].0, len: held[at].1 });
        } else if rng.percent(if filling { 75 } else { 25 }) || held.is_empty() {
            let len = draw.len(rng);
            let handle = Handle(next);
            next += 1;
            held.push((handle, len));
            steps.push(if rng.percent(places) {
                Step::AllocAt { handle, run: Run::new(draw.place(rng, memory, len), len) }
            } else {
                Step::Alloc { handle, len, align: draw.align(rng, len) }
            });
        } else {
            let at = match style {
                0 => held.len() - 1,
                1 => 0,
                _ => rng.below(held.len() as u64) as usize,
            };
            steps.push(Step::Free { handle: held.remove(at).0 });
        }
    }
    steps
}
