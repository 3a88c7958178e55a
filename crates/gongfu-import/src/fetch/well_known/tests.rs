//! Sites with an index, and sites that attack by theirs.

use gongfu_archive::zip;
use gongfu_core::archive::ArchiveFile;
use gongfu_core::skill::{Digest, SkillPath};
use serde_json::{Value, json};
use ureq::tls::TlsConfig;
use url::Url;

use super::artifact::Files;
use super::index::{self, IndexEntry};
use super::{EntryKind, Place, SkillIndex, digest_of_files, discover};
use crate::error::{ImportCode, ImportError};
use crate::fetch::test_server::{TestServer, respond};
use crate::fetch::web::Web;

const DOCUMENT: &[u8] = b"---\nname: pdf\ndescription: d\n---\n";
const SCHEMA: &str = "https://schemas.agentskills.io/discovery/0.2.0/schema.json";
const NEW: &str = "/.well-known/agent-skills/index.json";
const OLD: &str = "/.well-known/skills/index.json";

fn client(url: &Url) -> Web {
    Web::new(url, TlsConfig::default(), None)
}

/// The index below an address of a server.
fn found(server: &TestServer, path: &str) -> Result<Option<SkillIndex>, ImportError> {
    let url = server.url(path);
    discover(&client(&url), &url)
}

fn names(index: &SkillIndex) -> Vec<&str> {
    index.entries.iter().map(|entry| &*entry.name).collect()
}

/// An index of the first version.
fn first(name: &str, files: &[&str]) -> Vec<u8> {
    let skill = json!({"name": name, "description": "d", "files": files});
    json!({ "skills": [skill] }).to_string().into_bytes()
}

/// An index of the second version.
fn second(kind: &str, url: &str, content: &[u8]) -> Vec<u8> {
    let digest = Digest::of(content).to_string();
    let skill = json!({
        "name": "pdf", "description": "d", "type": kind, "url": url, "digest": digest,
    });
    let index = json!({"$schema": SCHEMA, "skills": [skill]});
    index.to_string().into_bytes()
}

/// Fetches the first skill of the index at the root of a server.
fn fetched(server: &TestServer) -> Result<Files, ImportError> {
    let url = server.url("/");
    let web = client(&url);
    let index = discover(&web, &url)?.unwrap();
    index.entries[0].fetch(&web, web.deadline())
}

fn shown(files: &Files) -> Vec<(&str, &[u8], u32)> {
    let shown = files
        .iter()
        .map(|(path, (bytes, mode))| (path.as_str(), &**bytes, *mode));
    shown.collect()
}

#[test]
fn the_newer_address_comes_first() {
    let both = TestServer::with(vec![
        (NEW, first("new", &["SKILL.md"])),
        (OLD, first("old", &["SKILL.md"])),
    ]);
    let index = found(&both, "/").unwrap().unwrap();
    assert_eq!(names(&index), ["new"]);
    assert_eq!(index.url, both.url(NEW));
    let old = TestServer::with(vec![(OLD, first("old", &["SKILL.md"]))]);
    assert_eq!(names(&found(&old, "/").unwrap().unwrap()), ["old"]);
    assert_eq!(old.paths(), [NEW, OLD]);
    let none = TestServer::start(|_, stream| respond(stream, "200 OK", "", b"<html>"));
    assert!(found(&none, "/").unwrap().is_none());
}

#[test]
fn a_part_of_a_site_is_never_the_whole() {
    let below = format!("/docs{OLD}").leak();
    let server = TestServer::with(vec![
        (NEW, first("root", &["SKILL.md"])),
        (below, first("docs", &["SKILL.md"])),
    ]);
    let index = found(&server, "/docs/").unwrap().unwrap();
    assert_eq!(names(&index), ["docs"]);
    let error = found(&server, "/other").unwrap_err();
    assert_eq!(error.code, ImportCode::SkillNotInSource);
    let root = server.url("/");
    assert_eq!(error.hint, format!("all skills of the site are at {root}"));
    let empty = TestServer::with(Vec::new());
    assert!(found(&empty, "/docs").unwrap().is_none());
    let both = [&format!("/docs{NEW}"), &format!("/docs{OLD}"), NEW, OLD];
    assert_eq!(empty.paths(), both);
}

