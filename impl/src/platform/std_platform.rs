//! The platform of ordinary processes: locks that spin, then yield.

use super::{BiasedLock, Platform, Relax, SpinLock};
use core::sync::atomic::AtomicU64;

/// Spins a little, then gives the processor away: the holder may have been preempted.
#[derive(Clone, Copy, Debug)]
pub struct YieldAfterSpins;

/// Turns of spinning before the first yield.
const SPINS: u32 = 100;

impl Relax for YieldAfterSpins {
    fn relax(turn: u32) {
        if turn < SPINS {
            core::hint::spin_loop();
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
    type ZoneLock<T: Send + 'static> = SpinLock<T, YieldAfterSpins>;
    type PcpLock<T: Send + 'static> = BiasedLock<T>;
}
