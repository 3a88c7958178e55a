//! Repositories that git makes here, fetched from this disk.

use std::path::{Path, PathBuf};
use std::process::Command;

use gongfu_core::skill::SkillPath;

use super::{Git, GitSettings, tree};
use crate::error::ImportCode;
use crate::source::{GitKind, GitSource};

struct Repository {
    folder: tempfile::TempDir,
}

#[expect(
    clippy::disallowed_methods,
    reason = "tests make the repositories that they fetch"
)]
impl Repository {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let repository = Self { folder };
        std::fs::create_dir(repository.path()).unwrap();
        repository.git(&["init", "--quiet", "--initial-branch=main"]);
        repository
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("repository")
    }

    fn git(&self, arguments: &[&str]) -> String {
        let mut command = Command::new("git");
        command.current_dir(self.path()).args(arguments);
        for (name, value) in [
            ("GIT_CONFIG_GLOBAL", "/dev/null"),
            ("GIT_AUTHOR_NAME", "a"),
            ("GIT_AUTHOR_EMAIL", "a@example.com"),
            ("GIT_COMMITTER_NAME", "a"),
            ("GIT_COMMITTER_EMAIL", "a@example.com"),
        ] {
            command.env(name, value);
        }
        let output = command.output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        if text.starts_with("#!") {
            use std::os::unix::fs::PermissionsExt as _;
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
    }

    fn link(&self, path: &str, target: &str) {
        let path = self.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(target, path).unwrap();
    }

    fn commit(&self, message: &str) -> String {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--allow-empty", "-m", message]);
        self.git(&["rev-parse", "HEAD"])
    }

    fn source(&self, reference: Option<&str>) -> GitSource {
        source(&format!("file://{}", self.path().display()), reference)
    }
}

fn source(url: &str, reference: Option<&str>) -> GitSource {
    GitSource {
        url: url.to_owned(),
        kind: GitKind::Git,
        reference: reference.map(str::to_owned),
        folder: None,
        skill: None,
    }
}

fn git() -> Git {
    Git::new(GitSettings::default())
}

fn path(text: &str) -> SkillPath {
    SkillPath::new(text).unwrap()
}

fn empty(folder: &Path) -> PathBuf {
    folder.join("bare.git")
}

#[test]
fn files_are_read_without_a_checkout() {
    let repository = Repository::new();
    repository.write("skills/pdf/SKILL.md", "pdf\n");
    repository.write("skills/pdf/run.sh", "#!/bin/sh\n");
    repository.write(".gitattributes", "* text=auto eol=crlf\n*.md filter=evil\n");
    repository.write("shared/common.md", "common");
    repository.link("skills/pdf/common.md", "../../shared/common.md");
    repository.link("skills/pdf/shared", "../../shared");
    repository.link("shared/inner.md", "common.md");
    repository.link("skills/pdf/hop", "shared-again");
    repository.link("skills/pdf/shared-again", "../../shared/common.md");
    repository.link("skills/pdf/none", "nowhere");
    repository.link("skills/evil/passwd", "/etc/passwd");
    repository.link("skills/evil/up", "../../../x");
    repository.link("skills/evil/loop", "loop");
    repository.link("skills/evil/self", "..");
    repository.write("a\\b/file", "x");
    let commit = repository.commit("one");
    let source = repository.source(None);
    let remote = git().resolve(&source).unwrap();
    assert_eq!(remote.commit, commit);
    let here = tempfile::tempdir().unwrap();
    let mut fetched = git().fetch(&source, &remote, &empty(here.path())).unwrap();
    assert_eq!(fetched.commit, commit);
    let tree = repository.git(&["rev-parse", "HEAD:skills/pdf"]);
    assert_eq!(fetched.trees[&path("skills/pdf")], tree);
    let paths = [
        path("skills/pdf/SKILL.md"),
        path("skills/pdf/common.md"),
        path("skills/pdf/shared/common.md"),
        path("skills/pdf/shared/inner.md"),
        path("skills/pdf/hop"),
    ];
    let paths: Vec<&SkillPath> = paths.iter().collect();
    let read = fetched.content.read(&paths).unwrap();
    assert_eq!(
        read,
        [&b"pdf\n"[..], b"common", b"common", b"common", b"common"]
    );
    let file = |name: &str| fetched.content.files[&path(name)];
    assert_eq!(file("skills/pdf/run.sh").mode, 0o755);
    assert!(file("skills/pdf/common.md").is_link);
    assert!(!fetched.content.files.contains_key(&path("skills/pdf/none")));
    let mut refused: Vec<&str> = fetched
        .content
        .refused
        .iter()
        .map(|(path, _)| path.as_str())
        .collect();
    refused.sort_unstable();
    assert_eq!(
        refused,
        [
            "a\\b",
            "a\\b/file",
            "skills/evil/loop",
            "skills/evil/passwd",
            "skills/evil/self",
            "skills/evil/up"
        ]
    );
    let written = gongfu_files::disk::Root::open(here.path()).unwrap();
    let written = written.list(&SkillPath::root()).unwrap();
    assert_eq!(written.len(), 1, "only the bare repository is written");
}

