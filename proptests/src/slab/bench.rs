//! Playing a case under the laws.

use super::language::{Slab, Verb};
use super::pages::{FRAMES, Pages};
use crate::engine::Finding;
use crate::flat::{Case, Op};
use crate::lawful::Exercised;
use mmspec_impl::platform::StdPlatform;
use mmspec_impl::slab::OwnedSlabs;
use mmspec_model::contract::{SlabCaches, SlabError};
use mmspec_model::laws::{self, CachePicture, Live, Observation, SlabDid, SlabSeen, Step, World};
use mmspec_model::reference::slab as specified;
use mmspec_model::vocab::{
    CacheFlags, CacheId, CacheLayout, CacheSpec, CpuId, Machine, NodeId, ObjAddr, Pfn, SlabPlace,
    SlabStat, ZoneKind,
};
use std::cell::Cell;

/// Objects of one bulk call at most.
const MOST: u64 = 256;

/// A cache as the harness knows it.
struct Known {
    id: CacheId,
    spec: CacheSpec,
    layout: CacheLayout,
    min_partial: u32,
    cpu_partial_slabs: u32,
    /// In the order in which they came.
    live: Vec<ObjAddr>,
    freed: Option<ObjAddr>,
    gone: bool,
}

struct Bench<'a, S> {
    case: &'a Case<Slab>,
    slabs: S,
    pages: Pages,
    caches: Vec<Known>,
    exercised: &'a mut Exercised,
}

impl<S> World for Bench<'_, S> {
    fn is_managed(&self, pfn: Pfn) -> bool {
        pfn.0 < FRAMES
    }

    fn managed(&self) -> u64 {
        FRAMES
    }
}

/// What an operation did, for the laws.
type Did = Option<SlabDid>;

/// The machine of a case.
pub(crate) fn machine(case: &Case<Slab>) -> Machine {
    Machine::new(case.cpus, &[(ZoneKind::Normal, 0, FRAMES)])
}

/// The allocator of `impl`, with its free pointers in a table.
pub(super) fn of_implementation(
    case: &Case<Slab>,
    exercised: &mut Exercised,
) -> Result<u64, Finding> {
    let machine = machine(case);
    let slabs = OwnedSlabs::<StdPlatform>::new(machine.as_ref(), case.rules, 1)
        .map_err(|error| finding("invalid", error.to_string()))?;
    play(case, slabs, exercised)
}

fn finding(kind: &str, what: impl Into<String>) -> Finding {
    Finding { kind: kind.to_owned(), what: what.into(), at: None }
}

/// Play a case on `slabs`. How many operations did something.
///
/// # Errors
/// The first law that broke, or what the source of pages complains of.
pub fn play<S: SlabCaches>(
    case: &Case<Slab>,
    slabs: S,
    exercised: &mut Exercised,
) -> Result<u64, Finding> {
    let mut bench = Bench { case, slabs, pages: Pages::new(), caches: Vec::new(), exercised };
    let mut done = 0;
    let position = Cell::new(0);
    for (at, op) in case.ops.iter().enumerate() {
        position.set(at);
        let did = bench.act(op).map_err(|wrong| Finding { at: Some(at), ..wrong })?;
        done += u64::from(did);
    }
    Ok(done)
}

