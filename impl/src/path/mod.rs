//! What a request and a free go through.

mod alloc;
mod bulk;
mod class;
mod free;

pub(crate) use class::Classes;
