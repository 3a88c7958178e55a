//! Tests of the strict verdict: one for each rule of the reference that is easy to get wrong.

use super::{CrashCause, Reason, YamlProblem, validate};

fn codes(bytes: &[u8], folder: &str) -> Vec<&'static str> {
    validate(bytes, folder)
        .iter()
        .map(|refusal| refusal.reason.code())
        .collect()
}

/// The codes for a skill in a folder `x` with a good name and description and these lines.
fn codes_with(lines: &str) -> Vec<&'static str> {
    let file = format!("---\nname: x\ndescription: d\n{lines}\n---\nbody\n");
    codes(file.as_bytes(), "x")
}

fn codes_named(name: &str, folder: &str) -> Vec<&'static str> {
    let file = format!("---\nname: {name}\ndescription: d\n---\n");
    codes(file.as_bytes(), folder)
}

const VALID: [&str; 0] = [];

#[test]
fn a_plain_skill_is_valid() {
    assert_eq!(codes_with("license: MIT"), VALID);
    assert_eq!(codes_with("metadata:\n  a: b\n  c:\n  - d"), VALID);
    assert_eq!(codes_with("allowed-tools:\n- Read\n- Write"), VALID);
}

#[test]
fn the_frontmatter_is_cut_at_the_first_two_fences() {
    assert_eq!(codes(b"", "x"), ["strict-missing-frontmatter"]);
    assert_eq!(
        codes(b"\xef\xbb\xbf---\n---\n", "x"),
        ["strict-missing-frontmatter"]
    );
    assert_eq!(
        codes(b"---\nname: x\n", "x"),
        ["strict-unclosed-frontmatter"]
    );
    assert_eq!(codes(b"---name: x\ndescription: a --- b\n", "x"), VALID);
    assert_eq!(codes(b"------\n", "x"), ["strict-not-a-mapping"]);
    assert_eq!(codes(b"---\n- a\n---\n", "x"), ["strict-not-a-mapping"]);
    assert_eq!(codes(b"---\nname: \xff\n---\n", "x"), ["strict-not-utf8"]);
    assert_eq!(codes(b"---\rname: x\r\ndescription: d\r---\r", "x"), VALID);
}

#[test]
fn offsets_are_bytes_of_the_file() {
    let refusals = validate(
        "---\r\nname: x\r\ndescription: é\r\nversion: 1\r\n---".as_bytes(),
        "x",
    );
    assert_eq!(refusals.len(), 1);
    assert_eq!(refusals[0].offset, Some(31));
    let refusals = validate("---\nname: é\nlicense: a: b\n---".as_bytes(), "x");
    assert_eq!(refusals[0].offset, Some(23));
    let problem = YamlProblem::ValueNotAllowedHere;
    assert_eq!(refusals[0].reason, Reason::Yaml { problem });
    assert_eq!(validate(b"---\nname: \xff", "x")[0].offset, Some(10));
}

#[test]
fn names_follow_the_reference() {
    assert_eq!(codes_named("中文技能", "中文技能"), VALID);
    assert_eq!(codes_named("ﬁle", "file"), VALID);
    assert_eq!(codes_named("' x '", "x"), VALID);
    assert_eq!(codes_named("\"\\x1cx\"", "x"), VALID);
    assert_eq!(
        codes_named("हिन्दी", "हिन्दी"),
        ["strict-name-invalid-characters"]
    );
    assert_eq!(codes_named("Ab", "Ab"), ["strict-name-not-lowercase"]);
    assert_eq!(
        codes_named("'a--b-'", "a--b-"),
        ["strict-name-hyphen-edge", "strict-name-double-hyphen"]
    );
    assert_eq!(codes_named("a", "b"), ["strict-name-mismatch"]);
    assert_eq!(codes_named("''", "x"), ["strict-name-empty"]);
    assert_eq!(codes_named("=", "x"), ["strict-name-not-a-string"]);
    assert_eq!(
        codes_named("'='", "x"),
        ["strict-name-invalid-characters", "strict-name-mismatch"]
    );
    assert_eq!(codes_named(&"a".repeat(64), &"a".repeat(64)), VALID);
    assert_eq!(
        codes_named(&"a".repeat(65), &"a".repeat(65)),
        ["strict-name-too-long"]
    );
    assert_eq!(
        codes_named("\"\\ud800\"", "\u{fffd}"),
        ["strict-name-invalid-characters"]
    );
}

