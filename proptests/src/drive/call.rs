//! Calls and answers.

use super::check_gfp;
use crate::script::Op;
use mmspec_model::contract::{LinuxPolicy, Outcome, Request};
use mmspec_model::laws::Probe;
use mmspec_model::vocab::{CpuId, Gfp, MigrateType, Order, Pfn, Tunables, TunablesError, ZoneIdx};

/// An operation with its blocks filled in.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Call {
    /// Nothing to do: no block to free, or the running CPU is offline.
    Skip,
    /// One attempt.
    Alloc(CpuId, Request),
    /// A bulk allocation into this many empty slots.
    Bulk(CpuId, Gfp, usize),
    /// A free.
    Free(CpuId, Pfn, Order),
    /// A batch free.
    FreeBatch(CpuId, Vec<(Pfn, Order)>),
    /// Drain one CPU: by, whose.
    DrainCpu(CpuId, CpuId),
    /// Drain all CPUs.
    DrainAll(CpuId, Option<ZoneIdx>),
    /// Disable a zone's per-CPU lists.
    PcpDisable(CpuId, ZoneIdx),
    /// Enable them.
    PcpEnable(ZoneIdx),
    /// Let attempts to lock fail.
    FailTrylock(CpuId, u32),
    /// Run a CPU's worker.
    Tick(CpuId),
    /// Write the tunables.
    Set(Tunables),
    /// kswapd starts or stops.
    ReclaimActive(ZoneIdx, bool),
    /// Isolate a pageblock.
    Isolate(CpuId, Pfn),
    /// Undo.
    Unisolate(CpuId, Pfn, MigrateType),
    /// Release a reserved pageblock.
    Unreserve(CpuId, MigrateType, bool),
    /// A CPU dies: by, which.
    CpuDead(CpuId, CpuId),
    /// A CPU is back.
    CpuOnline(CpuId),
    /// A watermark question.
    Check(Probe),
}

impl Call {
    /// The call of an operation that names no block to free; `None` for one that does.
    #[must_use]
    pub fn without_blocks(op: &Op) -> Option<Self> {
        Some(match op {
            Op::Free { .. } | Op::FreeBatch { .. } => return None,
            Op::Alloc { cpu, request, .. } => Self::Alloc(*cpu, *request),
            Op::Bulk { cpu, gfp, handles } => Self::Bulk(*cpu, *gfp, handles.len()),
            Op::DrainCpu { by, cpu } => Self::DrainCpu(*by, *cpu),
            Op::DrainAll { by, zone } => Self::DrainAll(*by, *zone),
            Op::PcpDisable { by, zone } => Self::PcpDisable(*by, *zone),
            Op::PcpEnable { zone } => Self::PcpEnable(*zone),
            Op::FailTrylock { cpu, times } => Self::FailTrylock(*cpu, *times),
            Op::Tick { cpu } => Self::Tick(*cpu),
            Op::Set { tunables } => Self::Set(*tunables),
            Op::ReclaimActive { zone, active } => Self::ReclaimActive(*zone, *active),
            Op::Isolate { cpu, pfn } => Self::Isolate(*cpu, *pfn),
            Op::Unisolate { cpu, pfn, migratetype } => Self::Unisolate(*cpu, *pfn, *migratetype),
            Op::Unreserve { cpu, migratetype, force } => {
                Self::Unreserve(*cpu, *migratetype, *force)
            }
            Op::CpuDead { by, cpu } => Self::CpuDead(*by, *cpu),
            Op::CpuOnline { cpu } => Self::CpuOnline(*cpu),
            Op::Check { zone, order, mark, highest, flags } => Self::Check(Probe {
                zone: *zone,
                order: *order,
                mark: *mark,
                highest: *highest,
                flags: *flags,
                gfp: check_gfp(*flags),
            }),
        })
    }
}

/// What a call answered.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    /// Nothing to answer.
    Done,
    /// Of an allocation.
    Outcome(Outcome),
    /// Of a bulk allocation: the slots and the number returned.
    Bulk(Vec<Option<Pfn>>, usize),
    /// A yes or no.
    Flag(bool),
    /// The full and the fast watermark check.
    Checks(bool, bool),
    /// Of a sysctl write.
    Set(Result<(), TunablesError>),
}

/// What an allocator must know about the caller while it runs.
pub trait Caller {
    /// Whether the content of an allocated frame can move.
    fn is_movable(&self, pfn: Pfn) -> bool;
}

/// Make the call.
pub fn perform<A: LinuxPolicy + ?Sized>(
    allocator: &mut A,
    call: &Call,
    caller: &(impl Caller + ?Sized),
) -> Answer {
    match call {
        Call::Alloc(cpu, request) => {
            return Answer::Outcome(allocator.alloc_pages(*cpu, *request));
        }
        Call::Bulk(cpu, gfp, count) => {
            let mut slots = vec![None; *count];
            let returned = allocator.alloc_bulk(*cpu, *gfp, &mut slots);
            return Answer::Bulk(slots, returned);
        }
        Call::Tick(cpu) => return Answer::Flag(allocator.tick(*cpu)),
        Call::Set(tunables) => return Answer::Set(allocator.set_tunables(*tunables)),
        Call::Isolate(cpu, pfn) => {
            let movable = |frame| caller.is_movable(frame);
            return Answer::Flag(allocator.isolate(*cpu, *pfn, &movable));
        }
        Call::Unisolate(cpu, pfn, migratetype) => {
            return Answer::Flag(allocator.unisolate(*cpu, *pfn, *migratetype));
        }
        Call::Unreserve(cpu, migratetype, force) => {
            return Answer::Flag(allocator.unreserve_highatomic(*cpu, *migratetype, *force));
        }
        Call::CpuDead(by, cpu) => return Answer::Flag(allocator.cpu_dead(*by, *cpu)),
        Call::CpuOnline(cpu) => return Answer::Flag(allocator.cpu_online(*cpu)),
        Call::Check(probe) => {
            let Probe { zone, order, mark, highest, flags, gfp } = *probe;
            return Answer::Checks(
                allocator.watermark_ok(zone, order, mark, highest, flags),
                allocator.watermark_fast(zone, order, mark, highest, flags, gfp),
            );
        }
        Call::Skip => {}
        Call::Free(cpu, pfn, order) => allocator.free_pages(*cpu, *pfn, *order),
        Call::FreeBatch(cpu, blocks) => allocator.free_batch(*cpu, blocks),
        Call::DrainCpu(by, cpu) => allocator.drain_cpu(*by, *cpu),
        Call::DrainAll(by, zone) => allocator.drain_all(*by, *zone),
        Call::PcpDisable(by, zone) => allocator.pcp_disable(*by, *zone),
        Call::PcpEnable(zone) => allocator.pcp_enable(*zone),
        Call::FailTrylock(cpu, times) => allocator.fail_trylock(*cpu, *times),
        Call::ReclaimActive(zone, active) => allocator.set_reclaim_active(*zone, *active),
    }
    Answer::Done
}
