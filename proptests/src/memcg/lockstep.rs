//! Two sides, one operation after another.

use super::bench::{Bench, Came};
use super::language::{Memcg, Verb};
use crate::engine::Finding;
use crate::flat::{Case, Op};
use crate::lawful::Exercised;
use mmspec_impl::memcg::OwnedMemcg;
use mmspec_impl::platform::StdPlatform;
use mmspec_model::contract::{MemcgDone, MemoryCgroups};
use mmspec_model::laws::{self, Live, MemcgDid, MemcgPicture, MemcgSeen, Observation, Step, World};
use mmspec_model::reference::memcg::Reference;
use mmspec_model::vocab::{MemcgRules, Pfn};

/// Groups and handles of a case at most: it has one operation for each.
const GROUPS: usize = 512;
const PEAKS: usize = 512;

/// No page frames are looked at.
struct Nowhere;

impl World for Nowhere {
    fn is_managed(&self, _pfn: Pfn) -> bool {
        false
    }

    fn managed(&self) -> u64 {
        0
    }
}

/// The specification and the implementation.
pub(super) fn compared(case: &Case<Memcg>, exercised: &mut Exercised) -> Result<u64, Finding> {
    let reference = Reference::new(case.rules, case.cpus);
    let cpus = usize::from(case.cpus);
    let tested = OwnedMemcg::<StdPlatform>::new(cpus, GROUPS, PEAKS, case.rules);
    play(case, reference, tested, exercised)
}

fn finding(kind: &str, what: String, at: usize) -> Finding {
    Finding { kind: kind.to_owned(), what, at: Some(at) }
}

/// Play a case on both; what they answer and show must be the same, and the laws hold for `tested`. How many
/// operations did something.
///
/// # Errors
/// The first difference, or the first law that broke.
pub fn play<A: MemoryCgroups, B: MemoryCgroups>(
    case: &Case<Memcg>,
    specified: A,
    tested: B,
    exercised: &mut Exercised,
) -> Result<u64, Finding> {
    let mut specified = Bench::new(specified, case.cpus);
    let mut tested = Bench::new(tested, case.cpus);
    let mut before = tested.picture();
    let mut done = 0;
    for (at, op) in case.ops.iter().enumerate() {
        let (came, after) = step(case.rules, &mut specified, &mut tested, &before, op, exercised)
            .map_err(|(kind, what)| finding(kind, what, at))?;
        done += u64::from(came != Came::Skipped);
        before = after;
    }
    Ok(done)
}

/// One operation on both, judged: what it came to, and what shows then.
pub(super) fn step<A: MemoryCgroups, B: MemoryCgroups>(
    rules: MemcgRules,
    specified: &mut Bench<A>,
    tested: &mut Bench<B>,
    before: &MemcgPicture,
    op: &Op<Verb>,
    exercised: &mut Exercised,
) -> Result<(Came, MemcgPicture), (&'static str, String)> {
    let expected = specified.act(op);
    let came = tested.act(op);
    if let Came::Call { done: None, steps, .. } = &came {
        return Err(("endless", format!("a call asks without end: {:?}", steps.last())));
    }
    let after = tested.picture();
    judge(rules, (before, &after), tested, &came, exercised)?;
    if expected != came {
        let what = format!("the specification: {expected:?}\nthe implementation: {came:?}");
        return Err(("difference", what));
    }
    if let Some(what) = difference(&specified.picture(), &after) {
        return Err(("difference", what));
    }
    Ok((came, after))
}

/// The first thing that differs.
fn difference(specified: &MemcgPicture, tested: &MemcgPicture) -> Option<String> {
    let groups = specified.groups.iter().zip(&tested.groups).enumerate();
    for (id, (specified, tested)) in groups {
        if specified != tested {
            return Some(format!("g{id}: specified {specified:?}\nimplemented {tested:?}"));
        }
    }
    let stocks = specified.stocks.iter().zip(&tested.stocks);
    for (specified, tested) in stocks {
        if specified != tested {
            return Some(format!("stock: specified {specified:?}\nimplemented {tested:?}"));
        }
    }
    (specified != tested).then(|| "the number of groups".to_owned())
}

fn judge<M: MemoryCgroups>(
    rules: MemcgRules,
    (before, after): (&MemcgPicture, &MemcgPicture),
    bench: &Bench<M>,
    came: &Came,
    exercised: &mut Exercised,
) -> Result<(), (&'static str, String)> {
    let did = match came {
        Came::Call { call, steps, done } => {
            MemcgDid::Call { call: *call, steps, done: done.unwrap_or(MemcgDone::NoGroup) }
        }
        Came::Protection { root, memcg, effective } => {
            MemcgDid::Protection { root: *root, memcg: *memcg, effective: *effective }
        }
        Came::Skipped | Came::Said(_) => MemcgDid::Other,
    };
    let seen = MemcgSeen { rules, before: Some(before), after, held: &bench.held, did };
    judged(&seen, |_| true, exercised)
}

/// Every law of the family that is `wanted`.
pub(crate) fn judged(
    seen: &MemcgSeen<'_>,
    wanted: impl Fn(&str) -> bool,
    exercised: &mut Exercised,
) -> Result<(), (&'static str, String)> {
    let observation = Observation {
        world: &Nowhere,
        live: &Live::default(),
        granted: &[],
        step: Step::Other,
        linux: None,
        lists: None,
        runs: None,
        compaction: None,
        memcg: Some(seen),
        slab: None,
    };
    let family = laws::all().filter(|law| law.family == laws::Family::Memcg);
    for law in family.filter(|law| wanted(law.id)) {
        let mut count = 0;
        let verdict = law.judge(&observation, &mut count);
        *exercised.entry(law.id).or_default() += count;
        verdict.map_err(|violation| (law.id, violation.to_string()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Budget, Config};
    use crate::flat;

    #[test]
    fn the_specification_keeps_the_laws() {
        let report = flat::run::<Memcg>(&Config::new(1, Budget::cases(3000)));
        if let Some(failure) = report.failures.first() {
            panic!("{}\n{}", failure.finding.what, failure.case_text());
        }
        for law in laws::all().filter(|law| law.family == laws::Family::Memcg) {
            assert!(report.laws.get(law.id).is_some_and(|count| *count > 0), "{}", law.id);
        }
    }
}
