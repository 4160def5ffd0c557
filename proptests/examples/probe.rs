//! scratch
use mmspec_impl::OwnedAllocator;
use mmspec_model::reference::Reference;
use mmspec_proptests::engine::*;
use mmspec_proptests::script::Script;
use mmspec_proptests::*;
use std::time::{Duration, Instant};
fn reference(s: &Script) -> Reference {
    Reference::new(&s.machine, s.rules, s.tunables).unwrap()
}
fn owned<P: mmspec_impl::Platform>(s: &Script) -> OwnedAllocator<P> {
    OwnedAllocator::new(s.machine.as_ref(), s.rules, s.tunables).unwrap()
}
type Std = mmspec_impl::platform::StdPlatform;
fn main() {
    let arg = |n: usize| std::env::args().nth(n);
    let secs: u64 = arg(2).map_or(5, |s| s.parse().unwrap());
    let seed: u64 = arg(3).map_or(1, |s| s.parse().unwrap());
    let mut config = Config::new(seed, Budget::time(Duration::from_secs(secs)));
    if let Ok(r) = std::env::var("RULES") {
        config.limits.rules = mmspec_model::vocab::Rules::preset(&r);
    }
    if let Ok(r) = std::env::var("OPS") {
        config.limits.ops = r.parse().unwrap();
    }
    let t = Instant::now();
    let report = match arg(1).unwrap().as_str() {
        "show" => {
            let path = arg(4).unwrap();
            let script = Script::parse(&path, &std::fs::read_to_string(&path).unwrap()).unwrap();
            return show(&script, &mut reference(&script), &mut owned::<Std>(&script));
        }
        "bytes" => {
            let mut seen = std::collections::BTreeMap::new();
            let mut n = 0u64;
            while t.elapsed() < Duration::from_secs(secs) {
                n += 1;
                let mut rng = generate::Rng::for_case(seed, n);
                let len = rng.below(600) as usize;
                let data: Vec<u8> = (0..len).map(|_| rng.next_u64() as u8).collect();
                let s = Script::decode(&data);
                if s.machine.as_ref().end().0 > 16384 || s.machine.cpus > 8 {
                    continue;
                }
                let look = |s: &Script| -> Option<Finding> {
                    let run = || {
                        if differential::unspecified(s).is_none() {
                            differential::check_script(s, reference, owned::<Std>, None)?;
                        }
                        lawful::check_script(
                            s,
                            owned::<Std>,
                            Default::default(),
                            &mut Default::default(),
                            None,
                        )
                    };
                    run().err()
                };
                if let Some(f) = look(&s) {
                    let key = (
                        f.kind.clone(),
                        f.what.chars().take(60).filter(|c| !c.is_ascii_digit()).collect::<String>(),
                    );
                    if seen.insert(key, ()).is_none() {
                        let small =
                            shrink::shrink(&s, 3000, |s| look(s).is_some_and(|g| g.kind == f.kind));
                        println!(
                            "{n}: {} {:?}\n{small}",
                            look(&small).unwrap().what,
                            look(&small).unwrap().at
                        );
                    }
                }
            }
            println!("{n} cases {} kinds", seen.len());
            return;
        }
        "check" => {
            let mut o = check::Options::new(seed, Duration::from_secs(secs));
            o.failures = Some("/tmp/failures".into());
            let r = check::check(&o).unwrap();
            println!("{}", r.to_json());
            for c in &r.complaints {
                println!("{c}");
            }
            for f in &r.failures {
                println!("{}", f.to_text("x"));
            }
            println!("ok {} {:?}", r.ok, t.elapsed());
            return;
        }
        "canaries" => {
            let mut r = EngineReport::new("d");
            canaries::of_differential(&config, &mut r, owned::<Std>);
            println!("diff {:?}", t.elapsed());
            canaries::of_laws(&config, &mut r, owned::<Std>);
            println!("laws {:?}", t.elapsed());
            canaries::of_explorer(&config, &mut r, owned::<Std>);
            println!("explorer {:?}", t.elapsed());
            canaries::of_schedules(&config, &mut r);
            println!(
                "missed {:?} found {:?} {:?}",
                r.canaries_missed,
                r.canaries_found,
                t.elapsed()
            );
            return;
        }
        "diff" => differential::run(&config, reference, owned::<Std>),
        "laws" => lawful::run(&config, Default::default(), reference),
        "lawsimpl" => lawful::run(&config, Default::default(), owned::<Std>),
        "explore" => {
            let depth = std::env::var("DEPTH").ok().map(|d| d.parse().unwrap());
            let b = explorer::Bounds {
                depth,
                time: Some(Duration::from_secs(secs)),
                ..Default::default()
            };
            explorer::explore(&config, b, reference, owned::<Std>)
        }
        "fine" => schedules::run(&config, owned::<schedules::Fine>),
        "coarse" => schedules::run(&config, owned::<schedules::Coarse>),
        _ => panic!(),
    };
    println!(
        "cases {} ops {} {:.0}/s states {:?} {:.0}/s depth {:?} schedules {:?} {:.0}/s",
        report.cases,
        report.operations,
        report.operations as f64 / report.seconds,
        report.states,
        report.states.unwrap_or(0) as f64 / report.seconds,
        report.depth,
        report.schedules,
        report.schedules.unwrap_or(0) as f64 / report.seconds
    );
    for failure in &report.failures {
        println!("{}", failure.to_text("x"));
    }
    if std::env::var("V").is_ok() {
        println!(
            "{:?}\n{:?} largest {} deepest {} refused {}",
            report.marks,
            report.marks.merges,
            report.marks.largest_block,
            report.marks.deepest_cache,
            report.marks.refused
        );
        println!("missing {:?}", report.marks.missing().collect::<Vec<_>>());
        println!("{:?}", report.laws);
    }
}
fn lists<A: mmspec_model::contract::LinuxPolicy>(a: &A, script: &Script) -> String {
    let l = mmspec_model::laws::Lists::of(a, &script.machine);
    let mut out = String::new();
    for f in &l.free {
        out += &format!(" {}@{}{}", f.pfn, f.order, &f.migratetype.name()[..2]);
    }
    out += " |";
    for f in &l.cached {
        out += &format!(" c{}:{}@{:?}", f.cpu, f.pfn, f.order);
    }
    out += " | types ";
    for t in &l.pageblocks {
        out += t.map_or("-", |t| &t.name()[..2]);
        out += ",";
    }
    let z = a.zone_state(mmspec_model::vocab::ZoneIdx(0));
    out += &format!(
        " free {} exact {} flags {:?} boost {} pcp {:?}",
        z.nr_free_pages,
        z.nr_free_pages_exact,
        z.flags,
        z.boost,
        a.pcp_state(mmspec_model::vocab::CpuId(0), mmspec_model::vocab::ZoneIdx(0))
    );
    out
}
fn show<A: mmspec_model::contract::LinuxPolicy, B: mmspec_model::contract::LinuxPolicy>(
    script: &Script,
    a: &mut A,
    b: &mut B,
) {
    let mut ledger = drive::Ledger::new(script);
    println!("ref {}\nimp {}", lists(a, script), lists(b, script));
    for (at, op) in script.ops.iter().enumerate() {
        println!("{at}: {}", script.op_text(at).unwrap());
        let call = ledger.call(op);
        let x = drive::perform(a, &call, &ledger);
        println!("  {x:?}\n  ref {}", lists(a, script));
        let y = drive::perform(b, &call, &ledger);
        if lists(a, script) != lists(b, script) || x != y {
            println!("  {y:?}\n  imp {}", lists(b, script));
        }
        ledger.record(op, &call, &x);
    }
}
