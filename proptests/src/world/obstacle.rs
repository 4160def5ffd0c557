//! What keeps pages from moving, injected by a seeded rule.

use crate::generate::Rng;

/// What stands in the way of one page.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Obstacle {
    /// Somebody holds a reference beyond the mappings.
    pub pinned: bool,
    /// Dirty, and its file system cannot migrate it.
    pub no_handler: bool,
    /// Locked until this tick.
    pub locked_until: u64,
    /// Under writeback until this tick.
    pub writeback_until: u64,
}

/// How many of a thousand new pages get which obstacle.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Obstacles {
    /// Pinned for good (anonymous pages).
    pub pinned: u64,
    /// Dirty without a handler for good (file pages).
    pub no_handler: u64,
    /// Locked for `ticks`.
    pub locked: u64,
    /// Under writeback for `ticks` (file pages).
    pub writeback: u64,
    /// How long the last two last, in ticks of the world.
    pub ticks: u64,
}

impl Obstacles {
    /// What a new page gets.
    pub(super) fn draw(&self, rng: &mut Rng, file: bool, tick: u64) -> Obstacle {
        if *self == Self::default() {
            return Obstacle::default();
        }
        let mut hit = |of_thousand| rng.below(1000) < of_thousand;
        let until = |hit| if hit { tick + self.ticks } else { 0 };
        Obstacle {
            pinned: hit(self.pinned) && !file,
            no_handler: hit(self.no_handler) && file,
            locked_until: until(hit(self.locked)),
            writeback_until: until(hit(self.writeback) && file),
        }
    }
}
