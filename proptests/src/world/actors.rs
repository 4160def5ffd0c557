//! Who acts: processes, kswapd, kcompactd.

use super::{
    Backing, Home, Memory, Process,
    fault::{Fault, Faulted},
    tables::{Area, Entry, HUGE, HUGE_PAGES, Place, Region, Space},
};
use mmspec_impl::{
    Owned, Walk,
    compact::Daemon,
    platform::Platform,
    reclaim::{Reclaim, Registered},
};
use mmspec_model::{
    contract::{CompactResult, KswapdReply, KswapdStep, SlowReply, SlowStep},
    vocab::{CpuId, NodeId, Order, Pfn, ZoneKind},
};
use std::{
    ops::Range,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// What a turn of kswapd came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KswapdTurn {
    /// It sleeps until it is woken.
    Asleep,
    /// It naps: its next turn comes after 100 ms, or when it is woken ([`World::cut_short`]).
    Nap,
    /// It shrank the node, and goes on.
    Shrunk,
}

/// Those who act on a [`Memory`]. A clone is another hand on the same ones, for another thread.
pub struct World<'m, P: Platform> {
    pub(super) memory: &'m Memory<P>,
    shared: Arc<Shared<'m, P>>,
}

struct Shared<'m, P: Platform> {
    shrinkers: [Registered<'m, P>; 1],
    daemons: Mutex<Daemons>,
}

struct Daemons {
    /// What the next step of each node's kswapd is told.
    kswapd: Vec<Option<KswapdReply>>,
    /// The order that each kswapd was last asked for.
    orders: Vec<Order>,
    /// What each kcompactd is at.
    rounds: Vec<Option<Daemon>>,
    /// Whether each kcompactd was woken: not everything that is asked of it does (compaction.md §1.10).
    woken: Vec<bool>,
    /// How direct compactions ended, by [`CompactResult`].
    results: [u64; CompactResult::ALL.len()],
}

impl<P: Platform> Clone for World<'_, P> {
    fn clone(&self) -> Self {
        Self { memory: self.memory, shared: Arc::clone(&self.shared) }
    }
}

impl<'m, P: Platform> World<'m, P> {
    /// Nobody yet.
    #[must_use]
    pub fn new(memory: &'m Memory<P>) -> Self {
        let nodes = memory.pages.node_count();
        let daemons = Daemons {
            kswapd: vec![None; nodes],
            orders: vec![Order::ZERO; nodes],
            rounds: (0..nodes).map(|_| None).collect(),
            woken: vec![false; nodes],
            results: [0; CompactResult::ALL.len()],
        };
        let shrinkers = [Registered::new(memory)];
        Self { memory, shared: Arc::new(Shared { shrinkers, daemons: Mutex::new(daemons) }) }
    }

