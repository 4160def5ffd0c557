//! One group's record, and who is above whom.

use super::{Memcg, page_counter::Counter};
use crate::{
    platform::{Platform, Word},
    storage::Backing,
};
use core::{
    array, iter,
    sync::atomic::{AtomicU16, Ordering::Relaxed},
};
use mmspec_model::vocab::{CounterKind, MemcgEvent, MemcgId};

/// [`GroupSlot::parent`] of the root, and of records of no group.
const NO_PARENT: u16 = u16::MAX;

/// One group, as the embedder's storage holds it.
pub struct GroupSlot<P: Platform> {
    pub(super) memory: Counter<P>,
    pub(super) swap: Counter<P>,
    pub(super) life: Life<P>,
    pub(super) events: Events<P>,
}

/// What decides whether a group is still there. Charges from a stock read the first two words, and those
/// change with mkdir and rmdir alone: what every charge of a batch writes lies elsewhere.
#[repr(align(64))]
pub(super) struct Life<P: Platform> {
    pub(super) online: P::Ordered,
    /// The group that the objcg made with this one points at.
    pub(super) objcg_owner: P::Ordered,
    /// Written once, before the id is given out: no schedule can see it change, so no platform needs to.
    parent: AtomicU16,
    /// Online children. Under the lock of the tree.
    pub(super) online_children: P::Word,
    pub(super) held: Held<P>,
}

/// The references, see `refs`.
#[repr(align(64))]
pub(super) struct Held<P: Platform> {
    /// Of the group.
    pub(super) refs: P::Ordered,
    /// Of the objcg made with it.
    pub(super) objcg_refs: P::Ordered,
    /// That objcg's bytes below a page that are in no stock (nr_charged_bytes).
    pub(super) charged_bytes: P::Ordered,
    /// The stat `kernel`, pages; signed.
    pub(super) kernel: P::Word,
}

/// memory.events.local and memory.events.
#[repr(align(64))]
pub(super) struct Events<P: Platform> {
    pub(super) local: [P::Word; MemcgEvent::COUNT],
    pub(super) hierarchical: [P::Word; MemcgEvent::COUNT],
}

impl<P: Platform> GroupSlot<P> {
    /// A record of no group.
    #[must_use]
    pub fn new() -> Self {
        Self {
            memory: Counter::new(),
            swap: Counter::new(),
            life: Life {
                online: P::Ordered::new(0),
                objcg_owner: P::Ordered::new(0),
                parent: AtomicU16::new(NO_PARENT),
                online_children: P::Word::new(0),
                held: Held {
                    refs: P::Ordered::new(0),
                    objcg_refs: P::Ordered::new(0),
                    charged_bytes: P::Ordered::new(0),
                    kernel: P::Word::new(0),
                },
            },
            events: Events {
                local: array::from_fn(|_| P::Word::new(0)),
                hierarchical: array::from_fn(|_| P::Word::new(0)),
            },
        }
    }

    pub(super) fn counter(&self, kind: CounterKind) -> &Counter<P> {
        match kind {
            CounterKind::Memory => &self.memory,
            CounterKind::Swap => &self.swap,
        }
    }

    #[inline]
    pub(super) fn is_online(&self) -> bool {
        self.life.online.load() != 0
    }

    pub(super) fn parent(&self) -> Option<MemcgId> {
        let parent = self.life.parent.load(Relaxed);
        (parent != NO_PARENT).then_some(MemcgId(parent))
    }

    pub(super) fn set_parent(&self, parent: MemcgId) {
        self.life.parent.store(parent.0, Relaxed);
    }

    /// Where the objcg made with this group points now.
    pub(super) fn objcg_owner(&self) -> MemcgId {
        MemcgId(self.life.objcg_owner.load() as u16)
    }

    fn words(&self) -> impl Iterator<Item = &P::Word> {
        let events = self.events.local.iter().chain(&self.events.hierarchical);
        events.chain([&self.life.online_children, &self.life.held.kernel])
    }

    fn ordered(&self) -> impl Iterator<Item = &P::Ordered> {
        let held = &self.life.held;
        let words = [
            &self.life.online,
            &self.life.objcg_owner,
            &held.refs,
            &held.objcg_refs,
            &held.charged_bytes,
        ];
        words.into_iter().chain(self.memory.words()).chain(self.swap.words())
    }

    pub(super) fn reset(&self) {
        self.words().for_each(|word| word.store(0));
        self.ordered().for_each(|word| word.store(0));
        self.memory.reset();
        self.swap.reset();
        self.life.parent.store(NO_PARENT, Relaxed);
    }

    #[cfg(feature = "std")]
    pub(super) fn copy(&self) -> Self {
        let copy = Self::new();
        copy.words().zip(self.words()).for_each(|(to, from)| to.store(from.load()));
        copy.ordered().zip(self.ordered()).for_each(|(to, from)| to.store(from.load()));
        copy.life.parent.store(self.life.parent.load(Relaxed), Relaxed);
        copy
    }
}

impl<P: Platform> Default for GroupSlot<P> {
    fn default() -> Self {
        Self::new()
    }
}

impl<P: Platform, B: Backing> Memcg<P, B> {
    /// `memcg` and all above it, the root last. Nothing for an id that was never given.
    pub(super) fn levels(&self, memcg: MemcgId) -> impl Iterator<Item = (MemcgId, &GroupSlot<P>)> {
        let look = |memcg: MemcgId| self.groups.get(usize::from(memcg.0)).map(|slot| (memcg, slot));
        let first = self.group(memcg).map(|slot| (memcg, slot));
        iter::successors(first, move |(_, slot)| slot.parent().and_then(look))
    }

    /// The same without the root.
    pub(super) fn below_root(
        &self,
        memcg: MemcgId,
    ) -> impl Iterator<Item = (MemcgId, &GroupSlot<P>)> {
        self.levels(memcg).take_while(|(memcg, _)| *memcg != MemcgId::ROOT)
    }

    /// Whether `memcg` is `root` or below it.
    pub(super) fn is_descendant(&self, memcg: MemcgId, root: MemcgId) -> bool {
        self.levels(memcg).any(|(level, _)| level == root)
    }
}
