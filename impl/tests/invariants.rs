//! Random single-threaded runs over small machines; after every step the state must add up
//! (page_alloc.md §6.6).

mod common;

use common::{CPU0, CPU1};
use mmspec_impl::OwnedAllocator;
use mmspec_model::{
    contract::Request,
    vocab::{
        AllocFlags, CpuId, Gfp, Machine, Mark, MergeRetype, MigrateType, Order, Pfn, PfnRange,
        Rules, Tunables, ZoneIdx, ZoneKind,
    },
};
use std::{collections::BTreeMap, vec::Vec};

/// xorshift64*.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) % bound
    }

    fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }
}

struct Run {
    machine: Machine,
    rules: Rules,
    pages: OwnedAllocator,
    held: Vec<(Pfn, Order)>,
    isolated: Vec<Pfn>,
    random: Random,
}

impl Run {
    fn new(machine: Machine, rules: Rules, seed: u64) -> Self {
        let tunables = Tunables { min_free_kbytes: Some(32), ..Tunables::default() };
        let pages = OwnedAllocator::new(machine.as_ref(), rules, tunables).unwrap();
        let (held, isolated) = (Vec::new(), Vec::new());
        Self { machine, rules, pages, held, isolated, random: Random(seed | 1) }
    }

    fn cpu(&mut self) -> CpuId {
        self.random.of(&[CPU0, CPU1])
    }

    fn take(&mut self) {
        let order = Order::of(self.random.below(u64::from(self.machine.max_order.get()) + 1) as u8);
        let order = if self.random.below(2) == 0 { Order::ZERO } else { order };
        let gfp = self.random.of(&[
            Gfp::KERNEL,
            Gfp::HIGHUSER_MOVABLE,
            Gfp::KERNEL | Gfp::RECLAIMABLE,
            Gfp::ATOMIC,
        ]);
        let mut request = Request::new(order, gfp);
        match self.random.below(4) {
            0 => request = request.at(Mark::Min, AllocFlags::NO_WATERMARKS),
            1 => {
                let flags = AllocFlags::HIGHATOMIC | AllocFlags::MIN_RESERVE;
                request = request.at(Mark::Min, flags);
            }
            _ => {}
        }
        let cpu = self.cpu();
        if let Some(pfn) = self.pages.alloc_pages(cpu, request).page() {
            self.held.push((pfn, order));
        }
    }

    fn give_back(&mut self) {
        if !self.held.is_empty() {
            let at = self.random.below(self.held.len() as u64) as usize;
            let (pfn, order) = self.held.swap_remove(at);
            let cpu = self.cpu();
            self.pages.free_pages(cpu, pfn, order);
        }
    }

    /// Whether a held frame is part of a block of at most a pageblock. (Up to 6.9 a larger one is
    /// freed by the type of its first pageblock.)
    fn is_in_small_block(&self, frame: Pfn) -> bool {
        let holds = |(pfn, order): &&(Pfn, Order)| *pfn <= frame && frame < pfn.add(order.pages());
        let block = self.held.iter().find(holds);
        block.is_none_or(|(_, order)| *order <= self.machine.pageblock_order)
    }

    fn step(&mut self) {
        let cpu = self.cpu();
        match self.random.below(100) {
            0..46 => self.take(),
            46..85 => self.give_back(),
            85..87 => {
                let mut slots = [None; 9];
                self.pages.alloc_bulk(cpu, Gfp::KERNEL, &mut slots);
                let batch: Vec<_> =
                    slots.into_iter().flatten().map(|pfn| (pfn, Order::ZERO)).collect();
                self.pages.free_batch(cpu, &batch[..batch.len() / 2]);
                self.held.extend(&batch[batch.len() / 2..]);
            }
            87..89 => self.pages.fail_trylock(cpu, 1),
            89 => self.pages.drain_all(cpu, None),
            90..92 => {
                self.pages.tick(cpu);
            }
            92..94 => {
                let migratetype = self.random.of(&MigrateType::PCP);
                let force = self.random.below(2) == 0;
                self.pages.unreserve_highatomic(cpu, migratetype, force);
            }
            94..96 => {
                let pfn = Pfn(self.random.below(self.machine.as_ref().end().0));
                // Two isolated pageblocks can merge, and ending the isolation of one then takes the
                // other's pages along (page_alloc.md §1.15 as it stands).
                let large = self.machine.max_order.pages();
                let near = |other: &Pfn| other.0 / large == pfn.0 / large;
                let movable = |frame: Pfn| self.is_in_small_block(frame);
                if !self.isolated.iter().any(near) && self.pages.isolate(cpu, pfn, &movable) {
                    self.isolated.push(pfn);
                }
            }
            96..98 => {
                if let Some(pfn) = self.isolated.pop() {
                    assert!(self.pages.unisolate(cpu, pfn, MigrateType::Movable));
                }
            }
            98 => {
                let zone = ZoneIdx(self.random.below(self.machine.zones.len() as u64) as u8);
                self.pages.pcp_disable(cpu, zone);
                self.pages.pcp_enable(zone);
            }
            _ => {
                let dead = self.random.of(&[CPU0, CPU1]);
                if self.pages.cpu_dead(CpuId(1 - dead.0), dead) {
                    self.pages.cpu_online(dead);
                }
            }
        }
    }

