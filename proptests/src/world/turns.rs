//! Whose turn it is: virtual CPUs that are played by several threads, of which one runs at a time.
//!
//! The CPU whose clock is behind acts next. One step of it runs through, but where it tries a lock it
//! lets those go first whose clocks are behind the moment of the try: what they hold then is known. So what
//! happens is a matter of virtual time alone, however the threads are scheduled.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// The order in which CPUs act.
#[derive(Debug)]
pub struct Turns {
    state: Mutex<State>,
    /// One for each worker.
    wakeups: Vec<Condvar>,
}

#[derive(Debug)]
struct State {
    /// Where each CPU is; `None`: it has nothing to do.
    clocks: Vec<Option<u64>>,
    /// The worker that has a step of a CPU under way.
    stepping: Vec<Option<usize>>,
    /// Workers that wait for a CPU to step.
    idle: Vec<usize>,
    /// The worker that runs; `None`: nobody takes turns.
    runs: Option<usize>,
}

impl State {
    fn earliest(&self) -> Option<usize> {
        let busy = |cpu: &usize| self.clocks[*cpu].is_some();
        (0..self.clocks.len()).filter(busy).min_by_key(|cpu| self.clocks[*cpu])
    }
}

impl Turns {
    /// Nobody takes turns yet.
    pub(super) fn new(cpus: usize) -> Self {
        let state = State {
            clocks: vec![None; cpus],
            stepping: vec![None; cpus],
            idle: Vec::new(),
            runs: None,
        };
        Self { state: Mutex::new(state), wakeups: (0..cpus).map(|_| Condvar::new()).collect() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Let `work` run on one thread for each CPU, each with a number of its own; they take turns by
    /// [`Turns::next`] until [`Turns::close`].
    pub fn play(&self, work: impl Fn(usize) + Sync) {
        /// Lets the others end if a worker panics.
        struct Closes<'a>(&'a Turns);
        impl Drop for Closes<'_> {
            fn drop(&mut self) {
                self.0.close();
            }
        }
        {
            let mut state = self.state();
            state.stepping.fill(None);
            state.idle = (1..self.wakeups.len()).rev().collect();
            state.runs = Some(0);
        }
        std::thread::scope(|scope| {
            for worker in 0..self.wakeups.len() {
                let work = &work;
                scope.spawn(move || {
                    let _closes = Closes(self);
                    if self.wait(self.state(), worker) {
                        work(worker);
                    }
                });
            }
        });
    }

    /// Wait until this worker runs; false: it is over.
    fn wait(&self, mut state: MutexGuard<'_, State>, worker: usize) -> bool {
        loop {
            match state.runs {
                None => return false,
                Some(runs) if runs == worker => return true,
                Some(_) => {
                    let wakeup = &self.wakeups[worker];
                    state = wakeup.wait(state).unwrap_or_else(PoisonError::into_inner);
                }
            }
        }
    }

    /// The CPU that `worker` is to do a step of; `None`: it is over, or no CPU has anything to do.
    pub fn next(&self, worker: usize) -> Option<usize> {
        loop {
            let mut state = self.state();
            state.runs?;
            let cpu = state.earliest()?;
            let Some(other) = state.stepping[cpu] else {
                state.stepping[cpu] = Some(worker);
                return Some(cpu);
            };
            state.idle.push(worker);
            state.runs = Some(other);
            self.wakeups[other].notify_one();
            if !self.wait(state, worker) {
                return None;
            }
        }
    }

    /// The step of a CPU is over. It is at this time now, or has nothing more to do.
    pub fn done(&self, cpu: usize, clock: Option<u64>) {
        let mut state = self.state();
        state.stepping[cpu] = None;
        state.clocks[cpu] = clock;
    }

    /// A CPU has something to do from this time on.
    pub fn wake(&self, cpu: usize, clock: u64) {
        self.state().clocks[cpu] = Some(clock);
    }

    /// It is over.
    pub fn close(&self) {
        let mut state = self.state();
        state.runs = None;
        state.clocks.fill(None);
        self.wakeups.iter().for_each(Condvar::notify_all);
    }

    /// In the midst of a step, `cpu` is at `moment`: those who are behind go first.
    pub(super) fn reach(&self, cpu: usize, moment: u64) {
        let mut state = self.state();
        let (Some(runs), Some(worker)) = (state.runs, state.stepping[cpu]) else { return };
        debug_assert_eq!(runs, worker, "who steps a CPU runs");
        state.clocks[cpu] = Some(moment);
        match state.earliest() {
            Some(first) if first != cpu => {
                // There are as many workers as CPUs, so that one is idle if that one is not under way.
                let Some(other) = state.stepping[first].or_else(|| state.idle.pop()) else {
                    return;
                };
                state.runs = Some(other);
                self.wakeups[other].notify_one();
                self.wait(state, worker);
            }
            _ => {}
        }
    }
}
