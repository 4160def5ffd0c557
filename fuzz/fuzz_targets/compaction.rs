//! Bytes are a case of compaction, as choices of the generator or as text; the laws must hold at every iteration.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| mmspec_proptests::compaction::fuzz(data));
