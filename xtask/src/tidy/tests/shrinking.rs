//! Circles, and the checks with ceilings: words, documents.

use super::*;

/// A change that writes these modules of the core; the text of `lib.rs` is appended to it.
fn core(files: &[(&str, &str)]) -> impl FnOnce(&mut Tree) {
    let mut lib = String::from("//! The core.\n\npub mod skill;\n");
    let mut texts = Vec::new();
    for (name, text) in files {
        if *name == "lib.rs" {
            lib.push_str(text);
            continue;
        }
        if !name.contains('/') {
            lib.push_str("mod ");
            lib.push_str(name.trim_end_matches(".rs"));
            lib.push_str(";\n");
        }
        let path = format!("crates/gongfu-core/src/{name}");
        texts.push((path, format!("//! A part.\n{text}")));
    }
    texts.push(("crates/gongfu-core/src/lib.rs".to_owned(), lib));
    move |tree| tree.files.extend(texts)
}

#[test]
fn circles_refuse_siblings_that_name_each_other() {
    check(
        core(&[
            ("name.rs", "use crate::place::Place;\n"),
            ("place.rs", "\nfn f() -> super::name::Name {}\n"),
        ]),
        "crates/gongfu-core/src/name.rs:2: circle name -> place -> name",
        "place -> name at crates/gongfu-core/src/place.rs:3",
    );
}

#[test]
fn circles_see_a_reexport_and_a_long_way() {
    check(
        core(&[
            ("lib.rs", "pub use place::Place;\n"),
            ("name.rs", "use crate::near;\nfn f() { near::find() }\n"),
            ("near.rs", "use crate::Place;\n"),
            ("place.rs", "use crate::name::Name;\n"),
        ]),
        "crates/gongfu-core/src/name.rs:2: circle name -> near -> place -> name",
        "near -> place at crates/gongfu-core/src/near.rs:2",
    );
}

#[test]
fn circles_compare_whole_subtrees() {
    check(
        core(&[
            ("name.rs", "mod part;\nmod other;\n"),
            ("name/part.rs", "use crate::place::Place;\n"),
            ("name/other.rs", ""),
            ("place.rs", "use crate::name::other::Other;\n"),
        ]),
        "crates/gongfu-core/src/name/part.rs:2: circle name -> place -> name",
        "move the part",
    );
    check(
        core(&[
            ("name.rs", "mod part;\nmod other;\n"),
            ("name/part.rs", "use super::other::Other;\n"),
            ("name/other.rs", "use crate::name::part;\n"),
        ]),
        "crates/gongfu-core/src/name/other.rs:2: circle name::other -> name::part -> name::other",
        "move the part",
    );
}

#[test]
fn circles_leave_parents_children_and_tests_alone() {
    let mut tree = good();
    let change = core(&[
        (
            "name.rs",
            "mod part;\nmod other;\nuse part::Part;\n#[cfg(test)]\nmod tests;\n",
        ),
        (
            "name/part.rs",
            "use super::Name;\nuse crate::Everything;\nuse super::other::Other;\n",
        ),
        ("name/other.rs", "use super::Name;\n"),
        ("name/tests.rs", "use crate::place::Place;\n"),
        (
            "place.rs",
            "use crate::name::Name;\n#[cfg(test)]\nmod tests { use crate::skill; }\n",
        ),
    ]);
    change(&mut tree);
    assert_eq!(report(&tree), "");
}

#[test]
fn faults_beyond_the_ceiling_are_refused() {
    let mut tree = good();
    core(&[
        ("name.rs", "/// What a name is.\nstruct Name;\n"),
        ("place.rs", "/// Where it is.\nstruct Place;\n"),
    ])(&mut tree);
    put(
        &mut tree,
        ceilings::FILE,
        "[openings]\n\"gongfu-core\" = 2\n",
    );
    assert_eq!(report(&tree), "");
    put(
        &mut tree,
        ceilings::FILE,
        "[openings]\n\"gongfu-core\" = 1\n",
    );
    let refusal = report(&tree);
    assert!(
        refusal.contains("xtask/ceilings.toml:2: openings of gongfu-core: 2, at most 1"),
        "{refusal}"
    );
    put(
        &mut tree,
        ceilings::FILE,
        "[openings]\n\"gongfu-core\" = 3\n\"gongfu-hub\" = 4\n",
    );
    let notes = report(&tree);
    assert_eq!(
        notes
            .lines()
            .filter(|line| line.contains(": note: "))
            .count(),
        2,
        "{notes}"
    );
    let lowered = Ceilings::read(&tree).unwrap().lowered(&groups(&tree));
    assert!(
        lowered.ends_with("\n[openings]\n\"gongfu-core\" = 2\n"),
        "{lowered}"
    );
}

