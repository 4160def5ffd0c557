//! Memory cgroups: charges as machines that the embedder steps, as the slow path is.
//!
//! A charge, a write to a limit, or a request for reclaim stops wherever the kernel would leave the
//! memory controller: to reclaim, to kill, to sleep. It says what it wants ([`MemcgStep`]); the embedder does
//! it (pages it frees come back by [`MemoryCgroups::uncharge`]), or in a test answers what it likes ([`MemcgReply`]),
//! and the call goes on. Decisions are exact; amounts are the embedder's.

use crate::vocab::{
    CounterKind, CpuId, Gfp, MemcgEvent, MemcgId, MemcgRules, MemcgState, StockState,
};

bitflags::bitflags! {
    /// What a charge asks about the task (memcg-slub.md §2.3).
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
    pub struct ChargeTask: u8 {
        /// PF_MEMALLOC: it reclaims memory itself.
        const MEMALLOC = 1;
        /// An OOM victim, or a fatal signal is pending, or it exits.
        const DYING = 2;
        /// No task at all: an interrupt.
        const INTERRUPT = 4;
        /// It interrupted the holder of this CPU's stocks: their locks are found taken.
        const NESTED = 8;
    }
}

/// A call that may have to wait.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum MemcgCall {
    /// try_charge: `pages` pages that a folio of `memcg` will use. Holds a reference of the group for each page.
    Charge {
        /// Whom to charge. The root: succeeds and changes nothing.
        memcg: MemcgId,
        /// At least 1.
        pages: u32,
        /// What is allowed.
        gfp: Gfp,
        /// Who asks.
        task: ChargeTask,
        /// The task's memcg_nr_pages_over_high before the call.
        over_high: u64,
    },
    /// Charge a kernel object of `bytes` to the objcg made with `memcg` (memcg-slub.md §2.9).
    ChargeObject {
        /// Named by the group that it was made with. Once that is removed its parent pays, as long as
        /// anything uses the objcg still; then it is gone ([`MemcgDone::NoGroup`]).
        objcg: MemcgId,
        /// At least 1.
        bytes: u32,
        /// What is allowed.
        gfp: Gfp,
        /// Who asks.
        task: ChargeTask,
        /// As above.
        over_high: u64,
    },
    /// Charge whole kernel pages to an objcg (`__GFP_ACCOUNT` pages).
    ChargeKernelPages {
        /// As above.
        objcg: MemcgId,
        /// At least 1.
        pages: u32,
        /// What is allowed.
        gfp: Gfp,
        /// Who asks.
        task: ChargeTask,
        /// As above.
        over_high: u64,
    },
    /// The handler on the way back to user space (memcg-slub.md §2.6).
    OverHigh {
        /// The task's group.
        memcg: MemcgId,
        /// The task's memcg_nr_pages_over_high.
        over_high: u64,
        /// Who.
        task: ChargeTask,
    },
    /// Write memory.max (memcg-slub.md §2.8).
    WriteMax {
        /// Whose.
        memcg: MemcgId,
        /// Pages; [`PAGE_COUNTER_MAX`](crate::vocab::PAGE_COUNTER_MAX): `max`.
        pages: u64,
        /// The file was opened with O_NONBLOCK: no reclaim.
        nonblock: bool,
    },
    /// Write memory.high (memcg-slub.md §2.7).
    WriteHigh {
        /// Whose.
        memcg: MemcgId,
        /// Pages.
        pages: u64,
        /// As above.
        nonblock: bool,
    },
    /// Write memory.reclaim (memcg-slub.md §2.13).
    Reclaim {
        /// Whose.
        memcg: MemcgId,
        /// How much, pages.
        pages: u64,
    },
}

/// What a call wants next.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum MemcgStep {
    /// Reclaim from `memcg` and below. Reply [`MemcgReply::Reclaimed`].
    Reclaim {
        /// Root of what is reclaimed from.
        memcg: MemcgId,
        /// Pages wanted, as the caller asks: at least 32 in a charge (memcg-slub.md §2.3, 9); in
        /// writes it may be less, 0 even, and the reclaimer has its own minimum of 32.
        goal: u64,
        /// Whether pages may be swapped out.
        may_swap: bool,
    },
    /// Choose a victim in `memcg` and kill it. Reply [`MemcgReply::Oom`].
    Oom {
        /// Where.
        memcg: MemcgId,
        /// Of the charge.
        order: u8,
    },
    /// Sleep for so many jiffies (of 1 ms). Reply [`MemcgReply::Slept`].
    Sleep {
        /// At most 2000.
        jiffies: u64,
    },
    /// The end.
    Done(MemcgDone),
}

/// How a call ended.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum MemcgDone {
    /// Charged, within the limit or by force.
    Charged {
        /// Whom: the group named, or where its objcg points now, or (up to 3.18) the root instead.
        memcg: MemcgId,
        /// The task's memcg_nr_pages_over_high now: if not 0, [`MemcgCall::OverHigh`] is due before it returns to user space.
        over_high: u64,
        /// A charge from an interrupt found this level over memory.high: reclaim 64 pages there later.
        high_work: Option<MemcgId>,
    },
    /// ENOMEM.
    NoMemory {
        /// As above.
        over_high: u64,
    },
    /// The handler, or a write, is done.
    Ok,
    /// memory.reclaim could not reach its goal (EAGAIN).
    Again,
    /// A signal came (EINTR).
    Interrupted,
    /// The group is gone or never was.
    NoGroup,
}

/// What the embedder did about a [`MemcgStep`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum MemcgReply {
    /// So many pages were reclaimed; they are uncharged already.
    Reclaimed {
        /// Pages.
        pages: u64,
        /// A signal is pending since.
        signal: bool,
    },
    /// How the OOM killer fared.
    Oom(OomOutcome),
    /// Slept.
    Slept,
}

