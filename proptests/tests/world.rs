//! The world of processes: contents and owners survive whatever is done to pages.

use mmspec_impl::{platform::SpinPlatform, reclaim::GoesOn};
use mmspec_model::{
    contract::{CompactEvent, CompactMode, Migrated, PageMover, PageUse, Request},
    vocab::{
        AllocFlags, CompactRules, CpuId, Gfp, Machine, Mark, NodeId, Order, Pfn, Rules, ThpDefrag,
        ThpEnabled, Tunables, ZoneKind,
    },
};
use mmspec_proptests::{
    generate::Rng,
    world::{
        Backing, Config, Costs, Fault, Faulted, Home, KswapdTurn, Memory, Meter, Obstacle,
        Obstacles, Process, World,
    },
};

const CPU: CpuId = CpuId(0);
const NODE: NodeId = NodeId(0);
const ANON: Backing = Backing::Anon { advised: false };
const ADVISED: Backing = Backing::Anon { advised: true };

/// 32 MiB that begin in the middle of a block of the largest order.
fn config(seed: u64) -> Config {
    Config {
        machine: Machine::new(2, &[(ZoneKind::Normal, 0x200, 0x2200)]),
        rules: Rules::linux_6_1(),
        tunables: Tunables::default(),
        compact: CompactRules::linux_6_12(),
        goes_on: GoesOn::default(),
        enabled: ThpEnabled::Always,
        defrag: ThpDefrag::Madvise,
        swap: false,
        obstacles: Obstacles::default(),
        costs: Costs::default(),
        seed,
    }
}

fn memory(config: Config) -> Memory<SpinPlatform> {
    Memory::new(config).expect("the machine boots")
}

fn home(process: Process, page: u32) -> Home {
    Home { process, page }
}

/// kswapd's turns until it rests.
fn settle(world: &mut World<'_, SpinPlatform>) {
    while world.kswapd(CPU, NODE) == KswapdTurn::Shrunk {}
}

/// Do anything; what was counted in the end.
fn live(config: Config, steps: usize) -> (Meter, u64) {
    let seed = config.seed;
    let memory = memory(config);
    let mut world = World::new(&memory);
    let mut rng = Rng::new(seed);
    let mut all: Vec<(Process, std::ops::Range<u32>)> = Vec::new();
    for step in 0..steps {
        let cpu = CpuId(rng.below(2) as u16);
        memory.begin_step(cpu, None);
        match rng.below(100) {
            0..10 if all.len() < 12 => {
                let process = world.spawn();
                let pages = rng.between(1, 2048) as u32;
                let backing = *rng.pick(&[ANON, ADVISED, Backing::File]);
                all.push((process, world.map(process, pages, backing)));
            }
            10..14 if !all.is_empty() => {
                let at = rng.below(all.len() as u64) as usize;
                world.exit(cpu, all.swap_remove(at).0);
            }
            14..24 if !all.is_empty() => {
                let (process, range) = rng.pick(&all).clone();
                let from = range.start + rng.below(u64::from(range.end - range.start)) as u32;
                let to = range.end.min(from + rng.between(1, 600) as u32);
                world.unmap(cpu, process, from..to);
            }
            24..32 => {
                world.kswapd(cpu, NODE);
                world.kcompactd(cpu, NODE);
            }
            32 => memory.compactor().compact_all(cpu),
            _ if !all.is_empty() => {
                let (process, range) = rng.pick(&all).clone();
                let from = range.start + rng.below(u64::from(range.end - range.start)) as u32;
                for page in from..range.end.min(from + 64) {
                    let faulted = world.touch(cpu, process, page);
                    let mapped = !matches!(faulted, Faulted::NoMemory | Faulted::BadAddress);
                    if mapped && rng.percent(50) {
                        world.write(home(process, page));
                    }
                }
            }
            _ => {}
        }
        if step % 64 == 0 {
            memory.check().unwrap_or_else(|found| panic!("seed {seed}, step {step}: {found}"));
        }
    }
    for (process, _) in all {
        world.exit(CPU, process);
    }
    memory.check().expect("nothing is left");
    assert_eq!(memory.pages().free_frames(), memory.pages().managed_frames(), "seed {seed}");
    (memory.meter(), memory.thp().fault_alloc)
}

#[test]
fn contents_and_owners_survive() {
    for seed in 0..12 {
        let obstacles =
            Obstacles { pinned: 5, no_handler: 10, locked: 20, writeback: 20, ticks: 9 };
        let config = Config { swap: seed % 2 == 1, obstacles, ..config(seed) };
        let first = live(config.clone(), 600);
        assert_eq!(first, live(config, 600), "one seed, one life");
        assert!(first.0.faults > 1000 && first.1 > 0, "{first:?}");
    }
}

