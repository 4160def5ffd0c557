//! Threads on CPUs, kswapd and kcompactd beside them, in virtual time.

use super::machine::{NODE, Samples};
use super::model::{MS, Model};
use super::threads::{Sample, Thread, Went};
use mmspec_impl::platform::SpinPlatform;
use mmspec_model::vocab::CpuId;
use mmspec_proptests::generate::Rng;
use mmspec_proptests::world::{KswapdTurn, Memory, World};
use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// Who runs on a CPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Task {
    Thread(usize),
    Kswapd,
    Kcompactd,
}

/// One CPU.
#[derive(Debug, Default)]
struct Cpu {
    /// The first one runs.
    queue: VecDeque<Task>,
    /// What is left of its slice.
    left: u64,
}

/// What kswapd is at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kswapd {
    Asleep,
    Queued,
    /// Until then.
    Naps(u64),
}

/// One number of threads, from begin to end. The CPU whose clock is behind does the next step; in the midst
/// of a step it lets others go first where it tries a lock.
pub(super) struct Schedule<'m> {
    memory: &'m Memory<SpinPlatform>,
    slice: u64,
    board: Mutex<Board>,
}

struct Board {
    /// One that is in the midst of a step is not here.
    threads: Vec<Option<Thread>>,
    cpus: Vec<Cpu>,
    kswapd: Kswapd,
    kcompactd: bool,
    ended: usize,
    samples: Samples,
}

impl<'m> Schedule<'m> {
    pub(super) fn new(
        model: &Model,
        world: &World<'m, SpinPlatform>,
        threads: Vec<Thread>,
        rng: &mut Rng,
    ) -> Self {
        let mut cpus: Vec<Cpu> =
            (0..model.cpus).map(|_| Cpu { left: model.slice, ..Cpu::default() }).collect();
        for (at, thread) in threads.iter().enumerate() {
            cpus[thread.cpu().index()].queue.push_back(Task::Thread(at));
        }
        let memory = world.memory();
        let schedule = Self {
            memory,
            slice: model.slice,
            board: Mutex::new(Board {
                threads: threads.into_iter().map(Some).collect(),
                cpus,
                kswapd: Kswapd::Asleep,
                kcompactd: false,
                ended: 0,
                samples: Samples::default(),
            }),
        };
        // Threads are created one after the other, within a slice.
        schedule.start(|| rng.below(model.slice));
        schedule
    }

    fn board(&self) -> MutexGuard<'_, Board> {
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All CPUs with something to do go on, so long after the last of them came here.
    fn start(&self, mut after: impl FnMut() -> u64) {
        let board = self.board();
        let cpus = || (0..board.cpus.len()).map(|cpu| CpuId(cpu as u16));
        let last = cpus().map(|cpu| self.memory.now(cpu)).max().unwrap_or(0);
        for cpu in cpus() {
            let from = last + after();
            self.memory.idle_until(cpu, from);
            if !board.cpus[cpu.index()].queue.is_empty() {
                self.memory.turns().wake(cpu.index(), from);
            }
        }
    }

    pub(super) fn run(self, world: &mut World<'m, SpinPlatform>, samples: &mut Samples) {
        let turns = self.memory.turns();
        let hands = world.clone();
        let hands = Mutex::new(hands);
        turns.play(|worker| {
            let mut world = hands.lock().unwrap_or_else(PoisonError::into_inner).clone();
            while let Some(cpu) = turns.next(worker) {
                self.step(&mut world, cpu);
                let clock = self.memory.now(CpuId(cpu as u16));
                let busy = !self.board().cpus[cpu].queue.is_empty();
                turns.done(cpu, busy.then_some(clock));
                self.go_on();
            }
            // Nobody is in the midst of a step any more.
            turns.close();
        });
        let board = self.board.into_inner().unwrap_or_else(PoisonError::into_inner);
        for thread in board.threads.iter().flatten() {
            thread.exit(world);
        }
        *samples = board.samples;
    }

