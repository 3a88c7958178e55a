//! Each check passes on a good tree, and fails on a violation planted there.

mod shrinking;

use super::*;
use crate::generate::fences as generated;
use crate::tree::{Dependency, Package};

const LINTS: &str = "[lints]\nworkspace = true\n";

/// The files of the good tree, manifests and fences aside.
const FILES: &[(&str, &str)] = &[
    (
        "crates/gongfu-core/src/lib.rs",
        "//! The core.\n\npub mod skill;\n",
    ),
    (
        "crates/gongfu-core/src/skill.rs",
        "//! Skills.\n\n#[cfg(test)]\nmod tests;\n",
    ),
    (
        "crates/gongfu-core/src/skill/tests.rs",
        "//! Skills, tried.\n",
    ),
    (
        "crates/gongfu-hub/src/lib.rs",
        "//! The hub.\n\nmod catalog;\nmod dialect;\n",
    ),
    (
        "crates/gongfu-hub/src/catalog.rs",
        "//! The catalog.\n\ntools! {\n    skill_get::SkillGet,\n    skill_list::SkillList,\n}\n",
    ),
    (
        "crates/gongfu-hub/src/tool/skill_get.rs",
        "//! Gets.\n\nmod part;\n",
    ),
    (
        "crates/gongfu-hub/src/tool/skill_get/part.rs",
        "//! A part.\n",
    ),
    ("crates/gongfu-hub/src/tool/skill_list.rs", "//! Lists.\n"),
    (
        "crates/gongfu-hub/src/dialect.rs",
        "//! Dialects.\n\ndialects! {\n    other,\n    skills,\n}\n",
    ),
    ("crates/gongfu-hub/src/dialect/other.rs", "//! Others.\n"),
    ("crates/gongfu-hub/src/dialect/skills.rs", "//! Skills.\n"),
    (
        "crates/gongfu/src/main.rs",
        "//! The binary.\n\nfn main() {}\n",
    ),
    (
        "crates/gongfu/tests/it/main.rs",
        "//! The tests.\n\nmod story;\n",
    ),
    ("crates/gongfu/tests/it/story.rs", "//! The story.\n"),
    (
        "crates/gongfu/tests/it/snapshots/it__story__help.snap",
        "---\nsource: crates/gongfu/tests/it/story.rs\nexpression: help\n---\nUsage\n",
    ),
    (
        "fuzz/Cargo.toml",
        "[[bin]]\nname = \"frontmatter\"\npath = \"fuzz_targets/frontmatter.rs\"\n",
    ),
    ("fuzz/fuzz_targets/frontmatter.rs", "#![no_main]\n"),
    (
        "ARCHITECTURE.md",
        "# Architecture\n\nSkills are in /home/me/skills and ~/mine/skills.\n",
    ),
    (
        language::GLOSSARY,
        "# Glossary\n\n## Phrases to avoid in texts for people\n\n| avoid | say |\n|---|---|\n| is no, mend | is not a |\n\n## More\n\n| a | b |\n",
    ),
];

/// A tree of three crates in which nothing is wrong.
fn good() -> Tree {
    let mut tree = Tree::default();
    add_crate(
        &mut tree,
        "gongfu-core",
        &["lib.rs"],
        "[dependencies]\nserde.workspace = true\n",
    );
    add_crate(
        &mut tree,
        "gongfu-hub",
        &["lib.rs"],
        "[dependencies]\ngongfu-core.workspace = true\n",
    );
    add_crate(
        &mut tree,
        "gongfu",
        &["main.rs"],
        "[dependencies]\ngongfu-hub.workspace = true\n",
    );
    depend(&mut tree, "gongfu-core", "serde");
    depend(&mut tree, "gongfu-hub", "gongfu-core");
    depend(&mut tree, "gongfu", "gongfu-hub");
    tree.packages[2]
        .roots
        .push("crates/gongfu/tests/it/main.rs".to_owned());
    for (path, text) in FILES {
        put(&mut tree, path, text);
    }
    fence(&mut tree);
    tree
}

