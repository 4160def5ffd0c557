//! scratch
use mmspec_impl::OwnedAllocator;
use mmspec_model::reference::Reference;
use mmspec_proptests::engine::*;
use mmspec_proptests::*;
fn main() {
    let secs: u64 = std::env::args().nth(2).map_or(5, |s| s.parse().unwrap());
    let seed: u64 = std::env::args().nth(3).map_or(1, |s| s.parse().unwrap());
    let reference = |s: &script::Script| Reference::new(&s.machine, s.rules, s.tunables).unwrap();
    let owned = |s: &script::Script| -> OwnedAllocator {
        OwnedAllocator::new(s.machine.as_ref(), s.rules, s.tunables).unwrap()
    };
    if std::env::args().nth(1).unwrap() == "show" {
        let path = std::env::args().nth(4).unwrap();
        let script =
            script::Script::parse(&path, &std::fs::read_to_string(&path).unwrap()).unwrap();
        show(&script, &mut reference(&script), &mut owned(&script));
        return;
    }
    if std::env::args().nth(1).unwrap() == "canaries" {
        let config = Config::new(seed, Budget::cases(1));
        let t = std::time::Instant::now();
        let mut r = EngineReport::new("d");
        canaries::of_differential(&config, &mut r, owned);
        println!(
            "diff missed {:?} found {} {:?}",
            r.canaries_missed,
            r.canaries_found.len(),
            t.elapsed()
        );
        let mut r = EngineReport::new("d");
        canaries::of_laws(&config, &mut r, owned);
        println!(
            "laws missed {:?} found {} {:?}",
            r.canaries_missed,
            r.canaries_found.len(),
            t.elapsed()
        );
        let mut r = EngineReport::new("d");
        canaries::of_schedules(&config, &mut r);
        println!(
            "schedules missed {:?} found {:?} {:?}",
            r.canaries_missed,
            r.canaries_found,
            t.elapsed()
        );
        return;
    }
    let mut config = Config::new(seed, Budget::time(std::time::Duration::from_secs(secs)));
    config.failures = 1;
    if let Ok(r) = std::env::var("RULES") {
        config.limits.rules = mmspec_model::vocab::Rules::preset(&r);
    }
    let report = match std::env::args().nth(1).unwrap().as_str() {
        "diff" => differential::run(&config, reference, owned),
        "laws" => lawful::run(&config, Default::default(), reference),
        "lawsimpl" => lawful::run(&config, Default::default(), owned),
        "fine" => {
            schedules::run(&config, |s: &script::Script| -> OwnedAllocator<schedules::Fine> {
                OwnedAllocator::new(s.machine.as_ref(), s.rules, s.tunables).unwrap()
            })
        }
        "coarse" => {
            schedules::run(&config, |s: &script::Script| -> OwnedAllocator<schedules::Coarse> {
                OwnedAllocator::new(s.machine.as_ref(), s.rules, s.tunables).unwrap()
            })
        }
        _ => panic!(),
    };
    for failure in &report.failures {
        println!("{}", failure.to_text("x"));
    }
    println!(
        "schedules {:?} cases {} ops {} sec {} = {}/s",
        report.schedules,
        report.cases,
        report.operations,
        report.seconds,
        report.operations as f64 / report.seconds
    );
    println!(
        "{:?}\n{:?} largest {} deepest {} refused {}",
        report.marks,
        report.marks.merges,
        report.marks.largest_block,
        report.marks.deepest_cache,
        report.marks.refused
    );
    println!("missing {:?}", report.marks.missing().collect::<Vec<_>>());
    if !report.laws.is_empty() {
        println!("{:?}", report.laws);
    }
}

fn lists<A: mmspec_model::contract::LinuxPolicy>(a: &A, script: &script::Script) -> String {
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
    script: &script::Script,
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
