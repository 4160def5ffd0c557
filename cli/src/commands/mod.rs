//! One file for each command.

pub(crate) mod explain;
pub(crate) mod laws;
pub(crate) mod trace;