fn add_crate(tree: &mut Tree, name: &str, roots: &[&str], manifest: &str) {
    let folder = format!("crates/{name}");
    put(
        tree,
        &format!("{folder}/Cargo.toml"),
        &format!("[package]\nname = \"{name}\"\n\n{LINTS}\n{manifest}"),
    );
    tree.packages.push(Package {
        name: name.to_owned(),
        roots: roots
            .iter()
            .map(|root| format!("{folder}/src/{root}"))
            .collect(),
        folder,
        dependencies: Vec::new(),
    });
}

fn depend(tree: &mut Tree, package: &str, on: &str) {
    let package = tree
        .packages
        .iter_mut()
        .find(|candidate| candidate.name == package)
        .unwrap();
    package.dependencies.push(Dependency {
        name: on.to_owned(),
        only_tests: false,
    });
}

fn put(tree: &mut Tree, path: &str, text: &str) {
    tree.files.insert(path.to_owned(), text.to_owned());
}

/// A change that writes one file.
fn file(path: &str, text: &str) -> impl FnOnce(&mut Tree) {
    move |tree| put(tree, path, text)
}

fn fence(tree: &mut Tree) {
    for (path, text) in generated::files(tree) {
        put(tree, &path, &text);
    }
}

/// Everything found in the tree, one line each.
fn report(tree: &Tree) -> String {
    findings(tree)
        .iter()
        .map(|finding| format!("{finding}\n"))
        .collect::<Vec<_>>()
        .concat()
}

/// Asserts that the only finding in a good tree with this change starts and goes on as told.
#[track_caller]
fn check(plant: impl FnOnce(&mut Tree), start: &str, part: &str) {
    let mut tree = good();
    plant(&mut tree);
    let report = report(&tree);
    assert_eq!(report.lines().count(), 1, "one finding wanted:\n{report}");
    assert!(
        report.starts_with(start),
        "{start:?} wanted at the start of\n{report}"
    );
    assert!(report.contains(part), "{part:?} wanted in\n{report}");
}

#[test]
fn a_good_tree_is_tidy() {
    assert_eq!(report(&good()), "");
}

#[test]
fn an_empty_tree_is_a_failure() {
    assert!(report(&Tree::default()).contains("nothing was checked"));
    let mut tree = good();
    tree.files.retain(|path, _| !path.starts_with("crates/"));
    assert!(report(&tree).contains("nothing was checked"));
}

#[test]
fn names_of_checks_are_unique() {
    let mut names: Vec<&str> = CHECKS.iter().map(|check| check.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), CHECKS.len());
}

#[test]
fn edges_refuse_a_wrong_way() {
    check(
        |tree| depend(tree, "gongfu-core", "gongfu-hub"),
        "crates/gongfu-core/Cargo.toml:1: `gongfu-core` must not depend on `gongfu-hub`",
        "it may name: gongfu-skills-ref;",
    );
}

#[test]
fn edges_refuse_siblings() {
    check(
        |tree| {
            for name in ["gongfu-mcp", "gongfu-records"] {
                add_crate(
                    tree,
                    name,
                    &["lib.rs"],
                    "[dependencies]\ngongfu-records.workspace = true\n",
                );
                put(tree, &format!("crates/{name}/src/lib.rs"), "//! A part.\n");
            }
            depend(tree, "gongfu-mcp", "gongfu-records");
            fence(tree);
        },
        "crates/gongfu-mcp/Cargo.toml:8: `gongfu-mcp` must not depend on `gongfu-records`",
        "gongfu-core, gongfu-hub",
    );
}

#[test]
fn edges_leave_fixtures_to_tests() {
    let plant = |only_tests| {
        move |tree: &mut Tree| {
            add_crate(tree, "gongfu-testing", &["lib.rs"], "");
            put(tree, "crates/gongfu-testing/src/lib.rs", "//! Fakes.\n");
            tree.packages[1].dependencies.push(Dependency {
                name: "gongfu-testing".to_owned(),
                only_tests,
            });
        }
    };
    check(
        plant(false),
        "crates/gongfu-hub/Cargo.toml:1: `gongfu-hub` must not depend on `gongfu-testing`",
        "[dev-dependencies]",
    );
    let mut tree = good();
    plant(true)(&mut tree);
    assert_eq!(report(&tree), "");
}

#[test]
fn edges_refuse_a_fenced_library() {
    check(
        |tree| depend(tree, "gongfu-hub", "sqlx"),
        "crates/gongfu-hub/Cargo.toml:1:",
        "only gongfu-records names it",
    );
}