    /// Check that everything adds up.
    fn check(&self) {
        let machine = self.machine.as_ref();
        // Every managed frame in exactly one block.
        let mut blocks = BTreeMap::new();
        let mut add = |pfn: Pfn, order: Order| {
            assert!(pfn.is_aligned(order), "{pfn} is unaligned for order {order}");
            assert!(blocks.insert(pfn, order).is_none(), "{pfn} is in two places");
        };
        self.held.iter().for_each(|&(pfn, order)| add(pfn, order));
        for at in 0..machine.zones.len() {
            self.check_zone(ZoneIdx(at as u8), &mut add);
        }
        let mut covered = Pfn(0);
        let mut frames = 0;
        for (pfn, order) in blocks {
            assert!(covered <= pfn, "{pfn} lies in the block before it");
            covered = pfn.add(order.pages());
            frames += order.pages();
            assert!((pfn.0..covered.0).all(|frame| machine.is_managed(Pfn(frame))));
        }
        assert_eq!(frames, self.pages.managed_frames());
        let events = self.pages.events();
        if self.rules.direct_free_counted {
            let out: u64 = self.held.iter().map(|(_, order)| order.pages()).sum();
            assert_eq!(events.pgalloc_total() + frames - events.pgfree, out);
        }
    }

    fn check_zone(&self, zone: ZoneIdx, add: &mut impl FnMut(Pfn, Order)) {
        let state = self.pages.zone_state(zone);
        let mut pages_of = [0; 6];
        let mut in_large_blocks = 0;
        for order in Order::ZERO.up_to(self.machine.max_order) {
            for migratetype in MigrateType::ALL {
                let mut count = 0;
                self.pages.for_each_free(zone, order, migratetype, &mut |pfn| {
                    count += 1;
                    add(pfn, order);
                    self.check_block_type(pfn, order, migratetype);
                });
                assert_eq!(count, state.nr_free[order.index()][migratetype.index()]);
                pages_of[migratetype.index()] += count << order.get();
                if order >= self.machine.pageblock_order && migratetype != MigrateType::Isolate {
                    in_large_blocks += count << order.get();
                }
            }
        }
        let usable: u64 = pages_of[..5].iter().sum();
        assert_eq!(state.nr_free_pages_exact, usable as i64);
        if self.rules.free_pages_blocks {
            assert_eq!(state.nr_free_pages_blocks, in_large_blocks as i64);
        }
        if self.rules.highatomic_free_only {
            assert_eq!(state.nr_free_highatomic, pages_of[MigrateType::HighAtomic.index()]);
        }
        if self.exact_types() {
            assert_eq!(state.nr_free_cma_exact, pages_of[MigrateType::Cma.index()] as i64);
        }
        self.check_counts_of_types(zone);
        for cpu in [CPU0, CPU1] {
            let pcp = self.pages.pcp_state(cpu, zone);
            let mut count = 0;
            for list in 0..self.pages.pcp_list_count() {
                let order = if list < 12 {
                    Order::of((list / 3) as u8)
                } else {
                    self.machine.thp_order.unwrap()
                };
                self.pages.for_each_cached(cpu, zone, list, &mut |pfn| {
                    count += order.pages();
                    add(pfn, order);
                });
            }
            assert_eq!(count, pcp.count);
            // A threshold that shrank, because kswapd woke, leaves what is there until the next update.
            let most = if state.drift_mark == 0 { state.stat_threshold } else { 125 };
            assert!(pcp.vm_stat_diff.unsigned_abs() <= most);
        }
    }

    /// Rules under which a free block always lies on the list of its pageblocks' type.
    fn exact_types(&self) -> bool {
        self.rules.merge_retype == MergeRetype::AllBlocks
    }

