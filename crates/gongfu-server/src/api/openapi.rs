//! The documentation of the API for programs: OpenAPI 3.1, made from the list of endpoints.

use std::collections::BTreeMap;

use gongfu_core::account::TeamRole;
use http::StatusCode;
use serde_json::{Map, Value, json};

use super::endpoint::{Access, ReplyBody, RequestBody};
use super::skill::IDEMPOTENCY_KEY;
use super::{Entry, openai, schema, team_access};
use crate::problem::ProblemDocument;

const PROBLEM: &str = "application/problem+json";

/// The document about a server at a URL.
pub(super) fn document(entries: &[Entry], url: &str) -> Value {
    let mut paths: BTreeMap<String, Map<String, Value>> = BTreeMap::new();
    for entry in entries {
        let methods = paths.entry(entry.path.replace("{*", "{")).or_default();
        methods.insert(entry.method.as_str().to_lowercase(), operation(entry));
    }
    let shared = SHARED.into_iter();
    let shared: Map<String, Value> = shared
        .map(|(status, codes)| (shared_name(status), refusal(status, codes)))
        .collect();
    json!({
        "openapi": "3.1.0",
        "jsonSchemaDialect": "https://json-schema.org/draft/2020-12/schema",
        "info": {
            "title": "gongfu",
            "description": "Agent Skills of a server with accounts: find, read, change and run them. Tools are the same as over MCP.",
            "version": env!("CARGO_PKG_VERSION"),
            "license": { "name": "Apache-2.0", "identifier": "Apache-2.0" },
        },
        "servers": [{ "url": url.trim_end_matches('/') }],
        "paths": paths,
        "components": {
            "responses": shared,
            "schemas": {
                "Problem": schema::of_reply::<ProblemDocument>().schema,
                "Error": schema::of_reply::<openai::refusal::ErrorBody>().schema,
            },
            "securitySchemes": {
                "person": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "The access token of a sign-in (`auth_login`), for everything.",
                },
                "token": {
                    "type": "http",
                    "scheme": "bearer",
                    "bearerFormat": "ask_live_",
                    "description": "An API token (`token_create`), for skills and tools within its scopes.",
                },
            },
        },
    })
}

fn operation(entry: &Entry) -> Value {
    let input = &entry.places.schema;
    let (summary, rest) = input
        .description
        .split_once("\n\n")
        .unwrap_or((&input.description, ""));
    let about = about_access(entry.access);
    let description = match entry.team {
        Some(TeamRole::Member) => format!("{about} For the members of a team.\n\n{rest}"),
        Some(TeamRole::Maintainer) => {
            format!("{about} For the maintainers of a team.\n\n{rest}")
        }
        None => format!("{about}\n\n{rest}"),
    };
    let mut operation = json!({
        "operationId": entry.name,
        "tags": [entry.family],
        "summary": summary.trim_end_matches('.'),
        "description": description.trim(),
        "security": security(entry.access),
        "parameters": parameters(entry),
        "responses": responses(entry),
    });
    if let Some(body) = request_body(entry)
        && let Some(operation) = operation.as_object_mut()
    {
        operation.insert("requestBody".to_owned(), body);
    }
    operation
}

fn about_access(access: Access) -> String {
    match access {
        Access::Public => "For everybody.".to_owned(),
        Access::Credential => "For every credential.".to_owned(),
        Access::Scopes(scopes) => {
            let names: Vec<&str> = scopes.iter().map(|scope| scope.as_str()).collect();
            format!("For credentials with the scope {}.", names.join(", "))
        }
        Access::Person => "For signed-in people; no API token.".to_owned(),
        Access::Admin => "For signed-in admins; no API token.".to_owned(),
    }
}

fn security(access: Access) -> Value {
    match access {
        Access::Public => json!([]),
        Access::Person | Access::Admin => json!([{ "person": [] }]),
        Access::Credential => json!([{ "person": [] }, { "token": [] }]),
        Access::Scopes(scopes) => {
            let names: Vec<&str> = scopes.iter().map(|scope| scope.as_str()).collect();
            json!([{ "person": names }, { "token": names }])
        }
    }
}

