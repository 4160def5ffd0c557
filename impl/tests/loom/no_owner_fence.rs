//! Planted: the owner's store and load are not kept in order.

crate::shim::variant!(acquire: Acquire, release: Release, owner: false, others: true);
