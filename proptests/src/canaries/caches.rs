//! Slab caches with one planted fault.

use super::torn::Torn;
use crate::drive::catch;
use crate::engine::{Config, EngineReport};
use crate::flat::{self, Case};
use crate::schedules::Fine;
use crate::slab::{self, Caches, Slab};
use mmspec_impl::platform::StdPlatform;
use mmspec_impl::slab::OwnedSlabs;
use mmspec_model::contract::{SlabCaches, SlabError, SlabPages};
use mmspec_model::vocab::{
    CacheId, CacheLayout, CacheNodeState, CacheSpec, CpuId, Gfp, NodeId, ObjAddr, SlabPlace,
    SlabRules, SlabStat, SlabState,
};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// What is wrong with it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SlabFault {
    /// One free in five never happens.
    LosesFree,
    /// An object that is in use is handed out again.
    TwiceOut,
    /// A slab on a node's list shows one object too many in use.
    InuseOff,
    /// Slabs of the least order are not counted.
    FallbackUncounted,
    /// An object that is freed on another CPU than its own lies aside for a while, and two may come for it.
    RacyAside,
}

impl SlabFault {
    /// Those that show one operation after another.
    pub const ALONE: [Self; 4] =
        [Self::LosesFree, Self::TwiceOut, Self::InuseOff, Self::FallbackUncounted];

    /// The name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::LosesFree => "slab-free-lost",
            Self::TwiceOut => "slab-object-twice",
            Self::InuseOff => "slab-inuse-off-by-one",
            Self::FallbackUncounted => "slab-fallback-uncounted",
            Self::RacyAside => "slab-race-aside",
        }
    }
}

/// What a faulty allocator remembers.
#[derive(Debug, Default)]
struct Memory {
    frees: AtomicU64,
    /// The object handed out last, or that lies aside.
    object: Mutex<Option<(CacheId, ObjAddr)>>,
}

impl Memory {
    fn object(&self) -> Option<(CacheId, ObjAddr)> {
        *self.object.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn set(&self, object: Option<(CacheId, ObjAddr)>) {
        *self.object.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = object;
    }
}

/// Caches with a fault.
#[derive(Debug)]
pub struct FaultyCaches<'a, S> {
    inner: S,
    fault: SlabFault,
    memory: &'a Memory,
}

