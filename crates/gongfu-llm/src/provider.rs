//! The table of known providers, and the addresses of all.
//!
//! A provider that is compatible with another one is a row here, and no code.

use gongfu_core::port::{ModelError, ModelErrorKind};
use reqwest::Url;

use crate::settings::{Provider, ProviderKind};

/// A provider that needs no address in the settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownProvider {
    /// Its name.
    pub name: &'static str,
    /// The wire that it speaks.
    pub kind: ProviderKind,
    /// Its address.
    pub base_url: &'static str,
    /// The variables that hold a key, the first that is set counts.
    pub key_variables: &'static [&'static str],
    /// The variables that hold another address, the first that is set counts.
    pub url_variables: &'static [&'static str],
}

impl KnownProvider {
    /// Returns true if it runs on this machine, where no key is needed.
    pub fn is_local(&self) -> bool {
        self.base_url.starts_with("http://localhost")
    }
}

const fn row(
    name: &'static str,
    kind: ProviderKind,
    base_url: &'static str,
    key_variables: &'static [&'static str],
    url_variables: &'static [&'static str],
) -> KnownProvider {
    KnownProvider {
        name,
        kind,
        base_url,
        key_variables,
        url_variables,
    }
}

/// A provider that is compatible with `OpenAI`.
const fn compatible(
    name: &'static str,
    base_url: &'static str,
    key_variables: &'static [&'static str],
) -> KnownProvider {
    row(name, ProviderKind::OpenAi, base_url, key_variables, &[])
}

const KNOWN: &[KnownProvider] = &[
    row(
        "openai",
        ProviderKind::OpenAi,
        "https://api.openai.com/v1/",
        &["OPENAI_API_KEY"],
        &["OPENAI_BASE_URL"],
    ),
    row(
        "anthropic",
        ProviderKind::Anthropic,
        "https://api.anthropic.com/v1/",
        &["ANTHROPIC_API_KEY"],
        &["ANTHROPIC_BASE_URL"],
    ),
    row(
        "gemini",
        ProviderKind::Gemini,
        "https://generativelanguage.googleapis.com/v1beta/",
        &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
        &["GOOGLE_GEMINI_BASE_URL"],
    ),
    row(
        "ollama",
        ProviderKind::Ollama,
        "http://localhost:11434/",
        &[],
        &["OLLAMA_HOST"],
    ),
    compatible(
        "cerebras",
        "https://api.cerebras.ai/v1/",
        &["CEREBRAS_API_KEY"],
    ),
    compatible(
        "dashscope",
        "https://dashscope.aliyuncs.com/compatible-mode/v1/",
        &["DASHSCOPE_API_KEY"],
    ),
    compatible(
        "deepseek",
        "https://api.deepseek.com/v1/",
        &["DEEPSEEK_API_KEY"],
    ),
    compatible(
        "fireworks",
        "https://api.fireworks.ai/inference/v1/",
        &["FIREWORKS_API_KEY"],
    ),
    compatible("groq", "https://api.groq.com/openai/v1/", &["GROQ_API_KEY"]),
    compatible("llamacpp", "http://localhost:8080/v1/", &["LLAMA_API_KEY"]),
    compatible("lmstudio", "http://localhost:1234/v1/", &["LM_API_TOKEN"]),
    compatible(
        "mistral",
        "https://api.mistral.ai/v1/",
        &["MISTRAL_API_KEY"],
    ),
    compatible(
        "moonshot",
        "https://api.moonshot.cn/v1/",
        &["MOONSHOT_API_KEY"],
    ),
    compatible(
        "openrouter",
        "https://openrouter.ai/api/v1/",
        &["OPENROUTER_API_KEY"],
    ),
    compatible(
        "siliconflow",
        "https://api.siliconflow.cn/v1/",
        &["SILICONFLOW_API_KEY"],
    ),
    compatible(
        "together",
        "https://api.together.xyz/v1/",
        &["TOGETHER_API_KEY"],
    ),
    compatible("vllm", "http://localhost:8000/v1/", &["VLLM_API_KEY"]),
    compatible(
        "volcengine",
        "https://ark.cn-beijing.volces.com/api/v3/",
        &["ARK_API_KEY"],
    ),
    compatible("xai", "https://api.x.ai/v1/", &["XAI_API_KEY"]),
    compatible(
        "zhipu",
        "https://open.bigmodel.cn/api/paas/v4/",
        &["ZHIPU_API_KEY", "ZHIPUAI_API_KEY"],
    ),
];

/// All known providers, those with a wire of their own first.
pub fn known_providers() -> &'static [KnownProvider] {
    KNOWN
}

/// The known provider of this name.
pub fn known(name: &str) -> Option<&'static KnownProvider> {
    KNOWN.iter().find(|provider| provider.name == name)
}

/// The address of a provider, which ends in `/`.
///
/// # Errors
/// It has none, or one that can't be used; or it needs a key.
pub(crate) fn base_url(provider: &Provider) -> Result<Url, ModelError> {
    let name = &provider.name;
    let refused = |message: String| ModelError::new(ModelErrorKind::NotConfigured, message);
    let known = known(name);
    let Some(address) = &provider.base_url else {
        let Some(known) = known else {
            return Err(refused(format!(
                "provider {name:?} has no address: set its base URL"
            )));
        };
        if provider.key.is_none() && !known.is_local() {
            let variable = known.key_variables.first().copied().unwrap_or_default();
            return Err(refused(format!(
                "provider {name:?} has no key: set {variable}"
            )));
        }
        return parse(known.base_url, provider.kind).map_err(refused);
    };
    parse(address, provider.kind)
        .map_err(|wrong| refused(format!("the base URL of provider {name:?} {wrong}")))
}

/// Reads an address as the SDKs of each wire do: a host alone for Ollama, without the version for Anthropic and Gemini.
fn parse(address: &str, kind: ProviderKind) -> Result<Url, String> {
    let address = address.trim();
    let is_bare_host = kind == ProviderKind::Ollama && !address.contains("://");
    let parsed = if is_bare_host {
        Url::parse(&format!("http://{address}"))
    } else {
        Url::parse(address)
    };
    // Not repeated in the message: it may hold a password.
    let mut url = parsed.map_err(|error| format!("is not one: {error}"))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(format!(
            "starts with {:?}: only http and https can be used",
            url.scheme()
        ));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("holds a user or a password: set a key instead".to_owned());
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err("has a `?` or a `#`: end it with the path".to_owned());
    }
    let authority = address.split('/').next().unwrap_or_default();
    let has_port = authority
        .trim_end_matches(|letter: char| letter.is_ascii_digit())
        .ends_with(':');
    if is_bare_host && !has_port {
        // Can't fail: a host is there.
        let _ = url.set_port(Some(11434));
    }
    let mut path = url.path().trim_end_matches('/').to_owned();
    let version = match kind {
        ProviderKind::Anthropic => "/v1",
        ProviderKind::Gemini => "/v1beta",
        ProviderKind::OpenAi | ProviderKind::Ollama => "",
    };
    let has_version =
        path.ends_with(version) || kind == ProviderKind::Gemini && path.ends_with("/v1");
    if !has_version {
        path.push_str(version);
    }
    path.push('/');
    url.set_path(&path);
    Ok(url)
}

#[cfg(test)]
mod tests;
