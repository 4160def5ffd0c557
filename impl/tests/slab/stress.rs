//! Threads that allocate, free, and free what others allocated.

use mmspec_impl::{
    OwnedAllocator,
    slab::{AttemptPages, OwnedSlabs},
};
use mmspec_model::vocab::{
    CacheFlags, CacheSpec, CpuId, Gfp, Machine, ObjAddr, Rules, SlabPlace, SlabRules, Tunables,
    ZoneKind,
};
use std::{
    sync::{
        Barrier, Mutex,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    thread,
};

const STEPS: usize = 30_000;

/// `threads` threads work as CPUs by turns of `cpus`; each hands every third object to the next.
fn stress(threads: usize, cpus: u16, size: u32, flags: CacheFlags, rules: SlabRules) {
    stress_with(threads, cpus, size, flags, rules, 0);
}

fn stress_with(
    threads: usize,
    cpus: u16,
    size: u32,
    flags: CacheFlags,
    rules: SlabRules,
    deferred: u32,
) {
    let machine = Machine::new(cpus, &[(ZoneKind::Normal, 0, 1 << 13)]);
    let pages: OwnedAllocator =
        OwnedAllocator::new(machine.as_ref(), Rules::linux_6_12(), Tunables::default()).unwrap();
    let free_at_start = pages.free_frames();
    let slabs: OwnedSlabs = OwnedSlabs::new(machine.as_ref(), rules, 1).unwrap();
    let spec = CacheSpec { name: "stress", object_size: size, align: 8, flags };
    let cache = slabs.cache_create(spec).unwrap();
    slabs.set_deferred(cache, deferred);
    let inboxes: Vec<_> = (0..threads).map(|_| Mutex::new(Vec::<ObjAddr>::new())).collect();
    let start = Barrier::new(threads);
    let refused = AtomicU64::new(0);
    let left = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for (at, inbox) in inboxes.iter().enumerate() {
            let next = &inboxes[(at + 1) % threads];
            let (slabs, pages, start, refused, left) = (&slabs, &pages, &start, &refused, &left);
            scope.spawn(move || {
                let cpu = CpuId(at as u16 % cpus);
                let mut source = AttemptPages(pages.shared());
                let mut held: Vec<ObjAddr> = Vec::new();
                let mut random = 0x9E37_79B9_u64 + at as u64;
                start.wait();
                for step in 0..STEPS {
                    random =
                        random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                    let draw = (random >> 33) as usize;
                    let sent = core::mem::take(&mut *inbox.lock().unwrap());
                    for object in sent {
                        slabs.object_free(cpu, cache, object, &mut source).unwrap();
                    }
                    if held.len() < 200 && draw % 5 < 3 {
                        match slabs
                            .object_alloc(cpu, cache, Gfp::KERNEL, None, &mut source)
                            .unwrap()
                        {
                            Some(object) => held.push(object),
                            None => _ = refused.fetch_add(1, Relaxed),
                        }
                    } else if !held.is_empty() {
                        let object = held.swap_remove(draw % held.len());
                        if draw.is_multiple_of(3) {
                            next.lock().unwrap().push(object);
                        } else {
                            slabs.object_free(cpu, cache, object, &mut source).unwrap();
                        }
                    }
                    if step % 1024 == at {
                        let other = CpuId((at as u16 + 1) % cpus);
                        slabs.cache_flush_cpu(other, cache, &mut source);
                    }
                    if step % 4096 == 17 {
                        slabs.cache_shrink(cpu, cache, &mut source);
                    }
                }
                left.lock().unwrap().extend(held);
            });
        }
    });
    let mut source = AttemptPages(pages.shared());
    let mut left = left.into_inner().unwrap();
    inboxes.into_iter().for_each(|inbox| left.extend(inbox.into_inner().unwrap()));
    for object in &left {
        slabs.object_free(CpuId(0), cache, *object, &mut source).unwrap();
    }
    (0..cpus).for_each(|cpu| slabs.cache_flush_cpu(CpuId(cpu), cache, &mut source));
    let mut live = 0;
    let mut partial = 0;
    slabs.for_each_slab(cache, &mut |slab| {
        assert_eq!(slab.objects - slab.inuse, slab.free, "L13: {slab:?}");
        live += u64::from(slab.inuse - slab.cpu_free);
        partial += u64::from(slab.place == SlabPlace::NodePartial);
    });
    let node = slabs.cache_node(cache, mmspec_model::vocab::NodeId(0));
    assert_eq!(node.nr_partial, partial);
    assert_eq!((live, refused.into_inner()), (0, 0));
    slabs.cache_destroy(CpuId(0), cache, &mut source).unwrap();
    slabs.rcu_pass(CpuId(0), &mut source);
    assert_eq!(pages.free_frames(), free_at_start);
}

#[test]
fn two_threads_with_a_cpu_each() {
    stress(2, 2, 64, CacheFlags::empty(), SlabRules::LINUX_6_17);
    stress(2, 2, 1024, CacheFlags::empty(), SlabRules::LINUX_6_17);
}

#[test]
fn threads_that_share_cpus() {
    stress(4, 2, 256, CacheFlags::empty(), SlabRules::LINUX_6_17);
    stress(3, 1, 512, CacheFlags::empty(), SlabRules::LINUX_4_2);
}

#[test]
fn rcu_and_debug_caches() {
    stress(2, 2, 256, CacheFlags::TYPESAFE_BY_RCU, SlabRules::LINUX_6_17);
    stress(2, 2, 256, CacheFlags::DEBUG, SlabRules::LINUX_6_17);
    let hardened = SlabRules { hardened: true, random_freelist: true, ..SlabRules::LINUX_6_17 };
    stress(2, 2, 128, CacheFlags::empty(), hardened);
}

#[test]
fn deferred_frees() {
    stress_with(2, 2, 64, CacheFlags::empty(), SlabRules::LINUX_6_17, 100);
    stress_with(4, 2, 512, CacheFlags::empty(), SlabRules::LINUX_6_17, 1000);
}
