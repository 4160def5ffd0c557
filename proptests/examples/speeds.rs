//! The harness's own speeds, on one core: what a second of `check` buys.
//!
//! `cargo run --release -p mmspec-proptests --example speeds [SECONDS] [NAME…]`; the figures are in
//! docs/concurrency.md and move with the machine. Nothing here is a test.

use mmspec_impl::{OwnedAllocator, Platform, platform::StdPlatform};
use mmspec_model::reference::Reference;
use mmspec_model::vocab::{Machine, Rules, Tunables};
use mmspec_proptests::differential::{Options, lockstep};
use mmspec_proptests::drive::{Ledger, perform};
use mmspec_proptests::engine::{Budget, Config};
use mmspec_proptests::explorer::{self, Bounds};
use mmspec_proptests::generate::{self, Limits, Rng};
use mmspec_proptests::schedules::{self, Coarse, Fine, Oracle, Strategy, explore};
use mmspec_proptests::script::{Op, Script};
use std::time::{Duration, Instant};

fn reference(script: &Script) -> Reference {
    Reference::new(&script.machine, script.rules, script.tunables)
        .unwrap_or_else(|error| panic!("{error}"))
}

fn owned<P: Platform>(script: &Script) -> OwnedAllocator<P> {
    OwnedAllocator::new(script.machine.as_ref(), script.rules, script.tunables)
        .unwrap_or_else(|error| panic!("{error}"))
}

/// Scripts of `ops` operations on a machine of `frames` frames and two CPUs.
fn scripts(frames: u64, ops: usize) -> Vec<Script> {
    let mut rng = Rng::new(7);
    let limits = Limits { ops, rules: Some(Rules::linux_6_12()) };
    let small = |rng: &mut Rng| {
        let machine = Machine::small(2, frames, 5, 4);
        let mut script = generate::script_on(rng, machine, &limits);
        script.tunables = Tunables { min_free_kbytes: Some(0), ..Tunables::default() };
        script
    };
    let mut all: Vec<Script> = Vec::new();
    while all.len() < 32 {
        let script = small(&mut rng);
        if script.ops.len() == ops {
            all.push(script);
        }
    }
    all
}

/// Seconds that this thread had a processor, where the kernel tells: other load then does not count.
fn processor_seconds() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let nanoseconds: f64 = text.split_whitespace().next()?.parse().ok()?;
    Some(nanoseconds / 1e9)
}

/// Units of `work` in a second of one core.
fn rate(time: Duration, mut work: impl FnMut() -> u64) -> f64 {
    let (started, before) = (Instant::now(), processor_seconds());
    let mut done = 0;
    while started.elapsed() < time {
        done += work();
    }
    let seconds = before.zip(processor_seconds()).map(|(before, now)| now - before);
    done as f64 / seconds.unwrap_or_else(|| started.elapsed().as_secs_f64())
}

fn differential(time: Duration) {
    let all = scripts(1024, 20_000);
    let mut at = 0;
    let rate = rate(time, || {
        let script = &all[at % all.len()];
        at += 1;
        let (mut expected, mut got) = (reference(script), owned::<StdPlatform>(script));
        let stats = lockstep(script, &mut expected, &mut got, Options::default(), None);
        stats.unwrap_or_else(|difference| panic!("{difference}")).operations
    });
    println!("differential   {rate:>12.0} checked operations/s on 1,024 frames, 2 CPUs");
}

fn of_reference(time: Duration) {
    for frames in [64, 1024] {
        let all = scripts(frames, 4_000);
        let mut at = 0;
        let rate = rate(time, || {
            let script = &all[at % all.len()];
            at += 1;
            let (mut allocator, mut ledger) = (reference(script), Ledger::new(script));
            for op in &script.ops {
                let call = ledger.call(op);
                let answer = perform(&mut allocator, &call, &ledger);
                ledger.record(op, &call, &answer);
            }
            script.ops.len() as u64
        });
        println!("reference      {:>12.0} ns an operation on {frames} frames", 1e9 / rate);
    }
}