#[test]
fn edges_keep_io_out_of_the_core() {
    check(
        |tree| depend(tree, "gongfu-core", "tokio"),
        "crates/gongfu-core/Cargo.toml:1:",
        "it does no IO",
    );
}

#[test]
fn edges_let_the_tests_of_the_binary_use_everything() {
    let mut tree = good();
    tree.packages[2].dependencies.push(Dependency {
        name: "rmcp".to_owned(),
        only_tests: true,
    });
    assert_eq!(report(&tree), "");
    tree.packages[2].dependencies[1].only_tests = false;
    assert!(report(&tree).contains("only gongfu-mcp, "));
}

#[test]
fn edges_and_fences_ask_for_a_place_for_a_new_crate() {
    let mut tree = good();
    add_crate(&mut tree, "gongfu-new", &["lib.rs"], "");
    put(&mut tree, "crates/gongfu-new/src/lib.rs", "//! New.\n");
    fence(&mut tree);
    let report = report(&tree);
    assert_eq!(report.lines().count(), 2, "{report}");
    assert!(
        report.contains("`gongfu-new` is not on the floor plan"),
        "{report}"
    );
    assert!(
        report.contains("add it to `EDGES` in xtask/src/tidy/edges.rs"),
        "{report}"
    );
    assert!(
        report.contains("add it to `FENCES` in xtask/src/generate/fences.rs"),
        "{report}"
    );
}

#[test]
fn sizes_refuse_a_long_file() {
    let long = |lines: usize| format!("//! Skills.\nmod tests;\n{}", "\n".repeat(lines - 2));
    check(
        file("crates/gongfu-core/src/skill.rs", &long(801)),
        "crates/gongfu-core/src/skill.rs:801: 801 lines, at most 800",
        "split it",
    );
    check(
        file("crates/gongfu-core/src/skill.rs", &long(501)),
        "crates/gongfu-core/src/skill.rs:501: note: 501 lines",
        "split it",
    );
    let mut tree = good();
    put(
        &mut tree,
        "crates/gongfu-core/src/skill/tests.rs",
        &long(2000),
    );
    put(
        &mut tree,
        "crates/gongfu-core/src/skill.rs",
        &format!("//! @generated\nmod tests;\n{}", long(900)),
    );
    assert_eq!(report(&tree), "");
}

#[test]
fn sizes_refuse_a_long_main() {
    check(
        file(
            "crates/gongfu/src/main.rs",
            &format!("//! The binary.\n{}", "\n".repeat(99)),
        ),
        "crates/gongfu/src/main.rs:100: 100 lines, at most 99",
        "into a module",
    );
}

#[test]
fn sizes_refuse_a_crate_that_holds_everything() {
    check(
        |tree| {
            for name in [
                "gongfu-llm",
                "gongfu-mcp",
                "gongfu-sandbox",
                "gongfu-server",
            ] {
                add_crate(tree, name, &["lib.rs"], "");
                put(
                    tree,
                    &format!("crates/{name}/src/lib.rs"),
                    &format!("//! A part.\n{}", "\n".repeat(20)),
                );
            }
            put(
                tree,
                "crates/gongfu-mcp/src/lib.rs",
                &format!("//! A part.\n{}", "\n".repeat(200)),
            );
            fence(tree);
        },
        "crates/gongfu-mcp/Cargo.toml:1: the crate holds",
        "at most 35 %",
    );
}

#[test]
fn forgotten_finds_a_module() {
    check(
        file("crates/gongfu-core/src/skill/name.rs", "//! Names.\n"),
        "crates/gongfu-core/src/skill/name.rs:1: no module declares this file",
        "add `mod name;` to crates/gongfu-core/src/skill.rs",
    );
}

#[test]
fn forgotten_does_not_count_a_comment() {
    check(
        file(
            "crates/gongfu-core/src/lib.rs",
            "//! The core.\n// mod skill;\nmod skill { mod tests; }\n",
        ),
        "crates/gongfu-core/src/skill.rs:1:",
        "add `mod skill;` to crates/gongfu-core/src/lib.rs",
    );
}

#[test]
fn forgotten_finds_a_dialect() {
    check(
        file("crates/gongfu-hub/src/dialect/queries.rs", "//! Queries.\n"),
        "crates/gongfu-hub/src/dialect.rs:5: the dialect in crates/gongfu-hub/src/dialect/queries.rs",
        "add the line `queries,` here",
    );
}

