//! Virtual time in the world of processes: who holds a lock when, and whose turn it is.

use mmspec_impl::{platform::SpinPlatform, reclaim::GoesOn};
use mmspec_model::{
    contract::{CompactLock, PageMover},
    vocab::{CompactRules, CpuId, Machine, Rules, ThpDefrag, ThpEnabled, Tunables, ZoneKind},
};
use mmspec_proptests::world::{Config, Costs, Memory, Obstacles};

/// Two CPUs, on which this costs so much.
fn machine(costs: Costs) -> Memory<SpinPlatform> {
    Memory::new(Config {
        machine: Machine::new(2, &[(ZoneKind::Normal, 0x200, 0x2200)]),
        rules: Rules::linux_6_1(),
        tunables: Tunables::default(),
        compact: CompactRules::linux_5_0(),
        goes_on: GoesOn::default(),
        enabled: ThpEnabled::Always,
        defrag: ThpDefrag::Madvise,
        swap: false,
        obstacles: Obstacles::default(),
        costs,
        seed: 1,
    })
    .expect("the machine boots")
}

/// A lock is found taken while another CPU holds it, and whoever waits gets it at the end of the hold.
#[test]
fn a_lock_is_found_taken_while_another_cpu_holds_it() {
    let memory = machine(Costs { migrate_scan: 10, list: 100, ..Costs::default() });
    let (first, second) = (CpuId(0), CpuId(1));
    memory.begin_step(first, None);
    memory.passed(CompactLock::Lru, 5, 0);
    memory.locks(CompactLock::Lru);
    memory.passed(CompactLock::Lru, 20, 3);
    memory.unlocks(CompactLock::Lru);
    // Held from 50 to 550.
    assert_eq!(memory.now(first), 550);
    memory.begin_step(second, None);
    for (moment, taken) in [(49, false), (50, true), (549, true), (550, false)] {
        memory.idle_until(second, moment);
        assert_eq!(memory.contended(CompactLock::Lru), taken, "at {moment}");
        assert!(!memory.contended(CompactLock::Zone));
    }
    assert_eq!((memory.meter().tries, memory.meter().taken), ([4, 4], [0, 2]));
}

/// Who waits for a lock has it when the other drops it.
#[test]
fn a_lock_is_waited_for_to_the_end_of_the_hold() {
    let memory = machine(Costs { free_scan: 10, ..Costs::default() });
    memory.begin_step(CpuId(0), None);
    memory.locks(CompactLock::Zone);
    memory.passed(CompactLock::Zone, 30, 0);
    memory.unlocks(CompactLock::Zone);
    memory.begin_step(CpuId(1), None);
    memory.idle_until(CpuId(1), 100);
    memory.locks(CompactLock::Zone);
    assert_eq!((memory.now(CpuId(1)), memory.meter_of(CpuId(1)).lock_ns), (300, 200));
}

/// Two CPUs whose steps overlap, each of which tries the lock while the other has it: what the threads that
/// play them do first makes no difference.
#[test]
fn cpus_take_turns_by_their_clocks() {
    for _ in 0..50 {
        let memory = machine(Costs { migrate_scan: 1, ..Costs::default() });
        let said = std::sync::Mutex::new(Vec::new());
        let turns = memory.turns();
        turns.wake(0, 0);
        turns.wake(1, 10);
        memory.idle_until(CpuId(1), 10);
        turns.play(|worker| {
            while let Some(at) = turns.next(worker) {
                let cpu = CpuId(at as u16);
                memory.begin_step(cpu, None);
                for _ in 0..2 {
                    memory.locks(CompactLock::Lru);
                    memory.passed(CompactLock::Lru, 20, 0);
                    memory.unlocks(CompactLock::Lru);
                    memory.passed(CompactLock::Lru, 5, 0);
                    let taken = memory.contended(CompactLock::Lru);
                    said.lock().expect("sound").push((at, memory.now(cpu), taken));
                }
                turns.done(at, None);
            }
            turns.close();
        });
        // 0 holds it from 0 to 20, 1, which came at 10, to 40, 0, which came at 25, to 60, and 1 to 80.
        let said = said.into_inner().expect("sound");
        let expected = [(0, 25, true), (1, 45, true), (0, 65, true), (1, 85, false)];
        assert_eq!(said, expected);
    }
}