/// The schema of a field, and its description beside it.
fn field(entry: &Entry, name: &str) -> (Value, Option<String>) {
    let mut properties = schema::properties(&entry.places.schema.schema);
    let mut schema = properties
        .find(|(known, _)| *known == name)
        .map_or(Value::Null, |(_, schema)| schema.clone());
    let description = schema.as_object_mut().and_then(|schema| {
        // A parameter that is missing isn't null.
        if let Some(Value::Array(types)) = schema.get_mut("type") {
            types.retain(|name| name != "null");
            if let [only] = types.as_slice() {
                let only = only.clone();
                schema.insert("type".to_owned(), only);
            }
        }
        if let Some(Value::Array(choices)) = schema.get_mut("enum") {
            choices.retain(|choice| !choice.is_null());
        }
        schema.remove("description")
    });
    let description = description.and_then(|text| text.as_str().map(str::to_owned));
    (schema, description)
}

fn parameters(entry: &Entry) -> Vec<Value> {
    let required: Vec<&str> = schema::required(&entry.places.schema.schema).collect();
    let place = |names: &[String], place: &str| -> Vec<Value> {
        let names = names.iter();
        names
            .map(|name| {
                let (schema, description) = field(entry, name);
                json!({
                    "name": name,
                    "in": place,
                    "required": required.contains(&name.as_str()),
                    "description": description,
                    "schema": schema,
                })
            })
            .collect()
    };
    let mut all = place(&entry.places.path, "path");
    if entry.team.is_some() {
        all.push(json!({
            "name": team_access::PARAMETER,
            "in": "path",
            "required": true,
            "description": "The id of the team.",
            "schema": { "type": "string", "minLength": 1, "maxLength": 64 },
        }));
    }
    all.extend(place(&entry.places.query, "query"));
    all.extend(entry.headers.iter().map(|name| {
        json!({
            "name": name,
            "in": "header",
            "required": false,
            "schema": header(name),
        })
    }));
    all
}

/// The schema of a header.
fn header(name: &str) -> Value {
    if name == IDEMPOTENCY_KEY {
        json!({ "type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]([ -~]*[!-~])?$" })
    } else {
        json!({ "type": "string" })
    }
}

fn request_body(entry: &Entry) -> Option<Value> {
    let content = match entry.body {
        RequestBody::Fields if entry.places.body.is_empty() => return None,
        RequestBody::Fields => {
            let mut schema = entry.places.schema.schema.clone();
            let is_elsewhere = |name: &String| !entry.places.body.contains(name);
            if let Some(Value::Object(properties)) = schema.get_mut("properties") {
                properties.retain(|name, _| !is_elsewhere(name));
            }
            if let Some(Value::Array(required)) = schema.get_mut("required") {
                required.retain(|name| entry.places.body.iter().any(|known| name == known));
            }
            json!({ "application/json": { "schema": schema } })
        }
        RequestBody::Whole(name) => {
            let (schema, _) = field(entry, name);
            json!({ "application/json": { "schema": schema, "example": {} } })
        }
        RequestBody::Bytes(_) => json!({
            "application/octet-stream": { "schema": { "type": "string", "format": "binary" } },
        }),
        RequestBody::Form(_) => json!({
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "properties": {
                        "skill_id": { "type": "string" },
                        "file": { "type": "string", "format": "binary" },
                    },
                    "required": ["file"],
                    "additionalProperties": false,
                },
            },
        }),
    };
    // Fields that may all be missing need no body.
    let mut required = schema::required(&entry.places.schema.schema);
    let is_required = match entry.body {
        RequestBody::Fields => required.any(|name| entry.places.body.iter().any(|at| at == name)),
        RequestBody::Whole(_) | RequestBody::Bytes(_) => false,
        RequestBody::Form(_) => true,
    };
    Some(json!({ "required": is_required, "content": content }))
}

/// The codes of the refusals that many endpoints share, by status.
const SHARED: [(u16, &[&str]); 10] = [
    (400, &["BAD_REQUEST", "HOST_MALFORMED"]),
    (
        401,
        &[
            "UNAUTHORIZED",
            "INVALID_TOKEN_FORMAT",
            "TOKEN_NOT_FOUND",
            "TOKEN_EXPIRED",
            "TOKEN_REVOKED",
            "INVALID_TOKEN_TYPE",
            "INVALID_TOKEN",
        ],
    ),
    (403, &["HOST_UNKNOWN", "ORIGIN_FOREIGN", "FORBIDDEN"]),
    (408, &["REQUEST_TIMEOUT"]),
    (413, &["PAYLOAD_TOO_LARGE"]),
    (415, &["UNSUPPORTED_MEDIA_TYPE"]),
    (422, &["VALIDATION_ERROR"]),
    (429, &["RATE_LIMIT_EXCEEDED"]),
    (500, &["INTERNAL_SERVER_ERROR"]),
    (503, &["UNAVAILABLE"]),
];

