//! What a request may use, from the machine and the contract alone (page_alloc.md §4.1, §4.6;
//! docs/decisions.md 32, 58).

use super::LinuxView;
use crate::contract::{Request, Task, TaskFlags};
use crate::vocab::{AllocFlags, CpuId, Gfp, GfpError, NodeId, NodeMask, ZoneKind, ZoneState};

/// The flags of a request within the scopes of its task.
pub(super) fn scoped(gfp: Gfp, task: &Task) -> Gfp {
    let clears = [
        (TaskFlags::NOIO, Gfp::IO.union(Gfp::FS)),
        (TaskFlags::NOFS, Gfp::FS),
        (TaskFlags::PIN, Gfp::MOVABLE),
    ];
    let set = clears.iter().filter(|(scope, _)| task.flags.contains(*scope));
    set.fold(gfp, |gfp, (_, cleared)| gfp.difference(*cleared))
}

/// The zones of a request.
pub(super) struct Reach {
    /// The highest kind.
    pub(super) highest: ZoneKind,
    mask: NodeMask,
    /// The nodes that the attempt keeps to beyond the mask.
    cpuset: NodeMask,
    /// `__GFP_THISNODE`.
    only: Option<NodeId>,
    exists: bool,
}

impl Reach {
    /// Of an attempt at the free lists on `cpu`.
    ///
    /// # Errors
    /// The zone modifiers contradict each other.
    pub(super) fn of(
        linux: &LinuxView<'_>,
        cpu: CpuId,
        request: &Request,
    ) -> Result<Self, GfpError> {
        let bound = request.task.mems != NodeMask::ALL;
        let policy = request.nodes != NodeMask::ALL;
        let (mask, keeps) = match request.attempt {
            None if bound && !policy => (request.task.mems, false),
            None => (request.nodes, bound),
            Some((_, flags)) => (request.nodes, flags.contains(AllocFlags::CPUSET)),
        };
        let cpuset = if keeps { request.task.mems } else { NodeMask::ALL };
        Self::with(linux, cpu, request, mask, cpuset)
    }

    /// With this mask and these nodes beyond it.
    ///
    /// # Errors
    /// The zone modifiers contradict each other.
    pub(super) fn with(
        linux: &LinuxView<'_>,
        cpu: CpuId,
        request: &Request,
        mask: NodeMask,
        cpuset: NodeMask,
    ) -> Result<Self, GfpError> {
        let machine = linux.setting.machine.as_ref();
        let gfp = scoped(request.gfp, &request.task);
        let node = request.node.unwrap_or(machine.node_of(cpu));
        Ok(Self {
            highest: gfp.highest_zone()?,
            mask,
            cpuset,
            only: gfp.contains(Gfp::THISNODE).then_some(node),
            exists: node.0 < machine.nodes,
        })
    }

    /// On the list, within kind and mask.
    pub(super) fn admits(&self, zone: &ZoneState) -> bool {
        self.exists
            && zone.managed > 0
            && zone.kind <= self.highest
            && self.mask.contains(zone.node)
            && self.only.is_none_or(|node| node == zone.node)
    }

    /// And not passed over for the cpuset.
    pub(super) fn allows(&self, zone: &ZoneState) -> bool {
        self.admits(zone) && self.cpuset.contains(zone.node)
    }
}
