//! Memory cgroups: the vectors of the fact sheet (memcg-slub.md §1 to §3, §8).

mod charge;
mod high;
mod objects;
mod protection;
mod selftests;
mod shop;
