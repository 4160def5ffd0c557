//! Every scenario under each of its presets, on the reference and on the implementation.

use mmspec_impl::OwnedAllocator;
use mmspec_model::reference::Reference;
use mmspec_snapshots::{SCENARIOS, report, rules_of};

#[track_caller]
fn check(name: &str) {
    let scenario = SCENARIOS.iter().find(|known| known.name == name).expect("a scenario");
    for preset in scenario.presets {
        let rules = rules_of(preset).expect("a preset");
        let script = scenario.script(rules).expect("the script parses");
        let phases = scenario.phases(&script).expect("the script parses");

        let reference =
            Reference::new(&script.machine, rules, script.tunables).expect("the machine boots");
        let expected = report(&script, &phases, reference).expect("rendered texts parse");
        let allocator: OwnedAllocator =
            OwnedAllocator::new(script.machine.as_ref(), rules, script.tunables)
                .expect("the machine boots");
        let text = report(&script, &phases, allocator).expect("rendered texts parse");
        if let Some((number, (want, got))) =
            expected.lines().zip(text.lines()).enumerate().find(|(_, (want, got))| want != got)
        {
            panic!(
                "{name} under {preset}: reference and implementation differ in line {}:\n\
                 reference      {want}\nimplementation {got}",
                number + 1
            );
        }
        assert_eq!(expected.len(), text.len(), "{name} under {preset}: one report is longer");

        insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
            insta::assert_snapshot!(format!("{name}-{}", preset.replace(['+', '='], "-")), expected);
        });
    }
}

#[test]
fn a_virtual_machine_of_512_mb() {
    check("vm-512m");
}

#[test]
fn zone_edges_holes_and_cma_at_odd_places() {
    check("odd-edges");
}

#[test]
fn eight_cpus_and_a_movable_zone() {
    check("eight-cpus");
}

#[test]
fn fair_turns_of_three_kernels() {
    check("fair-zones");
}

#[test]
fn drains_of_busy_cpus_by_both_schemes() {
    check("busy-drains");
}
