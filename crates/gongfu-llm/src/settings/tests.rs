//! Tests of finding a provider, and of not showing a key.

use super::{Key, Provider, ProviderKind, Settings};

fn settings() -> Settings {
    let provider = |name: &str| Provider {
        name: name.to_owned(),
        kind: ProviderKind::OpenAi,
        base_url: None,
        key: Some(Key::new(" secret\n")),
    };
    Settings {
        providers: vec![provider("openrouter"), provider("groq")],
        default_model: Some("groq/llama".to_owned()),
        ..Settings::default()
    }
}

#[test]
fn splits_a_name_at_its_first_slash() {
    let settings = settings();
    let (provider, model) = settings.find(Some("openrouter/meta/llama")).unwrap();
    assert_eq!(
        (provider.name.as_str(), model),
        ("openrouter", "meta/llama")
    );
    let (provider, model) = settings.find(None).unwrap();
    assert_eq!((provider.name.as_str(), model), ("groq", "llama"));
}

#[test]
fn says_what_is_missing() {
    let message = |settings: &Settings, asked| settings.find(asked).unwrap_err().message;
    let some = settings();
    assert_eq!(
        message(&some, Some("llama")),
        "\"llama\" names no provider: write it as `provider/model`"
    );
    assert_eq!(
        message(&some, Some("xai/grok")),
        "provider \"xai\" is not configured: there is openrouter, groq"
    );
    let none = Settings::default();
    assert_eq!(
        message(&none, None),
        "no model is set: name one as `provider/model`"
    );
    assert_eq!(
        message(&none, Some("xai/grok")),
        "no provider is configured, so \"xai/grok\" can't be used: set a provider's key"
    );
}

#[test]
fn never_prints_a_key() {
    let printed = format!("{:?}", settings());
    assert!(printed.contains("Key(…)") && !printed.contains("secret"));
    assert_eq!(
        settings().providers[0].key.as_ref().map(Key::expose),
        Some("secret")
    );
}
