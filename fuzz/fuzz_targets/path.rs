//! A path in a skill, read from a tree full of links out of it.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| gongfu_fuzz::check("path", input));
