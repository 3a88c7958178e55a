//! Clients: registered ones, and documents.

use gongfu_core::registry::oauth::{
    AuthorizationRefusal, AuthorizationServer, Client, OAuthError, OAuthErrorCode, OAuthSettings,
    Registration,
};
use gongfu_testing::now;
use serde_json::{Value, json};

use super::{Fixture, RESOURCE, WEB, WEB_REDIRECT, request, web_document, with};

const REDIRECT: OAuthErrorCode = OAuthErrorCode::InvalidRedirectUri;
const METADATA: OAuthErrorCode = OAuthErrorCode::InvalidClientMetadata;
const DAY: i64 = 24 * 60 * 60 * 1_000;

fn register(fixture: &Fixture, client: &Value) -> Result<Client, OAuthError> {
    let registration = Registration::read(client.to_string().as_bytes())?;
    now(fixture.oauth.register(registration))
}

fn is_known(fixture: &Fixture, id: &str) -> bool {
    let parameters = with(request(), "redirect_uri", Some("http://127.0.0.1/cb"));
    fixture
        .ask(&with(parameters, "client_id", Some(id)))
        .is_ok()
}

#[test]
fn hostile_registrations_are_refused() {
    let fixture = Fixture::new();
    let good = json!({
        "client_name": "工具 Tool",
        "redirect_uris": ["http://localhost:1/cb", "app.x:/cb"],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "client_secret_post",
        "logo_uri": "https://evil.example/x.png",
    });
    register(&fixture, &good).unwrap();
    let changed = |name: &str, value: Value| {
        let mut client = good.clone();
        client[name] = value;
        client
    };
    let many: Vec<String> = (0..11)
        .map(|number| format!("https://a.example/{number}"))
        .collect();
    for (name, value, code) in [
        ("redirect_uris", json!([]), REDIRECT),
        ("redirect_uris", json!(many), REDIRECT),
        ("redirect_uris", json!(["javascript:alert(1)"]), REDIRECT),
        ("redirect_uris", json!(["http://evil.example/cb"]), REDIRECT),
        ("redirect_uris", json!(["https://a.example/#x"]), REDIRECT),
        (
            "redirect_uris",
            json!(["https://a.example/", "data:text/html,x"]),
            REDIRECT,
        ),
        ("redirect_uris", json!("https://a.example/"), METADATA),
        ("redirect_uris", json!([1]), METADATA),
        ("client_name", json!("x".repeat(101)), METADATA),
        ("client_name", json!("a\nb"), METADATA),
        ("client_name", json!("a\u{202e}b"), METADATA),
        ("client_name", json!({}), METADATA),
        ("grant_types", json!(["client_credentials"]), METADATA),
        ("response_types", json!(["token"]), METADATA),
    ] {
        let refused = register(&fixture, &changed(name, value.clone())).unwrap_err();
        assert_eq!(refused.code, code, "{name}: {value}");
    }
}