#[test]
fn branches_tags_and_commits_are_found() {
    let repository = Repository::new();
    let first = repository.commit("one");
    repository.git(&["tag", "-a", "v1", "-m", "first"]);
    repository.git(&["tag", "both"]);
    repository.write("x", "2");
    let second = repository.commit("two");
    repository.git(&["branch", "both"]);
    for (reference, expected) in [
        (None, &second),
        (Some("main"), &second),
        (Some("v1"), &first),
        (Some("both"), &second),
        (Some(first.as_str()), &first),
    ] {
        let source = repository.source(reference);
        let remote = git().resolve(&source).unwrap();
        let here = tempfile::tempdir().unwrap();
        let fetched = git().fetch(&source, &remote, &empty(here.path())).unwrap();
        assert_eq!(
            (&remote.commit, &fetched.commit),
            (expected, expected),
            "{reference:?}"
        );
    }
    let missing = git().resolve(&repository.source(Some("v9"))).unwrap_err();
    assert!(
        missing.message.contains("no branch or tag `v9`"),
        "{missing}"
    );
    let unknown = "0".repeat(40);
    let source = repository.source(Some(&unknown));
    let remote = git().resolve(&source).unwrap();
    let here = tempfile::tempdir().unwrap();
    let error = git()
        .fetch(&source, &remote, &empty(here.path()))
        .unwrap_err();
    assert_eq!(error.code, ImportCode::SourceUnreachable, "{error}");
}

#[test]
fn what_is_no_repository_is_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("file://{}", folder.path().display());
    let error = git().resolve(&source(&url, None)).unwrap_err();
    assert!(error.hint.contains("check the address"), "{error:?}");
    let repository = Repository::new();
    let error = git().resolve(&repository.source(None)).unwrap_err();
    assert!(error.message.contains("no commit yet"), "{error:?}");
    for url in [
        "ext::sh -c 'touch x'",
        "git://127.0.0.1:1/x",
        "http://198.51.100.1/x.git",
    ] {
        let error = git().resolve(&source(url, None)).unwrap_err();
        assert!(error.message.contains("not allowed"), "{error:?}");
    }
    // An address that would be an option isn't one.
    let error = git()
        .resolve(&source("--upload-pack=touch x", None))
        .unwrap_err();
    assert_eq!(error.code, ImportCode::SourceUnreachable);
}

#[test]
fn folders_that_lead_to_each_other_end() {
    let repository = Repository::new();
    repository.write("a/file", "a");
    repository.write("b/file", "b");
    for number in 0..4 {
        repository.link(&format!("a/{number}"), "../b");
        repository.link(&format!("b/{number}"), "../a");
    }
    repository.link("skills/x/a", "../../a");
    repository.commit("circle");
    let source = repository.source(None);
    let remote = git().resolve(&source).unwrap();
    let here = tempfile::tempdir().unwrap();
    let error = git()
        .fetch(&source, &remote, &empty(here.path()))
        .unwrap_err();
    assert_eq!(error.code, ImportCode::SourceTooLarge, "{error}");
}

#[test]
fn lists_and_objects_that_lie_are_refused() {
    let list = b"100644 blob 01 5\tok\0nonsense\0";
    tree::read(list, &mut |_| Ok(Vec::new())).unwrap_err();
    for (output, count) in [
        (&b"01 blob 5\nab"[..], 1),
        (b"01 missing\n", 1),
        (b"01 tree 1\nx\n", 1),
        (b"01 blob 18446744073709551615\n", 1),
        (b"", 1),
    ] {
        assert_eq!(tree::objects(output, count), None, "{output:?}");
    }
    let two = tree::objects(b"01 blob 1\nx\n02 blob 0\n\n", 2);
    assert_eq!(two, Some(vec![b"x".to_vec(), Vec::new()]));
}

#[test]
fn the_target_of_a_long_link_is_not_read() {
    let list = b"120000 blob 01 5000000000\ta/link\0";
    let tree = tree::read(list, &mut |ids| {
        assert!(ids.is_empty(), "{ids:?} would be read");
        Ok(Vec::new())
    });
    assert_eq!(tree.unwrap().refused[0].0, "a/link");
}
