//! Compaction: safety whatever the rules and the hints, and what each kind of run comes to.

mod meanwhile;
mod owner;
mod runs;
