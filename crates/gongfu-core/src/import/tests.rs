//! Modules, and the packages that provide them.

use std::collections::BTreeMap;

use super::{Guess, Imports, Language, guesses, is_known_package, missing_modules};

fn guessed(language: Language, modules: &[&str]) -> Vec<(String, bool)> {
    let guesses = guesses(language, modules.iter().copied()).into_iter();
    guesses
        .map(|Guess { package, is_known }| (package, is_known))
        .collect()
}

#[test]
fn table_tells_the_package_of_a_module() {
    for (module, package) in [
        ("yaml", "pyyaml"),
        ("PIL", "pillow"),
        ("PIL.Image", "pillow"),
        ("numpy", "numpy"),
        ("google.cloud.storage.blob", "google-cloud-storage"),
        ("google.genai.types", "google-genai"),
    ] {
        let found = guessed(Language::Python, &[module]);
        let [(found, true)] = &*found else {
            panic!("{module}: {found:?}");
        };
        assert_eq!(found.to_ascii_lowercase(), package, "{module}");
        assert!(is_known_package(Language::Python, found), "{found}");
    }
    assert!(is_known_package(Language::Python, "PyYAML"));
    assert!(!is_known_package(Language::Python, "my-tool"));
}

#[test]
fn module_outside_of_the_table_is_a_guess() {
    let unknown = |package: &str| vec![(package.to_owned(), false)];
    for (module, package) in [
        ("my_tool", "my-tool"),
        ("my_tool.part.More", "my-tool"),
        ("google.gongfu_none.x", "google-gongfu-none"),
        ("reqeusts", "reqeusts"), // typos: ignore
    ] {
        assert_eq!(guessed(Language::Python, &[module]), unknown(package));
    }
    assert_eq!(
        guessed(Language::Node, &["@gongfu/none"]),
        unknown("@gongfu/none")
    );
    assert_eq!(guessed(Language::Python, &["a b", "", "-x", "x;y"]), []);
    // The same package once.
    let found = guessed(Language::Python, &["my_tool.a", "my_tool.b", "my-tool"]);
    assert_eq!(found, unknown("my-tool"));
}

#[test]
fn imports_are_told_by_their_shortest_names() {
    let script = || vec!["x.py".to_owned()];
    let map = |names: &[&str]| -> BTreeMap<String, Vec<String>> {
        names
            .iter()
            .map(|name| ((*name).to_owned(), script()))
            .collect()
    };
    let imports = Imports {
        modules: map(&[
            "yaml.safe_load",
            "yaml.dump",
            "my_tool.a",
            "google.genai.types",
        ]),
        // Somewhere in the skill is `numpy/`, and `helpers.py`.
        doubtful: map(&["numpy.array", "helpers.x"]),
        needed: ["yaml.dump", "numpy.array", "helpers.x"]
            .map(str::to_owned)
            .into(),
        unread: Vec::new(),
    };
    let found = imports.shortened(Language::Python);
    let needed: Vec<&str> = found.needed.iter().map(String::as_str).collect();
    assert_eq!(needed, ["numpy", "yaml"]);
    assert_eq!(
        found.modules,
        map(&["yaml", "my_tool", "google.genai", "numpy"])
    );
}

#[test]
fn output_tells_which_modules_are_missing() {
    let output = "Traceback\nModuleNotFoundError: No module named 'yaml.x'\nModuleNotFoundError: No module named 'google.cloud.storage'\nError: Cannot find module '@a/b/c'\nError: Cannot find module './x'\nError: Cannot find module 'node:x'\nCannot find package 'lodash' imported from /skill/x.mjs\n";
    let expected = [
        (Language::Python, "yaml"),
        (Language::Python, "google.cloud.storage"),
        (Language::Node, "@a/b"),
        (Language::Node, "lodash"),
    ];
    assert_eq!(
        missing_modules(output),
        expected.map(|(language, name)| (language, name.to_owned()))
    );
}
