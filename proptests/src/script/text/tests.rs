use super::*;
use crate::script::{Handle, Op};
use mmspec_model::contract::Request;
use mmspec_model::vocab::*;

const EVERY_OP: &str = "\
mms 1
machine cpus=2 max_order=5 pageblock_order=4 thp_order=4 cma_built=on free_high_batch=off
zone DMA 0x0..0x21
zone Normal 0x25..0x400
hole 0x30..0x32
reserved 0x40..0x41
cma 0x80..0xa0
rules linux_6_12
rule free_high_half_min=on
set min_free_kbytes=512
set watermark_scale_factor=100
a1 = alloc cpu=0 order=3 gfp=GFP_KERNEL
a2 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE|__GFP_COMP at=min
a3 = alloc cpu=1 order=0 gfp=__GFP_NONE at=promo flags=no_watermarks,oom,highatomic
a4 a5 a6 = bulk cpu=0 gfp=GFP_USER
free cpu=0 a1
free-batch cpu=0 a2 a6 a3
free-batch cpu=0
drain by=0 cpu=1
drain-all by=0
drain-all by=0 zone=1
drain-begin by=1
drain-begin by=0 zone=1
work cpu=1
pcp-disable by=0 zone=0
pcp-enable zone=0
fail-trylock cpu=0 times=2
tick cpu=0
set min_free_kbytes=auto lowmem_reserve_ratio=1,2,3,4 pcp_batch_scale_max=6
set
reclaim-active zone=0 on
reclaim-active zone=1 off
isolate cpu=0 pfn=0x200
unisolate cpu=0 pfn=0x200 to=CMA
a90 = take-off cpu=0 pfn=0x204
unreserve cpu=0 to=Movable force
unreserve cpu=1 to=Unmovable
cpu-dead by=0 cpu=1
cpu-online cpu=1
check zone=0 order=0 mark=low highest=Normal flags=oom
check zone=1 order=5 mark=high highest=Device
";

#[track_caller]
fn wrong(text: &str, line: usize, column: usize, part: &str) {
    let error = Script::parse("case.mms", text).expect_err("must not parse");
    assert_eq!((error.line, error.column), (line, column), "{error}");
    assert!(error.to_string().starts_with("case.mms:"), "{error}");
    assert!(error.to_string().contains(part), "{error} does not say {part}");
    assert!(!error.hint.is_empty());
}

#[test]
fn every_operation_prints_as_it_was_written() {
    let script = Script::parse("case.mms", EVERY_OP).expect("parses");
    assert_eq!(script.to_text(), EVERY_OP);
    assert_eq!(script.ops.len(), 31);
    assert_eq!(script.op_text(1).as_deref(), EVERY_OP.lines().nth(11));
}

#[test]
fn defaults_comments_blanks_and_number_bases_are_understood() {
    let text = "# a case\n\n  mms 1 # version\nzone Normal 0..1024\nmachine cpus=0x2 max_order=5\n\
                a1 = alloc order=0x1 gfp=0xcc0 cpu=1 # any order of arguments\n";
    let script = Script::parse("case.mms", text).expect("parses");
    assert_eq!(script.machine, Machine::small(2, 1024, 5, 5));
    let request = Request::new(Order::of(1), Gfp::KERNEL);
    assert_eq!(script.ops, [Op::Alloc { cpu: CpuId(1), request, handle: Handle(1) }]);
}

#[test]
fn errors_name_line_column_and_a_way_out() {
    wrong("", 1, 1, "mms 1");
    wrong("zone Normal 0..4\n", 1, 1, "not a script");
    wrong("mms 2\n", 1, 5, "version");
    wrong("mms 1\nzone Narmal 0..4\n", 2, 6, "Normal");
    wrong("mms 1\nzone Normal 0-4\n", 2, 13, "range");
    wrong("mms 1\nzone Normal 0..x4\n", 2, 16, "number");
    wrong("mms 1\nmachine cpus=70000\n", 2, 14, "65535");
    wrong("mms 1\nmachine cpu=2\n", 2, 9, "not expected");
    wrong("mms 1\nrules linux_9\n", 2, 7, "linux_6_12");
    wrong("mms 1\nrule fallback=no\n", 2, 15, "whole");
    wrong("mms 1\nrule drain_scheme=ipi\n", 2, 19, "work_item");
    wrong("mms 1\nmachine max_order=3\n", 2, 1, "zone");
    let machine = "mms 1\nmachine max_order=3\nzone Normal 0..64\n";
    let with = |line: &str| format!("{machine}{line}\n");
    wrong(&with("work cpu=1"), 4, 1, "cpu 1");
    wrong(&with("drain-begin by=0 zone=1"), 4, 1, "zone 1");
    wrong(&with("frob cpu=0"), 4, 1, "fail-trylock");
    wrong(&with("a1 = alloc cpu=0 order=11 gfp=GFP_KERNEL"), 4, 24, "0 to 10");
    wrong(&with("a1 = alloc cpu=0 order=1 gfp=GFP_KARNEL"), 4, 30, "gfp");
    wrong(&with("a1 = alloc cpu=0 gfp=GFP_KERNEL"), 4, 32, "order= is missing");
    wrong(&with("a1 = alloc cpu=4 order=1 gfp=GFP_KERNEL"), 4, 1, "cpu 4");
    wrong(&with("a1 = alloc cpu=0 order=1 gfp=GFP_KERNEL flags=oom"), 4, 41, "at=");
    wrong(&with("a1 = alloc cpu=0 order=1 gfp=GFP_KERNEL at=min flags=oom,x"), 4, 58, "cpuset");
    wrong(&with("a1 a2 = alloc cpu=0 order=1 gfp=GFP_KERNEL"), 4, 1, "exactly one");
    wrong(&with("= bulk cpu=0 gfp=GFP_KERNEL"), 4, 1, "at least one");
    wrong(&with("free cpu=0 b1"), 4, 12, "handle");
    wrong(&with("free cpu=0 a99999999999"), 4, 12, "handle");
    wrong(&with("free cpu=0"), 4, 11, "missing");
    wrong(&with("free-batch cpu=0 a1 a1"), 4, 1, "twice");
    wrong(&with("isolate cpu=0 pfn=64"), 4, 1, "no zone");
    wrong(&with("unreserve cpu=0 to=Isolate"), 4, 1, "Isolate");
    wrong(&with("set watermark_scale_factor=0"), 4, 29, "3000");
    wrong(&with("tick cpu=0\nzone DMA 0..1"), 5, 1, "after an operation");
    let twice = "a1 = alloc cpu=0 order=0 gfp=GFP_KERNEL\n";
    wrong(&format!("{machine}{twice}{twice}"), 5, 1, "earlier");
}