/// The codes of the refusals of an endpoint, by status.
fn refusals(entry: &Entry) -> BTreeMap<u16, Vec<&'static str>> {
    let has_body = match entry.body {
        RequestBody::Fields => !entry.places.body.is_empty(),
        _ => true,
    };
    let has_media_type = has_body && !matches!(entry.body, RequestBody::Bytes(_));
    let follows = |status: u16| match status {
        401 | 429 => entry.access != Access::Public,
        408 | 413 => has_body,
        415 => has_media_type,
        _ => true,
    };
    let shared = SHARED.into_iter().filter(|(status, _)| follows(*status));
    let own = entry.refusals.iter();
    let own = own.map(|refusal| (refusal.status, refusal.codes));
    let mut all: BTreeMap<u16, Vec<&'static str>> = BTreeMap::new();
    let team = entry.team.map(|_| (404, ["NOT_FOUND"].as_slice()));
    for (status, codes) in shared.chain(own).chain(team) {
        let known = all.entry(status).or_default();
        for code in codes {
            if !known.contains(code) {
                known.push(code);
            }
        }
    }
    all
}

/// A refusal with one of these codes.
fn refusal(status: u16, codes: &[&str]) -> Value {
    with_schema(status, codes, PROBLEM, "Problem")
}

/// The same with a document of another type.
fn with_schema(status: u16, codes: &[&str], media_type: &str, schema: &str) -> Value {
    let reference = json!({ "$ref": format!("#/components/schemas/{schema}") });
    json!({
        "description": format!("{}: {}", reason(status), codes.join(", ")),
        "content": { media_type: { "schema": reference } },
    })
}

/// The refusals of an endpoint for clients of OpenAI's API, with the statuses that these know.
fn openai_refusals(entry: &Entry) -> Map<String, Value> {
    let mut all: BTreeMap<u16, Vec<&'static str>> = BTreeMap::new();
    for (status, codes) in refusals(entry) {
        for code in codes {
            let status = openai::refusal::known_status(status, code);
            all.entry(status).or_default().push(code);
        }
    }
    let all = all.into_iter();
    all.map(|(status, codes)| {
        let refusal = with_schema(status, &codes, "application/json", "Error");
        (status.to_string(), refusal)
    })
    .collect()
}

/// The name of a shared refusal.
fn shared_name(status: u16) -> String {
    format!("Refusal{status}")
}

fn responses(entry: &Entry) -> Map<String, Value> {
    let mut responses = Map::new();
    for status in &entry.success {
        let mut response = json!({ "description": reason(*status) });
        let content = match entry.reply {
            ReplyBody::Nothing => None,
            ReplyBody::Json => Some(json!({
                "application/json": { "schema": entry.reply_schema.schema },
            })),
            ReplyBody::JsonOrEvents => Some(json!({
                "application/json": { "schema": entry.reply_schema.schema },
                "text/event-stream": { "schema": { "type": "string" } },
            })),
            ReplyBody::File => Some(json!({
                "*/*": { "schema": { "type": "string", "format": "binary" } },
            })),
        };
        if let (Some(content), Some(response)) = (content, response.as_object_mut()) {
            response.insert("content".to_owned(), content);
        }
        responses.insert(status.to_string(), response);
    }
    if openai::refusal::is_for(&entry.path) {
        responses.extend(openai_refusals(entry));
        return responses;
    }
    for (status, codes) in refusals(entry) {
        let response = if SHARED.contains(&(status, codes.as_slice())) {
            let name = shared_name(status);
            json!({ "$ref": format!("#/components/responses/{name}") })
        } else {
            refusal(status, &codes)
        };
        responses.insert(status.to_string(), response);
    }
    responses
}

fn reason(status: u16) -> &'static str {
    let status = StatusCode::from_u16(status).ok();
    status
        .and_then(|status| status.canonical_reason())
        .unwrap_or("Error")
}
