//! Walks through the slow path and steps of kswapd, with what answers them.

use super::Rng;
use crate::script::{Handle, Op, RESULTS, Reply};
use mmspec_model::contract::{KswapdReply, Request, SlowReply, Task, TaskFlags};
use mmspec_model::vocab::{CpuId, Gfp, Machine, NodeId, NodeMask};

/// How hard a request tries, besides what its gfp says already.
const EFFORTS: [Gfp; 8] = [
    Gfp::empty(),
    Gfp::empty(),
    Gfp::NORETRY,
    Gfp::RETRY_MAYFAIL,
    Gfp::NOFAIL,
    Gfp::HIGH,
    Gfp::MEMALLOC,
    Gfp::NOMEMALLOC,
];

/// A walk. Mostly something is reclaimed now and then; some walks get nothing at all.
pub(crate) fn walk(
    rng: &mut Rng,
    machine: &Machine,
    cpu: CpuId,
    mut request: Request,
    handle: Handle,
) -> Op {
    if rng.percent(50) {
        request.gfp |= *rng.pick(&EFFORTS);
    }
    if rng.percent(20) {
        let flags = [
            TaskFlags::MEMALLOC,
            TaskFlags::OOM_VICTIM,
            TaskFlags::DYING,
            TaskFlags::KTHREAD,
            TaskFlags::REALTIME,
            TaskFlags::NOIO,
            TaskFlags::NOFS,
            TaskFlags::PIN,
        ];
        request.task = Task { flags: *rng.pick(&flags), ..request.task };
    }
    let count = *rng.pick(&[0, 1, 2, 4, 8, 20, 40]);
    let luck = *rng.pick(&[0, 30, 80]);
    let replies = (0..count).map(|_| reply(rng, machine, luck)).collect();
    Op::Slow { cpu, request, handle, replies }
}

fn reply(rng: &mut Rng, machine: &Machine, luck: u64) -> Reply {
    match rng.weighted(&[8, 8, 3, 3, 2, 1, 1]) {
        0 if rng.percent(luck) => Reply::Step(SlowReply::Reclaimed(rng.between(1, 40))),
        0 => Reply::Step(SlowReply::Reclaimed(0)),
        1 => Reply::Step(SlowReply::Compacted(rng.pick(&RESULTS).1)),
        2 => Reply::Step(SlowReply::OomLock(rng.percent(70))),
        3 => Reply::Step(SlowReply::Killed(rng.percent(luck))),
        4 => Reply::Step(SlowReply::Woken { killed: rng.percent(20) }),
        5 => Reply::Rebuild,
        _ => {
            let all = rng.percent(30);
            let some = NodeMask(rng.below(1 << machine.nodes));
            Reply::Mems(if all { NodeMask::ALL } else { some })
        }
    }
}

/// A step of some node's kswapd.
pub(crate) fn kswapd(rng: &mut Rng, machine: &Machine) -> Op {
    let node = NodeId(rng.below(u64::from(machine.nodes)) as u8);
    let reply = match rng.weighted(&[2, 3, 1, 5, 2]) {
        0 => None,
        1 => Some(KswapdReply::Napped { early: false }),
        2 => Some(KswapdReply::Napped { early: true }),
        3 => {
            let scanned = *rng.pick(&[0, 32, 128, 1024]);
            Some(KswapdReply::Shrunk { scanned, reclaimed: rng.below(scanned + 1) })
        }
        _ => Some(KswapdReply::Shrunk { scanned: 64, reclaimed: 0 }),
    };
    Op::Kswapd { node, reply }
}
