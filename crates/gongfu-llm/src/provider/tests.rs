//! Tests of the table, and of reading addresses.

use super::{base_url, known, known_providers, parse};
use crate::settings::{Key, Provider, ProviderKind};

#[test]
fn every_row_can_be_used() {
    for (at, row) in known_providers().iter().enumerate() {
        assert_eq!(
            parse(row.base_url, row.kind).unwrap().as_str(),
            row.base_url
        );
        assert_eq!(
            known_providers()
                .iter()
                .position(|other| other.name == row.name),
            Some(at)
        );
        assert!(
            row.is_local() || !row.key_variables.is_empty(),
            "{}",
            row.name
        );
        assert!(
            row.is_local() || row.base_url.starts_with("https://"),
            "{}",
            row.name
        );
    }
    assert_eq!(known("anthropic").unwrap().kind, ProviderKind::Anthropic);
    assert_eq!(known("nobody"), None);
}

#[test]
fn reads_addresses_as_the_sdks_do() {
    for (address, kind, expected) in [
        (
            "https://api.example.com/v1",
            ProviderKind::OpenAi,
            "https://api.example.com/v1/",
        ),
        (
            "https://api.example.com",
            ProviderKind::OpenAi,
            "https://api.example.com/",
        ),
        (
            "https://api.example.com",
            ProviderKind::Anthropic,
            "https://api.example.com/v1/",
        ),
        (
            "https://example.com/anthropic/",
            ProviderKind::Anthropic,
            "https://example.com/anthropic/v1/",
        ),
        (
            "https://example.com/v1/",
            ProviderKind::Anthropic,
            "https://example.com/v1/",
        ),
        (
            "https://example.com",
            ProviderKind::Gemini,
            "https://example.com/v1beta/",
        ),
        (
            "https://example.com/v1",
            ProviderKind::Gemini,
            "https://example.com/v1/",
        ),
        ("127.0.0.1", ProviderKind::Ollama, "http://127.0.0.1:11434/"),
        ("models.lan:80", ProviderKind::Ollama, "http://models.lan/"),
        (
            "https://models.lan/",
            ProviderKind::Ollama,
            "https://models.lan/",
        ),
    ] {
        assert_eq!(parse(address, kind).unwrap().as_str(), expected);
    }
}

#[test]
fn refuses_other_addresses() {
    for address in [
        "",
        "api.example.com",
        "file:///etc/passwd",
        "ftp://example.com",
        "https://user:hunter2@example.com",
        "https://example.com/?key=hunter2",
        "https://example.com/#hunter2",
    ] {
        let wrong = parse(address, ProviderKind::OpenAi).unwrap_err();
        assert!(!wrong.contains("hunter2"), "{wrong}");
    }
}

#[test]
fn names_the_variable_of_a_missing_key() {
    let provider = |name: &str, key: Option<Key>| Provider {
        name: name.to_owned(),
        kind: ProviderKind::OpenAi,
        base_url: None,
        key,
    };
    let message = |name: &str| base_url(&provider(name, None)).unwrap_err().message;
    assert_eq!(
        message("openai"),
        "provider \"openai\" has no key: set OPENAI_API_KEY"
    );
    assert_eq!(
        message("mine"),
        "provider \"mine\" has no address: set its base URL"
    );
    assert!(base_url(&provider("vllm", None)).is_ok());
    assert!(base_url(&provider("openai", Some(Key::new("k")))).is_ok());
}
