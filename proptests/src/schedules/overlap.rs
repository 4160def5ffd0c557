//! Marks of calls that run at the same time.

use crate::drive::Call;
use crate::marks::{Mark, Marks};
use crate::script::Script;
use mmspec_model::vocab::{CpuId, Pfn};

/// A request or a free, and its CPU.
fn request(call: &Call) -> Option<(CpuId, bool)> {
    match call {
        Call::Alloc(cpu, _) | Call::Bulk(cpu, ..) | Call::Slow(cpu, ..) => Some((*cpu, true)),
        Call::Free(cpu, ..) | Call::FreeBatch(cpu, _) => Some((*cpu, false)),
        _ => None,
    }
}

/// Whether a call drains a CPU's lists.
fn drains(call: &Call, cpu: CpuId) -> bool {
    match call {
        Call::DrainCpu(_, whose) => *whose == cpu,
        Call::DrainAll(..) | Call::PcpDisable(..) => true,
        _ => false,
    }
}

fn frees_in(call: &Call, script: &Script, pageblock: Pfn) -> bool {
    let order = script.machine.pageblock_order.get();
    let inside = |pfn: Pfn| pfn.0 >> order == pageblock.0 >> order;
    match call {
        Call::Free(_, pfn, _) => inside(*pfn),
        Call::FreeBatch(_, blocks) => blocks.iter().any(|(pfn, _)| inside(*pfn)),
        _ => false,
    }
}

/// Count the situations that `one` makes while `other` runs.
pub(super) fn watch(marks: &mut Marks, script: &Script, one: &Call, other: &Call) {
    let met = request(other);
    match one {
        Call::DrainCpu(..) | Call::DrainAll(..) if met.is_some_and(|(cpu, _)| drains(one, cpu)) => {
            marks.hit(Mark::DrainMetCall);
        }
        Call::PcpDisable(..) => match met {
            Some((_, true)) => marks.hit(Mark::SwitchMetAlloc),
            Some((_, false)) => marks.hit(Mark::SwitchMetFree),
            None => {}
        },
        Call::CpuDead(..) if met.is_some() => marks.hit(Mark::DeathMetCall),
        Call::CpuOnline(..) if met.is_some() => marks.hit(Mark::ReturnMetCall),
        Call::Isolate(_, pfn) => {
            if frees_in(other, script, *pfn) {
                marks.hit(Mark::IsolationMetFree);
            }
            if met.is_some_and(|(_, allocates)| allocates) {
                marks.hit(Mark::IsolationMetAlloc);
            }
        }
        Call::Work(_)
            if matches!(other, Call::DrainAll(..) | Call::PcpDisable(..) | Call::Slow(..)) =>
        {
            marks.hit(Mark::WaitServed);
        }
        Call::Tick(cpu) if drains(other, *cpu) => marks.hit(Mark::WorkerMetDrain),
        Call::Slow(..) => match other {
            Call::Free(..) | Call::FreeBatch(..) => marks.hit(Mark::WalkMetFree),
            Call::Kswapd(..) => marks.hit(Mark::WalkMetKswapd),
            Call::Slow(..) => marks.hit(Mark::WalkMetWalk),
            _ => {}
        },
        Call::Rebuild if met.is_some_and(|(_, scans)| scans) => marks.hit(Mark::RebuildMetScan),
        Call::Set(_) if met.is_some() => marks.hit(Mark::SysctlMetCall),
        _ => {}
    }
}