impl<S: SlabCaches> SlabCaches for FaultyCaches<'_, S> {
    fn slab_rules(&self) -> SlabRules {
        self.inner.slab_rules()
    }

    fn cache_create(&mut self, spec: CacheSpec) -> Result<CacheId, SlabError> {
        self.inner.cache_create(spec)
    }

    fn cache_destroy(
        &mut self,
        cpu: CpuId,
        cache: CacheId,
        pages: &mut dyn SlabPages,
    ) -> Result<(), SlabError> {
        self.memory.set(None);
        self.inner.cache_destroy(cpu, cache, pages)
    }

    fn object_alloc(
        &mut self,
        cpu: CpuId,
        cache: CacheId,
        gfp: Gfp,
        node: Option<NodeId>,
        pages: &mut dyn SlabPages,
    ) -> Result<Option<ObjAddr>, SlabError> {
        let kept = self.memory.object().filter(|(of, _)| *of == cache);
        match self.fault {
            SlabFault::TwiceOut if kept.is_some_and(|(_, at)| self.inner.is_live(cache, at)) => {
                return Ok(kept.map(|(_, object)| object));
            }
            SlabFault::RacyAside if kept.is_some() => {
                // Between the look and the taking another one may look.
                shuttle::thread::yield_now();
                self.memory.set(None);
                return Ok(kept.map(|(_, object)| object));
            }
            _ => {}
        }
        let got = self.inner.object_alloc(cpu, cache, gfp, node, pages)?;
        if let (SlabFault::TwiceOut, Some(object)) = (self.fault, got) {
            self.memory.set(Some((cache, object)));
        }
        Ok(got)
    }

    fn object_free(
        &mut self,
        cpu: CpuId,
        cache: CacheId,
        object: ObjAddr,
        pages: &mut dyn SlabPages,
    ) -> Result<(), SlabError> {
        if self.fault == SlabFault::LosesFree
            && self.memory.frees.fetch_add(1, Relaxed) % 5 == 4
            && self.inner.is_live(cache, object)
        {
            return Ok(());
        }
        if self.fault == SlabFault::RacyAside && self.memory.object().is_none() {
            self.memory.set(Some((cache, object)));
            return Ok(());
        }
        self.inner.object_free(cpu, cache, object, pages)
    }

    fn object_alloc_bulk(
        &mut self,
        cpu: CpuId,
        cache: CacheId,
        gfp: Gfp,
        slots: &mut [ObjAddr],
        pages: &mut dyn SlabPages,
    ) -> Result<bool, SlabError> {
        self.inner.object_alloc_bulk(cpu, cache, gfp, slots, pages)
    }

    fn object_free_bulk(
        &mut self,
        cpu: CpuId,
        cache: CacheId,
        objects: &[ObjAddr],
        pages: &mut dyn SlabPages,
    ) -> Result<(), SlabError> {
        self.inner.object_free_bulk(cpu, cache, objects, pages)
    }

    fn cache_flush_cpu(&mut self, cpu: CpuId, cache: CacheId, pages: &mut dyn SlabPages) {
        self.inner.cache_flush_cpu(cpu, cache, pages);
    }

    fn cache_shrink(&mut self, cpu: CpuId, cache: CacheId, pages: &mut dyn SlabPages) -> bool {
        self.inner.cache_shrink(cpu, cache, pages)
    }

    fn set_min_partial(&mut self, cache: CacheId, slabs: u32) {
        self.inner.set_min_partial(cache, slabs);
    }

    fn set_cpu_partial(
        &mut self,
        cpu: CpuId,
        cache: CacheId,
        objects: u32,
        pages: &mut dyn SlabPages,
    ) {
        self.inner.set_cpu_partial(cpu, cache, objects, pages);
    }

    fn rcu_pass(&mut self, cpu: CpuId, pages: &mut dyn SlabPages) -> u64 {
        self.inner.rcu_pass(cpu, pages)
    }

    fn cache_count(&self) -> usize {
        self.inner.cache_count()
    }

    fn cache_layout(&self, cache: CacheId) -> Option<CacheLayout> {
        self.inner.cache_layout(cache)
    }

    fn cache_node(&self, cache: CacheId, node: NodeId) -> CacheNodeState {
        self.inner.cache_node(cache, node)
    }

    fn cache_stat(&self, cache: CacheId, stat: SlabStat) -> u64 {
        if self.fault == SlabFault::FallbackUncounted && stat == SlabStat::OrderFallback {
            return 0;
        }
        self.inner.cache_stat(cache, stat)
    }

    fn for_each_slab(&self, cache: CacheId, visit: &mut dyn FnMut(SlabState)) {
        self.inner.for_each_slab(cache, &mut |mut slab| {
            if self.fault == SlabFault::InuseOff && slab.place == SlabPlace::NodePartial {
                slab.inuse += 1;
            }
            visit(slab);
        });
    }

    fn is_live(&self, cache: CacheId, object: ObjAddr) -> bool {
        self.inner.is_live(cache, object)
    }
}

/// Caches that keep an object aside, for threads.
#[derive(Debug)]
struct Aside {
    inner: OwnedSlabs<Fine>,
    memory: Memory,
}

impl Caches for Aside {
    type Handle<'a> = FaultyCaches<'a, &'a OwnedSlabs<Fine>>;

    fn made(case: &Case<Slab>) -> Result<Self, String> {
        Ok(Self { inner: Caches::made(case)?, memory: Memory::default() })
    }

    fn handle(&self) -> Self::Handle<'_> {
        FaultyCaches { inner: &self.inner, fault: SlabFault::RacyAside, memory: &self.memory }
    }

    fn settle(&self, pages: &mut dyn SlabPages) {
        if let Some((cache, object)) = self.memory.object() {
            self.memory.set(None);
            let _ = self.inner.shared().object_free(CpuId(0), cache, object, pages);
        }
    }
}

/// Plant every fault and look for it.
pub fn of_slab(config: &Config<'_>, report: &mut EngineReport) {
    for fault in SlabFault::ALONE {
        let run = catch(|| {
            flat::hunt::<Slab>(&super::hunt(config, super::CASES), &|case, exercised| {
                let machine = slab::machine(case);
                let inner = OwnedSlabs::<StdPlatform>::new(machine.as_ref(), case.rules, 1);
                let inner = inner.unwrap_or_else(|error| panic!("{error}"));
                let memory = Memory::default();
                slab::play(case, FaultyCaches { inner, fault, memory: &memory }, exercised)
            })
        });
        if !super::fate(report, fault.name(), run) {
            return;
        }
    }
    let threads = super::hunt(config, super::SCHEDULES);
    let run = catch(|| flat::hunt_threads::<Slab>(&threads, &slab::explore::<Aside>));
    if !super::fate(report, SlabFault::RacyAside.name(), run) {
        return;
    }
    let run = catch(|| flat::hunt_threads::<Slab>(&threads, &slab::explore::<OwnedSlabs<Torn>>));
    super::fate(report, "slab-words-in-two-steps", run);
}
