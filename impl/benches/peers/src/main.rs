//! mmspec-impl and its peers under the same loads, in one process.
//!
//! `cargo run --release -- [rounds] [load] [allocator]`: only the loads, and the allocators, with
//! that word in their name run; `all` stands for any load.
//!
//! For each load every allocator gets an instance of its own; in every round each of them runs for
//! a slice of time, in turn, with the unit L (an uncontended spin lock pair) measured just before.
//! One thread is timed by its own clock, so other work on the machine does not count; two threads
//! by the wall clock, in slices in which both had a processor all the time.

mod clock;
mod frames;
mod report;
mod threads;
mod work;

use crate::{
    clock::lock_pair,
    frames::{
        BuddySlab, Build, Frames, InBand, Locked, Mmspec, Null, Ranges, Rcore, Shared, SharedNull,
    },
    report::{Cell, Row},
    threads::Pair,
    work::{Burst, Holes, Hot, HotHoles, Mix, Orders, TooSlow, Work, run_for},
};
use std::{
    os::unix::process::CommandExt,
    time::{Duration, Instant},
};

const MIB_64: u64 = 1 << 14;
const GIB: u64 = 1 << 18;
const GIB_64: u64 = 1 << 24;
const SLICE: Duration = Duration::from_millis(10);

/// A load made ready for one allocator; `None` if the allocator cannot do it.
type Ready = Option<Box<dyn Work>>;

/// The loads of one thread.
#[derive(Clone, Copy, Debug)]
enum Load {
    Hot,
    HotHoles,
    Burst,
    Random,
    Small,
    All(u64),
}

impl Load {
    fn ready<F: Build + Frames + 'static>(self, size: u64) -> Ready {
        fn boxed<W: Work + 'static>(work: Result<W, TooSlow>) -> Ready {
            work.ok().map(|work| Box::new(work) as Box<dyn Work>)
        }
        let frames = F::build(size)?;
        match self {
            Self::Hot => boxed(Ok(Hot(frames))),
            Self::HotHoles => boxed(Holes::new(frames, size).map(HotHoles)),
            Self::Burst => boxed(Ok(Burst::new(frames, 0))),
            Self::Random => boxed(Holes::new(frames, size)),
            Self::Small => boxed(Mix::new(frames, 0, Orders::Small, size * 60 / 100)),
            Self::All(percent) => boxed(Mix::new(frames, 0, Orders::All, size * percent / 100)),
        }
    }
}

/// The allocators of one thread.
const ALONE: [(&str, fn(Load, u64) -> Ready); 8] = [
    (report::OURS, Load::ready::<Mmspec>),
    (report::NULL, Load::ready::<Null>),
    ("buddy-slab-allocator", Load::ready::<BuddySlab>),
    ("buddy-slab-allocator + lock", Load::ready::<Locked<BuddySlab>>),
    ("buddy_system_allocator", Load::ready::<Rcore>),
    ("buddy_system_allocator + lock", Load::ready::<Locked<Rcore>>),
    ("buddy-alloc", Load::ready::<InBand>),
    ("free-list", Load::ready::<Ranges>),
];

/// One measured column of a round.
enum Case {
    One(Box<dyn Work>),
    Two(Pair),
}

impl Case {
    fn measure(&mut self) -> f64 {
        match self {
            Self::One(work) => run_for(work.as_mut(), SLICE),
            Self::Two(pair) => pair.run_for(SLICE),
        }
    }
}

/// Run the cases in turn for `rounds` rounds.
fn measure(cases: Vec<(&'static str, u64, Option<Case>)>, rounds: usize) -> Vec<Row> {
    let mut cases = cases;
    let mut rows: Vec<Row> = cases.iter().map(|(name, size, _)| Row::new(name, *size)).collect();
    for round in 0..rounds {
        for at in 0..cases.len() {
            // A different one leads in every round.
            let at = (at + round) % cases.len();
            if let (_, _, Some(case)) = &mut cases[at] {
                let unit = lock_pair();
                rows[at].add(Cell { unit, ns: case.measure() });
            }
        }
    }
    for ((_, _, case), row) in cases.iter().zip(&mut rows) {
        if let Some(Case::One(work)) = case {
            row.refused = work.refused();
        }
    }
    rows
}

fn alone(load: Load, sizes: &[u64], rounds: usize, only: &str) -> Vec<Row> {
    let of = |size: u64| {
        let wanted = ALONE.iter().filter(|(name, _)| name.contains(only));
        wanted.map(move |(name, ready)| (*name, size, ready(load, size).map(Case::One)))
    };
    measure(sizes.iter().flat_map(|size| of(*size)).collect(), rounds)
}

/// The loads of two threads.
#[derive(Clone, Copy, Debug)]
enum Both {
    Hot,
    Burst,
    Small,
    All,
    Cross,
}

impl Both {
    fn ready<S: Build + Shared + 'static>(self) -> Option<Pair> {
        match self {
            Self::Hot => threads::hot::<S>(GIB),
            Self::Burst => threads::burst::<S>(GIB),
            Self::Small => threads::mix::<S>(GIB, Orders::Small, 60),
            Self::All => threads::mix::<S>(GIB, Orders::All, 60),
            Self::Cross => threads::cross::<S>(GIB),
        }
    }
}

