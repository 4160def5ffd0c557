//! A memory barrier on all running threads of the process, paid by the caller alone.
//!
//! Linux's membarrier(2), private expedited: when the call returns, every thread of the process has
//! passed a full barrier since the call began, or was not running. Where it is missing, nothing is
//! biased and locks are plain.
#![allow(unsafe_code)] // One system call; see the SAFETY argument.

use std::sync::OnceLock;

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
mod sys {
    use core::ffi::{c_int, c_long, c_uint};

    #[cfg(target_arch = "x86_64")]
    const SYS_MEMBARRIER: c_long = 324;
    #[cfg(target_arch = "aarch64")]
    const SYS_MEMBARRIER: c_long = 283;
    pub(super) const PRIVATE_EXPEDITED: c_int = 1 << 3;
    pub(super) const REGISTER_PRIVATE_EXPEDITED: c_int = 1 << 4;

    unsafe extern "C" {
        /// libc's system call entry; std links libc on Linux.
        fn syscall(number: c_long, ...) -> c_long;
    }

    pub(super) fn membarrier(command: c_int) -> bool {
        // SAFETY: membarrier takes three integers by value and touches no memory of the caller;
        // unknown commands are refused with an error.
        unsafe { syscall(SYS_MEMBARRIER, command, 0 as c_uint, 0 as c_int) == 0 }
    }
}

#[cfg(not(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64"),
    not(miri)
)))]
mod sys {
    use core::ffi::c_int;

    pub(super) const PRIVATE_EXPEDITED: c_int = 0;
    pub(super) const REGISTER_PRIVATE_EXPEDITED: c_int = 0;

    pub(super) fn membarrier(_command: c_int) -> bool {
        false
    }
}

/// Whether [`barrier`] works here.
pub(super) fn is_available() -> bool {
    static REGISTERED: OnceLock<bool> = OnceLock::new();
    *REGISTERED.get_or_init(|| sys::membarrier(sys::REGISTER_PRIVATE_EXPEDITED))
}

/// Make every running thread of the process pass a full barrier.
///
/// # Panics
/// If the call fails although [`is_available`] said that it works: going on would be unsound.
pub(super) fn barrier() {
    assert!(sys::membarrier(sys::PRIVATE_EXPEDITED), "membarrier stopped working");
}
