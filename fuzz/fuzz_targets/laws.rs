//! Bytes are a script; the implementation must keep the laws on it.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| mmspec_proptests::fuzz::laws(data));
