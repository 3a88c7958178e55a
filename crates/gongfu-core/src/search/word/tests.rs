//! Texts in, terms out.

use std::borrow::Cow;
use std::collections::BTreeSet;

use unicode_normalization::UnicodeNormalization as _;

use super::{Kind, Starts, Words, composed, squashed};

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
fn squashed_name_ignores_spelling() {
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

#[test]
fn starts_find_every_wanted_word() {
    const TEXT: &str = "Merging PDFs with parseHttpRequest, HTTPServer and XMLHttpRequests; k8s, \
        python3's React18 用Vue3 技能 ABCdefGHi o'neill don't dying skies lying news C# c++ F# \
        éclair Éclair cafe\u{301}s b\u{301}c snake_case kebab-case 2024-01-01 9lives x1y2Z3 \
        soft\u{ad}ware ＡＢＣ ﬁle Привет yearly YAMLs iOS macOS eBay ßtraße a1b2 A1B2 aB1";
    type TermRecord = (String, Kind, usize, usize);
    let told = |starts: Option<Starts>, text: &str| -> Vec<TermRecord> {
        let mut told = Vec::new();
        let mut tell = |term: super::Term<'_>| {
            if matches!(term.kind, Kind::Stem | Kind::Dense | Kind::Character) {
                told.push((term.text.to_owned(), term.kind, term.start, term.end));
            }
        };
        let mut words = Words::default();
        match starts {
            Some(starts) => words.stems(text, starts, &mut tell),
            None => words.each(text, &mut tell),
        }
        told
    };
    // Every neighbourhood of a word, cut anywhere.
    for from in 0..TEXT.len() {
        let Some(text) = TEXT.get(from..TEXT.ceil_char_boundary((from + 40).min(TEXT.len())))
        else {
            continue;
        };
        let text = composed(text);
        let all = told(None, &text);
        for wanted in all
            .iter()
            .map(|(term, ..)| term.as_str())
            .collect::<BTreeSet<_>>()
        {
            let alike = |told: &[TermRecord]| -> Vec<TermRecord> {
                let alike = told.iter().filter(|(term, ..)| term == wanted);
                alike.cloned().collect()
            };
            let found = told(Some(Starts::of([wanted])), &text);
            assert_eq!(alike(&found), alike(&all), "{wanted:?} in {text:?}");
            assert!(found.len() <= all.len());
        }
    }
    let passed_over = told(
        Some(Starts::of(["q"])),
        "Merging PDFs with parseHttpRequest",
    );
    assert_eq!(passed_over, []);
}

#[test]
fn starts_find_words_whose_endings_come_off() {
    const ENDINGS: [&str; 28] = [
        "", "s", "es", "ies", "ied", "ed", "eed", "ing", "ly", "er", "y", "e", "ness", "ation",
        "'s", "able", "ability", "ization", "ational", "fulness", "iveness", "ical", "ogy",
        "ement", "ously", "ably", "ating", "ating's",
    ];
    let letters = "aeiouybdlst";
    let mut beginnings = vec![String::new()];
    for length in 0..3 {
        for beginning in beginnings.clone() {
            if beginning.len() == length {
                beginnings.extend(letters.chars().map(|letter| format!("{beginning}{letter}")));
            }
        }
    }
    let mut words = Words::default();
    let mut tried = 0;
    for beginning in &beginnings {
        for ending in ENDINGS {
            let word = format!("{beginning}{ending}");
            let stems = |words: &mut Words, starts: Option<Starts>| {
                let mut stems = Vec::new();
                let mut tell = |term: super::Term<'_>| {
                    if term.kind == Kind::Stem {
                        stems.push(term.text.to_owned());
                    }
                };
                match starts {
                    Some(starts) => words.stems(&word, starts, &mut tell),
                    None => words.each(&word, &mut tell),
                }
                stems
            };
            let all = stems(&mut words, None);
            let starts = Starts::of(all.iter().map(String::as_str));
            assert_eq!(stems(&mut words, Some(starts)), all, "{word}");
            tried += all.len();
        }
    }
    assert!(tried > 40_000, "{tried}");
}

#[test]
fn text_is_composed_wherever_its_marks_are() {
    const PARTS: [&str; 9] = [
        "plain text, long enough to fill most of a piece of it. ",
        "e\u{301}",
        "é",
        "\u{301}",
        "技能",
        "か\u{3099}",
        "\u{ff76}\u{ff9e}",
        "\u{212b}",
        " a\n",
    ];
    let mut owned = 0;
    for number in 0..PARTS.len().pow(4) {
        let digits = std::iter::successors(Some(number), |rest| Some(rest / PARTS.len()));
        let parts = digits.take(4).map(|rest| PARTS[rest % PARTS.len()]);
        let text: String = parts.collect();
        let half_width = text.contains('\u{ff76}');
        let expected: String = if half_width {
            text.nfkc().collect()
        } else {
            text.nfc().collect()
        };
        let found = composed(&text);
        assert_eq!(found, expected, "{text:?}");
        owned += usize::from(matches!(found, Cow::Owned(_)));
    }
    assert!(owned > 1_000, "{owned}");
}
