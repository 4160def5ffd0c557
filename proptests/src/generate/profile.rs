//! What one run favours: drawn once per script, some weights at zero, so that runs differ in kind
//! and not only in detail.

use super::Rng;
use mmspec_model::vocab::{AllocFlags, Gfp, Machine, Mark, Order};

/// In which order blocks come back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum FreeOrder {
    Lifo,
    Fifo,
    /// First every other block, then their neighbours: nothing merges until the second half.
    BuddiesLast,
    Random,
}

/// Kinds of operations besides allocating and freeing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Aux {
    DrainCpu,
    DrainAll,
    DrainBegin,
    Work,
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
    Kswapd,
    Rebuild,
    Reclaimable,
    TakeOff,
}

pub(super) const AUX: [Aux; 20] = [
    Aux::DrainCpu,
    Aux::DrainAll,
    Aux::DrainBegin,
    Aux::Work,
    Aux::PcpDisable,
    Aux::PcpEnable,
    Aux::FailTrylock,
    Aux::Tick,
    Aux::Set,
    Aux::ReclaimActive,
    Aux::Isolate,
    Aux::Unisolate,
    Aux::Unreserve,
    Aux::CpuDead,
    Aux::CpuOnline,
    Aux::Check,
    Aux::Kswapd,
    Aux::Rebuild,
    Aux::Reclaimable,
    Aux::TakeOff,
];

const GFPS: [Gfp; 14] = [
    Gfp::KERNEL,
    Gfp::HIGHUSER_MOVABLE,
    Gfp::KERNEL.union(Gfp::RECLAIMABLE),
    Gfp::KERNEL.union(Gfp::MOVABLE),
    Gfp::ATOMIC,
    Gfp::NOWAIT,
    Gfp::DMA32,
    Gfp::DMA,
    Gfp::TRANSHUGE,
    Gfp::DMA32.union(Gfp::MOVABLE),
    Gfp::USER.union(Gfp::WRITE),
    Gfp::empty(),
    // The last two are refused.
    Gfp::MOVABLE.union(Gfp::RECLAIMABLE),
    Gfp::DMA.union(Gfp::DMA32),
];

/// Explicit attempts: the reserves without walking the slow path.
const ATTEMPTS: [(Mark, AllocFlags); 16] = [
    (Mark::Min, AllocFlags::NO_WATERMARKS),
    (Mark::Min, AllocFlags::empty()),
    (Mark::Min, AllocFlags::MIN_RESERVE),
    (Mark::Min, AllocFlags::MIN_RESERVE.union(AllocFlags::NON_BLOCK)),
    (Mark::Min, AllocFlags::MIN_RESERVE.union(AllocFlags::NON_BLOCK).union(AllocFlags::HIGHATOMIC)),
    (Mark::Min, AllocFlags::NON_BLOCK),
    (Mark::Min, AllocFlags::OOM),
    (Mark::Min, AllocFlags::HIGHATOMIC),
    (Mark::Min, AllocFlags::NO_WATERMARKS.union(AllocFlags::HIGHATOMIC)),
    (Mark::Low, AllocFlags::NOFRAGMENT),
    (Mark::Min, AllocFlags::NO_WATERMARKS.union(AllocFlags::NON_BLOCK)),
    (Mark::Min, AllocFlags::NO_WATERMARKS.union(AllocFlags::OOM)),
    (Mark::Min, AllocFlags::NO_WATERMARKS.union(AllocFlags::NOFRAGMENT)),
    (Mark::High, AllocFlags::CPUSET),
    (Mark::Promo, AllocFlags::KSWAPD),
    (Mark::Low, AllocFlags::CMA),
];

pub(super) struct Profile {
    pub(super) free_order: FreeOrder,
    /// How often an operation is one of [`AUX`], in a hundred.
    pub(super) aux_percent: u64,
    pub(super) aux: [u32; AUX.len()],
    /// How often an allocation is a bulk one and a free a batch, in a hundred.
    pub(super) bulk_percent: u64,
    /// How often a free happens on another CPU than the allocation, in a hundred.
    pub(super) remote_percent: u64,
    /// How often a request names its mark and flags, in a hundred.
    attempt_percent: u64,
    attempts: [u32; ATTEMPTS.len()],
    gfps: [u32; GFPS.len()],
    orders: [u32; Order::MAX.index() + 1],
    /// How often a request walks the slow path, in a hundred.
    pub(super) slow_percent: u64,
    /// How often a request names nodes, on a machine that has several, in a hundred.
    pub(super) placed_percent: u64,
    /// How much of the memory a fill asks for, in a hundred.
    pub(super) fill_percent: u64,
}