#[test]
fn fields_follow_the_reference() {
    assert_eq!(
        codes(b"---\nlicense: x\n---\n", "x"),
        ["strict-missing-name", "strict-missing-description"]
    );
    let describe = |text: &str| {
        let file = format!("---\nname: x\ndescription: {text}\n---\n");
        codes(file.as_bytes(), "x")
    };
    assert_eq!(describe(&"é".repeat(1024)), VALID);
    assert_eq!(describe(&"é".repeat(1025)), ["strict-description-too-long"]);
    assert_eq!(describe("' '"), ["strict-description-empty"]);
    assert_eq!(describe("\n  a: b"), ["strict-description-not-a-string"]);
    assert_eq!(codes_with("compatibility:"), VALID);
    assert_eq!(
        codes_with("compatibility: ="),
        ["strict-compatibility-not-a-string"]
    );
    let long = format!("compatibility: {}", "c".repeat(501));
    assert_eq!(codes_with(&long), ["strict-compatibility-too-long"]);
    let refusals = validate(b"---\nname: x\ndescription: d\nb: 1\na: 2\n---\n", "x");
    let fields = vec!["a".to_owned(), "b".to_owned()];
    assert_eq!(refusals[0].reason, Reason::UnexpectedFields { fields });
}

#[test]
fn only_block_style_is_accepted() {
    assert_eq!(codes_with("metadata: {a: b}"), ["strict-yaml-flow-style"]);
    assert_eq!(codes_with("metadata: &a b"), ["strict-yaml-anchor"]);
    assert_eq!(codes_with("metadata: *a"), ["strict-yaml-alias"]);
    assert_eq!(codes_with("metadata: !a b"), ["strict-yaml-tag"]);
    assert_eq!(codes_with("%YAML 1.2"), ["strict-yaml-directive"]);
    assert_eq!(
        codes_with("license: `a`"),
        ["strict-yaml-unexpected-character"]
    );
    assert_eq!(
        codes_with("license: a\tb"),
        ["strict-yaml-unexpected-character"]
    );
    assert_eq!(codes_with("license: 'a"), ["strict-yaml-unclosed-quote"]);
    assert_eq!(codes_with("license: 'a\n...'"), VALID);
    assert_eq!(
        codes_with("license: 'a\n... '"),
        ["strict-yaml-document-end-in-quotes"]
    );
    assert_eq!(
        codes_with("license: \"\\q\""),
        ["strict-yaml-unknown-escape"]
    );
    assert_eq!(
        codes_with("license: \"\\x4\""),
        ["strict-yaml-short-escape"]
    );
    assert_eq!(
        codes_with("license: |0\n  a"),
        ["strict-yaml-block-scalar-header"]
    );
    assert_eq!(
        codes_with("license: - a"),
        ["strict-yaml-entry-not-allowed"]
    );
    assert_eq!(codes_with("license: ? a"), ["strict-yaml-key-not-allowed"]);
    assert_eq!(codes_with("license"), ["strict-yaml-missing-colon"]);
    assert_eq!(codes_with("...\n"), VALID);
    assert_eq!(codes_with("...\na: b"), ["strict-yaml-second-document"]);
    assert_eq!(codes_with(" license: a"), ["strict-yaml-value-not-allowed"]);
    assert_eq!(codes_with("- a"), ["strict-yaml-structure"]);
}

#[test]
fn simple_keys_have_1024_characters_at_most() {
    assert_eq!(
        codes_with(&format!("metadata:\n  {}: v", "k".repeat(1024))),
        VALID
    );
    assert_eq!(
        codes_with(&format!("metadata:\n  {}: v", "k".repeat(1025))),
        ["strict-yaml-value-not-allowed"]
    );
}

#[test]
fn indentation_after_an_empty_line_may_be_a_tab() {
    assert_eq!(codes_with("metadata:\n\n\ta: b"), VALID);
    assert_eq!(
        codes_with("metadata:\n\ta: b"),
        ["strict-yaml-unexpected-character"]
    );
}

