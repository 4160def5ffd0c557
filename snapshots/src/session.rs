//! An allocator playing a script.

use mmspec_model::contract::{LinuxPolicy, Outcome};
use mmspec_model::picture::UsedBlock;
use mmspec_model::vocab::{CpuId, MigrateType, Order, Pfn};
use mmspec_proptests::script::{Handle, Op};
use std::collections::BTreeMap;
use std::fmt;

/// An allocator and the blocks that its script holds.
#[derive(Debug)]
pub struct Session<T> {
    allocator: T,
    held: BTreeMap<Handle, UsedBlock>,
}

/// What an operation led to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Done {
    /// An allocation's answer.
    Allocated(Outcome),
    /// The blocks that a bulk allocation filled.
    Filled(Vec<Pfn>),
    /// Blocks given back.
    Freed(Vec<Pfn>),
    /// A yes or no.
    Answer(bool),
    /// A watermark decision: the full and the fast check.
    Check(bool, bool),
    /// Done, with nothing to answer.
    Done,
    /// Not done, and why.
    Skipped(&'static str),
}

impl<T: LinuxPolicy> Session<T> {
    /// Begin with a booted allocator.
    pub const fn new(allocator: T) -> Self {
        Self { allocator, held: BTreeMap::new() }
    }

    /// The allocator.
    pub const fn allocator(&self) -> &T {
        &self.allocator
    }

    /// The blocks that are handed out, by handle.
    pub fn used(&self) -> Vec<UsedBlock> {
        self.held.values().copied().collect()
    }

    /// Play one operation.
    pub fn step(&mut self, op: &Op) -> Done {
        if op.cpu().is_some_and(|cpu| !self.allocator.is_online(cpu)) {
            return Done::Skipped("its CPU is offline");
        }
        let allocator = &mut self.allocator;
        match op {
            Op::Alloc { cpu, request, handle } => {
                let outcome = allocator.alloc_pages(*cpu, *request);
                if let Some(pfn) = outcome.page() {
                    let of = request.gfp.migratetype().unwrap_or(MigrateType::Unmovable);
                    self.held.insert(*handle, (pfn, request.order, of));
                }
                Done::Allocated(outcome)
            }
            Op::Bulk { cpu, gfp, handles } => {
                let mut slots = vec![None; handles.len()];
                allocator.alloc_bulk(*cpu, *gfp, &mut slots);
                let of = gfp.migratetype().unwrap_or(MigrateType::Unmovable);
                for (handle, pfn) in handles.iter().zip(&slots) {
                    if let Some(pfn) = pfn {
                        self.held.insert(*handle, (*pfn, Order::ZERO, of));
                    }
                }
                Done::Filled(slots.into_iter().flatten().collect())
            }
            Op::Free { cpu, handle } => self.free(*cpu, &[*handle], false),
            Op::FreeBatch { cpu, handles } => self.free(*cpu, handles, true),
            Op::DrainCpu { by, cpu } => {
                allocator.drain_cpu(*by, *cpu);
                Done::Done
            }
            Op::DrainAll { by, zone } => {
                allocator.drain_all(*by, *zone);
                Done::Done
            }
            Op::PcpDisable { by, zone } => {
                allocator.pcp_disable(*by, *zone);
                Done::Done
            }
            Op::PcpEnable { zone } => {
                allocator.pcp_enable(*zone);
                Done::Done
            }
            Op::FailTrylock { cpu, times } => {
                allocator.fail_trylock(*cpu, *times);
                Done::Done
            }
            Op::Tick { cpu } => Done::Answer(allocator.tick(*cpu)),
            Op::Set { tunables } => Done::Answer(allocator.set_tunables(*tunables).is_ok()),
            Op::ReclaimActive { zone, active } => {
                allocator.set_reclaim_active(*zone, *active);
                Done::Done
            }
            Op::Isolate { cpu, pfn } => {
                let blocks: Vec<UsedBlock> = self.held.values().copied().collect();
                let movable = |pfn: Pfn| {
                    blocks.iter().any(|(start, order, of)| {
                        *of == MigrateType::Movable
                            && (start.0..start.0 + order.pages()).contains(&pfn.0)
                    })
                };
                Done::Answer(allocator.isolate(*cpu, *pfn, &movable))
            }
            Op::Unisolate { cpu, pfn, migratetype } => {
                Done::Answer(allocator.unisolate(*cpu, *pfn, *migratetype))
            }
            Op::Unreserve { cpu, migratetype, force } => {
                Done::Answer(allocator.unreserve_highatomic(*cpu, *migratetype, *force))
            }
            Op::CpuDead { by, cpu } => Done::Answer(allocator.cpu_dead(*by, *cpu)),
            Op::CpuOnline { cpu } => Done::Answer(allocator.cpu_online(*cpu)),
            Op::Check { zone, order, mark, highest, flags } => {
                let gfp = mmspec_model::vocab::Gfp::KERNEL;
                Done::Check(
                    allocator.watermark_ok(*zone, *order, *mark, *highest, *flags),
                    allocator.watermark_fast(*zone, *order, *mark, *highest, *flags, gfp),
                )
            }
        }
    }

    fn free(&mut self, cpu: CpuId, handles: &[Handle], batch: bool) -> Done {
        let blocks: Vec<UsedBlock> =
            handles.iter().filter_map(|handle| self.held.remove(handle)).collect();
        if blocks.is_empty() {
            return Done::Skipped("no block is held");
        }
        let pages: Vec<(Pfn, Order)> =
            blocks.iter().map(|(pfn, order, _)| (*pfn, *order)).collect();
        if batch {
            self.allocator.free_batch(cpu, &pages);
        } else {
            pages.iter().for_each(|(pfn, order)| self.allocator.free_pages(cpu, *pfn, *order));
        }
        Done::Freed(pages.into_iter().map(|(pfn, _)| pfn).collect())
    }
}

impl fmt::Display for Done {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |f: &mut fmt::Formatter<'_>, pages: &[Pfn]| {
            pages.iter().try_for_each(|pfn| write!(f, " {pfn}"))
        };
        match self {
            Self::Allocated(Outcome::Page(pfn)) => write!(f, "frame {pfn}"),
            Self::Allocated(Outcome::SlowPath) => f.write_str("none: the slow path would begin"),
            Self::Allocated(Outcome::Refused(why)) => write!(f, "refused: {why}"),
            Self::Filled(pages) => {
                write!(f, "{} filled:", pages.len())?;
                list(f, pages)
            }
            Self::Freed(pages) => {
                f.write_str("freed")?;
                list(f, pages)
            }
            Self::Answer(answer) => f.write_str(if *answer { "yes" } else { "no" }),
            Self::Check(full, fast) => {
                let word = |ok: &bool| if *ok { "ok" } else { "below" };
                write!(f, "full check {}, fast check {}", word(full), word(fast))
            }
            Self::Done => f.write_str("done"),
            Self::Skipped(why) => write!(f, "skipped: {why}"),
        }
    }
}
