//! A SKILL.md: the strict verdict.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| gongfu_fuzz::check("strict", input));