#[test]
fn mappings_follow_the_reference() {
    assert_eq!(
        codes_with("metadata:\n  a: b\n  'a': c"),
        ["strict-yaml-duplicate-key"]
    );
    assert_eq!(
        codes_with("metadata:\n  \"\\ud800\": a\n  \"\\ud801\": b"),
        VALID
    );
    assert_eq!(
        codes_with("metadata:\n  a: b\nlicense:\n   c: d"),
        ["strict-yaml-uneven-indentation"]
    );
    assert_eq!(codes_with("? a: b\n: c"), ["strict-yaml-mapping-key"]);
    assert_eq!(codes_with("? - a\n: c"), ["strict-crash-sequence-key"]);
    assert_eq!(codes_with("<<:\n  ? - a\n  : c"), VALID);
    assert_eq!(
        codes_with("<<:\n  ? - a\n  : c\n  ? - a\n  : c"),
        ["strict-yaml-duplicate-key"]
    );
    assert_eq!(codes_with("<<:\n  other: a"), VALID);
    assert_eq!(codes_with("<<: a"), ["strict-yaml-merge-value"]);
    assert_eq!(
        codes_with("<<:\n  a: b\n<<:\n  c: d"),
        ["strict-crash-repeated-merge"]
    );
}

#[test]
fn failures_of_the_reference_are_refusals() {
    let cause = |lines: &str| {
        let file = format!("---\nname: x\ndescription: d\n{lines}\n---\n");
        match validate(file.as_bytes(), "x").swap_remove(0).reason {
            Reason::Crash { cause } => cause,
            reason => panic!("{reason}"),
        }
    };
    let character = '\u{7f}';
    assert_eq!(
        cause("# \u{7f}"),
        CrashCause::ForbiddenCharacter { character }
    );
    assert_eq!(
        cause("license: \"\\U00110000\""),
        CrashCause::EscapeOutOfRange
    );
    assert_eq!(
        cause("license:\n  # c\n  | # d\n  a"),
        CrashCause::CommentOverlap
    );
    assert_eq!(codes_with("license:\n  # c\n  |\n  a"), VALID);
}

#[test]
fn nesting_is_accepted_to_the_limit_of_the_reference() {
    let nested = |levels: usize| format!("metadata:\n  {}x", "- ".repeat(levels));
    assert_eq!(codes_with(&nested(243)), VALID);
    assert_eq!(codes_with(&nested(244)), ["strict-crash-too-deep"]);
    assert_eq!(codes_with(&nested(100_000)), ["strict-crash-too-deep"]);
    assert_eq!(codes_with(&"? ".repeat(100_000)), ["strict-crash-too-deep"]);
}

#[test]
fn big_files_come_to_an_end() {
    let many =
        |unit: &str| codes_with(&format!("metadata:\n{}", unit.repeat(300_000 / unit.len())));
    for unit in [
        "- x\n",
        "# c\n",
        "- # c\n\n  x\n",
        "\n",
        "- a: b\n  c: d\n",
        ":",
        "'",
        "- |\n  x\n\n",
        "\u{2028}",
    ] {
        let _ = many(unit);
    }
}

/// No cut and no repetition of odd pieces makes the verdict panic.
#[test]
fn no_bytes_make_it_panic() {
    let pieces: [&[u8]; 24] = [
        b"---",
        b"\n",
        b"a: b\n",
        b"  ",
        b"- ",
        b"? ",
        b": ",
        b"#",
        b"|",
        b">2",
        b"'",
        b"\"",
        b"\\u1",
        b"\t",
        b"\r",
        b"\xef\xbb\xbf",
        b"\xc2\x85",
        b"\xe2\x80\xa8",
        b"\xff",
        b"...",
        b"<<:",
        b"%",
        b"[",
        b"x",
    ];
    let mut state = 1_u64;
    for _ in 0..20_000 {
        let mut file = b"---\n".to_vec();
        for _ in 0..12 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let piece = usize::try_from(state >> 33).unwrap_or(0) % pieces.len();
            file.extend_from_slice(pieces[piece]);
        }
        file.extend_from_slice(b"\n---");
        for refusal in validate(&file, "x") {
            assert!(refusal.offset.is_none_or(|offset| offset <= file.len()));
            assert!(!refusal.reason.to_string().is_empty());
        }
    }
}
