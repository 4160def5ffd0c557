//! The harness: one script language and every engine over it.

pub mod script;
pub mod trace;