    fn check_block_type(&self, pfn: Pfn, order: Order, list: MigrateType) {
        if self.exact_types() {
            for frame in (pfn.0..pfn.add(order.pages()).0)
                .step_by(self.machine.pageblock_order.pages() as usize)
            {
                assert_eq!(self.pages.pageblock_type(Pfn(frame)), Some(list), "{pfn}@{order}");
            }
        }
    }

    /// nr_isolate_pageblock and nr_reserved_highatomic against the pageblocks' types.
    fn check_counts_of_types(&self, zone: ZoneIdx) {
        let state = self.pages.zone_state(zone);
        let end = state.start_pfn + state.spanned;
        let pageblock = self.machine.pageblock_order.pages();
        let whole = (state.start_pfn.next_multiple_of(pageblock)..end)
            .step_by(pageblock as usize)
            .filter(|start| start + pageblock <= end);
        let types: Vec<_> = whole.filter_map(|pfn| self.pages.pageblock_type(Pfn(pfn))).collect();
        let count = |of_type| types.iter().filter(|found| **found == of_type).count() as u64;
        assert_eq!(state.nr_isolate_pageblock, count(MigrateType::Isolate));
        // A reserved pageblock that is isolated stays in the counter of the reserve.
        if self.exact_types() {
            assert!(state.nr_reserved_highatomic >= count(MigrateType::HighAtomic) * pageblock);
        }
    }
}

fn machines() -> Vec<Machine> {
    let mut plain = Machine::small(2, 512, 6, 4);
    plain.holes.push(PfnRange::new(77, 79));
    let mut cma = Machine::small(2, 600, 5, 5);
    cma.cma_built = true;
    cma.cma.push(PfnRange::new(64, 128));
    let mut zones = Machine::small(2, 1, 7, 3);
    zones.zones =
        [(ZoneKind::Dma, 0, 100), (ZoneKind::Dma32, 100, 333), (ZoneKind::Normal, 340, 900)]
            .map(|(kind, start, end)| {
                mmspec_model::vocab::ZoneSpan::new(kind, PfnRange::new(start, end))
            })
            .to_vec();
    zones.reserved.push(PfnRange::new(500, 510));
    let tiny = Machine::small(2, 40, 4, 3);
    // Large enough for the high-order atomic reserve.
    let reserve = Machine::small(2, 4096, 6, 4);
    [plain, cma, zones, tiny, reserve].to_vec()
}

#[test]
fn the_state_adds_up_after_every_step() {
    let strict = Rules { merge_retype: MergeRetype::AllBlocks, ..Rules::linux_6_18() };
    for rules in [Rules::linux_6_1(), Rules::linux_6_12(), Rules::linux_6_18(), strict] {
        for (at, machine) in machines().into_iter().enumerate() {
            let steps = if machine.as_ref().end().0 > 1000 { 150 } else { 600 };
            for seed in 0..4 {
                let mut run =
                    Run::new(machine.clone(), rules, 0x9E37_79B9 * (seed + 1) + at as u64);
                run.check();
                for _ in 0..steps {
                    run.step();
                    run.check();
                }
                while !run.held.is_empty() {
                    run.give_back();
                }
                run.pages.drain_all(CPU0, None);
                run.check();
            }
        }
    }
}

#[test]
fn a_copy_lives_its_own_life() {
    let machine = machines().swap_remove(0);
    let mut run = Run::new(machine.clone(), Rules::linux_6_12(), 7);
    (0..300).for_each(|_| run.step());
    let same = |left: &OwnedAllocator, right: &OwnedAllocator| {
        left.zone_state(ZoneIdx(0)) == right.zone_state(ZoneIdx(0))
            && [CPU0, CPU1].map(|cpu| left.pcp_state(cpu, ZoneIdx(0)))
                == [CPU0, CPU1].map(|cpu| right.pcp_state(cpu, ZoneIdx(0)))
            && left.events() == right.events()
    };
    let mut copy = Run::new(machine, Rules::linux_6_12(), 1);
    copy.pages = run.pages.clone();
    copy.held = run.held.clone();
    copy.isolated = run.isolated.clone();
    copy.random = Random(run.random.0);
    assert!(same(&run.pages, &copy.pages));
    for _ in 0..300 {
        run.step();
        copy.step();
        assert_eq!(run.held, copy.held);
        assert!(same(&run.pages, &copy.pages));
    }
    run.take();
    run.pages.drain_all(CPU0, None);
    copy.check();
}
