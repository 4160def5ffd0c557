//! What only the owner of a page knows, and what only it can do (compaction.md §4.7).

use super::LruPage;

/// How a page was used since its owner was last asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct References {
    /// Mappings through which it was used.
    pub times: u32,
    /// One of them is of program text.
    pub executable: bool,
    /// It is locked in memory.
    pub locked: bool,
}

/// What came of a write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Written {
    /// It is done: the page is clean.
    Clean,
    /// It was begun: the page stays for now.
    Started,
    /// It cannot be written now.
    Failed,
}

/// Whether anonymous memory has a place to go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Anon {
    /// It has a place in swap.
    Swap,
    /// There is none.
    Stays,
}

/// The owner of the pages on the lists. It is asked while no lock of the allocator or of the lists is
/// held, about pages that are on no list meanwhile; several threads may ask at once. It must not
/// allocate with direct reclaim.
pub trait PageOwner: Sync {
    /// How the page was used since the last call, which begins a new count (folio_referenced).
    fn references(&self, page: LruPage) -> References;

    /// Whether it must be written before it can go.
    fn is_dirty(&self, page: LruPage) -> bool;

    /// Whether a write of it is under way.
    fn is_under_writeback(&self, page: LruPage) -> bool;

    /// Find a place in swap for anonymous memory; it is dirty until it was written there.
    fn swap(&self, page: LruPage) -> Anon;

    /// Take it out of all mappings; false if that cannot be now.
    fn unmap(&self, page: LruPage) -> bool;

    /// Write it.
    fn write(&self, page: LruPage) -> Written;

    /// Let it go: the owner must not use it any more if this says yes. The reclaimer frees it then.
    fn release(&self, page: LruPage) -> bool;
}
