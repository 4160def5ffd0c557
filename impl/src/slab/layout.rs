//! How objects lie in slabs (memcg-slub.md §4.1 to §4.3), and the kmalloc classes (§4.2).

use mmspec_model::{
    contract::SlabError,
    vocab::{CacheFlags, CacheLayout, CacheSpec, CpuPartialLimit, Order, SlabOrderRule, SlabRules},
};

const PAGE: u64 = 4096;
/// A pointer to the next free object.
const POINTER: u64 = 8;
/// Objects of a slab are counted in 15 bits.
const MOST_OBJECTS: u64 = 32767;

/// Objects of `size` bytes in a slab of `order`.
const fn objects(order: u8, size: u64) -> u64 {
    (PAGE << order) / size
}

/// The least order whose block holds `bytes`.
const fn order_of(bytes: u64) -> u8 {
    let pages = bytes.div_ceil(PAGE);
    if pages <= 1 { 0 } else { (u64::BITS - (pages - 1).leading_zeros()) as u8 }
}

/// How objects of `spec` lie on a machine of `cpus` CPUs (those present, or possible if no more
/// than one is: what is online at the moment does not matter, bug S5).
///
/// # Errors
/// [`SlabError::Size`]: no objects of that size can be had.
pub fn layout(spec: &CacheSpec, rules: &SlabRules, cpus: u32) -> Result<CacheLayout, SlabError> {
    if spec.object_size == 0 || !spec.align.is_power_of_two() {
        return Err(SlabError::Size);
    }
    let (stride, free_pointer) = stride(spec);
    if stride > PAGE << Order::MAX.get() {
        return Err(SlabError::Size);
    }
    let at_least = if rules.min_objects == 0 {
        4 * (u64::from(u32::BITS - cpus.leading_zeros()) + 1)
    } else {
        u64::from(rules.min_objects)
    };
    let order = match rules.order {
        SlabOrderRule::Fractions => order_by_fractions(stride, rules, at_least),
        SlabOrderRule::Counting => order_by_counting(stride, rules, at_least),
    };
    let order = Order::new(order).ok_or(SlabError::Size)?;
    let min_order = Order::new(order_of(stride)).ok_or(SlabError::Size)?;
    let in_slab = objects(order.get(), stride).min(MOST_OBJECTS) as u32;
    if in_slab == 0 {
        return Err(SlabError::Size);
    }
    let cpu_partial = cpu_partial(stride, spec.flags, rules.cpu_partial);
    Ok(CacheLayout {
        stride: stride as u32,
        free_pointer,
        order,
        objects: in_slab,
        min_order,
        min_objects: objects(min_order.get(), stride).min(MOST_OBJECTS) as u32,
        min_partial: (stride.ilog2() / 2).clamp(5, 10),
        cpu_partial,
        cpu_partial_slabs: cpu_partial_slabs(cpu_partial, in_slab),
    })
}

/// Bytes from object to object, and where the free pointer is (§4.1).
fn stride(spec: &CacheSpec) -> (u64, u32) {
    let flags = spec.flags;
    let mut size = u64::from(spec.object_size).next_multiple_of(POINTER);
    let debug = flags.contains(CacheFlags::DEBUG);
    // A red zone needs a gap behind the object.
    if debug && size == u64::from(spec.object_size) {
        size += POINTER;
    }
    let outside = CacheFlags::CTOR | CacheFlags::TYPESAFE_BY_RCU | CacheFlags::DEBUG;
    let free_pointer = if flags.intersects(outside) {
        let at = size;
        size += POINTER;
        at
    } else {
        u64::from(spec.object_size / 2) & !(POINTER - 1)
    };
    (size.next_multiple_of(u64::from(spec.align).max(POINTER)), free_pointer as u32)
}

/// The least order from `start` whose waste is at most its `fraction`-th part.
fn fitting(start: u8, size: u64, most: u8, fraction: u64) -> Option<u8> {
    (start..=most).find(|order| (PAGE << order) % size <= (PAGE << order) / fraction)
}

