//! How objects lie in the slabs of a cache (memcg-slub.md §4.1 to §4.3).

use crate::vocab::{
    CacheFlags, CacheLayout, CacheSpec, CpuPartialLimit, Order, SlabOrderRule, SlabRules,
};

const PAGE: u64 = 4096;
/// Objects of a slab at most: 15 bits.
const MOST_OBJECTS: u64 = 32767;
/// Bytes of a pointer.
const WORD: u64 = 8;
/// The largest order of the page allocator.
const TOP: u8 = 10;

/// Objects of `size` bytes in a slab of `order`.
const fn objects(order: u8, size: u64) -> u64 {
    (PAGE << order) / size
}

/// The smallest order that holds `bytes` (get_order).
const fn order_of(bytes: u64) -> u8 {
    let mut order = 0;
    while PAGE << order < bytes {
        order += 1;
    }
    order
}

/// The number of the highest bit that is set, from 1; 0 for 0.
const fn fls(value: u64) -> u64 {
    (u64::BITS - value.leading_zeros()) as u64
}

/// Objects that a slab should have, by the number of CPUs (§4.2).
fn wanted(rules: &SlabRules, cpus: u16) -> u64 {
    match rules.min_objects {
        0 => 4 * (fls(u64::from(cpus)) + 1),
        objects => u64::from(objects),
    }
}

/// The order with at most `1 / fraction` of waste, from `start` up.
fn with_waste(rules: &SlabRules, start: u8, size: u64, fraction: u64) -> Option<u8> {
    (start..=rules.max_order).find(|order| {
        let bytes = PAGE << order;
        bytes % size <= bytes / fraction
    })
}

/// Where to begin; too many objects for a slab end the search.
fn start_at(rules: &SlabRules, objects_wanted: u64, size: u64) -> Result<u8, u8> {
    let start = rules.min_order.max(order_of(objects_wanted * size));
    if objects(start, size) > MOST_OBJECTS {
        return Err(order_of(size * MOST_OBJECTS) - 1);
    }
    Ok(start)
}

/// Since 6.7.
fn by_fractions(rules: &SlabRules, size: u64, wanted: u64) -> Option<u8> {
    let wanted = wanted.min(objects(rules.max_order, size).max(1));
    let start = match start_at(rules, wanted, size) {
        Ok(start) => start,
        Err(order) => return Some(order),
    };
    [16, 8, 4, 2].into_iter().find_map(|fraction| with_waste(rules, start, size, fraction))
}

/// Up to 6.6 \[mem\]: fewer and fewer objects, then one of whatever waste.
fn by_counting(rules: &SlabRules, size: u64, wanted: u64) -> Option<u8> {
    let most = wanted.min(objects(rules.max_order, size));
    for count in (2..=most).rev() {
        for fraction in [16, 8, 4] {
            match start_at(rules, count, size) {
                Ok(start) => {
                    if let Some(order) = with_waste(rules, start, size, fraction) {
                        return Some(order);
                    }
                }
                Err(order) => return Some(order),
            }
        }
    }
    // Then one object, whatever the waste and the bound.
    Some(rules.min_order.max(order_of(size)))
}

/// Bytes from one object to the next, and where its free pointer is (§4.1).
fn stride(spec: &CacheSpec) -> (u64, u64) {
    let align = u64::from(spec.align).max(WORD);
    let mut size = u64::from(spec.object_size).next_multiple_of(WORD);
    let debug = spec.flags.contains(CacheFlags::DEBUG);
    if debug && size == u64::from(spec.object_size) {
        // A red zone, where no gap is.
        size += WORD;
    }
    // Poison would overwrite it.
    let outside = CacheFlags::CTOR | CacheFlags::TYPESAFE_BY_RCU | CacheFlags::DEBUG;
    if spec.flags.intersects(outside) {
        ((size + WORD).next_multiple_of(align), size)
    } else {
        let middle = u64::from(spec.object_size) / 2 / WORD * WORD;
        (size.next_multiple_of(align), middle)
    }
}

/// All that is computed when a cache is made; `None`: no slab can hold such objects. Of debug metadata the
/// red zone and the free pointer are there; the tracks of users are not (the sheet has no sizes).
#[must_use]
pub fn layout(spec: &CacheSpec, rules: &SlabRules, cpus: u16) -> Option<CacheLayout> {
    if spec.object_size == 0 || !spec.align.is_power_of_two() {
        return None;
    }
    let (size, free_pointer) = stride(spec);
    let wanted = wanted(rules, cpus);
    let least = order_of(size);
    let order = match rules.order {
        SlabOrderRule::Fractions => by_fractions(rules, size, wanted),
        SlabOrderRule::Counting => by_counting(rules, size, wanted),
    };
    let order = order.or_else(|| (least <= TOP).then_some(least))?;
    let in_slab = objects(order, size);
    let debug = spec.flags.contains(CacheFlags::DEBUG);
    let (cpu_partial, cpu_partial_slabs) = cpu_partial(size, in_slab, rules, debug);
    Some(CacheLayout {
        stride: u32::try_from(size).ok()?,
        free_pointer: free_pointer as u32,
        order: Order::new(order)?,
        objects: in_slab as u32,
        min_order: Order::new(least)?,
        min_objects: objects(least, size).min(MOST_OBJECTS) as u32,
        min_partial: ((fls(size) - 1) / 2).clamp(5, 10) as u32,
        cpu_partial: cpu_partial as u32,
        cpu_partial_slabs: cpu_partial_slabs as u32,
    })
}

/// Limits of a CPU's partial list: objects and slabs (§4.3).
fn cpu_partial(size: u64, in_slab: u64, rules: &SlabRules, debug: bool) -> (u64, u64) {
    if debug {
        return (0, 0);
    }
    let class = match size {
        4096.. => 0,
        1024.. => 1,
        256.. => 2,
        _ => 3,
    };
    let objects = match rules.cpu_partial {
        CpuPartialLimit::Slabs => [6, 24, 52, 120][class],
        CpuPartialLimit::Objects => [2, 6, 13, 30][class],
    };
    (objects, (2 * objects).div_ceil(in_slab))
}

/// The kmalloc cache that serves `size` bytes, by its object size; `None`: none (0, and above two
/// pages).
#[must_use]
pub fn kmalloc_class(size: u64) -> Option<u32> {
    let class = match size {
        1..=8 => 8,
        65..=96 => 96,
        129..=192 => 192,
        9..=8192 => size.next_power_of_two(),
        _ => return None,
    };
    Some(class as u32)
}

/// The alignment of a kmalloc cache: the largest power of two that divides its size.
#[must_use]
pub const fn kmalloc_align(class: u32) -> u32 {
    1 << class.trailing_zeros()
}
