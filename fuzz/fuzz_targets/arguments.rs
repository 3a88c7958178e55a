//! A call of a tool, through the catalog's gate.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| gongfu_fuzz::check("arguments", input));
