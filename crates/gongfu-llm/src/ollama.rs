//! The context of Ollama, which drops the beginning of a longer request without a word.
//!
//! genai can't ask for another context, so the one that Ollama chose is looked up. Knows nothing of answers.

use std::time::Duration;

use gongfu_core::port::ModelRequest;
use reqwest::{Client, Url};
use serde::Deserialize;

/// The time for the look.
const TIMEOUT: Duration = Duration::from_secs(5);
/// The longest list of models that is read, in bytes.
const MAX_LIST: usize = 256 * 1024;
/// The tokens that are left for an answer.
const ANSWER: u64 = 256;

#[derive(Deserialize)]
struct List {
    models: Vec<RunningModel>,
}

#[derive(Deserialize)]
struct RunningModel {
    name: String,
    context_length: Option<u64>,
}

/// Says that a request doesn't fit in the context of a model that is loaded; `None` where it fits, or where the server
/// doesn't say.
pub(crate) async fn overflow(
    web: &Client,
    base: &Url,
    key: Option<&str>,
    model: &str,
    request: &ModelRequest,
) -> Option<String> {
    let context = context(web, base, key, model).await?;
    // A token has some four bytes in most languages.
    let length = serde_json::to_vec(request).ok()?.len() / 4;
    let tokens = u64::try_from(length).ok()?;
    (tokens.saturating_add(ANSWER) > context).then(|| {
        format!(
            "reads {context} tokens, and this request has about {tokens}: it would drop the beginning without a word; \
             start Ollama with a larger OLLAMA_CONTEXT_LENGTH"
        )
    })
}

/// The context of a model that is loaded, in tokens.
async fn context(web: &Client, base: &Url, key: Option<&str>, model: &str) -> Option<u64> {
    let mut request = web.get(base.join("api/ps").ok()?).timeout(TIMEOUT);
    if let Some(key) = key {
        request = request.bearer_auth(key);
    }
    let mut response = request.send().await.ok()?;
    let mut body = Vec::new();
    while let Some(piece) = response.chunk().await.ok()? {
        body.extend_from_slice(&piece);
        if body.len() > MAX_LIST {
            return None;
        }
    }
    let list: List = serde_json::from_slice(&body).ok()?;
    let is_it = |name: &str| name == model || name.strip_suffix(":latest") == Some(model);
    let found = list.models.into_iter().find(|one| is_it(&one.name));
    found?.context_length
}
