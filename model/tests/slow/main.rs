//! The slow path, one test for each lettered step and limit of page_alloc.md §4.4.

mod bench;
mod nodes;
mod oom;
mod reclaim;
mod retry;
mod start;
