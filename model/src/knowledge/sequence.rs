//! A list of which some content, order and types are unknown.
//!
//! Places below 0 were pushed at the head since the start, places above 0 at the tail; place 0 is
//! the part that was there before: blocks in unknown order, and perhaps blocks that are not known at
//! all. One `Sequence` holds the lists of all types of one order: each block is filed under the set
//! of types that its list may have.

use super::TypeSet;
use crate::vocab::{MigrateType, Pfn};
use core::ops::Bound;
use std::collections::{BTreeMap, BTreeSet};
use std::vec::Vec;

/// The answer to "which block is at this end?".
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answer {
    /// This block, for sure.
    Exactly(Pfn),
    /// The list is empty, for sure.
    Nothing,
    /// That depends on what is not known.
    Depends,
}

#[derive(Clone, Default, Debug)]
struct Bucket {
    placed: BTreeMap<i64, Pfn>,
    unordered: BTreeSet<Pfn>,
}

/// The lists of one order.
#[derive(Clone, Default, Debug)]
pub(crate) struct Sequence {
    buckets: BTreeMap<TypeSet, Bucket>,
    /// Types whose list may hold blocks that are not known.
    unknown: TypeSet,
    head: i64,
    tail: i64,
}

impl Sequence {
    /// Lists of which nothing is known, for these types.
    pub(crate) fn unknown(types: TypeSet) -> Self {
        Self { unknown: types, ..Self::default() }
    }

    /// Nothing unknown is left on the list of `migratetype`.
    pub(crate) fn close(&mut self, types: TypeSet) {
        self.unknown = self.unknown.without(types);
    }

    pub(crate) fn may_hold_unknown(&self, migratetype: MigrateType) -> bool {
        self.unknown.contains(migratetype)
    }

    pub(crate) fn push_head(&mut self, pfn: Pfn, types: TypeSet) -> i64 {
        self.head -= 1;
        self.buckets.entry(types).or_default().placed.insert(self.head, pfn);
        self.head
    }

    pub(crate) fn push_tail(&mut self, pfn: Pfn, types: TypeSet) -> i64 {
        self.tail += 1;
        self.buckets.entry(types).or_default().placed.insert(self.tail, pfn);
        self.tail
    }

    /// Add a block that was there before, at an unknown place.
    pub(crate) fn add_unordered(&mut self, pfn: Pfn, types: TypeSet) -> i64 {
        self.buckets.entry(types).or_default().unordered.insert(pfn);
        0
    }

    fn add_at(&mut self, pfn: Pfn, place: i64, types: TypeSet) {
        let bucket = self.buckets.entry(types).or_default();
        if place == 0 {
            bucket.unordered.insert(pfn);
        } else {
            bucket.placed.insert(place, pfn);
        }
    }

    pub(crate) fn remove(&mut self, pfn: Pfn, place: i64, filed: TypeSet) {
        let Some(bucket) = self.buckets.get_mut(&filed) else { return };
        if place == 0 {
            bucket.unordered.remove(&pfn);
        } else {
            bucket.placed.remove(&place);
        }
        if bucket.placed.is_empty() && bucket.unordered.is_empty() {
            self.buckets.remove(&filed);
        }
    }

    pub(crate) fn refile(&mut self, pfn: Pfn, place: i64, filed: TypeSet, types: TypeSet) {
        self.remove(pfn, place, filed);
        self.add_at(pfn, place, types);
    }

    /// The block at the head of the list of `migratetype`.
    pub(crate) fn at_head(&self, migratetype: MigrateType) -> Answer {
        self.at_end(migratetype, |bucket, side| match side {
            Side::Near => bucket.placed.range(..0).next().map(|(at, pfn)| (*at, *pfn)),
            Side::Far => bucket.placed.range(1..).next().map(|(at, pfn)| (*at, *pfn)),
        })
    }

