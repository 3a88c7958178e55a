//! The forms of a source, and those that aren't taken.

use std::path::Path;

use super::{GitKind, Source};

/// Parses a source in `/work`, of a person whose home is `/home/me`.
fn parse(text: &str) -> Result<Source, String> {
    let parsed = Source::parse(text, Path::new("/project"), Some(Path::new("/home/me")));
    parsed.map_err(|error| error.message)
}

/// A source in one line: kind, address, version, folder and skill.
fn line(text: &str) -> String {
    match parse(text) {
        Err(message) => format!("error: {message}"),
        Ok(Source::Local(path)) => format!("local {}", path.display()),
        Ok(Source::Npm(name, version)) => format!("npm {name} {}", version.unwrap_or_default()),
        Ok(Source::Web(web)) => {
            format!("{} {}", if web.is_file { "file" } else { "site" }, web.url)
        }
        Ok(Source::Git(git)) => {
            let folder = git.folder.map(|folder| format!(" /{folder}"));
            let reference = git.reference.map(|name| format!(" #{name}"));
            let skill = git.skill.map(|skill| format!(" @{skill}"));
            let rest: String = [reference, folder, skill].into_iter().flatten().collect();
            format!("{} {}{rest}", git.kind.as_str(), git.url)
        }
    }
}

#[test]
fn each_form_means_what_it_means_elsewhere() {
    let forms = [
        ("o/r", "github https://github.com/o/r.git"),
        ("o/r@pdf", "github https://github.com/o/r.git @pdf"),
        ("o/r#v1", "github https://github.com/o/r.git #v1"),
        (
            "o/r#feature/x@pdf",
            "github https://github.com/o/r.git #feature/x @pdf",
        ),
        (
            "o/r/skills/pdf",
            "github https://github.com/o/r.git /skills/pdf",
        ),
        ("github:o/r", "github https://github.com/o/r.git"),
        ("gitlab:g/s/r", "gitlab https://gitlab.com/g/s/r.git"),
        (
            "https://github.com/o/r",
            "github https://github.com/o/r.git",
        ),
        (
            "https://github.com/o/r.git#main",
            "github https://github.com/o/r.git #main",
        ),
        (
            "https://github.com/o/r/tree/main/skills/my%20pdf",
            "github https://github.com/o/r.git #main /skills/my pdf",
        ),
        (
            "https://github.com/o/r/blob/main/skills/pdf/SKILL.md",
            "github https://github.com/o/r.git #main /skills/pdf",
        ),
        (
            "https://gitlab.example.com/g/s/r/-/tree/v2/skills",
            "gitlab https://gitlab.example.com/g/s/r.git #v2 /skills",
        ),
        (
            "https://gitlab.com/g/s/r",
            "gitlab https://gitlab.com/g/s/r.git",
        ),
        (
            "https://bitbucket.org/o/r/src/main/skills",
            "git https://bitbucket.org/o/r.git #main /skills",
        ),
        (
            "https://codeberg.org/o/r/src/branch/main/skills",
            "git https://codeberg.org/o/r.git #main /skills",
        ),
        (
            "https://dev.azure.com/org/project/_git/repo?path=/skills/web&version=GBmain",
            "git https://dev.azure.com/org/project/_git/repo #main /skills/web",
        ),
        (
            "https://git.example.com/a/b.git#main",
            "git https://git.example.com/a/b.git #main",
        ),
        (
            "http://127.0.0.1:8000/b.git",
            "git http://127.0.0.1:8000/b.git",
        ),
        (
            "git@github.com:o/r.git#v1",
            "git git@github.com:o/r.git #v1",
        ),
        ("ssh://git@host/o/r.git", "git ssh://git@host/o/r.git"),
        ("file:///srv/r.git", "git file:///srv/r.git"),
        ("https://example.com", "site https://example.com/"),
        (
            "https://example.com/my-skill.zip",
            "site https://example.com/my-skill.zip",
        ),
        (
            "https://github.com/o/r/archive/refs/heads/main.zip",
            "file https://github.com/o/r/archive/refs/heads/main.zip",
        ),
        (
            "https://raw.githubusercontent.com/o/r/main/SKILL.md",
            "file https://raw.githubusercontent.com/o/r/main/SKILL.md",
        ),
        ("npm:agent-browser", "npm agent-browser "),
        ("npm:@scope/x@^1.2", "npm @scope/x ^1.2"),
        ("./skills", "local /project/skills"),
        (".", "local /project"),
        ("/srv/skills", "local /srv/skills"),
        ("~/skills", "local /home/me/skills"),
        ("pdf.skill", "local /project/pdf.skill"),
        (
            "downloads/all.tar.gz",
            "local /project/downloads/all.tar.gz",
        ),
    ];
    for (text, expected) in forms {
        assert_eq!(line(text), expected, "{text}");
    }
}

#[test]
fn what_could_start_a_program_or_tell_a_secret_is_refused() {
    for text in [
        "",
        " ",
        "pdf",
        "ext::sh -c touch% /tmp/x",
        "ext::https://github.com/o/r",
        "fd::17",
        "--upload-pack=touch /tmp/x",
        "-o/r",
        "ssh://-oProxyCommand=touch/x",
        "-oProxyCommand=x@host:r",
        "git@-oProxyCommand=x:r",
        "git@host:-r",
        "https://user:secret@github.com/o/r",
        "https://token@github.com/o/r.git",
        "http://github.com/o/r",
        "http://example.com/x.git",
        "git://example.com/x.git",
        "ftp://example.com/x.git",
        "file://host/x.git",
        "https://github.com/o",
        "https://github.com/o/r/tree/main/%2e%2e%2fx",
        "https://github.com/o/r/tree/main/x%00",
        "https://github.com/o/--upload-pack",
        "o/r#--upload-pack=x",
        "o/r#a..b",
        "o/r#a b",
        "o/r#HEAD:secret",
        "o/..",
        "o/r/../../x",
        "npm:",
        "npm:-g",
        "npm:../x",
        "npm:git+ssh://x",
        "npm:x@file:../y",
        "npm:x@.",
        "npm:x@..",
        "npm:x@.hidden",
        "npm:x@https://e.com/x.tgz",
        "o/r\u{0}",
        "o/r\nx",
    ] {
        parse(text).expect_err(text);
    }
}

#[test]
fn refs_are_those_that_git_takes() {
    for good in ["main", "feature/x-1", "v1.0", "0123abc", "ümlaut"] {
        assert!(super::is_ref(good), "{good}");
    }
    for bad in [
        "", "-x", "a..b", "a b", "a~1", "a^", "a:b", "x.lock", "a//b", "@", "x/",
    ] {
        assert!(!super::is_ref(bad), "{bad}");
    }
    assert_eq!(GitKind::Gitlab.as_str(), "gitlab");
}
