//! The index of a build, and the hosts that it may reach.

use gongfu_core::dependency::Language;

use std::sync::{Arc, Mutex};

use gongfu_core::sandbox::Stream;

use super::{Index, NpmLogin, Secrets};
use crate::recipe::Recipe;
use crate::url::{endpoint, without_secrets};
use crate::{Sources, sources};

fn rules(index: &Index) -> [String; 3] {
    let reach = index.reach();
    assert!(reach.build.is_some());
    [reach.rules, reach.private, reach.beside].map(|rules| {
        let rules: Vec<String> = rules.0.iter().map(ToString::to_string).collect();
        rules.join(" ")
    })
}

#[test]
fn configured_index_opens_its_host_and_the_allowed_ones() {
    let sources = Sources {
        index: Some("https://user:secret@mirror.example/simple".to_owned()),
        extra: vec!["https://extra.example:8443/simple".to_owned()],
        hosts: vec!["files.example".parse().unwrap()],
        ..Sources::default()
    };
    let index = Index::configured(Language::Python, &sources).unwrap();
    let all = "mirror.example extra.example:8443 files.example";
    assert_eq!(rules(&index), [all, all, ""]);
    assert_eq!(index.shown(), "https://mirror.example/simple");
    let registry = Index::configured(Language::Node, &sources).unwrap();
    assert_eq!(rules(&registry)[0], "files.example");
    assert_eq!(registry.shown(), "the installer's own");
}

#[test]
fn default_index_is_the_first_url_that_the_installer_prints() {
    let mut index = Index::configured(Language::Python, &Sources::default()).unwrap();
    assert!(index.reach().is_off());
    assert!(index.set_default("no URL at all").is_err());
    index
        .set_default("(by default: <https://index.example/simple>)\nhttps://other.example\n")
        .unwrap();
    assert_eq!(index.url.as_deref(), Some("https://index.example/simple"));
    assert_eq!(rules(&index), ["index.example", "index.example", ""]);
}

#[test]
fn file_hosts_are_only_reached_beside_the_index_or_in_public() {
    let sources = Sources {
        index: Some("https://index.example/simple".to_owned()),
        ..Sources::default()
    };
    let mut index = Index::configured(Language::Python, &sources).unwrap();
    index.add_file_hosts("wheels = [{ url = \"https://files.example/a/b.whl\" }, { url = \"https://index.example/c.whl\" }]\nhttps://10.0.0.1/x http://plain.example/x");
    assert_eq!(
        rules(&index),
        [
            "index.example files.example",
            "index.example",
            "files.example"
        ]
    );
    for number in 0..20 {
        index.add_file_hosts(&format!("https://f{number}.example/"));
    }
    assert_eq!(index.reach().beside.0.len(), super::MAX_FILE_HOSTS);
}

#[test]
fn index_is_a_host_or_an_address_by_https_or_http() {
    for (url, host, is_plain) in [
        ("https://a.example/simple", "a.example:443", false),
        ("https://me:key@a.example:8443/", "a.example:8443", false),
        ("http://a.example", "a.example:80", true),
        ("http://a.example:8080?x", "a.example:8080", true),
        ("https://127.0.0.1/simple", "127.0.0.1:443", false),
        ("https://me@[::1]/", "[::1]:443", false),
        ("http://[fd00::1]:8080/simple", "[fd00::1]:8080", true),
    ] {
        let (found, plain) = endpoint(url).unwrap();
        assert_eq!((&*found.to_string(), plain), (host, is_plain), "{url}");
    }
    for url in [
        "a.example",
        "https://127.1/simple",
        "https://2130706433/",
        "http://[::1/",
        "https:///",
        "http://a.example:0/",
        "file:///x",
        "ftp://a.example/",
    ] {
        let why = endpoint(url).unwrap_err();
        assert!(!why.contains(url), "{url}");
        let sources = Sources {
            index: Some(url.to_owned()),
            ..Sources::default()
        };
        assert!(
            Index::configured(Language::Python, &sources).is_err(),
            "{url}"
        );
    }
    for (url, shown) in [
        (
            "https://me:key@a.example:8443/x?token=y",
            "https://a.example:8443/x",
        ),
        ("https://a.example?token=y", "https://a.example"),
        ("https://me:k/e?y@a.example/x#y", "https://a.example/x"),
    ] {
        assert_eq!(without_secrets(url), shown);
    }
}

