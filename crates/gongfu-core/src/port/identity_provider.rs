//! The company's provider of identities (OIDC).

use super::Pending;

/// One sign-in at the provider, which began in a browser.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderRequest {
    /// Comes back with the answer.
    pub state: String,
    /// Comes back in the ID token.
    pub nonce: String,
    /// The secret of PKCE: 43 to 128 letters and digits.
    pub verifier: String,
    /// The URL that the browser comes back to.
    pub redirect: String,
}

/// A person, as the provider vouches for them.
#[derive(Clone, PartialEq, Eq)]
pub struct ProviderPerson {
    /// Their id there, which never changes.
    pub subject: String,
    /// Their address.
    pub email: Option<String>,
    /// False if the provider says that nobody has proved the address.
    pub is_email_verified: Option<bool>,
    /// The name that they go by.
    pub username: Option<String>,
    /// Their groups; `None` where the provider says nothing of groups.
    pub groups: Option<Vec<String>>,
    /// The secret by which the provider is asked again; `None` where it gives no new one.
    pub refresh_token: Option<String>,
}

/// Asks the company's provider of identities.
///
/// Implementations check what comes back: who signed the ID token and with which algorithm (never `none`, never a shared
/// secret), its issuer, audience, times and nonce.
///
/// [`PortError::Denied`](super::PortError::Denied) is the provider's no, or an answer that isn't good, with the reason for
/// people. Every other error says that it couldn't be asked.
pub trait IdentityProvider: Send + Sync {
    /// The URL of the page at which somebody signs in.
    fn page<'a>(&'a self, request: &'a ProviderRequest) -> Pending<'a, String>;

    /// The person behind the code that came back.
    fn exchange<'a>(
        &'a self,
        code: &'a str,
        request: &'a ProviderRequest,
    ) -> Pending<'a, ProviderPerson>;

    /// The same person, asked again by their refresh token.
    fn refresh<'a>(
        &'a self,
        subject: &'a str,
        refresh_token: &'a str,
    ) -> Pending<'a, ProviderPerson>;

    /// Does work to its end, even if nobody waits for it any more: a refresh token is good for one question.
    fn finish(&self, work: Pending<'static, ()>) -> Pending<'static, ()>;
}
