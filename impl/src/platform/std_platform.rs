//! The platform of ordinary processes: locks that spin, then yield.

use super::{BiasedLock, Platform, Relax, SpinLock, Total};
use core::{sync::atomic::AtomicU64, time::Duration};

/// Spins for longer and longer, then gives the processor away: the holder may have been preempted.
///
/// Who waits longer lets the holder go on with its next turns: the lock and what it guards stay in
/// one cache for a while, instead of moving with every turn.
#[derive(Clone, Copy, Debug)]
pub struct YieldAfterSpins;

/// Turns of spinning before the first yield, and the one from which on they all take as long.
const TURNS: u32 = 16;
const LONGEST: u32 = 8;

impl Relax for YieldAfterSpins {
    fn relax(turn: u32) {
        if turn < TURNS {
            for _ in 0..1 << turn.min(LONGEST) {
                core::hint::spin_loop();
            }
        } else {
            std::thread::yield_now();
        }
    }
}

/// The platform of ordinary processes: zone locks spin, then yield; the lock of a CPU's lists is
/// biased to the thread that works as that CPU ([`BiasedLock`]).
#[derive(Clone, Copy, Debug)]
pub struct StdPlatform;

impl Platform for StdPlatform {
    type Word = AtomicU64;
    type Ordered = Total;
    type ZoneLock<T: Send + 'static> = SpinLock<T, YieldAfterSpins>;
    type PcpLock<T: Send + 'static> = BiasedLock<T>;

    fn wait(turn: u32) {
        if turn < 4 * TURNS {
            YieldAfterSpins::relax(turn);
        } else {
            // The wait is for another thread to come to a certain point, which may take long.
            std::thread::park_timeout(NAP);
        }
    }
}

/// How long a drainer sleeps between two looks.
const NAP: Duration = Duration::from_micros(50);
