//! Compaction: how fast it scans and moves on a large machine, what a huge page costs, and how many huge
//! pages are to be had after processes came and went.
//!
//! `just compaction [GIB]` (docs/compaction.md). Pages hold nothing, so that what is measured is the
//! allocator: scanning, isolating, the free lists, and the owner's two tables.

use mmspec_impl::{
    Owned, OwnedAllocator, StorageSize,
    compact::{CompactStorage, Compaction, Compactor},
    platform::StdPlatform,
};
use mmspec_model::{
    contract::{
        CompactMode, CompactPriority, LruPages, LruUse, Migrated, PageMover, PageUse, Request,
    },
    vocab::{
        AllocFlags, CompactRules, CpuId, Gfp, Machine, Mark, NodeId, Order, Pfn, Rules, Tunables,
        ZoneIdx, ZoneKind,
    },
};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Instant;
use std::{env, error::Error};

const CPU: CpuId = CpuId(0);
const HUGE: Order = Order::of(9);
const ISOLATED: u32 = 1 << 31;

/// A number from a seed.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

/// Which page lies in each frame, 0 for none, and where each page lies.
struct Owner {
    page_at: Vec<AtomicU32>,
    frame_of: Vec<AtomicU32>,
}

impl Owner {
    fn new(frames: u64) -> Self {
        let table = || (0..=frames).map(|_| AtomicU32::new(0)).collect();
        Self { page_at: table(), frame_of: table() }
    }

    fn at(&self, pfn: Pfn) -> u32 {
        self.page_at[pfn.0 as usize].load(Relaxed)
    }

    fn put(&self, page: u32, pfn: Pfn) {
        self.page_at[pfn.0 as usize].store(page, Relaxed);
        self.frame_of[(page & !ISOLATED) as usize].store(pfn.0 as u32, Relaxed);
    }

    /// Forget a page; where it was.
    fn remove(&self, page: u32) -> Pfn {
        let pfn = self.frame_of[page as usize].load(Relaxed);
        self.page_at[pfn as usize].store(0, Relaxed);
        Pfn(pfn.into())
    }
}

impl PageMover for Owner {
    fn page(&self, pfn: Pfn) -> PageUse {
        match self.at(pfn) {
            0 => PageUse::Fixed,
            page if page & ISOLATED != 0 => PageUse::Fixed,
            _ => PageUse::Lru(LruUse::ANON),
        }
    }

    fn isolate(&self, pfn: Pfn) -> bool {
        self.page_at[pfn.0 as usize].fetch_or(ISOLATED, Relaxed) & ISOLATED == 0
    }

    fn put_back(&self, pfn: Pfn) {
        self.page_at[pfn.0 as usize].fetch_and(!ISOLATED, Relaxed);
    }

    fn migrate(&self, from: Pfn, to: Pfn, _: CompactMode, _: u8) -> Migrated {
        let page = self.page_at[from.0 as usize].swap(0, Relaxed) & !ISOLATED;
        self.put(page, to);
        Migrated::Done
    }

    fn lru_pages(&self, _: NodeId) -> LruPages {
        LruPages { inactive: 1 << 20, active: 1 << 20, isolated: 0 }
    }
}

struct Bench {
    pages: OwnedAllocator,
    state: Compaction<StdPlatform, Owned>,
    owner: Owner,
    /// Page numbers that are not in use.
    unused: Vec<u32>,
}

impl Bench {
    fn new(frames: u64) -> Result<Self, Box<dyn Error>> {
        let machine = Machine::new(1, &[(ZoneKind::Normal, 0, frames)]);
        let pages =
            OwnedAllocator::new(machine.as_ref(), Rules::linux_6_12(), Tunables::default())?;
        let size = StorageSize::of(&machine.as_ref());
        let rules = CompactRules::linux_6_12();
        let state = Compaction::new(&size, CompactStorage::on_heap(&size), rules)?;
        let unused = (1..=frames as u32).rev().collect();
        Ok(Self { pages, state, owner: Owner::new(frames), unused })
    }

