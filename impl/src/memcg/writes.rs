//! Writes that may wait: memory.max, memory.high, memory.reclaim (memcg-slub.md §2.7, §2.8, §2.13).

use super::{
    Memcg,
    running::{Go, ask_reclaim, killed, reclaimed},
};
use crate::{
    platform::{Ordered, Platform, Word},
    storage::Backing,
};
use mmspec_model::{
    contract::{MemcgCall, MemcgDone, MemcgReply, MemcgStep},
    vocab::{CpuId, MemcgEvent, MemcgId, PAGE_COUNTER_MAX},
};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum File {
    Max,
    High,
    Reclaim,
}

/// A write in progress.
#[derive(Clone, Debug)]
pub(super) struct Write {
    file: File,
    cpu: CpuId,
    memcg: MemcgId,
    /// The limit written, or how much to reclaim.
    pages: u64,
    nonblock: bool,
    signal: bool,
    drained: bool,
    /// Fruitless reclaims left.
    retries: u32,
    /// Reclaimed so far.
    total: u64,
    at: At,
}

#[derive(Clone, Copy, Debug)]
enum At {
    Begin,
    Look,
    Reclaimed,
    Killed,
}

impl<P: Platform, B: Backing> Memcg<P, B> {
    /// None: the group has no such file. The root has memory.reclaim alone.
    pub(super) fn begin_write(&self, cpu: CpuId, call: MemcgCall) -> Option<Write> {
        let (file, memcg, pages, nonblock) = match call {
            MemcgCall::WriteMax { memcg, pages, nonblock } => (File::Max, memcg, pages, nonblock),
            MemcgCall::WriteHigh { memcg, pages, nonblock } => (File::High, memcg, pages, nonblock),
            MemcgCall::Reclaim { memcg, pages } => (File::Reclaim, memcg, pages, false),
            _ => return None,
        };
        self.online(memcg).filter(|_| memcg != MemcgId::ROOT || file == File::Reclaim)?;
        let limit = if file == File::Reclaim { u64::MAX } else { PAGE_COUNTER_MAX };
        Some(Write {
            file,
            cpu,
            memcg,
            pages: pages.min(limit),
            nonblock,
            signal: false,
            drained: false,
            retries: self.rules.retries,
            total: 0,
            at: At::Begin,
        })
    }

    pub(super) fn write_part(&self, write: &mut Write, reply: Option<MemcgReply>) -> Go {
        match write.at {
            At::Begin => {
                if let Some(slot) = self.group(write.memcg) {
                    match write.file {
                        // Usage may be above it: no EBUSY.
                        File::Max => {
                            slot.memory.set.max.swap(write.pages);
                        }
                        File::High => slot.memory.set.high.store(write.pages),
                        File::Reclaim => {}
                    }
                }
                if write.nonblock {
                    return Go::End(MemcgDone::Ok);
                }
                write.at = At::Look;
                Go::On
            }
            At::Look if write.file == File::Reclaim => self.reclaim_more(write),
            At::Look => self.look_at_usage(write),
            At::Reclaimed => {
                let (pages, signal) = reply.map_or((0, false), reclaimed);
                write.signal |= signal;
                write.total = write.total.saturating_add(pages);
                write.at = At::Look;
                if pages == 0 {
                    // memory.max goes on to kill; the others give up after one more than the budget.
                    if write.retries == 0 {
                        let again = write.file == File::Reclaim;
                        return Go::End(if again { MemcgDone::Again } else { MemcgDone::Ok });
                    }
                    write.retries -= 1;
                }
                Go::On
            }
            At::Killed => {
                write.at = At::Look;
                if reply.is_some_and(killed) { Go::On } else { Go::End(MemcgDone::Ok) }
            }
        }
    }

    /// A round of memory.max or memory.high.
    fn look_at_usage(&self, write: &mut Write) -> Go {
        let usage = self.group(write.memcg).map_or(0, |slot| slot.memory.read());
        if usage <= write.pages || write.signal {
            return Go::End(MemcgDone::Ok);
        }
        if !write.drained {
            self.drain_all_stock(write.cpu, write.memcg);
            write.drained = true;
            return Go::On;
        }
        if write.file == File::Max && write.retries == 0 {
            self.raise(write.memcg, MemcgEvent::Oom);
            write.at = At::Killed;
            return Go::Ask(MemcgStep::Oom { memcg: write.memcg, order: 0 });
        }
        write.at = At::Reclaimed;
        ask_reclaim(write.memcg, usage - write.pages)
    }

    /// A round of memory.reclaim.
    fn reclaim_more(&self, write: &mut Write) -> Go {
        if write.total >= write.pages {
            return Go::End(MemcgDone::Ok);
        }
        if write.signal {
            return Go::End(MemcgDone::Interrupted);
        }
        write.at = At::Reclaimed;
        ask_reclaim(write.memcg, (write.pages - write.total) / 4)
    }
}
