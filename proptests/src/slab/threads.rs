//! The threads of a case under schedules.
//!
//! Every hand-over is checked as it happens: of objects, which nobody may have, and of pages that come back, in
//! which nobody may have any. When all threads are done the laws of quiescence hold, and when all was given back
//! and the cache is shrunk its pages are back too.

use super::bench::{judged, picture};
use super::language::{Slab, Verb};
use super::pages::{FEW_FRAMES, Pages};
use crate::engine::Finding;
use crate::flat::{Case, Op, columns};
use crate::lawful::Exercised;
use crate::schedules::{self, Executed, Fine, Strategy};
use mmspec_impl::Platform;
use mmspec_impl::slab::OwnedSlabs;
use mmspec_model::contract::{SlabCaches, SlabError, SlabPages};
use mmspec_model::laws::{SlabDid, SlabSeen, World};
use mmspec_model::vocab::{
    CacheFlags, CacheId, CacheLayout, CacheSpec, CpuId, Gfp, Machine, NodeId, ObjAddr, Order, Pfn,
    SlabStat, ZoneKind,
};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Objects of one bulk call at most.
const MOST: u64 = 64;

/// Slab caches that threads share.
pub trait Caches: Send + Sync + Sized + 'static {
    /// One thread's way to them.
    type Handle<'a>: SlabCaches;

    /// For a case.
    ///
    /// # Errors
    /// The case cannot be booted.
    fn made(case: &Case<Slab>) -> Result<Self, String>;

    /// One thread's way to them.
    fn handle(&self) -> Self::Handle<'_>;

    /// All threads are done: what lies aside goes where it belongs.
    fn settle(&self, pages: &mut dyn SlabPages) {
        let _ = pages;
    }
}

impl<P> Caches for OwnedSlabs<P>
where
    P: Platform + 'static,
    Self: Send + Sync,
{
    type Handle<'a> = &'a Self;

    fn made(case: &Case<Slab>) -> Result<Self, String> {
        let machine = Machine::new(case.cpus, &[(ZoneKind::Normal, 0, FEW_FRAMES)]);
        Self::new(machine.as_ref(), case.rules, 1).map_err(|error| error.to_string())
    }

    fn handle(&self) -> Self::Handle<'_> {
        self
    }
}

/// The allocator of `impl`.
pub(super) fn of_implementation(
    case: &Case<Slab>,
    strategy: Strategy,
    most: u64,
    exercised: &mut Exercised,
) -> Executed {
    explore::<OwnedSlabs<Fine>>(case, strategy, most, exercised)
}

/// Run the threads of a case under at most `most` schedules, up to the first finding.
pub fn explore<S: Caches>(
    case: &Case<Slab>,
    strategy: Strategy,
    most: u64,
    exercised: &mut Exercised,
) -> Executed {
    let counts: Arc<Mutex<Exercised>> = Arc::default();
    let (case, shared) = (case.clone(), Arc::clone(&counts));
    let executed = schedules::executions(strategy, most, false, move || {
        // Nobody else wants them: they are held while threads run.
        let mut counts = shared.lock().unwrap_or_else(PoisonError::into_inner);
        execute::<S>(&case, &mut counts).err()
    });
    let counts = counts.lock().unwrap_or_else(PoisonError::into_inner);
    for (law, count) in counts.iter() {
        *exercised.entry(law).or_default() += count;
    }
    executed
}

/// A cache as the threads know it.
struct Known {
    id: CacheId,
    spec: CacheSpec,
    layout: CacheLayout,
    /// The highest ever written.
    min_partial: u32,
    cpu_partial_slabs: u32,
    live: Vec<ObjAddr>,
    /// Attempts to allocate that must have been counted.
    attempts: u64,
    /// A bulk call failed: how many attempts it counted is its own affair.
    vague: bool,
}

/// Shared by the threads. Its lock is a plain one: it is not held where others may run.
struct Ledger {
    pages: Pages,
    caches: Vec<Known>,
    finding: Option<Finding>,
}

fn finding(kind: &str, what: impl Into<String>) -> Finding {
    Finding { kind: kind.to_owned(), what: what.into(), at: None }
}

impl Ledger {
    fn found(&mut self, kind: &str, what: impl Into<String>) {
        self.finding.get_or_insert(finding(kind, what));
    }

    /// Objects come to a thread.
    fn got(&mut self, at: usize, objects: &[ObjAddr]) {
        for object in objects {
            let known = &mut self.caches[at];
            let stride = u64::from(known.layout.stride);
            let overlap = known.live.iter().find(|live| live.0.abs_diff(object.0) < stride);
            if let Some(overlap) = overlap {
                let what = format!("{object:?} was handed out while somebody has {overlap:?}");
                self.found("no-overlap", what);
                return;
            }
            known.live.push(*object);
        }
    }
}

/// The source of pages, for one call.
struct Source<'a> {
    ledger: &'a Mutex<Ledger>,
    cache: u16,
}