#[test]
fn the_address_of_an_index_or_a_skill_names_its_site() {
    for (path, base, asked) in [
        ("/", "/", None),
        ("/docs/?a#b", "/docs", None),
        (NEW, "/", None),
        ("/.well-known/skills", "/", None),
        ("/docs/.well-known/skills/", "/docs", None),
        ("/.well-known/skills/pdf", "/", Some("pdf")),
        (
            "/a/.well-known/agent-skills/pdf/SKILL.md",
            "/a",
            Some("pdf"),
        ),
        ("/.well-known/skillset", "/.well-known/skillset", None),
    ] {
        let place = Place::of(&Url::parse(&format!("https://example.com{path}")).unwrap());
        assert_eq!(
            (place.base.path(), place.asked.as_deref()),
            (base, asked),
            "{path}"
        );
    }
}

#[test]
fn files_are_fetched_one_by_one() {
    let files = ["skill.md", "scripts/run me#1.sh", "a%20b"];
    let server = TestServer::with(vec![
        (OLD, first("pdf", &files)),
        ("/.well-known/skills/pdf/SKILL.md", DOCUMENT.to_vec()),
        (
            "/.well-known/skills/pdf/scripts/run%20me%231.sh",
            b"run".to_vec(),
        ),
        ("/.well-known/skills/pdf/a%2520b", b"\xff".to_vec()),
    ]);
    let files = fetched(&server).unwrap();
    let expected = [
        ("SKILL.md", DOCUMENT, 0o644),
        ("a%20b", b"\xff", 0o644),
        ("scripts/run me#1.sh", b"run", 0o644),
    ];
    assert_eq!(shown(&files), expected);
}

#[test]
fn a_missing_file_is_an_error() {
    let server = TestServer::with(vec![
        (OLD, first("pdf", &["SKILL.md", "missing"])),
        ("/.well-known/skills/pdf/SKILL.md", DOCUMENT.to_vec()),
    ]);
    let error = fetched(&server).unwrap_err();
    assert_eq!(error.code, ImportCode::SourceUnreachable);
    assert!(
        error
            .message
            .contains("/pdf/missing answers with status 404")
    );
}

#[test]
fn an_artifact_is_what_its_digest_says() {
    let server = TestServer::with(vec![
        (NEW, second("skill-md", "pdf/SKILL.md", DOCUMENT)),
        ("/.well-known/agent-skills/pdf/SKILL.md", DOCUMENT.to_vec()),
    ]);
    let files = fetched(&server).unwrap();
    assert_eq!(shown(&files), [("SKILL.md", DOCUMENT, 0o644)]);
    let changed = TestServer::with(vec![
        (NEW, second("skill-md", "/SKILL.md", DOCUMENT)),
        ("/SKILL.md", b"---\nname: other\n---\n".to_vec()),
    ]);
    let error = fetched(&changed).unwrap_err();
    assert_eq!(error.code, ImportCode::SourceRefused);
    assert!(
        error.message.contains("isn't what the index says"),
        "{error}"
    );
}

#[test]
fn an_archive_has_its_document_at_the_top() {
    let file = |path: &str| ArchiveFile {
        path: SkillPath::new(path).unwrap(),
        is_executable: Some(path == "run"),
        bytes: DOCUMENT.to_vec(),
    };
    let fetched = |files: &[ArchiveFile]| {
        let bytes = zip::write("pdf", files).unwrap();
        let index = second("archive", "/pdf.zip", &bytes);
        fetched(&TestServer::with(vec![(NEW, index), ("/pdf.zip", bytes)]))
    };
    let files = fetched(&[file("SKILL.md"), file("run")]).unwrap();
    assert_eq!(
        shown(&files),
        [("SKILL.md", DOCUMENT, 0o644), ("run", DOCUMENT, 0o755)]
    );
    let error = fetched(&[file("a/SKILL.md"), file("run")]).unwrap_err();
    assert_eq!(error.code, ImportCode::SourceRefused);
    let text = TestServer::with(vec![
        (NEW, second("archive", "/pdf.zip", DOCUMENT)),
        ("/pdf.zip", DOCUMENT.to_vec()),
    ]);
    let error = self::fetched(&text).unwrap_err();
    assert!(
        error
            .message
            .ends_with("is neither a zip nor a tar archive")
    );
}

