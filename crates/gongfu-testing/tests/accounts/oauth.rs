//! Sign-in of clients: what they get, and what nobody gets. Each attack has the control beside it that must succeed.

mod client;
mod request;
mod token;

use std::sync::Arc;

use gongfu_core::account::User;
use gongfu_core::registry::SignIn;
use gongfu_core::registry::oauth::{
    AuthorizationRefusal, AuthorizationServer, OAuthError, OAuthSettings, Parameters, Registration,
};
use gongfu_testing::{FakeClientDocuments, now};

use crate::fixture::Server;

/// The canonical URL of the MCP endpoint.
pub(crate) const RESOURCE: &str = "https://skills.example.com/mcp";
/// The URL of the document of a web client.
const WEB: &str = "https://app.example/oauth/client.json";
const WEB_REDIRECT: &str = "https://app.example/callback";
/// RFC 7636, appendix B.
pub(crate) const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
pub(crate) const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

/// A server with a user, a web client and a local client.
struct Fixture {
    server: Server,
    oauth: AuthorizationServer,
    documents: Arc<FakeClientDocuments>,
    ann: User,
    /// The id of a registered client with the redirect `http://127.0.0.1/cb`.
    local: String,
}

impl Fixture {
    fn new() -> Self {
        let server = Server::new();
        let documents = Arc::<FakeClientDocuments>::default();
        let settings = OAuthSettings {
            resource: RESOURCE.to_owned(),
            registers_clients: true,
        };
        let oauth = AuthorizationServer::new(
            server.accounts.clone(),
            Some(Arc::<FakeClientDocuments>::clone(&documents)),
            settings,
        );
        documents.put(WEB, web_document());
        let ann = server.register("ann").unwrap();
        let local = r#"{"client_name": "Tool", "redirect_uris": ["http://127.0.0.1/cb"]}"#;
        let local = now(oauth.register(Registration::read(local.as_bytes()).unwrap()));
        Self {
            server,
            documents,
            ann,
            local: local.unwrap().id,
            oauth,
        }
    }

    /// Asks for a code and allows it. Answers the URI of the redirect.
    fn ask(&self, parameters: &[(&str, &str)]) -> Result<String, AuthorizationRefusal> {
        let ann = now(self.server.accounts.user(&self.ann.id)).unwrap();
        let request = now(self.oauth.check(&form(parameters), &ann))?;
        now(self.oauth.allow(&request, &ann)).map_err(AuthorizationRefusal::Page)
    }

    /// A code for the web client.
    fn code(&self) -> String {
        value_of(&self.ask(&request()).unwrap(), "code").unwrap()
    }

    fn exchange(&self, parameters: &[(&str, &str)]) -> Result<SignIn, OAuthError> {
        now(self.oauth.exchange(&form(parameters)))
    }

    /// The tokens of the web client.
    fn tokens(&self) -> SignIn {
        self.exchange(&redemption(&self.code())).unwrap()
    }

    /// The address of the user of an access token.
    fn identify(&self, tokens: &SignIn) -> Option<String> {
        let found = self
            .server
            .accounts
            .identify(tokens.access.as_str(), &[RESOURCE]);
        now(found).ok().map(|identity| identity.email.to_string())
    }
}

fn web_document() -> String {
    serde_json::json!({
        "client_id": WEB,
        "client_name": "App",
        "redirect_uris": [WEB_REDIRECT],
    })
    .to_string()
}

/// The parameters as a request has them.
fn form(parameters: &[(&str, &str)]) -> Parameters {
    Parameters::read(text_of(parameters).as_bytes()).unwrap()
}

fn text_of(parameters: &[(&str, &str)]) -> String {
    let escape = |text: &str| {
        let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.".contains(byte);
        let one = |byte: u8| {
            if plain(&byte) {
                char::from(byte).to_string()
            } else {
                format!("%{byte:02X}")
            }
        };
        text.bytes().map(one).collect::<String>()
    };
    let pairs = parameters
        .iter()
        .map(|(name, value)| format!("{}={}", escape(name), escape(value)));
    pairs.collect::<Vec<_>>().join("&")
}

/// A good authorization request of the web client.
fn request() -> Vec<(&'static str, &'static str)> {
    vec![
        ("response_type", "code"),
        ("client_id", WEB),
        ("redirect_uri", WEB_REDIRECT),
        ("code_challenge", CHALLENGE),
        ("code_challenge_method", "S256"),
        ("state", "s t&"),
        ("resource", RESOURCE),
        ("scope", "skills:read skills:run"),
    ]
}

/// A good token request of the web client.
fn redemption(code: &str) -> Vec<(&'static str, &str)> {
    vec![
        ("grant_type", "authorization_code"),
        ("code", code),
        ("client_id", WEB),
        ("redirect_uri", WEB_REDIRECT),
        ("code_verifier", VERIFIER),
        ("resource", RESOURCE),
    ]
}

/// A good refresh of the web client.
fn refresh(tokens: &SignIn) -> Vec<(&'static str, &str)> {
    vec![
        ("grant_type", "refresh_token"),
        ("refresh_token", tokens.refresh.as_str()),
        ("client_id", WEB),
    ]
}

/// The parameters with another value for a name, or without it.
fn with<'a>(
    mut parameters: Vec<(&'a str, &'a str)>,
    name: &'a str,
    value: Option<&'a str>,
) -> Vec<(&'a str, &'a str)> {
    parameters.retain(|(present, _)| *present != name);
    parameters.extend(value.map(|value| (name, value)));
    parameters
}

/// A parameter in the query of a URI, as a client reads it.
fn value_of(uri: &str, name: &'static str) -> Option<String> {
    let query = uri.split_once('?')?.1;
    let parameters = Parameters::read(query.as_bytes()).unwrap();
    parameters.get(name).unwrap().map(str::to_owned)
}