impl<S: SlabCaches> Bench<'_, S> {
    /// Do it and judge it; whether it applied.
    fn act(&mut self, op: &Op<Verb>) -> Result<bool, Finding> {
        match op.verb {
            Verb::Create => return self.create(op),
            Verb::Refuse => {
                self.pages.refuse(op.n, op.m.min(10) as u8);
                return Ok(true);
            }
            _ => {}
        }
        let at = usize::from(op.id);
        let Some(known) = self.caches.get(at).filter(|known| !known.gone) else {
            return Ok(false);
        };
        let id = known.id;
        let before = picture(&self.slabs, id);
        self.pages.cache = op.id;
        self.pages.asked.clear();
        let Some(did) = self.operate(op, at)? else { return Ok(false) };
        if let Some(wrong) = self.pages.wrong.take() {
            return Err(finding("pages", wrong));
        }
        if !self.caches[at].gone {
            let rcu = op.verb == Verb::Rcu;
            self.judge(at, did, rcu, &before)?;
        }
        Ok(true)
    }

    fn create(&mut self, op: &Op<Verb>) -> Result<bool, Finding> {
        let flags = CacheFlags::from_bits_truncate(op.flags);
        let object_size = u32::try_from(op.n).unwrap_or(u32::MAX);
        let align = 1 << op.m.min(12);
        let spec = CacheSpec { name: "case", object_size, align, flags };
        let expected = specified::layout(&spec, &self.case.rules, self.case.cpus);
        match (self.slabs.cache_create(spec), expected) {
            (Ok(id), Some(expected)) => {
                let layout = self.slabs.cache_layout(id);
                if layout != Some(expected) {
                    let what = format!("specified {expected:?}\nimplemented {layout:?}");
                    return Err(finding("difference", what));
                }
                self.caches.push(Known {
                    id,
                    spec,
                    layout: expected,
                    min_partial: expected.min_partial,
                    cpu_partial_slabs: expected.cpu_partial_slabs,
                    live: Vec::new(),
                    freed: None,
                    gone: false,
                });
                Ok(true)
            }
            (Err(SlabError::TooMany), _) | (Err(SlabError::Size), None) => Ok(false),
            (answer, expected) => {
                Err(finding("difference", format!("{spec:?}: {answer:?}, specified {expected:?}")))
            }
        }
    }

    fn operate(&mut self, op: &Op<Verb>, at: usize) -> Result<Did, Finding> {
        let known = &mut self.caches[at];
        let (cpu, id) = (CpuId(op.cpu), known.id);
        let (slabs, pages) = (&mut self.slabs, &mut self.pages);
        let refused = |error: SlabError| finding("refused", error.to_string());
        let nth = |n: u64, len: usize| usize::try_from(n).unwrap_or(0) % len.max(1);
        match op.verb {
            Verb::Alloc => {
                let got = slabs.object_alloc(cpu, id, op.gfp, None, pages).map_err(refused)?;
                known.live.extend(got);
                let got = u64::from(got.is_some());
                Ok(Some(SlabDid::Alloc { gfp: op.gfp, asked: 1, got, bulk: false }))
            }
            Verb::Bulk => {
                let asked = op.n.min(MOST);
                let mut slots = vec![ObjAddr(0); asked as usize];
                let filled =
                    slabs.object_alloc_bulk(cpu, id, op.gfp, &mut slots, pages).map_err(refused)?;
                if filled {
                    known.live.extend(slots);
                }
                let got = if filled { asked } else { 0 };
                Ok(Some(SlabDid::Alloc { gfp: op.gfp, asked, got, bulk: true }))
            }
            Verb::Free if !known.live.is_empty() => {
                let object = known.live.swap_remove(nth(op.n, known.live.len()));
                known.freed = Some(object);
                slabs.object_free(cpu, id, object, pages).map_err(refused)?;
                Ok(Some(SlabDid::Free(1)))
            }
            Verb::FreeBulk if !known.live.is_empty() => {
                let first = nth(op.m, known.live.len());
                let last = (first + op.n.min(MOST) as usize).min(known.live.len());
                let objects: Vec<ObjAddr> = known.live.drain(first..last).collect();
                known.freed = objects.last().copied().or(known.freed);
                slabs.object_free_bulk(cpu, id, &objects, pages).map_err(refused)?;
                Ok(Some(SlabDid::Free(objects.len() as u64)))
            }
            Verb::Wrong if !known.live.is_empty() && op.m > 0 => {
                let object = known.live[nth(op.n, known.live.len())];
                let wrong = ObjAddr(object.0 + op.m);
                if known.live.contains(&wrong) {
                    return Ok(None);
                }
                match slabs.object_free(cpu, id, wrong, pages) {
                    Ok(()) => {
                        Err(finding("contract", format!("{wrong:?} was freed, which is free")))
                    }
                    Err(_) => Ok(Some(SlabDid::Other)),
                }
            }
            Verb::Twice => {
                let Some(object) = known.freed.filter(|object| !known.live.contains(object)) else {
                    return Ok(None);
                };
                match slabs.object_free(cpu, id, object, pages) {
                    Ok(()) => Err(finding("contract", format!("{object:?} was freed twice"))),
                    Err(_) => Ok(Some(SlabDid::Other)),
                }
            }
            Verb::Destroy => self.destroy(cpu, at).map(Some),
            _ => self.manage(op, at),
        }
    }

    fn manage(&mut self, op: &Op<Verb>, at: usize) -> Result<Did, Finding> {
        let known = &mut self.caches[at];
        let (cpu, id) = (CpuId(op.cpu), known.id);
        let (slabs, pages) = (&mut self.slabs, &mut self.pages);
        match op.verb {
            Verb::Flush => {
                slabs.cache_flush_cpu(cpu, id, pages);
                let mut left = None;
                slabs.for_each_slab(id, &mut |slab| {
                    if matches!(slab.place, SlabPlace::Cpu(c) | SlabPlace::CpuPartial(c) if c == cpu.0)
                    {
                        left = Some(slab);
                    }
                });
                if let Some(slab) = left {
                    return Err(finding("flush", format!("a flushed CPU has {slab:?} still")));
                }
                Ok(Some(SlabDid::Other))
            }
            Verb::Shrink => Ok(Some(SlabDid::Shrink(slabs.cache_shrink(cpu, id, pages)))),
            Verb::MinPartial => {
                known.min_partial = op.n.min(100) as u32;
                slabs.set_min_partial(id, known.min_partial);
                Ok(Some(SlabDid::Limits))
            }
            Verb::CpuPartial => {
                let objects = op.n.min(1000) as u32;
                slabs.set_cpu_partial(cpu, id, objects, pages);
                if !known.spec.flags.contains(CacheFlags::DEBUG) {
                    known.cpu_partial_slabs = (2 * objects).div_ceil(known.layout.objects);
                }
                Ok(Some(SlabDid::Limits))
            }
            Verb::Rcu => {
                slabs.rcu_pass(cpu, pages);
                Ok(Some(SlabDid::Other))
            }
            _ => Ok(None),
        }
    }

    fn destroy(&mut self, cpu: CpuId, at: usize) -> Result<SlabDid, Finding> {
        let known = &mut self.caches[at];
        let live = known.live.len();
        match self.slabs.cache_destroy(cpu, known.id, &mut self.pages) {
            Ok(()) if live == 0 => {
                known.gone = true;
                Ok(SlabDid::Other)
            }
            Err(SlabError::InUse(slabs)) if live > 0 && slabs > 0 => Ok(SlabDid::Shrink(true)),
            answer => {
                Err(finding("contract", format!("destroyed with {live} live objects: {answer:?}")))
            }
        }
    }

    fn judge(
        &mut self,
        at: usize,
        did: SlabDid,
        passed: bool,
        before: &CachePicture,
    ) -> Result<(), Finding> {
        let known = &self.caches[at];
        let after = picture(&self.slabs, known.id);
        let blocks = self.pages.of(at as u16);
        let mut live = known.live.clone();
        live.sort_unstable();
        // What waits shows by its absence; after a grace period nothing does.
        let rcu = known.spec.flags.contains(CacheFlags::TYPESAFE_BY_RCU) && !passed;
        let waiting = if rcu { blocks.len().saturating_sub(after.slabs.len()) } else { 0 };
        let seen = SlabSeen {
            rules: self.case.rules,
            spec: known.spec,
            layout: known.layout,
            min_partial: known.min_partial,
            cpu_partial_slabs: known.cpu_partial_slabs,
            before: Some(before),
            after: &after,
            live: &live,
            blocks: &blocks,
            waiting: waiting as u64,
            asked: &self.pages.asked,
            did,
        };
        let verdict = judged(&seen, self, &mut Exercised::new());
        let (counts, verdict) = verdict;
        for (id, count) in counts {
            *self.exercised.entry(id).or_default() += count;
        }
        verdict
    }
}

