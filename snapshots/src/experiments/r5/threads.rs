//! What a thread of thpscale does, step by step (compaction.md §7.1).

use mmspec_impl::platform::SpinPlatform;
use mmspec_model::vocab::CpuId;
use mmspec_proptests::world::{Backing, Fault, Faulted, Home, Process, World};
use std::ops::Range;

/// Base pages of a huge page.
const HUGE: u32 = 512;

/// One of the samples: a region of 2 MiB touched and written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    /// By one huge page.
    pub(super) huge: bool,
    /// When it began, ns.
    pub(super) began: u64,
}

/// What a step of a thread came to.
#[derive(Debug)]
pub(super) enum Went {
    On,
    /// A region is there.
    Sampled(Sample),
    /// At the barrier.
    Waits,
    /// Through, or out of memory.
    Ended {
        survived: bool,
    },
}

#[derive(Clone, Copy, Debug)]
enum Doing {
    /// Writes its first mapping.
    Fill(u32),
    /// Unmaps the first half of each region of it, and maps the rest.
    Punch,
    /// Reads its part of the file.
    Read(u32),
    Barrier,
    /// Touches the regions of its second mapping.
    Touch {
        page: u32,
        began: Option<u64>,
    },
}

/// A thread.
#[derive(Debug)]
pub(super) struct Thread {
    cpu: CpuId,
    process: Process,
    fault: Option<Fault>,
    doing: Doing,
    first: Range<u32>,
    second: Range<u32>,
    file: Range<u32>,
    /// The end of what is touched of the second mapping.
    end: u32,
}

impl Thread {
    /// One of those that share `memory` pages (0.8 of the machine's).
    pub(super) fn new(world: &mut World<'_, SpinPlatform>, cpu: CpuId, share: u32) -> Self {
        let process = world.spawn();
        let pages = share / HUGE * HUGE;
        let first = world.map(process, pages, Backing::Anon { advised: false });
        let doing = Doing::Fill(first.start);
        let regions = share / HUGE / 2;
        Self { cpu, process, fault: None, doing, first, second: 0..0, file: 0..0, end: regions }
    }

    pub(super) const fn cpu(&self) -> CpuId {
        self.cpu
    }

    /// The barrier is open; false if the thread does not wait at it.
    pub(super) fn release(&mut self) -> bool {
        if !matches!(self.doing, Doing::Barrier) {
            return false;
        }
        self.end = self.second.start + self.end * HUGE;
        self.doing = Doing::Touch { page: self.second.start, began: None };
        true
    }

    pub(super) fn exit(&self, world: &mut World<'_, SpinPlatform>) {
        world.exit(self.cpu, self.process);
    }

    /// A fault's next step; `None`: it goes on.
    fn fault(&mut self, world: &mut World<'_, SpinPlatform>, page: u32) -> Option<Faulted> {
        let home = Home { process: self.process, page };
        let fault = self.fault.get_or_insert_with(|| Fault::new(self.cpu, home));
        let faulted = fault.step(world)?;
        self.fault = None;
        Some(faulted)
    }

    /// Do what comes next, at this time.
    pub(super) fn step(&mut self, world: &mut World<'_, SpinPlatform>, now: u64) -> Went {
        let page = match &mut self.doing {
            Doing::Punch => {
                self.punch(world);
                return Went::On;
            }
            Doing::Barrier => return Went::Waits,
            Doing::Fill(page) | Doing::Read(page) => *page,
            Doing::Touch { page, began } => {
                if *page >= self.end {
                    return Went::Ended { survived: true };
                }
                began.get_or_insert(now);
                *page
            }
        };
        let Some(faulted) = self.fault(world, page) else { return Went::On };
        let next = match faulted {
            Faulted::Huge => (page / HUGE + 1) * HUGE,
            Faulted::Base | Faulted::Mapped => page + 1,
            Faulted::NoMemory | Faulted::BadAddress => return Went::Ended { survived: false },
        };
        match self.doing {
            Doing::Fill(_) if next >= self.first.end => self.doing = Doing::Punch,
            Doing::Fill(_) => self.doing = Doing::Fill(next),
            Doing::Read(_) if next >= self.file.end => {
                self.doing = Doing::Barrier;
                return Went::Waits;
            }
            Doing::Read(_) => self.doing = Doing::Read(next),
            Doing::Touch { began, .. } => {
                let done = next % HUGE == 0;
                let kept = if done { None } else { began };
                self.doing = Doing::Touch { page: next, began: kept };
                if done {
                    let huge = faulted == Faulted::Huge;
                    return Went::Sampled(Sample { huge, began: began.unwrap_or(now) });
                }
            }
            Doing::Punch | Doing::Barrier => {}
        }
        Went::On
    }

    fn punch(&mut self, world: &mut World<'_, SpinPlatform>) {
        for start in self.first.clone().step_by(HUGE as usize) {
            world.unmap(self.cpu, self.process, start..start + HUGE / 2);
        }
        let pages = self.first.end - self.first.start;
        let advised = true;
        self.second = world.map(self.process, pages / 2 + HUGE, Backing::Anon { advised });
        self.file = world.map(self.process, pages / 4, Backing::File);
        self.doing = Doing::Read(self.file.start);
    }
}
