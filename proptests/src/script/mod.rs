//! Scripts: a machine, rules, tunables, and a list of operations with symbolic handles.
//!
//! A script is the one form of a case. Generators make it, fuzzer bytes decode to it, engines run
//! it, shrinking returns it, regressions are stored in it as text.

mod codec;
pub(crate) mod names;
mod text;
mod validate;
mod walk;

pub use text::ParseError;
pub(crate) use text::{Args, Word};
pub use validate::{MAX_OPS, MAX_RANGES, MAX_ZONES, OpError, ScriptError};
pub(crate) use walk::{KSWAPD_HINT, REPLY_HINT, RESULTS, kswapd_word, parse_kswapd};
pub use walk::{MAX_REPLIES, Reply};

use mmspec_model::contract::{KswapdReply, Request};
use mmspec_model::vocab::{
    AllocFlags, CpuId, Gfp, Machine, Mark, MigrateType, NodeId, Order, Pfn, Rules, Tunables,
    ZoneIdx, ZoneKind,
};

/// The name of a block: `a7` in text. Each handle is defined by at most one operation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Handle(pub u32);

/// A complete case.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Script {
    /// The machine.
    pub machine: Machine,
    /// The kernel's rules.
    pub rules: Rules,
    /// The tunables at boot.
    pub tunables: Tunables,
    /// What happens, in order. A schedule engine runs each CPU's operations as one thread.
    pub ops: Vec<Op>,
}