#[test]
fn forgotten_finds_a_tool() {
    check(
        file(
            "crates/gongfu-hub/src/tool/skill_health.rs",
            "//! Health.\n",
        ),
        "crates/gongfu-hub/src/catalog.rs:5: the tool in crates/gongfu-hub/src/tool/skill_health.rs",
        "add the line `skill_health::SkillHealth,` here",
    );
    check(
        file("crates/gongfu-hub/src/tool/skill_read.rs", "//! Reads.\n"),
        "crates/gongfu-hub/src/catalog.rs:6:",
        "`skill_read::SkillRead,`",
    );
}

#[test]
fn forgotten_finds_a_test_file() {
    check(
        file("crates/gongfu/tests/it/stdio.rs", "//! Stdio.\n"),
        "crates/gongfu/tests/it/stdio.rs:1:",
        "add `mod stdio;` to crates/gongfu/tests/it/main.rs",
    );
}

#[test]
fn forgotten_refuses_an_empty_name() {
    check(
        |tree| {
            put(
                tree,
                "crates/gongfu-core/src/skill.rs",
                "//! Skills.\nmod tests;\nmod utils;\n",
            );
            put(
                tree,
                "crates/gongfu-core/src/skill/utils.rs",
                "//! Things.\n",
            );
        },
        "crates/gongfu-core/src/skill/utils.rs:1: a module called `utils`",
        "noun",
    );
    check(
        file(
            "crates/gongfu-core/src/skill.rs",
            "//! Skills.\nmod tests;\nmod misc {}\n",
        ),
        "crates/gongfu-core/src/skill.rs:3: a module called `misc`",
        "noun",
    );
}

#[test]
fn forgotten_finds_a_stale_snapshot() {
    let path = "crates/gongfu/tests/it/snapshots/it__gone__help.snap";
    check(
        file(
            path,
            "---\nsource: crates/gongfu/tests/it/gone.rs\n---\nUsage\n",
        ),
        "crates/gongfu/tests/it/snapshots/it__gone__help.snap:1: the snapshot belongs to",
        "delete it",
    );
    check(
        file(path, "Usage\n"),
        "crates/gongfu/tests/it/snapshots/it__gone__help.snap:1:",
        "insta",
    );
}

#[test]
fn forgotten_compares_fuzz_targets() {
    check(
        file("fuzz/fuzz_targets/name.rs", "#![no_main]\n"),
        "fuzz/fuzz_targets/name.rs:1: the fuzz target is not in fuzz/Cargo.toml",
        "[[bin]]",
    );
    check(
        |tree| drop(tree.files.remove("fuzz/fuzz_targets/frontmatter.rs")),
        "fuzz/Cargo.toml:3: the fuzz target `fuzz/fuzz_targets/frontmatter.rs` does not exist",
        "remove its",
    );
}

#[test]
fn headers_are_wanted() {
    check(
        file(
            "crates/gongfu-core/src/skill.rs",
            "/// Tests.\nmod tests;\n",
        ),
        "crates/gongfu-core/src/skill.rs:1: the file does not start with `//!`",
        "what the module is",
    );
}

#[test]
fn fences_are_current() {
    check(
        file("crates/gongfu-core/clippy.toml", "# by hand\n"),
        "crates/gongfu-core/clippy.toml:1: the generated fence is missing or out of date",
        "just gen",
    );
    check(
        |tree| drop(tree.files.remove("clippy.toml")),
        "clippy.toml:1:",
        "just gen",
    );
}

#[test]
fn fences_want_the_lints_of_the_workspace() {
    check(
        file(
            "crates/gongfu-core/Cargo.toml",
            "[package]\nname = \"gongfu-core\"\n",
        ),
        "crates/gongfu-core/Cargo.toml:1: the crate does not use the lints",
        "`workspace = true`",
    );
}

#[test]
fn fences_refuse_unsafe() {
    let code = "//! Skills.\nmod tests;\nfn f() { unsafe { g() } }\n";
    check(
        file("crates/gongfu-core/src/skill.rs", code),
        "crates/gongfu-core/src/skill.rs:3: `unsafe` outside the sandbox crate",
        "safe way",
    );
    let mut tree = good();
    put(
        &mut tree,
        "crates/gongfu-core/src/skill.rs",
        "//! Not unsafe.\nmod tests;\nconst A: &str = \"unsafe\";\n",
    );
    assert_eq!(report(&tree), "");
}

