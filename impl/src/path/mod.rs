//! What a request and a free go through.

mod alloc;
mod attempt;
mod bulk;
mod class;
mod fair;
mod free;

pub(crate) use attempt::{Attempt, in_scope};
pub(crate) use class::{CLASSES, Classes, gfp_of, pack_class};
