//! What is known of each frame, and the lists that slabs are on.

use super::{defer::Collected, word::State};
use crate::platform::{Platform, Word};
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use mmspec_model::vocab::{CacheId, NodeId, Order};

/// No frame.
pub(super) const NIL: u32 = u32::MAX;

/// The record of one frame, as the embedder's storage holds it: 64 bytes.
///
/// The state and the links of a slab are in the record of its first frame. All frames of a slab say
/// which that is, and to which cache it belongs; that changes only while no object of the slab is
/// out, so that whoever holds an object reads it without a lock.
#[repr(align(64))]
pub struct SlabFrame<P: Platform> {
    state: P::Ordered,
    info: AtomicU64,
    pub(super) next: AtomicU32,
    pub(super) prev: AtomicU32,
    /// 1 while it is on its node's list. Changes under the list's lock.
    on_node: AtomicU32,
    /// Free objects when it was put on a CPU's partial list.
    pub(super) counted: AtomicU32,
    pub(super) collected: Collected,
}

/// Which slab a frame is part of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Info(u64);

impl Info {
    const PRESENT: u64 = 1 << 63;
    const WAITING: u64 = 1 << 62;

    pub(super) fn new(head: u32, cache: CacheId, order: Order, node: NodeId) -> Self {
        let order = u64::from(order.get()) << 48;
        let node = u64::from(node.0 & 63) << 56;
        Self(u64::from(head) | u64::from(cache.0) << 32 | order | node | Self::PRESENT)
    }

    /// The slab's first frame.
    #[inline]
    pub(super) fn head(self) -> u32 {
        self.0 as u32
    }

    #[inline]
    pub(super) fn cache(self) -> CacheId {
        CacheId((self.0 >> 32) as u16)
    }

    /// Whether the frame is part of a slab of `cache` that is in use.
    #[inline]
    pub(super) fn is_of(self, cache: CacheId) -> bool {
        self.0 & (Self::PRESENT | Self::WAITING | 0xffff << 32)
            == Self::PRESENT | u64::from(cache.0) << 32
    }

    /// Whether it is part of a slab in use.
    pub(super) fn is_present(self) -> bool {
        self.0 & (Self::PRESENT | Self::WAITING) == Self::PRESENT
    }

    pub(super) fn order(self) -> u8 {
        (self.0 >> 48) as u8 & 0xf
    }

    #[inline]
    pub(super) fn node(self) -> NodeId {
        NodeId((self.0 >> 56) as u8 & 63)
    }
}

impl<P: Platform> SlabFrame<P> {
    /// A frame that is no part of a slab: all zero, where the platform's words are plain atomics.
    #[must_use]
    pub fn new() -> Self {
        Self {
            state: P::Ordered::new(0),
            info: AtomicU64::new(0),
            next: AtomicU32::new(0),
            prev: AtomicU32::new(0),
            on_node: AtomicU32::new(0),
            counted: AtomicU32::new(0),
            collected: Collected::new(),
        }
    }

    #[inline(always)]
    pub(super) fn info(&self) -> Info {
        Info(self.info.load(Relaxed))
    }

    pub(super) fn set_info(&self, info: Option<Info>) {
        self.info.store(info.map_or(0, |info| info.0), Relaxed);
    }

    /// From now on it waits for a grace period.
    pub(super) fn set_waiting(&self) {
        self.info.store(self.info().0 | Info::WAITING, Relaxed);
    }

    #[inline]
    pub(super) fn state(&self) -> State {
        State::unpack(self.state.load())
    }

    pub(super) fn set_state(&self, state: State) {
        self.state.store(state.pack());
    }

    /// Change the state from `seen` to `new`.
    ///
    /// # Errors
    /// The state found instead. It is `seen` itself where the machine failed for no reason.
    #[inline]
    pub(super) fn exchange(&self, seen: State, new: State) -> Result<(), State> {
        let done = self.state.compare_exchange_weak(seen.pack(), new.pack());
        done.map(|_| ()).map_err(State::unpack)
    }

    pub(super) fn is_on_node(&self) -> bool {
        self.on_node.load(Relaxed) != 0
    }

    #[inline]
    pub(super) fn next(&self) -> u32 {
        self.next.load(Relaxed)
    }