#[test]
fn an_artifact_elsewhere_is_public() {
    let other = TestServer::with(vec![("/SKILL.md", DOCUMENT.to_vec())]);
    let near = other.url("/SKILL.md").to_string();
    for url in [
        near.as_str(),
        "file:///etc/passwd",
        "http://169.254.169.254/",
        "https://169.254.169.254/",
        "//127.0.0.1:1/",
        "http://example.com/SKILL.md",
    ] {
        let index = second("skill-md", url, DOCUMENT);
        let error = fetched(&TestServer::with(vec![(NEW, index)])).unwrap_err();
        assert_eq!(error.code, ImportCode::SourceRefused, "{url}: {error}");
    }
    assert_eq!(other.requests().len(), 0);
}

/// Reads an index; its entries by name, and the refused ones by reason.
fn read(index: &Value) -> Result<(Vec<IndexEntry>, Vec<String>), ImportError> {
    let url = Url::parse("https://example.com/.well-known/skills/index.json").unwrap();
    let (entries, refused) = index::read(index.to_string().as_bytes(), &url)?;
    Ok((entries, refused.into_iter().map(|(_, why)| why).collect()))
}

#[test]
fn entries_that_attack_are_refused() {
    let good = json!({"name": "good", "description": "d", "files": ["SKILL.md"]});
    let files = |files: Value| json!({"name": "a", "description": "d", "files": files});
    for entry in [
        json!(1),
        json!({}),
        json!({"name": "../x", "description": "d", "files": ["SKILL.md"]}),
        json!({"name": "A", "description": "d", "files": ["SKILL.md"]}),
        json!({"name": "a--b", "description": "d", "files": ["SKILL.md"]}),
        json!({"name": "a".repeat(65), "description": "d", "files": ["SKILL.md"]}),
        json!({"name": "good", "description": "d", "files": ["SKILL.md"]}),
        json!({"name": "a", "description": "", "files": ["SKILL.md"]}),
        json!({"name": "a", "description": "d"}),
        files(json!([])),
        files(json!(["a"])),
        files(json!(["SKILL.md", "../x"])),
        files(json!(["SKILL.md", "/etc/passwd"])),
        files(json!(["SKILL.md", "a\\b"])),
        files(json!(["SKILL.md", "http://169.254.169.254/"])),
        files(json!(["SKILL.md", "a/"])),
        files(json!(["SKILL.md", ""])),
        files(json!(["SKILL.md", 1])),
        files(json!(["SKILL.md", "skill.md"])),
        files(json!(["SKILL.md", "a", "A"])),
        files(json!(["SKILL.md", "CON"])),
        files(json!(vec!["SKILL.md"; 1_001])),
    ] {
        let index = json!({"skills": [good, entry]});
        let (entries, refused) = read(&index).unwrap();
        assert_eq!((entries.len(), refused.len()), (1, 1), "{entry}");
    }
    let digest = Digest::of(b"").to_string();
    let entry = |key: &str, value: Value| {
        let mut entry = json!({
            "name": "a", "description": "d", "type": "archive", "url": "a.zip", "digest": digest,
        });
        entry[key] = value;
        json!({"$schema": SCHEMA, "skills": [entry]})
    };
    let (entries, _) = read(&entry("more", json!(1))).unwrap();
    assert_eq!(
        entries[0].url.as_str(),
        "https://example.com/.well-known/skills/a.zip"
    );
    assert_eq!(entries[0].kind.digest(), Some(Digest::of(b"")));
    for (key, value) in [
        ("type", json!("program")),
        ("url", json!("")),
        ("url", json!("https://")),
        ("digest", json!("sha256:AB")),
        ("digest", json!(digest.to_uppercase())),
        ("digest", Value::Null),
        ("description", json!("d".repeat(1_025))),
    ] {
        let error = read(&entry(key, value)).unwrap_err();
        assert_eq!(error.code, ImportCode::SourceInvalid, "{key}");
    }
}

