//! Lists of requirements, and what scripts import besides.

use crate::dependency::{Imports, Language, Manifest, PackageSpec, Texts, parse};
use crate::skill::SkillPath;

fn path(path: &str) -> SkillPath {
    SkillPath::new(path).unwrap()
}

fn manifest(file: &str, text: &str) -> Manifest {
    let texts: Texts = [(path(file), text.to_owned())].into();
    let scripts = [path("x.py")];
    parse(Language::Python, &texts, &scripts).unwrap().unwrap()
}

fn completed(list: &str, needed: &[&str]) -> Manifest {
    let imports = Imports {
        needed: needed.iter().map(|&module| module.to_owned()).collect(),
        ..Imports::default()
    };
    manifest("requirements.txt", list).completed(&[path("x.py")], &imports)
}

fn lines(manifest: &Manifest) -> Vec<&str> {
    let PackageSpec::Requirements(requirements) = &manifest.packages else {
        panic!("{manifest:?}");
    };
    requirements.lines.iter().map(String::as_str).collect()
}

#[test]
fn list_is_completed_with_what_scripts_need() {
    let all = completed("seaborn>=0.13\n", &["requests", "seaborn", "yaml"]);
    assert_eq!(lines(&all), ["seaborn>=0.13", "pyyaml", "requests"]);
    assert_eq!(all.origin(), "requirements.txt, x.py");
    // A name that isn't in the table is for a person to allow.
    let all = completed("six\n", &["gongfu_none", "six"]);
    assert_eq!(lines(&all), ["six"]);
    assert_eq!(all.origin(), "requirements.txt");
}

#[test]
fn another_variant_of_a_package_is_not_added() {
    for (line, module) in [
        ("opencv-python", "cv2"),
        ("opencv-contrib-python-headless==4.9", "cv2"),
        ("psycopg2", "psycopg2"),
        ("Faiss_GPU>=1", "faiss"),
        ("PyYAML", "yaml"),
        ("pillow-simd[x]; python_version > '3'", "PIL"),
    ] {
        let all = completed(&format!("{line}\n"), &[module]);
        assert_eq!(lines(&all), [line], "{module}");
        // But one whose name only begins alike is.
        let all = completed(&format!("{line}-more\n"), &["six"]);
        assert!(lines(&all).contains(&"six"));
    }
}

#[test]
fn only_open_lists_may_be_incomplete() {
    assert!(manifest("requirements.txt", "six\n").may_be_incomplete());
    let digest = "a".repeat(64);
    let lock = format!("six==1.17.0 --hash=sha256:{digest}\n");
    let header = "# /// script\n# dependencies = [\"six\"]\n# ///\n";
    let project = "[project]\nname = \"x\"\nversion = \"1\"\ndependencies = [\"six\"]\n";
    for (file, text) in [
        ("requirements.txt", lock.as_str()),
        ("x.py", header),
        ("pyproject.toml", project),
    ] {
        assert!(!manifest(file, text).may_be_incomplete(), "{file}");
    }
}