#[test]
fn registration_is_an_object() {
    for bad in [
        "",
        "[]",
        "{}",
        "null",
        "{\"redirect_uris\": [",
        "\u{feff}{}",
    ] {
        assert!(Registration::read(bad.as_bytes()).is_err(), "{bad}");
    }
    Registration::read(br#"{"redirect_uris": []}"#).unwrap();
}

#[test]
fn unused_clients_are_forgotten_and_used_ones_stay() {
    let fixture = Fixture::new();
    let client = json!({"redirect_uris": ["http://127.0.0.1/cb"]});
    let (unused, used) = (
        register(&fixture, &client).unwrap().id,
        register(&fixture, &client).unwrap().id,
    );
    assert!(is_known(&fixture, &used));
    fixture.server.clock.advance(DAY);
    assert!(!is_known(&fixture, &unused));
    assert!(is_known(&fixture, &used));
    fixture.server.clock.advance(89 * DAY);
    assert!(is_known(&fixture, &used));
    fixture.server.clock.advance(90 * DAY);
    assert!(!is_known(&fixture, &used));
    // The next registration removes what is forgotten.
    register(&fixture, &client).unwrap();
    let prefix = gongfu_core::port::RecordKey::new("client").unwrap();
    let left = now(gongfu_core::port::Records::list(
        &*fixture.server.records,
        &prefix,
    ))
    .unwrap();
    assert_eq!(left.len(), 1);
}

#[test]
fn number_of_clients_is_bounded() {
    let fixture = Fixture::new();
    let client = json!({"redirect_uris": ["http://127.0.0.1/cb"]});
    let mut registered = 1;
    let refused = loop {
        match register(&fixture, &client) {
            Ok(_) => registered += 1,
            Err(error) => break error,
        }
    };
    assert_eq!(registered, 500);
    assert_eq!(refused.code, OAuthErrorCode::TemporarilyUnavailable);
    // One that is in use stays; those that nobody used for an hour make room.
    assert!(is_known(&fixture, &fixture.local));
    fixture.server.clock.advance(60 * 60 * 1_000);
    register(&fixture, &client).unwrap();
    assert!(is_known(&fixture, &fixture.local));
}

#[test]
fn registration_can_be_closed() {
    let fixture = Fixture::new();
    let settings = OAuthSettings {
        resource: RESOURCE.to_owned(),
        registers_clients: false,
    };
    let closed = AuthorizationServer::new(fixture.server.accounts.clone(), None, settings);
    let client = Registration::read(br#"{"redirect_uris": ["http://127.0.0.1/cb"]}"#).unwrap();
    now(fixture.oauth.register(client.clone())).unwrap();
    let refused = now(closed.register(client)).unwrap_err();
    assert_eq!(refused.code, OAuthErrorCode::InvalidRequest);
}

#[test]
fn hostile_documents_are_refused() {
    let fixture = Fixture::new();
    let refuses = |document: String| {
        fixture.documents.put(WEB, document);
        matches!(fixture.ask(&request()), Err(AuthorizationRefusal::Page(_)))
    };
    assert!(!refuses(web_document()));
    let changed = |name: &str, value: Value| {
        let mut document: Value = serde_json::from_str(&web_document()).unwrap();
        document[name] = value;
        document.to_string()
    };
    for (name, value) in [
        ("client_id", json!("https://app.example/oauth/other.json")),
        ("client_id", json!("https://app.example/oauth/client.json/")),
        ("client_id", json!("https://APP.example/oauth/client.json")),
        ("client_id", Value::Null),
        ("redirect_uris", json!([])),
        ("redirect_uris", Value::Null),
        (
            "redirect_uris",
            json!([WEB_REDIRECT, "javascript:alert(1)"]),
        ),
        (
            "redirect_uris",
            json!([WEB_REDIRECT, "http://evil.example/"]),
        ),
        ("redirect_uris", json!(["https://app.example/*"])),
        ("redirect_uris", json!(["https://other.example/callback"])),
        ("client_name", json!("a\u{200b}b")),
        ("client_secret", json!("x")),
        ("token_endpoint_auth_method", json!("client_secret_basic")),
        ("token_endpoint_auth_method", json!("private_key_jwt")),
        ("grant_types", json!(["implicit"])),
        ("padding", json!("x".repeat(16 * 1024))),
    ] {
        assert!(refuses(changed(name, value.clone())), "{name}: {value}");
    }
    for document in ["", "[]", "<html>", "{\"client_id\": \"x\""] {
        assert!(refuses(document.to_owned()), "{document}");
    }
    let twice = web_document().replacen('{', &format!("{{\"client_id\": \"{WEB}\","), 1);
    assert!(refuses(twice));
    assert!(!refuses(web_document()));
}

#[test]
fn nothing_is_fetched_from_private_places() {
    let fixture = Fixture::new();
    fixture.ask(&request()).unwrap();
    assert_eq!(fixture.documents.take_fetched(), [WEB]);
    for id in [
        "http://app.example/oauth/client.json",
        "https://127.0.0.1/client.json",
        "https://[::1]/client.json",
        "https://10.0.0.1/client.json",
        "https://169.254.169.254/latest/meta-data",
        "https://localhost/client.json",
        "https://printer.local/client.json",
        "https://intranet/client.json",
        "https://user:password@app.example/client.json",
        "https://app.example/x/../client.json",
        "file:///etc/passwd",
    ] {
        let document = json!({"client_id": id, "redirect_uris": [WEB_REDIRECT]});
        fixture.documents.put(id, document.to_string());
        let refused = fixture.ask(&with(request(), "client_id", Some(id)));
        assert!(
            matches!(refused, Err(AuthorizationRefusal::Page(_))),
            "{id}"
        );
        assert!(fixture.documents.take_fetched().is_empty(), "{id}");
    }
}
