//! The memory of a world: the allocator, the lists, and who owns what.

use super::{
    Config, Meter, Obstacle, Process,
    tables::{Home, Place, Tables},
    turns::Turns,
};
use mmspec_impl::{
    Owned, OwnedAllocator, SetupError, StorageSize,
    compact::{CompactStorage, Compaction, Compactor},
    platform::{Platform, SpinPlatform},
    reclaim::{Lru, LruStorage},
};
use mmspec_model::{
    contract::CompactEvent,
    vocab::{CpuId, Pfn, ThpCounters},
};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What lies in memory, shared by all actors of a [`super::World`]. It implements
/// [`mmspec_model::contract::PageMover`], [`mmspec_impl::reclaim::PageOwner`] and, for huge pages that
/// wait to be split, [`mmspec_impl::reclaim::Shrinker`].
pub struct Memory<P: Platform = SpinPlatform> {
    pub(super) pages: OwnedAllocator<P>,
    pub(super) lru: Lru<P, Owned>,
    pub(super) compaction: Compaction<P, Owned>,
    pub(super) config: Config,
    tables: Mutex<Tables>,
    turns: Turns,
    events: Mutex<Option<Vec<CompactEvent>>>,
}

impl<P: Platform> Memory<P> {
    /// Nothing but free memory.
    ///
    /// # Errors
    /// The machine or the tunables contradict themselves.
    pub fn new(config: Config) -> Result<Self, SetupError> {
        let machine = config.machine.as_ref();
        let pages = OwnedAllocator::new(machine, config.rules, config.tunables)?;
        let size = StorageSize::of(&machine);
        let lru = Lru::new(&size, LruStorage::on_heap(&size), config.swap)?;
        let (tables, turns) = (Tables::new(&config), Turns::new(machine.cpus.into()));
        Ok(Self {
            pages,
            lru,
            compaction: Compaction::new(&size, CompactStorage::on_heap(&size), config.compact)?,
            tables: Mutex::new(tables),
            turns,
            events: Mutex::new(None),
            config,
        })
    }

    /// The allocator.
    pub fn pages(&self) -> &OwnedAllocator<P> {
        &self.pages
    }

    /// The lists of pages by use.
    pub fn lru(&self) -> &Lru<P, Owned> {
        &self.lru
    }

    /// What compaction keeps of the zones.
    pub fn compaction(&self) -> &Compaction<P, Owned> {
        &self.compaction
    }

