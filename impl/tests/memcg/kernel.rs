//! The kernel's own tests (§8.1: selftests/cgroup/test_memcontrol), as far as pages alone tell, on a machine whose
//! reclaimer keeps §3.

use crate::bench::*;
use mmspec_impl::memcg::OwnedMemcg;
use mmspec_model::{
    contract::{MemcgCall, MemcgDone},
    vocab::{MemcgEvent, MemcgId},
};

/// Within `percent` of the sum of both.
fn close(a: u64, b: u64, percent: u64) -> bool {
    a.abs_diff(b) <= (a + b) / 100 * percent
}

#[test]
fn current_and_peak() {
    let groups = groups();
    let memcg = groups.create(ROOT).unwrap();
    let handles = [(); 4].map(|()| groups.open_peak(memcg));
    assert_eq!((groups.usage(memcg), groups.read_peak(handles[0])), (0, 0));
    let mut machine = Machine::new(&groups);
    machine.faults(memcg, 50 * MIB, false).unwrap();
    assert!(groups.usage(memcg) >= 50 * MIB && close(groups.usage(memcg), 50 * MIB, 3));
    // The task ends.
    machine.anon[1] = 0;
    groups.uncharge(memcg, 50 * MIB as u32);
    for handle in &handles[1..3] {
        assert!(groups.read_peak(*handle) >= 50 * MIB);
        groups.reset_peak(*handle);
        assert!(groups.read_peak(*handle) <= 30 * MIB);
        assert!(groups.read_peak(handles[0]) >= 50 * MIB);
    }
    machine.faults(memcg, 50 * MIB, true).unwrap();
    for handle in [2, 0, 1] {
        assert!(groups.read_peak(handles[handle]) >= 50 * MIB);
        groups.close_peak(handles[handle]);
    }
}

/// A (max 200M) with B (50M protected) and B's children C0 to C3; and G outside of B that presses.
struct Protected {
    groups: OwnedMemcg,
    b: MemcgId,
    c: [MemcgId; 4],
    g: MemcgId,
}

fn protected(set: impl Fn(&OwnedMemcg, MemcgId, u64)) -> Protected {
    let groups = groups();
    let a = groups.create(ROOT).unwrap();
    groups.limit(a, 200 * MIB);
    let b = groups.create(a).unwrap();
    let g = groups.create(a).unwrap();
    let c = [75, 25, 0, 500].map(|mib| {
        let child = groups.create(b).unwrap();
        set(&groups, child, mib * MIB);
        child
    });
    set(&groups, b, 50 * MIB);
    Protected { groups, b, c, g }
}

impl Protected {
    fn press(&self) -> Machine<'_> {
        let mut machine = Machine::new(&self.groups);
        for child in &self.c[..3] {
            machine.faults(*child, 50 * MIB, true).unwrap();
        }
        machine.faults(self.g, 148 * MIB, false).unwrap();
        let usage = |memcg| self.groups.usage(memcg);
        assert!(close(usage(self.b), 50 * MIB, 3), "B {}", usage(self.b) / MIB);
        assert!(close(usage(self.c[0]), 29 * MIB, 15), "C0 {}", usage(self.c[0]) / MIB);
        assert!(close(usage(self.c[1]), 21 * MIB, 20), "C1 {}", usage(self.c[1]) / MIB);
        assert_eq!(usage(self.c[3]), 0);
        machine
    }

    fn reclaim_of_c0(&self, machine: &mut Machine<'_>) {
        let usage = self.groups.usage(self.c[0]);
        let call = MemcgCall::Reclaim { memcg: self.c[0], pages: usage.saturating_sub(10 * MIB) };
        assert_eq!(self.groups.charge(CPU0, call, machine), MemcgDone::Ok);
    }
}

#[test]
fn min_holds_to_the_death() {
    let all = protected(|groups, memcg, pages| groups.set_min(memcg, pages).unwrap());
    let mut machine = all.press();
    // 22M more: what is protected stays, and the task that presses is killed.
    machine.faults(all.g, 22 * MIB, false).unwrap();
    assert_eq!(machine.kills, 1);
    assert!(close(all.groups.usage(all.b), 50 * MIB, 3));
    all.reclaim_of_c0(&mut machine);
}

#[test]
fn low_gives_way() {
    let all = protected(|groups, memcg, pages| groups.set_low(memcg, pages).unwrap());
    let mut machine = all.press();
    let low = |memcg| all.groups.look(memcg).local[MemcgEvent::Low as usize];
    machine.faults(all.g, 22 * MIB, false).unwrap();
    assert_eq!(machine.kills, 0);
    let usage = all.groups.usage(all.b);
    assert!(close(usage, 30 * MIB, 3), "{}", usage / MIB);
    for memcg in [all.b, all.g] {
        assert_eq!(all.groups.events(memcg, MemcgEvent::Oom), 0);
    }
    assert!(low(all.c[0]) > 0 && low(all.c[1]) > 0 && low(all.c[3]) == 0);
    all.reclaim_of_c0(&mut machine);
}

