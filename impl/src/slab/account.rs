//! Owners of objects (memcg-slub.md §4.11).
//!
//! The kernel charges `stride + 8` bytes for an accounted object after it is taken, and gives the
//! object back if the charge is refused. Charging is another module's: here an object can remember
//! whom it was charged to. The embedder does, around each accounted allocation and free,
//!
//! ```text
//! object_alloc → charge(owner, charge_bytes(cache)) → set_owner(object, owner)
//! take_owner(object) → uncharge(owner, charge_bytes(cache)) → object_free
//! ```

use super::{allocator::SlabAllocator, memory::ObjectMemory, storage::OWNER_GRANULE};
use crate::{platform::Platform, storage::Backing};
use core::sync::atomic::Ordering::Relaxed;
use mmspec_model::vocab::{CacheFlags, CacheId, Gfp, ObjAddr};

impl<P: Platform, B: Backing, M: ObjectMemory> SlabAllocator<P, B, M> {
    /// Whether an allocation from a cache is accounted: the cache is, or the request asks for it.
    #[must_use]
    pub fn is_accounted(&self, cache: CacheId, gfp: Gfp) -> bool {
        let flags = self.cache(cache).map(|slot| slot.flags()).unwrap_or_default();
        flags.contains(CacheFlags::ACCOUNT) || gfp.contains(Gfp::ACCOUNT)
    }

    /// Bytes that an object of a cache is charged: its stride and 8 for its place among the owners.
    /// 0 for a cache that does not exist.
    #[must_use]
    pub fn charge_bytes(&self, cache: CacheId) -> u64 {
        self.cache(cache).map_or(0, |slot| u64::from(slot.stride()) + 8)
    }

    fn owner_place(&self, object: ObjAddr) -> Option<&super::OwnerSlot> {
        let bytes = object.0.wrapping_sub(self.base << 12);
        let info = self.info_of(object)?;
        let stride = self.cache(info.cache()).ok()?.stride() as usize;
        (info.is_present() && stride >= OWNER_GRANULE)
            .then(|| self.storage.owners.get(bytes as usize / OWNER_GRANULE))?
    }

    /// Note whom an object was charged to (not 0). Whether there is room to remember it: if not,
    /// the object stays unaccounted, which is no failure, and the caller takes the charge back.
    pub fn set_owner(&self, object: ObjAddr, owner: u16) -> bool {
        self.owner_place(object).is_some_and(|place| {
            place.0.store(owner, Relaxed);
            true
        })
    }

    /// Whom an object was charged to.
    #[must_use]
    pub fn owner(&self, object: ObjAddr) -> Option<u16> {
        self.owner_place(object).map(|place| place.0.load(Relaxed)).filter(|owner| *owner != 0)
    }

    /// The same, and it is forgotten: before the object is freed.
    pub fn take_owner(&self, object: ObjAddr) -> Option<u16> {
        self.owner_place(object).map(|place| place.0.swap(0, Relaxed)).filter(|owner| *owner != 0)
    }

    /// Forget the owner of an object that was freed without a look at it.
    pub(super) fn clear_owner(&self, object: ObjAddr) {
        if !self.storage.owners.is_empty() {
            self.take_owner(object);
        }
    }
}