#[test]
fn ceilings_must_be_numbers() {
    check(
        file(ceilings::FILE, "[openings]\ngongfu-core = \"many\"\n"),
        "xtask/ceilings.toml:1: the ceilings can't be read",
        "a table for each kind",
    );
}

/// Asserts what is found in one more file of the core.
#[track_caller]
fn check_words(text: &str, line: usize, part: &str) {
    check(
        core(&[("name.rs", text)]),
        &format!("crates/gongfu-core/src/name.rs:{line}: "),
        part,
    );
}

#[test]
fn words_refuse_participles_as_types() {
    check_words(
        "pub(crate) struct Kept;\n",
        2,
        "the type `Kept` is named with a participle",
    );
    check_words("enum Limited<T> {}\n", 2, "`Limited`");
    check_words("type Told = u8;\n", 2, "`Told`");
}

#[test]
fn words_refuse_vague_constants() {
    check_words(
        "const MOST: usize = 1;\n",
        2,
        "`MOST` doesn't say what is limited",
    );
    check_words("static BODY_PATIENCE: u8 = 1;\n", 2, "`BODY_PATIENCE`");
}

#[test]
fn words_refuse_relative_clauses_at_the_start() {
    check_words(
        "\n    /// Whether it is there.\n    fn f() {}\n",
        3,
        "begins with `Whether`",
    );
    check(
        file(
            "crates/gongfu-core/src/skill.rs",
            "//! What a skill is.\nmod tests;\n",
        ),
        "crates/gongfu-core/src/skill.rs:1: the comment begins with `What`",
        "plain sentence",
    );
}

#[test]
fn words_refuse_riddles() {
    check_words(
        "fn f() {} // Whoever no longer waits.\n",
        2,
        "`whoever` in a comment",
    );
    check_words(
        "/// There is none.\nfn f() {}\n",
        2,
        "`is none` in a comment",
    );
}

#[test]
fn words_leave_plain_ones_alone() {
    let mut tree = good();
    let text = "/// Finds the name.\n/// Which one wins is decided elsewhere.\nstruct Seed;\n\
                struct ParsedName;\nconst MAX_NAMES: u8 = 1;\nconst A: &str = \"struct Kept\";\n\
                enum Step { Told }\n";
    core(&[("name.rs", text)])(&mut tree);
    assert_eq!(report(&tree), "");
}

#[test]
fn documents_refuse_many_words() {
    let words = |count: usize| "word\n\n".repeat(count);
    check(
        file("ARCHITECTURE.md", &words(2_501)),
        "ARCHITECTURE.md:1: 2501 words, at most 2500",
        "docs/design",
    );
    check(
        file("docs/design/gate.md", &words(401)),
        "docs/design/gate.md:1: 401 words, at most 400",
        "newcomer",
    );
}

#[test]
fn documents_refuse_a_long_paragraph() {
    let text = format!(
        "# Title\n\nShort.\n\n{}\n{}\n",
        "word ".repeat(50),
        "word ".repeat(31)
    );
    check(
        file("README.md", &text),
        "README.md:5: a paragraph of 81 words, at most 80",
        "split it",
    );
    let mut tree = good();
    let row = format!(
        "- {}\n1. {}\n| {} |\n",
        "word ".repeat(70),
        "word ".repeat(70),
        "word ".repeat(70)
    );
    let code = format!("```\n{}\n```\n", "word ".repeat(90));
    put(&mut tree, "README.md", &format!("{row}\n{code}"));
    assert_eq!(report(&tree), "");
}