#[test]
fn a_fault_takes_a_huge_page_or_falls_back() {
    let memory = memory(config(1));
    let mut world = World::new(&memory);
    let process = world.spawn();
    let range = world.map(process, 1500, ANON);
    assert_eq!(world.touch(CPU, process, range.start + 700), Faulted::Huge);
    assert!(memory.is_huge(home(process, range.start + 512)));
    assert_eq!(world.touch(CPU, process, range.start + 1023), Faulted::Mapped);
    // The last huge page would reach beyond the mapping: no counter.
    assert_eq!(world.touch(CPU, process, range.start + 1200), Faulted::Base);
    assert_eq!(world.touch(CPU, process, range.end), Faulted::BadAddress);
    assert_eq!((memory.thp().fault_alloc, memory.thp().fault_fallback), (1, 0));
    // Take every large block, and give single pages of four of them back.
    let request = Request::new(Order::of(9), Gfp::KERNEL).at(Mark::Min, AllocFlags::NO_WATERMARKS);
    let mut taken = Vec::new();
    while let Some(pfn) = memory.pages().alloc_pages(CPU, request).page() {
        taken.push((pfn, Order::of(9)));
    }
    let single: Vec<Pfn> = taken.drain(..4).map(|(pfn, _)| pfn).collect();
    for head in &single {
        assert!(memory.pages().split_allocated(CPU, *head));
        assert!(!memory.pages().split_allocated(CPU, Pfn(head.0 + 0x10_0000)));
        for at in (0..512).step_by(2) {
            memory.pages().free_pages(CPU, head.add(at), Order::ZERO);
            taken.push((head.add(at + 1), Order::ZERO));
        }
    }
    assert_eq!(world.touch(CPU, process, range.start), Faulted::Base);
    assert_eq!((memory.thp().fault_alloc, memory.thp().fault_fallback), (1, 1));
    // With a table there, no other fault in the region tries.
    assert_eq!(world.touch(CPU, process, range.start + 1), Faulted::Base);
    assert_eq!(memory.thp().fault_fallback, 1);
    memory.check().expect("sound");
    world.exit(CPU, process);
    memory.pages().free_batch(CPU, &taken);
    assert_eq!(memory.pages().free_frames(), memory.pages().managed_frames());
}

#[test]
fn what_is_unmapped_of_a_huge_page_is_free_after_the_split_only() {
    let memory = memory(config(2));
    let mut world = World::new(&memory);
    let process = world.spawn();
    let huge = world.map(process, 4 * 512, ANON);
    for page in huge.clone().step_by(512) {
        assert_eq!(world.touch(CPU, process, page), Faulted::Huge);
    }
    let free = memory.pages().free_frames();
    for page in huge.clone().step_by(512) {
        world.unmap(CPU, process, page..page + 256);
    }
    assert_eq!(memory.pages().free_frames(), free);
    let thp = memory.thp();
    assert_eq!((thp.split_pmd, thp.deferred_split_page, thp.split_page), (4, 4, 0));
    memory.check().expect("sound");
    // Files fill the rest: reclaim runs, and with it the shrinker.
    let file = world.map(process, 8000, Backing::File);
    for page in file {
        assert_eq!(world.touch(CPU, process, page), Faulted::Base);
        settle(&mut world);
    }
    assert_eq!(memory.thp().split_page, 4);
    memory.check().expect("sound");
    // Whole huge pages go whole.
    let (split, other) = (memory.thp(), world.spawn());
    world.exit(CPU, process);
    let range = world.map(other, 512, ANON);
    assert_eq!(world.touch(CPU, other, range.start), Faulted::Huge);
    world.unmap(CPU, other, range);
    assert_eq!(memory.thp().split_pmd, split.split_pmd);
    assert_eq!(memory.pages().free_frames(), memory.pages().managed_frames());
}

#[test]
fn what_was_dropped_or_swapped_out_comes_back() {
    for (backing, swap) in [(Backing::File, false), (ANON, true)] {
        let config = Config { swap, enabled: ThpEnabled::Never, ..config(3) };
        let memory = memory(config);
        let mut world = World::new(&memory);
        let process = world.spawn();
        let range = world.map(process, 12_000, backing);
        for _ in 0..2 {
            for page in range.clone() {
                assert_ne!(world.touch(CPU, process, page), Faulted::NoMemory);
                settle(&mut world);
            }
            memory.check().expect("contents are as they were");
        }
        assert!(memory.meter().faults > 18_000, "{:?}", memory.meter());
        assert!(memory.meter().reclaimed > 8_000);
    }
}

