//! Planted: acquire is relaxed.

crate::shim::variant!(acquire: Relaxed, release: Release, owner: true, others: true);
