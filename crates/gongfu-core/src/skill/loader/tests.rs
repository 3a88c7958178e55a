//! Whole documents, from the good one to what is hardly one.

use super::load;
use crate::skill::Diagnostic;
use crate::skill::document::{Document, body, is_valid};

fn read(bytes: &[u8], folder: &str) -> (Option<Document>, Vec<Diagnostic>) {
    let mut diagnostics = Vec::new();
    let document = load(bytes, folder, &mut diagnostics);
    assert_eq!(
        body(bytes),
        document.as_ref().map(|document| document.body().to_owned())
    );
    (document, diagnostics)
}

fn codes(diagnostics: &[Diagnostic]) -> Vec<&'static str> {
    diagnostics
        .iter()
        .map(|found| found.finding.code())
        .collect()
}

#[test]
fn a_good_skill_has_no_findings() {
    let text = "---\nname: pdf\ndescription: Read PDFs.\nlicense: MIT\ncompatibility: any\nmetadata:\n  author: me\nallowed-tools: Bash(git:*, ls) Read\n---\n# PDF\n\nDo it.\n";
    let (document, diagnostics) = read(text.as_bytes(), "pdf");
    assert_eq!(codes(&diagnostics), [] as [&str; 0]);
    let Some(document) = document else {
        panic!("it loads")
    };
    assert_eq!(
        (document.name.as_str(), document.description.as_str()),
        ("pdf", "Read PDFs.")
    );
    assert_eq!(document.body(), "# PDF\n\nDo it.\n");
}

#[test]
fn missing_fields_have_stand_ins() {
    let (document, diagnostics) = read(b"# Title\n\nFirst *paragraph*.\n", "my-skill");
    let Some(document) = document else {
        panic!("it loads")
    };
    assert_eq!(
        (document.name.as_str(), document.description.as_str()),
        ("my-skill", "First paragraph.")
    );
    assert_eq!(codes(&diagnostics), ["frontmatter-missing"], "one finding");
    assert!(!is_valid(&diagnostics));
    let (document, _) = read(b"---\nname: ../../etc\ndescription: [a]\n---\n", "..");
    let Some(document) = document else {
        panic!("it loads")
    };
    assert_eq!(document.name.as_str(), "skill");
}

#[test]
fn only_binary_files_are_refused() {
    for (bytes, code) in [
        (&b""[..], "skill-file-empty"),
        (b" \n\t", "skill-file-empty"),
        (&[0x7f, b'E', b'L', b'F', 1, 0, 0], "skill-file-not-text"),
    ] {
        let (document, diagnostics) = read(bytes, "a");
        assert!(document.is_none());
        assert_eq!(codes(&diagnostics), [code]);
    }
}

#[test]
fn each_field_is_judged() {
    let text = format!(
        "---\nname: Bad_Name\ndescription: {}\ncompatibility: [x]\nmetadata: {{a: {{b: c}}}}\nallowed-tools: [Read]\nlicence: MIT\nversion: 1\n---\nb\n",
        "d".repeat(1025)
    );
    let (_, diagnostics) = read(text.as_bytes(), "good");
    assert_eq!(
        codes(&diagnostics),
        [
            "field-unknown",
            "compatibility-not-text",
            "metadata-nested",
            "allowed-tools-shape",
            "name-uppercase",
            "name-character",
            "name-differs-from-folder",
            "description-too-long"
        ]
    );
    assert_eq!(
        diagnostics[0].position.map(|at| (at.line, at.column)),
        Some((7, 1))
    );
    assert!(
        crate::text::finding(&diagnostics[0].finding)
            .hint
            .contains("`license`")
    );
}
