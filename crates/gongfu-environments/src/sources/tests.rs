//! Settings of the installers, and of proxies.

use std::path::{Path, PathBuf};

use super::ini::{npm_logins, value, values};
use super::{InstallerFiles, ProxySettings, Sources, parse_uv};
use gongfu_core::netrc::Netrc;

/// No variable is set.
fn none(_: &str) -> Option<String> {
    None
}

/// Some variables are set.
fn some(name: &str) -> Option<String> {
    match name {
        "TOKEN" => Some("verysecret".to_owned()),
        "UV_INDEX_CORP_INDEX_USERNAME" => Some("me".to_owned()),
        "UV_INDEX_CORP_INDEX_PASSWORD" => Some("k:y/1".to_owned()),
        _ => None,
    }
}

/// A folder with these files.
fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let root = gongfu_files::disk::Root::open(folder.path()).unwrap();
    for (name, text) in files {
        root.replace(name, text.as_bytes(), false).unwrap();
    }
    folder
}

/// All files that may be in a folder.
fn files(folder: &Path) -> InstallerFiles {
    let one = |name: &str| vec![folder.join("none").join(name), folder.join(name)];
    InstallerFiles {
        uv: one("uv.toml"),
        pip: one("pip.conf"),
        npm: one(".npmrc"),
        netrc: one(".netrc"),
    }
}

/// The sources that these files have.
fn read(texts: &[(&str, &str)]) -> Sources {
    let folder = folder(texts);
    let read = Sources::default().or_from(&files(folder.path()), &ProxySettings::default(), &some);
    read.unwrap()
}

#[test]
fn installer_settings_complete_the_sources() {
    let uv = "[[index]]\nurl = \"https://a.example/simple\"\ndefault = true\n[[index]]\nname = \"b\"\nurl = \"https://b.example\"\n";
    let (index, extra) = parse_uv(uv).unwrap();
    assert_eq!(index.as_deref(), Some("https://a.example/simple"));
    assert_eq!(extra, ["b=https://b.example"]);
    assert_eq!(parse_uv("[["), None);
    let pip = "[global]\n# index-url = https://no.example\nindex-url = https://a.example/simple\ntimeout = 3\n";
    assert_eq!(
        value(pip, "index-url", &none).as_deref(),
        Some("https://a.example/simple")
    );
    let npm = "@a:registry=https://no.example\nregistry=https://r.example/\n";
    assert_eq!(
        value(npm, "registry", &none).as_deref(),
        Some("https://r.example/")
    );
    assert_eq!(value("registry=${HOST}\n", "registry", &none), None);
    let found = read(&[("pip.conf", pip)]);
    assert_eq!(found.index.as_deref(), Some("https://a.example/simple"));
    let said = Sources {
        index: Some("https://said.example".to_owned()),
        ..Sources::default()
    };
    let folder = folder(&[("pip.conf", pip)]);
    let found = said.or_from(&files(folder.path()), &ProxySettings::default(), &none);
    assert_eq!(
        found.unwrap().index.as_deref(),
        Some("https://said.example")
    );
}

#[test]
fn pip_has_further_indexes_on_continued_lines() {
    let pip = "[global]\nindex-url = https://me:key@a.example/simple\nextra-index-url =\n    https://b.example/simple\n    # https://no.example\n\thttps://me:key@c.example/simple\ntimeout = 3\n";
    let extra = [
        "https://b.example/simple",
        "https://me:key@c.example/simple",
    ];
    assert_eq!(values(pip, "extra-index-url", &none), extra);
    assert_eq!(
        values("extra_index_url = a b\n\n  c\n", "extra-index-url", &none),
        ["a", "b"]
    );
    let found = read(&[("pip.conf", pip)]);
    assert_eq!(
        found.index.as_deref(),
        Some("https://me:key@a.example/simple")
    );
    assert_eq!(found.extra, extra);
    // Another index has no use for what goes with this one.
    let uv = "index-url = \"https://u.example/simple\"\n";
    let found = read(&[("pip.conf", pip), ("uv.toml", uv)]);
    assert_eq!(found.index.as_deref(), Some("https://u.example/simple"));
    assert!(found.extra.is_empty());
}

#[test]
fn logins_of_indexes_come_from_variables_and_netrc() {
    let netrc = "machine a.example login me password k@y1 # comment\nmacdef init\nmachine b.example login no password no\n\nmachine b.example\n  login you\n  password \"k 2\"\nmachine b.example login other password k3\ndefault login any password k4\n";
    let logins = Netrc::parse(netrc);
    for (host, user, login) in [
        ("a.example", None, ("me", "k@y1")),
        ("b.example", None, ("you", "k 2")),
        ("b.example", Some("other"), ("other", "k3")),
        ("c.example", None, ("any", "k4")),
    ] {
        assert_eq!(logins.login(host, user), Some(login), "{host}");
    }
    assert_eq!(logins.login("a.example", Some("nobody")), None);
    assert_eq!(Netrc::parse("machine").login("a.example", None), None);
    let uv = "[[index]]\nurl = \"https://a.example/simple\"\ndefault = true\n[[index]]\nname = \"corp-index\"\nurl = \"http://b.example:8080/simple\"\n[[index]]\nname = \"other\"\nurl = \"https://other@b.example/\"\n[[index]]\nurl = \"https://x:y@a.example/\"\n";
    let found = read(&[("uv.toml", uv), (".netrc", netrc)]);
    assert_eq!(
        found.index.as_deref(),
        Some("https://me:k%40y1@a.example/simple")
    );
    assert_eq!(
        found.extra,
        [
            "http://me:k%3Ay%2F1@b.example:8080/simple",
            "https://other:k3@b.example/",
            "https://x:y@a.example/",
        ]
    );
}

