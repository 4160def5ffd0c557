//! Compaction: safety whatever the rules and the hints, what each kind of run comes to, and the numbers
//! of the fact sheet (compaction.md), each with zones laid out for it.

mod capture;
mod daemons;
mod folios;
mod hints;
mod meanwhile;
mod more;
mod owner;
mod runs;
mod scanners;
mod scene;
mod search;