/// The allocators of two threads.
const TOGETHER: [(&str, fn(Both) -> Option<Pair>); 6] = [
    (report::OURS, Both::ready::<Mmspec>),
    (report::NULL, Both::ready::<SharedNull>),
    ("buddy-slab-allocator + lock", Both::ready::<Locked<BuddySlab>>),
    ("buddy_system_allocator + lock", Both::ready::<Locked<Rcore>>),
    ("buddy-alloc + lock", Both::ready::<Locked<InBand>>),
    ("free-list + lock", Both::ready::<Locked<Ranges>>),
];

fn together(load: Both, rounds: usize, only: &str) -> Vec<Row> {
    let wanted = TOGETHER.iter().filter(|(name, _)| name.contains(only));
    let mut cases: Vec<_> =
        wanted.map(|(name, ready)| (*name, GIB, ready(load).map(Case::Two))).collect();
    if matches!(load, Both::Hot) {
        cases.push(("a lock of its own for each thread", GIB, threads::own_locks().map(Case::Two)));
    }
    measure(cases, rounds)
}

/// Nanoseconds a frame to set an allocator up.
fn set_up<F: Build>(size: u64) -> Option<f64> {
    let start = clock::thread_time();
    let built = F::build(size)?;
    let spent = clock::thread_time() - start;
    drop(std::hint::black_box(built));
    Some(spent.as_nanos() as f64 / size as f64)
}

fn set_ups(rounds: usize) -> Vec<Row> {
    const PEERS: [(&str, fn(u64) -> Option<f64>); 5] = [
        (report::OURS, set_up::<Mmspec>),
        ("buddy-slab-allocator", set_up::<BuddySlab>),
        ("buddy_system_allocator", set_up::<Rcore>),
        ("buddy-alloc", set_up::<InBand>),
        ("free-list", set_up::<Ranges>),
    ];
    let mut rows: Vec<Row> = PEERS.iter().map(|(name, _)| Row::new(name, GIB)).collect();
    for _ in 0..rounds.min(10) {
        for ((_, set_up), row) in PEERS.iter().zip(&mut rows) {
            let unit = lock_pair();
            if let Some(ns) = set_up(GIB) {
                row.add(Cell { unit, ns });
            }
        }
    }
    rows
}

/// Whether the tables may lie in huge pages, as a kernel's do: on glibc a variable asks for it, and
/// the allocator of this process reads it only at its start. Then this call does not return.
fn use_huge_pages() {
    const VARIABLE: (&str, &str) = ("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1");
    if std::env::var_os(VARIABLE.0).is_some() {
        return;
    }
    if let Ok(program) = std::env::current_exe() {
        let mut again = std::process::Command::new(program);
        // Only a failure returns: then small pages must do.
        let _ = again.args(std::env::args_os().skip(1)).env(VARIABLE.0, VARIABLE.1).exec();
    }
}

fn main() {
    use_huge_pages();
    let words = || std::env::args().skip(1).filter(|word| !word.starts_with('-'));
    let rounds = words().find_map(|word| word.parse().ok()).unwrap_or(25);
    let mut names = words().filter(|word| word.parse::<usize>().is_err());
    let wanted = names.next().filter(|word| word != "all").unwrap_or_default();
    let only = names.next().unwrap_or_default();
    let start = Instant::now();
    println!("{rounds} rounds; ns: median (least to most); L: a spin lock pair just before");
    let one = [GIB].as_slice();
    let sizes = [MIB_64, GIB, GIB_64].as_slice();
    for (name, load, sizes) in [
        ("order 0, hot, all free; a pair", Load::Hot, one),
        ("order 0, hot, half held with holes; a pair", Load::HotHoles, sizes),
        ("order 0, burst of 512; a pair", Load::Burst, one),
        ("order 0, free a random one, allocate one; a pair", Load::Random, sizes),
        ("orders 0-3, 60 % held; a step", Load::Small, sizes),
        ("orders 0-9, 60 % held; a step", Load::All(60), sizes),
        ("orders 0-9, 95 % held; a step", Load::All(95), one),
    ] {
        if name.contains(&wanted) {
            report::print(name, &alone(load, sizes, rounds, &only));
        }
    }
    for (name, load) in [
        ("2 threads: order 0, hot; a pair and thread", Both::Hot),
        ("2 threads: order 0, burst of 512; a pair and thread", Both::Burst),
        ("2 threads: orders 0-3, 60 % held; a step and thread", Both::Small),
        ("2 threads: orders 0-9, 60 % held; a step and thread", Both::All),
        ("2 threads: order 0, one allocates, the other frees; a frame", Both::Cross),
    ] {
        if name.contains(&wanted) {
            report::print(name, &together(load, rounds, &only));
        }
    }
    if "set-up; a frame".contains(&wanted) {
        report::print("set-up; a frame", &set_ups(rounds));
        report::print_metadata();
    }
    println!("took {:.0} s", start.elapsed().as_secs_f64());
}
