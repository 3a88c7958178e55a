//! Scripts of every kind, in a folder and alone.

use super::{check, is_script};
use crate::skill::{FileEntry, FileKind, Finding, Folder, SkillPath};

fn path(path: &str) -> SkillPath {
    SkillPath::new(path).unwrap()
}

fn folder(paths: &[&str]) -> Folder {
    let mut files: Vec<FileEntry> = paths
        .iter()
        .map(|name| FileEntry {
            path: path(name),
            size: 1,
            digest: None,
            kind: FileKind::Text,
        })
        .collect();
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Folder {
        name: "skill".to_owned(),
        files,
    }
}

fn found(script: &str, text: &str, others: &[&str]) -> Vec<Finding> {
    let mut diagnostics = Vec::new();
    check(
        &path(script),
        text.as_bytes(),
        &folder(others),
        &mut diagnostics,
    );
    diagnostics.into_iter().map(|found| found.finding).collect()
}

fn packages(found: &[Finding]) -> Vec<&str> {
    found
        .iter()
        .flat_map(|finding| match finding {
            Finding::ScriptDependenciesUndeclared { packages, .. } => {
                packages.iter().map(String::as_str).collect()
            }
            _ => Vec::new(),
        })
        .collect()
}

#[test]
fn undeclared_imports_are_named_once() {
    let text = "\"\"\"import nothing\nimport prose\n\"\"\"\nimport os, numpy as np\nfrom pandas.core import x\nimport numpy\nimport own\nimport lib.part\ntry:\n    import maybe\nexcept ImportError:\n    import other\nif TYPE_CHECKING:\n    import typed\nimport re; import yaml\n";
    let others = ["scripts/own.py", "scripts/lib/part.py"];
    assert_eq!(
        packages(&found("scripts/run.py", text, &others)),
        ["numpy", "pandas", "yaml"]
    );
    assert_eq!(
        packages(&found("scripts/run.py", text, &["requirements.txt"])),
        [] as [&str; 0]
    );
    let declared = format!("# /// script\n# dependencies = [\"numpy\"]\n# ///\n{text}");
    assert_eq!(
        packages(&found("scripts/run.py", &declared, &others)),
        [] as [&str; 0]
    );
    assert_eq!(
        packages(&found("scripts/run.js", "require('lodash')\n", &[])),
        ["lodash"]
    );
    assert_eq!(
        packages(&found(
            "scripts/run.js",
            "require('lodash')\n",
            &["scripts/package.json"]
        )),
        [] as [&str; 0]
    );
}

#[test]
fn a_script_needs_somebody_to_run_it() {
    assert_eq!(
        found("scripts/run", "echo hi\n", &[]),
        [Finding::ScriptWithoutInterpreter]
    );
    assert_eq!(found("scripts/run", "#!/bin/sh\necho hi\n", &[]), []);
    assert_eq!(
        found("scripts/run.sh", "#!/bin/sh\r\necho hi\r\n", &[]),
        [Finding::ScriptShebangCarriageReturn]
    );
    for other in [
        "scripts/LICENSE",
        "scripts/Makefile",
        "scripts/config",
        "assets/template.py",
    ] {
        assert_eq!(found(other, "import pandas\n", &[]), [], "{other}");
    }
    assert!(
        is_script(&path("scripts/run")) && is_script(&path("a.py")) && !is_script(&path("LICENSE"))
    );
}
