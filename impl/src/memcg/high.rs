//! The handler of memory.high: reclaim, then sleep the longer the further over (memcg-slub.md §2.6).

use super::{
    Memcg,
    running::{Go, ask_reclaim, reclaimed},
};
use crate::{
    platform::{Platform, Word},
    storage::Backing,
};
use mmspec_model::{
    contract::{MemcgDone, MemcgReply, MemcgStep},
    vocab::{CounterKind, MemcgEvent, MemcgId},
};

/// Jiffies in a second: of 1 ms each.
pub const HZ: u64 = 1000;

/// What later rounds ask for.
const LATER_GOAL: u64 = 32;
/// Precision of an overage.
const PRECISION_SHIFT: u32 = 20;
/// Scale of a delay.
const SCALING_SHIFT: u32 = 14;

/// The handler in progress.
#[derive(Clone, Debug)]
pub(super) struct Handler {
    memcg: MemcgId,
    /// Pages over the limit that the task charged.
    nr: u64,
    attempts: u32,
    goal: u64,
    dying: bool,
    reclaimed: u64,
    at: At,
}

#[derive(Clone, Copy, Debug)]
enum At {
    /// Step 1.
    Round,
    /// Step 2: this level is next.
    Level(MemcgId),
    /// Step 2: this level was reclaimed from.
    Reclaimed(MemcgId),
    /// Step 3.
    Penalty,
    /// Step 7.
    Slept,
}

impl Handler {
    pub(super) fn new(memcg: MemcgId, nr: u64, attempts: u32, dying: bool) -> Self {
        Self { memcg, nr, attempts, goal: nr, dying, reclaimed: 0, at: At::Round }
    }
}

/// By how much usage is over, in units of 2^-20 of the limit; 0 if it is not (bug M4: what was read again had sunk
/// below the limit meanwhile). In 128 bits, and what 64 bits cannot hold is held at their end.
fn overage(usage: u64, high: u64) -> u64 {
    let over = u128::from(usage.saturating_sub(high)) << PRECISION_SHIFT;
    u64::try_from(over / u128::from(high.max(1))).unwrap_or(u64::MAX)
}

/// Jiffies for an overage and `nr` pages, of which a batch is the measure. Saturates where 64 bits wrap, from a usage
/// of about 130 times the limit on.
fn penalty(overage: u64, nr: u64, batch: u32) -> u64 {
    let squared = u128::from(overage) * u128::from(overage);
    let jiffies = squared.saturating_mul(u128::from(HZ)) >> (PRECISION_SHIFT + SCALING_SHIFT);
    let jiffies = jiffies.saturating_mul(u128::from(nr)) / u128::from(batch);
    u64::try_from(jiffies).unwrap_or(u64::MAX)
}

/// How long a task sleeps that charged `nr` pages while usage was over memory.high, in jiffies of 1 ms, before the
/// clamp at two seconds; `batch` is [`MemcgRules::batch`](mmspec_model::vocab::MemcgRules), and 0 counts as 1.
#[must_use]
pub fn delay(usage: u64, high: u64, nr: u64, batch: u32) -> u64 {
    penalty(overage(usage, high), nr, batch.max(1))
}

impl<P: Platform, B: Backing> Memcg<P, B> {
    pub(super) fn high_part(&self, handler: &mut Handler, reply: Option<MemcgReply>) -> Go {
        match handler.at {
            At::Round => {
                if handler.dying || handler.nr == 0 {
                    return Go::End(MemcgDone::Ok);
                }
                handler.reclaimed = 0;
                handler.at = At::Level(handler.memcg);
            }
            At::Level(level) => return self.high_level(handler, level),
            At::Reclaimed(level) => {
                let (pages, signal) = reply.map_or((0, false), reclaimed);
                handler.reclaimed = handler.reclaimed.saturating_add(pages);
                handler.dying |= signal;
                handler.at = self.level_above(level);
            }
            At::Penalty => return self.high_penalty(handler),
            At::Slept => return Go::End(MemcgDone::Ok),
        }
        Go::On
    }

    fn level_above(&self, level: MemcgId) -> At {
        let above = self.group(level).and_then(super::GroupSlot::parent);
        above.map_or(At::Penalty, At::Level)
    }

    fn high_level(&self, handler: &mut Handler, level: MemcgId) -> Go {
        let Some(slot) = self.chargeable(level) else {
            handler.at = At::Penalty;
            return Go::On;
        };
        if slot.memory.read() <= slot.memory.set.high.load() {
            handler.at = self.level_above(level);
            return Go::On;
        }
        self.raise(level, MemcgEvent::High);
        handler.at = At::Reclaimed(level);
        ask_reclaim(level, handler.goal)
    }

    /// Steps 3 to 7.
    fn high_penalty(&self, handler: &mut Handler) -> Go {
        let of =
            |kind| penalty(self.max_overage(handler.memcg, kind), handler.nr, self.rules.batch);
        let jiffies = of(CounterKind::Memory).saturating_add(of(CounterKind::Swap)).min(2 * HZ);
        if jiffies <= HZ / 100 {
            return Go::End(MemcgDone::Ok);
        }
        let again = handler.reclaimed > 0 || handler.attempts > 0;
        if handler.reclaimed == 0 {
            handler.attempts = handler.attempts.saturating_sub(1);
        }
        if again {
            (handler.goal, handler.at) = (LATER_GOAL, At::Round);
            return Go::On;
        }
        handler.at = At::Slept;
        Go::Ask(MemcgStep::Sleep { jiffies })
    }

    fn max_overage(&self, memcg: MemcgId, kind: CounterKind) -> u64 {
        let levels = self.below_root(memcg).map(|(_, slot)| slot.counter(kind));
        levels.map(|level| overage(level.read(), level.set.high.load())).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pages of a MiB.
    const MIB: u64 = 256;

    /// The table of §2.6 (oracle 1 of §8.4).
    #[test]
    fn delays_are_those_of_the_table() {
        let table =
            [6, 25, 57, 102, 159, 230, 313, 409, 518, 639, 774, 921, 1081, 1254, 1439, 1638, 1849];
        for (over, jiffies) in (1..).zip(table) {
            assert_eq!(delay((100 + over) * MIB, 100 * MIB, 64, 64), jiffies, "{over} MiB over");
        }
        assert!(delay(118 * MIB, 100 * MIB, 64, 64) >= 2 * HZ);
        assert_eq!(delay(100 * MIB, 100 * MIB, 64, 64), 0);
        assert_eq!(delay(99 * MIB, 100 * MIB, 64, 64), 0);
    }

    /// 64 bits wrap from 130 times the limit on, and at a limit of 0; a divisor of 2^32 is no 0 (bug M5).
    #[test]
    fn far_over_the_limit_delays_saturate() {
        assert!(delay(1 << 20, 0, 64, 64) > 2 * HZ);
        assert_eq!(delay(u64::MAX, 0, u64::MAX, 1), u64::MAX);
        assert_eq!(delay((1 << 32) + (1 << 28), 1 << 32, 64, 64), 250);
    }
}
