//! One file for each command.

pub(crate) mod check;
pub(crate) mod experiment;
pub(crate) mod explain;
pub(crate) mod image;
pub(crate) mod laws;
pub(crate) mod record;
pub(crate) mod replay;
pub(crate) mod trace;