fn of_schedules(time: Duration) {
    let mut rng = Rng::new(5);
    let limits = Limits { ops: 24, rules: Some(Rules::linux_6_12()) };
    let mut all = Vec::new();
    while all.len() < 16 {
        let machine = Machine::small(3, 64, 4, 3);
        let mut script =
            schedules::concurrent_script(generate::script_on(&mut rng, machine, &limits));
        // Three threads, eight operations each.
        let column = |script: &Script, cpu: u16| {
            script.ops.iter().filter(|op| schedules::column_of(op).0 == cpu).count()
        };
        if (0..3).all(|cpu| column(&script, cpu) >= 6) && script.ops.len() == 24 {
            script.ops.retain(|op| !matches!(op, Op::Set { .. }));
            all.push(script);
        }
    }
    let measured = |name: &str, run: &dyn Fn(&Script, u64) -> u64| {
        let mut at = 0;
        let rate = rate(time, || {
            at += 1;
            run(&all[at % all.len()], at as u64)
        });
        println!("schedules      {rate:>12.0} schedules/s, 3 threads x 8 operations, {name}");
    };
    let random = |script: &Script, seed| {
        explore(script, owned::<Coarse>, Strategy::Random(seed), 96, Oracle::Laws).schedules
    };
    measured("random, locks", &random);
    let pct = |script: &Script, seed| {
        explore(script, owned::<Coarse>, Strategy::Pct(seed, 3), 96, Oracle::Laws).schedules
    };
    measured("PCT, locks", &pct);
    let fine = |script: &Script, seed| {
        explore(script, owned::<Fine>, Strategy::Random(seed), 96, Oracle::Laws).schedules
    };
    measured("random, locks and words", &fine);
    let mut seed = 0;
    let rate = rate(time, || {
        seed += 1;
        let config = Config::new(seed, Budget::cases(960));
        schedules::run_histories(&config, owned::<Coarse>).schedules.unwrap_or(0)
    });
    println!("histories      {rate:>12.0} histories/s, 2 or 3 threads, 6 to 9 operations");
}

fn of_explorer(_: Duration) {
    let config = Config::new(1, Budget::default());
    let bounds = Bounds {
        depth: None,
        states: 50_000_000,
        time: Some(Duration::from_secs(120)),
        scopes: Some(1),
        ..Bounds::default()
    };
    let report = explorer::explore(&config, bounds, reference, owned::<StdPlatform>);
    println!(
        "explorer       {:>12.1} s for all {} states ({} transitions, depth {}) of 8 frames, 2 CPUs, orders 0 to 3",
        report.seconds,
        report.states.unwrap_or(0),
        report.operations,
        report.depth.unwrap_or(0)
    );
}

fn fuzz(time: Duration) {
    let mut rng = Rng::new(3);
    let mut inputs = Vec::new();
    while inputs.len() < 256 {
        let script = generate::script(&mut rng, &Limits::ops(50));
        if script.ops.len() == 50 {
            inputs.push(script.encode());
        }
    }
    let mut at = 0;
    let rate = rate(time, || {
        at += 1;
        mmspec_proptests::fuzz::differential(&inputs[at % inputs.len()]);
        1
    });
    println!("fuzz           {rate:>12.0} executions/s of 50 operations, without instrumentation");
}

type Measure = (&'static str, fn(Duration));

const ALL: [Measure; 5] = [
    ("differential", differential),
    ("reference", of_reference),
    ("schedules", of_schedules),
    ("explorer", of_explorer),
    ("fuzz", fuzz),
];

fn main() {
    let mut seconds = 2.0;
    let mut named = Vec::new();
    for arg in std::env::args().skip(1) {
        match arg.parse::<f64>() {
            Ok(given) if given > 0.0 => seconds = given,
            _ => named.push(arg),
        }
    }
    for (name, measure) in ALL {
        if named.is_empty() || named.iter().any(|given| given == name) {
            measure(Duration::from_secs_f64(seconds));
        }
    }
}
