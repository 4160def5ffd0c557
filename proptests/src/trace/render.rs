//! Events as the kernel's text trace prints them.

use mmspec_model::vocab::{KmemEvent, Pfn};
use std::fmt::{self, Display, Formatter};

/// One line of a text trace.
#[derive(Clone, Copy, Debug)]
pub struct Line {
    /// The CPU.
    pub cpu: u16,
    /// The task.
    pub pid: u32,
    /// The task is a kernel worker thread.
    pub worker: bool,
    /// Microseconds since boot.
    pub time_us: u64,
    /// The event.
    pub event: KmemEvent,
}

impl Display for Line {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { cpu, pid, worker, time_us, event } = self;
        let task = if *worker { "kworker/0:0" } else { "script" };
        let (seconds, micros) = (time_us / 1_000_000, time_us % 1_000_000);
        write!(f, "{:>16}-{pid:<7} [{cpu:03}] ..... {seconds:>5}.{micros:06}: ", task)?;
        match *event {
            KmemEvent::PageAlloc { pfn, order, gfp, migratetype } => {
                let pfn = pfn.unwrap_or(Pfn(0));
                write!(
                    f,
                    "mm_page_alloc: page=(____ptrval____) pfn={pfn} order={order} migratetype={} gfp_flags={gfp}",
                    migratetype.index()
                )
            }
            KmemEvent::PageFree { pfn, order } => {
                write!(f, "mm_page_free: page=(____ptrval____) pfn={pfn} order={order}")
            }
            KmemEvent::PageFreeBatched { pfn } => {
                write!(f, "mm_page_free_batched: page=(____ptrval____) pfn={pfn} order=0")
            }
            KmemEvent::ZoneLocked { pfn, order, migratetype, percpu_refill } => write!(
                f,
                "mm_page_alloc_zone_locked: page=(____ptrval____) pfn={pfn} order={order} migratetype={} percpu_refill={}",
                migratetype.index(),
                u8::from(percpu_refill)
            ),
            KmemEvent::PcpuDrain { pfn, order, migratetype } => write!(
                f,
                "mm_page_pcpu_drain: page=(____ptrval____) pfn={pfn} order={order} migratetype={}",
                migratetype.index()
            ),
            KmemEvent::ExtFrag {
                pfn,
                alloc_order,
                fallback_order,
                alloc_migratetype,
                fallback_migratetype,
                change_ownership,
            } => write!(
                f,
                "mm_page_alloc_extfrag: page=(____ptrval____) pfn={pfn} alloc_order={alloc_order} fallback_order={fallback_order} pageblock_order=9 alloc_migratetype={} fallback_migratetype={} fragmenting={} change_ownership={}",
                alloc_migratetype.index(),
                fallback_migratetype.index(),
                u8::from(fallback_order.get() < 9),
                u8::from(change_ownership)
            ),
        }
    }
}
