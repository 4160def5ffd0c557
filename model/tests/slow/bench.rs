//! A machine that holds exactly what a test wants free, and walks with answers by rote.

use mmspec_model::contract::{
    CompactPriority, CompactResult, CpuCaches, Observe, Outcome, PageAllocator, Request, SlowPath,
    SlowReply, SlowStep, StatWorker, Task, TaskFlags,
};
use mmspec_model::reference::{Reference, SlowWalk};
use mmspec_model::vocab::{
    AllocFlags, CpuId, Gfp, Machine, Mark, NodeMask, Order, Pfn, Rules, Tunables, ZoneIdx,
};

pub(crate) const CPU0: CpuId = CpuId(0);
pub(crate) const ZONE: ZoneIdx = ZoneIdx(0);
pub(crate) const FRAMES: u64 = 4096;

/// MIN 100, LOW 125, HIGH 150 pages.
pub(crate) const TUNABLES: Tunables = Tunables {
    min_free_kbytes: Some(400),
    watermark_scale_factor: 10,
    watermark_boost_factor: 0,
    lowmem_reserve_ratio: [256, 256, 32, 0],
    percpu_pagelist_high_fraction: 0,
    pcp_batch_scale_max: 5,
};

/// One Normal zone, pageblocks of 8 frames, every page of it held but `free` single ones (even
/// frames, so that none merge). Per-CPU lists are off.
pub(crate) fn with_free(rules: Rules, free: u64) -> Reference {
    let mut r = empty(rules);
    give_back(&mut r, 0, free);
    assert_eq!(r.zone_state(ZONE).nr_free_pages, free as i64);
    r
}

fn empty(rules: Rules) -> Reference {
    let mut machine = Machine::small(2, FRAMES, 4, 3);
    machine.thp_order = None;
    let mut r = Reference::new(&machine, rules, TUNABLES).unwrap();
    assert_eq!(r.zone_state(ZONE).marks[..3], [100, 125, 150]);
    r.pcp_disable(CPU0, ZONE);
    take_all(&mut r, Gfp::KERNEL);
    r
}

/// Single pages until nothing is left.
pub(crate) fn take_all(r: &mut Reference, gfp: Gfp) -> Vec<Pfn> {
    let request = Request::new(Order::ZERO, gfp).at(Mark::Min, AllocFlags::NO_WATERMARKS);
    let taken = core::iter::from_fn(|| r.alloc_pages(CPU0, request).page()).collect();
    r.tick(CPU0);
    taken
}

/// Free `count` single pages from the even frame 2 × `from` up, with exact counters afterwards.
pub(crate) fn give_back(r: &mut Reference, from: u64, count: u64) {
    for at in from..from + count {
        r.free_pages(CPU0, Pfn(2 * at), Order::ZERO);
    }
    r.tick(CPU0);
}

pub(crate) fn request(order: u8, gfp: Gfp) -> Request {
    Request::new(Order::of(order), gfp)
}

pub(crate) fn task(flags: TaskFlags) -> Task {
    Task { mems: NodeMask::ALL, flags }
}

/// A walk with every answer the same, and what it asked for.
pub(crate) struct Rote {
    /// Pages of each reclaim.
    pub(crate) reclaimed: u64,
    pub(crate) compacted: CompactResult,
    pub(crate) oom_lock: bool,
    pub(crate) killed: bool,
    /// Waits end by a fatal signal.
    pub(crate) signal: bool,
    /// Stop after so many steps.
    pub(crate) most: usize,
}

impl Default for Rote {
    fn default() -> Self {
        Self {
            reclaimed: 0,
            compacted: CompactResult::Complete,
            oom_lock: true,
            killed: false,
            signal: false,
            most: 200,
        }
    }
}

impl Rote {
    pub(crate) fn reply(&self, step: SlowStep) -> SlowReply {
        match step {
            SlowStep::Reclaim { .. } => SlowReply::Reclaimed(self.reclaimed),
            SlowStep::Compact { .. } => SlowReply::Compacted(self.compacted),
            SlowStep::OomLock => SlowReply::OomLock(self.oom_lock),
            SlowStep::OomKill { .. } => SlowReply::Killed(self.killed),
            SlowStep::Throttle { .. }
            | SlowStep::Yield
            | SlowStep::DrainWait
            | SlowStep::Done(_) => SlowReply::Woken { killed: self.signal },
        }
    }

    /// All steps, in short: `T` throttle, `R` reclaim, `A`, `L`, `F` compaction by priority, `O` the OOM
    /// lock, `K` a kill, `Y` yield; at the end `!` for a page, `.` for failure, `…` if it was not the end.
    pub(crate) fn run(&self, r: &mut Reference, request: Request) -> String {
        let mut walk = r.slow_begin(CPU0, request);
        self.go_on(r, &mut walk, None)
    }

    pub(crate) fn go_on(
        &self,
        r: &mut Reference,
        walk: &mut SlowWalk,
        reply: Option<SlowReply>,
    ) -> String {
        let mut said = String::new();
        let mut reply = reply;
        while said.len() < self.most {
            let step = r.slow_step(walk, reply);
            said.push(letter(step));
            if matches!(step, SlowStep::Done(_)) {
                assert_eq!(r.slow_step(walk, None), step, "the end stays the end");
                return said;
            }
            reply = Some(self.reply(step));
        }
        said + "…"
    }
}

pub(crate) fn letter(step: SlowStep) -> char {
    match step {
        SlowStep::Throttle { .. } => 'T',
        SlowStep::Reclaim { .. } => 'R',
        SlowStep::Compact { priority: CompactPriority::Async, .. } => 'A',
        SlowStep::Compact { priority: CompactPriority::SyncLight, .. } => 'L',
        SlowStep::Compact { priority: CompactPriority::SyncFull, .. } => 'F',
        SlowStep::OomLock => 'O',
        SlowStep::OomKill { .. } => 'K',
        SlowStep::Yield => 'Y',
        SlowStep::DrainWait => 'W',
        SlowStep::Done(Outcome::Page(_)) => '!',
        SlowStep::Done(Outcome::Failed) => '.',
        SlowStep::Done(other) => panic!("{other:?}"),
    }
}
