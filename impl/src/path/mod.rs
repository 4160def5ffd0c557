//! What a request and a free go through.

mod alloc;
mod attempt;
mod bulk;
mod class;
mod fair;
mod free;

pub(crate) use attempt::Attempt;
pub(crate) use class::{CLASSES, deciding, gfp_of, pack_class};
