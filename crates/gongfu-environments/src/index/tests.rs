//! The index of a build, and the hosts that it may reach.

use gongfu_core::dependency::Language;

use super::{Index, destination, without_secrets};
use crate::Sources;

fn rules(index: &Index) -> [String; 3] {
    let reach = index.reach();
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
fn index_is_a_host_name_reached_by_https() {
    assert_eq!(
        destination("https://a.example/simple").unwrap().to_string(),
        "a.example:443"
    );
    assert_eq!(
        destination("https://me:key@a.example:8443/")
            .unwrap()
            .to_string(),
        "a.example:8443"
    );
    for url in [
        "http://a.example",
        "a.example",
        "https://127.0.0.1/simple",
        "https://[::1]/",
        "https:///",
        "file:///x",
    ] {
        assert!(destination(url).is_err(), "{url}");
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
