//! The harness: one script language and every engine over it.

pub mod canaries;
pub mod check;
pub mod compaction;
pub mod conformance;
pub mod differential;
pub mod drive;
pub mod engine;
pub mod explorer;
pub mod flat;
pub mod fuzz;
pub mod generate;
pub mod histories;
pub mod image;
pub mod lawful;
pub mod marks;
pub mod memcg;
pub mod schedules;
pub mod script;
pub mod shrink;
pub mod slab;
pub mod trace;
pub mod world;