#[test]
fn language_finds_phrases_in_texts_for_people() {
    let source = |text: &'static str| file("crates/gongfu-core/src/skill.rs", text);
    let what = "`is no` in a text for people";
    let literal = "//! Skills.\nmod tests;\nconst A: &str = \"it is \\\n    no file\";\n";
    check(source(literal), "crates/gongfu-core/src/skill.rs:3:", what);
    check(
        file("docs/a.md", "# A\n\nIt Is no file.\n"),
        "docs/a.md:3:",
        what,
    );
    check(
        file(
            "crates/gongfu-hub/src/tool/skill_list.rs",
            "//! Lists.\n\n/// It is no file.\nstruct Input;\n",
        ),
        "crates/gongfu-hub/src/tool/skill_list.rs:3:",
        what,
    );
    check(
        file(language::GLOSSARY, "# Glossary\n"),
        "docs/glossary.md:1:",
        "there is no list of phrases",
    );
    // The controls: a plain sentence, another word, and a comment that nobody but a programmer reads.
    let mut tree = good();
    let plain = "//! It is no file.\nmod tests;\nconst A: &str = \"there is no file, this noise, amend\";\n";
    put(&mut tree, "crates/gongfu-core/src/skill.rs", plain);
    assert_eq!(report(&tree), "");
}

#[test]
fn links_lead_somewhere() {
    let page = "# A\n\n## B, and `c`\n\nSee [b](#b-and-c), [this](../ARCHITECTURE.md#architecture), [docs](./).\n";
    let mut tree = good();
    put(&mut tree, "docs/a.md", page);
    assert_eq!(report(&tree), "");
    check(
        file("docs/a.md", "# A\n\nSee [b](b.md).\n"),
        "docs/a.md:3: the link `b.md` leads to no file",
        "correct or remove it",
    );
    check(
        file("docs/a.md", "# A\n\nSee [b](../ARCHITECTURE.md#b).\n"),
        "docs/a.md:3: the link `../ARCHITECTURE.md#b` leads to no heading",
        "correct it",
    );
}

#[test]
fn private_paths_stay_out() {
    for path in [
        concat!("/ro", "ot/x"),
        concat!("/wo", "rk/x"),
        concat!("/ho", "me/sifu/x"),
        concat!("/Us", "ers/sifu"),
    ] {
        check(
            file("docs/a.md", &format!("# A\n\nSee `{path}`.\n")),
            "docs/a.md:3:",
            "is a path of one machine",
        );
    }
}

#[test]
fn private_hosts_stay_out() {
    let line = concat!("index = \"https://index.", "crates.io/\"\n");
    check(
        file("docs/a.toml", line),
        "docs/a.toml:1:",
        "host of a package registry",
    );
    let mut tree = good();
    put(&mut tree, "scripts/node/package-lock.json", line);
    assert_eq!(report(&tree), "");
    put(&mut tree, "run.log", line);
    tree.untracked.insert("run.log".to_owned());
    assert!(report(&tree).starts_with("run.log:1: note: "));
}

#[test]
fn model_belongs_to_the_driver() {
    check(
        file(
            "crates/gongfu-hub/src/tool/skill_list.rs",
            "//! Lists.\n\nuse gongfu_core::port::ChatModel;\n",
        ),
        "crates/gongfu-hub/src/tool/skill_list.rs:3: `ChatModel` is named outside the agent's driver",
        "plain data",
    );
    check(
        file(
            "crates/gongfu-hub/src/tool/skill_list.rs",
            "//! Lists.\n\nfn ask() {\n    gongfu_llm::chat_model();\n}\n",
        ),
        "crates/gongfu-hub/src/tool/skill_list.rs:4: `chat_model` is named outside the agent's driver",
        "plain data",
    );
    let mut tree = good();
    put(
        &mut tree,
        "crates/gongfu-agent/src/lib.rs",
        "//! Drives.\n\nuse gongfu_core::port::ChatModel;\n",
    );
    assert_eq!(report(&tree), "");
}