impl Source<'_> {
    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SlabPages for Source<'_> {
    fn alloc(&mut self, cpu: CpuId, order: Order, gfp: Gfp, node: Option<NodeId>) -> Option<Pfn> {
        let mut ledger = self.ledger();
        ledger.pages.cache = self.cache;
        ledger.pages.alloc(cpu, order, gfp, node)
    }

    fn free(&mut self, cpu: CpuId, pfn: Pfn, order: Order) {
        let mut ledger = self.ledger();
        let (start, end) = (pfn.0 << 12, (pfn.0 + order.pages()) << 12);
        let live = ledger.caches.iter().flat_map(|known| &known.live);
        if let Some(object) = live.copied().find(|object| (start..end).contains(&object.0)) {
            ledger.found("pages", format!("{pfn} was given back while somebody has {object:?}"));
        }
        ledger.pages.free(cpu, pfn, order);
        if let Some(wrong) = ledger.pages.wrong.take() {
            ledger.found("pages", wrong);
        }
    }
}

struct Actor<'a, S> {
    slabs: S,
    ledger: &'a Mutex<Ledger>,
}

impl<'a, S: SlabCaches> Actor<'a, S> {
    fn ledger(&self) -> MutexGuard<'a, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn create(&mut self, op: &Op<Verb>) {
        let flags = CacheFlags::from_bits_truncate(op.flags);
        let object_size = u32::try_from(op.n).unwrap_or(u32::MAX);
        let spec = CacheSpec { name: "case", object_size, align: 1 << op.m.min(12), flags };
        let Ok(id) = self.slabs.cache_create(spec) else { return };
        let Some(layout) = self.slabs.cache_layout(id) else { return };
        self.ledger().caches.push(Known {
            id,
            spec,
            layout,
            min_partial: layout.min_partial,
            cpu_partial_slabs: layout.cpu_partial_slabs,
            live: Vec::new(),
            attempts: 0,
            vague: false,
        });
    }

    fn refused(&self, result: Result<(), SlabError>) {
        if let Err(error) = result {
            self.ledger().found("refused", error.to_string());
        }
    }

    fn alloc(&mut self, op: &Op<Verb>, at: usize, id: CacheId) {
        let (cpu, mut pages) = (CpuId(op.cpu), Source { ledger: self.ledger, cache: op.id });
        let (asked, got) = if op.verb == Verb::Alloc {
            let got = self.slabs.object_alloc(cpu, id, op.gfp, None, &mut pages);
            (1, got.map(|got| got.into_iter().collect::<Vec<_>>()))
        } else {
            let mut slots = vec![ObjAddr(0); op.n.min(MOST) as usize];
            let filled = self.slabs.object_alloc_bulk(cpu, id, op.gfp, &mut slots, &mut pages);
            (slots.len(), filled.map(|filled| if filled { slots } else { Vec::new() }))
        };
        let mut ledger = self.ledger();
        match got {
            Err(error) => ledger.found("refused", error.to_string()),
            Ok(got) => {
                ledger.caches[at].attempts += asked as u64;
                ledger.caches[at].vague |= op.verb == Verb::Bulk && got.len() < asked;
                ledger.got(at, &got);
            }
        }
    }

    fn act(&mut self, op: &Op<Verb>) {
        match op.verb {
            Verb::Create => return self.create(op),
            Verb::Refuse => return self.ledger().pages.refuse(op.n, op.m.min(10) as u8),
            _ => {}
        }
        let (cpu, at) = (CpuId(op.cpu), usize::from(op.id));
        let Some(id) = self.ledger().caches.get(at).map(|known| known.id) else { return };
        let mut pages = Source { ledger: self.ledger, cache: op.id };
        match op.verb {
            Verb::Alloc | Verb::Bulk => self.alloc(op, at, id),
            Verb::Free | Verb::FreeBulk => {
                let objects: Vec<ObjAddr> = {
                    let live = &mut self.ledger().caches[at].live;
                    if live.is_empty() {
                        return;
                    }
                    if op.verb == Verb::Free {
                        vec![live.swap_remove(op.n as usize % live.len())]
                    } else {
                        let first = op.m as usize % live.len();
                        let last = (first + op.n.min(MOST) as usize).min(live.len());
                        live.drain(first..last).collect()
                    }
                };
                let done = if op.verb == Verb::Free {
                    self.slabs.object_free(cpu, id, objects[0], &mut pages)
                } else {
                    self.slabs.object_free_bulk(cpu, id, &objects, &mut pages)
                };
                self.refused(done);
            }
            Verb::Flush => self.slabs.cache_flush_cpu(cpu, id, &mut pages),
            Verb::Shrink => drop(self.slabs.cache_shrink(cpu, id, &mut pages)),
            Verb::MinPartial => {
                let slabs = op.n.min(100) as u32;
                self.slabs.set_min_partial(id, slabs);
                let known = &mut self.ledger().caches[at];
                known.min_partial = known.min_partial.max(slabs);
            }
            Verb::CpuPartial => {
                let objects = op.n.min(1000) as u32;
                {
                    let known = &mut self.ledger().caches[at];
                    let slabs = (2 * objects).div_ceil(known.layout.objects);
                    known.cpu_partial_slabs = known.cpu_partial_slabs.max(slabs);
                }
                self.slabs.set_cpu_partial(cpu, id, objects, &mut pages);
            }
            Verb::Rcu => drop(self.slabs.rcu_pass(cpu, &mut pages)),
            // Caches go when nobody uses them, and misuse is for one at a time.
            _ => {}
        }
    }
}

