//! Why an allocator cannot be built.

use mmspec_model::vocab::{MachineError, RulesError, TunablesError};

/// Why an allocator cannot be built.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SetupError {
    /// The machine contradicts itself.
    #[error("machine: {0}")]
    Machine(#[from] MachineError),
    /// A tunable is out of range.
    #[error("tunables: {0}")]
    Tunables(#[from] TunablesError),
    /// Rules that no kernel has.
    #[error("rules: {0}")]
    Rules(#[from] RulesError),
    /// A slice of the storage is too short.
    #[error("storage: {what} holds {given} records, {needed} are needed: see StorageSize::of")]
    Storage {
        /// The field of [`crate::Storage`].
        what: &'static str,
        /// Its length.
        given: usize,
        /// The length that the machine needs.
        needed: usize,
    },
}