    fn compactor(&self) -> Compactor<'_, StdPlatform, Owned> {
        Compactor { pages: self.pages.shared(), state: &self.state, owner: &self.owner }
    }

    fn take(&mut self) -> Option<u32> {
        let request = Request::new(Order::ZERO, Gfp::HIGHUSER_MOVABLE)
            .at(Mark::Min, AllocFlags::NO_WATERMARKS);
        let pfn = self.pages.alloc_pages(CPU, request).page()?;
        let page = self.unused.pop()?;
        self.owner.put(page, pfn);
        Some(page)
    }

    fn give(&mut self, page: u32) {
        let pfn = self.owner.remove(page);
        self.pages.free_pages(CPU, pfn, Order::ZERO);
        self.unused.push(page);
    }

    /// Huge blocks that are free, in percent of what free memory could hold.
    fn huge_share(&self) -> f64 {
        let state = self.pages.zone_state(ZoneIdx(0));
        let orders = state.nr_free.iter().enumerate();
        let blocks: u64 = orders
            .filter(|(order, _)| *order >= HUGE.index())
            .map(|(order, types)| types.iter().sum::<u64>() << (order - HUGE.index()))
            .sum();
        let free = self.pages.free_frames();
        100.0 * blocks as f64 / (free / HUGE.pages()) as f64
    }
}

/// Eight processes grow interleaved to 95 % held, whole ones die until `held` % are, six times.
fn processes(frames: u64, held: u64, seed: u64) -> Result<(f64, f64), Box<dyn Error>> {
    let mut bench = Bench::new(frames)?;
    let mut random = Random(seed);
    let mut lives: Vec<Vec<u32>> = vec![Vec::new(); 8];
    let mut total = 0;
    for _ in 0..6 {
        while total < frames * 95 / 100 {
            let life = random.below(8) as usize;
            // A few pages at a time, as faults of processes that run at once.
            for _ in 0..1 + random.below(16) {
                let Some(page) = bench.take() else { break };
                lives[life].push(page);
                total += 1;
            }
        }
        while total > frames * held / 100 {
            let life = random.below(8) as usize;
            total -= lives[life].len() as u64;
            for page in std::mem::take(&mut lives[life]) {
                bench.give(page);
            }
        }
    }
    bench.pages.drain_all(CPU, None);
    let before = bench.huge_share();
    bench.compactor().compact_all(CPU);
    bench.pages.drain_all(CPU, None);
    Ok((before, bench.huge_share()))
}

/// Two of three pages held at random, everywhere.
fn fragmented(frames: u64) -> Result<Bench, Box<dyn Error>> {
    let mut bench = Bench::new(frames)?;
    let mut random = Random(7);
    let mut gone = Vec::new();
    while let Some(page) = bench.take() {
        if random.below(3) == 0 {
            gone.push(page);
        }
    }
    gone.into_iter().for_each(|page| bench.give(page));
    bench.pages.drain_all(CPU, None);
    Ok(bench)
}

fn main() -> Result<(), Box<dyn Error>> {
    let gib: u64 = match env::args().nth(1) {
        Some(gib) => gib.parse()?,
        None => 64,
    };
    let frames = gib << 18;
    let bench = fragmented(frames)?;
    println!("{gib} GiB, two of three pages held at random");
    let request = Request::new(HUGE, Gfp::HIGHUSER_MOVABLE);
    let (mut got, mut times) = (0, Vec::new());
    for _ in 0..200 {
        let started = Instant::now();
        let done = bench.compactor().direct(CPU, &request, CompactPriority::SyncLight);
        let page = done.page.or_else(|| bench.pages.alloc_pages(CPU, request).page());
        let took = started.elapsed().as_secs_f64() * 1e6;
        if let Some(pfn) = page {
            bench.compactor().proven(pfn, HUGE);
            got += 1;
            times.push(took);
        }
    }
    times.sort_by(f64::total_cmp);
    let (median, worst) = (times[times.len() / 2], times[times.len() - 1]);
    println!("  direct, order 9: {got} of 200, {median:.0} µs each (worst {worst:.0})");
    let before = bench.state.counters();
    let started = Instant::now();
    bench.compactor().compact_all(CPU);
    let seconds = started.elapsed().as_secs_f64();
    let after = bench.state.counters();
    let scanned =
        after.migrate_scanned + after.free_scanned - before.migrate_scanned - before.free_scanned;
    let moved = after.pgmigrate_success - before.pgmigrate_success;
    println!(
        "  whole zone: {:.1} million frames scanned a second, {:.1} million pages moved a second ({seconds:.1} s)",
        scanned as f64 / seconds / 1e6,
        moved as f64 / seconds / 1e6
    );
    drop(bench);
    println!("1 GiB, eight processes that come and go: huge blocks to be had, % of free memory");
    for held in [50, 80] {
        for seed in [1, 2, 3] {
            let (before, after) = processes(1 << 18, held, seed)?;
            println!(
                "  {held} % held, seed {seed}: {before:5.1} before, {after:5.1} after compaction"
            );
        }
    }
    Ok(())
}
