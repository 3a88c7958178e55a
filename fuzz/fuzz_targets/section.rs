//! The body of a document: headings, sections, summary.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| gongfu_fuzz::check("section", input));
