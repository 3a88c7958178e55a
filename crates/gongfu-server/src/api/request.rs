//! From a request to an endpoint's input, and back to a response.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::RequestExt as _;
use axum::body::{Body, Bytes};
use axum::extract::{RawPathParams, Request};
use axum::response::{IntoResponse as _, Response};
use futures_util::StreamExt as _;
use gongfu_core::registry::{Credential, Identity};
use gongfu_core::skill::Digest;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, Method, Uri};
use serde_json::{Map, Value};

use super::context::Context;
use super::endpoint::{Access, Endpoint, RequestBody};
use super::idempotency::Start;
use super::schema::{self, TypeSchema};
use super::skill::IDEMPOTENCY_KEY;
use super::{Api, credential, json, team_access};
use crate::problem::{FieldError, Problem};
use crate::rate::RetryAfter;
use crate::state::AppState;

/// The longest body of somebody without a credential.
const MAX_PUBLIC: usize = 16 * 1024;
/// The longest body with fields.
const MAX_FIELDS: usize = 4 * 1024 * 1024;
/// The longest body with the arguments of a tool, which has a limit of its own.
const MAX_WHOLE: usize = 8 * 1024 * 1024;
/// The time that a client has for a body, and for a long one.
const BODY_TIME: Duration = Duration::from_secs(30);
const LONG_BODY_TIME: Duration = Duration::from_mins(5);

/// Answers a request of an endpoint.
pub(super) async fn answer<E: Endpoint>(
    state: AppState,
    api: Arc<Api>,
    places: Arc<Places>,
    request: Request,
) -> Response {
    match respond::<E>(&state, api, &places, request).await {
        Ok(response) => response,
        Err(problem) => state.problem(problem).into_response(),
    }
}

async fn respond<E: Endpoint>(
    state: &AppState,
    api: Arc<Api>,
    places: &Places,
    mut request: Request,
) -> Result<Response, Problem> {
    let identity = authorised::<E>(&api, request.headers(), request.uri()).await?;
    let path = request.extract_parts::<RawPathParams>().await;
    let path = path.map_err(|_| Problem::Malformed("the path isn't UTF-8".to_owned()))?;
    let team = match (E::TEAM, &identity, &api.parts.accounts) {
        (Some(role), Some(identity), Some(server)) if places.is_for_team => {
            let accounts = &server.accounts;
            let named = path
                .iter()
                .find(|(name, _)| *name == team_access::PARAMETER);
            let id = named.map(|(_, id)| id).unwrap_or_default();
            let team = team_access::of(accounts, id, &identity.user, role).await?;
            Some(team.id)
        }
        _ => None,
    };
    let (parts, body) = request.into_parts();
    let _permit = match E::BODY {
        RequestBody::Bytes(_) | RequestBody::Form(_) => {
            let permit = api.uploads.try_acquire();
            Some(permit.map_err(|_| Problem::RateLimited(RetryAfter(1)))?)
        }
        RequestBody::Fields | RequestBody::Whole(_) => None,
    };
    let (input, digest, bytes) = read::<E>(places, &path, &parts.uri, &parts.headers, body).await?;
    let address: IpAddr = state.client_address(&parts.extensions, &parts.headers);
    let context = Context {
        api: Arc::clone(&api),
        identity,
        team,
        address,
        headers: parts.headers,
        body: bytes,
    };
    let start = if E::HEADERS.contains(&IDEMPOTENCY_KEY) {
        api.idempotency.start(&context, E::NAME, digest)?
    } else {
        None
    };
    if let Some(Start::Answered(response)) = start {
        return Ok(response);
    }
    let response = input.answer(&context).await?.into_response(E::SUCCESS)?;
    match start {
        Some(Start::First(turn)) => turn.remember(response).await,
        _ => Ok(context.watched(response)),
    }
}

