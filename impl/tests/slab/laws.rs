//! Laws L13 to L21 of memcg-slub.md §5 after every operation of random histories.

use super::scene::{Scene, machine, spec, two_nodes};
use mmspec_impl::slab::OwnedSlabs;
use mmspec_model::vocab::{
    CacheFlags, CpuId, CpuPartialLimit, Gfp, NodeId, ObjAddr, SlabOrderRule, SlabPlace, SlabRules,
    SlabStat,
};
use std::collections::{BTreeMap, BTreeSet};

struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % bound
    }
}

/// A scene with what is known of it from outside.
struct History {
    scene: Scene,
    live: Vec<ObjAddr>,
    attempts: u64,
    /// shrink freed slabs without counting them.
    shrunk: u64,
    nodes: u8,
    /// No CPU partial list may be longer.
    longest: u32,
    /// CPUs collect what they free.
    defers: bool,
}

impl History {
    fn check(&self) {
        let scene = &self.scene;
        let slabs = scene.slabs();
        let layout = scene.slabs.cache_layout(scene.cache).unwrap();
        let mut live: BTreeMap<u64, u32> = BTreeMap::new();
        for object in &self.live {
            assert!(scene.slabs.is_live(scene.cache, *object));
            *live.entry(scene.slab_start(*object)).or_default() += 1;
        }
        let (mut seen, mut free, mut lengths) = (BTreeSet::new(), 0, BTreeMap::new());
        for slab in &slabs {
            assert_eq!(slab.objects - slab.inuse, slab.free, "L13: {slab:?}");
            let of_slab = live.remove(&slab.pfn.0).unwrap_or(0);
            let in_use = slab.inuse - slab.cpu_free;
            assert!(of_slab == in_use || self.defers && of_slab < in_use, "L14: {slab:?}");
            assert!(seen.insert(slab.pfn), "L15: {slab:?} is in two places");
            let (frozen, on_node) = match slab.place {
                SlabPlace::Cpu(_) => (true, false),
                SlabPlace::NodePartial => (false, true),
                SlabPlace::CpuPartial(_) | SlabPlace::Full => (false, false),
            };
            assert_eq!((slab.frozen, slab.on_node), (frozen, on_node), "L15: {slab:?}");
            assert_eq!(slab.place == SlabPlace::Full, slab.free == 0 && !frozen, "L15: {slab:?}");
            assert!((layout.min_objects..=layout.objects).contains(&slab.objects), "L16");
            free += slab.free + slab.cpu_free;
            if let SlabPlace::CpuPartial(cpu) = slab.place {
                *lengths.entry(cpu).or_insert(0) += 1;
            }
        }
        assert!(live.is_empty(), "objects outside all slabs: {live:?}");
        assert!(lengths.values().all(|length| *length <= self.longest), "{lengths:?}");
        let (mut total, mut nr_slabs, mut empty) = (0, 0, 0);
        for node in 0..self.nodes {
            let state = scene.node(node);
            let of_node =
                || slabs.iter().filter(|slab| slab.pfn.0 / super::scene::NODE == u64::from(node));
            let partial = || of_node().filter(|slab| slab.place == SlabPlace::NodePartial);
            assert_eq!(state.nr_partial, partial().count() as u64, "L15");
            assert_eq!(state.partial_free, partial().map(|slab| u64::from(slab.free)).sum());
            assert_eq!(state.nr_slabs, of_node().count() as u64, "L16");
            assert_eq!(state.total_objects, of_node().map(|slab| u64::from(slab.objects)).sum());
            empty = empty.max(partial().filter(|slab| slab.inuse == 0).count() as u32);
            total += state.total_objects;
            nr_slabs += state.nr_slabs;
        }
        let deferred = scene.slabs.deferred(scene.cache);
        assert_eq!(total - self.live.len() as u64, u64::from(free) + deferred, "L17");
        let out: u64 = scene.pages.out.values().map(|order| 4096 << order).sum();
        let bytes: u64 = (0..self.nodes)
            .flat_map(|node| [false, true].map(|kind| scene.slabs.slab_bytes(NodeId(node), kind)))
            .sum();
        assert_eq!(bytes, out, "L18");
        let stat = |stat| scene.stat(stat);
        assert_eq!(
            stat(SlabStat::AllocSlab) - stat(SlabStat::FreeSlab),
            nr_slabs + self.shrunk,
            "L19"
        );
        assert_eq!(
            stat(SlabStat::AllocFastpath) + stat(SlabStat::AllocSlowpath),
            self.attempts,
            "L20"
        );
        assert!(empty <= layout.min_partial, "L21: {empty} empty slabs");
    }

