//! Which CPU a thread works as.
//!
//! A thread gets an id of its own as long as there are any, the lowest that is free, and gives it
//! back when it ends; later ones share. An id is only a matter of speed.

use super::CPUS;
use core::{
    cell::Cell,
    sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed},
};
use mmspec_model::vocab::CpuId;
use std::thread_local;

const _: () = assert!(CPUS <= 64);

/// Ids in use, a bit each.
static USED: AtomicU64 = AtomicU64::new(0);
/// Threads that came when all were in use.
static LATE: AtomicU32 = AtomicU32::new(0);

const NONE: u16 = u16::MAX;

thread_local! {
    // No destructor and a constant: reading it is one load, and nothing is allocated.
    static CPU: Cell<u16> = const { Cell::new(NONE) };
    static HOLDER: Cell<Option<Holder>> = const { Cell::new(None) };
}

/// Gives the id back when the thread ends.
struct Holder(u16);

impl Drop for Holder {
    fn drop(&mut self) {
        CPU.set(NONE);
        USED.fetch_and(!(1 << self.0), Relaxed);
    }
}

/// The calling thread's CPU, no CPU of a heap at its first calls.
#[inline(always)]
pub(super) fn known() -> CpuId {
    CpuId(CPU.get())
}

/// The calling thread's CPU.
#[inline]
pub(super) fn current() -> CpuId {
    let known = CPU.get();
    if known != NONE { CpuId(known) } else { CpuId(assign()) }
}

#[cold]
#[inline(never)]
fn assign() -> u16 {
    let mut used = USED.load(Relaxed);
    loop {
        let free = (!used).trailing_zeros() as u16;
        if free >= CPUS {
            let shared = (LATE.fetch_add(1, Relaxed) % u32::from(CPUS)) as u16;
            CPU.set(shared);
            return shared;
        }
        match USED.compare_exchange_weak(used, used | 1 << free, Relaxed, Relaxed) {
            Ok(_) => {
                // A thread that is ending has nobody left to give the id back: it does so at once,
                // and shares the id with whoever comes.
                if HOLDER.try_with(|holder| holder.set(Some(Holder(free)))).is_err() {
                    USED.fetch_and(!(1 << free), Relaxed);
                } else {
                    CPU.set(free);
                }
                return free;
            }
            Err(found) => used = found,
        }
    }
}
