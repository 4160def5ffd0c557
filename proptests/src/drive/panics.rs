//! Panics of an allocator under test are findings, not the end of the run.

use std::any::Any;
use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe, PanicHookInfo};
use std::sync::Once;

thread_local! {
    static QUIET: Cell<u32> = const { Cell::new(0) };
    static PLACE: Cell<Option<String>> = const { Cell::new(None) };
}

static HOOK: Once = Once::new();

fn install() {
    HOOK.call_once(|| {
        let loud = panic::take_hook();
        // shuttle puts a hook of its own above whatever is there at its first run, and it speaks
        // of schedules at any panic of the process. Let that happen now, and pass it over.
        shuttle::check_dfs(|| {}, Some(1));
        panic::set_hook(Box::new(move |info: &PanicHookInfo<'_>| {
            if QUIET.get() > 0 {
                PLACE.set(info.location().map(|place| place.to_string()));
            } else {
                loud(info);
            }
        }));
    });
}

/// Run `body`; a panic becomes its message with its place, and is not printed.
///
/// # Errors
/// The message of the panic.
pub fn catch<T>(body: impl FnOnce() -> T) -> Result<T, String> {
    install();
    QUIET.set(QUIET.get() + 1);
    let result = panic::catch_unwind(AssertUnwindSafe(body));
    QUIET.set(QUIET.get() - 1);
    result.map_err(|payload| {
        let place = PLACE.take().unwrap_or_default();
        format!("panic at {place}: {}", message(payload.as_ref()))
    })
}

fn message(payload: &(dyn Any + Send)) -> &str {
    payload
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("not a text")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_a_message_with_its_place() {
        let error = catch(|| -> u32 { panic!("order {} lost", 3) }).expect_err("panics");
        assert!(error.contains("panics.rs") && error.ends_with("order 3 lost"), "{error}");
        assert_eq!(catch(|| 5), Ok(5));
    }
}