    #[inline]
    pub(super) fn set_next(&self, frame: u32) {
        self.next.store(frame, Relaxed);
    }

    fn prev(&self) -> u32 {
        self.prev.load(Relaxed)
    }

    fn set_prev(&self, frame: u32) {
        self.prev.store(frame, Relaxed);
    }

    #[cfg(feature = "std")]
    pub(super) fn copy(&self) -> Self {
        let copy = |word: &AtomicU32| AtomicU32::new(word.load(Relaxed));
        Self {
            state: P::Ordered::new(self.state.load()),
            info: AtomicU64::new(self.info.load(Relaxed)),
            next: copy(&self.next),
            prev: copy(&self.prev),
            on_node: copy(&self.on_node),
            counted: copy(&self.counted),
            collected: self.collected.copy(),
        }
    }
}

impl<P: Platform> Default for SlabFrame<P> {
    fn default() -> Self {
        Self::new()
    }
}

/// A singly linked list of slabs that one owner holds: a CPU's partial list, or slabs on their way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Chain {
    pub(super) head: u32,
}

impl Chain {
    pub(super) const EMPTY: Self = Self { head: NIL };

    #[inline]
    pub(super) fn is_empty(self) -> bool {
        self.head == NIL
    }

    pub(super) fn push<P: Platform>(&mut self, frames: &[SlabFrame<P>], slab: u32) {
        frames[slab as usize].set_next(self.head);
        self.head = slab;
    }

    pub(super) fn pop<P: Platform>(&mut self, frames: &[SlabFrame<P>]) -> Option<u32> {
        if self.head == NIL {
            return None;
        }
        let slab = self.head;
        self.head = frames[slab as usize].next();
        Some(slab)
    }
}

/// A node's partial list, behind its lock.
#[derive(Clone, Copy, Debug)]
pub(super) struct NodeList {
    pub(super) head: u32,
    tail: u32,
    /// `nr_partial`.
    pub(super) count: u64,
}

impl NodeList {
    pub(super) const EMPTY: Self = Self { head: NIL, tail: NIL, count: 0 };

    pub(super) fn add<P: Platform>(&mut self, frames: &[SlabFrame<P>], slab: u32, to_tail: bool) {
        let record = &frames[slab as usize];
        debug_assert!(!record.is_on_node(), "a slab is put on a node's list twice");
        record.on_node.store(1, Relaxed);
        self.count += 1;
        let (before, after) = if to_tail { (self.tail, NIL) } else { (NIL, self.head) };
        record.set_prev(before);
        record.set_next(after);
        match before {
            NIL => self.head = slab,
            before => frames[before as usize].set_next(slab),
        }
        match after {
            NIL => self.tail = slab,
            after => frames[after as usize].set_prev(slab),
        }
    }

    pub(super) fn remove<P: Platform>(&mut self, frames: &[SlabFrame<P>], slab: u32) {
        let record = &frames[slab as usize];
        debug_assert!(record.is_on_node(), "a slab is taken off a list that it is not on");
        record.on_node.store(0, Relaxed);
        self.count -= 1;
        let (before, after) = (record.prev(), record.next());
        match before {
            NIL => self.head = after,
            before => frames[before as usize].set_next(after),
        }
        match after {
            NIL => self.tail = before,
            after => frames[after as usize].set_prev(before),
        }
    }

    /// Take the first.
    pub(super) fn take<P: Platform>(&mut self, frames: &[SlabFrame<P>]) -> Option<u32> {
        let slab = (self.head != NIL).then_some(self.head)?;
        self.remove(frames, slab);
        Some(slab)
    }

    /// All slabs, from the head or from the tail.
    pub(super) fn iter<'a, P: Platform>(
        &self,
        frames: &'a [SlabFrame<P>],
        from_tail: bool,
    ) -> impl Iterator<Item = u32> + use<'a, P> {
        let first = if from_tail { self.tail } else { self.head };
        core::iter::successors((first != NIL).then_some(first), move |slab| {
            let record = &frames[*slab as usize];
            let next = if from_tail { record.prev() } else { record.next() };
            (next != NIL).then_some(next)
        })
    }
}
