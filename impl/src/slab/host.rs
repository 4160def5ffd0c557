//! A slab allocator that owns its metadata, for hosts: tests, simulators.

use super::{
    allocator::SlabAllocator, memory::ObjectMemory, memory::SparseTable, storage::SlabStorage,
};
use crate::{
    error::SetupError,
    platform::{Platform, StdPlatform},
    storage::{Backing, Owned},
};
use core::{fmt, ops::Deref};
use mmspec_model::vocab::{MachineRef, SlabRules};

/// Storage that can be copied.
pub(super) trait Copied {
    fn copied(&self) -> Self;
}

impl<P: Platform> Copied for SlabStorage<P, Owned> {
    fn copied(&self) -> Self {
        self.copy()
    }
}

/// Caches that an [`OwnedSlabs`] has room for.
const CACHES: usize = 64;

/// A [`SlabAllocator`] with its metadata on the heap and its free pointers in a table: for
/// simulated machines, whose memory does not exist.
///
/// It derefs to the allocator. The contract's trait is implemented for it and for `&OwnedSlabs`. A
/// clone is a copy of the state; take one only while no operation runs.
pub struct OwnedSlabs<P: Platform = StdPlatform>(SlabAllocator<P, Owned, SparseTable>);

impl<P: Platform> OwnedSlabs<P> {
    /// No caches yet, room for 64. `seed` decides all that is random.
    ///
    /// # Errors
    /// The machine contradicts itself.
    pub fn new(machine: MachineRef<'_>, rules: SlabRules, seed: u64) -> Result<Self, SetupError> {
        machine.validate()?;
        let storage = SlabStorage::on_heap(&machine, CACHES);
        SlabAllocator::new(machine, rules, seed, storage, SparseTable::of(&machine)).map(Self)
    }

    /// The same as a kernel has it: misuse is found only where the kernel finds it, and the quick
    /// ways are quick. In debug builds all is checked nevertheless.
    ///
    /// # Errors
    /// The machine contradicts itself.
    pub fn unchecked(
        machine: MachineRef<'_>,
        rules: SlabRules,
        seed: u64,
    ) -> Result<Self, SetupError> {
        machine.validate()?;
        let mut storage = SlabStorage::on_heap(&machine, CACHES);
        if !cfg!(debug_assertions) {
            storage.live = [].into();
        }
        SlabAllocator::new(machine, rules, seed, storage, SparseTable::of(&machine)).map(Self)
    }

    /// The handle that threads share: `Copy`, `Send` and `Sync`.
    #[must_use]
    pub fn shared(&self) -> &SlabAllocator<P, Owned, SparseTable> {
        &self.0
    }
}

impl<P: Platform> Deref for OwnedSlabs<P> {
    type Target = SlabAllocator<P, Owned, SparseTable>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl<P: Platform> Clone for OwnedSlabs<P> {
    fn clone(&self) -> Self {
        Self(self.0.copy())
    }
}

impl<P: Platform> fmt::Debug for OwnedSlabs<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<P: Platform, B: Backing, M: ObjectMemory> fmt::Debug for SlabAllocator<P, B, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SlabAllocator")
            .field("caches", &self.cache_count())
            .field("rules", &self.rules)
            .finish_non_exhaustive()
    }
}
