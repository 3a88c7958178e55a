//! The fences are files that clippy can read, and say why.

use super::*;

#[test]
fn each_fence_is_toml_with_reasons() {
    let names: Vec<&str> = FENCES.iter().map(|(name, _)| *name).collect();
    let files = files(&names);
    assert_eq!(files.len(), names.len() + 1);
    for (path, text) in files.iter().skip(1) {
        let table: toml::Table = text.parse().expect(path);
        let methods = table["disallowed-methods"].as_array().expect(path);
        assert!(!methods.is_empty(), "{path}");
        for method in methods {
            assert!(
                !method["reason"].as_str().expect(path).is_empty(),
                "{path}: {method}"
            );
        }
    }
}

#[test]
fn the_core_has_no_io() {
    let (_, text) = files(&["gongfu-core"]).remove(1);
    for path in [
        "std::fs::read",
        "std::env::var",
        "std::process::Command::new",
        "std::time::SystemTime::now",
    ] {
        assert!(text.contains(&format!("\"{path}\"")), "{path}");
    }
}
