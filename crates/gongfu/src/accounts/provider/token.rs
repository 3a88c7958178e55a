//! The person of a provider's tokens, once they are checked.

use std::collections::HashMap;

use gongfu_core::port::{PortError, ProviderPerson};
use openidconnect::core::{
    CoreAuthDisplay, CoreAuthPrompt, CoreErrorResponseType, CoreGenderClaim, CoreJsonWebKey,
    CoreJweContentEncryptionAlgorithm, CoreJwsSigningAlgorithm, CoreRevocableToken,
    CoreRevocationErrorResponse, CoreTokenIntrospectionResponse, CoreTokenType,
};
use openidconnect::{
    AdditionalClaims, ClaimsVerificationError, EmptyExtraTokenFields, EndpointMaybeSet,
    EndpointNotSet, EndpointSet, IdTokenClaims, IdTokenFields, IdTokenVerifier, Nonce,
    OAuth2TokenResponse as _, RequestTokenError, SignatureVerificationError, StandardErrorResponse,
    StandardTokenResponse, SubjectIdentifier, TokenResponse as _, UserInfoClaims,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::http::HttpError;
use super::{MIN_KEPT, Parts, described};

/// The algorithms of signatures that count: none of them has a shared secret.
const ALGORITHMS: [CoreJwsSigningAlgorithm; 9] = [
    CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha256,
    CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha384,
    CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha512,
    CoreJwsSigningAlgorithm::RsaSsaPssSha256,
    CoreJwsSigningAlgorithm::RsaSsaPssSha384,
    CoreJwsSigningAlgorithm::RsaSsaPssSha512,
    CoreJwsSigningAlgorithm::EcdsaP256Sha256,
    CoreJwsSigningAlgorithm::EcdsaP384Sha384,
    CoreJwsSigningAlgorithm::EdDsa,
];
/// The seconds by which the clock of a provider may be ahead.
const LEEWAY: i64 = 120;
/// The most groups of a person that are looked at.
const MAX_GROUPS: usize = 1_000;

/// The claims that no standard has, such as groups.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct OtherClaims {
    #[serde(flatten)]
    all: HashMap<String, Value>,
}

impl AdditionalClaims for OtherClaims {}

type Claims = IdTokenClaims<OtherClaims, CoreGenderClaim>;
type UserInfo = UserInfoClaims<OtherClaims, CoreGenderClaim>;
type Fields = IdTokenFields<
    OtherClaims,
    EmptyExtraTokenFields,
    CoreGenderClaim,
    CoreJweContentEncryptionAlgorithm,
    CoreJwsSigningAlgorithm,
>;
/// The tokens of a provider.
pub(super) type Tokens = StandardTokenResponse<Fields, CoreTokenType>;
type ErrorAnswer = StandardErrorResponse<CoreErrorResponseType>;
/// The client that a provider knows.
pub(super) type Client = openidconnect::Client<
    OtherClaims,
    CoreAuthDisplay,
    CoreGenderClaim,
    CoreJweContentEncryptionAlgorithm,
    CoreJsonWebKey,
    CoreAuthPrompt,
    ErrorAnswer,
    Tokens,
    CoreTokenIntrospectionResponse,
    CoreRevocableToken,
    CoreRevocationErrorResponse,
    EndpointSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointMaybeSet,
    EndpointMaybeSet,
>;

/// The answers of a token endpoint that are a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    /// All that say no.
    Any,
    /// Those about the person; others are about this server, or about a bad moment.
    OfPerson,
}

/// The refusal of a token endpoint, or the reason why there is no answer.
pub(super) fn refusal(
    error: RequestTokenError<HttpError, ErrorAnswer>,
    which: Refusal,
) -> PortError {
    let RequestTokenError::ServerResponse(answer) = &error else {
        return PortError::Unavailable(described(&error));
    };
    let code = answer.error().as_ref();
    let of_person = [
        "invalid_grant",
        "access_denied",
        "interaction_required",
        "login_required",
        "consent_required",
        "account_selection_required",
    ];
    let why = format!("it says `{code}`");
    if which == Refusal::Any || of_person.contains(&code) {
        PortError::Denied(why)
    } else {
        PortError::Unavailable(why)
    }
}

