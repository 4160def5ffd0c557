//! The test vectors of page_alloc.md §8, against the reference.

use mmspec_model::contract::{
    CpuCaches, MemoryFailure, Observe, Outcome, PageAllocator, Request, StatWorker, Tuning,
    Watermarks,
};
use mmspec_model::reference::pcp::{AfterFree, PcpSizes};
use mmspec_model::reference::{Reference, arith};
use mmspec_model::vocab::{
    AllocFlags, CpuId, Gfp, Machine, Mark, MigrateType, Order, PcpTuning, Pfn, PfnRange, Rules,
    Tunables, ZoneFlags, ZoneIdx, ZoneKind,
};

const CPU0: CpuId = CpuId(0);

fn boot(machine: &Machine) -> Reference {
    Reference::new(machine, Rules::linux_6_12(), Tunables::default()).unwrap()
}

fn free_blocks(r: &Reference, order: u8, mt: MigrateType) -> Vec<u64> {
    let mut found = Vec::new();
    r.for_each_free(ZoneIdx(0), Order::of(order), mt, &mut |pfn| found.push(pfn.0));
    found
}

/// §8.1: DMA 3840, DMA32 490000, Normal 1500000 pages, 4 CPUs.
#[test]
fn marks_reserves_and_limits_of_the_three_zone_machine() {
    let machine = Machine::new(
        4,
        &[
            (ZoneKind::Dma, 0, 3840),
            (ZoneKind::Dma32, 4096, 4096 + 490_000),
            (ZoneKind::Normal, 1 << 20, (1 << 20) + 1_500_000),
        ],
    );
    let r = boot(&machine);
    assert_eq!(r.min_free_kbytes(), 11296);
    let expected = [
        ([5, 8, 11, 14], [0, 1914, 7773, 7773, 7773], 1, 4, 120, 6),
        ([694, 1184, 1674, 2164], [0, 0, 5859, 5859, 5859], 63, 296, 15312, 30),
        ([2124, 3624, 5124, 6624], [0; 5], 63, 906, 46875, 42),
    ];
    for (z, (marks, reserve, batch, high_min, high_max, threshold)) in
        expected.into_iter().enumerate()
    {
        let zone = r.zone_state(ZoneIdx(z as u8));
        let pcp = r.pcp_state(CPU0, ZoneIdx(z as u8));
        assert_eq!(zone.marks, marks, "zone {z}");
        assert_eq!(zone.lowmem_reserve, reserve, "zone {z}");
        assert_eq!((pcp.batch, pcp.high_min, pcp.high_max), (batch, high_min, high_max));
        assert_eq!(zone.stat_threshold, threshold, "zone {z}");
    }
    assert_eq!(arith::pcp_batch(3840, true), 0);
}

/// §8.2.
#[test]
fn marks_of_a_single_normal_zone() {
    for (managed, kbytes, marks, batch, one, four, boost) in [
        (1024, 256, [64, 80, 96, 112], 0, 2, 6, false),
        (4096, 512, [128, 160, 192, 224], 0, 2, 6, true),
        (16384, 1024, [256, 320, 384, 448], 3, 2, 6, true),
        (65536, 2048, [512, 640, 768, 896], 15, 6, 18, true),
    ] {
        let r = boot(&Machine::new(4, &[(ZoneKind::Normal, 0, managed)]));
        assert_eq!(r.min_free_kbytes(), kbytes);
        assert_eq!(r.zone_state(ZoneIdx(0)).marks, marks);
        assert_eq!(arith::pcp_batch(managed, true), batch);
        assert_eq!(arith::stat_threshold(managed, 1), one);
        assert_eq!(arith::stat_threshold(managed, 4), four);
        assert_eq!(arith::max_boost(managed, marks[2], 512, 15000).is_some(), boost);
    }
    for (high, max) in [(1, 512), (100, 512), (1000, 1500), (20000, 30000)] {
        assert_eq!(arith::max_boost(1 << 20, high, 512, 15000), Some(max));
    }
}

fn sizes(high_min: u64, high_max: u64) -> PcpSizes {
    PcpSizes { batch: 7, high_min, high_max, scale_max: 5, ..PcpSizes::default() }
}

