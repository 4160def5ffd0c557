//! Allocators that tell their tracepoints.

use crate::script::Script;
use mmspec_impl::platform::StdPlatform;
use mmspec_impl::{OwnedAllocator, Platform};
use mmspec_model::contract::LinuxPolicy;
use mmspec_model::reference::Reference;
use mmspec_model::vocab::{KmemEvent, ZoneIdx};
use std::cell::RefCell;

/// An allocator whose events can be had.
pub(super) trait Traced: LinuxPolicy + Sized {
    /// An allocator for a script; `None` if its machine cannot exist.
    fn boot(script: &Script) -> Option<Self>;

    /// The events since the last call, or since the allocator was booted.
    fn take_events(&mut self) -> Vec<KmemEvent>;
}

impl Traced for Reference {
    fn boot(script: &Script) -> Option<Self> {
        let mut reference = Self::new(&script.machine, script.rules, script.tunables).ok()?;
        reference.start_trace();
        Some(reference)
    }

    fn take_events(&mut self) -> Vec<KmemEvent> {
        self.take_trace()
    }
}

thread_local! {
    /// What the allocators on this thread told. One is asked at a time.
    static EVENTS: RefCell<Vec<KmemEvent>> = const { RefCell::new(Vec::new()) };
}

/// The platform of sequential runs, with its events kept.
#[derive(Clone, Copy, Debug)]
pub(super) struct Recording;

impl Platform for Recording {
    type Word = <StdPlatform as Platform>::Word;
    type Ordered = <StdPlatform as Platform>::Ordered;
    type ZoneLock<T: Send + 'static> = <StdPlatform as Platform>::ZoneLock<T>;
    type PcpLock<T: Send + 'static> = <StdPlatform as Platform>::PcpLock<T>;

    fn wait(turn: u32) {
        StdPlatform::wait(turn);
    }

    fn wake_kswapd(zone: ZoneIdx) {
        StdPlatform::wake_kswapd(zone);
    }

    fn trace(event: impl FnOnce() -> KmemEvent) {
        EVENTS.with_borrow_mut(|events| events.push(event()));
    }
}

impl Traced for OwnedAllocator<Recording> {
    fn boot(script: &Script) -> Option<Self> {
        let booted = Self::new(script.machine.as_ref(), script.rules, script.tunables).ok()?;
        EVENTS.take();
        Some(booted)
    }

    fn take_events(&mut self) -> Vec<KmemEvent> {
        EVENTS.take()
    }
}