/// Weights of which about a third is zero.
fn weights<const N: usize>(rng: &mut Rng, choices: &[u32]) -> [u32; N] {
    [(); N].map(|()| *rng.pick(choices))
}

impl Profile {
    pub(super) fn draw(rng: &mut Rng, machine: &Machine) -> Self {
        let mut gfps: [u32; GFPS.len()] = weights(rng, &[0, 0, 2, 8]);
        gfps[0] = *rng.pick(&[0, 4, 16]);
        gfps[1] = *rng.pick(&[0, 4, 16]);
        gfps[GFPS.len() - 2] = u32::from(rng.percent(20));
        gfps[GFPS.len() - 1] = u32::from(rng.percent(20));
        if gfps.iter().sum::<u32>() <= 2 {
            gfps[0] = 1;
            gfps[1] = 1;
        }
        Self {
            free_order: *rng.pick(&[
                FreeOrder::Lifo,
                FreeOrder::Fifo,
                FreeOrder::BuddiesLast,
                FreeOrder::Random,
            ]),
            aux_percent: *rng.pick(&[0, 3, 8, 20, 35]),
            aux: weights(rng, &[0, 0, 1, 3, 6]),
            bulk_percent: *rng.pick(&[0, 0, 3, 15]),
            remote_percent: *rng.pick(&[0, 10, 50]),
            attempt_percent: *rng.pick(&[0, 15, 50, 90]),
            attempts: weights(rng, &[0, 0, 1, 4]),
            gfps,
            orders: orders(rng, machine),
            slow_percent: *rng.pick(&[0, 0, 10, 40]),
            placed_percent: *rng.pick(&[0, 20, 60]),
            fill_percent: *rng.pick(&[30, 80, 100, 130]),
        }
    }

    /// Never this one.
    pub(super) fn forbid(&mut self, kind: Aux) {
        for (weight, known) in self.aux.iter_mut().zip(AUX) {
            if known == kind {
                *weight = 0;
            }
        }
    }

    pub(super) fn gfp(&self, rng: &mut Rng) -> Gfp {
        GFPS[rng.weighted(&self.gfps)]
    }

    pub(super) fn order(&self, rng: &mut Rng) -> Order {
        Order::of(rng.weighted(&self.orders) as u8)
    }

    /// A mark and flags, in any script.
    pub(super) fn any_attempt(&self, rng: &mut Rng) -> (Mark, AllocFlags) {
        *rng.pick(&ATTEMPTS)
    }

    pub(super) fn attempt(&self, rng: &mut Rng) -> Option<(Mark, AllocFlags)> {
        rng.percent(self.attempt_percent).then(|| ATTEMPTS[rng.weighted(&self.attempts)])
    }
}

/// Weights of orders: only pages, small ones, mostly one order, or all up to the machine's; now
/// and then one above it.
fn orders(rng: &mut Rng, machine: &Machine) -> [u32; Order::MAX.index() + 1] {
    let mut weights = [0; Order::MAX.index() + 1];
    let top = machine.max_order.index();
    match rng.weighted(&[3, 4, 2, 3]) {
        0 => weights[0] = 1,
        1 => (0..=top.min(3)).for_each(|order| weights[order] = 8 >> order),
        2 => {
            weights[rng.below(top as u64 + 1) as usize] = 20;
            weights[0] = 5;
        }
        _ => (0..=top)
            .for_each(|order| weights[order] = 1 + 64_u32.checked_shr(order as u32).unwrap_or(0)),
    }
    if let Some(thp) = machine.thp_order {
        weights[thp.index()] += *rng.pick(&[0, 1, 3]);
    }
    if top < Order::MAX.index() && rng.percent(10) {
        weights[top + 1] += 1;
    }
    weights
}
