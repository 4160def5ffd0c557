//! An allocator that owns its metadata, for hosts: tests, simulators, benchmarks.

use crate::{
    allocator::{PageAllocator, Parts},
    error::SetupError,
    frame::Spread,
    platform::{Platform, StdPlatform},
    storage::{Owned, Storage},
};
use core::{fmt, ops::Deref};
use mmspec_model::vocab::{MachineRef, Rules, Tunables};

/// A [`PageAllocator`] with its metadata on the heap.
///
/// It derefs to the allocator, so every operation is at hand through a shared reference; `&self`
/// may be used by many threads. The contract's traits are implemented for it and for
/// `&OwnedAllocator`. A clone is a copy of the state; take one only while no operation runs.
pub struct OwnedAllocator<P: Platform = StdPlatform>(PageAllocator<P, Owned>);

impl<P: Platform> OwnedAllocator<P> {
    /// An allocator of `machine`'s memory, all of it free and all CPUs online.
    ///
    /// # Errors
    /// The machine or the tunables contradict themselves.
    pub fn new(
        machine: MachineRef<'_>,
        rules: Rules,
        tunables: Tunables,
    ) -> Result<Self, SetupError> {
        Self::with_spread(machine, rules, tunables, Spread::Dense)
    }

    /// The same with records of frames that lie as `spread` says.
    ///
    /// # Errors
    /// The machine or the tunables contradict themselves.
    pub fn with_spread(
        machine: MachineRef<'_>,
        rules: Rules,
        tunables: Tunables,
        spread: Spread,
    ) -> Result<Self, SetupError> {
        machine.validate()?;
        let storage = Storage::on_heap(&machine, spread);
        PageAllocator::new(machine, rules, tunables, storage).map(Self)
    }

    /// The handle that threads share: `Copy`, `Send` and `Sync`.
    #[must_use]
    pub fn shared(&self) -> &PageAllocator<P, Owned> {
        &self.0
    }
}

impl<P: Platform> Deref for OwnedAllocator<P> {
    type Target = PageAllocator<P, Owned>;

    #[inline]
    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl<P: Platform> Clone for OwnedAllocator<P> {
    fn clone(&self) -> Self {
        let from = &self.0;
        Self(PageAllocator::assemble(Parts {
            geometry: from.geometry,
            nr_zones: from.nr_zones,
            nr_cpus: from.nr_cpus,
            nr_nodes: from.nr_nodes,
            spans: from.spans(),
            zonelists: from.zonelist_cookie(),
            storage: from.storage.copy(),
            config: *from.lock_config(),
        }))
    }
}

impl<P: Platform> fmt::Debug for OwnedAllocator<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnedAllocator")
            .field("zones", &self.nr_zones)
            .field("cpus", &self.nr_cpus)
            .field("events", &self.events())
            .finish_non_exhaustive()
    }
}