#[test]
fn high() {
    let groups = groups();
    let memcg = groups.create(ROOT).unwrap();
    groups.limit_high(memcg, 30 * MIB);
    let mut machine = Machine::new(&groups);
    machine.faults(memcg, 31 * MIB, false).unwrap();
    machine.anon[1] = 0;
    groups.uncharge(memcg, 31 * MIB as u32);
    machine.faults(memcg, 50 * MIB, true).unwrap();
    assert!(close(groups.usage(memcg), 30 * MIB, 5));
    assert!(groups.events(memcg, MemcgEvent::High) > 0);
    assert_eq!(groups.events(memcg, MemcgEvent::Max), 0);
}

/// mlock of more than memory.max in one call: memory.high shows first.
#[test]
fn high_sync() {
    let groups = groups();
    let memcg = groups.create(ROOT).unwrap();
    groups.limit_high(memcg, 30 * MIB);
    groups.limit(memcg, 140 * MIB);
    let mut machine = Machine::new(&groups);
    let mut pages = 0;
    while groups.events(memcg, MemcgEvent::High) == 0 {
        machine.fault(memcg, false).unwrap();
        pages += 1;
    }
    assert!(pages < 31 * MIB && groups.events(memcg, MemcgEvent::Max) == 0);
    machine.faults(memcg, 100 * MIB, false).unwrap();
    assert!(machine.slept > 0, "throttled");
}

#[test]
fn max() {
    let groups = groups();
    let memcg = groups.create(ROOT).unwrap();
    groups.limit(memcg, 30 * MIB);
    let mut machine = Machine::new(&groups);
    machine.faults(memcg, 50 * MIB, true).unwrap();
    let usage = groups.usage(memcg);
    assert!(usage > 0 && usage <= 30 * MIB && close(usage, 30 * MIB, 5));
    assert!(groups.events(memcg, MemcgEvent::Max) > 0);
    assert_eq!(machine.kills, 0);
    machine.faults(memcg, 100 * MIB, false).unwrap();
    assert!(machine.kills > 0);
}

#[test]
fn reclaim_file() {
    let groups = groups();
    let memcg = groups.create(ROOT).unwrap();
    let mut machine = Machine::new(&groups);
    machine.swap_free = 100 * MIB;
    machine.faults(memcg, 50 * MIB, true).unwrap();
    machine.faults(memcg, 50 * MIB, false).unwrap();
    assert!(close(groups.usage(memcg), 100 * MIB, 10));
    let pages = groups.usage(memcg) - 30 * MIB;
    let call = MemcgCall::Reclaim { memcg, pages };
    assert_eq!(groups.charge(CPU0, call, &mut machine), MemcgDone::Ok);
    assert!(close(groups.usage(memcg), 30 * MIB, 3));
}

#[test]
fn swap_max_and_peak() {
    let groups = groups();
    let memcg = groups.create(ROOT).unwrap();
    groups.set_swap_max(memcg, 30 * MIB).unwrap();
    groups.limit(memcg, 30 * MIB);
    let mut machine = Machine::new(&groups);
    machine.swap_free = 1000 * MIB;
    let handle = groups.open_peak(memcg);
    // 100M of anonymous memory: 60 fit, and the task is killed.
    while machine.kills == 0 {
        machine.fault(memcg, false).unwrap();
    }
    assert_eq!(groups.events(memcg, MemcgEvent::Oom), 1);
    assert_eq!(groups.events(memcg, MemcgEvent::OomKill), 1);
    let seen = groups.look(memcg);
    assert!(seen.memory.watermark >= 29 * MIB && seen.swap.watermark >= 29 * MIB);
    // What it had in swap goes with it.
    machine.swapped[1] = 0;
    groups.uncharge_swap(memcg, seen.swap.usage as u32);
    let left = std::mem::take(&mut machine.anon[1]);
    groups.uncharge(memcg, left as u32);
    groups.reset_peak(handle);
    assert!(groups.read_peak(handle) <= MIB);
    machine.faults(memcg, 50 * MIB, false).unwrap();
    let seen = groups.look(memcg);
    assert!(close(seen.memory.usage, 30 * MIB, 3));
    assert!(close(seen.memory.usage + seen.swap.usage, 50 * MIB, 3));
    assert!(groups.events(memcg, MemcgEvent::Max) > 0);
}

#[test]
fn oom_events() {
    let groups = groups();
    let memcg = groups.create(ROOT).unwrap();
    groups.limit(memcg, 30 * MIB);
    let mut machine = Machine::new(&groups);
    while machine.kills == 0 {
        machine.fault(memcg, false).unwrap();
    }
    assert_eq!(groups.events(memcg, MemcgEvent::Oom), 1);
    assert_eq!(groups.events(memcg, MemcgEvent::OomKill), 1);
    assert!(
        groups.usage(memcg) <= 64 + 1,
        "empty but for a stock and the page that was waited for"
    );
}
