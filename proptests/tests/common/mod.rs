//! How the suites make allocators.
#![allow(dead_code, reason = "each suite uses some of it")]

use mmspec_impl::platform::StdPlatform;
use mmspec_impl::{OwnedAllocator, Platform};
use mmspec_model::reference::Reference;
use mmspec_proptests::engine::EngineReport;
use mmspec_proptests::script::Script;

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
