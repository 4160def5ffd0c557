//! Faults, step by step.

use super::{
    World,
    tables::{Backing, HUGE, HUGE_PAGES, Home, Place},
};
use mmspec_impl::{Walk, compact::Direct, platform::Platform};
use mmspec_model::{
    contract::{Outcome, Request, SlowReply, SlowStep},
    vocab::{CpuId, Gfp, Order, Pfn},
};

/// A request for pages under way: a first attempt, then the slow path. It must be stepped to its end:
/// a compaction in it owns pages.
#[derive(Debug)]
#[must_use]
pub struct Allocation {
    cpu: CpuId,
    request: Request,
    stage: Attempted,
}

#[derive(Debug)]
enum Attempted {
    Nothing,
    /// The slow path, and what it is told next.
    Walk(Walk, Option<SlowReply>),
    /// Compaction that the slow path waits for.
    Compacts(Walk, Box<Direct>),
}

impl Allocation {
    /// Not begun.
    pub const fn new(cpu: CpuId, request: Request) -> Self {
        Self { cpu, request, stage: Attempted::Nothing }
    }

    /// Do what comes next: a look at the free lists, one thing that the slow path asks for, or one
    /// iteration of compaction. `None`: there is more to do; `Some(None)`: there is no page.
    pub fn step<P: Platform>(&mut self, world: &mut World<'_, P>) -> Option<Option<Pfn>> {
        let ended = self.advance(world)?;
        if ended.is_some() {
            world.memory.tables().allocated(self.request.order);
        }
        Some(ended)
    }

    fn advance<P: Platform>(&mut self, world: &mut World<'_, P>) -> Option<Option<Pfn>> {
        let (cpu, request) = (self.cpu, self.request);
        let memory = world.memory;
        memory.run_on(cpu);
        let woken = world.kcompactd_wakeups();
        let (mut walk, step) = match std::mem::replace(&mut self.stage, Attempted::Nothing) {
            Attempted::Nothing => match memory.pages.alloc_pages(cpu, request) {
                Outcome::SlowPath => {
                    self.stage = Attempted::Walk(memory.pages.slow_begin(cpu, request), None);
                    return None;
                }
                outcome => return Some(outcome.page()),
            },
            Attempted::Walk(mut walk, reply) => {
                memory.tables().meter().slow_steps += 1;
                let step = memory.pages.slow_step(&mut walk, reply);
                (walk, step)
            }
            Attempted::Compacts(mut walk, mut direct) => {
                let Some(compacted) = memory.compactor().direct_step(&mut direct) else {
                    self.stage = Attempted::Compacts(walk, direct);
                    return None;
                };
                world.count(compacted.result);
                let step = match compacted.page {
                    Some(pfn) => memory.pages.slow_captured(&mut walk, pfn),
                    None => {
                        let reply = SlowReply::Compacted(compacted.result);
                        memory.pages.slow_step(&mut walk, Some(reply))
                    }
                };
                // Only a page that is got right after a compaction proves that it was worth it.
                if let SlowStep::Done(Outcome::Page(pfn)) = step {
                    memory.compactor().proven(pfn, request.order);
                }
                (walk, step)
            }
        };
        world.pass_on(woken, request.order);
        self.stage = match step {
            SlowStep::Done(outcome) => return Some(outcome.page()),
            SlowStep::Compact { priority, .. } => {
                match memory.compactor().direct_begin(cpu, &request, priority) {
                    Ok(direct) => Attempted::Compacts(walk, Box::new(direct)),
                    Err(result) => Attempted::Walk(walk, Some(SlowReply::Compacted(result))),
                }
            }
            step => {
                let reply = world.answer(&mut walk, step);
                Attempted::Walk(walk, Some(reply))
            }
        };
        None
    }
}

/// How a fault ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Faulted {
    /// The page is there already.
    Mapped,
    /// A huge page was installed.
    Huge,
    /// A base page was installed.
    Base,
    /// There was no memory.
    NoMemory,
    /// Nothing is mapped there.
    BadAddress,
}

