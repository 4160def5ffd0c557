//! Calls and answers.

use super::{check_gfp, walk};
use crate::script::{Op, Reply};
use mmspec_model::contract::{
    DrainBegun, KswapdReply, KswapdStep, LinuxPolicy, Outcome, Request, SlowStep,
};
use mmspec_model::laws::Probe;
use mmspec_model::vocab::{
    CpuId, DrainScheme, Gfp, MigrateType, NodeId, Order, Pfn, Tunables, TunablesError, ZoneIdx,
};

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
    /// Begin a drain of all CPUs.
    DrainBegin(CpuId, Option<ZoneIdx>),
    /// A CPU comes to its worker.
    Work(CpuId),
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
    /// Memory failure.
    TakeOff(CpuId, Pfn),
    /// Release a reserved pageblock.
    Unreserve(CpuId, MigrateType, bool),
    /// A CPU dies: by, which.
    CpuDead(CpuId, CpuId),
    /// A CPU is back.
    CpuOnline(CpuId),
    /// A first attempt and a walk.
    Slow(CpuId, Request, Vec<Reply>),
    /// A step of a node's kswapd.
    Kswapd(NodeId, Option<KswapdReply>),
    /// Build the zonelists anew.
    Rebuild,
    /// Say what could be reclaimed.
    Reclaimable(ZoneIdx, u64),
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
            Op::DrainBegin { by, zone } => Self::DrainBegin(*by, *zone),
            Op::Work { cpu } => Self::Work(*cpu),
            Op::PcpDisable { by, zone } => Self::PcpDisable(*by, *zone),
            Op::PcpEnable { zone } => Self::PcpEnable(*zone),
            Op::FailTrylock { cpu, times } => Self::FailTrylock(*cpu, *times),
            Op::Tick { cpu } => Self::Tick(*cpu),
            Op::Set { tunables } => Self::Set(*tunables),
            Op::ReclaimActive { zone, active } => Self::ReclaimActive(*zone, *active),
            Op::Isolate { cpu, pfn } => Self::Isolate(*cpu, *pfn),
            Op::Unisolate { cpu, pfn, migratetype } => Self::Unisolate(*cpu, *pfn, *migratetype),
            Op::TakeOff { cpu, pfn, .. } => Self::TakeOff(*cpu, *pfn),
            Op::Unreserve { cpu, migratetype, force } => {
                Self::Unreserve(*cpu, *migratetype, *force)
            }
            Op::CpuDead { by, cpu } => Self::CpuDead(*by, *cpu),
            Op::CpuOnline { cpu } => Self::CpuOnline(*cpu),
            Op::Slow { cpu, request, replies, .. } => Self::Slow(*cpu, *request, replies.clone()),
            Op::Kswapd { node, reply } => Self::Kswapd(*node, *reply),
            Op::Rebuild => Self::Rebuild,
            Op::Reclaimable { zone, pages } => Self::Reclaimable(*zone, *pages),
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

    /// The CPU that makes the call; `None` for those that belong to no CPU.
    #[must_use]
    pub const fn cpu(&self) -> Option<CpuId> {
        match self {
            Self::Alloc(cpu, _)
            | Self::Bulk(cpu, ..)
            | Self::Free(cpu, ..)
            | Self::FreeBatch(cpu, _)
            | Self::DrainCpu(cpu, _)
            | Self::DrainAll(cpu, _)
            | Self::DrainBegin(cpu, _)
            | Self::Work(cpu)
            | Self::PcpDisable(cpu, _)
            | Self::Tick(cpu)
            | Self::Isolate(cpu, _)
            | Self::Unisolate(cpu, ..)
            | Self::TakeOff(cpu, _)
            | Self::Unreserve(cpu, ..)
            | Self::Slow(cpu, ..)
            | Self::CpuDead(cpu, _) => Some(*cpu),
            Self::Skip
            | Self::PcpEnable(_)
            | Self::FailTrylock(..)
            | Self::Set(_)
            | Self::ReclaimActive(..)
            | Self::CpuOnline(_)
            | Self::Kswapd(..)
            | Self::Rebuild
            | Self::Reclaimable(..)
            | Self::Check(_) => None,
        }
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
    /// Of a walk: where it stopped, and how it ended.
    Walk(Vec<SlowStep>, Outcome),
    /// What kswapd wants next.
    Kswapd(KswapdStep),
    /// The full and the fast watermark check.
    Checks(bool, bool),
    /// Of a drain that was begun.
    Begun(DrainBegun),
    /// Of a sysctl write.
    Set(Result<(), TunablesError>),
}

/// What an allocator must know about the caller while it runs.
pub trait Caller {
    /// Whether the content of an allocated frame can move.
    fn is_movable(&self, pfn: Pfn) -> bool;
}

/// Begin until it has begun; then every CPU comes to its worker.
fn drain_whole<A: LinuxPolicy + ?Sized>(
    allocator: &mut A,
    mut begin: impl FnMut(&mut A) -> DrainBegun,
) {
    loop {
        let begun = begin(allocator);
        if matches!(begun, DrainBegun::Waits | DrainBegun::Queued { .. }) {
            allocator.run_all_work();
        }
        if begun != DrainBegun::Waits {
            return;
        }
    }
}

/// Make the call, all CPUs being played by the caller.
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
        Call::Slow(cpu, request, replies) => {
            let (steps, outcome) = walk(allocator, *cpu, *request, replies);
            return Answer::Walk(steps, outcome);
        }
        Call::Kswapd(node, reply) => {
            return Answer::Kswapd(allocator.kswapd_step(*node, *reply));
        }
        Call::Rebuild => allocator.rebuild_zonelists(),
        Call::Reclaimable(zone, pages) => allocator.set_reclaimable(*zone, *pages),
        Call::Tick(cpu) => return Answer::Flag(allocator.tick(*cpu)),
        Call::DrainBegin(by, zone) => return Answer::Begun(allocator.drain_begin(*by, *zone)),
        Call::Work(cpu) => return Answer::Flag(allocator.run_work(*cpu)),
        Call::Set(tunables) => return Answer::Set(allocator.set_tunables(*tunables)),
        Call::Isolate(cpu, pfn) => {
            let movable = |frame| caller.is_movable(frame);
            return Answer::Flag(allocator.isolate(*cpu, *pfn, &movable));
        }
        Call::Unisolate(cpu, pfn, migratetype) => {
            return Answer::Flag(allocator.unisolate(*cpu, *pfn, *migratetype));
        }
        Call::TakeOff(cpu, pfn) => return Answer::Flag(allocator.take_page_off(*cpu, *pfn)),
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
        Call::DrainAll(by, zone) => match allocator.drain_scheme() {
            DrainScheme::Remote => allocator.drain_all(*by, *zone),
            DrainScheme::WorkItem => drain_whole(allocator, |a| a.drain_begin(*by, *zone)),
        },
        Call::PcpDisable(by, zone) => match allocator.drain_scheme() {
            DrainScheme::Remote => allocator.pcp_disable(*by, *zone),
            DrainScheme::WorkItem => drain_whole(allocator, |a| a.pcp_disable_begin(*by, *zone)),
        },
        Call::PcpEnable(zone) => allocator.pcp_enable(*zone),
        Call::FailTrylock(cpu, times) => allocator.fail_trylock(*cpu, *times),
        Call::ReclaimActive(zone, active) => allocator.set_reclaim_active(*zone, *active),
    }
    Answer::Done
}