/// All memory mapped by `process`, every other page of most regions unmapped again.
fn chequer(world: &mut World<'_, SpinPlatform>, process: Process) {
    let range = world.map(process, 7168, ANON);
    for page in range.clone() {
        assert_ne!(world.touch(CPU, process, page), Faulted::NoMemory);
    }
    for page in range.step_by(2) {
        world.unmap(CPU, process, page..page + 1);
    }
}

#[test]
fn compaction_makes_huge_pages_of_holes() {
    for compact in CompactRules::PRESETS.map(|(_, rules)| rules) {
        for direct in [true, false] {
            let enabled = ThpEnabled::Madvise;
            let memory = memory(Config { compact, enabled, ..config(7) });
            let mut world = World::new(&memory);
            let process = world.spawn();
            chequer(&mut world, process);
            if !direct {
                // By the daemons: the file compact_memory.
                memory.compactor().compact_all(CPU);
            }
            let range = world.map(process, 4 * 512, Backing::Anon { advised: direct });
            let compacted = memory.compaction().counters();
            let huge = range
                .step_by(512)
                .filter(|page| {
                    memory.check().expect("sound");
                    world.touch(CPU, process, *page) == Faulted::Huge
                })
                .count();
            memory.check().expect("contents came along");
            let moved = memory.compaction().counters().pgmigrate_success;
            if direct {
                assert!(huge > 0 && moved > 100, "{compact:?}: {huge} huge, {moved} moved");
            } else {
                assert!(compacted.pgmigrate_success > 1000, "{compact:?}: {compacted:?}");
            }
            let (events, thp) = (memory.pages().events(), memory.thp());
            assert_eq!(events.compact_stall, events.compact_success + events.compact_fail);
            assert_eq!(thp.fault_alloc, huge as u64);
            world.exit(CPU, process);
            assert_eq!(memory.pages().free_frames(), memory.pages().managed_frames());
        }
    }
}

#[test]
fn faults_of_several_processes_take_turns_in_compaction() {
    let memory = memory(Config { enabled: ThpEnabled::Madvise, ..config(8) });
    let mut world = World::new(&memory);
    let process = world.spawn();
    chequer(&mut world, process);
    memory.record_events();
    let mut faults: Vec<Fault> = (0..4)
        .map(|at| {
            let process = world.spawn();
            let page = world.map(process, 512, ADVISED).start;
            Fault::new(CpuId(at % 2), home(process, page))
        })
        .collect();
    let mut turns = 0;
    while !faults.is_empty() {
        faults.retain_mut(|fault| fault.step(&mut world).is_none());
        memory.check().expect("isolated pages are sound at every turn");
        turns += 1;
    }
    let begun = memory
        .record_events()
        .into_iter()
        .take_while(|event| !matches!(event, CompactEvent::End { .. }))
        .filter(|event| matches!(event, CompactEvent::Begin { .. }))
        .count();
    assert!(begun > 1 && turns > 8, "{begun} runs begun before one ended, {turns} turns");
}

/// A page of a new process, and a free frame for it to go to.
fn page_and_target(memory: &Memory<SpinPlatform>, backing: Backing) -> (Home, Pfn, Pfn) {
    let mut world = World::new(memory);
    let process = world.spawn();
    let home = home(process, world.map(process, 1, backing).start);
    assert_eq!(world.touch(CPU, process, home.page), Faulted::Base);
    let request = Request::new(Order::ZERO, Gfp::HIGHUSER_MOVABLE);
    let target = memory.pages().alloc_pages(CPU, request).page().expect("memory is free");
    (home, memory.frame_of(home).expect("mapped"), target)
}

#[test]
fn a_page_moves_with_its_content_and_its_list() {
    let memory = memory(config(4));
    let (home, from, to) = page_and_target(&memory, ANON);
    assert!(matches!(memory.page(from), PageUse::Lru(page) if page.anon && !page.pinned));
    assert_eq!(memory.page(to), PageUse::Fixed);
    assert!(memory.isolate(from) && !memory.isolate(from));
    assert_eq!((memory.page(from), memory.lru_pages(NODE).isolated), (PageUse::Fixed, 1));
    memory.check().expect("isolated is sound too");
    assert_eq!(memory.migrate(from, to, CompactMode::Async, 0), Migrated::Done);
    assert_eq!((memory.frame_of(home), memory.lru_pages(NODE).isolated), (Some(to), 0));
    assert!(matches!(memory.page(to), PageUse::Lru(_)) && memory.page(from) == PageUse::Fixed);
    memory.check().expect("the content came along");
}

