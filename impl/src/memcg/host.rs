//! Memory cgroups that own their metadata, for hosts: tests, simulators, benchmarks.

use super::{GroupSlot, Memcg, MemcgStorage, PeakSlot, StockCpuSlot};
use crate::{
    platform::{Platform, StdPlatform, Word},
    storage::Owned,
};
use core::{fmt, ops::Deref};
use mmspec_model::vocab::{MAX_MEMCGS, MemcgRules};
use std::boxed::Box;

/// A [`Memcg`] with its metadata on the heap. It derefs to it; `&self` may be used by many threads. A clone is a copy
/// of the state; take one only while no operation runs.
pub struct OwnedMemcg<P: Platform = StdPlatform>(Memcg<P, Owned>);

impl<P: Platform> MemcgStorage<P, Owned> {
    /// Heap slices for so many CPUs, groups and open handles of memory.peak.
    #[must_use]
    pub fn on_heap(cpus: usize, groups: usize, peaks: usize) -> Self {
        fn slice<T>(len: usize, new: impl Fn() -> T) -> Box<[T]> {
            (0..len).map(|_| new()).collect()
        }
        Self {
            groups: slice(groups.min(MAX_MEMCGS), GroupSlot::new),
            cpus: slice(cpus, StockCpuSlot::new),
            peaks: slice(peaks, PeakSlot::new),
        }
    }
}

impl<P: Platform> OwnedMemcg<P> {
    /// The root alone, with place for `groups` groups in all ([`MAX_MEMCGS`] at most; at least the root is given one).
    #[must_use]
    pub fn new(cpus: usize, groups: usize, peaks: usize, rules: MemcgRules) -> Self {
        Self(Memcg::new(rules, MemcgStorage::on_heap(cpus, groups.max(1), peaks)))
    }

    /// The handle that threads share: `Copy`, `Send` and `Sync`.
    #[must_use]
    pub fn shared(&self) -> &Memcg<P, Owned> {
        &self.0
    }
}

impl<P: Platform> Deref for OwnedMemcg<P> {
    type Target = Memcg<P, Owned>;

    #[inline]
    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl<P: Platform> Clone for OwnedMemcg<P> {
    fn clone(&self) -> Self {
        let from = &self.0;
        let storage = MemcgStorage {
            groups: from.groups.iter().map(GroupSlot::copy).collect(),
            cpus: from.cpus.iter().map(StockCpuSlot::copy).collect(),
            peaks: from.peaks.iter().map(PeakSlot::copy).collect(),
        };
        Self(Memcg::assemble(from.rules, storage, from.count.load()))
    }
}

impl<P: Platform> fmt::Debug for OwnedMemcg<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OwnedMemcg").field(&self.0).finish()
    }
}
