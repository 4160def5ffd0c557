//! Shrinkers: caches outside the lists (compaction.md §4.9).

use super::Reclaim;
use crate::{
    platform::{Lock, Platform, Word},
    storage::Backing,
};
use mmspec_model::vocab::{MAX_NODES, NodeId};

/// A cache that can be made smaller. Several threads may ask at once.
pub trait Shrinker: Sync {
    /// Objects that could be freed on a node.
    fn count(&self, node: NodeId) -> u64;

    /// Look at up to `objects` of them; base pages freed, or `None` to be left alone now.
    fn scan(&self, node: NodeId, objects: u64) -> Option<u64>;

    /// What it costs to make an object again; 0: nothing, half of all may go at once.
    fn seeks(&self) -> u64 {
        2
    }

    /// Objects for each call of [`Shrinker::scan`].
    fn batch(&self) -> u64 {
        128
    }
}

/// A shrinker with the work that was put off, by node.
pub struct Registered<'a, P: Platform> {
    shrinker: &'a dyn Shrinker,
    deferred: [P::Word; MAX_NODES],
}

impl<'a, P: Platform> Registered<'a, P> {
    /// With nothing put off.
    #[must_use]
    pub fn new(shrinker: &'a dyn Shrinker) -> Self {
        Self { shrinker, deferred: core::array::from_fn(|_| P::Word::new(0)) }
    }

    /// One round at `priority`: objects looked at, pages freed.
    fn shrink(&self, node: NodeId, priority: u8) -> (u64, u64) {
        let freeable = self.shrinker.count(node);
        if freeable == 0 {
            return (0, 0);
        }
        let share = match self.shrinker.seeks() {
            0 => freeable / 2,
            seeks => (freeable >> priority).saturating_mul(4) / seeks,
        };
        // Whoever takes the work that was put off does it; another that comes now finds none.
        let word = &self.deferred[node.index() % MAX_NODES];
        let mut deferred = 0;
        word.update(|put_off| {
            deferred = put_off;
            (put_off > 0).then_some(0)
        });
        let mut total = deferred.saturating_add(share);
        if share < freeable / 4 {
            total = total.min(freeable / 2);
        }
        total = total.min(freeable.saturating_mul(2));
        let batch = self.shrinker.batch().max(1);
        let (mut looked_at, mut freed) = (0, 0);
        while total > 0 && (total >= batch || total >= freeable) {
            let objects = batch.min(total);
            let Some(pages) = self.shrinker.scan(node, objects) else { break };
            freed += pages;
            looked_at += objects;
            total -= objects;
        }
        if total > 0 {
            word.fetch_add(total);
        }
        (looked_at, freed)
    }
}

impl<P: Platform, B: Backing> Reclaim<'_, P, B> {
    /// One round of all shrinkers; pages freed.
    pub(super) fn shrink_slabs(&self, node: NodeId, priority: u8) -> u64 {
        let (mut looked_at, mut freed) = (0, 0);
        for shrinker in self.shrinkers {
            let (objects, pages) = shrinker.shrink(node, priority);
            looked_at += objects;
            freed += pages;
        }
        if looked_at > 0 {
            self.lru.storage.nodes[node.index()].0.lock().counters.slabs_scanned += looked_at;
        }
        freed
    }
}
