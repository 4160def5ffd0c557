//! What a request and a free go through.

pub(crate) mod alloc;
mod bulk;
mod free;
