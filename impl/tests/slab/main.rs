//! The slab allocator against memcg-slub.md §4 and §5 and against the bugs of SLUB's past.

mod bugs;
mod frees;
mod laws;
mod layouts;
mod lists;
mod rare;
mod reentry;
mod requests;
mod scene;
mod shown;
mod stress;
mod tables;
