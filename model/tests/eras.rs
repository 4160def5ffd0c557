//! What 3.16 and 3.17 do otherwise: marks, per-CPU lists of single pages, checks above order 0; and the
//! vectors of page_alloc.md §8.1 that came with nodes.

use mmspec_model::contract::{
    CpuCaches, Observe, PageAllocator, Request, StatWorker, Tuning, Watermarks,
};
use mmspec_model::reference::{Reference, arith};
use mmspec_model::vocab::{
    AllocFlags, CpuId, Gfp, Machine, Mark, MarkGaps, Order, Pfn, Rules, Tunables, ZoneIdx, ZoneKind,
};

fn boot(machine: &Machine, rules: Rules) -> Reference {
    Reference::new(machine, rules, Tunables::default()).unwrap()
}

fn kernel() -> Request {
    Request::new(Order::ZERO, Gfp::KERNEL)
}

/// §8.1's drift marks and pressure thresholds, and its row for 3.16.
#[test]
fn the_vectors_of_the_three_zone_machine() {
    let zones = [
        (ZoneKind::Dma, 0, 3840),
        (ZoneKind::Dma32, 4096, 4096 + 490_000),
        (ZoneKind::Normal, 1 << 20, (1 << 20) + 1_500_000),
    ];
    let machine = Machine::new(4, &zones);
    let r = boot(&machine, Rules::linux_6_12());
    for (z, (pressure, drift)) in [(1, 35), (122, 0), (125, 0)].into_iter().enumerate() {
        let zone = r.zone_state(ZoneIdx(z as u8));
        assert_eq!(arith::pressure_threshold(zone.marks[1] - zone.marks[0], 4), pressure);
        assert_eq!(zone.drift_mark, drift);
    }
    let r = boot(&machine, Rules::linux_3_17());
    assert_eq!(r.min_free_kbytes(), 11296);
    let expected = [
        ([5, 6, 7, 7], 1, 1, 0),
        ([694, 867, 1041, 1041], 174, 31, 186),
        ([2124, 2655, 3186, 3186], 531, 31, 186),
    ];
    for (z, (marks, batch, pcp_batch, high)) in expected.into_iter().enumerate() {
        let (zone, pcp) = (r.zone_state(ZoneIdx(z as u8)), r.pcp_state(CpuId(0), ZoneIdx(z as u8)));
        assert_eq!(zone.marks, marks);
        assert_eq!(zone.nr_alloc_batch, batch);
        assert_eq!((pcp.batch, pcp.high), (pcp_batch, high));
    }
    // 16 GiB and more stop at 64 MiB there.
    let large = Machine::new(1, &[(ZoneKind::Normal, 0, 1 << 20)]);
    let before = boot(&large, Rules::linux_3_17());
    assert_eq!(before.min_free_kbytes(), 8192);
    let most = arith::min_free_kbytes(1 << 30, MarkGaps::Quarters);
    assert_eq!(most, 65536);
    let most = arith::min_free_kbytes(1 << 30, MarkGaps::ScaleFactor);
    assert_eq!(most, 262_144);
}

/// §2.4, §2.5 of 3.16: three lists of single pages; refills of a batch, and a batch back at high.
#[test]
fn fixed_lists() {
    let machine = Machine::new(1, &[(ZoneKind::Normal, 0, 65536)]);
    let mut r = boot(&machine, Rules::linux_3_17());
    let count = |r: &Reference| r.pcp_state(CpuId(0), ZoneIdx(0)).count;
    assert_eq!(r.pcp_list_count(), 3);
    let pcp = r.pcp_state(CpuId(0), ZoneIdx(0));
    assert_eq!((pcp.batch, pcp.high), (15, 90));
    let pages: Vec<Pfn> =
        (0..200).map(|_| r.alloc_pages(CpuId(0), kernel()).page().unwrap()).collect();
    assert_eq!(count(&r), 14 * 15 - 200);
    assert!(r.alloc_pages(CpuId(0), Request::new(Order::of(1), Gfp::KERNEL)).page().is_some());
    assert_eq!(count(&r), 10, "order 1 goes past the lists");
    let mut seen = Vec::new();
    for pfn in pages {
        r.free_pages(CpuId(0), pfn, Order::ZERO);
        seen.push(count(&r));
    }
    assert_eq!(seen[..80], (11..=89).chain([75]).collect::<Vec<_>>());
    assert_eq!(seen.iter().max(), Some(&89));
}

/// §3.4 of 3.16: by hand, with blocks of lower orders out of account.
#[test]
fn the_old_check_above_order_0() {
    let mut machine = Machine::small(1, 64, 4, 0);
    machine.thp_order = None;
    let tunables = Tunables { min_free_kbytes: Some(0), ..Tunables::default() };
    let mut r = Reference::new(&machine, Rules::linux_3_17(), tunables).unwrap();
    r.pcp_disable(CpuId(0), ZoneIdx(0));
    let take = Request::new(Order::ZERO, Gfp::KERNEL).at(Mark::Min, AllocFlags::NO_WATERMARKS);
    let pages: Vec<Pfn> = (0..64).map(|_| r.alloc_pages(CpuId(0), take).page().unwrap()).collect();
    // Free: 0, 2 (order 0), 4..6 (order 1), 8..12 (order 2), 16..24 (order 3): 16 pages.
    for pfn in pages.iter().filter(|pfn| [0, 2, 4, 5].contains(&pfn.0) || (8..12).contains(&pfn.0))
    {
        r.free_pages(CpuId(0), *pfn, Order::ZERO);
    }
    for pfn in pages.iter().filter(|pfn| (16..24).contains(&pfn.0)) {
        r.free_pages(CpuId(0), *pfn, Order::ZERO);
    }
    r.tick(CpuId(0));
    assert_eq!(r.zone_state(ZoneIdx(0)).nr_free_pages, 16);
    let mut ok = |mark: u32, order: u8| {
        let tunables = Tunables { min_free_kbytes: Some(mark * 4), ..Tunables::default() };
        r.set_tunables(tunables).unwrap();
        assert_eq!(r.zone_state(ZoneIdx(0)).marks[0], u64::from(mark));
        r.watermark_ok(
            ZoneIdx(0),
            Order::of(order),
            Mark::Min,
            ZoneKind::Normal,
            AllocFlags::empty(),
        )
    };
    // Order 1: 16 − 1 = 15; without order 0's 2 pages 13, against half the mark.
    assert!(ok(14, 1) && !ok(15, 1));
    // Order 2: 13; −2 = 11 > m/2; −2 = 9 > m/4: the first test decides (13 > m).
    assert!(ok(12, 2) && !ok(13, 2));
    // Order 3: 9 > m; 7 > m/2; 5 > m/4; 1 > m/8: 8 fails at last, 7 passes.
    assert!(ok(7, 3) && !ok(8, 3));
    // Order 4: 1 > m; 1 − 2 = −1 is not above 0.
    assert!(!ok(0, 4));
}
