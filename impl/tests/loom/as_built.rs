//! The locks as they are built.

crate::shim::variant!(acquire: Acquire, release: Release, owner: true, others: true);
