//! The imports of a JavaScript or TypeScript file, and whether they are declared.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use rustc_hash::FxHashSet;

use super::declaration::declared_near;
use crate::skill::folder::Folder;
use crate::skill::path::SkillPath;

/// The packages of a script that no `package.json` of the skill declares, and the line of the first.
pub fn undeclared(
    path: &SkillPath,
    text: &str,
    folder: &Folder,
) -> Option<(BTreeSet<String>, usize)> {
    if declared_near(
        path,
        &["package.json", "scripts/package.json", "deno.json"],
        folder,
    ) {
        return None;
    }
    let mut packages = BTreeSet::new();
    let mut first = None;
    let mut in_comment = false;
    for (number, line) in text.lines().enumerate() {
        let code = line.trim_start();
        let was_in_comment = in_comment;
        in_comment = match (code.rfind("/*"), code.rfind("*/")) {
            (Some(open), Some(close)) => open > close,
            (Some(_), None) => true,
            (None, Some(_)) => false,
            (None, None) => in_comment,
        };
        if was_in_comment || code.starts_with("//") || code.starts_with("/*") {
            continue;
        }
        if let Some(package) = specifier(code).and_then(package) {
            first = first.or(Some(number + 1));
            packages.insert(package.to_owned());
        }
    }
    first.map(|line| (packages, line))
}

/// Returns the import of a line: `require("x")`, `import … from "x"`, `import "x"`.
fn specifier(code: &str) -> Option<&str> {
    let after = if let Some((_, rest)) = code.split_once("require(") {
        rest
    } else if let Some(rest) = code
        .strip_prefix("import ")
        .or_else(|| code.strip_prefix("export "))
        .or_else(|| code.strip_prefix("} "))
    {
        match rest.split_once("from ") {
            Some((_, rest)) => rest,
            None if rest.starts_with(['"', '\'']) => rest,
            None => return None,
        }
    } else {
        return None;
    };
    let quote = after.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    after
        .get(1..)?
        .split_once(quote)
        .map(|(specifier, _)| specifier)
}

/// The package of a specifier; `None` for a file, a URL or a module of the runtime.
fn package(specifier: &str) -> Option<&str> {
    let other = specifier.is_empty()
        || specifier.starts_with(['.', '/', '#', '~'])
        || specifier.starts_with("@/")
        || specifier.contains(':')
        || specifier.contains("${");
    let root = specifier.split('/').next().unwrap_or_default();
    if other || BUILT_IN.contains(root) {
        return None;
    }
    if specifier.starts_with('@') {
        let end = specifier
            .match_indices('/')
            .nth(1)
            .map_or(specifier.len(), |(at, _)| at);
        return specifier.get(..end);
    }
    Some(root)
}

/// The modules that come with Node or Bun.
static BUILT_IN: LazyLock<FxHashSet<&str>> =
    LazyLock::new(|| include_str!("javascript_modules.txt").lines().collect());

#[cfg(test)]
mod tests {
    use super::{package, specifier};

    #[test]
    fn line_names_its_package() {
        let imported = |line| specifier(line).and_then(package);
        assert_eq!(imported("const x = require('lodash/fp');"), Some("lodash"));
        assert_eq!(
            imported("import { a } from \"@scope/pkg/sub\";"),
            Some("@scope/pkg")
        );
        assert_eq!(imported("import 'left-pad'"), Some("left-pad"));
        for own in [
            "import fs from 'node:fs'",
            "require('fs/promises')",
            "import x from './x.js'",
            "import y from \"https://x/y\"",
            "import z from '@/components'",
            "let a = 1",
        ] {
            assert_eq!(imported(own), None, "{own}");
        }
    }
}
