//! What a case is drawn from.

use mmspec_model::vocab::{Machine, PcpTuning, PfnRange, Rules, Tunables, ZoneKind, ZoneSpan};

/// SplitMix64: the same operations on every machine, forever.
pub(crate) struct Rng(pub(crate) u64);

impl Rng {
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % limit
    }

    pub(crate) fn percent(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    pub(crate) fn pick<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.below(values.len() as u64) as usize]
    }
}

pub(crate) fn machine(rng: &mut Rng) -> Machine {
    let cpus = rng.pick(&[1, 2, 2, 4]);
    let (max_order, pageblock_order) =
        rng.pick(&[(4, 3), (5, 3), (5, 4), (6, 6), (8, 5), (10, 9), (10, 5)]);
    let block = 1 << max_order;
    let frames = rng.pick(&[3 * block, 4 * block + 1, 9 * block - 1, 300, 700]);
    let mut machine = Machine::small(cpus, 1, max_order, pageblock_order);
    machine.thp_order = (pageblock_order > 3 && rng.percent(60)).then_some(machine.pageblock_order);
    machine.free_high_batch = rng.percent(50);
    // Large enough for a refill batch above 1.
    let frames = if rng.percent(15) { rng.pick(&[9_000, 20_000]) } else { frames };
    let start = rng.pick(&[0, 0, block, block / 2 + 1]);
    let third = (frames / 3).max(1);
    let zones = match rng.below(4) {
        0 => vec![(ZoneKind::Dma, start, third), (ZoneKind::Normal, start + third, frames)],
        1 => vec![
            (ZoneKind::Dma32, start, third),
            (ZoneKind::Normal, start + third, 2 * third),
            (ZoneKind::Movable, start + 2 * third + 5, frames + 5),
        ],
        _ => vec![(ZoneKind::Normal, start, frames)],
    };
    machine.zones = zones
        .into_iter()
        .map(|(kind, first, frames)| ZoneSpan::new(kind, PfnRange::new(first, start + frames)))
        .collect();
    let end = machine.as_ref().end().0;
    for ranges in [&mut machine.holes, &mut machine.reserved] {
        for _ in 0..rng.below(3) {
            let first = start + rng.below(end - start);
            ranges.push(PfnRange::new(first, first + 1 + rng.below(9)));
        }
    }
    let pages = 1 << pageblock_order;
    machine.cma_built = rng.percent(40);
    for _ in 0..if machine.cma_built { 1 + rng.below(3) } else { 0 } {
        let first = rng.below(end) / pages * pages;
        machine.cma.push(PfnRange::new(first, first + pages));
        if machine.validate().is_err() {
            machine.cma.pop();
        }
    }
    machine
}

pub(crate) fn rules(rng: &mut Rng) -> Rules {
    rng.pick(&[
        Rules::linux_6_12(),
        Rules::linux_6_12(),
        Rules::linux_6_18(),
        Rules::linux_6_1(),
        Rules { pcp_tuning: PcpTuning::FreeFactor, ..Rules::linux_6_12() },
    ])
}

pub(crate) fn tunables(rng: &mut Rng, machine: &Machine) -> Tunables {
    let frames = machine.as_ref().end().0;
    let defaults = Tunables::default();
    let mut ratios = defaults.lowmem_reserve_ratio;
    if rng.percent(40) {
        ratios = ratios.map(|_| rng.pick(&[0, 1, 2, 8, 256]));
    }
    Tunables {
        // A mark may be a share of the memory, or a few pages.
        min_free_kbytes: match rng.below(4) {
            0 => None,
            1 => Some(4 * rng.below(12) as u32),
            _ => Some(4 * rng.below(frames / 6 + 2) as u32),
        },
        watermark_scale_factor: rng.pick(&[10, 10, 1, 1, 100, 1000, 3000]),
        watermark_boost_factor: rng.pick(&[15_000, 15_000, 0, 5_000, 40_000]),
        lowmem_reserve_ratio: ratios,
        percpu_pagelist_high_fraction: rng.pick(&[0, 0, 0, 8, 9, 64]),
        pcp_batch_scale_max: rng.pick(&[5, 5, 0, 1, 2, 6]),
    }
}
