//! How the suites make allocators.
#![allow(dead_code, reason = "each suite uses some of it")]

use mmspec_impl::platform::StdPlatform;
use mmspec_impl::{OwnedAllocator, Platform};
use mmspec_model::reference::Reference;
use mmspec_proptests::engine::EngineReport;
use mmspec_proptests::script::Script;
use proptest::test_runner::{Config as ProptestConfig, RngSeed};
use quickcheck::{Gen, QuickCheck};

pub(crate) type Std = StdPlatform;

pub(crate) fn reference(script: &Script) -> Reference {
    Reference::new(&script.machine, script.rules, script.tunables).expect("valid")
}

pub(crate) fn owned<P: Platform>(script: &Script) -> OwnedAllocator<P> {
    OwnedAllocator::new(script.machine.as_ref(), script.rules, script.tunables).expect("valid")
}

/// Fail with the shrunk cases.
#[track_caller]
pub(crate) fn clean(report: &EngineReport) {
    for failure in &report.failures {
        eprintln!("{}", failure.to_text("save this as x.mms and run mmspec replay x.mms"));
    }
    assert!(report.ok(), "{} failures", report.failures.len());
}

/// proptest with a fixed seed: the suites are the same on every machine, `mmspec check --seed` and
/// the fuzz targets look further. Failures are kept as scripts, not as seeds.
pub(crate) fn fixed(cases: u32) -> ProptestConfig {
    ProptestConfig {
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(1),
        ..ProptestConfig::with_cases(cases)
    }
}

/// quickcheck with a fixed seed.
pub(crate) fn quickcheck() -> QuickCheck {
    QuickCheck::new().rng(Gen::from_size_and_seed(100, 1))
}
