//! Bytes are a case of memory cgroups, as choices of the generator or as text; specification and implementation must agree, and the laws hold.
#![no_main]

use mmspec_proptests::memcg::Memcg;

libfuzzer_sys::fuzz_target!(|data: &[u8]| mmspec_proptests::flat::fuzz::<Memcg>(data));
