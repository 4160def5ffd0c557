//! Nodes: what zonelists are built from, and what each node's requests come to.

use crate::{
    kswapd::Kswapd,
    path::Classes,
    platform::{Lock, Platform, Word},
};
use mmspec_model::vocab::MAX_NODES;

/// One node, as the embedder's storage holds it.
#[repr(align(128))]
pub struct NodeSlot<P: Platform> {
    /// What requests that begin at this node come to.
    pub(crate) classes: Classes,
    /// Distances to all nodes.
    pub(crate) distances: [u8; MAX_NODES],
    pub(crate) has_cpus: bool,
    /// The node's zones: the first, and one past the last.
    pub(crate) first_zone: u16,
    pub(crate) end_zone: u16,
    /// The state of the node's kswapd.
    pub(crate) kswapd: P::ZoneLock<Kswapd>,
    /// 1 while kswapd is awake, for readers without the lock.
    pub(crate) awake: P::Word,
    /// 1 while its zones use the pressure threshold: from kswapd's first step after it was woken to the
    /// one that puts it to sleep.
    pub(crate) pressure: P::Word,
    /// `kswapd_failures`, for readers without the lock.
    pub(crate) failures: P::Word,
}

impl<P: Platform> NodeSlot<P> {
    /// A node of which nothing is known yet.
    #[must_use]
    pub fn new() -> Self {
        Self {
            classes: Classes::new(),
            distances: [0; MAX_NODES],
            has_cpus: false,
            first_zone: 0,
            end_zone: 0,
            kswapd: P::ZoneLock::new(Kswapd::ASLEEP),
            awake: P::Word::new(0),
            pressure: P::Word::new(0),
            failures: P::Word::new(0),
        }
    }

    /// The positions of the node's zones, lowest kind first.
    pub(crate) fn zones(&self) -> core::ops::Range<usize> {
        usize::from(self.first_zone)..usize::from(self.end_zone)
    }

    pub(crate) fn is_awake(&self) -> bool {
        self.awake.load() != 0
    }

    #[cfg(feature = "std")]
    pub(crate) fn copy(&self) -> Self {
        Self {
            classes: self.classes.copy(),
            distances: self.distances,
            has_cpus: self.has_cpus,
            first_zone: self.first_zone,
            end_zone: self.end_zone,
            kswapd: P::ZoneLock::new(*self.kswapd.lock()),
            awake: P::Word::new(self.awake.load()),
            pressure: P::Word::new(self.pressure.load()),
            failures: P::Word::new(self.failures.load()),
        }
    }
}

impl<P: Platform> Default for NodeSlot<P> {
    fn default() -> Self {
        Self::new()
    }
}
