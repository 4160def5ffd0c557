//! Walks through the slow path (page_alloc.md §4.4), the embedder's part played by hand.

#[path = "../common/mod.rs"]
mod common;
mod compaction;
mod nodes;
mod reserves;
mod rounds;

use common::{CPU0, NORMAL, Pages, single_zone};
use mmspec_impl::{OwnedAllocator, Walk};
use mmspec_model::{
    contract::{
        CompactPriority, CompactResult, Outcome, Request, SlowReply, SlowStep, Task, TaskFlags,
    },
    vocab::{
        AllocFlags, DrainScheme, Gfp, Machine, Mark, NodeId, NodeMask, Order, Pfn, PfnRange,
        ReserveIndex, Rules, Tunables, ZoneIdx, ZoneKind, ZoneSpan,
    },
};
use std::{string::String, vec::Vec};

const RECLAIM: SlowStep = SlowStep::Reclaim { order: Order::ZERO };

/// A zone of 4096 pages (MIN 128, LOW 160, HIGH 192) with `free` single pages left, none of them on
/// per-CPU lists.
fn nearly_full(rules: Rules, free: u64) -> (OwnedAllocator, Vec<Pfn>) {
    let pages = single_zone(1, 4096, rules);
    pages.pcp_disable(CPU0, NORMAL);
    let mut held = Pages::new(&pages);
    let all =
        Request::new(Order::ZERO, Gfp::HIGHUSER_MOVABLE).at(Mark::Min, AllocFlags::NO_WATERMARKS);
    let mut pfns: Vec<_> = core::iter::from_fn(|| held.request(all)).collect();
    assert_eq!(pfns.len(), 4096);
    // Every other page, so that nothing merges.
    pfns.sort();
    let (even, odd): (Vec<_>, Vec<_>) = pfns.into_iter().partition(|pfn| pfn.0 % 2 == 0);
    even[..free as usize].iter().for_each(|pfn| pages.free_pages(CPU0, *pfn, Order::ZERO));
    pages.tick(CPU0);
    (pages, odd)
}

fn order(order: u8) -> Order {
    Order::of(order)
}

fn first(pages: &OwnedAllocator, request: Request) -> (Walk, SlowStep) {
    assert_eq!(pages.alloc_pages(CPU0, request), Outcome::SlowPath, "the first attempt fails");
    let mut walk = pages.slow_begin(CPU0, request);
    let step = pages.slow_step(&mut walk, None);
    (walk, step)
}

fn is_page(step: SlowStep) -> bool {
    matches!(step, SlowStep::Done(Outcome::Page(_)))
}