#[test]
fn npm_logins_are_read_with_their_variables() {
    let npm = "; //no.example/:_authToken=x\n_authToken=of-nowhere\n//a.example/npm/:_authToken=${TOKEN}\n//b.example/:_auth = \"YTpi\"\n//c.example/:username=me\n//c.example/:_password=cGFzc3dvcmQ=\n//d.example/:_authToken=${UNSET}\n//e.example/:_authToken=${UNSET?}\n//f.example/:certfile=/x\n";
    let found = npm_logins(npm, &some);
    let shown: Vec<_> = found
        .iter()
        .map(|login| (login.key.as_str(), login.value.expose()))
        .collect();
    assert_eq!(
        shown,
        [
            ("//a.example/npm/:_authToken", "verysecret"),
            ("//b.example/:_auth", "YTpi"),
            ("//c.example/:username", "me"),
            ("//c.example/:_password", "cGFzc3dvcmQ="),
        ]
    );
    assert!(!format!("{found:?}").contains("verysecret"));
    assert_eq!(read(&[(".npmrc", npm)]).npm_logins, found);
}

/// The proxies of these settings and files: Python's, then those of Node.js, each for https and http.
fn proxies(
    settings: &ProxySettings,
    texts: &[(&str, &str)],
) -> Result<[Option<String>; 4], String> {
    let folder = folder(texts);
    let read = Sources::default().or_from(&files(folder.path()), settings, &none);
    let read = read.map_err(|error| error.to_string())?;
    let [python, node] = [read.python_proxies, read.node_proxies];
    Ok([python.https, python.http, node.https, node.http]
        .map(|server| server.map(|server| server.endpoint.to_string())))
}

#[test]
fn proxy_is_the_setting_then_variables_then_the_files() {
    let text = |text: &str| Some(text.to_owned());
    let files = [
        ("pip.conf", "[global]\nproxy = http://pip.corp:1\n"),
        (
            ".npmrc",
            "proxy=http://npm.corp:2/\nhttps-proxy=http://npm.corp:3/\n",
        ),
    ];
    let mut settings = ProxySettings::default();
    assert_eq!(
        proxies(&settings, &files).unwrap(),
        [
            text("pip.corp:1"),
            text("pip.corp:1"),
            text("npm.corp:3"),
            text("npm.corp:2")
        ]
    );
    assert_eq!(proxies(&settings, &[]).unwrap(), [None, None, None, None]);
    settings.http = text("http://[fd00::1]:3128");
    settings.all = text("all.corp");
    let (https, http) = (text("all.corp:80"), text("[fd00::1]:3128"));
    let both = [https.clone(), http.clone(), https, http];
    assert_eq!(proxies(&settings, &files).unwrap(), both);
    settings.setting = text("http://me:very%40secret@set.corp:8080/");
    let set = text("set.corp:8080");
    assert_eq!(
        proxies(&settings, &files).unwrap(),
        [set.clone(), set.clone(), set.clone(), set]
    );
    let found = settings.proxies().unwrap().unwrap().https.unwrap();
    let login = found.authorization.as_ref().unwrap().expose();
    assert_eq!(login, "Basic bWU6dmVyeUBzZWNyZXQ=");
    assert!(!format!("{settings:?} {found:?}").contains("secret"));
    // An empty one turns them off.
    settings.setting = text("");
    assert_eq!(
        proxies(&settings, &files).unwrap(),
        [None, None, None, None]
    );
}

#[test]
fn proxy_that_can_not_be_used_is_named_without_its_password() {
    for url in [
        "https://me:verysecret@proxy.corp:3128",
        "socks5://me:verysecret@proxy.corp:1080",
        "http://me:verysecret@proxy corp",
        "http://me:verysecret@:1",
        "http://me:verysecret@127.1:1",
    ] {
        let settings = ProxySettings {
            all: Some(url.to_owned()),
            ..ProxySettings::default()
        };
        let why = proxies(&settings, &[]).unwrap_err();
        assert!(
            why.contains("`ALL_PROXY`") && why.contains("http://host:port"),
            "{why}"
        );
        assert!(!why.contains("verysecret"), "{why}");
    }
}

#[test]
fn sources_are_written_nowhere() {
    let sources = Sources {
        index: Some("https://me:verysecret@a.example".to_owned()),
        certificates: Some(PathBuf::from("/x")),
        ..Sources::default()
    };
    assert!(!format!("{sources:?}").contains("verysecret"));
}