    fn step(&mut self, random: &mut Random, cpus: u16) {
        let cpu = random.below(usize::from(cpus)) as u16;
        if random.below(8) == 0 {
            let refuse = [random.below(2) == 0, random.below(3) == 0];
            self.scene.pages.refuse = refuse.to_vec();
        }
        // Tides: at times more is taken than given, at times the other way.
        let rising = (self.attempts / 400).is_multiple_of(2);
        match random.below(40) {
            0 => self.scene.flush(cpu),
            1 if random.below(8) == 0 => {
                let slabs = |history: &Self| -> u64 {
                    (0..history.nodes).map(|node| history.scene.node(node).nr_slabs).sum()
                };
                let freed = self.scene.stat(SlabStat::FreeSlab);
                let before = slabs(self);
                let scene = &mut self.scene;
                scene.slabs.cache_shrink(CpuId(cpu), scene.cache, &mut scene.pages);
                let counted = self.scene.stat(SlabStat::FreeSlab) - freed;
                self.shrunk += before - slabs(self) - counted;
            }
            2 | 3 => self.bulk_alloc(random, cpu),
            4 | 5 => self.bulk_free(random, cpu),
            _ if random.below(8) < if rising { 5 } else { 3 } => {
                let node = match random.below(6) {
                    0 => Some(NodeId(random.below(usize::from(self.nodes)) as u8)),
                    _ => None,
                };
                let gfp = if random.below(9) == 0 { Gfp::ATOMIC } else { Gfp::KERNEL };
                self.attempts += 1;
                self.live.extend(self.scene.try_alloc(cpu, gfp, node));
            }
            _ if !self.live.is_empty() => {
                let object = self.live.swap_remove(random.below(self.live.len()));
                self.scene.free(cpu, object);
            }
            _ => {}
        }
        self.scene.pages.refuse.clear();
        self.scene.pages.asked.clear();
    }

    fn bulk_alloc(&mut self, random: &mut Random, cpu: u16) {
        let mut slots = vec![ObjAddr(0); random.below(60)];
        let before =
            self.scene.stat(SlabStat::AllocFastpath) + self.scene.stat(SlabStat::AllocSlowpath);
        let scene = &mut self.scene;
        let (cpu, cache) = (CpuId(cpu), scene.cache);
        let pages = &mut scene.pages;
        let filled = scene.slabs.object_alloc_bulk(cpu, cache, Gfp::KERNEL, &mut slots, pages);
        let after = scene.stat(SlabStat::AllocFastpath) + scene.stat(SlabStat::AllocSlowpath);
        if filled.unwrap() {
            assert_eq!(after - before, slots.len() as u64, "L20");
            self.live.extend(slots);
        }
        self.attempts += after - before;
    }

    fn bulk_free(&mut self, random: &mut Random, cpu: u16) {
        let count = random.below(60).min(self.live.len());
        let from = random.below(self.live.len() - count + 1);
        let objects: Vec<_> = self.live.drain(from..from + count).collect();
        let scene = &mut self.scene;
        scene.slabs.object_free_bulk(CpuId(cpu), scene.cache, &objects, &mut scene.pages).unwrap();
    }
}

impl Scene {
    /// First frame of the slab that holds an object, by the blocks that are out.
    fn slab_start(&self, object: ObjAddr) -> u64 {
        *self.pages.out.range(..=object.pfn().0).next_back().unwrap().0
    }
}

fn run(rules: SlabRules, nodes: u8, size: u32, flags: CacheFlags, seed: u64) {
    run_with(rules, nodes, size, flags, seed, 0);
}

