//! The loads of two threads on one allocator, a CPU each.

use crate::{
    clock::{lock_pair, thread_time},
    frames::{Build, Frames, Shared},
    work::{Burst, Mix, Orders, TooSlow, Work},
};
use std::{
    sync::{
        Arc, Barrier,
        atomic::{
            AtomicU64,
            Ordering::{Acquire, Relaxed, Release},
        },
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};

/// A handle for one thread.
struct Handle<S>(Arc<S>);

impl<S: Shared> Frames for Handle<S> {
    #[inline]
    fn alloc(&mut self, cpu: u16, order: u8) -> Option<u64> {
        self.0.alloc(cpu, order)
    }

    #[inline]
    fn free(&mut self, cpu: u16, frame: u64, order: u8) {
        self.0.free(cpu, frame, order);
    }
}

/// What one thread found.
#[derive(Clone, Copy, Debug)]
struct Found {
    /// Wall time a unit.
    wall: f64,
    /// The part of the wall time that the thread had a processor.
    share: f64,
}

/// A thread that runs one load when told.
struct Worker {
    go: mpsc::Sender<Duration>,
    found: mpsc::Receiver<Found>,
}

/// Two threads with a load each. They live as long as the measurement, as the CPUs of a machine do.
pub struct Pair([Worker; 2]);

impl Pair {
    /// Build the loads on the threads that will run them.
    fn new<W: Work + 'static>(
        build: impl Fn(u16) -> Result<W, TooSlow> + Send + Sync + 'static,
    ) -> Option<Self> {
        let build = Arc::new(build);
        let start = Arc::new(Barrier::new(2));
        let worker = |cpu: u16| {
            let (go, orders) = mpsc::channel::<Duration>();
            let (results, found) = mpsc::channel();
            let (ready, built) = mpsc::channel();
            let (build, start) = (Arc::clone(&build), Arc::clone(&start));
            thread::spawn(move || {
                let work = build(cpu);
                let _ = ready.send(work.is_ok());
                let Ok(mut work) = work else { return };
                for slice in orders {
                    start.wait();
                    run(&mut work, slice / 4);
                    start.wait();
                    if results.send(run(&mut work, slice)).is_err() {
                        return;
                    }
                }
            });
            // One after the other: the second finds what the first left.
            built.recv().unwrap_or(false).then_some(Worker { go, found })
        };
        let first = worker(0)?;
        Some(Self([first, worker(1)?]))
    }

    /// Nanoseconds a unit and thread: the slower thread's, in a slice in which both really ran.
    pub fn run_for(&self, slice: Duration) -> f64 {
        const TRIES: usize = 12;
        let mut best = Found { wall: f64::NAN, share: 0.0 };
        for _ in 0..TRIES {
            for worker in &self.0 {
                let _ = worker.go.send(slice);
            }
            let found = self.0.each_ref().map(|worker| worker.found.recv().ok());
            let [Some(first), Some(second)] = found else { return f64::NAN };
            let share = first.share.min(second.share);
            if share > best.share {
                best = Found { wall: first.wall.max(second.wall), share };
            }
            if share > 0.95 {
                break;
            }
        }
        best.wall
    }
}

fn run(work: &mut dyn Work, slice: Duration) -> Found {
    let (start, own, mut units) = (Instant::now(), thread_time(), 0_u64);
    loop {
        units += u64::from(work.some());
        let wall = start.elapsed();
        if wall >= slice {
            let share = (thread_time() - own).as_secs_f64() / wall.as_secs_f64();
            return Found { wall: wall.as_nanos() as f64 / units as f64, share };
        }
    }
}

struct OwnLock;

impl Work for OwnLock {
    fn some(&mut self) -> u32 {
        lock_pair();
        110_000
    }
}

/// A lock each: what the machine itself loses with both processors busy.
pub fn own_locks() -> Option<Pair> {
    Pair::new(|_| Ok(OwnLock))
}

struct Hot<F> {
    frames: F,
    cpu: u16,
}

