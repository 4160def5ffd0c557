//! The compact byte form: what fuzzers mutate and corpora hold.
//!
//! Decoding is total: any bytes are a valid script, and decoding takes time linear in their number.
//! Numbers are LEB128; those out of range are reduced into it, and an operand past the end reads
//! as zero. There are two forms of the header:
//!
//! * first byte below 128: the next two bytes seed the generator's machine, rules and tunables, so
//!   that random bytes meet interesting machines;
//! * first byte from 128: every field is spelled. Encoding always writes this one.

mod read;
mod write;

use super::Script;

impl Script {
    /// The bytes from which [`Script::decode`] gives this script back, if it is valid.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        write::script(self)
    }

    /// The script that `bytes` stand for. Never fails; the result is always valid.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Self {
        read::script(bytes)
    }
}

/// Operation codes: position in [`OPCODES`]. Common operations have several slots, so that random
/// bytes hit them more often; encoding uses the first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Code {
    Alloc,
    Free,
    Bulk,
    FreeBatch,
    DrainCpu,
    DrainAll,
    PcpDisable,
    PcpEnable,
    FailTrylock,
    Tick,
    Set,
    ReclaimActive,
    Isolate,
    Unisolate,
    Unreserve,
    CpuDead,
    CpuOnline,
    Check,
    DrainBegin,
    Work,
    Slow,
    Kswapd,
    Rebuild,
    Reclaimable,
    TakeOff,
}

const OPCODES: [Code; 40] = [
    Code::Alloc,
    Code::Free,
    Code::Bulk,
    Code::FreeBatch,
    Code::DrainCpu,
    Code::DrainAll,
    Code::PcpDisable,
    Code::PcpEnable,
    Code::FailTrylock,
    Code::Tick,
    Code::Set,
    Code::ReclaimActive,
    Code::Isolate,
    Code::Unisolate,
    Code::Unreserve,
    Code::CpuDead,
    Code::CpuOnline,
    Code::Check,
    Code::Alloc,
    Code::Alloc,
    Code::Alloc,
    Code::Alloc,
    Code::Alloc,
    Code::Alloc,
    Code::Free,
    Code::Free,
    Code::Free,
    Code::Free,
    Code::Free,
    Code::Alloc,
    Code::DrainBegin,
    Code::Work,
    Code::Slow,
    Code::Kswapd,
    Code::Rebuild,
    Code::Reclaimable,
    Code::Slow,
    Code::Alloc,
    Code::Free,
    Code::TakeOff,
];

/// gfp sets that fit one byte.
const GFPS: [mmspec_model::vocab::Gfp; 16] = {
    use mmspec_model::vocab::Gfp;
    [
        Gfp::KERNEL,
        Gfp::HIGHUSER_MOVABLE,
        Gfp::KERNEL.union(Gfp::RECLAIMABLE),
        Gfp::KERNEL.union(Gfp::MOVABLE),
        Gfp::ATOMIC,
        Gfp::NOWAIT,
        Gfp::DMA,
        Gfp::DMA32,
        Gfp::DMA32.union(Gfp::MOVABLE),
        Gfp::USER,
        Gfp::HIGHUSER,
        Gfp::TRANSHUGE,
        Gfp::TRANSHUGE_LIGHT,
        Gfp::KERNEL_ACCOUNT,
        Gfp::NOFS,
        Gfp::ATOMIC.union(Gfp::MOVABLE),
    ]
};

#[cfg(test)]
mod tests;