/// The person of tokens. A sign-in has a nonce; a later question has the subject that is asked about.
pub(super) fn person(
    shared: &Parts,
    client: Client,
    tokens: &Tokens,
    nonce: Option<&Nonce>,
    asked: Option<&str>,
) -> Result<ProviderPerson, PortError> {
    let claims = match (tokens.id_token(), asked) {
        (Some(_), _) => Some(verified(shared, &client, tokens, nonce)?),
        (None, Some(_)) => None,
        (None, None) => return Err(denied("it has no ID token")),
    };
    let subject = claims.as_ref().map(|claims| claims.subject().as_str());
    if let (Some(found), Some(asked)) = (subject, asked)
        && found != asked
    {
        return Err(denied("it is about another person"));
    }
    let subject = subject.or(asked).unwrap_or_default().to_owned();
    let claim = &shared.settings.groups_claim;
    let mut person = ProviderPerson {
        email: None,
        is_email_verified: None,
        username: None,
        groups: None,
        refresh_token: tokens.refresh_token().map(|token| token.secret().clone()),
        subject,
    };
    if let Some(claims) = &claims {
        person.email = claims.email().map(|email| email.to_string());
        person.is_email_verified = claims.email_verified();
        person.username = claims.preferred_username().map(|name| name.to_string());
        person.groups = groups(claims.additional_claims(), claim);
    }
    if person.groups.is_none() || asked.is_none() && person.email.is_none() {
        match user_info(shared, client, tokens, &person.subject) {
            Ok(Some(more)) => add(&mut person, &more, claim),
            Ok(None) => {}
            // The old refresh token is used up already; the groups stay as they were.
            Err(error) if asked.is_some() => {
                tracing::warn!("the provider of identities says nothing of a person: {error}");
            }
            Err(error) => return Err(error),
        }
    }
    Ok(person)
}

/// The claims of the ID token, once its signature, issuer, audience, times and nonce are checked.
fn verified(
    shared: &Parts,
    client: &Client,
    tokens: &Tokens,
    nonce: Option<&Nonce>,
) -> Result<Claims, PortError> {
    let verifier = client.id_token_verifier();
    match checked(shared, verifier, tokens, nonce) {
        // The provider has a new key.
        Err(ClaimsVerificationError::SignatureVerification(
            SignatureVerificationError::NoMatchingKey,
        )) => {
            let client = shared.client(&*shared.metadata(MIN_KEPT)?, None)?;
            checked(shared, client.id_token_verifier(), tokens, nonce)
        }
        result => result,
    }
    .map_err(|error| denied(&format!("its ID token isn't good: {}", described(&error))))
}

fn checked(
    shared: &Parts,
    verifier: IdTokenVerifier<'_, CoreJsonWebKey>,
    tokens: &Tokens,
    nonce: Option<&Nonce>,
) -> Result<Claims, ClaimsVerificationError> {
    let now = shared.clock.now().0.div_euclid(1_000);
    let verifier = verifier
        .set_allowed_algs(ALGORITHMS)
        .set_issue_time_verifier_fn(move |issued| {
            let is_past = issued.timestamp() <= now.saturating_add(LEEWAY);
            is_past
                .then_some(())
                .ok_or_else(|| "it is from the future".to_owned())
        });
    let token = tokens.id_token().ok_or_else(|| {
        let none = "there is no ID token".to_owned();
        ClaimsVerificationError::Other(none)
    })?;
    let claims = match nonce {
        Some(nonce) => token.claims(&verifier, nonce),
        // An answer to a refresh token needn't have one.
        None => token.claims(&verifier, |_: Option<&Nonce>| Ok(())),
    }?;
    // The library leaves this to its callers.
    let party = claims.authorized_party().map(|party| party.as_str());
    if party.is_some_and(|party| party != shared.settings.client_id) {
        let why = "it was issued to another client".to_owned();
        return Err(ClaimsVerificationError::InvalidAudience(why));
    }
    Ok(claims.clone())
}

/// The claims that the provider has at its endpoint for them; `None` without such an endpoint.
fn user_info(
    shared: &Parts,
    client: Client,
    tokens: &Tokens,
    subject: &str,
) -> Result<Option<UserInfo>, PortError> {
    let token = tokens.access_token();
    // The library puts it in a header as it is.
    if !token.secret().bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(denied("its access token has the wrong form"));
    }
    let subject = SubjectIdentifier::new(subject.to_owned());
    let Ok(request) = client.user_info(token.clone(), Some(subject)) else {
        return Ok(None);
    };
    let answer = request.request(&shared.http);
    let failed = |error| PortError::Unavailable(described(&error));
    answer.map(Some).map_err(failed)
}

fn add(person: &mut ProviderPerson, more: &UserInfo, claim: &str) {
    if person.email.is_none() {
        person.email = more.email().map(|email| email.to_string());
        person.is_email_verified = more.email_verified();
    }
    let name = || more.preferred_username().map(|name| name.to_string());
    person.username = person.username.take().or_else(name);
    let groups = || groups(more.additional_claims(), claim);
    person.groups = person.groups.take().or_else(groups);
}

/// The groups in a claim: a list of texts, or one text.
fn groups(claims: &OtherClaims, claim: &str) -> Option<Vec<String>> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    match claims.all.get(claim)? {
        Value::Array(groups) => Some(groups.iter().take(MAX_GROUPS).filter_map(text).collect()),
        group => text(group).map(|group| vec![group]),
    }
}

fn denied(why: &str) -> PortError {
    PortError::Denied(why.to_owned())
}
