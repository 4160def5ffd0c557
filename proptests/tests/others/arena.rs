//! Memory for heaps.

use mmspec_model::contract::Run;
use std::alloc::Layout;
use std::ptr::NonNull;

/// A page: offsets into the arena have the alignment that addresses have.
#[derive(Clone, Copy)]
#[repr(align(4096))]
struct Page(#[expect(dead_code, reason = "only its place is of use")] [u8; 4096]);

/// Bytes that a heap may use, behind offsets of the case's choice.
pub(crate) struct Arena {
    pages: Vec<Page>,
}

impl Arena {
    /// Enough for `memory`.
    pub(crate) fn new(memory: &[Run]) -> Self {
        let end = memory.iter().map(|run| run.end()).max().unwrap_or(0);
        Self { pages: vec![Page([0; 4096]); end.div_ceil(4096) as usize] }
    }

    /// The address of an offset.
    pub(crate) fn at(&mut self, offset: u64) -> NonNull<u8> {
        let base = self.pages.as_mut_ptr().cast::<u8>();
        NonNull::new(base.wrapping_add(offset as usize)).expect("an arena is nowhere near 0")
    }

    /// The offset of an address that a heap gave. One outside the arena gives an offset that no
    /// case manages.
    pub(crate) fn offset(&mut self, address: NonNull<u8>) -> u64 {
        address.addr().get().wrapping_sub(self.at(0).addr().get()) as u64
    }
}

/// The layout of a request.
pub(crate) fn layout(len: u64, align: u64) -> Layout {
    Layout::from_size_align(len as usize, align as usize).expect("cases ask for powers of two")
}
