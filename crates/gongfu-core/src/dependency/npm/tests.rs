//! Packages of npm, and locks that lead elsewhere.

use serde_json::{Value, json};

use super::parse;
use crate::dependency::{Language, ManifestError, PackageSpec, locked_packages};
use crate::skill::SkillPath;

/// The `package.json` and the lock that reach npm.
fn parsed(package: &Value, lock: Option<&Value>) -> Result<(Value, Value), ManifestError> {
    let file = SkillPath::new("package.json").unwrap();
    let lock_file = SkillPath::new("package-lock.json").unwrap();
    let lock = lock.map(Value::to_string);
    let lock = lock.as_ref().map(|lock| (&lock_file, lock));
    let manifest = parse(&file, &package.to_string(), lock)?.unwrap();
    let PackageSpec::Package { package, lock } = manifest.packages else {
        panic!("{:?}", manifest.packages);
    };
    let lock = lock.map(|lock| serde_json::from_str(&lock).unwrap());
    Ok((
        serde_json::from_str(&package).unwrap(),
        lock.unwrap_or_default(),
    ))
}

fn lock(entry: &Value) -> Value {
    json!({ "lockfileVersion": 2, "name": "x", "packages": { "": { "dependencies": { "a": "https://elsewhere.example/root" } }, "node_modules/a": entry } })
}

#[test]
fn lock_keeps_only_what_names_packages_of_a_registry() {
    let package = json!({ "name": "https://elsewhere.example/x", "dependencies": { "a": "npm:b@1" }, "overrides": { "a": "file:x" } });
    let mut entry = json!({
        "name": "b", "version": "1.0.0-rc.1+x", "integrity": "sha512-ab+/= sha1-x", "resolved": "https://elsewhere.example/a.tgz",
        "dev": false, "optional": true, "devOptional": true, "peer": true, "inBundle": false, "bundleDependencies": ["c"],
        "bin": { "a": "./bin/a.js" }, "engines": { "node": ">=1" }, "os": ["!win32"], "cpu": "x64", "libc": ["glibc"],
        "dependencies": { "@s/c": "npm:d@^1 || 2" }, "optionalDependencies": { "e": "latest" }, "peerDependencies": { "f": "*" },
        "peerDependenciesMeta": { "f": { "optional": true } },
        "license": "MIT", "hasShrinkwrap": true, "_hasShrinkwrap": true, "workspaces": ["../x"], "overrides": { "c": "https://elsewhere.example" },
    });
    let (package, rebuilt) = parsed(&package, Some(&lock(&entry))).unwrap();
    assert_eq!(
        package,
        json!({ "private": true, "dependencies": { "a": "npm:b@1" } })
    );
    assert_eq!(
        rebuilt["packages"][""],
        json!({ "dependencies": { "a": "npm:b@1" } })
    );
    for gone in [
        "resolved",
        "license",
        "hasShrinkwrap",
        "_hasShrinkwrap",
        "workspaces",
        "overrides",
    ] {
        entry.as_object_mut().unwrap().remove(gone);
    }
    assert_eq!(rebuilt["packages"]["node_modules/a"], entry);
    assert!(!rebuilt.to_string().contains("elsewhere"), "{rebuilt}");
    let packages = locked_packages(Language::Node, &rebuilt.to_string());
    assert_eq!(packages[0].name, "b");
}

#[test]
fn lock_that_leads_elsewhere_is_refused() {
    let package = json!({ "dependencies": { "a": "1" } });
    let fine = json!({ "version": "1.0.0" });
    assert!(parsed(&package, Some(&lock(&fine))).is_ok());
    let url = "https://elsewhere.example/a.tgz#";
    for (member, value) in [
        ("name", json!(url)),
        ("name", json!("file:/in#")),
        ("name", json!("../a")),
        ("name", json!("a.tgz")),
        ("name", json!(["a"])),
        ("version", json!(url)),
        ("version", json!("npm:b@1")),
        ("version", json!("1.0.0\n2")),
        ("version", json!("1.0.0-x.tgz")),
        ("version", json!("^1.0.0")),
        ("version", json!(1)),
        ("dependencies", json!({ "b": url })),
        (
            "dependencies",
            json!({ "b": "git+ssh://elsewhere.example/b" }),
        ),
        ("dependencies", json!({ "b": "user/b" })),
        ("dependencies", json!({ "b": " ../b" })),
        ("dependencies", json!({ "b": format!("npm:c@{url}") })),
        ("dependencies", json!({ "b": "npm:c@npm:d@1" })),
        ("dependencies", json!({ "../b": "1" })),
        ("dependencies", json!({ "b": { "version": "1" } })),
        ("dependencies", json!(["b"])),
        ("optionalDependencies", json!({ "b": url })),
        ("peerDependencies", json!({ "b": "file:../b" })),
        ("peerDependenciesMeta", json!({ "b": { "optional": url } })),
        ("bundleDependencies", json!([url])),
        ("integrity", json!("md5-x")),
        ("integrity", json!("")),
        ("integrity", json!(1)),
        ("bin", json!("../../../x")),
        ("bin", json!({ "../../x": "x" })),
        ("bin", json!({ "x": "/etc/passwd" })),
        ("engines", json!({ "node": { "x": 1 } })),
        ("dev", json!("true")),
        ("link", json!(true)),
    ] {
        let mut entry = fine.clone();
        entry[member] = value.clone();
        let refused = parsed(&package, Some(&lock(&entry)));
        assert!(refused.is_err(), "{member}: {value}");
    }
    let nameless = json!({ "integrity": "sha512-x" });
    assert!(parsed(&package, Some(&lock(&nameless))).is_err());
}

#[test]
fn alias_leads_only_to_the_registry() {
    for version in [
        "npm:b@npm error code E404\nhttps:elsewhere.example\\a",
        "npm:b@1\n2",
        "npm:b@1\r2",
        "npm:b@https://elsewhere.example/b",
        "npm:b@../b",
        "npm:b@b.tgz",
        "npm:b.tgz",
        "npm:b@x.tar",
        "npm:b@npm:c@1",
        "npm:b\n@1",
        "npm:",
        "1\n2",
        "x.tar.gz",
    ] {
        let refused = parsed(&json!({ "dependencies": { "a": version } }), None);
        assert!(refused.is_err(), "{version}");
    }
    for version in ["npm:b@^1 || 2", "npm:@s/b@latest", "npm:b", "npm:tar.gz@1"] {
        let spaced = format!(" {version}\n");
        let (package, _) = parsed(&json!({ "dependencies": { "a": spaced } }), None).unwrap();
        assert_eq!(package["dependencies"]["a"], version);
    }
}
