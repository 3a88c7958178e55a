//! Packages by a program that takes the place of npm.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use gongfu_core::skill::SkillPath;
use gongfu_files::disk::Root;
use tempfile::TempDir;

use super::{NpmPackage, fetch_by};
use crate::error::{ImportCode, ImportError};
use crate::program::Program;

/// A folder with a script `npm`, a package that it may copy, and an empty folder.
struct Machine {
    folder: TempDir,
    npm: PathBuf,
    empty: PathBuf,
}

impl Machine {
    fn new(script: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let empty = folder.path().join("empty");
        Root::create(&empty).unwrap();
        // Another process writes them: a program that is open for writing can't be started.
        write(folder.path(), "package.tgz", package());
        write(
            folder.path(),
            "npm",
            format!("#!/bin/sh\n{script}\n").into_bytes(),
        );
        let npm = folder.path().join("npm");
        Self { folder, npm, empty }
    }

    fn fetch(&self, name: &str, version: Option<&str>) -> Result<NpmPackage, ImportError> {
        fetch_by(self.npm.to_str().unwrap(), name, version, &self.empty)
    }

    /// A file of the folder.
    fn text(&self, name: &str) -> String {
        let root = Root::open(self.folder.path()).unwrap();
        let content = root.read(&SkillPath::new(name).unwrap(), 10_000).unwrap();
        String::from_utf8(content.bytes).unwrap()
    }
}

fn write(folder: &Path, name: &str, bytes: Vec<u8>) {
    let script = "cat > \"$0\"; chmod 755 \"$0\"";
    let output = Program {
        name: "sh",
        arguments: vec!["-c".into(), script.into(), OsString::from(name)],
        folder: Some(folder),
        variables: Vec::new(),
        stdin: Some(bytes),
        memory: 0,
        timeout: Duration::from_mins(1),
        max_output: 0,
        watch: None,
    };
    assert_eq!(output.run().unwrap().status, Some(0));
}

fn package() -> Vec<u8> {
    let mut builder = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    for path in ["package/package.json", "package/skills/a/SKILL.md"] {
        let mut header = tar::Header::new_gnu();
        header.set_size(2);
        header.set_mode(0o644);
        builder.append_data(&mut header, path, &b"{}"[..]).unwrap();
    }
    builder.into_inner().unwrap().finish().unwrap()
}

const PACK: &str = r#"
echo "$@" > ../arguments
cat > ../input
cp ../package.tgz me-skills-1.2.0.tgz
echo '[{"name": "@me/skills", "version": "1.2.0", "filename": "FILE", "integrity": "sha512-x"}]'"#;

#[test]
fn a_package_is_fetched() {
    for file in ["me-skills-1.2.0.tgz", "@me/skills-1.2.0.tgz"] {
        let machine = Machine::new(&PACK.replace("FILE", file));
        let package = machine.fetch("@me/skills", Some("^1")).unwrap();
        assert_eq!(package.name, "@me/skills");
        assert_eq!(package.version, "1.2.0");
        assert_eq!(package.integrity.as_deref(), Some("sha512-x"));
        let paths: Vec<&str> = package
            .content
            .files
            .keys()
            .map(SkillPath::as_str)
            .collect();
        assert_eq!(paths, ["package.json", "skills/a/SKILL.md"]);
        let arguments = format!(
            "pack --ignore-scripts --json --loglevel=error --no-update-notifier \
             --pack-destination {} -- @me/skills@^1\n",
            machine.empty.display(),
        );
        assert_eq!(machine.text("arguments"), arguments);
        assert_eq!(machine.text("input"), "");
    }
}

#[test]
fn a_newer_answer_is_understood() {
    let answer = r#"{"skills": {"name": "skills", "version": "1.0.0", "filename": "a.tgz"}}"#;
    let machine = Machine::new(&format!("cp ../package.tgz a.tgz; echo '{answer}'"));
    let package = machine.fetch("skills", None).unwrap();
    assert_eq!(
        (package.version.as_str(), package.integrity),
        ("1.0.0", None)
    );
}

#[test]
fn a_failure_has_the_words_of_npm() {
    let answer = r#"{"error": {"code": "ETARGET", "summary": "No matching version."}}"#;
    for (script, message) in [
        (
            format!("echo '{answer}'; echo 'npm error x' >&2; exit 1"),
            "npm can't fetch `skills@9`: No matching version.",
        ),
        (
            "echo 'npm error offline' >&2; exit 1".to_owned(),
            "npm can't fetch `skills@9`: npm error offline",
        ),
        (
            "kill -KILL $$".to_owned(),
            "npm can't fetch `skills@9`: it says nothing",
        ),
    ] {
        let error = Machine::new(&script)
            .fetch("skills", Some("9"))
            .unwrap_err();
        assert_eq!(error.code, ImportCode::SourceUnreachable);
        assert_eq!(error.message, message);
    }
}

#[test]
fn an_answer_that_leads_elsewhere_is_refused() {
    for file in ["../package.tgz", "/etc/passwd", "missing.tgz", "", ".."] {
        let answer = format!(r#"[{{"name": "a", "version": "1", "filename": "{file}"}}]"#);
        let machine = Machine::new(&format!("echo '{answer}'"));
        let error = machine.fetch("skills", None).unwrap_err();
        assert_eq!(error.code, ImportCode::ProgramMissing, "{file}: {error}");
    }
    for answer in ["", "[]", "{}", "[1]", "text", r#"[{"filename": 1}]"#] {
        let machine = Machine::new(&format!("echo '{answer}'"));
        let error = machine.fetch("skills", None).unwrap_err();
        assert_eq!(error.message, "npm doesn't say which file it wrote");
    }
}

#[test]
fn a_version_that_npm_takes_for_a_path_is_refused() {
    let machine = Machine::new("touch ../started");
    for version in ["..", ".", "./a", "~", "~/a", "/etc"] {
        let error = machine.fetch("skills", Some(version)).unwrap_err();
        assert_eq!(error.code, ImportCode::SourceInvalid, "{version}");
    }
    let started = machine.folder.path().join("started");
    assert!(
        Root::open(started.parent().unwrap())
            .unwrap()
            .read(&SkillPath::new("started").unwrap(), 1)
            .is_err()
    );
}

#[test]
fn without_npm_its_name_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let error = fetch_by("gongfu-no-npm", "a", None, folder.path()).unwrap_err();
    assert_eq!(error.code, ImportCode::ProgramMissing);
}