fn texts<T: ToString>(all: &[T]) -> Vec<String> {
    all.iter().map(ToString::to_string).collect()
}

#[test]
fn plain_and_numbered_indexes_are_for_builds_alone() {
    let sources = Sources {
        index: Some("http://index.example:8080/simple".to_owned()),
        extra: vec![
            "https://10.0.0.1/simple".to_owned(),
            "http://[fd00::1]/simple".to_owned(),
        ],
        hosts: vec!["files.example:80".parse().unwrap()],
        ..Sources::default()
    };
    let mut index = Index::configured(Language::Python, &sources).unwrap();
    let build = index.reach().build.unwrap();
    assert_eq!(texts(&build.addresses), ["10.0.0.1:443", "[fd00::1]:80"]);
    assert_eq!(texts(&build.plain), ["index.example:8080", "[fd00::1]:80"]);
    assert_eq!(rules(&index)[0], "index.example:8080 files.example:80");
    assert_eq!(
        index.plain_shown(),
        [
            "http://index.example:8080/simple",
            "http://[fd00::1]/simple"
        ]
    );
    let variables = index.variables(&Recipe::default());
    assert_eq!(
        variables.get("PIP_TRUSTED_HOST").map(String::as_str),
        Some("index.example:8080 [fd00::1]:80")
    );
    // Files by plain HTTP: of the index, and of a host that the operator allows.
    index.add_file_hosts("http://index.example/x http://files.example/x http://evil.example/x http://10.0.0.1/x http://10.0.0.2/x http://files.example:81/x https://cdn.example/x");
    let build = index.reach().build.unwrap();
    assert_eq!(
        texts(&build.plain),
        [
            "index.example:8080",
            "[fd00::1]:80",
            "index.example:80",
            "files.example:80"
        ]
    );
    assert_eq!(build.addresses.len(), 2);
    assert_eq!(texts(&index.reach().beside.0), ["cdn.example"]);
    // The same of an index by https.
    let sources = Sources {
        index: Some("https://index.example/simple".to_owned()),
        ..sources
    };
    let mut index = Index::configured(
        Language::Python,
        &Sources {
            extra: Vec::new(),
            ..sources
        },
    )
    .unwrap();
    index.add_file_hosts("http://index.example/x http://files.example/x");
    let build = index.reach().build.unwrap();
    assert_eq!((build.plain, build.addresses), (Vec::new(), Vec::new()));
    assert!(index.plain_shown().is_empty());
}

/// The sources of these settings of `npm`.
fn of_npm(text: &str) -> Sources {
    Sources {
        npm_logins: sources::npm_logins(text),
        ..Sources::default()
    }
}