#[test]
fn an_index_is_limited_and_its_version_known() {
    let skill = |number: usize| {
        let name = format!("a{number}");
        json!({"name": name, "description": "d", "files": ["SKILL.md"]})
    };
    let many = |count| json!({"skills": (0..count).map(skill).collect::<Vec<_>>()});
    assert_eq!(read(&many(1_000)).unwrap().0.len(), 1_000);
    for count in [1_001, 100_000] {
        let error = read(&many(count)).unwrap_err();
        assert_eq!(error.code, ImportCode::SourceTooLarge);
    }
    for index in [
        json!([]),
        json!({}),
        json!({"skills": {}}),
        json!({"skills": []}),
        json!({"skills": [skill(1)], "$schema": null}),
        json!({"skills": [skill(1)], "$schema": "https://example.com/9"}),
        json!({"skills": [skill(1)], "$schema": SCHEMA}),
    ] {
        let error = read(&index).unwrap_err();
        assert_eq!(error.code, ImportCode::SourceInvalid, "{index}");
    }
    let long = TestServer::with(vec![(NEW, vec![b' '; 4 * 1024 * 1024 + 1])]);
    let error = found(&long, "/").unwrap_err();
    assert_eq!(error.code, ImportCode::SourceTooLarge);
    // One that can't be read is told, unless the older address has another.
    let newer = TestServer::with(vec![(NEW, b"{}".to_vec())]);
    assert_eq!(
        found(&newer, "/").unwrap_err().code,
        ImportCode::SourceInvalid
    );
    let both = TestServer::with(vec![
        (NEW, b"{}".to_vec()),
        (OLD, first("a", &["SKILL.md"])),
    ]);
    assert_eq!(names(&found(&both, "/").unwrap().unwrap()), ["a"]);
}

#[test]
fn skills_are_chosen_by_name() {
    let skill = |name| json!({"name": name, "description": "d", "files": ["SKILL.md"]});
    let wrong = json!({"name": "wrong", "description": "d", "files": []});
    let index = json!({"skills": [skill("a"), skill("b"), wrong]});
    let server = TestServer::with(vec![(NEW, index.to_string().into_bytes())]);
    let index = found(&server, "/.well-known/skills/b").unwrap().unwrap();
    assert_eq!(index.asked.as_deref(), Some("b"));
    let chosen = |names: &[&str]| {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let entries = index.choose(&names)?;
        Ok::<Vec<String>, ImportError>(entries.iter().map(|entry| entry.name.clone()).collect())
    };
    assert_eq!(chosen(&[]).unwrap(), ["a", "b"]);
    assert_eq!(chosen(&["B"]).unwrap(), ["b"]);
    let error = chosen(&["a", "c"]).unwrap_err();
    assert_eq!(error.code, ImportCode::SkillNotInSource);
    assert_eq!(error.hint, "it has: a, b");
    let error = chosen(&["wrong"]).unwrap_err();
    assert_eq!(error.message, "`wrong` isn't taken: it has no SKILL.md");
}

/// The expected digests were made with `createHash("sha256")` of node over the same parts.
#[test]
fn digests_are_those_of_npx() {
    let file = |path: &str, bytes: &[u8]| (SkillPath::new(path).unwrap(), (bytes.to_vec(), 0o644));
    let files = Files::from([
        file("SKILL.md", "\u{feff}---\n".as_bytes()),
        file("a", b"\xff"),
        // Greater than the next by its code point, less by UTF-16.
        file("\u{10000}", b"1"),
        file("\u{ffff}", b"2"),
    ]);
    assert_eq!(
        digest_of_files(&files).to_string(),
        "sha256:0fbb73337584edadc5a149ef7caf105b74352c8379fca295a1f595de714d5808"
    );
    let digest = Digest::of(b"artifact");
    let entry = |kind| IndexEntry {
        name: "a".to_owned(),
        description: "d".to_owned(),
        url: Url::parse("https://example.com/a").unwrap(),
        kind,
    };
    assert_eq!(entry(EntryKind::Archive(digest)).npx_digest(&files), digest);
    let by_files = entry(EntryKind::Files(Vec::new())).npx_digest(&files);
    assert_eq!(by_files, digest_of_files(&files));
}