#[test]
fn obstacles_stand_in_the_way_as_long_as_they_last() {
    use CompactMode::{Async, Sync, SyncLight};
    use Migrated::{Again, Busy, Done};
    let until = Obstacle { locked_until: 2, ..Obstacle::default() };
    let writing = Obstacle { writeback_until: 2, ..Obstacle::default() };
    let pinned = Obstacle { pinned: true, ..Obstacle::default() };
    for (obstacle, mode, pass, ticks, expected) in [
        (until, Async, 9, 0, Again),
        (until, SyncLight, 2, 0, Again),
        (until, SyncLight, 3, 0, Done),
        (until, Async, 0, 2, Done),
        (writing, SyncLight, 9, 0, Busy),
        (writing, Sync, 0, 0, Done),
        (writing, Async, 0, 2, Done),
        (pinned, Sync, 9, 9, Again),
    ] {
        let memory = memory(config(5));
        let (home, from, to) = page_and_target(&memory, Backing::File);
        assert!(memory.set_obstacle(home, obstacle));
        (0..ticks).for_each(|_| memory.begin_step(CPU, None));
        assert!(memory.isolate(from));
        let found = memory.migrate(from, to, mode, pass);
        assert_eq!(found, expected, "{obstacle:?} {mode:?} pass {pass} after {ticks}");
        if found != Done {
            memory.put_back(from);
        }
        memory.check().expect("sound");
    }
}

#[test]
fn a_page_may_be_freed_while_it_is_isolated() {
    let memory = memory(config(6));
    let mut world = World::new(&memory);
    for put_back in [true, false] {
        let (home, from, to) = page_and_target(&memory, ANON);
        assert!(memory.isolate(from));
        world.exit(CPU, home.process);
        assert_eq!(memory.frame_of(home), None);
        if put_back {
            // Nobody else would free it.
            memory.put_back(from);
        } else {
            assert_eq!(memory.migrate(from, to, CompactMode::Async, 0), Migrated::Freed);
            memory.pages().free_pages(CPU, from, Order::ZERO);
        }
        memory.pages().free_pages(CPU, to, Order::ZERO);
        memory.check().expect("sound");
        assert_eq!(memory.pages().free_frames(), memory.pages().managed_frames());
    }
}

/// compaction.md §1.10: what is asked of kcompactd is kept, but where no zone is worth a run it sleeps on.
#[test]
fn kcompactd_sleeps_on_where_no_run_is_worth_it() {
    let memory = memory(config(10));
    let mut world = World::new(&memory);
    let process = world.spawn();
    let range = world.map(process, 2048, ANON);
    for page in range {
        world.touch(CPU, process, page);
    }
    // Free blocks are there.
    assert!(!memory.compactor().kcompactd_wake(NODE, Order::of(9), ZoneKind::Movable));
    assert_eq!(memory.compactor().kcompactd_order(NODE), Some(Order::of(9)));
    assert!(!world.is_kcompactd_awake(NODE) && !world.kcompactd(CPU, NODE));
    assert_eq!(memory.compaction().counters().daemon_wake, 0);
}

/// compaction.md §5.2: an advised fault compacts async and sync-light, once each; in between it reclaims only
/// where compaction has no room (§4.5), which half of the memory free is.
#[test]
fn an_advised_fault_compacts_async_and_sync_light() {
    let compact = CompactRules::linux_5_0();
    let enabled = ThpEnabled::Madvise;
    let memory = memory(Config { compact, enabled, goes_on: GoesOn::UpToGap, ..config(11) });
    let mut world = World::new(&memory);
    let (process, other) = (world.spawn(), world.spawn());
    chequer(&mut world, process);
    // A large block is left for nobody.
    while memory.pages().alloc_pages(CPU, Request::new(Order::of(9), Gfp::NOWAIT)).page().is_some()
    {
    }
    // Nothing can be moved.
    for page in 0..16_384 {
        memory.set_obstacle(home(process, page), Obstacle { pinned: true, ..Obstacle::default() });
    }
    let page = world.map(other, 512, ADVISED).start;
    memory.record_events();
    let mut fault = Fault::new(CPU, home(other, page));
    let mut seen = Vec::new();
    let ended = loop {
        let looked_at = memory.meter().lru_scanned;
        let ended = fault.step(&mut world);
        if memory.meter().lru_scanned > looked_at {
            seen.push("reclaim");
        }
        seen.extend(memory.record_events().into_iter().filter_map(|event| match event {
            CompactEvent::Begin { mode: CompactMode::Async, .. } => Some("async"),
            CompactEvent::Begin { mode: CompactMode::SyncLight, .. } => Some("sync-light"),
            CompactEvent::Begin { mode: CompactMode::Sync, .. } => Some("sync"),
            _ => None,
        }));
        if let Some(ended) = ended {
            break ended;
        }
    };
    seen.dedup();
    assert_eq!((ended, &seen[..]), (Faulted::Base, &["async", "sync-light"][..]));
}
