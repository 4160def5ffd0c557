//! The tables of memcg-slub.md §4.2 and §4.3.

use mmspec_impl::slab::{KMALLOC_SIZES, kmalloc_class, kmalloc_spec, layout};
use mmspec_model::{
    contract::SlabError,
    vocab::{CacheFlags, CacheLayout, CacheSpec, SlabRules},
};

const CPUS: [u32; 8] = [1, 2, 4, 8, 16, 32, 64, 128];

fn of(spec: &CacheSpec, rules: &SlabRules, cpus: u32) -> CacheLayout {
    layout(spec, rules, cpus).unwrap()
}

fn plain(object_size: u32) -> CacheSpec {
    CacheSpec { name: "t", object_size, align: 8, flags: CacheFlags::empty() }
}

/// Order and objects by number of CPUs; least order, min_partial, cpu_partial, slabs at 8 CPUs.
type Row = (u32, [(u8, u32); 8], u8, u32, u32, u32);

const TABLE: [Row; 13] = [
    (8, [(0, 512); 8], 0, 5, 120, 1),
    (16, [(0, 256); 8], 0, 5, 120, 1),
    (32, [(0, 128); 8], 0, 5, 120, 2),
    (64, [(0, 64); 8], 0, 5, 120, 4),
    (96, [(0, 42); 8], 0, 5, 120, 6),
    (128, [(0, 32), (0, 32), (0, 32), (0, 32), (0, 32), (0, 32), (0, 32), (1, 64)], 0, 5, 120, 8),
    (192, [(0, 21), (0, 21), (0, 21), (0, 21), (1, 42), (1, 42), (1, 42), (1, 42)], 0, 5, 120, 12),
    (256, [(0, 16), (0, 16), (0, 16), (1, 32), (1, 32), (1, 32), (1, 32), (2, 64)], 0, 5, 52, 4),
    (512, [(0, 8), (1, 16), (1, 16), (2, 32), (2, 32), (2, 32), (2, 32), (3, 64)], 0, 5, 52, 4),
    (1024, [(1, 8), (2, 16), (2, 16), (3, 32), (3, 32), (3, 32), (3, 32), (3, 32)], 0, 5, 24, 2),
    (2048, [(2, 8), (3, 16), (3, 16), (3, 16), (3, 16), (3, 16), (3, 16), (3, 16)], 0, 5, 24, 3),
    (4096, [(3, 8); 8], 0, 6, 6, 2),
    (8192, [(3, 4); 8], 1, 6, 6, 3),
];

#[test]
fn kmalloc_caches_are_those_of_the_table() {
    for (class, (size, by_cpus, min_order, min_partial, objects, slabs)) in TABLE.iter().enumerate()
    {
        assert_eq!(KMALLOC_SIZES[class], *size);
        let spec = kmalloc_spec(class, CacheFlags::empty());
        for (cpus, expected) in CPUS.iter().zip(by_cpus) {
            for rules in [SlabRules::LINUX_6_17, SlabRules::LINUX_5_1] {
                let made = of(&spec, &rules, *cpus);
                assert_eq!((made.order.get(), made.objects), *expected, "{size} at {cpus} CPUs");
                assert_eq!(made.stride, *size);
            }
        }
        let made = of(&spec, &SlabRules::LINUX_6_17, 8);
        assert_eq!(made.min_order.get(), *min_order, "{size}");
        assert_eq!(made.min_partial, *min_partial, "{size}");
        assert_eq!((made.cpu_partial, made.cpu_partial_slabs), (*objects, *slabs), "{size}");
    }
}

#[test]
fn other_sizes_at_eight_cpus() {
    // Size, order, objects, least order.
    for (size, order, objects, min_order) in [
        (208, 1, 39, 0),
        (280, 1, 29, 0),
        (328, 1, 24, 0),
        (360, 1, 22, 0),
        (456, 2, 35, 0),
        (576, 2, 28, 0),
        (640, 2, 25, 0),
        (704, 2, 23, 0),
        (832, 3, 39, 0),
        (1088, 3, 30, 0),
        (1344, 3, 24, 0),
        (1600, 3, 20, 0),
        (2112, 3, 15, 0),
        (2688, 3, 12, 0),
        (4160, 3, 7, 1),
        (6144, 3, 5, 1),
        (9000, 3, 3, 2),
        (20000, 3, 1, 3),
    ] {
        let made = of(&plain(size), &SlabRules::LINUX_6_17, 8);
        assert_eq!(
            (made.order.get(), made.objects, made.min_order.get()),
            (order, objects, min_order),
            "{size}"
        );
    }
    assert_eq!(of(&plain(2112), &SlabRules::LINUX_6_17, 8).min_objects, 1);
}

