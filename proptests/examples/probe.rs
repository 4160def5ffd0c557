//! scratch
use mmspec_impl::OwnedAllocator;
use mmspec_model::reference::Reference;
use mmspec_proptests::engine::*;
use mmspec_proptests::*;
fn main() {
    let secs: u64 = std::env::args().nth(2).map_or(5, |s| s.parse().unwrap());
    let seed: u64 = std::env::args().nth(3).map_or(1, |s| s.parse().unwrap());
    let reference = |s: &script::Script| Reference::new(&s.machine, s.rules, s.tunables).unwrap();
    let owned = |s: &script::Script| -> OwnedAllocator { OwnedAllocator::new(s.machine.as_ref(), s.rules, s.tunables).unwrap() };
    let mut config = Config::new(seed, Budget::time(std::time::Duration::from_secs(secs)));
    config.failures = 1;
    if let Ok(r) = std::env::var("RULES") { config.limits.rules = mmspec_model::vocab::Rules::preset(&r); }
    let report = match std::env::args().nth(1).unwrap().as_str() {
        "diff" => differential::run(&config, reference, owned),
        "laws" => lawful::run(&config, Default::default(), reference),
        "lawsimpl" => lawful::run(&config, Default::default(), owned),
        _ => panic!(),
    };
    for failure in &report.failures { println!("{}", failure.to_text("x")); }
    println!("cases {} ops {} sec {} = {}/s", report.cases, report.operations, report.seconds, report.operations as f64 / report.seconds);
    println!("{:?}\n{:?} largest {} deepest {} refused {}", report.marks, report.marks.merges, report.marks.largest_block, report.marks.deepest_cache, report.marks.refused);
    println!("missing {:?}", report.marks.missing().collect::<Vec<_>>());
    if !report.laws.is_empty() { println!("{:?}", report.laws); }
}
