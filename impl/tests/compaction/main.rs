//! Compaction: safety whatever the rules and the hints, what each kind of run comes to, and the numbers
//! of the fact sheet (compaction.md), each with zones laid out for it.

mod capture;
mod corners;
mod daemons;
mod finds;
mod flush;
mod folios;
mod hints;
mod meanwhile;
mod owner;
mod runs;
mod scene;
mod search;
mod sources;
mod targets;
mod verdicts;
