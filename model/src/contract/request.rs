//! What is asked of an allocator, and what it answers.

use crate::vocab::{AllocFlags, Gfp, GfpError, Mark, NodeId, NodeMask, Order, Pfn};

bitflags::bitflags! {
    /// What the slow path asks about the task that allocates (page_alloc.md §3.7, §4.4, §4.6).
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
    pub struct TaskFlags: u8 {
        /// PF_MEMALLOC: the task reclaims memory itself; it may use all reserves and never recurses.
        const MEMALLOC = 1;
        /// Chosen by the OOM killer.
        const OOM_VICTIM = 2;
        /// A fatal signal is pending.
        const DYING = 4;
        /// A kernel thread: not throttled.
        const KTHREAD = 8;
        /// Real-time or deadline scheduling: a part of the reserve is open.
        const REALTIME = 16;
        /// PF_MEMALLOC_NOIO: clears IO and FS.
        const NOIO = 32;
        /// PF_MEMALLOC_NOFS: clears FS.
        const NOFS = 64;
        /// PF_MEMALLOC_PIN: clears MOVABLE.
        const PIN = 128;
    }
}

/// The task on whose behalf memory is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Task {
    /// Its cpuset's nodes (mems_allowed); [`NodeMask::ALL`]: no cpuset.
    pub mems: NodeMask,
    /// Its state.
    pub flags: TaskFlags,
}

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
    /// The node to begin at; `None`: the running CPU's.
    pub node: Option<NodeId>,
    /// The nodes of a memory policy; [`NodeMask::ALL`]: no policy (a null nodemask).
    pub nodes: NodeMask,
    /// Who asks.
    pub task: Task,
}

impl Request {
    /// A first attempt.
    #[must_use]
    pub const fn new(order: Order, gfp: Gfp) -> Self {
        Self {
            order,
            gfp,
            attempt: None,
            node: None,
            nodes: NodeMask::ALL,
            task: Task { mems: NodeMask::ALL, flags: TaskFlags::empty() },
        }
    }

    /// Beginning at `node`.
    #[must_use]
    pub const fn on(mut self, node: NodeId) -> Self {
        self.node = Some(node);
        self
    }

    /// Under a memory policy that allows `nodes`.
    #[must_use]
    pub const fn within(mut self, nodes: NodeMask) -> Self {
        self.nodes = nodes;
        self
    }

    /// For `task`.
    #[must_use]
    pub const fn by(mut self, task: Task) -> Self {
        self.task = task;
        self
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
    /// The slow path gave up: the caller gets no page.
    Failed,
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