/// 600 allocations then 600 frees; returns refills, drains, pages left after each half.
fn drive(mut pcp: PcpSizes, zone: ZoneFlags) -> (Vec<u64>, u64, Vec<u64>, PcpSizes) {
    let (mut refills, mut drains) = (Vec::new(), Vec::new());
    for _ in 0..600 {
        pcp.note_alloc(PcpTuning::Auto);
        if pcp.count == 0 {
            let n = pcp.refill_blocks(Order::ZERO, zone, PcpTuning::Auto);
            refills.push(n);
            pcp.count += n;
        }
        pcp.count -= 1;
    }
    let left = pcp.count;
    for _ in 0..600 {
        if let AfterFree::Drain(n) = pcp.commit_free(Order::ZERO, zone, PcpTuning::Auto, true) {
            drains.push(n);
            pcp.count -= n;
        }
    }
    (refills, left, drains, pcp)
}

/// §8.3.
#[test]
fn refill_and_drain_sizes() {
    let fixed = (vec![7, 14, 28, 56, 93, 93, 93, 93, 93, 93], 63, vec![37, 74, 93, 93, 93, 93, 93]);
    let (refills, left, drains, pcp) = drive(sizes(100, 100), ZoneFlags::empty());
    assert_eq!((refills, left, drains), fixed);
    assert_eq!(pcp.count, 87);

    let (refills, left, drains, pcp) = drive(sizes(100, 1000), ZoneFlags::empty());
    assert_eq!((refills, left), (vec![7, 14, 28, 56, 112, 224, 224], 65));
    assert_eq!((drains, pcp.count, pcp.high), (vec![], 665, 765));

    let (refills, left, ..) = drive(sizes(100, 1000), ZoneFlags::BELOW_HIGH);
    assert_eq!((refills, left), (fixed.0, fixed.1));
}

/// A machine whose every free ends in the buddy: its pcp is disabled. Its pageblocks are small, so
/// that so few frames still group by mobility.
fn without_pcp(frames: u64, max_order: u8) -> Reference {
    let mut r = Reference::new(
        &Machine::small(1, frames, max_order, 0),
        Rules::linux_6_12(),
        Tunables { min_free_kbytes: Some(0), ..Tunables::default() },
    )
    .unwrap();
    r.pcp_disable(CPU0, ZoneIdx(0));
    r
}

fn take(r: &mut Reference, order: u8) -> Pfn {
    let request = Request::new(Order::of(order), Gfp::HIGHUSER_MOVABLE)
        .at(Mark::Min, AllocFlags::NO_WATERMARKS);
    match r.alloc_pages(CPU0, request) {
        Outcome::Page(pfn) => pfn,
        other => panic!("{other:?}"),
    }
}

/// §8.4, first line.
#[test]
fn a_split_leaves_the_upper_halves_and_merges_back() {
    let mut r = without_pcp(8, 3);
    let mt = MigrateType::Movable;
    assert_eq!(free_blocks(&r, 3, mt), [0]);
    assert_eq!(take(&mut r, 0), Pfn(0));
    assert_eq!(free_blocks(&r, 0, mt), [1]);
    assert_eq!(free_blocks(&r, 1, mt), [2]);
    assert_eq!(free_blocks(&r, 2, mt), [4]);
    r.free_pages(CPU0, Pfn(0), Order::ZERO);
    assert_eq!(free_blocks(&r, 3, mt), [0]);
    assert_eq!(free_blocks(&r, 0, mt), []);
}

/// §1.17: what is left of the block, the larger halves first; the page itself does not count as free.
#[test]
fn a_page_taken_off_leaves_the_other_halves() {
    let mut r = without_pcp(8, 3);
    let mt = MigrateType::Movable;
    let exact = |r: &Reference| r.zone_state(ZoneIdx(0)).nr_free_pages_exact;
    assert!(r.take_page_off(CPU0, Pfn(5)));
    assert_eq!(
        [0, 1, 2, 3].map(|order| free_blocks(&r, order, mt)),
        [vec![4], vec![6], vec![0], vec![]]
    );
    assert_eq!(exact(&r), 7);
    assert!(!r.take_page_off(CPU0, Pfn(5)), "it is in no free block");
    assert!(r.take_page_off(CPU0, Pfn(4)), "nor is there anything to split");
    assert_eq!((free_blocks(&r, 0, mt), exact(&r)), (vec![], 6));
    r.free_pages(CPU0, Pfn(5), Order::ZERO);
    r.free_pages(CPU0, Pfn(4), Order::ZERO);
    assert_eq!((free_blocks(&r, 3, mt), exact(&r)), (vec![0], 8));
}

