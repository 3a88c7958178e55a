//! The fences are files that clippy can read, and say why.

use super::*;

#[test]
fn each_fence_is_toml_with_reasons() {
    for (name, bans) in FENCES {
        let table: toml::Table = fence(bans).parse().expect(name);
        let methods = table["disallowed-methods"].as_array().expect(name);
        assert!(!methods.is_empty(), "{name}");
        for method in methods {
            let reason = method["reason"].as_str().expect(name);
            assert!(!reason.is_empty(), "{name}: {method}");
        }
    }
}

#[test]
fn no_io_means_no_files_variables_processes_or_clock() {
    let text = fence(NO_IO);
    for path in [
        "std::fs::read",
        "std::env::var",
        "std::process::Command::new",
        "std::time::SystemTime::now",
    ] {
        assert!(text.contains(&format!("\"{path}\"")), "{path}");
    }
}
