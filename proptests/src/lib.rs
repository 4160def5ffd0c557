//! The harness: one script language and every engine over it.

pub mod generate;
pub mod script;
pub mod shrink;
pub mod trace;
