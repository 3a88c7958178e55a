//! Scripts of every kind, in a folder and alone.

use super::{check, is_script};
use crate::import::{self, Language};
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
        ["numpy", "pandas", "pyyaml"]
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

#[test]
fn packages_are_proposed_by_the_table_of_runs() {
    let text = "import PIL.Image, yaml\nfrom google.cloud import (\n    storage,  # buckets\n    bigquery as bq,\n)\nfrom sklearn import *\nimport gongfu_none.part as x\n";
    let found = found("scripts/run.py", text, &[]);
    let [
        finding @ Finding::ScriptDependenciesUndeclared {
            packages, unknown, ..
        },
    ] = &*found
    else {
        panic!("{found:?}");
    };
    let expected = [
        "google-cloud-bigquery",
        "google-cloud-storage",
        "pillow",
        "pyyaml",
        "scikit-learn",
    ];
    let packages: Vec<String> = packages.iter().map(|name| name.to_lowercase()).collect();
    assert_eq!(packages, expected);
    assert_eq!(*unknown, ["gongfu_none"]);
    let text = crate::text::finding(finding);
    let (proposed, rest) = text.hint.split_once("]`").unwrap();
    assert!(!proposed.contains("gongfu"), "{}", text.hint);
    assert!(rest.contains("`gongfu_none`"), "{}", text.hint);
}

#[test]
fn every_module_of_the_table_is_proposed_as_a_run_does() {
    for row in include_str!("../../../import/python_modules.txt").lines() {
        let module = row.split(' ').next().unwrap_or_default();
        if module.is_empty() || module.starts_with('#') {
            continue;
        }
        let of_run = import::guesses(Language::Python, [module]);
        let of_run: Vec<String> = of_run.into_iter().map(|guess| guess.package).collect();
        let text = format!("import {module}\n");
        let of_check = found("scripts/a.py", &text, &[]);
        // What comes with Python is no package.
        if of_check.is_empty() {
            continue;
        }
        assert_eq!(packages(&of_check), of_run, "{module}");
    }
}
