//! What makes two states the same.

use crate::drive::Held;
use crate::script::Handle;
use mmspec_model::contract::Observe;
use mmspec_model::vocab::{CpuId, Machine, MigrateType, Order, Pfn, ZoneIdx};

/// The visible state as bytes: every list in order, every number that a later decision can read,
/// the types of pageblocks, and what is held. Counters that only grow are left out, and without
/// `diffs` how free pages are shared out between the zone's counter and the CPUs' diffs.
pub(super) fn key<A: Observe>(
    allocator: &A,
    machine: &Machine,
    held: &[(Handle, Held)],
    pending: &[u32],
    diffs: bool,
) -> Vec<u8> {
    let mut key = Vec::with_capacity(160);
    // Lengths come first in each list, so no two states run into one.
    let list = |key: &mut Vec<u8>, walk: &Walk<'_>| {
        let at = key.len();
        key.push(0);
        walk(&mut |pfn| key.extend_from_slice(&(pfn.0 as u16).to_le_bytes()));
        key[at] = ((key.len() - at - 1) / 2) as u8;
    };
    for z in 0..allocator.zone_count() {
        let zone = ZoneIdx(z as u8);
        let state = allocator.zone_state(zone);
        for order in Order::ZERO.up_to(machine.max_order) {
            for mt in MigrateType::ALL {
                if state.nr_free[order.index()][mt.index()] == 0 {
                    key.push(0);
                    continue;
                }
                list(&mut key, &|visit| allocator.for_each_free(zone, order, mt, visit));
            }
        }
        for number in [
            if diffs { state.nr_free_pages as u64 } else { 0 },
            if diffs { state.nr_free_cma as u64 } else { 0 },
            state.nr_reserved_highatomic,
            state.nr_isolate_pageblock,
            state.boost,
            u64::from(state.flags.bits()),
        ] {
            key.extend_from_slice(&(number as u16).to_le_bytes());
        }
        for cpu in machine.as_ref().cpu_ids() {
            cpu_key(&mut key, allocator, cpu, zone, diffs, &list);
        }
    }
    let pages = machine.as_ref().pageblock_pages();
    for at in (0..machine.as_ref().end().0).step_by(pages as usize) {
        key.push(allocator.pageblock_type(Pfn(at)).map_or(u8::MAX, |mt| mt.index() as u8));
    }
    key.extend(pending.iter().map(|times| *times as u8));
    // Which handle names a block does not matter, only what is held.
    let mut blocks: Vec<_> =
        held.iter().map(|(_, held)| (held.pfn, held.order, held.movable)).collect();
    blocks.sort();
    for (pfn, order, movable) in blocks {
        key.extend_from_slice(&(pfn.0 as u16).to_le_bytes());
        key.push(order.get() << 1 | u8::from(movable));
    }
    key
}

/// Walks a list.
type Walk<'a> = dyn Fn(&mut dyn FnMut(Pfn)) + 'a;

/// Puts a list into the key.
type ListKey<'a> = dyn Fn(&mut Vec<u8>, &Walk<'_>) + 'a;

fn cpu_key<A: Observe>(
    key: &mut Vec<u8>,
    allocator: &A,
    cpu: CpuId,
    zone: ZoneIdx,
    diffs: bool,
    list: &ListKey<'_>,
) {
    let pcp = allocator.pcp_state(cpu, zone);
    for number in [
        pcp.count,
        pcp.high,
        pcp.free_count,
        u64::from(pcp.flags.bits()),
        u64::from(pcp.alloc_factor),
        u64::from(pcp.free_factor),
        u64::from(pcp.expire),
        if diffs { pcp.vm_stat_diff as u64 } else { 0 },
        if diffs { pcp.vm_cma_diff as u64 } else { 0 },
        u64::from(pcp.drain_queued),
    ] {
        key.push(number as u8);
    }
    if pcp.count > 0 {
        for at in 0..allocator.pcp_list_count() {
            list(key, &|visit| allocator.for_each_cached(cpu, zone, at, visit));
        }
    }
}
