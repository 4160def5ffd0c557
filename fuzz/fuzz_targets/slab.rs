//! Bytes are a case of slab caches, as choices of the generator or as text; the laws must hold after every operation.
#![no_main]

use mmspec_proptests::slab::Slab;

libfuzzer_sys::fuzz_target!(|data: &[u8]| mmspec_proptests::flat::fuzz::<Slab>(data));
