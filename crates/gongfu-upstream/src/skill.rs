//! The skills of a server (SEP-2640): listing them, fetching their files.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gongfu_core::connection::{SkillList, SkillOffer};
use gongfu_core::port::PortError;
use rmcp::model::{
    ClientRequest, ListSkillsRequest, PaginatedRequestParams, ReadResourceRequestParams,
    ResourceContents,
};
use rmcp::service::ServiceError;
use serde_json::Value;

use crate::request::list_page;
use crate::session::Session;
use crate::trouble::{Trouble, words};

/// The time that a server may take to list its skills, and to answer with a file.
const TIMEOUT: Duration = Duration::from_mins(1);
/// The limits of a list of skills.
const MAX_SKILLS: usize = 20_000;
const MAX_PAGES: usize = 2_000;

impl Session {
    /// The skills that the server offers, listed once; and whether that was just now.
    pub(crate) async fn skills(&self) -> (Arc<SkillOffer>, bool) {
        let mut known = self.offered_skills.lock().await;
        if let Some(offer) = &*known {
            return (Arc::clone(offer), false);
        }
        let listing = tokio::time::timeout(TIMEOUT, self.all_skills());
        let offer = match listing.await {
            Ok(Ok(offer)) => offer,
            Ok(Err(trouble)) => SkillOffer::failed(PortError::from(trouble).to_string()),
            Err(_) => SkillOffer::failed("it didn't list its skills in time".to_owned()),
        };
        let offer = Arc::new(offer);
        *known = Some(Arc::clone(&offer));
        (offer, true)
    }

    /// Makes the next question list the skills again.
    pub(crate) async fn forget_skills(&self) {
        *self.offered_skills.lock().await = None;
    }

    /// Returns true if the server says that it offers skills.
    pub(crate) fn has_skills(&self) -> bool {
        let info = self.service.peer_info();
        info.is_some_and(|info| info.capabilities.supports_skills())
    }

    async fn all_skills(&self) -> Result<SkillOffer, Trouble> {
        let mut list = SkillList::default();
        if !self.has_skills() {
            return Ok(list.into_offer());
        }
        let mut cursor: Option<String> = None;
        for _ in 0..MAX_PAGES {
            let mut page = PaginatedRequestParams::default();
            page.cursor = cursor.take();
            let request = ClientRequest::ListSkillsRequest(ListSkillsRequest::with_param(page));
            let listed = match list_page::<Value>(self.service.peer(), request, "skills").await {
                Ok(listed) => listed,
                Err(error) => return Err(self.failure(&error).await),
            };
            for skill in &listed.entries {
                list.add(skill);
            }
            if list.len() > MAX_SKILLS {
                let why = format!("it offers more than {MAX_SKILLS} skills");
                return Err(Trouble::Other(why));
            }
            cursor = listed.next;
            if cursor.is_none() {
                return Ok(list.into_offer());
            }
        }
        let why = format!("its list of skills has more than {MAX_PAGES} pages");
        Err(Trouble::Other(why))
    }

    /// Reads a resource.
    pub(crate) async fn fetch(&self, uri: &str) -> Result<Vec<u8>, Trouble> {
        let params = ReadResourceRequestParams::new(uri);
        let reading = self.service.peer().read_resource(params);
        let contents = match tokio::time::timeout(TIMEOUT, reading).await {
            Ok(Ok(read)) => read.contents,
            Ok(Err(ServiceError::McpError(error))) => {
                let why = format!("it refuses {uri}: {}", words(&error.message));
                return Err(Trouble::Other(why));
            }
            Ok(Err(error)) => return Err(self.failure(&error).await),
            Err(_) => {
                return Err(Trouble::Other(format!(
                    "it didn't answer with {uri} in time"
                )));
            }
        };
        let [content] = &contents[..] else {
            let why = format!("it answers {} contents for {uri}", contents.len());
            return Err(Trouble::Other(why));
        };
        match content {
            ResourceContents::TextResourceContents { text, .. } => Ok(text.clone().into_bytes()),
            ResourceContents::BlobResourceContents { blob, .. } => STANDARD
                .decode(blob)
                .map_err(|_| Trouble::Other(format!("its answer for {uri} is not base64"))),
            _ => Err(Trouble::Other(format!(
                "its answer for {uri} is not a file"
            ))),
        }
    }
}
