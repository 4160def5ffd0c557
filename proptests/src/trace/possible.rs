//! The possible numbers of one CPU's lists in one zone: what a set holds, and how it is kept small.

use mmspec_model::reference::pcp::PcpSizes;
use mmspec_model::vocab::{PcpFlags, PcpTuning, Rules};

/// What a snapshot says of one CPU's lists in one zone.
#[derive(Clone, Copy, Debug)]
struct Start {
    known: PcpSizes,
    /// `count` and `high` are those of the first event; else they may be anything by now.
    fresh: bool,
}

/// The possible numbers of one CPU's lists in one zone.
#[derive(Clone, Debug, Default)]
pub(super) struct Sizes {
    pub(super) possible: Vec<Possible>,
    /// Unfolded into `possible` when first asked for: a snapshot leaves many combinations open, of
    /// which a few events leave a handful.
    start: Option<Start>,
    /// A drain has shown how many pages the lists hold; before, the snapshot's number may be off.
    pub(super) anchored: bool,
    /// What holds whatever was missed: limits and batch.
    pub(super) limits: Option<PcpSizes>,
    largest: u64,
    pub(super) rules: Rules,
}

/// One possibility.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Possible {
    pub(super) sizes: PcpSizes,
    /// The periodic worker may still run in this turn of its.
    pub(super) due: bool,
}

/// So many possibilities are carried along without a look at which of them matter.
const MANY: usize = 64;

/// The numbers that span a box; the pages on the lists by the room that they leave below `high`.
pub(super) const MEASURES: [fn(&PcpSizes) -> i64; 3] = [
    |sizes| sizes.high as i64,
    |sizes| sizes.high as i64 - sizes.count as i64,
    |sizes| sizes.free_count as i64,
];

impl Sizes {
    /// What a snapshot tells: all but the factors, the flags, and how many pages were freed lately.
    /// `largest` is the most pages of a block on the lists.
    pub(super) fn from_snapshot(known: PcpSizes, largest: u64, rules: Rules) -> Self {
        let start = Some(Start { known, fresh: true });
        Self { possible: Vec::new(), start, anchored: false, largest, limits: Some(known), rules }
    }

    /// All is known, as of a machine that was just set up.
    pub(super) fn exact(known: PcpSizes, largest: u64, rules: Rules) -> Self {
        let mut sizes = Self::from_snapshot(known, largest, rules);
        sizes.start = None;
        sizes.anchored = true;
        sizes.possible.push(Possible { sizes: known, due: true });
        sizes
    }

    /// Events were missed: only the limits stay. Where a single block goes far beyond the cap of
    /// what counts as freed lately (tiny zones), nothing is learnt anew: boxes are too coarse.
    pub(super) fn forget(&mut self) {
        self.possible.clear();
        self.anchored = false;
        self.start = self
            .limits
            .filter(|known| {
                self.rules.pcp_tuning == PcpTuning::FreeFactor
                    || (known.batch << known.scale_max) > self.largest
            })
            .map(|known| Start { known, fresh: false });
    }

    /// Whether anything is known; unfolds what is.
    pub(super) fn is_known(&mut self) -> bool {
        if let Some(Start { known, fresh }) = self.start.take() {
            self.unfold(known, fresh);
        }
        !self.possible.is_empty()
    }

    fn unfold(&mut self, known: PcpSizes, fresh: bool) {
        let mut add = |sizes: PcpSizes| {
            if fresh {
                self.possible.push(Possible { sizes, due: true });
                return;
            }
            let highs = match self.rules.pcp_tuning {
                PcpTuning::FreeFactor | PcpTuning::Fixed => [known.high; 2],
                PcpTuning::Auto => [known.high_min, known.high_max],
            };
            for high in highs {
                // A refill may leave more than high on the lists.
                let most = high + (known.batch << known.scale_max) + self.largest;
                for count in [0, most] {
                    let sizes = PcpSizes { high, count, ..sizes };
                    self.possible.push(Possible { sizes, due: true });
                }
            }
        };
        match self.rules.pcp_tuning {
            PcpTuning::Fixed => add(known),
            PcpTuning::FreeFactor => {
                // It grows for as long as a batch so many times doubled stays below high.
                let most = (known.high / known.batch).checked_ilog2().unwrap_or(0) as u8 + 1;
                (0..=most).for_each(|free_factor| add(PcpSizes { free_factor, ..known }));
            }
            PcpTuning::Auto => {
                // A free may overshoot the cap by a block less a page.
                let top = (known.batch << known.scale_max) + self.largest - 1;
                for alloc_factor in 0..=known.scale_max {
                    for free_count in [0, top] {
                        for flags in [
                            PcpFlags::empty(),
                            PcpFlags::PREV_FREE_HIGH_ORDER,
                            PcpFlags::FREE_HIGH_BATCH,
                            PcpFlags::PREV_FREE_HIGH_ORDER | PcpFlags::FREE_HIGH_BATCH,
                        ] {
                            add(PcpSizes { alloc_factor, free_count, flags, ..known });
                        }
                    }
                }
            }
        }
    }

    /// Keep the corners of each combination's box, once there are many.
    pub(super) fn settle(&mut self) {
        if self.possible.len() <= MANY {
            return;
        }
        let mut all = std::mem::take(&mut self.possible);
        all.sort_unstable_by_key(key);
        for same in all.chunk_by(|a, b| key(a) == key(b)) {
            let [highs, rooms, free_counts] = MEASURES.map(|measure| {
                let values = || same.iter().map(|possible| measure(&possible.sizes));
                let (low, high) = (values().min().unwrap_or(0), values().max().unwrap_or(0));
                if low == high { vec![low] } else { vec![low, high] }
            });
            let Possible { sizes, due } = same[0];
            for &high in &highs {
                for &room in &rooms {
                    for &free_count in &free_counts {
                        let sizes = PcpSizes {
                            high: high as u64,
                            count: (high - room).max(0) as u64,
                            free_count: free_count as u64,
                            ..sizes
                        };
                        self.possible.push(Possible { sizes, due });
                    }
                }
            }
        }
    }
}

type Key = (bool, u8, u8, u8);

/// What the rules distinguish without an order.
const fn key(Possible { sizes, due }: &Possible) -> Key {
    (*due, sizes.alloc_factor, sizes.free_factor, sizes.flags.bits())
}
