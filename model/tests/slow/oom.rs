//! R to T and nopage: the OOM killer, and requests that may not fail.

use crate::bench::{CPU0, Rote, ZONE, give_back, request, take_all, task, with_free};
use mmspec_model::contract::{
    CpuHotplug, Observe, Outcome, PageAllocator, SlowPath, SlowReply, SlowStep, TaskFlags,
};
use mmspec_model::reference::Reference;
use mmspec_model::vocab::{CpuId, Gfp, NodeMask, Rules};

fn now(free: u64) -> Reference {
    with_free(Rules::linux_6_12(), free)
}

/// R: a lock that somebody holds is progress; so the walk goes round.
#[test]
fn a_busy_lock_is_progress() {
    let busy = Rote { oom_lock: false, most: 20, ..Rote::default() };
    assert_eq!(busy.run(&mut now(0), request(0, Gfp::KERNEL)), "RO".repeat(10) + "…");
}

/// R: with the lock one look at HIGH (150), no kill if it finds a page.
#[test]
fn the_last_look() {
    for (freed, expected) in [(150, "K"), (151, "!")] {
        let mut r = now(0);
        let mut walk = r.slow_begin(CPU0, request(0, Gfp::KERNEL));
        r.slow_step(&mut walk, None);
        assert_eq!(r.slow_step(&mut walk, Some(SlowReply::Reclaimed(0))), SlowStep::OomLock);
        give_back(&mut r, 0, freed);
        let step = r.slow_step(&mut walk, Some(SlowReply::OomLock(true)));
        let page = matches!(step, SlowStep::Done(Outcome::Page(_)));
        assert_eq!(page, expected == "!", "{step:?}");
    }
}

/// R: for whom nobody is killed.
#[test]
fn who_kills_nobody() {
    let killing = Rote { killed: true, most: 30, ..Rote::default() };
    for gfp in [Gfp::RETRY_MAYFAIL, Gfp::THISNODE] {
        assert_eq!(killing.run(&mut now(0), request(0, Gfp::KERNEL | gfp)), "RO.", "{gfp:?}");
    }
    // A DMA32 request on a machine with such a zone.
    let mut machine = now(0).machine().clone();
    machine.zones[0].kind = mmspec_model::vocab::ZoneKind::Dma32;
    let mut r = Reference::new(&machine, Rules::linux_6_12(), crate::bench::TUNABLES).unwrap();
    take_all(&mut r, Gfp::KERNEL);
    assert_eq!(killing.run(&mut r, request(0, Gfp::KERNEL | Gfp::DMA32)), "RO.");
    assert_eq!(r.events().oom_kill, 0);
    assert_eq!(killing.run(&mut r, request(0, Gfp::KERNEL)), "ROK".repeat(10) + "…");
}

/// R and T: a kill is progress and begins the count of rounds anew; none is the end.
#[test]
fn kills() {
    let vain = Rote::default();
    assert_eq!(vain.run(&mut now(0), request(0, Gfp::KERNEL)), "ROK.");
    let killing = Rote { killed: true, most: 9, ..Rote::default() };
    let mut r = now(0);
    assert_eq!(killing.run(&mut r, request(0, Gfp::KERNEL)), "ROKROKROK…");
    assert_eq!(r.events().oom_kill, 2, "the third was not answered");
    let mut r = now(60);
    r.set_reclaimable(ZONE, 10_000);
    let killing = Rote { killed: true, most: 40, ..Rote::default() };
    let expected = ("R".repeat(17) + "OK").repeat(2) + "RR…";
    assert_eq!(killing.run(&mut r, request(0, Gfp::KERNEL)), expected);
}

/// S: a victim that had its reserve, or may have none, fails after the OOM step.
#[test]
fn victims_do_not_wait_for_themselves() {
    let killing = Rote { killed: true, most: 30, ..Rote::default() };
    let victim = task(TaskFlags::OOM_VICTIM);
    assert_eq!(killing.run(&mut now(0), request(0, Gfp::KERNEL).by(victim)), "ROK.");
    let none = request(0, Gfp::KERNEL | Gfp::NOMEMALLOC).by(victim);
    assert_eq!(killing.run(&mut now(0), none), "ROK.");
    let busy = Rote { oom_lock: false, ..Rote::default() };
    assert_eq!(busy.run(&mut now(0), request(0, Gfp::KERNEL).by(victim)), "RO.");
}

/// R: NOFAIL takes all reserves after the kill, whether it helped or not.
#[test]
fn nofail_after_a_kill() {
    let must = request(0, Gfp::KERNEL | Gfp::NOFAIL);
    for killed in [true, false] {
        let rote = Rote { killed, ..Rote::default() };
        let mut r = now(1);
        assert_eq!(rote.run(&mut r, must), "ROK!", "killed: {killed}");
        assert_eq!(r.zone_state(ZONE).nr_free_pages_exact, 0);
        assert_eq!(r.events().oom_kill, u64::from(killed));
        let rote = Rote { killed, most: 9, ..Rote::default() };
        assert_eq!(rote.run(&mut now(0), must), "ROKROKROK…", "killed: {killed}");
    }
}

/// nopage: NOFAIL tries MIN_RESERVE, then yields and goes round; without reclaim it fails.
#[test]
fn nofail_without_a_page() {
    let must = Gfp::KERNEL | Gfp::NOFAIL | Gfp::NORETRY;
    let rote = Rote { most: 8, ..Rote::default() };
    assert_eq!(rote.run(&mut now(50), request(0, must)), "RYRYRYRY…");
    assert_eq!(rote.run(&mut now(51), request(0, must)), "R!", "half of MIN");
    assert_eq!(rote.run(&mut now(0), request(0, Gfp::NOWAIT | Gfp::NOFAIL)), ".");
    let mut r = now(0);
    let mut walk = r.slow_begin(CPU0, request(0, must));
    r.slow_step(&mut walk, None);
    assert_eq!(r.slow_step(&mut walk, Some(SlowReply::Reclaimed(0))), SlowStep::Yield);
    give_back(&mut r, 0, 101);
    let step = r.slow_step(&mut walk, Some(SlowReply::Woken { killed: false }));
    assert!(matches!(step, SlowStep::Done(Outcome::Page(_))), "{step:?}");
}

/// nopage: NOFAIL leaves its cpuset at last.
#[test]
fn nofail_leaves_its_cpuset() {
    let mems = NodeMask(0b10);
    let walled = |gfp| {
        let mut of = request(0, gfp);
        of.task.mems = mems;
        of
    };
    let mut r = now(1000);
    assert_eq!(Rote::default().run(&mut r, walled(Gfp::KERNEL | Gfp::NORETRY)), "R.");
    let must = walled(Gfp::KERNEL | Gfp::NORETRY | Gfp::NOFAIL);
    assert_eq!(Rote::default().run(&mut r, must), "R!");
    assert_eq!(Rote::default().run(&mut r, walled(Gfp::KERNEL | Gfp::NOFAIL)), "ROK!");
}

/// A walk on a CPU that is gone fails.
#[test]
fn a_cpu_that_is_gone() {
    let mut r = now(1000);
    assert!(r.cpu_dead(CPU0, CpuId(1)));
    let mut walk = r.slow_begin(CpuId(1), request(0, Gfp::KERNEL));
    assert_eq!(r.alloc_pages(CpuId(1), request(0, Gfp::KERNEL)), Outcome::SlowPath);
    assert_eq!(r.slow_step(&mut walk, None), SlowStep::Done(Outcome::Failed));
}
