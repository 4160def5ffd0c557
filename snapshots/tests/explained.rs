//! A script told step by step.

use mmspec_model::reference::Reference;
use mmspec_proptests::script::Script;
use mmspec_snapshots::explain::Explain;

const SCRIPT: &str = "\
mms 1
machine cpus=2 max_order=5 pageblock_order=4
zone Normal 0x0..0x200
reserved 0x0..0x5
a1 = alloc cpu=0 order=2 gfp=GFP_KERNEL
a2 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a3 = alloc cpu=1 order=5 gfp=GFP_KERNEL
free cpu=1 a1
free cpu=1 a1
drain-all by=0
check zone=0 order=3 mark=high highest=Normal
cpu-dead by=0 cpu=1
a4 = alloc cpu=1 order=0 gfp=GFP_KERNEL
";

#[test]
fn each_step_shows_its_answer_and_what_changed() {
    let script = Script::parse("case.mms", SCRIPT).expect("parses");
    let booted = Reference::new(&script.machine, script.rules, script.tunables).expect("boots");
    let mut explain = Explain::new(&script, booted).expect("rendered texts parse");
    let mut told: String = explain.picture().iter().map(ToString::to_string).collect();
    for step in explain.by_ref() {
        told.push_str(&step.expect("rendered texts parse").to_string());
    }
    insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!("explained", told);
    });
}