#[derive(Debug)]
enum Stage {
    Begin,
    /// For a huge page.
    Huge(Allocation),
    /// For the page of a table, before the page itself is installed.
    Table(Allocation, Option<Pfn>),
    Base(Allocation),
}

/// A fault under way. It must be stepped to its end.
#[derive(Debug)]
#[must_use]
pub struct Fault {
    cpu: CpuId,
    home: Home,
    stage: Stage,
}

impl Fault {
    /// A process on `cpu` touches a page.
    pub const fn new(cpu: CpuId, home: Home) -> Self {
        Self { cpu, home, stage: Stage::Begin }
    }

    /// Do what comes next; `None`: there is more to do.
    pub fn step<P: Platform>(&mut self, world: &mut World<'_, P>) -> Option<Faulted> {
        match &mut self.stage {
            Stage::Begin => self.begin(world),
            Stage::Huge(allocation) => {
                let huge = allocation.step(world)?;
                if huge.is_none() {
                    world.memory.tables().thp.fault_fallback += 1;
                }
                self.with_table(world, huge)
            }
            Stage::Table(allocation, huge) => {
                let (table, huge) = (allocation.step(world)?, *huge);
                match table {
                    Some(table) => {
                        world.memory.tables().region_mut(self.home).table = Some(table);
                        self.with_table(world, huge)
                    }
                    None => {
                        if let Some(huge) = huge {
                            world.memory.pages.free_pages(self.cpu, huge, HUGE);
                        }
                        Some(Faulted::NoMemory)
                    }
                }
            }
            Stage::Base(allocation) => Some(match allocation.step(world)? {
                Some(pfn) => {
                    world.install(self.home, pfn);
                    Faulted::Base
                }
                None => Faulted::NoMemory,
            }),
        }
    }

    fn begin<P: Platform>(&mut self, world: &mut World<'_, P>) -> Option<Faulted> {
        let mut tables = world.memory.tables();
        let Some(area) = tables.area(self.home) else { return Some(Faulted::BadAddress) };
        if let Some(Place::Frame(pfn)) = tables.entry(self.home).map(|entry| entry.place) {
            let head = tables.head(pfn);
            tables.frame_mut(head).accessed = true;
            return Some(Faulted::Mapped);
        }
        tables.meter().faults += 1;
        let config = &world.memory.config;
        let start = self.home.page & !(HUGE_PAGES as u32 - 1);
        let range = start..start + HUGE_PAGES as u32;
        let empty = |page| {
            let home = Home { page, ..self.home };
            tables.entry(home).is_some_and(|entry| entry.place == Place::Nowhere)
        };
        if let Backing::Anon { advised } = area.backing
            && config.enabled.tries(advised)
            && area.start <= range.start
            && range.end <= area.end
            && tables.region(self.home).table.is_none()
            && range.clone().all(empty)
        {
            let request = Request::new(HUGE, config.defrag.gfp(advised));
            self.stage = Stage::Huge(Allocation::new(self.cpu, request));
            return None;
        }
        drop(tables);
        self.with_table(world, None)
    }

    /// Go on once there is a page for the table: with the huge page, or with a base page.
    fn with_table<P: Platform>(
        &mut self,
        world: &mut World<'_, P>,
        huge: Option<Pfn>,
    ) -> Option<Faulted> {
        if world.memory.tables().region(self.home).table.is_none() {
            let request = Request::new(Order::ZERO, Gfp::KERNEL | Gfp::ACCOUNT);
            self.stage = Stage::Table(Allocation::new(self.cpu, request), huge);
            return None;
        }
        if let Some(huge) = huge {
            world.install_huge(self.home, huge);
            return Some(Faulted::Huge);
        }
        let request = Request::new(Order::ZERO, Gfp::HIGHUSER_MOVABLE);
        self.stage = Stage::Base(Allocation::new(self.cpu, request));
        None
    }
}