/// §8.4, second line: 2@1 free, page 1 held, page 0 freed: to the tail; else to the head.
#[test]
fn a_likely_merge_goes_to_the_tail() {
    let mt = MigrateType::Movable;
    for likely in [true, false] {
        let mut r = without_pcp(32, 4);
        let pages: Vec<Pfn> = (0..32).map(|_| take(&mut r, 0)).collect();
        assert_eq!(pages.iter().map(|pfn| pfn.0).collect::<Vec<_>>(), (0..32).collect::<Vec<_>>());
        r.free_pages(CPU0, Pfn(20), Order::ZERO);
        if likely {
            r.free_pages(CPU0, Pfn(2), Order::ZERO);
            r.free_pages(CPU0, Pfn(3), Order::ZERO);
            assert_eq!(free_blocks(&r, 1, mt), [2]);
        }
        r.free_pages(CPU0, Pfn(0), Order::ZERO);
        let expected = if likely { [20, 0] } else { [0, 20] };
        assert_eq!(free_blocks(&r, 0, mt), expected, "likely: {likely}");
    }
    assert!(!arith::merge_likely(0, Order::of(9), Order::MAX, |_, _| true));
    assert!(!arith::merge_likely(0, Order::of(10), Order::MAX, |_, _| true));
}

/// §8.4, third line: mark 100, reserve 0.
#[test]
fn watermark_decisions() {
    // 16 KiB blocks of memory held until exactly `free` frames are left; MIN is set to 100.
    let with_free = |free: u64| {
        let mut r = Reference::new(
            &Machine::new(1, &[(ZoneKind::Normal, 0, 4096)]),
            Rules::linux_6_12(),
            Tunables { min_free_kbytes: Some(400), ..Tunables::default() },
        )
        .unwrap();
        r.pcp_disable(CPU0, ZoneIdx(0));
        let mut held = 4096;
        while held > free {
            take(&mut r, 0);
            held -= 1;
        }
        r.tick(CPU0);
        assert_eq!(r.zone_state(ZoneIdx(0)).nr_free_pages, free as i64);
        r
    };
    let ok = |r: &Reference, order: u8, flags: AllocFlags| {
        r.watermark_ok(ZoneIdx(0), Order::of(order), Mark::Min, ZoneKind::Normal, flags)
    };
    let none = AllocFlags::empty();
    assert!(!ok(&with_free(100), 0, none));
    assert!(ok(&with_free(101), 0, none));
    let half = AllocFlags::MIN_RESERVE;
    assert!(!ok(&with_free(50), 0, half));
    assert!(ok(&with_free(51), 0, half));
    let atomic = half | AllocFlags::NON_BLOCK;
    assert!(!ok(&with_free(38), 0, atomic));
    assert!(ok(&with_free(39), 0, atomic));
    assert!(!ok(&with_free(50), 0, AllocFlags::OOM));
    assert!(ok(&with_free(51), 0, AllocFlags::OOM));
    let all = atomic | AllocFlags::OOM;
    assert!(!ok(&with_free(19), 0, all));
    assert!(ok(&with_free(20), 0, all));
    assert!(!ok(&with_free(107), 3, none));
    assert!(ok(&with_free(108), 3, none));
}

/// A sysctl write recomputes everything, and a bad value changes nothing.
#[test]
fn sysctl_writes() {
    let mut r = boot(&Machine::new(2, &[(ZoneKind::Normal, 0, 65536)]));
    let before = r.zone_state(ZoneIdx(0));
    let bad = Tunables { watermark_scale_factor: 0, ..Tunables::default() };
    assert!(r.set_tunables(bad).is_err());
    assert_eq!(r.zone_state(ZoneIdx(0)), before);
    let good = Tunables { min_free_kbytes: Some(4096), ..Tunables::default() };
    r.set_tunables(good).unwrap();
    assert_eq!(r.zone_state(ZoneIdx(0)).marks, [1024, 1280, 1536, 1792]);
}

/// Holes, reserved frames and unaligned edges leave the rest in maximal blocks.
#[test]
fn boot_cuts_runs_into_maximal_blocks() {
    let mut machine = Machine::small(1, 64, 4, 3);
    machine.zones[0].span = PfnRange::new(3, 64);
    machine.holes = vec![PfnRange::new(20, 22)];
    machine.reserved = vec![PfnRange::new(40, 41)];
    let r = boot(&machine);
    let all: Vec<(u8, Vec<u64>)> =
        (0..=4).map(|order| (order, free_blocks(&r, order, MigrateType::Movable))).collect();
    assert_eq!(
        all,
        [
            (0, vec![3, 41]),
            (1, vec![22, 42]),
            (2, vec![4, 16, 44]),
            (3, vec![8, 24, 32]),
            (4, vec![48]),
        ]
    );
    assert_eq!(r.zone_state(ZoneIdx(0)).managed, 61 - 2 - 1);
}