#[test]
fn the_two_order_rules_differ_where_half_a_slab_would_be_wasted() {
    let old = of(&plain(10928), &SlabRules::LINUX_5_1, 8);
    assert_eq!((old.order.get(), old.objects), (2, 1));
    let new = of(&plain(10928), &SlabRules::LINUX_6_17, 8);
    assert_eq!((new.order.get(), new.objects), (3, 2));
}

#[test]
fn cpu_partial_limits_before_they_counted_slabs() {
    for (size, objects) in [(4096, 2), (1024, 6), (256, 13), (255, 13), (248, 30), (8, 30)] {
        assert_eq!(of(&plain(size), &SlabRules::LINUX_5_1, 4).cpu_partial, objects, "{size}");
    }
    let debug = CacheSpec { flags: CacheFlags::DEBUG, ..plain(64) };
    assert_eq!(of(&debug, &SlabRules::LINUX_6_17, 4).cpu_partial, 0);
}

#[test]
fn min_partial_is_half_the_logarithm_within_limits() {
    for (size, expected) in [(8, 5), (2048, 5), (4096, 6), (1 << 14, 7), (1 << 20, 10)] {
        assert_eq!(of(&plain(size), &SlabRules::LINUX_6_17, 4).min_partial, expected, "{size}");
    }
}

#[test]
fn free_pointers_lie_in_the_middle_or_behind() {
    for (size, stride, at) in [(8, 8, 0), (12, 16, 0), (24, 24, 8), (64, 64, 32), (100, 104, 48)] {
        let made = of(&plain(size), &SlabRules::LINUX_6_17, 4);
        assert_eq!((made.stride, made.free_pointer), (stride, at), "{size}");
    }
    for flags in [CacheFlags::CTOR, CacheFlags::TYPESAFE_BY_RCU] {
        let made = of(&CacheSpec { flags, ..plain(20) }, &SlabRules::LINUX_6_17, 4);
        assert_eq!((made.stride, made.free_pointer), (32, 24));
    }
    // A red zone where there is no gap, and the pointer behind it.
    let debug = |size| CacheSpec { flags: CacheFlags::DEBUG, ..plain(size) };
    let made = of(&debug(24), &SlabRules::LINUX_6_17, 4);
    assert_eq!((made.stride, made.free_pointer), (40, 32));
    let made = of(&debug(20), &SlabRules::LINUX_6_17, 4);
    assert_eq!((made.stride, made.free_pointer), (32, 24));
    let aligned = CacheSpec { align: 64, ..plain(70) };
    assert_eq!(of(&aligned, &SlabRules::LINUX_6_17, 4).stride, 128);
}

#[test]
fn classes_of_sizes() {
    let size = |bytes| kmalloc_class(bytes).map(|class| KMALLOC_SIZES[class]);
    for bytes in 0..=8192_usize {
        let expected = match bytes {
            0..=8 => 8,
            65..=96 => 96,
            97..=128 => 128,
            129..=192 => 192,
            _ => bytes.next_power_of_two() as u32,
        };
        assert_eq!(size(bytes), Some(expected), "{bytes}");
    }
    assert_eq!(size(8193), None);
    assert_eq!(kmalloc_spec(4, CacheFlags::empty()).align, 32);
    assert_eq!(kmalloc_spec(6, CacheFlags::empty()).align, 64);
}

#[test]
fn sizes_that_no_cache_can_hold_are_refused() {
    let rules = SlabRules::LINUX_6_17;
    for refused in [plain(0), plain((4 << 20) + 1), plain(u32::MAX)] {
        assert_eq!(layout(&refused, &rules, 4), Err(SlabError::Size));
    }
    assert_eq!(layout(&CacheSpec { align: 24, ..plain(8) }, &rules, 4), Err(SlabError::Size));
    assert_eq!(of(&plain(4 << 20), &rules, 4).order.get(), 10);
    // Every size and number of CPUs gives slabs that hold at least one object and not too many.
    for rules in [SlabRules::LINUX_6_17, SlabRules::LINUX_5_1] {
        for size in (1..40_000).step_by(7).chain([100_000, 1 << 21]) {
            for (cpus, max_order) in [(1, 3), (1024, 3), (8, 0), (8, 10)] {
                let made = of(&plain(size), &SlabRules { max_order, ..rules }, cpus);
                assert!((1..=32767).contains(&made.objects), "{size}: {made:?}");
                assert!(made.min_objects <= made.objects && made.min_order <= made.order);
            }
        }
    }
}

#[test]
fn slub_min_order_and_min_objects_are_heeded() {
    let rules = SlabRules { min_order: 2, ..SlabRules::LINUX_6_17 };
    assert_eq!(of(&plain(64), &rules, 4).order.get(), 2);
    let rules = SlabRules { min_objects: 4, ..SlabRules::LINUX_6_17 };
    assert_eq!(of(&plain(512), &rules, 128).order.get(), 0);
}
