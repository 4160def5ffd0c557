//! `linked_list_allocator` 0.10.6 through the adapter that tests 0.10.1.

#[path = "../../tests/others/arena.rs"]
mod arena;
#[path = "../../tests/others/linked_list.rs"]
mod linked_list;

use linked_list::{List, PROMISE};
use mmspec_proptests::conformance::{self, Subject};

#[test]
fn release_0_10_6_gets_all_of_its_arena_back() {
    let report = conformance::check(&PROMISE, &Subject::runs(List::new).counted(), 1, 10_000);
    let text = report.failures.first().map(|failure| failure.to_text("conformance::replay"));
    assert_eq!(text, None);
    assert!(report.laws["same-again"] == 10_000 && report.laws["frames-conserved"] > 10_000);
}
