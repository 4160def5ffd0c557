//! What makes a script valid.

use super::{Handle, MAX_REPLIES, Op, Script};
use mmspec_model::vocab::{
    AllocFlags, CpuId, Gfp, MachineError, MigrateType, NodeId, Order, Pfn, RulesError,
    TunablesError, ZoneIdx,
};
use std::collections::BTreeSet;

/// Most operations of one script: more is a mistake, not a case.
pub const MAX_OPS: usize = 1_000_000;

/// Most holes, reserved ranges and CMA ranges (of each) of one script's machine.
pub const MAX_RANGES: usize = 256;

/// Most zones of one script's machine.
pub const MAX_ZONES: usize = 64;

/// Why a script cannot run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ScriptError {
    /// The machine cannot exist.
    #[error("machine: {0}")]
    Machine(#[from] MachineError),
    /// Tunables out of range, at boot or in a sysctl write.
    #[error("tunables: {0}")]
    Tunables(#[from] TunablesError),
    /// Rules that no kernel has.
    #[error("rules: {0}")]
    Rules(#[from] RulesError),
    /// One operation is wrong.
    #[error("operation {at}: {wrong}")]
    Op {
        /// Its position, from 0.
        at: usize,
        /// What is wrong with it.
        wrong: OpError,
    },
    /// Too many operations.
    #[error("{0} operations: give at most 1000000, or several scripts")]
    TooLong(usize),
    /// Too many zones.
    #[error("{0} zones: give at most 64")]
    Zones(usize),
    /// Too many ranges.
    #[error("{0} holes, reserved or cma ranges: give at most 256 of each, joining neighbours")]
    Ranges(usize),
}

/// Why one operation cannot run on the script's machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum OpError {
    /// No such CPU.
    #[error("cpu {0} does not exist: the machine has {1} (raise cpus= or name a lower one)")]
    Cpu(CpuId, u16),
    /// No such zone.
    #[error("zone {zone} does not exist: the machine has {count}, numbered from 0 upwards by address", zone = .0.0, count = .1)]
    Zone(ZoneIdx, usize),
    /// No such node.
    #[error("node {0} does not exist: the machine has {1}, numbered from 0")]
    Node(NodeId, u8),
    /// A walk with a mark of its own.
    #[error("slow takes no at= and flags=: a walk chooses its own")]
    Attempt,
    /// Too many replies.
    #[error("{0} replies: a walk takes at most 64")]
    Replies(usize),
    /// A frame outside all zones.
    #[error("frame {0} lies in no zone: name a frame that a zone line spans")]
    Frame(Pfn),
    /// A handle defined twice.
    #[error("a{handle} is defined by an earlier operation: choose an unused number", handle = .0.0)]
    Redefined(Handle),
    /// A handle named twice in one batch free.
    #[error("a{handle} appears twice in one batch: drop one", handle = .0.0)]
    Repeated(Handle),
    /// A bulk allocation without slots.
    #[error("bulk needs at least one handle on its left: write a1 = bulk …")]
    NoSlot,
    /// A migratetype that cannot be given here.
    #[error("type {0} cannot be given here: use Unmovable, Movable or Reclaimable")]
    Type(MigrateType),
    /// An order above the machine's, where the contract does not ask for a refusal.
    #[error("order {0} is above the machine's largest order {1}: lower it")]
    Order(Order, Order),
    /// gfp bits without a name.
    #[error("gfp {0:#x} holds unnamed bits: use named flags only")]
    GfpBits(u32),
    /// Allocation flag bits without a name.
    #[error("allocation flags {0:#x} hold unnamed bits: use named flags only")]
    FlagBits(u16),
}

impl Script {
    /// Check that the machine can exist, that numbers are in range, and that every handle is
    /// defined once.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn validate(&self) -> Result<(), ScriptError> {
        for ranges in [&self.machine.holes, &self.machine.reserved, &self.machine.cma] {
            if ranges.len() > MAX_RANGES {
                return Err(ScriptError::Ranges(ranges.len()));
            }
        }
        if self.machine.zones.len() > MAX_ZONES {
            return Err(ScriptError::Zones(self.machine.zones.len()));
        }
        self.machine.validate()?;
        self.tunables.validate()?;
        self.rules.validate()?;
        if self.ops.len() > MAX_OPS {
            return Err(ScriptError::TooLong(self.ops.len()));
        }
        let mut defined = BTreeSet::new();
        for (at, op) in self.ops.iter().enumerate() {
            if let Op::Set { tunables } = op {
                tunables.validate()?;
            }
            self.check_op(op).map_err(|wrong| ScriptError::Op { at, wrong })?;
            for handle in op.defines() {
                if !defined.insert(*handle) {
                    return Err(ScriptError::Op { at, wrong: OpError::Redefined(*handle) });
                }
            }
        }
        Ok(())
    }

    /// Check one operation against the machine; says nothing of handles defined elsewhere.
    ///
    /// # Errors
    /// The first thing that is wrong with it.
    pub fn check_op(&self, op: &Op) -> Result<(), OpError> {
        let machine = &self.machine;
        let cpu_exists = |cpu: CpuId| {
            if cpu.0 < machine.cpus { Ok(()) } else { Err(OpError::Cpu(cpu, machine.cpus)) }
        };
        let zone_exists = |zone: ZoneIdx| {
            let zones = machine.zones.len();
            if zone.index() < zones { Ok(()) } else { Err(OpError::Zone(zone, zones)) }
        };
        let frame_exists =
            |pfn: Pfn| machine.as_ref().zone_of(pfn).map(|_| ()).ok_or(OpError::Frame(pfn));
        if let Some(cpu) = op.cpu() {
            cpu_exists(cpu)?;
        }
        match op {
            Op::Slow { request, replies, .. } => {
                gfp_is_named(request.gfp)?;
                if request.attempt.is_some() {
                    return Err(OpError::Attempt);
                }
                if replies.len() > MAX_REPLIES {
                    return Err(OpError::Replies(replies.len()));
                }
                Ok(())
            }
            Op::Kswapd { node, .. } => {
                if node.0 < machine.nodes {
                    Ok(())
                } else {
                    Err(OpError::Node(*node, machine.nodes))
                }
            }
            Op::Reclaimable { zone, .. } => zone_exists(*zone),
            Op::Alloc { request, .. } => {
                gfp_is_named(request.gfp)?;
                if let Some((_, flags)) = request.attempt {
                    flags_are_named(flags)?;
                }
                Ok(())
            }
            Op::Bulk { gfp, handles, .. } => {
                gfp_is_named(*gfp)?;
                if handles.is_empty() { Err(OpError::NoSlot) } else { Ok(()) }
            }
            Op::FreeBatch { handles, .. } => {
                let mut seen = BTreeSet::new();
                match handles.iter().find(|handle| !seen.insert(**handle)) {
                    Some(handle) => Err(OpError::Repeated(*handle)),
                    None => Ok(()),
                }
            }
            Op::DrainCpu { cpu, .. }
            | Op::FailTrylock { cpu, .. }
            | Op::CpuDead { cpu, .. }
            | Op::CpuOnline { cpu } => cpu_exists(*cpu),
            Op::DrainAll { zone, .. } | Op::DrainBegin { zone, .. } => {
                zone.map_or(Ok(()), zone_exists)
            }
            Op::PcpDisable { zone, .. }
            | Op::PcpEnable { zone }
            | Op::ReclaimActive { zone, .. } => zone_exists(*zone),
            Op::Isolate { pfn, .. } | Op::TakeOff { pfn, .. } => frame_exists(*pfn),
            Op::Unisolate { pfn, migratetype, .. } => {
                frame_exists(*pfn)?;
                if *migratetype == MigrateType::Cma && !machine.cma_built {
                    return Err(OpError::Type(*migratetype));
                }
                Ok(())
            }
            Op::Unreserve { migratetype, .. } => {
                if migratetype.is_pcp_type() {
                    Ok(())
                } else {
                    Err(OpError::Type(*migratetype))
                }
            }
            Op::Check { zone, order, flags, .. } => {
                zone_exists(*zone)?;
                flags_are_named(*flags)?;
                if *order > machine.max_order {
                    return Err(OpError::Order(*order, machine.max_order));
                }
                Ok(())
            }
            Op::Rebuild | Op::Free { .. } | Op::Tick { .. } | Op::Work { .. } | Op::Set { .. } => {
                Ok(())
            }
        }
    }
}

fn gfp_is_named(gfp: Gfp) -> Result<(), OpError> {
    if Gfp::all().contains(gfp) { Ok(()) } else { Err(OpError::GfpBits(gfp.bits())) }
}

fn flags_are_named(flags: AllocFlags) -> Result<(), OpError> {
    if AllocFlags::all().contains(flags) { Ok(()) } else { Err(OpError::FlagBits(flags.bits())) }
}

impl Op {
    /// The handles that the operation defines.
    #[must_use]
    pub fn defines(&self) -> &[Handle] {
        match self {
            Self::Alloc { handle, .. }
            | Self::Slow { handle, .. }
            | Self::TakeOff { handle, .. } => std::slice::from_ref(handle),
            Self::Bulk { handles, .. } => handles,
            _ => &[],
        }
    }

    /// The handles that the operation gives back.
    #[must_use]
    pub fn frees(&self) -> &[Handle] {
        match self {
            Self::Free { handle, .. } => std::slice::from_ref(handle),
            Self::FreeBatch { handles, .. } => handles,
            _ => &[],
        }
    }
}