    /// The block at its tail.
    pub(crate) fn at_tail(&self, migratetype: MigrateType) -> Answer {
        self.at_end(migratetype, |bucket, side| match side {
            Side::Near => bucket.placed.range(1..).next_back().map(|(at, pfn)| (-*at, *pfn)),
            Side::Far => bucket.placed.range(..0).next_back().map(|(at, pfn)| (-*at, *pfn)),
        })
    }

    /// `nearest` gives a bucket's block nearest to the end asked for, on one side of the part that
    /// was there before, with a distance that grows away from that end.
    fn at_end(
        &self,
        migratetype: MigrateType,
        nearest: impl Fn(&Bucket, Side) -> Option<(i64, Pfn)>,
    ) -> Answer {
        let sure = TypeSet::of(migratetype);
        let candidates = || self.buckets.iter().filter(|(types, _)| types.contains(migratetype));
        for side in [Side::Near, Side::Far] {
            let best = candidates()
                .filter_map(|(types, bucket)| {
                    nearest(bucket, side).map(|(at, pfn)| (at, pfn, *types == sure))
                })
                .min_by_key(|(at, ..)| *at);
            match best {
                Some((_, pfn, true)) => return Answer::Exactly(pfn),
                Some(_) => return Answer::Depends,
                None => {}
            }
            if side == Side::Near {
                if self.unknown.contains(migratetype) {
                    return Answer::Depends;
                }
                let mut there = candidates()
                    .flat_map(|(types, bucket)| bucket.unordered.iter().map(move |p| (*p, *types)));
                match (there.next(), there.next()) {
                    (None, _) => {}
                    (Some((pfn, types)), None) if types == sure => return Answer::Exactly(pfn),
                    _ => return Answer::Depends,
                }
            }
        }
        Answer::Nothing
    }

    /// Blocks that surely stand between the head and `place` on the list of `migratetype`, and those
    /// that stand there if their list is of that type.
    pub(crate) fn before(&self, migratetype: MigrateType, place: i64) -> (Vec<Pfn>, Vec<Pfn>) {
        self.within(migratetype, (Bound::Unbounded, Bound::Excluded(place)), place > 0)
    }

    /// The same between `place` and the tail.
    pub(crate) fn after(&self, migratetype: MigrateType, place: i64) -> (Vec<Pfn>, Vec<Pfn>) {
        self.within(migratetype, (Bound::Excluded(place), Bound::Unbounded), place < 0)
    }

    /// All blocks that are surely on the list, and those that may be.
    pub(crate) fn all(&self, migratetype: MigrateType) -> (Vec<Pfn>, Vec<Pfn>) {
        self.within(migratetype, (Bound::Unbounded, Bound::Unbounded), true)
    }

    fn within(
        &self,
        migratetype: MigrateType,
        places: (Bound<i64>, Bound<i64>),
        unordered: bool,
    ) -> (Vec<Pfn>, Vec<Pfn>) {
        let sure_types = TypeSet::of(migratetype);
        let (mut sure, mut maybe) = (Vec::new(), Vec::new());
        for (types, bucket) in &self.buckets {
            if !types.contains(migratetype) {
                continue;
            }
            let out = if *types == sure_types { &mut sure } else { &mut maybe };
            out.extend(bucket.placed.range(places).map(|(_, pfn)| *pfn));
            if unordered {
                out.extend(bucket.unordered.iter().copied());
            }
        }
        (sure, maybe)
    }

    /// Number of known blocks.
    pub(crate) fn len(&self) -> usize {
        self.buckets.values().map(|bucket| bucket.placed.len() + bucket.unordered.len()).sum()
    }

    /// Number of blocks by the set of types under which they are filed.
    pub(crate) fn by_types(&self) -> impl Iterator<Item = (TypeSet, usize)> + '_ {
        self.buckets
            .iter()
            .map(|(types, bucket)| (*types, bucket.placed.len() + bucket.unordered.len()))
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    /// Pushed at the end asked for, since the start.
    Near,
    /// Pushed at the other end.
    Far,
}
