//! The loads of one thread.

use crate::{clock::thread_time, frames::Frames};
use std::{
    hint::black_box,
    time::{Duration, Instant},
};

/// xorshift64*: every allocator sees the same sequence.
pub struct Random(u64);

impl Random {
    pub fn new() -> Self {
        Self(0x9E37_79B9_7F4A_7C15)
    }

    pub fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let high = self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 32;
        ((high * bound as u64) >> 32) as usize
    }
}

/// A load, ready to run.
pub trait Work: Send {
    /// Do a little of it; the number of units (pairs, steps) done.
    fn some(&mut self) -> u32;
    /// Requests refused and requests made.
    fn refused(&self) -> (u64, u64) {
        (0, 0)
    }
}

/// What a load was too slow for.
#[derive(Debug)]
pub struct TooSlow;

/// Longest time to get a load ready.
const PATIENCE: Duration = Duration::from_secs(8);

/// Nanoseconds a unit, over `slice` of the thread's time, after a quarter of it to warm up.
pub fn run_for(work: &mut dyn Work, slice: Duration) -> f64 {
    let mut run = |slice: Duration| {
        let (start, mut units) = (thread_time(), 0_u64);
        loop {
            units += u64::from(work.some());
            let spent = thread_time() - start;
            if spent >= slice {
                return spent.as_nanos() as f64 / units as f64;
            }
        }
    };
    run(slice / 4);
    run(slice)
}

/// A block held: the frame, or address, shifted by four, and the order.
#[derive(Clone, Copy)]
struct Held(u64);

impl Held {
    fn new(frame: u64, order: u8) -> Self {
        Self(frame << 4 | u64::from(order))
    }

    fn frame(self) -> u64 {
        self.0 >> 4
    }

    fn order(self) -> u8 {
        (self.0 & 0xf) as u8
    }
}

/// One allocation and one free of order 0, again and again.
pub struct Hot<F>(pub F);

impl<F: Frames> Work for Hot<F> {
    fn some(&mut self) -> u32 {
        const PAIRS: u32 = 512;
        for _ in 0..PAIRS {
            if let Some(frame) = self.0.alloc(black_box(0), 0) {
                self.0.free(black_box(0), black_box(frame), 0);
            }
        }
        PAIRS
    }
}

/// 512 allocations of order 0, then 512 frees.
pub struct Burst<F> {
    frames: F,
    cpu: u16,
    held: Vec<u64>,
}

impl<F: Frames> Burst<F> {
    pub fn new(frames: F, cpu: u16) -> Self {
        Self { frames, cpu, held: Vec::with_capacity(512) }
    }
}

impl<F: Frames> Work for Burst<F> {
    fn some(&mut self) -> u32 {
        const LENGTH: u32 = 512;
        for _ in 0..LENGTH {
            self.held.extend(self.frames.alloc(self.cpu, 0));
        }
        for frame in self.held.drain(..) {
            self.frames.free(self.cpu, frame, 0);
        }
        LENGTH
    }
}

/// Half of the memory held as single frames, the free ones between them at random.
pub struct Holes<F> {
    frames: F,
    held: Vec<u64>,
    random: Random,
}

impl<F: Frames> Holes<F> {
    pub fn new(mut frames: F, size: u64) -> Result<Self, TooSlow> {
        let start = Instant::now();
        let mut held = Vec::with_capacity(size as usize * 3 / 4);
        let mut random = Random::new();
        for at in 0..size * 3 / 4 {
            held.extend(frames.alloc(0, 0));
            if at % 256 == 0 && start.elapsed() > PATIENCE {
                return Err(TooSlow);
            }
        }
        for at in 0..size / 4 {
            let frame = held.swap_remove(random.below(held.len()));
            frames.free(0, frame, 0);
            if at % 256 == 0 && start.elapsed() > PATIENCE {
                return Err(TooSlow);
            }
        }
        Ok(Self { frames, held, random })
    }
}

/// Free one of the held frames at random and allocate one.
impl<F: Frames> Work for Holes<F> {
    fn some(&mut self) -> u32 {
        const PAIRS: u32 = 64;
        for _ in 0..PAIRS {
            let at = self.random.below(self.held.len());
            self.frames.free(0, self.held[at], 0);
            if let Some(frame) = self.frames.alloc(0, 0) {
                self.held[at] = frame;
            }
        }
        PAIRS
    }
}

/// The hot pair among those holes.
pub struct HotHoles<F>(pub Holes<F>);

impl<F: Frames> Work for HotHoles<F> {
    fn some(&mut self) -> u32 {
        const PAIRS: u32 = 64;
        for _ in 0..PAIRS {
            if let Some(frame) = self.0.frames.alloc(black_box(0), 0) {
                self.0.frames.free(black_box(0), black_box(frame), 0);
            }
        }
        PAIRS
    }
}

/// Which orders a mix asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Orders {
    /// 0 to 3, order 0 in 70 of 100.
    Small,
    /// 0 to 9, all alike.
    All,
}

impl Orders {
    fn draw(self, random: &mut Random) -> u8 {
        match self {
            Self::Small => random.below(10).saturating_sub(6) as u8,
            Self::All => random.below(10) as u8,
        }
    }
}

/// Random allocations and frees around a level of use. A step is one of either.
pub struct Mix<F> {
    frames: F,
    cpu: u16,
    orders: Orders,
    level: u64,
    used: u64,
    held: Vec<Held>,
    random: Random,
    asked: u64,
    refused: u64,
}

impl<F: Frames> Mix<F> {
    /// Hold `level` frames, then take as many steps as there are blocks, so that the free ones lie
    /// between the held ones.
    pub fn new(frames: F, cpu: u16, orders: Orders, level: u64) -> Result<Self, TooSlow> {
        let start = Instant::now();
        let (held, random) = (Vec::new(), Random::new());
        let mut mix =
            Self { frames, cpu, orders, level, used: 0, held, random, asked: 0, refused: 0 };
        let mut turn = 0_u64;
        let mut too_slow = || {
            turn += 1;
            turn.is_multiple_of(256) && start.elapsed() > PATIENCE
        };
        while mix.used < level {
            mix.take();
            if too_slow() {
                return Err(TooSlow);
            }
        }
        for _ in 0..2 * mix.held.len().max(20_000) {
            mix.step();
            if too_slow() {
                return Err(TooSlow);
            }
        }
        (mix.asked, mix.refused) = (0, 0);
        Ok(mix)
    }

    fn take(&mut self) {
        let order = self.orders.draw(&mut self.random);
        self.asked += 1;
        match self.frames.alloc(self.cpu, order) {
            Some(frame) => {
                self.held.push(Held::new(frame, order));
                self.used += 1 << order;
            }
            None => {
                self.refused += 1;
                self.give_back();
            }
        }
    }

    fn give_back(&mut self) {
        if self.held.is_empty() {
            return;
        }
        let block = self.held.swap_remove(self.random.below(self.held.len()));
        self.used -= 1 << block.order();
        self.frames.free(self.cpu, block.frame(), block.order());
    }

    fn step(&mut self) {
        if self.used < self.level { self.take() } else { self.give_back() }
    }
}

impl<F: Frames> Work for Mix<F> {
    fn some(&mut self) -> u32 {
        const STEPS: u32 = 256;
        (0..STEPS).for_each(|_| self.step());
        STEPS
    }

    fn refused(&self) -> (u64, u64) {
        (self.refused, self.asked)
    }
}
