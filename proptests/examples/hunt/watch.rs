//! Operations that never end. A thread inside a loop cannot be stopped, so engines run on a thread
//! of their own: if the same script stays on the allocator for too long, the engine is left behind,
//! and the script is shrunk by running candidates in child processes (`hunt once FILE`), which can
//! be killed.

use crate::engines::{Standard, owned, reference};
use mmspec_proptests::differential;
use mmspec_proptests::engine::EngineReport;
use mmspec_proptests::schedules::{self, Coarse, Fine, Oracle, Strategy};
use mmspec_proptests::script::Script;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// No script takes this long: engines' scripts take milliseconds, the largest machines tens of them.
const PATIENCE: Duration = Duration::from_secs(8);

/// The same in a process of its own, which runs nothing but one script.
const CHILD_PATIENCE: Duration = Duration::from_millis(400);

/// The exit code that says so.
const HANGS: u8 = 9;

/// Most candidates tried.
const TRIALS: usize = 300;

static CURRENT: Mutex<Option<Script>> = Mutex::new(None);
static STARTED: AtomicU64 = AtomicU64::new(0);

/// An engine that did not come back.
pub(crate) struct Hang {
    pub(crate) script: Script,
    pub(crate) seconds: f64,
    /// Scripts begun.
    pub(crate) cases: u64,
}

/// An allocator is made for `script`.
pub(crate) fn starts(script: &Script) {
    // Explored machines are booted once and then copied: their scripts say nothing.
    *CURRENT.lock().unwrap_or_else(PoisonError::into_inner) = Some(script.clone());
    STARTED.fetch_add(1, Ordering::Relaxed);
}

/// What runs from here on tells of no script, and is trusted to end.
pub(crate) fn unwatched() {
    *CURRENT.lock().unwrap_or_else(PoisonError::into_inner) = None;
}

/// Run an engine; what it reported and the seconds it took, or on what it hangs.
pub(crate) fn guarded(
    engine: impl FnOnce() -> EngineReport + Send + 'static,
) -> Result<(EngineReport, f64), Box<Hang>> {
    patient(PATIENCE, engine).map(|report| {
        let seconds = report.seconds;
        (report, seconds)
    })
}

fn patient<T: Send + 'static>(
    patience: Duration,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Box<Hang>> {
    let begun = Instant::now();
    let (sender, receiver) = mpsc::channel();
    // Nobody may wait for a thread that hangs, so it is not joined.
    thread::spawn(move || {
        let result = work();
        // The receiver is gone only if this thread was given up.
        let _ = sender.send(result);
    });
    let (mut seen, mut since) = (STARTED.load(Ordering::Relaxed), Instant::now());
    let base = seen;
    loop {
        match receiver.recv_timeout(Duration::from_millis(50)) {
            Ok(result) => return Ok(result),
            Err(RecvTimeoutError::Timeout) => {}
            // The engine itself panicked; its message is on stderr.
            Err(RecvTimeoutError::Disconnected) => std::process::exit(3),
        }
        let now = STARTED.load(Ordering::Relaxed);
        if now != seen {
            (seen, since) = (now, Instant::now());
        }
        let current = CURRENT.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(script) = current
            && !script.ops.is_empty()
            && since.elapsed() > patience
        {
            let seconds = (begun.elapsed() - since.elapsed()).as_secs_f64();
            return Err(Box::new(Hang { script, seconds, cases: now - base }));
        }
    }
}

/// `hunt once FILE`: run the script in lockstep with the reference and under some schedules. The
/// exit code is 0 if nothing is found, 1 if something is, 9 if an operation does not end.
pub(crate) fn once(file: &str) -> ExitCode {
    let text = match std::fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) => {
            eprintln!("hunt: {file}: {error}");
            return ExitCode::from(2);
        }
    };
    let script = match Script::parse(file, &text) {
        Ok(script) => script,
        Err(error) => {
            eprintln!("hunt: {error}");
            return ExitCode::from(2);
        }
    };
    match patient(CHILD_PATIENCE, move || shows(&script)) {
        Ok(found) => ExitCode::from(u8::from(found)),
        Err(_) => ExitCode::from(HANGS),
    }
}

/// Whether anything is wrong with the script.
fn shows(script: &Script) -> bool {
    if differential::check_script(script, reference, owned::<Standard>, None).is_err() {
        return true;
    }
    let script = schedules::concurrent_script(script.clone());
    [Strategy::Random(1), Strategy::Pct(2, 3)].into_iter().any(|strategy| {
        let coarse =
            schedules::explore(&script, owned::<Coarse>, strategy.clone(), 100, Oracle::Laws);
        coarse.found.is_some()
            || schedules::explore(&script, owned::<Fine>, strategy, 200, Oracle::Laws)
                .found
                .is_some()
    })
}

/// The smallest script that still hangs, and the time that took.
pub(crate) fn shrink(script: &Script) -> (Script, Duration) {
    let begun = Instant::now();
    let file = std::env::temp_dir().join(format!("hunt-{}.mms", std::process::id()));
    let small = mmspec_proptests::shrink::shrink(script, TRIALS, |candidate| {
        if let Err(error) = std::fs::write(&file, candidate.to_text()) {
            eprintln!("hunt: {}: {error}", file.display());
            return false;
        }
        hangs(&file)
    });
    // A leftover in the temporary folder does no harm.
    let _ = std::fs::remove_file(&file);
    (small, begun.elapsed())
}

fn hangs(file: &Path) -> bool {
    let Ok(own) = std::env::current_exe() else { return false };
    let status = Command::new(own)
        .arg("once")
        .arg(file)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    status.is_ok_and(|status| status.code() == Some(i32::from(HANGS)))
}
