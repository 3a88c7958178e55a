//! The prompts and resources of a server: listing them, and asking for one.

use std::time::Duration;

use gongfu_core::connection::{ServerContent, may_be_listed};
use gongfu_core::port::{ServerMethod, ServerReply, ServerRequest};
use rmcp::RoleClient;
use rmcp::model::{
    ClientRequest, CompleteRequest, GetPromptRequest, ListPromptsRequest,
    ListResourceTemplatesRequest, ListResourcesRequest, PaginatedRequestParams, Prompt,
    ReadResourceRequest, Resource, ResourceTemplate, ServerResult,
};
use rmcp::service::{Peer, ServiceError};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::request::{SentRequest, list_page};
use crate::session::Session;
use crate::trouble::{Trouble, words};

/// The time that a server may take for a list, and to give a prompt or a resource.
const LIST_TIMEOUT: Duration = Duration::from_secs(20);
const TIMEOUT: Duration = Duration::from_mins(1);
/// The limits of each list; what is beyond is left out.
const MAX_ENTRIES: usize = 5_000;
const MAX_PAGES: usize = 500;
/// The longest entry, and the most of all entries of a list together, in bytes of JSON.
const MAX_ENTRY: usize = 64 * 1024;
const MAX_LIST: usize = 4 * 1024 * 1024;

/// The entries of a list that fit.
#[derive(Default)]
struct EntryList {
    entries: Vec<Map<String, Value>>,
    bytes: usize,
}

impl EntryList {
    /// Adds an entry; false once there is no room.
    fn add(&mut self, entry: &Value) -> bool {
        let Value::Object(entry) = entry else {
            return true;
        };
        let bytes = serde_json::to_vec(entry).map_or(usize::MAX, |bytes| bytes.len());
        // The files of skills are read by what a person approved, and not as resources of their server.
        let mut uris = ["uri", "uriTemplate"]
            .iter()
            .filter_map(|field| entry.get(*field));
        let is_other = uris.any(|uri| !may_be_listed(uri.as_str().unwrap_or_default()));
        if bytes > MAX_ENTRY || is_other {
            return true;
        }
        if self.entries.len() >= MAX_ENTRIES || self.bytes + bytes > MAX_LIST {
            return false;
        }
        self.bytes += bytes;
        self.entries.push(entry.clone());
        true
    }
}

impl Session {
    /// Returns true if the server says that it has resources.
    pub(crate) fn has_resources(&self) -> bool {
        let info = self.service.peer_info();
        info.is_some_and(|info| info.capabilities.resources.is_some())
    }

    /// Returns true if the server says that it has prompts.
    pub(crate) fn has_prompts(&self) -> bool {
        let info = self.service.peer_info();
        info.is_some_and(|info| info.capabilities.prompts.is_some())
    }

    /// The prompts and resources that the server lists now. A list that can't be had is empty.
    pub(crate) async fn content(&self, target: String) -> ServerContent {
        let peer = self.service.peer();
        let of_prompts = self.has_prompts().then_some(peer);
        let of_resources = self.has_resources().then_some(peer);
        let prompts = listed::<Prompt>(of_prompts, "prompts", |page| {
            ClientRequest::ListPromptsRequest(ListPromptsRequest::with_param(page))
        });
        let resources = listed::<Resource>(of_resources, "resources", |page| {
            ClientRequest::ListResourcesRequest(ListResourcesRequest::with_param(page))
        });
        let templates = listed::<ResourceTemplate>(of_resources, "resourceTemplates", |page| {
            let request = ListResourceTemplatesRequest::with_param(page);
            ClientRequest::ListResourceTemplatesRequest(request)
        });
        let (prompts, resources, templates) = tokio::join!(prompts, resources, templates);
        ServerContent {
            target,
            prompts,
            resources,
            templates,
        }
    }

    /// Asks for a prompt or a resource.
    ///
    /// # Errors
    /// The server gives no answer.
    pub(crate) async fn ask(&self, request: ServerRequest) -> Result<ServerReply, Trouble> {
        let params = Value::Object(request.params);
        let request = match request.method {
            ServerMethod::GetPrompt => typed(params)
                .map(|params| ClientRequest::GetPromptRequest(GetPromptRequest::new(params))),
            ServerMethod::ReadResource => typed(params)
                .map(|params| ClientRequest::ReadResourceRequest(ReadResourceRequest::new(params))),
            ServerMethod::Complete => typed(params)
                .map(|params| ClientRequest::CompleteRequest(CompleteRequest::new(params))),
        };
        let request = match request {
            Ok(request) => request,
            Err(why) => return Ok(ServerReply::Refusal(why)),
        };
        let asking = async {
            let sent = SentRequest::new(self.service.peer(), request).await?;
            sent.answer().await
        };
        let result = match tokio::time::timeout(TIMEOUT, asking).await {
            Ok(Ok(ServerResult::GetPromptResult(result))) => serde_json::to_value(result),
            Ok(Ok(ServerResult::ReadResourceResult(result))) => serde_json::to_value(result),
            Ok(Ok(ServerResult::CompleteResult(result))) => serde_json::to_value(result),
            Ok(Ok(ServerResult::InputRequiredResult(_))) => {
                let why = "it asks a question first, which only a tool can do here";
                return Ok(ServerReply::Refusal(why.to_owned()));
            }
            Ok(Err(ServiceError::McpError(error))) => {
                return Ok(ServerReply::Refusal(words(&error.message)));
            }
            Ok(Err(error)) => return Err(self.failure(&error).await),
            Ok(Ok(_)) => {
                let why = "its answer is not that of the request";
                return Err(Trouble::Other(why.to_owned()));
            }
            Err(_) => return Err(Trouble::Other("it didn't answer in time".to_owned())),
        };
        let result = result.map_err(|error| Trouble::Other(error.to_string()))?;
        Ok(ServerReply::Result(result))
    }
}

fn typed<T: DeserializeOwned>(params: Value) -> Result<T, String> {
    serde_json::from_value(params).map_err(|error| error.to_string())
}

/// All entries of the list under `field`, as far as they fit; those before a failure, where there is one. None of a server
/// without such a list.
async fn listed<T: Serialize + DeserializeOwned>(
    peer: Option<&Peer<RoleClient>>,
    field: &str,
    request: fn(PaginatedRequestParams) -> ClientRequest,
) -> Vec<Map<String, Value>> {
    let Some(peer) = peer else {
        return Vec::new();
    };
    let mut list = EntryList::default();
    let mut cursor: Option<String> = None;
    let whole = async {
        for _ in 0..MAX_PAGES {
            let mut params = PaginatedRequestParams::default();
            params.cursor = cursor.take();
            let page = list_page::<T>(peer, request(params), field).await;
            let page = page.map_err(|error| error.to_string())?;
            let entries = page.entries.iter().map(serde_json::to_value);
            if !entries.flatten().all(|entry| list.add(&entry)) {
                return Err(format!(
                    "there are more than {MAX_ENTRIES}, or they are too long"
                ));
            }
            cursor = page.next;
            if cursor.is_none() {
                return Ok(());
            }
        }
        Err(format!("the list has more than {MAX_PAGES} pages"))
    };
    let whole = tokio::time::timeout(LIST_TIMEOUT, whole).await;
    let failure = match whole {
        Ok(Ok(())) => None,
        Ok(Err(why)) => Some(why),
        Err(_) => Some("it took too long".to_owned()),
    };
    if let Some(why) = failure {
        let why = words(&why);
        tracing::warn!("a server's list of {field} is incomplete: {why}");
    }
    list.entries
}
