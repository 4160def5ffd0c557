//! Planted: who takes the busy bit makes no barrier.

crate::shim::variant!(acquire: Acquire, release: Release, owner: true, others: false);
