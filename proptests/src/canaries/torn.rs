//! A platform whose words change in two steps: what comes between is lost.

use crate::schedules::{Fine, FineWord};
use mmspec_impl::Platform;
use mmspec_impl::platform::{Ordered, Word};
use mmspec_model::vocab::ZoneIdx;

/// As [`Fine`], with a race in every word.
#[derive(Debug)]
pub struct Torn;

/// Read, then written.
#[derive(Debug)]
pub struct TornWord(FineWord);

impl TornWord {
    fn change(&self, change: impl FnOnce(u64) -> u64) -> u64 {
        let before = self.0.load();
        self.0.store(change(before));
        before
    }
}

impl Word for TornWord {
    fn new(value: u64) -> Self {
        Self(FineWord::new(value))
    }

    fn load(&self) -> u64 {
        self.0.load()
    }

    fn store(&self, value: u64) {
        self.0.store(value);
    }

    fn fetch_add(&self, value: u64) -> u64 {
        self.change(|before| before.wrapping_add(value))
    }

    fn fetch_or(&self, mask: u64) -> u64 {
        self.change(|before| before | mask)
    }

    fn fetch_and(&self, mask: u64) -> u64 {
        self.change(|before| before & mask)
    }

    fn compare_exchange_weak(&self, current: u64, new: u64) -> Result<u64, u64> {
        let before = self.0.load();
        if before != current {
            return Err(before);
        }
        self.0.store(new);
        Ok(before)
    }
}

impl Ordered for TornWord {}

impl Platform for Torn {
    type Word = TornWord;
    type Ordered = TornWord;
    type ZoneLock<T: Send + 'static> = <Fine as Platform>::ZoneLock<T>;
    type PcpLock<T: Send + 'static> = <Fine as Platform>::PcpLock<T>;

    fn wait(turn: u32) {
        Fine::wait(turn);
    }

    fn wake_kswapd(zone: ZoneIdx) {
        Fine::wake_kswapd(zone);
    }
}
