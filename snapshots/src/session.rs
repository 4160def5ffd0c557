//! An allocator playing a script.

use mmspec_model::contract::{DrainBegun, KswapdStep, LinuxPolicy, Outcome, SlowStep};
use mmspec_model::picture::UsedBlock;
use mmspec_model::vocab::{Gfp, MigrateType, Pfn};
use mmspec_proptests::drive::{Answer, Call, Ledger, perform};
use mmspec_proptests::script::{Handle, Op, Script};
use std::collections::BTreeMap;
use std::fmt;

/// An allocator and the blocks that its script holds.
#[derive(Debug)]
pub struct Session<T> {
    allocator: T,
    ledger: Ledger,
    /// The type that each handle's block is asked for as.
    types: BTreeMap<Handle, MigrateType>,
}

/// What an operation led to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Done {
    /// The call that was made.
    pub call: Call,
    /// What it answered.
    pub answer: Answer,
}

impl<T: LinuxPolicy> Session<T> {
    /// Begin with an allocator booted as the script says.
    pub fn new(script: &Script, allocator: T) -> Self {
        let mut types = BTreeMap::new();
        for op in &script.ops {
            let gfp = match op {
                Op::Alloc { request, .. } | Op::Slow { request, .. } => request.gfp,
                Op::Bulk { gfp, .. } => *gfp,
                _ => Gfp::empty(),
            };
            // A request of no type is refused: its handle never holds a block.
            let of = gfp.migratetype().unwrap_or(MigrateType::Unmovable);
            types.extend(op.defines().iter().map(|handle| (*handle, of)));
        }
        Self { allocator, ledger: Ledger::new(script), types }
    }

    /// The allocator.
    pub const fn allocator(&self) -> &T {
        &self.allocator
    }

    /// The allocator, to be asked for what needs `&mut`.
    pub const fn allocator_mut(&mut self) -> &mut T {
        &mut self.allocator
    }

    /// The blocks that are handed out, by handle.
    pub fn used(&self) -> Vec<UsedBlock> {
        let of = |handle| self.types.get(&handle).copied().unwrap_or(MigrateType::Unmovable);
        self.ledger.all().map(|(handle, held)| (held.pfn, held.order, of(handle))).collect()
    }

    /// Play one operation.
    pub fn step(&mut self, op: &Op) -> Done {
        let call = self.ledger.call(op);
        let answer = perform(&mut self.allocator, &call, &self.ledger);
        self.ledger.record(op, &call, &answer);
        Done { call, answer }
    }
}

impl Done {
    /// The blocks handed out.
    pub fn pages(&self) -> Vec<Pfn> {
        match &self.answer {
            Answer::Outcome(outcome) => outcome.page().into_iter().collect(),
            Answer::Walk(_, outcome) => outcome.page().into_iter().collect(),
            Answer::Bulk(slots, _) => slots.iter().flatten().copied().collect(),
            _ => Vec::new(),
        }
    }

    /// Whether nothing was done: no block to free, or the CPU is offline.
    pub fn is_skipped(&self) -> bool {
        matches!(&self.call, Call::Skip)
            || matches!(&self.call, Call::FreeBatch(_, blocks) if blocks.is_empty())
    }
}

impl fmt::Display for Done {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = |ok: &bool| if *ok { "ok" } else { "below" };
        match (&self.call, &self.answer) {
            _ if self.is_skipped() => f.write_str("nothing to do: no block held, or CPU offline"),
            (Call::Free(_, pfn, _), _) => write!(f, "freed {pfn}"),
            (Call::FreeBatch(_, blocks), _) => {
                f.write_str("freed")?;
                blocks.iter().try_for_each(|(pfn, _)| write!(f, " {pfn}"))
            }
            (_, Answer::Done) => f.write_str("done"),
            (_, Answer::Outcome(Outcome::Page(pfn))) => write!(f, "frame {pfn}"),
            (_, Answer::Outcome(Outcome::Failed)) => f.write_str("none: the slow path gave up"),
            (_, Answer::Outcome(Outcome::SlowPath)) => {
                f.write_str("none: the slow path would begin")
            }
            (_, Answer::Outcome(Outcome::Refused(why))) => write!(f, "refused: {why}"),
            (_, Answer::Bulk(slots, filled)) => {
                write!(f, "{filled} filled:")?;
                slots.iter().flatten().try_for_each(|pfn| write!(f, " {pfn}"))
            }
            (_, Answer::Flag(answer)) => f.write_str(if *answer { "yes" } else { "no" }),
            (_, Answer::Checks(full, fast)) => {
                write!(f, "full check {}, fast check {}", word(full), word(fast))
            }
            (_, Answer::Begun(DrainBegun::Busy)) => f.write_str("no drain: another is underway"),
            (_, Answer::Begun(DrainBegun::Waits)) => f.write_str("waits: another is underway"),
            (_, Answer::Begun(DrainBegun::Queued { cpus })) => {
                write!(f, "work queued on {cpus} CPUs")
            }
            (_, Answer::Begun(DrainBegun::Done)) => f.write_str("drained"),
            (_, Answer::Walk(steps, outcome)) => {
                steps.iter().try_for_each(|step| match step {
                    SlowStep::Throttle { node, .. } => write!(f, "throttled by node {node}, "),
                    SlowStep::Reclaim { .. } => f.write_str("reclaims, "),
                    SlowStep::Compact { priority, .. } => write!(f, "compacts ({priority:?}), "),
                    SlowStep::DrainWait => f.write_str("drains, "),
                    SlowStep::OomLock => f.write_str("takes the OOM lock, "),
                    SlowStep::OomKill { .. } => f.write_str("kills, "),
                    SlowStep::Yield => f.write_str("yields, "),
                    SlowStep::Done(_) => Ok(()),
                })?;
                match outcome {
                    Outcome::Page(pfn) => write!(f, "frame {pfn}"),
                    Outcome::Refused(why) => write!(f, "refused: {why}"),
                    _ => f.write_str("gives up"),
                }
            }
            (_, Answer::Kswapd(KswapdStep::Asleep)) => f.write_str("asleep"),
            (_, Answer::Kswapd(KswapdStep::Nap)) => f.write_str("naps"),
            (_, Answer::Kswapd(KswapdStep::Shrink { priority, target, .. })) => {
                write!(f, "wants {target} pages reclaimed at priority {priority}")
            }
            (_, Answer::Set(Ok(()))) => f.write_str("written"),
            (_, Answer::Set(Err(error))) => write!(f, "not written: {error}"),
        }
    }
}
