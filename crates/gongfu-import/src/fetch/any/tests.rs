//! Indexes that are too much at once, and errors without secrets.

use std::thread::sleep;
use std::time::Duration;

use gongfu_core::archive::ArchiveLimits;
use gongfu_core::netrc::Netrc;
use serde_json::json;
use ureq::tls::TlsConfig;

use super::{Delivery, Fetcher, Web, indexed, well_known};
use crate::error::{ImportCode, ImportError};
use crate::fetch::git::GitSettings;
use crate::fetch::test_server::{TestServer, respond};
use crate::source::{Source, WebSource};

const INDEX: &str = "/.well-known/agent-skills/index.json";
const SKILLS: usize = 20;

/// A site with an index of skills, each of one document that takes so long.
fn site(pause: Duration) -> TestServer {
    TestServer::start(move |path, stream| {
        if path == INDEX {
            let skill =
                |at| json!({"name": format!("s-{at}"), "description": "d", "files": ["SKILL.md"]});
            let skills: Vec<_> = (0..SKILLS).map(skill).collect();
            let index = json!({ "skills": skills }).to_string();
            respond(stream, "200 OK", "", index.as_bytes());
        } else {
            sleep(pause);
            respond(stream, "200 OK", "", b"---\nname: s\ndescription: d\n---\n");
        }
    })
}

fn fetched(
    server: &TestServer,
    timeout: Duration,
    limits: ArchiveLimits,
) -> Result<Delivery, ImportError> {
    let url = server.url("/");
    let web = Web::new(&url, TlsConfig::default(), None);
    let index = well_known::discover(&web, &url)?.unwrap();
    let text = url.to_string();
    let site = WebSource {
        url,
        text,
        is_file: false,
    };
    indexed(&site, &web.with_timeout(timeout), index, &[], limits)
}

#[test]
fn all_skills_of_an_index_have_one_limit() {
    let server = site(Duration::ZERO);
    let minute = Duration::from_mins(1);
    let whole = ArchiveLimits {
        entries: SKILLS,
        total: 33 * SKILLS as u64,
        ..ArchiveLimits::COLLECTION
    };
    let delivery = fetched(&server, minute, whole).unwrap();
    assert_eq!(delivery.discovery.skills.len(), SKILLS);
    for limits in [
        ArchiveLimits {
            entries: SKILLS - 1,
            ..whole
        },
        ArchiveLimits {
            total: 100,
            ..whole
        },
    ] {
        let error = fetched(&server, minute, limits).unwrap_err();
        assert_eq!(error.code, ImportCode::SourceTooLarge, "{error}");
    }
}

#[test]
fn all_skills_of_an_index_have_one_deadline() {
    let server = site(Duration::from_millis(100));
    let timeout = Duration::from_secs(1);
    let error = fetched(&server, timeout, ArchiveLimits::COLLECTION).unwrap_err();
    assert_eq!(error.code, ImportCode::SourceUnreachable, "{error}");
}

#[test]
fn no_error_shows_a_query() {
    let folder = tempfile::tempdir().unwrap();
    let root = gongfu_files::disk::Root::open(folder.path()).unwrap();
    let server = TestServer::with(vec![
        ("/a.zip?sig=secret", b"neither".to_vec()),
        (
            "/b.md?sig=secret",
            b"---\nname: b\ndescription: d\n---\n".to_vec(),
        ),
        ("/c.zip?sig=secret", b"PK\x03\x04".to_vec()),
    ]);
    let fetcher = Fetcher {
        git: GitSettings::default(),
        tls: TlsConfig::default(),
        logins: &Netrc::default(),
        temporary: &root,
        base: folder.path(),
    };
    for path in ["a.zip", "c.zip", "none.zip", "none.git"] {
        let text = server.url(&format!("/{path}?sig=secret")).to_string();
        let source = Source::parse(&text, folder.path(), None).unwrap();
        let error = fetcher.fetch(&source, &[], false).unwrap_err();
        let all = format!("{error} {}", error.hint);
        assert!(!all.contains("secret"), "{all}");
    }
    let text = server.url("/b.md?sig=secret").to_string();
    let source = Source::parse(&text, folder.path(), None).unwrap();
    let delivery = fetcher.fetch(&source, &[], false).unwrap();
    assert_eq!(delivery.origin.source, text, "the lock has what was typed");
    for text in [
        "http://h.example/a?sig=secret",
        "https://h.example:x/a?sig=secret",
        "https://github.com/a?sig=secret",
        "ftp://h.example/a?sig=secret",
    ] {
        let error = Source::parse(text, folder.path(), None).unwrap_err();
        assert!(!error.message.contains("secret"), "{error}");
    }
}
