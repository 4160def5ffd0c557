//! Faults, step by step.

use super::{
    World,
    tables::{Backing, HUGE, HUGE_PAGES, Home, Place},
};
use mmspec_impl::{Walk, platform::Platform};
use mmspec_model::{
    contract::{Outcome, Request, SlowReply, SlowStep},
    vocab::{CpuId, Gfp, Order, Pfn},
};

/// A request for pages under way: a first attempt, then the slow path.
#[derive(Clone, Debug)]
pub struct Allocation {
    cpu: CpuId,
    request: Request,
    walk: Option<(Walk, Option<SlowReply>)>,
}

impl Allocation {
    /// Not begun.
    #[must_use]
    pub const fn new(cpu: CpuId, request: Request) -> Self {
        Self { cpu, request, walk: None }
    }

    /// Do what comes next: a look at the free lists, or one thing that the slow path asks for. `None`: there
    /// is more to do; `Some(None)`: there is no page.
    pub fn step<P: Platform>(&mut self, world: &mut World<'_, P>) -> Option<Option<Pfn>> {
        let (cpu, request) = (self.cpu, self.request);
        world.memory.run_on(cpu);
        let pages = &world.memory.pages;
        let Some((walk, reply)) = &mut self.walk else {
            return match pages.alloc_pages(cpu, request) {
                Outcome::Page(pfn) => Some(Some(pfn)),
                Outcome::SlowPath => {
                    self.walk = Some((pages.slow_begin(cpu, request), None));
                    None
                }
                Outcome::Failed | Outcome::Refused(_) => Some(None),
            };
        };
        world.memory.tables().meter.slow_steps += 1;
        match pages.slow_step(walk, reply.take()) {
            SlowStep::Done(outcome) => Some(outcome.page()),
            step => {
                *reply = Some(world.answer(walk, &request, step));
                None
            }
        }
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

#[derive(Clone, Debug)]
enum Stage {
    Begin,
    /// For a huge page.
    Huge(Allocation),
    /// For the page of a table, before the page itself is installed.
    Table(Allocation, Option<Pfn>),
    Base(Allocation),
}

/// A fault under way.
#[derive(Clone, Debug)]
pub struct Fault {
    cpu: CpuId,
    home: Home,
    stage: Stage,
}

impl Fault {
    /// A process on `cpu` touches a page.
    #[must_use]
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
        tables.meter.faults += 1;
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