/// Verbs whose CPU is somebody that they work on.
const fn is_remote(verb: Verb) -> bool {
    matches!(verb, Verb::Flush)
}

fn execute<S: Caches>(case: &Case<Slab>, exercised: &mut Exercised) -> Result<(), Finding> {
    let slabs = Arc::new(S::made(case).map_err(|error| finding("invalid", error))?);
    let pages = Pages::of_frames(FEW_FRAMES);
    let ledger = Arc::new(Mutex::new(Ledger { pages, caches: Vec::new(), finding: None }));
    let (alone, threads) = columns(case, Verb::Together, is_remote);
    {
        let mut actor = Actor { slabs: slabs.handle(), ledger: &ledger };
        alone.iter().for_each(|(_, op)| actor.act(op));
    }
    let take = || ledger.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(finding) = take().finding.take() {
        return Err(finding);
    }
    schedules::together(|| {
        let running: Vec<_> = threads
            .into_iter()
            .map(|ops| {
                let (slabs, ledger) = (Arc::clone(&slabs), Arc::clone(&ledger));
                shuttle::thread::spawn(move || {
                    let mut actor = Actor { slabs: slabs.handle(), ledger: &ledger };
                    for (at, op) in ops {
                        actor.act(&op);
                        if let Some(finding) = &mut actor.ledger().finding {
                            finding.at.get_or_insert(at);
                            return;
                        }
                    }
                })
            })
            .collect();
        for thread in running {
            let _ = thread.join();
        }
    });
    if let Some(finding) = take().finding.take() {
        return Err(finding);
    }
    slabs.settle(&mut Source { ledger: &ledger, cache: 0 });
    let mut handle = slabs.handle();
    quiet(case, &handle, &mut take(), exercised)?;
    let caches = take().caches.len();
    for at in 0..caches {
        let mut source = Source { ledger: &ledger, cache: at as u16 };
        let (id, live) = {
            let known = &mut take().caches[at];
            (known.id, std::mem::take(&mut known.live))
        };
        for object in live {
            if let Err(error) = handle.object_free(CpuId(0), id, object, &mut source) {
                return Err(finding("refused", format!("{object:?}: {error}")));
            }
        }
        let left = handle.cache_shrink(CpuId(0), id, &mut source);
        handle.rcu_pass(CpuId(0), &mut source);
        let blocks = take().pages.of(at as u16);
        if left || !blocks.is_empty() {
            let what = format!("k{at} keeps {blocks:?} without live objects, after shrinking");
            return Err(finding("returns", what));
        }
    }
    take().finding.take().map_or(Ok(()), Err)
}

/// No page frames are looked at.
struct Frames;

impl World for Frames {
    fn is_managed(&self, pfn: Pfn) -> bool {
        pfn.0 < FEW_FRAMES
    }

    fn managed(&self) -> u64 {
        FEW_FRAMES
    }
}

/// All threads are done.
fn quiet<S: SlabCaches>(
    case: &Case<Slab>,
    slabs: &S,
    ledger: &mut Ledger,
    exercised: &mut Exercised,
) -> Result<(), Finding> {
    for (at, known) in ledger.caches.iter_mut().enumerate() {
        known.live.sort_unstable();
        let after = picture(slabs, known.id);
        let blocks = ledger.pages.of(at as u16);
        let rcu = known.spec.flags.contains(CacheFlags::TYPESAFE_BY_RCU);
        let waiting = if rcu { blocks.len().saturating_sub(after.slabs.len()) } else { 0 };
        let seen = SlabSeen {
            rules: case.rules,
            spec: known.spec,
            layout: known.layout,
            min_partial: known.min_partial,
            cpu_partial_slabs: known.cpu_partial_slabs,
            before: None,
            after: &after,
            live: &known.live,
            blocks: &blocks,
            waiting: waiting as u64,
            asked: &[],
            did: SlabDid::Other,
        };
        let (counts, verdict) = judged(&seen, &Frames, &mut Exercised::new());
        for (law, count) in counts {
            *exercised.entry(law).or_default() += count;
        }
        verdict?;
        let counted = after.stats[SlabStat::AllocFastpath as usize]
            + after.stats[SlabStat::AllocSlowpath as usize];
        if !known.vague && counted != known.attempts {
            let what = format!("{counted} attempts of {} to allocate were counted", known.attempts);
            return Err(finding("slab-stat-allocs", what));
        }
    }
    Ok(())
}