/// The identity of a caller who may call the endpoint now; `None` where everybody may, and without accounts, where others
/// than the server's user are refused before.
async fn authorised<E: Endpoint>(
    api: &Api,
    headers: &HeaderMap,
    uri: &Uri,
) -> Result<Option<Arc<Identity>>, Problem> {
    let Some(server) = &api.parts.accounts else {
        return Ok(None);
    };
    if E::ACCESS == Access::Public {
        return Ok(None);
    }
    let identity = credential::identify(&server.accounts, headers, uri, &[api.issuer()]).await?;
    credential::check(E::ACCESS, &identity)?;
    let (Credential::ApiToken(id) | Credential::SignIn(id)) = &identity.credential;
    let allowed = server.rates.request_allowed(id);
    allowed.map_err(Problem::RateLimited)?;
    Ok(Some(identity))
}

/// The input of an endpoint, its digest, and the body where that is no JSON.
async fn read<E: Endpoint>(
    places: &Places,
    path: &RawPathParams,
    uri: &Uri,
    headers: &HeaderMap,
    body: Body,
) -> Result<(E, Digest, Bytes), Problem> {
    let mut input = Map::new();
    let (mut errors, mut bytes) = (Vec::new(), Bytes::new());
    match E::BODY {
        RequestBody::Fields if places.body.is_empty() => {}
        RequestBody::Fields => {
            let limit = if E::ACCESS == Access::Public {
                MAX_PUBLIC
            } else {
                MAX_FIELDS
            };
            let object = read_json(headers, body, limit).await?;
            errors.extend(
                object
                    .keys()
                    .filter(|name| places.is_elsewhere(name))
                    .map(|name| FieldError::new(name, "it belongs to the path or the query")),
            );
            input = object;
        }
        RequestBody::Whole(field) => {
            let object = read_json(headers, body, MAX_WHOLE).await?;
            input.insert(field.to_owned(), Value::Object(object));
        }
        RequestBody::Bytes(limit) | RequestBody::Form(limit) => {
            bytes = read_body(body, limit, LONG_BODY_TIME).await?;
        }
    }
    let known = |name: &str| places.path.iter().any(|known| known == name);
    for (name, value) in path.iter().filter(|(name, _)| known(name)) {
        input.insert(name.to_owned(), Value::String(value.to_owned()));
    }
    read_query(places, uri, &mut input, &mut errors);
    errors.extend(schema::check(&places.schema.schema, &input));
    if !errors.is_empty() {
        return Err(Problem::Invalid(errors));
    }
    let text = serde_json::to_vec(&input).map_err(|_| Problem::Fault)?;
    let digest = Digest::of(&text);
    let input = serde_path_to_error::deserialize(Value::Object(input)).map_err(|error| {
        let field = error.path().to_string();
        let field = if field == "." { String::new() } else { field };
        Problem::field(&field, error.into_inner().to_string())
    })?;
    Ok((input, digest, bytes))
}

/// The places of an input's fields.
pub(super) struct Places {
    pub(super) schema: TypeSchema,
    pub(super) path: Vec<String>,
    pub(super) query: Vec<String>,
    pub(super) body: Vec<String>,
    /// True where the path names a team, too.
    is_for_team: bool,
}

impl Places {
    /// The same for requests that name a team.
    pub(super) fn for_team(self) -> Self {
        Self {
            is_for_team: true,
            ..self
        }
    }

    fn is_elsewhere(&self, name: &str) -> bool {
        self.path
            .iter()
            .chain(&self.query)
            .any(|known| known == name)
    }
}

/// The places of the fields of an endpoint's input.
pub(super) fn places<E: Endpoint>() -> Places {
    let schema = schema::of::<E>();
    let (mut path, mut query, mut body) = (Vec::new(), Vec::new(), Vec::new());
    for (name, _) in schema::properties(&schema.schema) {
        let is_in_path =
            E::PATH.contains(&format!("{{{name}}}")) || E::PATH.contains(&format!("{{*{name}}}"));
        let place = if is_in_path {
            &mut path
        } else if E::METHOD == Method::GET || E::QUERY.contains(&name) {
            &mut query
        } else {
            &mut body
        };
        place.push(name.to_owned());
    }
    Places {
        schema,
        path,
        query,
        body,
        is_for_team: false,
    }
}

