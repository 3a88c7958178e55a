//! Each crate stands behind its fence: a current clippy.toml, the workspace's lints, no `unsafe`.

use super::{Check, Finding, Rule};
use crate::generate::fences as generated;
use crate::rust_text;
use crate::tree::Tree;

pub(super) const CHECK: Check = Check {
    name: "fences",
    about: "each crate has its generated clippy.toml and the workspace's lints; `unsafe` only in the sandbox",
    rule: Rule::Strict(run),
};

/// The only folder with `unsafe` in it.
const UNSAFE: &str = "crates/gongfu-sandbox/";

fn run(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for package in tree
        .crates()
        .filter(|package| !generated::knows(&package.name))
    {
        found.push(Finding::new(
            &format!("{}/Cargo.toml", package.folder),
            1,
            format!("nothing says what `{}` must not call", package.name),
            "add it to `FENCES` in xtask/src/generate/fences.rs, and run `just gen`",
        ));
    }
    for (path, text) in generated::files(tree) {
        let old = tree.text(&path);
        if old != text {
            let same = old
                .lines()
                .zip(text.lines())
                .take_while(|(old, new)| old == new)
                .count();
            found.push(Finding::new(
                &path,
                same + 1,
                "the generated fence is missing or out of date",
                "run `just gen`; what a crate may not call stands in xtask/src/generate/fences.rs",
            ));
        }
    }
    found.extend(tree.packages.iter().filter_map(|package| {
        let manifest = format!("{}/Cargo.toml", package.folder);
        let table: Option<toml::Table> = tree.text(&manifest).parse().ok();
        let inherits = table
            .as_ref()
            .and_then(|table| table.get("lints")?.get("workspace")?.as_bool());
        (inherits != Some(true)).then(|| {
            Finding::new(
                &manifest,
                1,
                "the crate does not use the lints of the workspace",
                "add `[lints]` with `workspace = true`",
            )
        })
    }));
    for (path, text) in tree.rust().filter(|(path, _)| !path.starts_with(UNSAFE)) {
        found.extend(
            rust_text::lines_naming(text, "unsafe")
                .into_iter()
                .map(|line| {
                    Finding::new(
                        path,
                        line,
                        "`unsafe` outside the sandbox crate",
                        format!("find a safe way, or move it to {UNSAFE}"),
                    )
                }),
        );
    }
    found
}
