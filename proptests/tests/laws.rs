//! The laws on both allocators, and what the generators reach.

mod common;

use common::{Std, clean, owned, reference};
use mmspec_model::contract::Request;
use mmspec_model::laws::{self, Level};
use mmspec_model::vocab::{CpuId, Gfp, Machine, Order, Rules, Tunables};
use mmspec_proptests::canaries::{Fault, Planted};
use mmspec_proptests::engine::{Budget, Config};
use mmspec_proptests::lawful::{self, Depth};
use mmspec_proptests::script::{Handle, Op, Script};

const CASES: Budget = Budget::cases(3_000);

#[test]
fn the_implementation_keeps_every_law() {
    clean(&lawful::run(&Config::new(3, CASES), Depth::default(), owned::<Std>));
}

#[test]
fn the_reference_keeps_every_law_and_the_generators_reach_everything() {
    let report = lawful::run(&Config::new(4, CASES), Depth::default(), reference);
    clean(&report);
    let missing: Vec<_> = report.marks.missing().filter(|mark| !mark.needs_threads()).collect();
    assert!(missing.is_empty(), "never reached: {missing:?}");
    // Of allocators of frames and runs: `conformance` asks these.
    let other = [
        "exact-place",
        "frames-conserved",
        "same-again",
        "order-refused",
        "served-if-possible",
        "placed-if-free",
        "resized-if-possible",
    ];
    for (law, times) in &report.laws {
        // Those of compaction, memory cgroups and slabs are their own engines'.
        let apart = |law: &&str| {
            use laws::Family::{Compaction, Memcg, Slab};
            laws::by_id(law).is_some_and(|law| matches!(law.family, Compaction | Memcg | Slab))
        };
        assert!(*times > 0 || other.contains(law) || apart(law), "law {law} was never exercised");
    }
    assert_eq!(report.marks.largest_block, 11, "orders 0 to 10 are handed out");
    for order in 1..=10 {
        assert!(report.marks.merges[order] > 0, "no merge up to order {order}");
    }
    assert!(report.marks.longest_wait > 10, "{}", report.marks.longest_wait);
    assert!(report.marks.deepest_cache > 500, "{}", report.marks.deepest_cache);
    assert!(report.marks.refused > 10_000, "{}", report.marks.refused);
}

#[test]
fn each_fault_breaks_a_law_and_shrinks() {
    for fault in Fault::ALL.iter().filter(|fault| fault.breaks_a_law()) {
        let planted = |script: &Script| Planted::new(owned::<Std>(script), script, *fault);
        let mut config = Config::new(1, Budget::cases(4_000));
        config.shrink_runs = 2_000;
        let report = lawful::run(&config, Depth::default(), planted);
        let failure = report.failures.first().unwrap_or_else(|| panic!("{fault:?} lives"));
        let text = failure.to_text("here");
        // A fault that shows at every 23rd call may be met at its second turn: one call less is none.
        assert!(failure.script.ops.len() <= 46, "{fault:?} is not small:\n{text}");
        // The right allocator keeps all laws on the shrunk script.
        let again = lawful::check_script(
            &failure.script,
            owned::<Std>,
            Depth { lists_every: 1, probe_every: 1, ..Depth::default() },
            &mut Default::default(),
            None,
        );
        assert!(again.is_ok(), "{fault:?}: {again:?}\n{text}");
    }
}

#[test]
fn levels_are_asked_apart() {
    // A miscounted event is no matter of safety.
    let planted =
        |script: &Script| Planted::new(owned::<Std>(script), script, Fault::MiscountsEvent);
    let run = |levels: &'static [Level]| {
        let depth = Depth { levels, ..Depth::default() };
        lawful::run(&Config::new(2, Budget::cases(300)), depth, planted).failures.len()
    };
    assert_eq!((run(&[Level::Safe]), run(&[Level::Conserved])), (0, 1));
}

#[test]
fn a_panic_is_a_finding_with_its_place() {
    let alloc = |handle| Op::Alloc {
        cpu: CpuId(0),
        request: Request::new(Order::ZERO, Gfp::KERNEL),
        handle: Handle(handle),
    };
    let script = Script {
        machine: Machine::small(1, 64, 3, 3),
        rules: Rules::default(),
        tunables: Tunables::default(),
        ops: vec![alloc(1), alloc(2)],
    };
    let boot = |_: &Script| -> mmspec_impl::OwnedAllocator { panic!("no memory for the tables") };
    let found =
        lawful::check_script(&script, boot, Depth::default(), &mut Default::default(), None);
    let finding = found.expect_err("panics");
    assert_eq!((finding.kind.as_str(), finding.at), ("panic", None));
    assert!(finding.what.contains("no memory for the tables"), "{}", finding.what);
}
