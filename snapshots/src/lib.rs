//! Fixed machines and scripts, and the /proc texts that they leave behind.
//!
//! * [`Session`]: an allocator playing a script, one operation at a time.
//! * [`Scenario`]: a script with named phases; the three of this package are [`SCENARIOS`].
//! * [`report()`]: a scenario's texts after each phase, reviewed with cargo insta.
//! * [`record`]: a script as the kernel trace that it would leave.
//! * [`experiments`]: published results, reproduced on a simulated machine.
//! * [`explain`]: any script told step by step, with a picture of memory.

pub mod experiments;
pub mod explain;
mod report;
mod scenario;
mod session;
mod traced;

pub use report::report;
pub use scenario::{Phase, SCENARIOS, Scenario, rules_of};
pub use session::{Done, Session};
pub use traced::{Recording, record};
