//! Texts in, terms out.

use super::{Kind, Words, composed, squashed};

/// The terms of these kinds, with spaces between them.
fn terms(text: &str, kinds: &[Kind]) -> String {
    let mut found = Vec::new();
    let text = composed(text);
    Words::default().each(&text, &mut |term| {
        assert!(text.is_char_boundary(term.start) && text.is_char_boundary(term.end));
        assert!(term.start < term.end && term.end <= text.len());
        if kinds.contains(&term.kind) {
            found.push(term.text.to_owned());
        }
    });
    found.join(" ")
}

#[test]
fn identifiers_are_split_and_endings_lost() {
    for (text, expected) in [
        ("Merging PDFs", "merg pdfs"),
        ("parseHttpRequest", "pars http request parsehttprequest"),
        ("HTTPServer", "http server httpserver"),
        (
            "snake_case kebab-case dotted.name",
            "snake case kebab case dot name",
        ),
        ("k8s python3 v2", "k8s python3 python v2"),
        ("React18 用Vue3", "react18 react vue3 vue"),
        ("soft\u{ad}ware", "softwar"),
        ("كِتَاب كتاب", "كتاب كتاب"),
        ("C# and C++ in F#", "c# and c++ in f#"),
        ("c+ x# y++z", "c x# y z"),
        ("don't the user's they’ll", "don the user they"),
        ("o'neill", "o neill"),
        ("Crème Brûlée", "creme brule"),
        ("naïve ＡＢＣ ﬁle", "naiv abc file"),
        ("Привет, МИР", "привет мир"),
        ("नमस्ते दुनिया", "नमस्ते दुनिया"),
        ("", ""),
        (" -–— ?! \0", ""),
    ] {
        assert_eq!(terms(text, &[Kind::Stem]), expected, "{text:?}");
    }
    assert_eq!(
        terms("Merging PDFs", &[Kind::Surface]),
        "merging pdfs",
        "the word as it stands"
    );
    let long = "x".repeat(100_000);
    assert_eq!(terms(&long, &[Kind::Stem, Kind::Surface]), "");
}

#[test]
fn scripts_without_spaces_become_neighbours() {
    let dense = [Kind::Dense, Kind::Character];
    for (text, expected) in [
        ("技能", "技 技能 能"),
        ("用PDF", "用"),
        ("データを", "デ デー ー ータ タ タを を"),
        ("ﾃﾞｰﾀ", "デ デー ー ータ タ"),
        ("か\u{3099}く", "が がく く"),
        ("기술 문서", "기 기술 술 문 문서 서"),
        ("ก็ดี", "ก ก็ ็ ็ด ด ดี ี"),
        ("中。文", "中 文"),
        ("葛\u{e0100}城", "葛 葛城 城"),
        ("技\u{200b}能", "技 技能 能"),
        ("🎉 done", "🎉"),
        ("㍿", "㍿"),
    ] {
        assert_eq!(terms(text, &dense), expected, "{text:?}");
    }
}

#[test]
fn words_of_substance_form_pairs_in_any_order() {
    assert_eq!(terms("review the code", &[Kind::Pair]), "code_review");
    assert_eq!(terms("code reviewing", &[Kind::Pair]), "code_review");
    assert_eq!(
        terms("pull request review", &[Kind::Pair, Kind::WidePair]),
        "pull_request request_review pull_review"
    );
    assert_eq!(terms("review\ncode", &[Kind::Pair, Kind::WidePair]), "");
    assert_eq!(terms("code code", &[Kind::Pair]), "");
}

#[test]
fn a_name_is_known_however_it_is_written() {
    for name in [
        "scikit-learn",
        "Scikit Learn",
        "scikit_learn",
        "SCIKITLEARN ",
    ] {
        assert_eq!(squashed(name), "scikitlearn");
    }
    assert_eq!(squashed("?!"), "");
}