/// How the OOM killer fared.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum OomOutcome {
    /// A victim was killed.
    Killed,
    /// Nobody to kill.
    NoVictim,
}

/// Why a group cannot be made or removed, or a limit not set.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, thiserror::Error)]
pub enum MemcgError {
    /// The group is gone or never was.
    #[error("there is no such group, or it was removed")]
    NoGroup,
    /// It has children, or usage is above the limit to set (EBUSY).
    #[error("the group is busy")]
    Busy,
    /// No id is left.
    #[error("no more groups: all ids are used")]
    TooMany,
    /// The root cannot be removed and has no limits.
    #[error("not for the root")]
    Root,
    /// The counter's limit would be exceeded.
    #[error("the limit of {0} would be exceeded")]
    Limit(MemcgId),
}

/// Capability: memory cgroups (memcg-slub.md §1 to §3).
pub trait MemoryCgroups {
    /// A call in progress.
    type Running: Clone + core::fmt::Debug;

    /// The rules.
    fn memcg_rules(&self) -> MemcgRules;

    /// mkdir.
    ///
    /// # Errors
    /// No parent, or no id left.
    fn create(&mut self, parent: MemcgId) -> Result<MemcgId, MemcgError>;

    /// rmdir, in the order of memcg-slub.md §2.12; `cpu` runs it.
    ///
    /// # Errors
    /// Online children.
    fn offline(&mut self, cpu: CpuId, memcg: MemcgId) -> Result<(), MemcgError>;

    /// Begin a call on `cpu`.
    fn begin(&mut self, cpu: CpuId, call: MemcgCall) -> (Self::Running, MemcgStep);

    /// Go on. A reply of another kind than asked for counts as nothing reclaimed and nobody killed; after
    /// [`MemcgStep::Done`] the same answer again.
    fn go_on(&mut self, running: &mut Self::Running, reply: MemcgReply) -> MemcgStep;

    /// Uncharge pages of folios: straight from the counters, not to a stock (memcg-slub.md §2.10).
    fn uncharge(&mut self, memcg: MemcgId, pages: u32);

    /// Give charged pages back through `cpu`'s stock (sockets and the like).
    fn refill(&mut self, cpu: CpuId, memcg: MemcgId, pages: u32, nested: bool);

    /// Page cache replacement: the new page of `memcg` is charged by force while the old one still is.
    fn charge_replacement(&mut self, memcg: MemcgId, pages: u32);

    /// An object of `bytes` was freed on `cpu`.
    fn uncharge_object(&mut self, cpu: CpuId, objcg: MemcgId, bytes: u32, nested: bool);

    /// Kernel pages were freed on `cpu`.
    fn uncharge_kernel_pages(&mut self, objcg: MemcgId, pages: u32);

    /// memory.min.
    ///
    /// # Errors
    /// No such group.
    fn set_min(&mut self, memcg: MemcgId, pages: u64) -> Result<(), MemcgError>;

    /// memory.low.
    ///
    /// # Errors
    /// No such group.
    fn set_low(&mut self, memcg: MemcgId, pages: u64) -> Result<(), MemcgError>;

    /// page_counter_set_max: never lowers a limit below usage (cgroup v1, and memory.swap.max does not use it).
    ///
    /// # Errors
    /// [`MemcgError::Busy`].
    fn set_max_v1(
        &mut self,
        memcg: MemcgId,
        kind: CounterKind,
        pages: u64,
    ) -> Result<(), MemcgError>;

    /// Charge swap entries to the nearest online group from `memcg` up; whom (memcg-slub.md §2.11).
    ///
    /// # Errors
    /// [`MemcgError::Limit`] with the counter that is full.
    fn charge_swap(&mut self, memcg: MemcgId, pages: u32) -> Result<MemcgId, MemcgError>;

    /// Swap entries recorded for `memcg` were freed.
    fn uncharge_swap(&mut self, memcg: MemcgId, pages: u32);

    /// drain_all_stock from `cpu`: its own stocks at once, others by work items.
    fn drain_all_stock(&mut self, cpu: CpuId, root: MemcgId);

    /// `cpu` comes to its worker: drains its stocks if that was queued. Whether it was.
    fn run_stock_work(&mut self, cpu: CpuId) -> bool;

    /// `cpu` died: its stocks are drained.
    fn stock_cpu_dead(&mut self, cpu: CpuId);

    /// An event of `memcg`, passed up (`oom_kill` and `oom_group_kill` are the embedder's to raise).
    fn raise(&mut self, memcg: MemcgId, event: MemcgEvent);

    /// Effective protection of `memcg` for a reclaim from `root` (memcg-slub.md §3); parents must have been
    /// asked before their children. (emin, elow), both 0 for the root of the reclaim.
    fn protection(&mut self, root: MemcgId, memcg: MemcgId) -> (u64, u64);

    /// A handle of memory.peak is opened; its number, the lowest that is not open.
    fn open_peak(&mut self, memcg: MemcgId) -> u32;

    /// A write to it: from now on it shows the peak since.
    fn reset_peak(&mut self, handle: u32);

    /// Its value, pages.
    fn read_peak(&self, handle: u32) -> u64;

    /// It is closed.
    fn close_peak(&mut self, handle: u32);

    /// Ids given so far: `0..count` can be asked for.
    fn memcg_count(&self) -> usize;

    /// How a group looks.
    fn memcg_state(&self, memcg: MemcgId) -> MemcgState;

    /// How a CPU's stocks look.
    fn stock_state(&self, cpu: CpuId) -> StockState;
}
