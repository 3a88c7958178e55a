//! The module tree of each crate: which source file is which module.
//!
//! Tools are declared by the list `tools! { skill_list::SkillList, … }` of the catalog, dialects by
//! `dialects! { skills, … }`. It must not know any rule.

use std::collections::BTreeSet;

use crate::rust_text;
use crate::tree::Tree;

/// A source file with its place among the modules of its crate.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Module {
    /// Its path from the root of the repository.
    pub(crate) file: String,
    /// The file at which its crate starts.
    pub(crate) root: String,
    /// The names of its modules from the root of the crate on; empty for the root itself.
    pub(crate) path: Vec<String>,
    /// True when only tests have it.
    pub(crate) only_tests: bool,
    /// The folder for its own modules, with its last `/`.
    children: String,
}

/// A list by which a macro declares modules.
pub(crate) struct List {
    /// The kind of its modules.
    pub(crate) what: &'static str,
    /// The macro.
    pub(crate) name: &'static str,
    /// The file with the list.
    pub(crate) file: &'static str,
    /// The folder with one file for each entry.
    pub(crate) folder: &'static str,
    /// True when an entry names the type in its file as well.
    pub(crate) typed: bool,
}

pub(crate) const LISTS: [List; 2] = [
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

/// Every module that lies in a file, once for each crate that reaches it.
pub(crate) fn modules(tree: &Tree) -> Vec<Module> {
    let roots = tree.packages.iter().flat_map(|package| &package.roots);
    roots.flat_map(|root| crate_modules(tree, root)).collect()
}

fn crate_modules(tree: &Tree, root: &str) -> Vec<Module> {
    let mut waiting = vec![Module {
        file: root.to_owned(),
        root: root.to_owned(),
        path: Vec::new(),
        only_tests: false,
        children: folder(root).to_owned(),
    }];
    let mut reached = BTreeSet::new();
    let mut found = Vec::new();
    while let Some(module) = waiting.pop() {
        let Some(text) = tree.files.get(&module.file) else {
            continue;
        };
        if !reached.insert(module.file.clone()) {
            continue;
        }
        for declared in rust_text::modules(text).iter().filter(|one| one.in_file) {
            waiting.extend(places(&module, declared));
        }
        for list in LISTS.iter().filter(|list| list.file == module.file) {
            waiting.extend(listed(text, list.name).into_iter().map(|(name, _)| Module {
                file: format!("{}{name}.rs", list.folder),
                root: root.to_owned(),
                children: format!("{}{name}/", list.folder),
                path: [module.path.clone(), vec![name]].concat(),
                only_tests: module.only_tests,
            }));
        }
        found.push(module);
    }
    found
}

/// The files in which a declared module may be.
fn places(parent: &Module, declared: &rust_text::Module) -> Vec<Module> {
    let place = |file: String, children: String| Module {
        file,
        root: parent.root.clone(),
        path: [
            parent.path.as_slice(),
            &declared.within,
            std::slice::from_ref(&declared.name),
        ]
        .concat(),
        only_tests: parent.only_tests || declared.only_tests,
        children,
    };
    let mut within = declared.within.join("/");
    if !within.is_empty() {
        within.push('/');
    }
    if let Some(path) = &declared.path {
        let base = if within.is_empty() {
            folder(&parent.file)
        } else {
            &parent.children
        };
        let file = tidy_path(&format!("{base}{within}{path}"));
        let children = folder(&file).to_owned();
        return vec![place(file, children)];
    }
    let stem = format!("{}{within}{}", parent.children, declared.name);
    vec![
        place(format!("{stem}.rs"), format!("{stem}/")),
        place(format!("{stem}/mod.rs"), format!("{stem}/")),
    ]
}

/// The modules in `name! { module::Type, … }` or `name! { module, … }`, with their lines.
pub(crate) fn listed(text: &str, name: &str) -> Vec<(String, usize)> {
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
