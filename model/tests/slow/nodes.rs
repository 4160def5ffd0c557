//! Walks on several nodes: wake-ups by node, cpusets that change under a walk (bugs P25, P44), the
//! zonelists' cookie.

use crate::bench::{CPU0, Rote, TUNABLES, letter, request};
use mmspec_model::contract::{
    CompactPriority, CompactResult, CpuCaches, Nodes, Outcome, PageAllocator, Request, SlowPath,
    SlowReply, SlowStep, StatWorker, Task, TaskFlags,
};
use mmspec_model::reference::{Reference, SlowWalk};
use mmspec_model::vocab::{
    AllocFlags, Gfp, Machine, Mark, NodeId, NodeMask, Order, Pfn, PfnRange, Rules, ZoneIdx,
    ZoneKind, ZoneSpan,
};

const N0: NodeId = NodeId(0);
const N1: NodeId = NodeId(1);
const FRAMES: u64 = 2048;

/// Two nodes with a Normal zone each (MIN 50); `full` ones have no page free.
fn two(rules: Rules, full: &[NodeId]) -> Reference {
    let mut machine = Machine::small(2, FRAMES, 4, 3);
    machine.thp_order = None;
    machine.nodes = 2;
    machine.cpu_nodes = vec![N0, N1];
    let second = PfnRange::new(FRAMES, 2 * FRAMES);
    machine.zones.push(ZoneSpan::new(ZoneKind::Normal, second).on(N1));
    let mut r = Reference::new(&machine, rules, TUNABLES).unwrap();
    (0..2).for_each(|zone| r.pcp_disable(CPU0, ZoneIdx(zone)));
    for node in full {
        let take = Request::new(Order::ZERO, Gfp::KERNEL | Gfp::THISNODE).on(*node);
        let take = take.at(Mark::Min, AllocFlags::NO_WATERMARKS);
        while r.alloc_pages(CPU0, take).page().is_some() {}
    }
    r.tick(CPU0);
    r
}

fn within(mems: u64, of: Request) -> Request {
    of.by(Task { mems: NodeMask(mems), flags: TaskFlags::empty() })
}

/// Up to the first step of that letter; the walk waits there.
fn until(r: &mut Reference, walk: &mut SlowWalk, rote: &Rote, wanted: char) -> String {
    let mut said = String::new();
    let mut reply = None;
    loop {
        let step = r.slow_step(walk, reply);
        said.push(letter(step));
        if letter(step) == wanted {
            return said;
        }
        assert!(said.len() < 100, "{said}");
        reply = Some(rote.reply(step));
    }
}

/// B: every node on the list within kind, mask and cpuset.
#[test]
fn kswapds_of_the_list() {
    let woken = |of: Request| {
        let mut r = two(Rules::linux_6_12(), &[N0, N1]);
        Rote::default().run(&mut r, of);
        [N0, N1].map(|node| r.node_state(node).wakeups)
    };
    let nowait = request(0, Gfp::NOWAIT);
    assert_eq!(woken(nowait), [1, 1]);
    assert_eq!(woken(request(0, Gfp::NOWAIT | Gfp::THISNODE).on(N1)), [0, 1]);
    assert_eq!(woken(nowait.within(NodeMask::only(N0))), [1, 0]);
    assert_eq!(woken(within(0b10, nowait)), [0, 1]);
}

/// G: reserves and the lack of CPUSET forget the nodemask.
#[test]
fn the_mask_is_forgotten() {
    let mask = NodeMask::only(N0);
    let mut r = two(Rules::linux_6_12(), &[N0]);
    assert_eq!(Rote::default().run(&mut r, request(0, Gfp::NOWAIT).within(mask)), ".");
    // GFP_ATOMIC drops CPUSET.
    assert_eq!(Rote::default().run(&mut r, request(0, Gfp::ATOMIC).within(mask)), "!");
    let victim = Task { flags: TaskFlags::OOM_VICTIM, ..Task::default() };
    let of = request(0, Gfp::KERNEL).within(mask).by(victim);
    assert_eq!(Rote::default().run(&mut r, of), "!");
    let kernel = request(0, Gfp::KERNEL | Gfp::NORETRY).within(mask);
    assert_eq!(Rote::default().run(&mut r, kernel), "R.");
}

/// A after G: the mask is the request's again, so kswapd of the other node is not woken.
#[test]
fn a_restart_minds_the_mask_again() {
    let victim = Task { flags: TaskFlags::OOM_VICTIM, ..Task::default() };
    let of = request(0, Gfp::KERNEL).within(NodeMask::only(N0)).by(victim);
    let mut r = two(Rules::linux_6_12(), &[N0, N1]);
    let mut walk = r.slow_begin(CPU0, of);
    until(&mut r, &mut walk, &Rote::default(), 'R');
    r.slow_set_mems(&mut walk, NodeMask::ALL);
    let step = r.slow_step(&mut walk, Some(SlowReply::Reclaimed(0)));
    assert!(matches!(step, SlowStep::Reclaim { .. }), "Q, A to J: {step:?}");
    assert_eq!([N0, N1].map(|node| r.node_state(node).wakeups), [1, 0]);
    // The next round wakes both: G has forgotten the mask.
    let step = r.slow_step(&mut walk, Some(SlowReply::Reclaimed(0)));
    assert_eq!(step, SlowStep::OomLock);
    r.slow_step(&mut walk, None);
    assert_eq!([N0, N1].map(|node| r.node_state(node).wakeups), [1, 0], "a victim goes no further");
}

