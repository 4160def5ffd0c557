//! What is asked of an allocator, and what it answers.

use crate::vocab::{AllocFlags, Gfp, GfpError, Mark, Order, Pfn};

/// One allocation attempt.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Request {
    /// Size: 2^order frames.
    pub order: Order,
    /// What is asked for.
    pub gfp: Gfp,
    /// The watermark and the flags to use, where they differ from those of a first attempt
    /// ([`Mark::Low`], KSWAPD from gfp, CMA for movable requests, NOFRAGMENT by rule). With them a
    /// test reaches the reserves without walking the slow path. CMA and KSWAPD are still derived
    /// from gfp and added; NOFRAGMENT only if given.
    pub attempt: Option<(Mark, AllocFlags)>,
}

impl Request {
    /// A first attempt.
    #[must_use]
    pub const fn new(order: Order, gfp: Gfp) -> Self {
        Self { order, gfp, attempt: None }
    }

    /// An attempt at `mark` with `flags`.
    #[must_use]
    pub const fn at(mut self, mark: Mark, flags: AllocFlags) -> Self {
        self.attempt = Some((mark, flags));
        self
    }
}

/// The answer to a [`Request`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Outcome {
    /// The block that starts here.
    Page(Pfn),
    /// No allowed zone could serve the attempt: here the slow path would begin (wake kswapd,
    /// reclaim, compact).
    SlowPath,
    /// The request can never be served.
    Refused(Refusal),
}

impl Outcome {
    /// The block, if there is one.
    #[must_use]
    pub const fn page(self) -> Option<Pfn> {
        match self {
            Self::Page(pfn) => Some(pfn),
            _ => None,
        }
    }
}

/// Why a request can never be served.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, thiserror::Error)]
pub enum Refusal {
    /// Order above the machine's largest.
    #[error("order {0} is above this machine's largest block")]
    OrderTooLarge(Order),
    /// Illegal flags.
    #[error(transparent)]
    Gfp(#[from] GfpError),
    /// No populated zone is allowed to serve it.
    #[error("no zone of this machine may serve the request")]
    NoZone,
}
