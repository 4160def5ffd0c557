//! Ctrl-C: the first one asks the run to end with what it has found, the second ends the program.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A flag that Ctrl-C sets. Without a handler (a platform that refuses one) Ctrl-C ends the
/// program as it always does.
pub(crate) fn flag() -> Arc<AtomicBool> {
    let flag = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&flag);
    let handler = move || {
        if seen.swap(true, Ordering::SeqCst) {
            std::process::exit(130);
        }
    };
    if let Err(error) = ctrlc::set_handler(handler) {
        crate::output::complain(&format!("mmspec: Ctrl-C will not end the run cleanly: {error}"));
    }
    flag
}
