//! The tables of slab orders (memcg-slub.md §4.2, §4.3; compaction.md §7.5).

use mmspec_model::reference::slab::{kmalloc_align, kmalloc_class, layout};
use mmspec_model::vocab::{CacheFlags, CacheLayout, CacheSpec, SlabRules};

fn of(size: u32, rules: &SlabRules, cpus: u16) -> CacheLayout {
    let align = kmalloc_align(size).min(4096);
    let spec = CacheSpec { name: "test", object_size: size, align, flags: CacheFlags::empty() };
    layout(&spec, rules, cpus).unwrap()
}

const CPUS: [u16; 8] = [1, 2, 4, 8, 16, 32, 64, 128];

/// Size, then order and objects by number of CPUs.
const TABLE: [(u32, [(u8, u32); 8]); 13] = [
    (8, [(0, 512); 8]),
    (16, [(0, 256); 8]),
    (32, [(0, 128); 8]),
    (64, [(0, 64); 8]),
    (96, [(0, 42); 8]),
    (128, [(0, 32), (0, 32), (0, 32), (0, 32), (0, 32), (0, 32), (0, 32), (1, 64)]),
    (192, [(0, 21), (0, 21), (0, 21), (0, 21), (1, 42), (1, 42), (1, 42), (1, 42)]),
    (256, [(0, 16), (0, 16), (0, 16), (1, 32), (1, 32), (1, 32), (1, 32), (2, 64)]),
    (512, [(0, 8), (1, 16), (1, 16), (2, 32), (2, 32), (2, 32), (2, 32), (3, 64)]),
    (1024, [(1, 8), (2, 16), (2, 16), (3, 32), (3, 32), (3, 32), (3, 32), (3, 32)]),
    (2048, [(2, 8), (3, 16), (3, 16), (3, 16), (3, 16), (3, 16), (3, 16), (3, 16)]),
    (4096, [(3, 8); 8]),
    (8192, [(3, 4); 8]),
];

#[test]
fn orders_of_kmalloc_caches_by_number_of_cpus() {
    for rules in [SlabRules::LINUX_6_17, SlabRules::LINUX_5_1] {
        for (size, row) in TABLE {
            for (cpus, (order, objects)) in CPUS.into_iter().zip(row) {
                let layout = of(size, &rules, cpus);
                let seen = (layout.order.get(), layout.objects);
                assert_eq!(seen, (order, objects), "{size} bytes, {cpus} cpus");
                assert_eq!(layout.stride, size);
            }
        }
    }
}

#[test]
fn limits_of_kmalloc_caches_at_8_cpus() {
    for (size, min_order, min_partial, objects, slabs) in [
        (8, 0, 5, 120, 1),
        (16, 0, 5, 120, 1),
        (32, 0, 5, 120, 2),
        (64, 0, 5, 120, 4),
        (96, 0, 5, 120, 6),
        (128, 0, 5, 120, 8),
        (192, 0, 5, 120, 12),
        (256, 0, 5, 52, 4),
        (512, 0, 5, 52, 4),
        (1024, 0, 5, 24, 2),
        (2048, 0, 5, 24, 3),
        (4096, 0, 6, 6, 2),
        (8192, 1, 6, 6, 3),
    ] {
        let layout = of(size, &SlabRules::LINUX_6_17, 8);
        let seen = (layout.min_order.get(), layout.min_partial, layout.cpu_partial);
        assert_eq!(seen, (min_order, min_partial, objects), "{size}");
        assert_eq!(layout.cpu_partial_slabs, slabs, "{size}");
    }
}

