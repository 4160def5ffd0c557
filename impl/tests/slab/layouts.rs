//! The layout of any cache against the specification's, which is written apart.

use mmspec_impl::slab::layout;
use mmspec_model::reference::slab as specified;
use mmspec_model::vocab::{CacheFlags, CacheSpec, CpuPartialLimit, SlabOrderRule, SlabRules};

fn compare(spec: CacheSpec, rules: &SlabRules, cpus: u16) {
    let here = layout(&spec, rules, cpus.into()).ok();
    assert_eq!(here, specified::layout(&spec, rules, cpus), "{spec:?}, {rules:?}, {cpus} CPUs");
}

#[test]
fn every_size_lies_as_specified() {
    let flags = [
        CacheFlags::empty(),
        CacheFlags::CTOR,
        CacheFlags::TYPESAFE_BY_RCU,
        CacheFlags::DEBUG,
        CacheFlags::DEBUG | CacheFlags::CTOR,
    ];
    for order in [SlabOrderRule::Counting, SlabOrderRule::Fractions] {
        for cpu_partial in [CpuPartialLimit::Objects, CpuPartialLimit::Slabs] {
            let rules = SlabRules { order, cpu_partial, ..SlabRules::LINUX_6_17 };
            for object_size in (0..600).chain((600..40_000).step_by(61)) {
                let flags = flags[object_size as usize % flags.len()];
                let align = 1 << (object_size % 7);
                let spec = CacheSpec { name: "t", object_size, align, flags };
                for cpus in [1, 2, 3, 4, 8, 17, 64, 300] {
                    compare(spec, &rules, cpus);
                }
            }
        }
    }
}

#[test]
fn what_is_set_by_hand_counts() {
    for order in [SlabOrderRule::Counting, SlabOrderRule::Fractions] {
        for (min_order, max_order) in [(0, 0), (0, 1), (1, 3), (2, 5), (3, 10)] {
            for min_objects in [0, 1, 2, 7, 100] {
                let rules =
                    SlabRules { order, min_order, max_order, min_objects, ..SlabRules::LINUX_6_17 };
                let sizes = [1, 8, 9, 96, 192, 208, 512, 2112, 4096, 4160, 9000, 10928, 20000];
                for object_size in sizes.into_iter().chain([65_536, 1 << 20, 4 << 20, 5 << 20]) {
                    let flags = CacheFlags::empty();
                    let spec = CacheSpec { name: "t", object_size, align: 8, flags };
                    compare(spec, &rules, 8);
                }
            }
        }
    }
}

/// Slabs so large that their small objects cannot be counted.
#[test]
fn slabs_hold_no_more_objects_than_can_be_counted() {
    for order in [SlabOrderRule::Fractions, SlabOrderRule::Counting] {
        for min_order in 5..=10 {
            for max_order in [min_order, 10] {
                let rules = SlabRules { order, min_order, max_order, ..SlabRules::LINUX_6_17 };
                for object_size in [1, 8, 16, 24, 32, 40, 64, 120, 128, 136] {
                    let flags = CacheFlags::empty();
                    compare(CacheSpec { name: "t", object_size, align: 8, flags }, &rules, 8);
                }
            }
        }
    }
}
