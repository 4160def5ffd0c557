//! Planted: release is relaxed.

crate::shim::variant!(acquire: Acquire, release: Relaxed, owner: true, others: true);
