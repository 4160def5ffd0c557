//! The owner of an image's pages.

use super::frames::{Contents, Image};
use crate::trace::{CompactStep, Scan};
use mmspec_model::contract::{CompactEvent, CompactMode, LruPages, Migrated, PageMover, PageUse};
use mmspec_model::vocab::{Machine, NodeId, Order, Pfn};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Every page moves when asked to; what the tracepoints tell is kept.
#[derive(Debug)]
pub(super) struct Owner {
    machine: Machine,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    frames: Vec<Contents>,
    isolated: Vec<bool>,
    nodes: Vec<LruPages>,
    steps: Vec<CompactStep>,
}

impl Owner {
    pub(super) fn new(image: &Image) -> Self {
        let machine = image.machine();
        let mut nodes = vec![LruPages::default(); usize::from(machine.nodes)];
        for zone in &machine.zones {
            for pfn in (zone.span.start.0..zone.span.end.0).map(Pfn) {
                if let Contents::Lru(page) = image.contents(pfn)
                    && !page.unevictable
                {
                    nodes[zone.node.index()].active += page.order.pages();
                }
            }
        }
        let frames = image.frames.clone();
        let isolated = vec![false; frames.len()];
        let state = State { frames, isolated, nodes, steps: Vec::new() };
        Self { machine, state: Mutex::new(state) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What was told so far.
    pub(super) fn steps(&self) -> Vec<CompactStep> {
        self.lock().steps.clone()
    }

    fn count(&self, pfn: Pfn, order: Order, isolated: bool, state: &mut State) {
        let Some(zone) = self.machine.as_ref().zone_of(pfn) else { return };
        let lru = &mut state.nodes[self.machine.zones[zone.index()].node.index()];
        let pages = order.pages();
        if isolated {
            lru.active = lru.active.saturating_sub(pages);
            lru.isolated += pages;
        } else {
            lru.active += pages;
            lru.isolated = lru.isolated.saturating_sub(pages);
        }
    }
}

impl PageMover for Owner {
    fn page(&self, pfn: Pfn) -> PageUse {
        let state = self.lock();
        match state.frames.get(pfn.index()) {
            Some(Contents::Lru(page)) if !state.isolated[pfn.index()] => PageUse::Lru(*page),
            Some(Contents::Compound(order)) => PageUse::Compound(*order),
            _ => PageUse::Fixed,
        }
    }

    fn isolate(&self, pfn: Pfn) -> bool {
        let mut state = self.lock();
        match state.frames.get(pfn.index()).copied() {
            Some(Contents::Lru(page)) if !state.isolated[pfn.index()] => {
                state.isolated[pfn.index()] = true;
                self.count(pfn, page.order, true, &mut state);
                true
            }
            _ => false,
        }
    }

    fn put_back(&self, pfn: Pfn) {
        let mut state = self.lock();
        if let Contents::Lru(page) = state.frames[pfn.index()] {
            state.isolated[pfn.index()] = false;
            self.count(pfn, page.order, false, &mut state);
        }
    }

    fn migrate(&self, from: Pfn, to: Pfn, _: CompactMode, _: u8) -> Migrated {
        let mut state = self.lock();
        let Contents::Lru(page) = state.frames[from.index()] else { return Migrated::Busy };
        for offset in 0..page.order.pages() as usize {
            state.frames[to.index() + offset] = state.frames[from.index() + offset];
            state.frames[from.index() + offset] = Contents::Fixed;
        }
        state.isolated[from.index()] = false;
        self.count(to, page.order, false, &mut state);
        Migrated::Done
    }

    fn lru_pages(&self, node: NodeId) -> LruPages {
        self.lock().nodes.get(node.index()).copied().unwrap_or_default()
    }

    fn trace(&self, event: CompactEvent) {
        let start =
            |zone: mmspec_model::vocab::ZoneIdx| self.machine.zones[zone.index()].span.start;
        let mut state = self.lock();
        let step = match event {
            CompactEvent::Begin { zone, migrate, free, mode } => CompactStep::Begin {
                zone: start(zone),
                migrate,
                free,
                sync: mode != CompactMode::Async,
            },
            CompactEvent::IsolateMigrate { range, scanned, taken } => {
                CompactStep::IsolateMigrate(Scan { range, scanned, taken })
            }
            CompactEvent::IsolateFree { range, scanned, taken } => {
                CompactStep::IsolateFree(Scan { range, scanned, taken })
            }
            CompactEvent::FastIsolateFree { range, scanned, taken } => {
                CompactStep::FastIsolateFree(Scan { range, scanned, taken })
            }
            CompactEvent::Migrate { migrated, failed } => CompactStep::Migrate { migrated, failed },
            CompactEvent::Finished { result, .. } => CompactStep::Finished { order: -1, result },
            CompactEvent::End { zone, migrate, free, result } => {
                CompactStep::End { zone: start(zone), migrate, free, result }
            }
            // No tracepoints of the kernel.
            CompactEvent::FastFindMigrate { .. }
            | CompactEvent::Moved { .. }
            | CompactEvent::Freed { .. } => return,
        };
        state.steps.push(step);
    }
}
