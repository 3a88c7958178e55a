//! A SKILL.md: loaded leniently, judged, mended.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| gongfu_fuzz::check("document", input));