impl<F: Frames> Work for Hot<F> {
    fn some(&mut self) -> u32 {
        const PAIRS: u32 = 512;
        for _ in 0..PAIRS {
            if let Some(frame) = self.frames.alloc(self.cpu, 0) {
                self.frames.free(self.cpu, std::hint::black_box(frame), 0);
            }
        }
        PAIRS
    }
}

pub fn hot<S: Build + Shared + 'static>(size: u64) -> Option<Pair> {
    let shared = Arc::new(S::build(size)?);
    Pair::new(move |cpu| Ok(Hot { frames: Handle(Arc::clone(&shared)), cpu }))
}

pub fn burst<S: Build + Shared + 'static>(size: u64) -> Option<Pair> {
    let shared = Arc::new(S::build(size)?);
    Pair::new(move |cpu| Ok(Burst::new(Handle(Arc::clone(&shared)), cpu)))
}

/// Each thread holds half of the level.
pub fn mix<S: Build + Shared + 'static>(size: u64, orders: Orders, percent: u64) -> Option<Pair> {
    let shared = Arc::new(S::build(size)?);
    Pair::new(move |cpu| Mix::new(Handle(Arc::clone(&shared)), cpu, orders, size * percent / 200))
}

/// Slots through which frames go from one thread to the other, [`HANDFUL`] at once, so that the
/// ring costs little beside the frames.
struct Ring {
    slots: [AtomicU64; 1024],
    /// Frames put in and frames taken out so far.
    given: Line,
    taken: Line,
}

/// A counter on a cache line of its own.
#[repr(align(128))]
struct Line(AtomicU64);

/// Frames handed over at once.
const HANDFUL: u64 = 64;

struct Cross<F> {
    frames: F,
    cpu: u16,
    ring: Arc<Ring>,
    /// Frames that this thread has put in, or taken out.
    done: u64,
}

impl<F: Frames> Cross<F> {
    fn slot(&self, at: u64) -> &AtomicU64 {
        &self.ring.slots[at as usize % self.ring.slots.len()]
    }

    /// Wait for the other thread; false if that takes too long: it has stopped.
    fn wait(&self, may_go: impl Fn() -> bool) -> bool {
        const PATIENCE: u32 = 20_000;
        (0..PATIENCE).any(|_| {
            let may_go = may_go();
            if !may_go {
                std::hint::spin_loop();
            }
            may_go
        })
    }

    fn give(&mut self) -> u32 {
        let full = self.done + HANDFUL - self.ring.slots.len() as u64;
        if !self.wait(|| self.ring.taken.0.load(Acquire) >= full) {
            return 0;
        }
        for at in self.done..self.done + HANDFUL {
            let frame = self.frames.alloc(0, 0).unwrap_or(u64::MAX);
            self.slot(at).store(frame, Relaxed);
        }
        self.done += HANDFUL;
        self.ring.given.0.store(self.done, Release);
        HANDFUL as u32
    }

    fn take(&mut self) -> u32 {
        let wanted = self.done + HANDFUL;
        if !self.wait(|| self.ring.given.0.load(Acquire) >= wanted) {
            return 0;
        }
        for at in self.done..wanted {
            let frame = self.slot(at).load(Relaxed);
            if frame != u64::MAX {
                self.frames.free(1, frame, 0);
            }
        }
        self.done = wanted;
        self.ring.taken.0.store(wanted, Release);
        HANDFUL as u32
    }
}

impl<F: Frames> Work for Cross<F> {
    fn some(&mut self) -> u32 {
        let give = self.cpu == 0;
        (0..4).map(|_| if give { self.give() } else { self.take() }).sum()
    }
}

/// Thread 0 allocates, thread 1 frees.
pub fn cross<S: Build + Shared + 'static>(size: u64) -> Option<Pair> {
    let shared = Arc::new(S::build(size)?);
    let counter = || Line(AtomicU64::new(1024));
    let ring = Arc::new(Ring {
        slots: std::array::from_fn(|_| AtomicU64::new(0)),
        given: counter(),
        taken: counter(),
    });
    Pair::new(move |cpu| {
        let (frames, ring) = (Handle(Arc::clone(&shared)), Arc::clone(&ring));
        Ok(Cross { frames, cpu, ring, done: 1024 })
    })
}
