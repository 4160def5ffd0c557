//! Reclaim with an owner that does as it is told (compaction.md §4.5 to §4.9).

mod amounts;
mod bench;
#[path = "../common/mod.rs"]
mod common;
mod lists;
mod meetings;
mod pressure;
mod shrinkers;

use bench::{Bench, GENTLE, HARD, NODE, Page};

use common::{CPU0, CPU1, NORMAL};
use mmspec_impl::{
    Owned, OwnedAllocator, StorageSize,
    platform::StdPlatform,
    reclaim::{
        Anon, GoesOn, Lru, LruList, LruPage, LruStorage, PageOwner, Reclaim, References,
        Registered, Shrink, Shrinker, Shrunk, Written,
    },
};
use mmspec_model::{
    contract::{
        CompactResult, KswapdReply, KswapdStep, Outcome, Request, SlowReply, SlowStep, Task,
        TaskFlags,
    },
    vocab::{
        AllocFlags, CpuId, Gfp, Machine, Mark, NodeId, Order, Pfn, PfnRange, Rules, Tunables,
        ZoneFlags, ZoneIdx, ZoneKind, ZoneSpan,
    },
};
use std::{
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    thread,
    vec::Vec,
};
