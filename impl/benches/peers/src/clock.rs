//! The unit and the clocks.

use mmspec_impl::platform::SpinLock;
use rustix::time::{ClockId, clock_gettime};
use std::{hint::black_box, time::Duration};

/// Time that the calling thread has had a processor: other load on the machine does not count.
pub fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Nanoseconds of one uncontended lock and unlock of a spin lock: the unit L.
pub fn lock_pair() -> f64 {
    const PAIRS: u32 = 100_000;
    let lock: SpinLock<u64> = SpinLock::new(0);
    let turn = || *black_box(&lock).lock() += 1;
    (0..PAIRS / 10).for_each(|_| turn());
    let start = thread_time();
    (0..PAIRS).for_each(|_| turn());
    (thread_time() - start).as_nanos() as f64 / f64::from(PAIRS)
}
