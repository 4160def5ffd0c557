//! Bytes are a script; reference and implementation must agree on it in everything.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| mmspec_proptests::fuzz::differential(data));
