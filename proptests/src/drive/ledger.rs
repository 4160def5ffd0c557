//! The blocks that a script holds.

use super::call::{Answer, Call, Caller};
use crate::script::{Handle, Op, Script};
use mmspec_model::contract::{Outcome, Request, TaskFlags};
use mmspec_model::vocab::{CpuId, Gfp, MigrateType, Order, Pfn};
use std::collections::BTreeMap;

/// A block that a handle names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Held {
    /// Its first frame.
    pub pfn: Pfn,
    /// Its order.
    pub order: Order,
    /// It was asked for as movable.
    pub movable: bool,
}

/// Which handles hold which blocks, which frames are movable, and which CPUs are online.
#[derive(Clone, Debug)]
pub struct Ledger {
    /// By handle, while handles are small numbers.
    dense: Vec<Option<Held>>,
    sparse: BTreeMap<u32, Held>,
    movable: Vec<bool>,
    online: Vec<bool>,
    frames: u64,
}

/// Handles below this are kept in a table.
const DENSE: u32 = 1 << 16;

impl Ledger {
    /// Nothing held, all CPUs online.
    #[must_use]
    pub fn new(script: &Script) -> Self {
        let machine = script.machine.as_ref();
        Self {
            dense: Vec::new(),
            sparse: BTreeMap::new(),
            movable: vec![false; machine.end().index()],
            online: vec![true; usize::from(machine.cpus)],
            frames: 0,
        }
    }

    /// The block that `handle` names now.
    #[must_use]
    pub fn held(&self, handle: Handle) -> Option<Held> {
        if handle.0 < DENSE {
            self.dense.get(handle.0 as usize).copied().flatten()
        } else {
            self.sparse.get(&handle.0).copied()
        }
    }

    /// Frames held.
    #[must_use]
    pub const fn frames(&self) -> u64 {
        self.frames
    }

    /// Every block held, by handle.
    pub fn all(&self) -> impl Iterator<Item = (Handle, Held)> + '_ {
        let dense = self.dense.iter().enumerate();
        let dense = dense.filter_map(|(at, held)| Some((Handle(at as u32), (*held)?)));
        dense.chain(self.sparse.iter().map(|(at, held)| (Handle(*at), *held)))
    }

    /// Whether a CPU is online.
    #[must_use]
    pub fn is_online(&self, cpu: CpuId) -> bool {
        self.online.get(cpu.index()).copied().unwrap_or(false)
    }

    /// The first CPU that is online.
    #[must_use]
    pub fn any_cpu(&self) -> CpuId {
        CpuId(self.online.iter().position(|online| *online).unwrap_or(0) as u16)
    }

    /// The call that an operation makes now.
    #[must_use]
    pub fn call(&self, op: &Op) -> Call {
        if op.cpu().is_some_and(|cpu| !self.is_online(cpu)) {
            return Call::Skip;
        }
        match op {
            Op::Free { cpu, handle } => match self.held(*handle) {
                Some(held) => Call::Free(*cpu, held.pfn, held.order),
                None => Call::Skip,
            },
            Op::FreeBatch { cpu, handles } => {
                let held = handles.iter().filter_map(|handle| self.held(*handle));
                Call::FreeBatch(*cpu, held.map(|held| (held.pfn, held.order)).collect())
            }
            other => Call::without_blocks(other).unwrap_or(Call::Skip),
        }
    }

    /// Note what the answer to an operation's call changed.
    pub fn record(&mut self, op: &Op, call: &Call, answer: &Answer) {
        match (op, call, answer) {
            (Op::Alloc { handle, request, .. }, _, Answer::Outcome(Outcome::Page(pfn))) => {
                self.define(*handle, *pfn, request.order, asked_gfp(request));
            }
            (Op::Slow { handle, request, .. }, _, Answer::Walk(_, Outcome::Page(pfn))) => {
                self.define(*handle, *pfn, request.order, asked_gfp(request));
            }
            (Op::Bulk { handles, gfp, .. }, _, Answer::Bulk(slots, _)) => {
                for (handle, slot) in handles.iter().zip(slots) {
                    if let Some(pfn) = slot {
                        self.define(*handle, *pfn, Order::ZERO, *gfp);
                    }
                }
            }
            (Op::TakeOff { handle, pfn, .. }, Call::TakeOff(..), Answer::Flag(true)) => {
                self.define(*handle, *pfn, Order::ZERO, Gfp::KERNEL);
            }
            (Op::Free { handle, .. }, Call::Free(..), _) => self.undefine(*handle),
            (Op::FreeBatch { handles, .. }, Call::FreeBatch(..), _) => {
                handles.iter().for_each(|handle| self.undefine(*handle));
            }
            (_, Call::CpuDead(_, cpu), Answer::Flag(true)) => self.online[cpu.index()] = false,
            (_, Call::CpuOnline(cpu), Answer::Flag(true)) => self.online[cpu.index()] = true,
            _ => {}
        }
    }

    fn define(&mut self, handle: Handle, pfn: Pfn, order: Order, gfp: Gfp) {
        let movable = gfp.migratetype() == Ok(MigrateType::Movable);
        let held = Held { pfn, order, movable };
        if handle.0 < DENSE {
            let at = handle.0 as usize;
            if self.dense.len() <= at {
                self.dense.resize(at + 1, None);
            }
            self.dense[at] = Some(held);
        } else {
            self.sparse.insert(handle.0, held);
        }
        self.frames += order.pages();
        self.mark(held, movable);
    }

    fn undefine(&mut self, handle: Handle) {
        let held = if handle.0 < DENSE {
            self.dense.get_mut(handle.0 as usize).and_then(Option::take)
        } else {
            self.sparse.remove(&handle.0)
        };
        if let Some(held) = held {
            self.frames -= held.order.pages();
            self.mark(held, false);
        }
    }

    /// An allocator under test may hand out frames that do not exist.
    fn mark(&mut self, held: Held, movable: bool) {
        if !held.movable {
            return;
        }
        let end = held.pfn.index().saturating_add(held.order.pages() as usize);
        if let Some(frames) = self.movable.get_mut(held.pfn.index()..end) {
            frames.fill(movable);
        }
    }
}

impl Caller for Ledger {
    fn is_movable(&self, pfn: Pfn) -> bool {
        self.movable.get(pfn.index()).copied().unwrap_or(false)
    }
}

/// The gfp that a request comes to within its task's scopes (page_alloc.md §4.6): what decides whether
/// the block can move.
#[must_use]
pub fn asked_gfp(request: &Request) -> Gfp {
    let pinned = request.task.flags.contains(TaskFlags::PIN);
    if pinned { request.gfp.difference(Gfp::MOVABLE) } else { request.gfp }
}
