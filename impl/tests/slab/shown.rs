//! slabinfo, owners, copies, the contract's trait.

use super::scene::{Pages, Scene, machine, spec};
use mmspec_impl::slab::{OwnedSlabs, SlabStorage, SlabStorageSize};
use mmspec_model::{
    contract::{SlabCaches, SlabError},
    vocab::{CacheFlags, CpuId, Gfp, NodeId, SlabRules, SlabStat},
};

#[test]
fn slabinfo_counts_what_cpus_hold_as_active() {
    let mut scene = Scene::plain();
    let objects = scene.alloc_n(0, 20);
    let info = scene.slabs.slab_info(scene.cache).unwrap();
    assert_eq!((info.active_objs, info.num_objs, info.objsize), (32, 32, 512));
    assert_eq!((info.objperslab, info.pagesperslab), (16, 2));
    assert_eq!((info.active_slabs, info.num_slabs), (2, 2));
    scene.free(1, objects[0]);
    scene.flush(1);
    let info = scene.slabs.slab_info(scene.cache).unwrap();
    assert_eq!(
        info.to_string(),
        "test                  31     32    512   16    2 : tunables    0    0    0 : slabdata      2      2      0"
    );
}

#[test]
fn many_partial_slabs_are_estimated_from_both_ends() {
    let mut scene = Scene::new(&machine(1), SlabRules::LINUX_6_17, spec(2000, CacheFlags::empty()));
    scene.pages.most = Some(1);
    let slabs = 10_002_usize;
    let objects = scene.alloc_n(0, 2 * slabs);
    for pair in objects.chunks(2) {
        scene.free(0, pair[0]);
    }
    scene.flush(0);
    assert_eq!(scene.node(0).nr_partial, slabs as u64);
    let info = scene.slabs.slab_info(scene.cache).unwrap();
    assert_eq!(info.num_objs - info.active_objs, slabs as u64);
}

#[test]
fn objects_remember_their_owners() {
    let flags = CacheFlags::ACCOUNT;
    let mut scene = Scene::new(&machine(2), SlabRules::LINUX_6_17, spec(100, flags));
    let slabs = scene.slabs.clone();
    assert!(slabs.is_accounted(scene.cache, Gfp::KERNEL));
    assert_eq!(slabs.charge_bytes(scene.cache), 112);
    let objects = scene.alloc_n(0, 40);
    for (at, object) in objects.iter().enumerate() {
        assert_eq!(scene.slabs.owner(*object), None);
        assert!(scene.slabs.set_owner(*object, at as u16 + 1));
    }
    let owners: Vec<_> = objects.iter().map(|at| scene.slabs.owner(*at).unwrap()).collect();
    assert_eq!(owners, (1..=40).collect::<Vec<_>>());
    assert_eq!(scene.slabs.take_owner(objects[3]), Some(4));
    assert_eq!(scene.slabs.owner(objects[3]), None);
    // Free forgets.
    scene.free(0, objects[39]);
    let again = scene.alloc(0);
    assert_eq!((again, scene.slabs.owner(again)), (objects[39], None));
    // Too small for the table: unaccounted.
    let small = scene.slabs.cache_create(spec(8, CacheFlags::empty())).unwrap();
    let object =
        scene.slabs.object_alloc(CpuId(0), small, Gfp::KERNEL, None, &mut scene.pages).unwrap();
    assert!(!scene.slabs.set_owner(object.unwrap(), 1));
    assert!(!scene.slabs.is_accounted(small, Gfp::KERNEL));
    assert!(scene.slabs.is_accounted(small, Gfp::KERNEL_ACCOUNT));
}

#[test]
fn a_copy_goes_its_own_way() {
    let mut scene = Scene::plain();
    let full = scene.full_slabs(0, 3);
    scene.free_all(1, &full[1]);
    let mut copy =
        Scene { slabs: scene.slabs.clone(), pages: scene.pages.clone(), cache: scene.cache };
    assert_eq!(scene.slabs(), copy.slabs());
    assert_eq!(scene.stats(), copy.stats());
    let (one, other) = (scene.alloc_n(1, 30), copy.alloc_n(1, 30));
    assert_eq!(one, other);
    copy.free_all(1, &other);
    assert_ne!(scene.slabs(), copy.slabs());
}

fn by_trait(mut slabs: impl SlabCaches) {
    let pages = &mut Pages::default();
    let cache = slabs.cache_create(spec(64, CacheFlags::empty())).unwrap();
    let cpu = CpuId(0);
    let object = slabs.object_alloc(cpu, cache, Gfp::KERNEL, None, pages).unwrap().unwrap();
    assert!(slabs.is_live(cache, object));
    assert_eq!(slabs.cache_stat(cache, SlabStat::AllocSlowpath), 1);
    assert_eq!(slabs.cache_node(cache, NodeId(0)).nr_slabs, 1);
    slabs.object_free(cpu, cache, object, pages).unwrap();
    let again = slabs.object_free(cpu, cache, object, pages);
    assert_eq!(again, Err(SlabError::DoubleFree(object)));
    slabs.cache_destroy(cpu, cache, pages).unwrap();
    assert_eq!(slabs.cache_layout(cache), None);
    assert_eq!(slabs.slab_rules(), SlabRules::LINUX_6_17);
}

#[test]
fn the_contracts_trait_is_there_for_all_handles() {
    let machine = machine(2);
    let slabs: OwnedSlabs = OwnedSlabs::new(machine.as_ref(), SlabRules::LINUX_6_17, 0).unwrap();
    by_trait(&slabs);
    by_trait(slabs.shared());
    by_trait(slabs);
}

#[test]
fn short_storage_is_refused() {
    let machine = machine(2);
    let size = SlabStorageSize::of(&machine.as_ref(), 4);
    assert_eq!((size.caches, size.cpus, size.nodes), (4, 8, 4));
    let mut storage: SlabStorage<mmspec_impl::platform::StdPlatform, mmspec_impl::Owned> =
        SlabStorage::on_heap(&machine.as_ref(), 4);
    storage.cpus = Vec::new().into();
    let memory = mmspec_impl::slab::SparseTable::of(&machine.as_ref());
    let refused = mmspec_impl::slab::SlabAllocator::new(
        machine.as_ref(),
        SlabRules::default(),
        0,
        storage,
        memory,
    );
    assert!(refused.err().unwrap().to_string().contains("cpus holds 0 records, 8 are needed"));
    // And there are only so many caches.
    let slabs: OwnedSlabs = OwnedSlabs::new(machine.as_ref(), SlabRules::default(), 0).unwrap();
    for _ in 0..64 {
        slabs.shared().cache_create(spec(64, CacheFlags::empty())).unwrap();
    }
    assert_eq!(slabs.shared().cache_create(spec(64, CacheFlags::empty())), Err(SlabError::TooMany));
}

#[test]
fn free_pointers_may_lie_at_the_start() {
    let mut scene = Scene::plain();
    scene.cache = scene.slabs.cache_create_for_speed(spec(512, CacheFlags::empty())).unwrap();
    assert_eq!(scene.slabs.cache_layout(scene.cache).unwrap().free_pointer, 0);
    let objects = scene.alloc_n(0, 40);
    scene.free_all(1, &objects);
    assert!(!scene.slabs.cache_shrink(CpuId(0), scene.cache, &mut scene.pages));
    // Outside it stays outside.
    let outside = scene.slabs.cache_create_for_speed(spec(512, CacheFlags::CTOR)).unwrap();
    assert_eq!(scene.slabs.cache_layout(outside).unwrap().free_pointer, 512);
}
