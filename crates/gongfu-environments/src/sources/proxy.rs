//! The proxy behind which the operator's machine is: gongfu's setting, variables, or files of the installers.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gongfu_core::network::{Bypass, Proxies, ProxyServer, Secret};

use crate::url;

/// The operator's proxies, as settings and variables name them.
#[derive(Clone, Default)]
pub struct ProxySettings {
    /// The setting of gongfu; empty for no proxy at all.
    pub setting: Option<String>,
    /// `HTTPS_PROXY`.
    pub https: Option<String>,
    /// `HTTP_PROXY`.
    pub http: Option<String>,
    /// `ALL_PROXY`.
    pub all: Option<String>,
    /// `NO_PROXY`.
    pub none: Option<String>,
}

impl fmt::Debug for ProxySettings {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // URLs may hold passwords.
        let mut shown = formatter.debug_struct("ProxySettings");
        shown.field("none", &self.none).finish_non_exhaustive()
    }
}

impl ProxySettings {
    /// The proxies, unless nothing is said of any.
    ///
    /// # Errors
    /// A URL isn't one of a proxy; the text doesn't repeat it, because it may hold a password.
    pub(super) fn proxies(&self) -> Result<Option<Proxies>, String> {
        if let Some(url) = &self.setting {
            let one = server(url, "`proxy` below `[dependencies]`")?;
            return Ok(Some(self.with_bypasses(one.clone(), one)));
        }
        let of = |url: &Option<String>, name| match (url, &self.all) {
            (Some(url), _) => server(url, name),
            (None, Some(url)) => server(url, "`ALL_PROXY`"),
            (None, None) => Ok(None),
        };
        let https = of(&self.https, "`HTTPS_PROXY`")?;
        let http = of(&self.http, "`HTTP_PROXY`")?;
        if https.is_none() && http.is_none() {
            return Ok(None);
        }
        Ok(Some(self.with_bypasses(https, http)))
    }

    /// These proxies, with the hosts that are reached without one.
    pub(super) fn with_bypasses(
        &self,
        https: Option<ProxyServer>,
        http: Option<ProxyServer>,
    ) -> Proxies {
        Proxies {
            https,
            http,
            bypasses: Bypass::list(self.none.as_deref().unwrap_or_default()),
        }
    }
}

/// The proxy at a URL; `None` for an empty one.
///
/// # Errors
/// It isn't one by HTTP.
pub(super) fn server(url: &str, name: &str) -> Result<Option<ProxyServer>, String> {
    let url = url.trim();
    if url.is_empty() {
        return Ok(None);
    }
    let wrong = |why: &str| {
        format!(
            "the proxy in {name} {why}; write http://host:port or http://user:password@host:port, there or as `proxy` below `[dependencies]` in the settings"
        )
    };
    let url = match url.split_once("://") {
        None => format!("http://{url}"),
        Some(("http", _)) => url.to_owned(),
        Some(_) => return Err(wrong("doesn't use http")),
    };
    let (endpoint, _) = url::endpoint(&url).map_err(|why| wrong(&why))?;
    let authorization = url::login(&url).map(|(user, password)| {
        let password = password.unwrap_or_default();
        let login = format!("{}:{}", url::decoded(user), url::decoded(password));
        Secret::new(format!("Basic {}", STANDARD.encode(login)))
    });
    Ok(Some(ProxyServer {
        endpoint,
        authorization,
    }))
}