/// P44: the cpuset opens while the walk is about to kill: it begins again and finds the page, with
/// and without E.
#[test]
fn no_kill_after_the_cpuset_opened() {
    for early_restart in [false, true] {
        let rules = Rules { early_restart, ..Rules::linux_6_12() };
        let mut r = two(rules, &[N1]);
        let mut walk = r.slow_begin(CPU0, within(0b10, request(0, Gfp::KERNEL)));
        assert_eq!(until(&mut r, &mut walk, &Rote::default(), 'R'), "R");
        r.slow_set_mems(&mut walk, NodeMask(0b11));
        // Zero progress: no attempt in J, nothing to hope for in N: Q, and A to C.
        let step = r.slow_step(&mut walk, Some(SlowReply::Reclaimed(0)));
        assert!(matches!(step, SlowStep::Done(Outcome::Page(_))), "{step:?}");
    }
}

/// Q and nopage: a walk whose answer may be stale begins again, once for each change.
#[test]
fn stale_failures_begin_again() {
    let mut r = two(Rules::linux_6_12(), &[N0, N1]);
    let once = within(0b10, request(0, Gfp::KERNEL | Gfp::NORETRY));
    let mut walk = r.slow_begin(CPU0, once);
    until(&mut r, &mut walk, &Rote::default(), 'R');
    r.slow_set_mems(&mut walk, NodeMask(0b11));
    let rest = Rote::default().go_on(&mut r, &mut walk, Some(SlowReply::Reclaimed(0)));
    assert_eq!(rest, "R.");
    // The zonelists' cookie is another reason.
    let mut walk = r.slow_begin(CPU0, request(0, Gfp::KERNEL));
    until(&mut r, &mut walk, &Rote::default(), 'R');
    r.rebuild_zonelists();
    let rest = Rote::default().go_on(&mut r, &mut walk, Some(SlowReply::Reclaimed(0)));
    assert_eq!(rest, "ROK.");
    // A walk that begins later knows the lists.
    assert_eq!(Rote::default().run(&mut r, request(0, Gfp::KERNEL)), "ROK.");
}

/// E: with `early_restart` a change is seen at the next round; without, only where the walk would end
/// (bug P25).
#[test]
fn early_and_late_restarts() {
    let told = |early_restart| {
        let rules = Rules { early_restart, ..Rules::linux_6_12() };
        let mut r = two(rules, &[N0, N1]);
        // Node 0 looks worth another round, whatever is done.
        r.set_reclaimable(ZoneIdx(0), 10_000);
        let of =
            request(0, Gfp::KERNEL).by(Task { mems: NodeMask(0b01), flags: TaskFlags::KTHREAD });
        let mut walk = r.slow_begin(CPU0, of);
        let mut reply = None;
        let mut rounds = 0;
        loop {
            match r.slow_step(&mut walk, reply) {
                SlowStep::Reclaim { .. } => rounds += 1,
                SlowStep::OomLock => return rounds,
                other => panic!("{other:?}"),
            }
            if rounds == 10 {
                r.slow_set_mems(&mut walk, NodeMask(0b11));
            }
            reply = Some(SlowReply::Reclaimed(0));
        }
    };
    assert_eq!(told(true), 10 + 17, "the count begins anew at the change");
    assert_eq!(told(false), 17 + 17, "and here at the end of the 17th round");
}

/// P25: the retry decision counts on a zone that the scan will never look at. Without minding the
/// cpuset the walk goes round for nothing as long as reclaim reports progress.
#[test]
fn rounds_for_a_forbidden_zone() {
    let told = |retry_minds_cpuset| {
        let rules = Rules { retry_minds_cpuset, ..Rules::linux_6_12() };
        // Node 0 has memory, but the cpuset is node 1.
        let mut r = two(rules, &[N1]);
        let rote = Rote { reclaimed: 1, most: 60, ..Rote::default() };
        rote.run(&mut r, within(0b10, request(0, Gfp::KERNEL)))
    };
    assert_eq!(told(true), "ROK.");
    assert_eq!(told(false), "R".repeat(60) + "…");
}

/// A restart forgets counts and priority: D comes again, and SYNC_LIGHT after it.
#[test]
fn a_restart_is_a_new_walk() {
    let mut r = two(Rules { early_restart: true, ..Rules::linux_6_12() }, &[N0, N1]);
    let of = request(2, Gfp::KERNEL);
    let rote = Rote { reclaimed: 1, compacted: CompactResult::Complete, ..Rote::default() };
    let mut walk = r.slow_begin(CPU0, of);
    assert_eq!(until(&mut r, &mut walk, &rote, 'F'), "ARLRF");
    r.slow_set_mems(&mut walk, NodeMask::ALL);
    let reply = SlowReply::Compacted(CompactResult::Complete);
    // Nothing to hope for: Q begins again.
    let step = r.slow_step(&mut walk, Some(reply));
    let priority = CompactPriority::Async;
    assert_eq!(step, SlowStep::Compact { order: Order::of(2), priority });
    let rest = rote.go_on(&mut r, &mut walk, Some(reply));
    assert_eq!(rest, "RLRFOK.");
}

/// Any progress gives hope to the nodes on the list.
#[test]
fn freed_memory_of_either_node_serves() {
    let mut r = two(Rules::linux_6_12(), &[N0, N1]);
    let mut walk = r.slow_begin(CPU0, request(0, Gfp::KERNEL));
    until(&mut r, &mut walk, &Rote::default(), 'R');
    for at in 0..60 {
        r.free_pages(CPU0, Pfn(FRAMES + 2 * at), Order::ZERO);
    }
    let step = r.slow_step(&mut walk, Some(SlowReply::Reclaimed(60)));
    let SlowStep::Done(Outcome::Page(pfn)) = step else { panic!("{step:?}") };
    assert!(pfn.0 >= FRAMES);
}
