//! Which source files a crate reaches through its modules, and which it has forgotten.
//!
//! Tools are declared by the list `tools! { skill_list::SkillList, … }` of the catalog, dialects by
//! `dialects! { skills, … }`: a file beside the others that is not in its list is a tool that nobody can call.

use std::collections::BTreeSet;

use crate::rust_text::{self, Module};
use crate::tidy::Finding;
use crate::tree::Tree;

/// A list by which a macro declares modules.
struct List {
    /// What its modules are.
    what: &'static str,
    /// The macro.
    name: &'static str,
    /// The file with the list.
    file: &'static str,
    /// The folder with one file for each entry.
    folder: &'static str,
    /// Whether an entry names the type in its file as well.
    typed: bool,
}

const LISTS: [List; 2] = [
    List {
        what: "tool",
        name: "tools",
        file: "crates/gongfu-hub/src/catalog.rs",
        folder: "crates/gongfu-hub/src/tool/",
        typed: true,
    },
    List {
        what: "dialect",
        name: "dialects",
        file: "crates/gongfu-hub/src/dialect.rs",
        folder: "crates/gongfu-hub/src/dialect/",
        typed: false,
    },
];

/// The files that no module declares.
pub(super) fn undeclared(tree: &Tree) -> Vec<Finding> {
    let mut waiting: Vec<(String, String)> = Vec::new();
    for package in &tree.packages {
        for root in &package.roots {
            waiting.push((root.clone(), folder(root).to_owned()));
        }
    }
    for List {
        name, file, folder, ..
    } in &LISTS
    {
        let listed = listed(tree.text(file), name);
        let files = listed.iter().map(|(name, _)| format!("{folder}{name}"));
        waiting.extend(files.map(|stem| (format!("{stem}.rs"), format!("{stem}/"))));
    }

    let mut reached = BTreeSet::new();
    while let Some((file, children)) = waiting.pop() {
        let Some(text) = tree.files.get(&file) else {
            continue;
        };
        if reached.insert(file.clone()) {
            let declared = rust_text::modules(text)
                .into_iter()
                .filter(|module| module.in_file);
            waiting.extend(declared.flat_map(|module| places(&file, &children, &module)));
        }
    }
    tree.rust()
        .filter(|(path, _)| is_checked(path) && !reached.contains(*path))
        .map(|(path, _)| finding(tree, path))
        .collect()
}

/// Whether the files of this path are modules, rather than data for a test.
pub(super) fn is_checked(path: &str) -> bool {
    let mut parts = path.split('/');
    let folder = match parts.next() {
        Some("crates") => parts.nth(1),
        Some("xtask") => parts.next(),
        _ => return false,
    };
    matches!(folder, Some("src" | "tests" | "benches")) && !parts.any(|part| part == "testdata")
}

/// The files, with the folders of their own modules, in which a declared module may be.
fn places(file: &str, children: &str, module: &Module) -> Vec<(String, String)> {
    let mut within = module.within.join("/");
    if !within.is_empty() {
        within.push('/');
    }
    if let Some(path) = &module.path {
        let base = if within.is_empty() {
            folder(file)
        } else {
            children
        };
        let file = tidy_path(&format!("{base}{within}{path}"));
        let children = folder(&file).to_owned();
        return vec![(file, children)];
    }
    let stem = format!("{children}{within}{}", module.name);
    vec![
        (format!("{stem}.rs"), format!("{stem}/")),
        (format!("{stem}/mod.rs"), format!("{stem}/")),
    ]
}

/// What to say about a file that nobody declares.
fn finding(tree: &Tree, path: &str) -> Finding {
    let own = path
        .strip_suffix("/mod.rs")
        .unwrap_or(path.trim_end_matches(".rs"));
    let (parent, name) = own.rsplit_once('/').unwrap_or(("", own));
    let list = LISTS
        .iter()
        .find(|list| list.folder.trim_end_matches('/') == parent);
    if let Some(list) = list {
        let listed = listed(tree.text(list.file), list.name);
        let entry = if list.typed {
            format!("{name}::{},", type_name(name))
        } else {
            format!("{name},")
        };
        let later = listed.iter().find(|(other, _)| other.as_str() > name);
        let line = match (later, listed.last()) {
            (Some((_, line)), _) => *line,
            (None, Some((_, line))) => line + 1,
            (None, None) => {
                let starts = format!("{}!", list.name);
                tree.line_where(list.file, |line| line.trim_start().starts_with(&starts)) + 1
            }
        };
        return Finding::new(
            list.file,
            line,
            format!("the {} in {path} is not in the list", list.what),
            format!("add the line `{entry}` here"),
        );
    }
    let parents = ["/main.rs", "/lib.rs", "/mod.rs", ".rs"].map(|end| format!("{parent}{end}"));
    let parent = parents
        .iter()
        .find(|file| tree.files.contains_key(*file))
        .unwrap_or(&parents[3]);
    Finding::new(
        path,
        1,
        "no module declares this file, so it is never compiled",
        format!("add `mod {name};` to {parent}, or delete the file"),
    )
}

/// The modules in `name! { module::Type, … }` or `name! { module, … }`, with their lines.
fn listed(text: &str, name: &str) -> Vec<(String, usize)> {
    let code = rust_text::code_only(text);
    let tokens = rust_text::tokens(&code);
    let texts: Vec<&str> = tokens.iter().map(|token| token.text).collect();
    let Some(start) = texts.windows(3).position(|three| {
        three[0] == name && three[1] == "!" && matches!(three[2], "{" | "(" | "[")
    }) else {
        return Vec::new();
    };
    let mut listed = Vec::new();
    let mut depth = 0_usize;
    for index in start + 2..texts.len() {
        match texts[index] {
            "{" | "(" | "[" => depth += 1,
            "}" | ")" | "]" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            break;
        }
        let module = texts[index];
        let is_word = module.starts_with(|letter: char| letter.is_alphabetic() || letter == '_');
        if is_word && depth == 1 && matches!(texts[index - 1], "{" | "(" | "[" | ",") {
            listed.push((
                module.to_owned(),
                rust_text::line_at(text, tokens[index].at),
            ));
        }
    }
    listed
}

/// The folder of a file, with its last `/`.
fn folder(path: &str) -> &str {
    path.rfind('/').map_or("", |end| &path[..=end])
}

/// A path without `.` and `..`.
fn tidy_path(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "." => {}
            ".." => {
                parts.pop();
            }
            _ => parts.push(part),
        }
    }
    parts.join("/")
}

/// The name of the type in a tool's file: `skill_list` holds `SkillList`.
fn type_name(module: &str) -> String {
    let words = module.split('_').map(|word| {
        let (first, rest) = word.split_at(word.chars().next().map_or(0, char::len_utf8));
        format!("{}{rest}", first.to_uppercase())
    });
    words.collect()
}