    /// If nobody has anything to do, all wait for each other: the barrier opens.
    fn go_on(&self) {
        let mut board = self.board();
        let waits = board.cpus.iter().all(|cpu| cpu.queue.is_empty());
        if !waits || board.ended == board.threads.len() {
            return;
        }
        let Board { threads, cpus, .. } = &mut *board;
        for (at, thread) in threads.iter_mut().enumerate() {
            if let Some(thread) = thread
                && thread.release()
            {
                cpus[thread.cpu().index()].queue.push_back(Task::Thread(at));
            }
        }
        cpus.iter_mut().for_each(|cpu| cpu.left = self.slice);
        drop(board);
        self.start(|| 0);
    }

    /// The first task of a CPU does one step.
    fn step(&self, world: &mut World<'m, SpinPlatform>, at: usize) {
        let cpu = CpuId(at as u16);
        let started = self.memory.now(cpu);
        let (task, slice) = {
            let own = &self.board().cpus[at];
            // Only whom another waits for is to let it run.
            (own.queue[0], (own.queue.len() > 1).then_some(own.left))
        };
        self.memory.begin_step(cpu, slice);
        let mut stays = true;
        let mut sampled = None;
        match task {
            Task::Thread(number) => {
                let thread = self.board().threads[number].take();
                let Some(mut thread) = thread else { unreachable!("a thread is on one queue") };
                let went = thread.step(world, started);
                let mut board = self.board();
                board.threads[number] = Some(thread);
                match went {
                    Went::On => {}
                    Went::Sampled(sample) => sampled = Some(sample),
                    Went::Waits => stays = false,
                    Went::Ended { survived } => {
                        stays = false;
                        board.ended += 1;
                        board.samples.died += u64::from(!survived);
                    }
                }
            }
            Task::Kswapd => match world.kswapd(cpu, NODE) {
                KswapdTurn::Shrunk => {}
                KswapdTurn::Nap => {
                    stays = false;
                    self.board().kswapd = Kswapd::Naps(started + 100 * MS);
                }
                KswapdTurn::Asleep => {
                    stays = false;
                    self.board().kswapd = Kswapd::Asleep;
                }
            },
            Task::Kcompactd => {
                stays = world.kcompactd_step(cpu, NODE);
                self.board().kcompactd = stays;
            }
        }
        // Whatever has no cost of its own takes a moment all the same.
        self.memory.idle_until(cpu, started + 100);
        let now = self.memory.now(cpu);
        let mut board = self.board();
        if let Some(sample) = sampled {
            board.samples.add(&sample, now);
        }
        let own = &mut board.cpus[at];
        own.left = own.left.saturating_sub(now - started);
        if !stays {
            own.queue.pop_front();
            own.left = self.slice;
        } else if own.left == 0 {
            own.queue.rotate_left(1);
            own.left = self.slice;
        }
        board.wake(world, at, now);
    }
}

impl Samples {
    fn add(&mut self, sample: &Sample, now: u64) {
        let (count, sum) = if sample.huge {
            (&mut self.huge, &mut self.huge_ns)
        } else {
            (&mut self.base, &mut self.base_ns)
        };
        (*count, *sum) = (*count + 1, *sum + now - sample.began);
    }
}

impl Board {
    /// Daemons that were woken run on the CPU that woke them.
    fn wake(&mut self, world: &World<'_, SpinPlatform>, at: usize, now: u64) {
        let wakes = match self.kswapd {
            Kswapd::Queued => false,
            Kswapd::Asleep => world.is_awake(NODE),
            Kswapd::Naps(until) => now >= until || world.cut_short(NODE),
        };
        if wakes {
            self.kswapd = Kswapd::Queued;
            self.cpus[at].queue.push_back(Task::Kswapd);
        }
        if !self.kcompactd && world.is_kcompactd_awake(NODE) {
            self.kcompactd = true;
            self.cpus[at].queue.push_back(Task::Kcompactd);
        }
    }
}
