//! A token is refreshed in time, once, and to the end.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use gongfu_core::connection::Url;
use gongfu_core::port::{Locks, Pending, Secrets};
use gongfu_testing::{FakeSecrets, MemoryRecords};
use oauth2::TokenResponse as _;
use rmcp::transport::AuthorizationManager;
use rmcp::transport::auth::{CredentialStore as _, OAuthClientConfig, StoredCredentials};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::sync::Mutex;
use tokio::time::{sleep, timeout};

use super::{Token, Tokens, refreshes_ended};
use crate::sign_in::SignIns;
use crate::web::{self, SignInClient};

fn stored(life: Option<u64>, age: u64) -> StoredCredentials {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let mut response = json!({"access_token": "t", "refresh_token": "r", "token_type": "bearer"});
    if let Some(life) = life {
        response["expires_in"] = life.into();
    }
    let stored = json!({
        "client_id": "c", "token_response": response, "token_received_at": now.as_secs() - age,
    });
    serde_json::from_value(stored).unwrap()
}

#[test]
fn token_is_refreshed_shortly_before_its_end_and_when_it_was_refused() {
    let usable = || Token::Usable("t".to_owned());
    for (life, age, refused, expected) in [
        (Some(3600), 3500, None, usable()),
        (Some(3600), 3580, None, Token::Old),
        // A provider of short ones is not asked at each request.
        (Some(20), 1, None, usable()),
        (Some(20), 16, None, Token::Old),
        (None, 100_000, None, usable()),
        (Some(3600), 0, Some("t"), Token::Old),
        (Some(3600), 0, Some("before"), usable()),
    ] {
        let token = Token::of(Some(stored(life, age)), refused);
        assert_eq!(token, expected, "{life:?} {age} {refused:?}");
    }
    assert_eq!(Token::of(None, None), Token::Missing);
}

/// A lock for all names.
#[derive(Default)]
struct OneLock(Arc<Mutex<()>>);

impl Locks for OneLock {
    fn lock<'a>(&'a self, _: &'a str) -> Pending<'a, Box<dyn Any + Send>> {
        Box::pin(async {
            let held = Arc::clone(&self.0).lock_owned().await;
            Ok(Box::new(held) as Box<dyn Any + Send>)
        })
    }
}

/// The address of a provider that answers each request with new tokens, after a while.
async fn provider() -> String {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut asked = Vec::new();
        while !String::from_utf8_lossy(&asked).contains("refresh_token=r") {
            assert_ne!(
                stream.read_buf(&mut asked).await.unwrap(),
                0,
                "it asks with its token"
            );
        }
        sleep(Duration::from_millis(300)).await;
        let body =
            r#"{"access_token":"t2","refresh_token":"r2","token_type":"bearer","expires_in":60}"#;
        let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close";
        let answer = format!("{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
        stream.write_all(answer.as_bytes()).await.unwrap();
    });
    format!("http://{address}")
}

/// The tokens of a sign-in that has ended, to be refreshed at a provider.
async fn ended_tokens(provider: &str) -> Arc<Tokens> {
    let url = Url {
        url: format!("{provider}/mcp"),
        headers: BTreeMap::new(),
        is_private: false,
        client: None,
    };
    let sign_ins = SignIns {
        connection: "notes".parse().unwrap(),
        records: Arc::new(MemoryRecords::default()),
        secrets: Arc::new(|| Ok(Arc::new(FakeSecrets::default()) as Arc<dyn Secrets>)),
        locks: Arc::new(OneLock::default()),
    };
    sign_ins.save(stored(Some(60), 100)).await.unwrap();
    let (client, reach) = web::client(&url).unwrap();
    let client = Arc::new(SignInClient { client, reach });
    let making = AuthorizationManager::new_with_oauth_http_client(url.url.as_str(), client);
    let mut manager = making.await.unwrap();
    manager.set_credential_store(sign_ins.clone());
    let metadata = json!({
        "authorization_endpoint": format!("{provider}/authorize"),
        "token_endpoint": format!("{provider}/token"),
        "issuer": provider,
    });
    manager.set_metadata(serde_json::from_value(metadata).unwrap());
    let config = OAuthClientConfig::new("c", "http://127.0.0.1/callback");
    manager.configure_client(config).unwrap();
    Arc::new(Tokens { sign_ins, manager })
}

#[tokio::test]
async fn refresh_goes_on_without_the_request_that_needed_it() {
    let tokens = ended_tokens(&provider().await).await;
    let request = timeout(Duration::from_millis(100), tokens.token(None)).await;
    assert!(request.is_err(), "it has not been answered yet");
    refreshes_ended().await;
    let kept = tokens.sign_ins.load().await.unwrap().unwrap();
    let response = kept.token_response.unwrap();
    assert_eq!(response.access_token().secret(), "t2");
    assert_eq!(response.refresh_token().unwrap().secret(), "r2");
}

#[tokio::test]
async fn requests_at_once_refresh_once() {
    // A second refresh would find nobody who answers.
    let tokens = ended_tokens(&provider().await).await;
    let (first, second) = tokio::join!(tokens.token(None), tokens.token(None));
    assert_eq!(first.unwrap().as_deref(), Some("t2"));
    assert_eq!(second.unwrap().as_deref(), Some("t2"));
}