    fn daemons(&self) -> MutexGuard<'_, Daemons> {
        self.shared.daemons.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The memory.
    #[must_use]
    pub const fn memory(&self) -> &'m Memory<P> {
        self.memory
    }

    /// Direct compactions of faults that ended with `result`.
    #[must_use]
    pub fn compacted(&self, result: CompactResult) -> u64 {
        self.daemons().results[result as usize]
    }

    pub(super) fn count(&self, result: CompactResult) {
        self.daemons().results[result as usize] += 1;
    }

    /// A new process.
    pub fn spawn(&mut self) -> Process {
        let mut tables = self.memory.tables();
        tables.spaces.push(Space::default());
        Process(tables.spaces.len() as u32 - 1)
    }

    /// Map `pages` of a process's memory, from a multiple of the huge page on; the virtual pages.
    pub fn map(&mut self, process: Process, pages: u32, backing: Backing) -> Range<u32> {
        let mut tables = self.memory.tables();
        let space = &mut tables.spaces[process.0 as usize];
        let start = space.entries.len() as u32;
        let end = start + pages;
        let room = (end as usize).next_multiple_of(HUGE_PAGES);
        space.entries.resize(room, Entry { place: Place::Nowhere, token: 0 });
        space.regions.resize(room / HUGE_PAGES, Region::default());
        space.areas.push(Area { start, end, backing });
        start..end
    }

    /// A fault from begin to end.
    pub fn touch(&mut self, cpu: CpuId, process: Process, page: u32) -> Faulted {
        let mut fault = Fault::new(cpu, Home { process, page });
        loop {
            if let Some(end) = fault.step(self) {
                return end;
            }
        }
    }

    /// Write to a page that is mapped; false if it is not.
    pub fn write(&mut self, home: Home) -> bool {
        let mut tables = self.memory.tables();
        let Some(Place::Frame(pfn)) = tables.entry(home).map(|entry| entry.place) else {
            return false;
        };
        let content = tables.fresh();
        tables.entry_mut(home).token = content;
        tables.frame_mut(pfn).content = content;
        let head = tables.head(pfn);
        (tables.frame_mut(head).accessed, tables.frame_mut(head).dirty) = (true, true);
        true
    }

    /// Unmap virtual pages of a process. Huge mappings that lie in them in part are split, and their
    /// pages queued; tables that no mapping needs any more are freed.
    pub fn unmap(&mut self, cpu: CpuId, process: Process, range: Range<u32>) {
        self.memory.run_on(cpu);
        for page in range.clone() {
            self.unmap_page(Home { process, page }, &range);
        }
        let mut tables = self.memory.tables();
        let space = &mut tables.spaces[process.0 as usize];
        space.cut(&range);
        let (first, end) = (range.start as usize / HUGE_PAGES, range.end as usize);
        let mut unused = Vec::new();
        for at in first..end.div_ceil(HUGE_PAGES) {
            if !space.is_used(at) {
                unused.extend(space.regions[at].table.take().map(|table| (table, Order::ZERO)));
            }
        }
        drop(tables);
        self.memory.pages.free_batch(cpu, &unused);
    }

    /// Unmap everything that a process has.
    pub fn exit(&mut self, cpu: CpuId, process: Process) {
        let end = self.memory.tables().spaces[process.0 as usize].entries.len() as u32;
        self.unmap(cpu, process, 0..end);
    }

    fn unmap_page(&mut self, home: Home, range: &Range<u32>) {
        let mut tables = self.memory.tables();
        let Some(place) = tables.entry(home).map(|entry| entry.place) else { return };
        if place == Place::Nowhere {
            return;
        }
        tables.entry_mut(home).place = Place::Nowhere;
        let Place::Frame(pfn) = place else { return };
        let head = tables.head(pfn);
        tables.frame_mut(pfn).home = None;
        if tables.region(home).huge.is_some() {
            let start = home.page & !(HUGE_PAGES as u32 - 1);
            tables.region_mut(home).huge = None;
            if start < range.start || range.end < start + HUGE_PAGES as u32 {
                tables.thp.split_pmd += 1;
            }
        }
        if tables.is_mapped(head) {
            let start = home.page & !(HUGE_PAGES as u32 - 1);
            let whole = range.start <= start && start + HUGE_PAGES as u32 <= range.end;
            // What is unmapped as a whole goes as a whole.
            if !whole && !tables.frame(head).queued {
                tables.frame_mut(head).queued = true;
                tables.queue.push_back(head);
                tables.thp.deferred_split_page += 1;
            }
        } else if tables.frame(head).isolated.is_none() {
            // A page in the hands of compaction is freed by it.
            self.memory.free(tables, head);
        }
    }

    pub(super) fn install(&mut self, home: Home, pfn: Pfn) {
        let mut tables = self.memory.tables();
        let file = tables.area(home).is_some_and(|area| area.backing == Backing::File);
        // What was swapped out comes back, what is in a file is read again, the rest is zeroed.
        let content = match tables.entry(home).map(|entry| (entry.place, entry.token)) {
            Some((Place::Swap(content), _)) => content,
            Some((_, token)) if file && token > 0 => token,
            _ => tables.fresh(),
        };
        tables.install(home, pfn, content);
        let tick = tables.tick;
        let obstacles = tables.obstacles;
        let obstacle = obstacles.draw(&mut tables.rng, file, tick);
        let frame = tables.frame_mut(pfn);
        (frame.file, frame.accessed, frame.obstacle) = (file, true, obstacle);
        frame.dirty = obstacle.no_handler;
        tables.meter().filled += 1;
        tables.listed();
        drop(tables);
        self.memory.lru.add(&self.memory.pages, pfn, file);
    }

    pub(super) fn install_huge(&mut self, home: Home, head: Pfn) {
        let mut tables = self.memory.tables();
        let start = home.page & !(HUGE_PAGES as u32 - 1);
        for at in 0..HUGE_PAGES as u32 {
            let content = tables.fresh();
            let home = Home { page: start + at, ..home };
            tables.install(home, head.add(u64::from(at)), content);
        }
        let frame = tables.frame_mut(head);
        (frame.huge, frame.accessed) = (true, true);
        tables.region_mut(home).huge = Some(head);
        tables.meter().filled += HUGE.pages();
        // A huge page does not wait for others.
        tables.listed();
        tables.flush_listed();
        tables.thp.fault_alloc += 1;
        drop(tables);
        self.memory.lru.add(&self.memory.pages, head, false);
    }

    /// Do what a step of the slow path asks for.
    pub(super) fn answer(&mut self, walk: &mut Walk, step: SlowStep) -> SlowReply {
        match step {
            SlowStep::Reclaim { .. } => self.reclaim().direct(walk),
            SlowStep::Throttle { node, .. } => {
                // The wait is played by a turn of whom it waits for.
                self.memory.tables().meter().waits += 1;
                self.kswapd(self.memory.cpu(), node);
                SlowReply::Woken { killed: false }
            }
            SlowStep::DrainWait => {
                self.memory.pages.run_all_work();
                SlowReply::Woken { killed: false }
            }
            SlowStep::OomLock => SlowReply::OomLock(true),
            // Nobody is killed here.
            SlowStep::OomKill { .. } => SlowReply::Killed(false),
            // Compaction is stepped by the allocation itself.
            SlowStep::Yield | SlowStep::Compact { .. } | SlowStep::Done(_) => {
                SlowReply::Woken { killed: false }
            }
        }
    }

    fn reclaim(&self) -> Reclaim<'_, P, Owned> {
        Reclaim {
            pages: self.memory.pages.shared(),
            lru: &self.memory.lru,
            owner: self.memory,
            shrinkers: &self.shared.shrinkers,
            goes_on: self.memory.config.goes_on,
        }
    }

    /// Whether a node's kswapd is awake, or naps.
    #[must_use]
    pub fn is_awake(&self, node: NodeId) -> bool {
        self.memory.pages.node_state(node).kswapd_awake
    }

    /// Whether the nap of a node's kswapd is cut short: something was asked of it meanwhile.
    #[must_use]
    pub fn cut_short(&self, node: NodeId) -> bool {
        self.memory.pages.node_state(node).kswapd_highest.is_some()
    }

    /// One step of a node's kswapd. When it is about to sleep it clears skip bits and wakes kcompactd.
    pub fn kswapd(&mut self, cpu: CpuId, node: NodeId) -> KswapdTurn {
        self.memory.run_on(cpu);
        let reply = self.daemons().kswapd[node.index()].take();
        let reply = match reply {
            Some(KswapdReply::Napped { .. }) => {
                Some(KswapdReply::Napped { early: self.cut_short(node) })
            }
            reply => reply,
        };
        let asked = self.memory.pages.node_state(node);
        let step = self.memory.pages.kswapd_step(node, reply);
        let after = self.memory.pages.node_state(node);
        let at = node.index();
        if asked.kswapd_highest.is_some() && after.kswapd_highest.is_none() {
            self.daemons().orders[at] = Order::new(asked.kswapd_order).unwrap_or(Order::MAX);
        }
        let rests = step == KswapdStep::Nap;
        if after.kcompactd_wakeups > asked.kcompactd_wakeups + u64::from(rests) {
            // A boost was worked off.
            self.ask_kcompactd(node, HUGE);
        }
        match step {
            KswapdStep::Asleep => KswapdTurn::Asleep,
            KswapdStep::Nap => {
                self.memory.compactor().flush_node(node);
                let order = self.daemons().orders[at];
                self.ask_kcompactd(node, order);
                self.daemons().kswapd[at] = Some(KswapdReply::Napped { early: false });
                KswapdTurn::Nap
            }
            KswapdStep::Shrink { .. } => {
                let reply = self.reclaim().kswapd(cpu, node, step);
                self.daemons().kswapd[at] = reply;
                KswapdTurn::Shrunk
            }
        }
    }

    /// Times that kcompactds were woken by the allocator.
    pub(super) fn kcompactd_wakeups(&self) -> u64 {
        let nodes = (0..self.memory.pages.node_count()).map(|node| NodeId(node as u8));
        nodes.map(|node| self.memory.pages.node_state(node).kcompactd_wakeups).sum()
    }

    /// Ask kcompactd for blocks. Where no zone is worth a run it sleeps on.
    fn ask_kcompactd(&self, node: NodeId, order: Order) {
        let worth = self.memory.compactor().kcompactd_wake(node, order, ZoneKind::Movable);
        self.daemons().woken[node.index()] |= worth;
    }

    /// A request that may not compact itself leaves it to kcompactd, if the allocator said so since the
    /// count was `before`.
    pub(super) fn pass_on(&mut self, before: u64, order: Order) {
        if self.kcompactd_wakeups() > before {
            for node in (0..self.memory.pages.node_count()).map(|node| NodeId(node as u8)) {
                self.ask_kcompactd(node, order);
            }
        }
    }

    /// Whether a node's kcompactd was woken and has not come to its end.
    #[must_use]
    pub fn is_kcompactd_awake(&self, node: NodeId) -> bool {
        let daemons = self.daemons();
        daemons.rounds[node.index()].is_some() || daemons.woken[node.index()]
    }

    /// A round of a node's kcompactd; false if it sleeps.
    pub fn kcompactd(&mut self, cpu: CpuId, node: NodeId) -> bool {
        let awake = self.is_kcompactd_awake(node);
        while self.kcompactd_step(cpu, node) {}
        awake
    }

    /// The begin of a round of a node's kcompactd, or an iteration of it; false if it sleeps.
    pub fn kcompactd_step(&mut self, cpu: CpuId, node: NodeId) -> bool {
        if !self.is_kcompactd_awake(node) {
            return false;
        }
        self.memory.run_on(cpu);
        let (compactor, at) = (self.memory.compactor(), node.index());
        let under_way = self.daemons().rounds[at].take();
        let round = under_way.or_else(|| compactor.kcompactd_begin(cpu, node));
        let left =
            round.and_then(|mut round| compactor.kcompactd_step(&mut round).then_some(round));
        let mut daemons = self.daemons();
        // What was asked meanwhile is done without another call.
        daemons.woken[at] = left.is_some() || compactor.kcompactd_order(node).is_some();
        daemons.rounds[at] = left;
        daemons.woken[at]
    }
}
