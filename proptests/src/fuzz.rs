//! Entry points of the fuzz targets: any bytes in, a panic on a violation.

use crate::differential;
use crate::engine::Case;
use crate::lawful::{self, Depth, Exercised};
use crate::script::Script;
use mmspec_impl::OwnedAllocator;
use mmspec_model::reference::Reference;

/// Machines above this many frames cost time and show nothing that smaller ones do not.
const MOST_FRAMES: u64 = 1 << 14;

/// Operations above this many are cut off.
const MOST_OPS: usize = 2_000;

fn runnable(data: &[u8]) -> Option<Script> {
    let mut script = Script::decode(data);
    script.ops.truncate(MOST_OPS);
    let small = script.machine.as_ref().end().0 <= MOST_FRAMES && script.machine.cpus <= 8;
    small.then_some(script)
}

/// Decode a script and run it on reference and implementation in lockstep; on the implementation
/// also by the laws.
///
/// # Panics
/// They differ, or a law breaks; the message holds the script as text.
pub fn differential(data: &[u8]) {
    let Some(script) = runnable(data) else { return };
    let reference = |script: &Script| {
        Reference::new(&script.machine, script.rules, script.tunables)
            .unwrap_or_else(|error| panic!("{error}"))
    };
    let owned = |script: &Script| -> OwnedAllocator {
        OwnedAllocator::new(script.machine.as_ref(), script.rules, script.tunables)
            .unwrap_or_else(|error| panic!("{error}"))
    };
    if differential::unspecified(&script).is_some() {
        return;
    }
    if let Err(finding) = differential::check_script(&script, reference, owned, None) {
        panic!("{}\n{script}", finding.what);
    }
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