#[test]
fn other_sizes_at_8_cpus() {
    for (size, order, objects) in [
        (208, 1, 39),
        (280, 1, 29),
        (328, 1, 24),
        (360, 1, 22),
        (456, 2, 35),
        (576, 2, 28),
        (640, 2, 25),
        (704, 2, 23),
        (832, 3, 39),
        (1088, 3, 30),
        (1344, 3, 24),
        (1600, 3, 20),
        (2112, 3, 15),
        (2688, 3, 12),
        (4160, 3, 7),
        (6144, 3, 5),
        (9000, 3, 3),
        (20000, 3, 1),
    ] {
        let spec = CacheSpec { name: "t", object_size: size, align: 8, flags: CacheFlags::empty() };
        let layout = layout(&spec, &SlabRules::LINUX_6_17, 8).unwrap();
        assert_eq!((layout.order.get(), layout.objects), (order, objects), "{size}");
    }
    let least = |size| {
        let spec = CacheSpec { name: "t", object_size: size, align: 8, flags: CacheFlags::empty() };
        let layout = layout(&spec, &SlabRules::LINUX_6_17, 8).unwrap();
        (layout.min_order.get(), layout.min_objects)
    };
    assert_eq!([least(2112), least(4160), least(9000)], [(0, 1), (1, 1), (2, 1)]);
}

#[test]
fn old_and_new_rule_differ_at_10928() {
    let of = |rules: &SlabRules| {
        let spec =
            CacheSpec { name: "t", object_size: 10928, align: 8, flags: CacheFlags::empty() };
        let layout = layout(&spec, rules, 8).unwrap();
        (layout.order.get(), layout.objects)
    };
    assert_eq!(of(&SlabRules::LINUX_5_1), (2, 1));
    assert_eq!(of(&SlabRules::LINUX_6_17), (3, 2));
}

#[test]
fn a_cache_made_for_one_cpu_stays_small() {
    // Bug S5: at boot one CPU was online of 224 present.
    let boot = of(256, &SlabRules::LINUX_6_17, 1);
    let all = of(256, &SlabRules::LINUX_6_17, 224);
    assert_eq!((boot.order.get(), all.order.get()), (0, 2));
}

#[test]
fn classes_of_kmalloc() {
    let classes: Vec<u32> =
        [1, 8, 9, 16, 17, 33, 65, 96, 97, 128, 129, 192, 193, 256, 257, 1025, 4097, 8192]
            .into_iter()
            .map(|size| kmalloc_class(size).unwrap())
            .collect();
    assert_eq!(
        classes,
        [8, 8, 16, 16, 32, 64, 96, 96, 128, 128, 192, 192, 256, 256, 512, 2048, 8192, 8192]
    );
    assert_eq!((kmalloc_class(0), kmalloc_class(8193)), (None, None));
    assert_eq!([kmalloc_align(96), kmalloc_align(192), kmalloc_align(256)], [32, 64, 256]);
}

#[test]
fn free_pointers_lie_in_the_middle_or_behind() {
    let rules = SlabRules::LINUX_6_17;
    let with = |object_size, flags| {
        let spec = CacheSpec { name: "t", object_size, align: 8, flags };
        let layout = layout(&spec, &rules, 8).unwrap();
        (layout.stride, layout.free_pointer)
    };
    assert_eq!(with(64, CacheFlags::empty()), (64, 32));
    assert_eq!(with(24, CacheFlags::empty()), (24, 8));
    assert_eq!(with(8, CacheFlags::empty()), (8, 0));
    assert_eq!(with(60, CacheFlags::CTOR), (72, 64));
    assert_eq!(with(64, CacheFlags::TYPESAFE_BY_RCU), (72, 64));
}

#[test]
fn impossible_caches_have_no_layout() {
    let spec = |object_size, align| CacheSpec {
        name: "t",
        object_size,
        align,
        flags: CacheFlags::empty(),
    };
    let rules = SlabRules::LINUX_6_17;
    assert_eq!(layout(&spec(0, 8), &rules, 1), None);
    assert_eq!(layout(&spec(8, 3), &rules, 1), None);
    assert_eq!(layout(&spec(8 << 20, 8), &rules, 1), None);
}
