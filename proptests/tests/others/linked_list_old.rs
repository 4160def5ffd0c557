//! What the laws say of `linked_list_allocator` 0.10.1.

use crate::linked_list::{List, PROMISE};
use crate::verdict::{clean, found};
use mmspec_model::laws::Level;
use mmspec_proptests::conformance::{Promise, Subject};

#[test]
fn release_0_10_1_does_not_get_all_of_its_arena_back() {
    // Public report 66: padding behind a block is lost when the block is freed.
    found(&PROMISE, &Subject::runs(List::new).counted(), "same-again");
}

#[test]
fn release_0_10_1_counts_as_if_it_had() {
    // So a check of counters alone is blind to it.
    let promise = Promise { levels: &[Level::Safe, Level::Conserved], ..PROMISE };
    let laws = ["no-overlap", "aligned", "frames-conserved"];
    clean(&promise, &Subject::runs(List::new).counted(), 10_000, &laws);
}