/// The order since 6.7 (§4.2).
fn order_by_fractions(size: u64, rules: &SlabRules, at_least: u64) -> u8 {
    let at_least = at_least.min(objects(rules.max_order, size).max(1));
    let start = rules.min_order.max(order_of(at_least * size));
    if objects(start, size) > MOST_OBJECTS {
        return order_of(size * MOST_OBJECTS) - 1;
    }
    let found = [16, 8, 4, 2].iter().find_map(|part| fitting(start, size, rules.max_order, *part));
    found.unwrap_or_else(|| order_of(size))
}

/// The order up to 6.6 (§4.2).
fn order_by_counting(size: u64, rules: &SlabRules, at_least: u64) -> u8 {
    let of = |count: u64, most: u8, part: u64| {
        if objects(rules.min_order, size) > MOST_OBJECTS {
            return Some(order_of(size * MOST_OBJECTS) - 1).filter(|order| *order <= most);
        }
        fitting(rules.min_order.max(order_of(count * size)), size, most, part)
    };
    let at_least = at_least.min(objects(rules.max_order, size).max(1));
    (2..=at_least)
        .rev()
        .flat_map(|count| [16, 8, 4].map(|part| (count, part)))
        .find_map(|(count, part)| of(count, rules.max_order, part))
        // One object, whatever is wasted.
        .or_else(|| of(1, rules.max_order, 1))
        .or_else(|| of(1, Order::MAX.get(), 1))
        .unwrap_or_else(|| order_of(size))
}

/// Limit of a CPU's partial list in objects (§4.3).
fn cpu_partial(size: u64, flags: CacheFlags, limit: CpuPartialLimit) -> u32 {
    let [page, kilo, quarter, small] = match limit {
        CpuPartialLimit::Slabs => [6, 24, 52, 120],
        CpuPartialLimit::Objects => [2, 6, 13, 30],
    };
    match size {
        _ if flags.contains(CacheFlags::DEBUG) => 0,
        4096.. => page,
        1024.. => kilo,
        256.. => quarter,
        _ => small,
    }
}

/// The same as slabs that are half full (§4.3).
pub(super) fn cpu_partial_slabs(objects: u32, in_slab: u32) -> u32 {
    (2 * u64::from(objects)).div_ceil(u64::from(in_slab)) as u32
}

/// Sizes of the kmalloc classes, in ascending order (§4.2).
pub const KMALLOC_SIZES: [u32; 13] =
    [8, 16, 32, 64, 96, 128, 192, 256, 512, 1024, 2048, 4096, 8192];

/// Names of the kmalloc caches, by class.
pub const KMALLOC_NAMES: [&str; 13] = [
    "kmalloc-8",
    "kmalloc-16",
    "kmalloc-32",
    "kmalloc-64",
    "kmalloc-96",
    "kmalloc-128",
    "kmalloc-192",
    "kmalloc-256",
    "kmalloc-512",
    "kmalloc-1k",
    "kmalloc-2k",
    "kmalloc-4k",
    "kmalloc-8k",
];

/// The kmalloc class that serves `size` bytes, as a position in [`KMALLOC_SIZES`]; `None`: the page
/// allocator does. Size 0 is the smallest class (the kernel answers it with a pointer to nothing,
/// which is the caller's to do).
#[must_use]
#[inline]
pub const fn kmalloc_class(size: usize) -> Option<usize> {
    /// By size in units of 8 bytes, rounded up.
    const SMALL: [u8; 25] = {
        let mut table = [0; 25];
        let mut unit = 0;
        while unit < table.len() {
            let mut class = 0;
            while (KMALLOC_SIZES[class] as usize) < unit * 8 {
                class += 1;
            }
            table[unit] = class as u8;
            unit += 1;
        }
        table
    };
    if size <= 192 {
        Some(SMALL[size.div_ceil(8)] as usize)
    } else if size <= 8192 {
        // 256 is class 7.
        Some((usize::BITS - (size - 1).leading_zeros()) as usize - 1)
    } else {
        None
    }
}

/// What a kmalloc cache is made with: aligned to the largest power of two that divides its size.
#[must_use]
pub const fn kmalloc_spec(class: usize, flags: CacheFlags) -> CacheSpec {
    let object_size = KMALLOC_SIZES[class];
    let align = 1 << object_size.trailing_zeros();
    CacheSpec { name: KMALLOC_NAMES[class], object_size, align, flags }
}