fn run_with(rules: SlabRules, nodes: u8, size: u32, flags: CacheFlags, seed: u64, deferred: u32) {
    let machine = if nodes == 1 { machine(4) } else { two_nodes(4) };
    let scene = Scene::new(&machine, rules, spec(size, flags));
    scene.slabs.set_deferred(scene.cache, deferred);
    let layout = scene.slabs.cache_layout(scene.cache).unwrap();
    let longest = match rules.cpu_partial {
        CpuPartialLimit::Slabs => layout.cpu_partial_slabs.max(1),
        // Slabs with a single free object, counted so (bug S4).
        CpuPartialLimit::Objects => layout.cpu_partial + 1,
    };
    let mut history = History {
        scene,
        live: Vec::new(),
        attempts: 0,
        shrunk: 0,
        nodes,
        longest,
        defers: deferred != 0,
    };
    let mut random = Random(seed);
    for at in 0..2500 {
        history.step(&mut random, 4);
        if at % 3 == 0 {
            history.check();
        }
    }
    let objects = core::mem::take(&mut history.live);
    objects.iter().enumerate().for_each(|(at, object)| history.scene.free(at as u16 % 4, *object));
    history.check();
    let scene = &mut history.scene;
    scene.slabs.cache_destroy(CpuId(0), scene.cache, &mut scene.pages).unwrap();
    scene.slabs.rcu_pass(CpuId(0), &mut scene.pages);
    assert!(scene.pages.out.is_empty());
}

#[test]
fn histories_on_one_node() {
    for (seed, size) in [(1, 512), (2, 64), (3, 1500), (4, 4096), (5, 20000)] {
        run(SlabRules::LINUX_6_17, 1, size, CacheFlags::empty(), 0x1234_5678_9abc << 8 | seed);
    }
}

#[test]
fn histories_on_two_nodes() {
    for (seed, size) in [(1, 512), (2, 192), (3, 2048)] {
        run(SlabRules::LINUX_6_17, 2, size, CacheFlags::empty(), 0x8765_4321_9abc << 8 | seed);
    }
}

#[test]
fn histories_under_other_rules() {
    let old = SlabRules {
        order: SlabOrderRule::Counting,
        cpu_partial: CpuPartialLimit::Objects,
        ..SlabRules::LINUX_6_17
    };
    let random = SlabRules { random_freelist: true, hardened: true, ..SlabRules::LINUX_6_17 };
    for (seed, rules) in [(1, SlabRules::LINUX_4_2), (2, old), (3, random)] {
        run(rules, 1, 512, CacheFlags::empty(), 0x1111_5678_9abc << 8 | seed);
    }
}

#[test]
fn histories_of_constructed_and_debug_caches() {
    run(SlabRules::LINUX_6_17, 1, 500, CacheFlags::CTOR, 77);
    run(SlabRules::LINUX_6_17, 2, 300, CacheFlags::DEBUG, 78);
}

#[test]
fn histories_with_deferred_frees() {
    for (seed, deferred) in [(1, 1), (2, 20), (3, 500)] {
        let rules = SlabRules { hardened: seed == 2, ..SlabRules::LINUX_6_17 };
        run_with(rules, 2, 256, CacheFlags::empty(), 0x2222_5678_9abc << 8 | seed, deferred);
    }
}

/// The quick ways, which release builds take without live maps, do what the others do.
#[test]
fn unchecked_histories_are_the_same() {
    for (seed, deferred) in [(1, 0), (2, 30)] {
        let ends = [false, true].map(|unchecked| {
            let machine = two_nodes(4);
            let mut scene =
                Scene::new(&machine, SlabRules::LINUX_6_17, spec(256, CacheFlags::empty()));
            if unchecked {
                scene.slabs =
                    OwnedSlabs::unchecked(machine.as_ref(), SlabRules::LINUX_6_17, 7).unwrap();
                scene.slabs.cache_create(spec(256, CacheFlags::empty())).unwrap();
            }
            scene.slabs.set_deferred(scene.cache, deferred);
            let (live, longest) = (Vec::new(), 100);
            let mut history = History {
                scene,
                live,
                attempts: 0,
                shrunk: 0,
                nodes: 2,
                longest,
                defers: deferred != 0,
            };
            let mut random = Random(0x7777_5678_9abc << 8 | seed);
            for at in 0..3000 {
                history.step(&mut random, 4);
                if at % 50 == 0 {
                    history.check();
                }
            }
            (history.live, history.scene.stats(), history.scene.slabs())
        });
        assert_eq!(ends[0], ends[1]);
    }
}