/// Adds the query to an input: each name once, numbers and truth values as their fields have them.
fn read_query(
    places: &Places,
    uri: &Uri,
    input: &mut Map<String, Value>,
    errors: &mut Vec<FieldError>,
) {
    let query = uri.query().unwrap_or_default();
    let mut seen: Vec<String> = Vec::new();
    for (name, text) in form_urlencoded::parse(query.as_bytes()) {
        if !places.query.iter().any(|known| *known == name) {
            let known = places.query.join(", ");
            let name = gongfu_core::text::clipped(&name, 64, char::REPLACEMENT_CHARACTER);
            let why = format!("there is no such parameter; the parameters are: {known}");
            errors.push(FieldError::new(name, why));
            continue;
        }
        if seen.iter().any(|seen| *seen == name) {
            errors.push(FieldError::new(name, "it is there twice"));
            continue;
        }
        let mut properties = schema::properties(&places.schema.schema);
        let property = properties.find(|(known, _)| *known == name);
        let types = property
            .and_then(|(_, property)| property.as_object())
            .map(schema::types)
            .unwrap_or_default();
        let value = if types.contains(&"integer") {
            text.parse::<u64>()
                .map_or_else(|_| text.as_ref().into(), Value::from)
        } else if types.contains(&"boolean") {
            text.parse::<bool>()
                .map_or_else(|_| text.as_ref().into(), Value::from)
        } else {
            Value::String(text.into_owned())
        };
        seen.push(name.clone().into_owned());
        input.insert(name.into_owned(), value);
    }
}

async fn read_json(
    headers: &HeaderMap,
    body: Body,
    limit: usize,
) -> Result<Map<String, Value>, Problem> {
    let wanted = || Problem::MediaType("a JSON object as `Content-Type: application/json`");
    let media_type = headers.get(CONTENT_TYPE);
    if let Some(media_type) = media_type
        && !is_json(media_type.to_str().unwrap_or_default())
    {
        return Err(wanted());
    }
    let bytes = read_body(body, limit, BODY_TIME).await?;
    if media_type.is_none() {
        // Fields that may all be missing need no body.
        return if bytes.is_empty() {
            Ok(Map::new())
        } else {
            Err(wanted())
        };
    }
    json::object(&bytes).map_err(Problem::Malformed)
}

/// Returns true for JSON in UTF-8.
fn is_json(media_type: &str) -> bool {
    let mut parts = media_type.split(';').map(str::trim);
    let essence = parts.next().unwrap_or_default();
    essence.eq_ignore_ascii_case("application/json")
        && parts.all(|parameter| match parameter.split_once('=') {
            Some((name, value)) if name.trim().eq_ignore_ascii_case("charset") => {
                value.trim().trim_matches('"').eq_ignore_ascii_case("utf-8")
            }
            _ => true,
        })
}

/// A whole body.
async fn read_body(body: Body, limit: usize, time: Duration) -> Result<Bytes, Problem> {
    let reading = async {
        let mut stream = body.into_data_stream();
        let mut all = Vec::new();
        while let Some(piece) = stream.next().await {
            let broken = |_| Problem::Malformed("the body can't be read to its end".to_owned());
            let piece = piece.map_err(broken)?;
            if all.len() + piece.len() > limit {
                return Err(Problem::TooLarge(limit));
            }
            all.extend_from_slice(&piece);
        }
        Ok(Bytes::from(all))
    };
    let read = tokio::time::timeout(time, reading).await;
    read.unwrap_or(Err(Problem::BodySlow))
}
