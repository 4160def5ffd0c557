//! A machine with processes: what reclaim and compaction work on.
//!
//! Processes map anonymous memory and files; faults take pages from the allocator of this repository and
//! walk its slow path, which reclaim and compaction answer; kswapd and kcompactd are stepped beside them.
//! Each page has a content, so that [`Memory::check`] sees whether one was lost or mixed up. What keeps pages
//! from moving is injected ([`Obstacles`]). One seed, one world: nothing here runs by itself, the embedder
//! says who acts next, and what each step cost is counted ([`Meter`]).
//!
//! Time is virtual. Each CPU has a clock, which goes on by the cost of what it does. What is done under the
//! zone lock or the LRU lock holds it for as long as that costs; async compaction finds a lock taken if another
//! CPU holds it at that moment. CPUs act in the order of their clocks ([`Turns`]).
//!
//! Not here: memory shared between processes (a file's page has one mapping), copy on write, memory
//! cgroups, khugepaged (huge pages come from faults alone), and processes on several nodes' policies.

mod actors;
mod fault;
mod locks;
mod memory;
mod meter;
mod obstacle;
mod owner;
mod tables;
mod turns;
mod work;

pub use actors::{KswapdTurn, World};
pub use fault::{Allocation, Fault, Faulted};
pub use memory::Memory;
pub use meter::{Costs, Meter};
pub use obstacle::{Obstacle, Obstacles};
pub use tables::{Backing, Home, Process};
pub use turns::Turns;

use mmspec_impl::reclaim::GoesOn;
use mmspec_model::vocab::{CompactRules, Machine, Rules, ThpDefrag, ThpEnabled, Tunables};

/// What a world begins with.
#[derive(Clone, Debug)]
pub struct Config {
    /// Its machine.
    pub machine: Machine,
    /// The rules of the allocator.
    pub rules: Rules,
    /// The sysctls.
    pub tunables: Tunables,
    /// The rules of compaction.
    pub compact: CompactRules,
    /// When reclaim goes over a node once more.
    pub goes_on: GoesOn,
    /// `transparent_hugepage/enabled`.
    pub enabled: ThpEnabled,
    /// `transparent_hugepage/defrag`.
    pub defrag: ThpDefrag,
    /// Whether anonymous memory can be swapped out.
    pub swap: bool,
    /// What keeps new pages from moving.
    pub obstacles: Obstacles,
    /// What work costs.
    pub costs: Costs,
    /// For the obstacles.
    pub seed: u64,
}
