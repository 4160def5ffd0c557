//! What the specification leaves open: two right allocators may differ there.

use crate::script::{Op, Script};
use mmspec_model::vocab::Order;

/// Why a script lies outside of what the specification decides to the frame, if it does.
#[must_use]
pub fn unspecified(script: &Script) -> Option<&'static str> {
    let isolates = script.ops.iter().any(|op| matches!(op, Op::Isolate { .. }));
    if isolates && script.machine.pageblock_order < Order::COSTLY {
        // A block on a per-CPU list may then cover several pageblocks of which one is isolated; it
        // goes back under its first pageblock's type, and what is counted for it afterwards is not
        // the kernel's promise: its pageblocks are never that small.
        return Some("isolation with pageblocks smaller than the blocks of per-CPU lists");
    }
    None
}
