//! Memory from the operating system.
#![allow(unsafe_code)] // System calls on memory; see the arguments.

use core::{mem, ptr, slice};

/// Bytes of a page.
pub(super) const PAGE: usize = 4096;

/// New zeroed memory, made when it is first touched; null if there is none.
pub(super) fn map(bytes: usize) -> *mut u8 {
    let (protection, flags) =
        (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: an anonymous mapping at an address of the system's choice touches no memory in use.
    let at = unsafe {
        libc::mmap(ptr::null_mut(), bytes, protection, flags | libc::MAP_NORESERVE, -1, 0)
    };
    if at == libc::MAP_FAILED { ptr::null_mut() } else { at.cast() }
}

/// Let memory lie in huge pages where the system has them: fewer faults at first use, and fewer
/// misses of the TLB ever after. Only a hint.
pub(super) fn prefer_huge_pages(at: *mut u8, bytes: usize) {
    // SAFETY: changes nothing that the memory holds.
    unsafe { libc::madvise(at.cast(), bytes, libc::MADV_HUGEPAGE) };
}

/// Give memory back.
///
/// # Safety
/// `bytes` from `at` are whole pages that came from [`map`], and nobody uses them any more.
pub(super) unsafe fn unmap(at: *mut u8, bytes: usize) {
    if bytes != 0 {
        // SAFETY: the caller's promise.
        unsafe { libc::munmap(at.cast(), bytes) };
    }
}

/// Memory as from [`map`], at a multiple of `align`, a power of two.
pub(super) fn map_aligned(bytes: usize, align: usize) -> *mut u8 {
    if align <= PAGE {
        return map(bytes);
    }
    let Some(whole) = bytes.checked_add(align) else { return ptr::null_mut() };
    let start = map(whole);
    if start.is_null() {
        return start;
    }
    let before = start.align_offset(align);
    let at = start.wrapping_add(before);
    // SAFETY: both parts lie in the mapping just made (`before` is less than `align`), outside what
    // is handed out.
    unsafe {
        unmap(start, before);
        unmap(at.wrapping_add(bytes), align - before);
    }
    at
}

/// Make a mapping larger or smaller; where it lies then, null if that cannot be.
///
/// # Safety
/// As for [`unmap`]; the memory is only used where it lies then.
pub(super) unsafe fn remap(at: *mut u8, bytes: usize, new: usize) -> *mut u8 {
    // SAFETY: the caller's promise.
    let at = unsafe { libc::mremap(at.cast(), bytes, new, libc::MREMAP_MAYMOVE) };
    if at == libc::MAP_FAILED { ptr::null_mut() } else { at.cast() }
}

/// Records that live for ever, each made by `new`; `None` without memory.
pub(super) fn records<T>(len: usize, new: impl Fn(usize) -> T) -> Option<&'static mut [T]> {
    let memory = map_for::<T>(len)?;
    for at in 0..len {
        // SAFETY: the mapping has room for `len` records and is aligned to pages, which is more
        // than any record asks for (checked in `map_for`).
        unsafe { memory.add(at).write(new(at)) };
    }
    // SAFETY: all records were just written; nobody else knows the mapping, which stays for ever.
    Some(unsafe { slice::from_raw_parts_mut(memory, len) })
}

/// Records that live for ever, all bytes zero and untouched; `None` without memory.
///
/// # Safety
/// All zero bytes are a value of `T`.
pub(super) unsafe fn zeroed<T>(len: usize) -> Option<&'static mut [T]> {
    let memory = map_for::<T>(len)?;
    prefer_huge_pages(memory.cast(), mem::size_of::<T>() * len);
    // SAFETY: a new mapping is zero, which the caller promises to be values; it has room, is
    // aligned and stays for ever, and nobody else knows it.
    Some(unsafe { slice::from_raw_parts_mut(memory, len) })
}

fn map_for<T>(len: usize) -> Option<*mut T> {
    const { assert!(mem::align_of::<T>() <= PAGE) };
    let bytes = mem::size_of::<T>().checked_mul(len)?;
    let memory = map(bytes.max(1));
    (!memory.is_null()).then_some(memory.cast())
}

/// Say why the process ends, and end it: a heap cannot panic.
pub(super) fn die(why: &str) -> ! {
    // SAFETY: the bytes of a string, to standard error.
    unsafe { libc::write(2, why.as_ptr().cast(), why.len()) };
    // SAFETY: ends the process, whatever its state.
    unsafe { libc::abort() }
}
