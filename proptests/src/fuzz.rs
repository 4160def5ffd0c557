//! Entry points of the fuzz targets: any bytes in, a panic on a violation.

use crate::differential;
use crate::engine::Case;
use crate::lawful::{self, Depth, Exercised};
use crate::script::Script;
use mmspec_impl::OwnedAllocator;
use mmspec_model::reference::Reference;

/// Frames of the largest machine of [`differential`]: most of its executions are spent on ever new
/// small scripts. Larger machines, whose refill batches are above 1 page, are for [`laws`] and the
/// engines of `check`.
const FRAMES_COMPARED: u64 = 1 << 11;

/// Frames of the largest machine of [`laws`].
const FRAMES_JUDGED: u64 = 1 << 14;

/// Operations above this many are cut off.
const MOST_OPS: usize = 2_000;

fn runnable(data: &[u8], frames: u64) -> Option<Script> {
    let mut script = Script::decode(data);
    script.ops.truncate(MOST_OPS);
    let small = script.machine.as_ref().end().0 <= frames && script.machine.cpus <= 8;
    (small && differential::unspecified(&script).is_none()).then_some(script)
}

fn owned(script: &Script) -> OwnedAllocator {
    OwnedAllocator::new(script.machine.as_ref(), script.rules, script.tunables)
        .unwrap_or_else(|error| panic!("{error}"))
}

/// Decode a script and run it on reference and implementation in lockstep.
///
/// # Panics
/// They differ; the message holds the script as text.
pub fn differential(data: &[u8]) {
    let Some(script) = runnable(data, FRAMES_COMPARED) else { return };
    let reference = |script: &Script| {
        Reference::new(&script.machine, script.rules, script.tunables)
            .unwrap_or_else(|error| panic!("{error}"))
    };
    if let Err(finding) = differential::check_script(&script, reference, owned, None) {
        panic!("{}\n{script}", finding.what);
    }
}

/// Decode a script and run it on the implementation by the laws.
///
/// # Panics
/// A law breaks; the message holds the script as text.
pub fn laws(data: &[u8]) {
    let Some(script) = runnable(data, FRAMES_JUDGED) else { return };
    let depth = Depth::default();
    if let Err(finding) = lawful::check_script(&script, owned, depth, &mut Exercised::new(), None) {
        panic!("{}\n{script}", finding.what);
    }
}

/// The script language alone: bytes decode to valid scripts that survive bytes and text, and any
/// text is parsed or refused, never a crash.
///
/// # Panics
/// One of that does not hold.
pub fn script(data: &[u8]) {
    let script = Script::decode(data);
    assert_eq!(script.validate(), Ok(()), "{script:?}");
    assert_eq!(Script::decode(&script.encode()), script, "bytes");
    let text = script.to_text();
    assert_eq!(Script::parse("text", &text).as_ref(), Ok(&script), "{text}");
    if let Ok(text) = std::str::from_utf8(data)
        && let Ok(case) = Case::parse("input", text)
    {
        let printed = case.to_string();
        assert_eq!(Case::parse("printed", &printed).as_ref(), Ok(&case), "{printed}");
    }
}