    /// Compaction, with this memory as the owner of pages.
    pub fn compactor(&self) -> Compactor<'_, P, Owned> {
        Compactor { pages: self.pages.shared(), state: &self.compaction, owner: self }
    }

    /// The counters of huge pages.
    pub fn thp(&self) -> ThpCounters {
        self.tables().thp
    }

    /// What was done so far, by all CPUs.
    pub fn meter(&self) -> Meter {
        let tables = self.tables();
        tables.cpus.iter().fold(Meter::default(), |sum, cpu| sum.plus(&cpu.meter))
    }

    /// What was done so far by one CPU.
    pub fn meter_of(&self, cpu: CpuId) -> Meter {
        self.tables().cpus[cpu.index()].meter
    }

    /// The clock of a CPU, ns: it goes on by the cost of what the CPU does.
    pub fn now(&self, cpu: CpuId) -> u64 {
        self.tables().clock(cpu)
    }

    /// A CPU does nothing until `time`.
    pub fn idle_until(&self, cpu: CpuId, time: u64) {
        let mut tables = self.tables();
        let passes = time.saturating_sub(tables.clock(cpu));
        tables.cpus[cpu.index()].ahead += passes;
    }

    /// The turns that CPUs take.
    pub const fn turns(&self) -> &Turns {
        &self.turns
    }

    /// A CPU, than which no clock is further behind, acts from now on. Its task should let others run once
    /// it has spent `slice` ns; `None`: never.
    pub fn begin_step(&self, cpu: CpuId, slice: Option<u64>) {
        let mut tables = self.tables();
        let now = tables.clock(cpu);
        tables.cpu = cpu;
        tables.cpus[cpu.index()].deadline = slice.map(|slice| now + slice);
        tables.holds.forget(now);
        // Time passes: obstacles that last for a while come closer to their end.
        tables.tick += 1;
    }

    /// A fatal signal is pending for the running task, or none any more.
    pub fn set_signal(&self, pending: bool) {
        self.tables().signal = pending;
    }

    /// Time passes: obstacles that last for a while come closer to their end.
    pub fn tick(&self) {
        self.tables().tick += 1;
    }

    /// Put an obstacle in the way of the page of `home`; false if it is in no frame.
    pub fn set_obstacle(&self, home: Home, obstacle: Obstacle) -> bool {
        let mut tables = self.tables();
        let Some(Place::Frame(pfn)) = tables.entry(home).map(|entry| entry.place) else {
            return false;
        };
        let head = tables.head(pfn);
        tables.frame_mut(head).obstacle = obstacle;
        true
    }

    /// The frame of a virtual page, if it is in one.
    pub fn frame_of(&self, home: Home) -> Option<Pfn> {
        match self.tables().entry(home)?.place {
            Place::Frame(pfn) => Some(pfn),
            Place::Nowhere | Place::Swap(_) => None,
        }
    }

    /// Whether a virtual page is mapped as part of a huge page.
    pub fn is_huge(&self, home: Home) -> bool {
        let tables = self.tables();
        tables.entry(home).is_some() && tables.region(home).huge.is_some()
    }

    /// Keep the events of compaction from now on; those kept so far.
    pub fn record_events(&self) -> Vec<CompactEvent> {
        let mut events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        events.replace(Vec::new()).unwrap_or_default()
    }

    pub(super) fn listen(&self, event: CompactEvent) {
        let mut events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(events) = events.as_mut() {
            events.push(event);
        }
    }

    /// The CPU that acts.
    pub(super) fn cpu(&self) -> CpuId {
        self.tables().cpu
    }

    pub(super) fn run_on(&self, cpu: CpuId) {
        self.tables().cpu = cpu;
    }

    /// The CPU that acts lets those go first that are behind; its clock.
    pub(super) fn catch_up(&self) -> u64 {
        let tables = self.tables();
        let (cpu, now) = (tables.cpu, tables.clock(tables.cpu));
        drop(tables);
        self.turns.reach(cpu.index(), now);
        let mut tables = self.tables();
        tables.cpu = cpu;
        tables.holds.forget(now);
        now
    }

    pub(super) fn tables(&self) -> MutexGuard<'_, Tables> {
        // A panic elsewhere is reported there.
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Free a block that nobody maps.
    pub(super) fn free(&self, mut tables: MutexGuard<'_, Tables>, pfn: Pfn) {
        let order = tables.order(pfn);
        tables.forget(pfn);
        tables.listed();
        tables.freed(order);
        drop(tables);
        self.lru.remove(&self.pages, pfn);
        self.pages.free_pages(self.cpu(), pfn, order);
    }

    /// What of the invariants does not hold (compaction.md §9, 1 to 3): each virtual page that is mapped
    /// lies in a frame that knows it and holds its content, no frame is mapped twice, and each mapped
    /// block is on one list or isolated.
    ///
    /// # Errors
    /// The first thing found, in words.
    pub fn check(&self) -> Result<(), String> {
        let tables = self.tables();
        let mut mapped = 0;
        for (process, space) in tables.spaces.iter().enumerate() {
            for (page, entry) in space.entries.iter().enumerate() {
                let home = Home { process: Process(process as u32), page: page as u32 };
                let content = match entry.place {
                    Place::Nowhere => continue,
                    Place::Swap(content) => content,
                    Place::Frame(pfn) => {
                        mapped += 1;
                        let frame = tables.frame(pfn);
                        if frame.home != Some(home) {
                            return Err(format!(
                                "{home:?} maps frame {pfn}, which is {:?}'s",
                                frame.home
                            ));
                        }
                        let head = tables.head(pfn);
                        let listed = self.lru.list_of(&self.pages, head).is_some();
                        if listed == tables.frame(head).isolated.is_some() {
                            return Err(format!(
                                "frame {head} of {home:?} is on {} list, but {}isolated",
                                if listed { "a" } else { "no" },
                                if listed { "" } else { "not " },
                            ));
                        }
                        frame.content
                    }
                };
                if content != entry.token {
                    let (is, was) = (content, entry.token);
                    return Err(format!("{home:?} holds {is}, but {was} was written"));
                }
            }
        }
        let (mut owned, mut isolated) = (0, 0);
        for at in 0..tables.frames.len() as u64 {
            let frame = tables.frame(Pfn(at));
            owned += u64::from(frame.home.is_some());
            isolated += if frame.isolated.is_some() { tables.size(Pfn(at)) as u64 } else { 0 };
        }
        if owned != mapped {
            return Err(format!("{owned} frames are owned, but {mapped} virtual pages mapped"));
        }
        if isolated != tables.isolated {
            return Err(format!("{isolated} pages are isolated, {} counted", tables.isolated));
        }
        Ok(())
    }
}
