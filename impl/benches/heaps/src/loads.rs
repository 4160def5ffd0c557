//! The loads. Each gives nanoseconds a unit.

use crate::heaps::Heap;
use std::{
    alloc::Layout,
    sync::{Barrier, Mutex},
    thread,
    time::Duration,
};

/// Time that the calling thread has run.
fn thread_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the structure is the caller's own.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

fn timed(work: impl FnOnce()) -> f64 {
    let start = thread_time();
    work();
    (thread_time() - start).as_nanos() as f64
}

fn of(size: usize) -> Layout {
    Layout::from_size_align(size, 8).unwrap()
}

struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (((self.0 >> 32) * bound as u64) >> 32) as usize
    }
}

const PAIRS: usize = 200_000;

pub fn hot(heap: &dyn Heap, size: usize) -> f64 {
    heap.hot(of(size), PAIRS / 4);
    timed(|| heap.hot(of(size), PAIRS)) / PAIRS as f64
}

const BULK: usize = 20_000;
const TURNS: usize = 5;

pub fn bulk(heap: &dyn Heap, size: usize) -> f64 {
    let mut places = vec![0; BULK];
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    let mut spent = 0.0;
    for turn in 0..=TURNS {
        let filled = timed(|| heap.fill(of(size), &mut places));
        for at in (1..BULK).rev() {
            places.swap(at, random.below(at + 1));
        }
        let freed = timed(|| heap.free(of(size), &places));
        // The first is to warm up.
        spent += if turn == 0 { 0.0 } else { filled + freed };
    }
    spent / (BULK * TURNS) as f64
}

pub fn mixed(heap: &dyn Heap) -> f64 {
    let mut random = Random(0x1234_5678_9ABC_DEF1);
    let mut places = vec![(0, 0); 1000];
    let draws: Vec<(u32, u32)> = (0..50_000)
        .map(|_| {
            // Small ones are the most.
            let most = 8 << random.below(9);
            (random.below(1000) as u32, 1 + random.below(most) as u32)
        })
        .collect();
    heap.exchange(&mut places, &draws);
    let spent = timed(|| heap.exchange(&mut places, &draws));
    for (at, size) in places.into_iter().filter(|(at, _)| *at != 0) {
        heap.free(of(size), &[at]);
    }
    spent / draws.len() as f64
}

/// The mean of what two threads take that start together.
fn together(work: impl Fn() -> f64 + Sync) -> f64 {
    let start = Barrier::new(2);
    thread::scope(|scope| {
        let run = || {
            start.wait();
            work()
        };
        let other = scope.spawn(run);
        (run() + other.join().unwrap()) / 2.0
    })
}

pub fn two_hot(heap: &dyn Heap, size: usize) -> f64 {
    together(|| hot(heap, size))
}

pub fn two_bulk(heap: &dyn Heap, size: usize) -> f64 {
    together(|| bulk(heap, size))
}

/// One thread allocates a batch while the other frees the one before: time of both for an object.
pub fn remote(heap: &dyn Heap, size: usize) -> f64 {
    const BATCH: usize = 2_000;
    const BATCHES: usize = 40;
    let (meet, batch) = (Barrier::new(2), Mutex::new(Vec::<usize>::new()));
    let spent = thread::scope(|scope| {
        let other = scope.spawn(|| {
            let mut spent = 0.0;
            for turn in 0..BATCHES {
                meet.wait();
                let places = std::mem::take(&mut *batch.lock().unwrap());
                meet.wait();
                let freed = timed(|| heap.free(of(size), &places));
                spent += if turn < BATCHES / 4 { 0.0 } else { freed };
            }
            spent
        });
        let mut spent = 0.0;
        for turn in 0..BATCHES {
            let mut places = vec![0; BATCH];
            let filled = timed(|| heap.fill(of(size), &mut places));
            spent += if turn < BATCHES / 4 { 0.0 } else { filled };
            *batch.lock().unwrap() = places;
            meet.wait();
            meet.wait();
        }
        spent + other.join().unwrap()
    });
    spent / (BATCH * (BATCHES - BATCHES / 4)) as f64
}