/// All that is to be seen of a cache.
pub(super) fn picture<S: SlabCaches>(of: &S, id: CacheId) -> CachePicture {
    let mut slabs = Vec::new();
    of.for_each_slab(id, &mut |slab| slabs.push(slab));
    CachePicture {
        slabs,
        nodes: vec![of.cache_node(id, NodeId(0))],
        stats: SlabStat::ALL.map(|stat| of.cache_stat(id, stat)),
    }
}

/// Every law of the family, and how often each compared something.
pub(super) fn judged(
    seen: &SlabSeen<'_>,
    world: &dyn World,
    counts: &mut Exercised,
) -> (Exercised, Result<(), Finding>) {
    let observation = Observation {
        world,
        live: &Live::default(),
        granted: &[],
        step: Step::Other,
        linux: None,
        lists: None,
        runs: None,
        compaction: None,
        memcg: None,
        slab: Some(seen),
    };
    let mut verdict = Ok(());
    for law in laws::all().filter(|law| law.family == laws::Family::Slab) {
        let mut count = 0;
        let judged = law.judge(&observation, &mut count);
        *counts.entry(law.id).or_default() += count;
        if let Err(violation) = judged {
            verdict = Err(finding(law.id, violation.to_string()));
            break;
        }
    }
    (std::mem::take(counts), verdict)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Budget, Config};
    use crate::flat;

    #[test]
    fn the_implementation_keeps_the_laws_and_every_law_is_asked() {
        let report = flat::run::<Slab>(&Config::new(1, Budget::cases(2000)));
        if let Some(failure) = report.failures.first() {
            panic!("{}: {}\n{}", failure.finding.kind, failure.finding.what, failure.case_text());
        }
        for law in laws::all().filter(|law| law.family == laws::Family::Slab) {
            assert!(report.laws.get(law.id).is_some_and(|count| *count > 0), "{}", law.id);
        }
    }
}
