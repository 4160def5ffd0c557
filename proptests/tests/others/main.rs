//! Other people's allocators, by promises that their documentation makes. docs/others.md says what
//! was run and what the laws say, and holds each shrunk case in full: the tests compare. Where a
//! fault is put right in a later release, the older one is kept because it shows the fault.

#![expect(unsafe_code, reason = "heaps work on memory of their own, through pointers")]

mod addresses;
mod arena;
mod bitmap;
mod buddy;
mod buddy_heap;
mod linked_list;
mod linked_list_old;
mod talc_heap;
mod verdict;
