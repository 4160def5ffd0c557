//! The owner of a case's pages.

use super::case::Kind;
use mmspec_model::contract::{
    CompactEvent, CompactLock, CompactMode, LruPages, LruUse, Migrated, PageMover, PageUse,
};
use mmspec_model::laws::Home;
use mmspec_model::vocab::{NodeId, Pfn};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A page.
#[derive(Clone, Copy, Debug)]
pub(super) struct Page {
    pub(super) token: u64,
    pub(super) kind: Kind,
    pub(super) isolated: bool,
    tries: u8,
}

/// All pages of a case. One thread plays it; the trait wants an owner that several may ask.
#[derive(Default)]
pub(super) struct Owner {
    pages: Mutex<BTreeMap<Pfn, Page>>,
    events: Mutex<Vec<CompactEvent>>,
    /// What an owner must never see.
    wrong: Mutex<Option<String>>,
    pub(super) signal: AtomicBool,
    pub(super) contended: AtomicBool,
    pub(super) resched: AtomicBool,
    next: AtomicU64,
}

/// A panic under a lock is a finding of its own; what it left is not looked at.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Owner {
    /// A new page.
    pub(super) fn add(&self, pfn: Pfn, kind: Kind) {
        let token = self.next.fetch_add(1, Relaxed) + 1;
        self.pages().insert(pfn, Page { token, kind, isolated: false, tries: 0 });
    }

    pub(super) fn pages(&self) -> MutexGuard<'_, BTreeMap<Pfn, Page>> {
        lock(&self.pages)
    }

    pub(super) fn take_events(&self) -> Vec<CompactEvent> {
        std::mem::take(&mut lock(&self.events))
    }

    pub(super) fn take_wrong(&self) -> Option<String> {
        lock(&self.wrong).take()
    }

    pub(super) fn homes(&self) -> Vec<Home> {
        let home = |(pfn, page): (&Pfn, &Page)| Home {
            token: page.token,
            pfn: *pfn,
            lru: page.kind != Kind::Driver,
        };
        self.pages().iter().map(home).collect()
    }

    pub(super) fn isolated(&self) -> u64 {
        self.pages().values().filter(|page| page.isolated).count() as u64
    }

    fn complain(&self, what: String) {
        lock(&self.wrong).get_or_insert(what);
    }
}

impl PageMover for Owner {
    fn page(&self, pfn: Pfn) -> PageUse {
        let pages = self.pages();
        let Some(page) = pages.get(&pfn).filter(|page| !page.isolated) else {
            return PageUse::Fixed;
        };
        let plain = LruUse::ANON;
        match page.kind {
            Kind::Fixed => PageUse::Fixed,
            Kind::Driver => PageUse::Driver,
            Kind::Pinned => PageUse::Lru(LruUse { pinned: true, ..plain }),
            Kind::Writeback => PageUse::Lru(LruUse { writeback: true, ..plain }),
            Kind::Dirty => {
                PageUse::Lru(LruUse { dirty_without_handler: true, anon: false, ..plain })
            }
            Kind::Locked => PageUse::Lru(LruUse { unevictable: true, ..plain }),
            Kind::File => PageUse::Lru(LruUse { anon: false, ..plain }),
            _ => PageUse::Lru(plain),
        }
    }

    fn isolate(&self, pfn: Pfn) -> bool {
        let mut pages = self.pages();
        match pages.get_mut(&pfn) {
            Some(page) if !page.isolated => page.isolated = true,
            _ => self.complain(format!("{pfn} was isolated, which is no page or isolated already")),
        }
        true
    }

    fn put_back(&self, pfn: Pfn) {
        let mut pages = self.pages();
        match pages.get_mut(&pfn) {
            Some(page) if page.isolated => page.isolated = false,
            _ => self.complain(format!("{pfn} was put back without having been isolated")),
        }
    }

    fn migrate(&self, from: Pfn, to: Pfn, mode: CompactMode, _pass: u8) -> Migrated {
        let mut pages = self.pages();
        if pages.contains_key(&to) {
            self.complain(format!("{from} is to move to {to}, where another page lies"));
        }
        let Some(page) = pages.get_mut(&from).filter(|page| page.isolated) else {
            drop(pages);
            self.complain(format!("{from} is to move, which was not isolated"));
            return Migrated::Busy;
        };
        match page.kind {
            Kind::Busy | Kind::Pinned => return Migrated::Busy,
            Kind::Writeback if mode != CompactMode::Sync => return Migrated::Busy,
            Kind::Dirty => return Migrated::NoHandler,
            Kind::Again(times) if page.tries < times => {
                page.tries += 1;
                return Migrated::Again;
            }
            Kind::Freed => {
                pages.remove(&from);
                return Migrated::Freed;
            }
            _ => {}
        }
        let page = Page { isolated: false, tries: 0, ..*page };
        pages.remove(&from);
        pages.insert(to, page);
        Migrated::Done
    }

    fn lru_pages(&self, _: NodeId) -> LruPages {
        let pages = self.pages();
        let lru = pages.values().filter(|page| !matches!(page.kind, Kind::Fixed | Kind::Driver));
        let (isolated, inactive) = lru.fold((0, 0), |(isolated, inactive), page| {
            if page.isolated { (isolated + 1, inactive) } else { (isolated, inactive + 1) }
        });
        LruPages { inactive, active: 0, isolated }
    }

    fn contended(&self, _: CompactLock) -> bool {
        self.contended.load(Relaxed)
    }

    fn fatal_signal(&self) -> bool {
        self.signal.load(Relaxed)
    }

    fn needs_resched(&self) -> bool {
        self.resched.load(Relaxed)
    }

    fn trace(&self, event: CompactEvent) {
        lock(&self.events).push(event);
    }
}
