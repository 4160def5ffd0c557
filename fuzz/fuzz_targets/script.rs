//! Bytes as script text: an error or a script, never a panic; and both forms give it back.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| mmspec_proptests::fuzz::script(data));
