//! Memory cgroups: the vectors of memcg-slub.md §1 to §3 and its oracles (§8.4), and the kernel's own tests (§8.1) as
//! far as pages alone tell.

mod bench;
mod bytes;
mod charges;
mod counters;
mod edges;
mod forms;
mod high;
mod kernel;
mod life;
mod protection;
mod stocks;
mod swap;
mod threads;
mod writes;