/// One operation. An operation on a handle that holds no block (its allocation failed, was shrunk
/// away, or the block was freed already) does nothing.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Op {
    /// `a1 = alloc cpu=0 order=3 gfp=GFP_KERNEL [at=min flags=oom,non_block]`
    Alloc {
        /// The CPU.
        cpu: CpuId,
        /// The request.
        request: Request,
        /// The name of the block.
        handle: Handle,
    },
    /// `a2 a3 a4 = bulk cpu=0 gfp=GFP_KERNEL`
    Bulk {
        /// The CPU.
        cpu: CpuId,
        /// The flags.
        gfp: Gfp,
        /// One slot for each handle.
        handles: Vec<Handle>,
    },
    /// `free cpu=0 a1`
    Free {
        /// The CPU.
        cpu: CpuId,
        /// The block.
        handle: Handle,
    },
    /// `free-batch cpu=0 a1 a2`
    FreeBatch {
        /// The CPU.
        cpu: CpuId,
        /// The blocks, in the order in which they are freed.
        handles: Vec<Handle>,
    },
    /// `drain by=0 cpu=1`
    DrainCpu {
        /// Who does it.
        by: CpuId,
        /// Whose lists.
        cpu: CpuId,
    },
    /// `drain-all by=0 [zone=0]`
    DrainAll {
        /// Who does it.
        by: CpuId,
        /// One zone, or all.
        zone: Option<ZoneIdx>,
    },
    /// `drain-begin by=0 [zone=0]`: as `drain-all` up to its wait for other CPUs' workers.
    DrainBegin {
        /// Who does it.
        by: CpuId,
        /// One zone, or all.
        zone: Option<ZoneIdx>,
    },
    /// `work cpu=1`: the CPU comes to its worker, which does what drains queued there.
    Work {
        /// The CPU.
        cpu: CpuId,
    },
    /// `pcp-disable by=0 zone=0`
    PcpDisable {
        /// Who does it.
        by: CpuId,
        /// The zone.
        zone: ZoneIdx,
    },
    /// `pcp-enable zone=0`
    PcpEnable {
        /// The zone.
        zone: ZoneIdx,
    },
    /// `fail-trylock cpu=0 times=2`
    FailTrylock {
        /// The CPU whose next attempts fail.
        cpu: CpuId,
        /// How many.
        times: u32,
    },
    /// `tick cpu=0`
    Tick {
        /// The CPU whose statistics worker runs.
        cpu: CpuId,
    },
    /// `set min_free_kbytes=512 …` (a sysctl write; the first `set` line before all operations
    /// gives the tunables at boot; values that are not named keep what is in force)
    Set {
        /// All tunables after the write.
        tunables: Tunables,
    },
    /// `reclaim-active zone=0 on|off`
    ReclaimActive {
        /// The zone.
        zone: ZoneIdx,
        /// Whether kswapd works on it.
        active: bool,
    },
    /// `isolate cpu=0 pfn=0x200`: blocks asked for as movable can move, all others can't.
    Isolate {
        /// The CPU.
        cpu: CpuId,
        /// A frame of the pageblock.
        pfn: Pfn,
    },
    /// `unisolate cpu=0 pfn=0x200 to=Movable`
    Unisolate {
        /// The CPU.
        cpu: CpuId,
        /// A frame of the pageblock.
        pfn: Pfn,
        /// The type to restore.
        migratetype: MigrateType,
    },
    /// `a1 = take-off cpu=0 pfn=0x204`: memory failure takes one page out of the free block that
    /// holds it, if one does.
    TakeOff {
        /// The CPU.
        cpu: CpuId,
        /// The page.
        pfn: Pfn,
        /// The name of the page.
        handle: Handle,
    },
    /// `unreserve cpu=0 to=Movable [force]`
    Unreserve {
        /// The CPU.
        cpu: CpuId,
        /// The type that the pageblock gets.
        migratetype: MigrateType,
        /// Also the last one.
        force: bool,
    },
    /// `cpu-dead by=0 cpu=1`
    CpuDead {
        /// Who cleans up.
        by: CpuId,
        /// Who died.
        cpu: CpuId,
    },
    /// `cpu-online cpu=1`
    CpuOnline {
        /// Who is back.
        cpu: CpuId,
    },
    /// `a1 = slow cpu=0 order=3 gfp=GFP_KERNEL [reply=reclaimed:32,compacted:success]`: a first attempt
    /// and, if it fails, a walk through the slow path with these replies.
    Slow {
        /// The CPU.
        cpu: CpuId,
        /// The request.
        request: Request,
        /// The name of the block.
        handle: Handle,
        /// What answers the walk's steps; when they run out, worst cases do.
        replies: Vec<Reply>,
    },
    /// `kswapd node=0 [reply=shrunk:64/32]`: one step of a node's kswapd.
    Kswapd {
        /// The node.
        node: NodeId,
        /// The answer to its step before.
        reply: Option<KswapdReply>,
    },
    /// `rebuild-zonelists`
    Rebuild,
    /// `reclaimable zone=0 pages=64`: from now on so many pages of the zone could be reclaimed.
    Reclaimable {
        /// The zone.
        zone: ZoneIdx,
        /// How many.
        pages: u64,
    },
    /// `check zone=0 order=0 mark=low highest=Normal [flags=oom]`: a watermark decision, both the
    /// full and the fast form.
    Check {
        /// The zone.
        zone: ZoneIdx,
        /// The order.
        order: Order,
        /// The mark.
        mark: Mark,
        /// The request's highest zone.
        highest: ZoneKind,
        /// The attempt's flags.
        flags: AllocFlags,
    },
}

impl Op {
    /// The CPU on which the operation runs; `None` for those that belong to no CPU.
    #[must_use]
    pub const fn cpu(&self) -> Option<CpuId> {
        match self {
            Self::Alloc { cpu, .. }
            | Self::Bulk { cpu, .. }
            | Self::Free { cpu, .. }
            | Self::FreeBatch { cpu, .. }
            | Self::Tick { cpu }
            | Self::Work { cpu }
            | Self::Isolate { cpu, .. }
            | Self::Unisolate { cpu, .. }
            | Self::TakeOff { cpu, .. }
            | Self::Unreserve { cpu, .. }
            | Self::Slow { cpu, .. } => Some(*cpu),
            Self::DrainCpu { by, .. }
            | Self::DrainAll { by, .. }
            | Self::DrainBegin { by, .. }
            | Self::PcpDisable { by, .. }
            | Self::CpuDead { by, .. } => Some(*by),
            Self::PcpEnable { .. }
            | Self::FailTrylock { .. }
            | Self::Set { .. }
            | Self::ReclaimActive { .. }
            | Self::CpuOnline { .. }
            | Self::Kswapd { .. }
            | Self::Rebuild
            | Self::Reclaimable { .. }
            | Self::Check { .. } => None,
        }
    }
}
