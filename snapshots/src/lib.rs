//! Placeholder until the crate lands in this same series.
