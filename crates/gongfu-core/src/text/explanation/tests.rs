//! Every code is explained once, and examples have the finding that they are for.

use std::collections::BTreeSet;

use super::{ROWS, explanation, explanations};
use crate::skill;
use crate::skill::finding::Finding;

#[test]
fn every_code_is_explained_once() {
    let codes: BTreeSet<&str> = Finding::CODES.iter().map(|(code, _)| *code).collect();
    let rows: BTreeSet<&str> = ROWS.iter().map(|row| row.0).collect();
    assert_eq!(codes, rows);
    assert_eq!(rows.len(), ROWS.len());
    let all: BTreeSet<&str> = explanations().map(|explained| explained.code).collect();
    assert_eq!(all.len(), explanations().count(), "no code twice");
    for explained in explanations() {
        let texts = [explained.meaning, explained.example, explained.fix];
        assert!(texts.iter().all(|text| !text.is_empty()), "{explained:?}");
    }
    assert!(explanation("no-such-code").is_none());
}

#[test]
fn every_code_of_the_reference_is_explained() {
    let source = include_str!("../../../../../skills-ref/src/reason.rs");
    let quoted = source.split('"').filter(|text| text.starts_with("strict-"));
    let codes: BTreeSet<&str> = quoted.filter(|code| !code.contains(' ')).collect();
    assert!(codes.len() > 40);
    for code in codes {
        assert!(explanation(code).is_some(), "{code}");
    }
}

#[test]
fn examples_have_the_finding() {
    let mut tried = 0;
    for &(code, _, example, _) in ROWS {
        if !example.contains('\n') {
            continue;
        }
        tried += 1;
        let mut found = Vec::new();
        skill::load(example.as_bytes(), "pdf-tools", &mut found);
        let mut codes = found.iter().map(|found| found.finding.code());
        assert!(codes.any(|found| found == code), "{code}: {found:?}");
    }
    assert!(tried > 25);
}
