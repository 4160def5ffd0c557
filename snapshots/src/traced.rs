//! A script as the kernel trace that it would leave.

use crate::Session;
use mmspec_model::contract::Observe;
use mmspec_model::proc::{ProcFile, View};
use mmspec_model::reference::{Reference, SetupError};
use mmspec_model::vocab::{MigrateType, Order, Pfn, ZoneIdx};
use mmspec_proptests::script::Script;
use mmspec_proptests::trace::Line;

/// The recording of a script: what `mmspec trace` reads.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Recording {
    /// The kmem events as the kernel's text trace prints them, one microsecond tick of ten apart.
    pub trace: String,
    /// The texts of /proc before the script, in the order of [`ProcFile::ALL`].
    pub before: [String; 4],
    /// The same after it.
    pub after: [String; 4],
    /// /proc/kpageflags before the script.
    pub kpageflags_before: Vec<u8>,
}

/// Play a script on the reference and record it. The kernel's trace shows frame 0 for a request
/// that failed: a machine whose frame 0 can be handed out leaves a trace that says less.
///
/// # Errors
/// The script's machine or tunables are impossible.
pub fn record(script: &Script) -> Result<Recording, SetupError> {
    let mut booted = Reference::new(&script.machine, script.rules, script.tunables)?;
    booted.start_trace();
    let mut session = Session::new(script, booted);
    let before = texts(script, session.allocator());
    let kpageflags_before = kpageflags(script, session.allocator());
    let mut trace = String::from("# tracer: nop\n#\n");
    let mut time_us = 1_000_000;
    for op in &script.ops {
        session.step(op);
        // An operation that belongs to no CPU leaves no event.
        let cpu = op.cpu().unwrap_or_default().0;
        for event in session.allocator_mut().take_trace() {
            time_us += 10;
            trace += &Line { cpu, pid: 1, worker: false, time_us, event }.to_string();
            trace.push('\n');
        }
    }
    let after = texts(script, session.allocator());
    Ok(Recording { trace, before, after, kpageflags_before })
}

fn texts(script: &Script, state: &Reference) -> [String; 4] {
    let view = View::new(state, script.machine.as_ref(), &script.rules);
    ProcFile::ALL.map(|file| view.text(file))
}

/// KPF_BUDDY and KPF_NOPAGE.
const FREE: u64 = 1 << 10;
const NO_PAGE: u64 = 1 << 20;

/// The flags of every frame, of which the model knows two: free, and not there.
fn kpageflags(script: &Script, state: &Reference) -> Vec<u8> {
    let machine = script.machine.as_ref();
    let exists = |pfn| if machine.is_present(Pfn(pfn)) { 0 } else { NO_PAGE };
    let mut flags: Vec<u64> = (0..machine.end().0).map(exists).collect();
    for zone in 0..state.zone_count() {
        for order in Order::ZERO.up_to(machine.max_order) {
            for of in MigrateType::ALL {
                state.for_each_free(ZoneIdx(zone as u8), order, of, &mut |pfn| {
                    let end = pfn.index() + order.pages() as usize;
                    flags[pfn.index()..end].iter_mut().for_each(|flags| *flags |= FREE);
                });
            }
        }
    }
    flags.into_iter().flat_map(u64::to_le_bytes).collect()
}