#[test]
fn npm_gets_the_logins_of_its_registry_alone() {
    let settings = "//npm.example/a/:_authToken=token-of-a\n//npm.example/:_auth=YTpzZWNyZXQx\n//other.example/:_authToken=token-of-other\n//files.example/:username=me\n//files.example/:_password=c2VjcmV0Mg==\n";
    let sources = Sources {
        registry: Some("https://npm.example/a/".to_owned()),
        hosts: vec!["files.example".parse().unwrap()],
        ..of_npm(settings)
    };
    let index = Index::configured(Language::Node, &sources).unwrap();
    let recipe = Recipe {
        index_variable: "npm_config_registry",
        ..Recipe::default()
    };
    let variables = index.variables(&recipe);
    assert_eq!(
        variables["NPM_LOGINS"],
        "//npm.example/a/:_authToken=\"token-of-a\"\n//npm.example/:_auth=\"YTpzZWNyZXQx\"\n//files.example/:username=\"me\"\n//files.example/:_password=\"c2VjcmV0Mg==\"\n"
    );
    // The login in a URL becomes one of these.
    let sources = Sources {
        registry: Some("https://me:k%40y1@npm.example:8443/a/?x".to_owned()),
        ..of_npm(settings)
    };
    let index = Index::configured(Language::Node, &sources).unwrap();
    let variables = index.variables(&recipe);
    assert_eq!(
        variables["npm_config_registry"],
        "https://npm.example:8443/a/?x"
    );
    assert_eq!(
        variables["NPM_LOGINS"],
        "//npm.example:8443/a/:_auth=\"bWU6a0B5MQ==\"\n"
    );
    assert!(index.script_start().contains("NPM_LOGINS"));
    // Python's steps see nothing of them.
    let python = Index::configured(Language::Python, &sources).unwrap();
    assert!(python.variables(&recipe).is_empty() && python.script_start().is_empty());
}

#[test]
fn no_secret_of_an_index_is_shown_or_heard() {
    let sources = Sources {
        index: Some("https://me:verysecret1@a.example/simple?token=verysecret2".to_owned()),
        extra: vec!["https://very%40secret3@b.example/simple".to_owned()],
        npm_logins: vec![NpmLogin::basic("//c.example", "me:verysecret4")],
        ..Sources::default()
    };
    let index = Index::configured(Language::Python, &sources).unwrap();
    let secrets = index.secrets();
    let all = "verysecret1 verysecret2 very%40secret3 very@secret3 verysecret4 bWU6dmVyeXNlY3JldDQ= me:verysecret4";
    assert!(
        !secrets.hide(all).contains("secret"),
        "{}",
        secrets.hide(all)
    );
    assert!(!secrets.hide(all).contains("bWU6"));
    assert_eq!(secrets.hide("nothing of it"), "nothing of it");
    let printed = format!(
        "{index:?} {sources:?} {:?} {}",
        index.reach(),
        index.shown()
    );
    assert!(!printed.contains("secret"), "{printed}");
    let wrong = Sources {
        index: Some("https://me:verysecret1@127.1/simple?token=verysecret2".to_owned()),
        ..Sources::default()
    };
    let failure = Index::configured(Language::Python, &wrong).unwrap_err();
    assert!(
        !failure.why.contains("secret") && failure.why.contains("127.1"),
        "{failure}"
    );

    let heard = Arc::<Mutex<Vec<u8>>>::default();
    let kept = Arc::clone(&heard);
    let listener = secrets.listener(Arc::new(move |_, bytes: &[u8]| {
        kept.lock().unwrap().extend_from_slice(bytes);
    }));
    for byte in b"from https://me:verysecret1@a.example/\nand verysecret2" {
        listener.take(Stream::Stderr, &[*byte]);
    }
    listener.take(Stream::Stdout, b"for the server");
    listener.flush();
    let heard = String::from_utf8(heard.lock().unwrap().clone()).unwrap();
    assert_eq!(heard, "from https://****@a.example/\nand ****");
}

#[test]
fn secret_that_a_long_line_is_cut_in_is_hidden() {
    let secret = "verysecret";
    let secrets = Secrets::new([secret.to_owned(), "secret".to_owned()]);
    let before = "x".repeat(70_000);
    for split in 0..=secret.len() {
        let heard = Arc::<Mutex<Vec<u8>>>::default();
        let kept = Arc::clone(&heard);
        let listener = secrets.listener(Arc::new(move |_, bytes: &[u8]| {
            kept.lock().unwrap().extend_from_slice(bytes);
        }));
        let (first, second) = secret.split_at(split);
        listener.take(Stream::Stderr, format!("{before}{first}").as_bytes());
        listener.take(Stream::Stderr, second.as_bytes());
        listener.flush();
        let heard = String::from_utf8(heard.lock().unwrap().clone()).unwrap();
        assert_eq!(heard, format!("{before}****"), "{split}");
    }
}
