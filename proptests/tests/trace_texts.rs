//! The forms of text in which kernel traces come: the kernel's own, perf's, and trace-cmd's.

use mmspec_proptests::trace::{Payload, Reader, TraceErrorKind, TraceEvent};
use std::fmt::Write as _;

/// Lines as `perf script` printed them on Linux 6.18.
const PERF: &str = "\
# captured on    : Mon Nov 30 15:08:41 2026
           rustc 23044 [000] 16309.009818:             kmem:mm_page_alloc: page=0x24e5ef pfn=0x24e5ef order=0 migratetype=1 gfp_flags=GFP_HIGHUSER_MOVABLE|__GFP_ZERO|__GFP_COMP
     kworker/1:2   308/308   [001] 16309.009842123:             kmem:mm_page_free: page=0x24f7e6 pfn=0x24f7e6 order=3
            perf 24408 [001] 16309.009900: PERF_RECORD_LOST lost 28
 [1] a-1 [2] b 7 [001] 16309.010019: kmem:mm_page_free_batched: page=0x55c805 pfn=0x55c805 order=0
";

/// Lines as `trace-cmd report` printed them on Linux 6.18.
const TRACE_CMD: &str = "\
version = 7
CPU 1 is empty
cpus=2
           rustc-23044 [000] 16309.009818: mm_page_alloc:        page=0x24e5ef pfn=0x24e5ef order=0 migratetype=1 gfp_flags=GFP_HIGHUSER_MOVABLE|__GFP_ZERO|__GFP_COMP
     kworker/1:2-308   [001] d..3. 16309.009842: mm_page_free:         page=0x24f7e6 pfn=0x24f7e6 order=3
CPU:1 [28 EVENTS DROPPED]
 [1] a-1 [2] b-7 [001] 16309.010019: mm_page_free_batched: page=0x55c805 pfn=0x55c805 order=0
";

/// The same as in the kernel's file.
const KERNEL: &str = "\
# tracer: nop
           rustc-23044   [000] ..... 16309.009818: mm_page_alloc: page=(____ptrval____) pfn=0x24e5ef order=0 migratetype=1 gfp_flags=GFP_HIGHUSER_MOVABLE|__GFP_ZERO|__GFP_COMP
     kworker/1:2-308     [001] ..... 16309.009842: mm_page_free: page=(____ptrval____) pfn=0x24f7e6 order=3
CPU:1 [LOST 28 EVENTS]
 [1] a-1 [2] b-7         [001] ..... 16309.010019: mm_page_free_batched: page=(____ptrval____) pfn=0x55c805 order=0
";

fn read(text: &str) -> Result<Vec<TraceEvent>, TraceErrorKind> {
    let mut reader = Reader::new(text.as_bytes(), "trace");
    let mut events = Vec::new();
    while let Some(mut event) = reader.next_event().map_err(|error| error.kind)? {
        event.line = 0;
        events.push(event);
    }
    Ok(events)
}

#[test]
fn the_three_forms_say_the_same() {
    let kernel = read(KERNEL).unwrap();
    assert_eq!(kernel.len(), 4);
    assert!(matches!(kernel[2].payload, Payload::Lost(28)));
    assert!(kernel[1].worker && !kernel[0].worker);
    assert_eq!(read(PERF).unwrap(), kernel);
    assert_eq!(read(TRACE_CMD).unwrap(), kernel);
}

#[test]
fn what_is_neither_is_refused() {
    for line in [
        "rustc 23044 [000] 16309.0098: kmem:mm_page_free: page=0x1 pfn=0x1 order=0",
        "rustc=23044 [000] 16309.009818: kmem:mm_page_free: page=0x1 pfn=0x1 order=0",
        "CPU:1 [28 EVENTS]",
        "cpu 1",
    ] {
        let mut text = String::new();
        writeln!(text, "{line}").unwrap();
        assert!(matches!(read(&text), Err(TraceErrorKind::Line)), "{line}");
    }
}
