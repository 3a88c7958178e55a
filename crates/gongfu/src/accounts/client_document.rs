//! Fetches the documents by which MCP clients describe themselves.
//!
//! The URL comes from a stranger. So only public addresses are connected to, checked as they were resolved; the operator
//! may name hosts for which that doesn't count. No redirect is followed, and no proxy asked.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use gongfu_core::port::{
    ClientDocuments, Clock, MAX_CLIENT_DOCUMENT, Pending, PortError, Timestamp,
};
use gongfu_core::skill::SkillPath;
use gongfu_files::disk::Root;
use gongfu_import::fetch::PublicAddresses;
use tokio::sync::Semaphore;
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};
use ureq::unversioned::transport::DefaultConnector;
use ureq::{Agent, Error};

/// The time that a document may take.
const TIMEOUT: Duration = Duration::from_secs(5);
/// The time for which a document is kept, in milliseconds.
const KEPT: i64 = 5 * 60 * 1_000;
/// The most documents that are kept.
const MAX_KEPT: usize = 256;
/// The most documents that are fetched at once.
const MAX_FETCHING: usize = 4;
/// The longest file of certificates, in bytes.
const MAX_CERTIFICATES: u64 = 4 * 1024 * 1024;

/// Fetches documents over `https`.
pub(crate) struct HttpsDocuments {
    agent: Agent,
    kept: Mutex<HashMap<String, (Timestamp, Vec<u8>)>>,
    fetching: Semaphore,
    clock: Arc<dyn Clock>,
}

impl HttpsDocuments {
    /// Documents at public addresses, and those of these hosts at any. The certificates of a file count in place of the
    /// usual ones.
    ///
    /// # Errors
    /// The file has no certificate, or can't be read.
    pub(crate) fn new(
        hosts: &[String],
        certificates: Option<&Path>,
        clock: Arc<dyn Clock>,
    ) -> anyhow::Result<Self> {
        let config = Agent::config_builder()
            .tls_config(tls(certificates)?)
            .timeout_global(Some(TIMEOUT))
            .http_status_as_error(false)
            .https_only(true)
            .max_redirects(0)
            .proxy(None)
            .build();
        let resolver = PublicAddresses::and(hosts);
        Ok(Self {
            agent: Agent::with_parts(config, DefaultConnector::default(), resolver),
            kept: Mutex::default(),
            fetching: Semaphore::new(MAX_FETCHING),
            clock,
        })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, (Timestamp, Vec<u8>)>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn document(&self, url: &str) -> Result<Vec<u8>, PortError> {
        let now = self.clock.now();
        if let Some((at, document)) = self.lock().get(url)
            && (0..KEPT).contains(&now.0.saturating_sub(at.0))
        {
            return Ok(document.clone());
        }
        let permit = self.fetching.acquire().await;
        let _permit = permit.map_err(|error| PortError::Other(error.into()))?;
        let (agent, wanted) = (self.agent.clone(), url.to_owned());
        let fetched = tokio::task::spawn_blocking(move || fetch(&agent, &wanted)).await;
        let document = fetched.map_err(|error| PortError::Other(error.into()))?;
        let document = document.map_err(PortError::Denied)?;
        let mut kept = self.lock();
        if kept.len() >= MAX_KEPT {
            kept.retain(|_, (at, _)| now.0.saturating_sub(at.0) < KEPT);
        }
        if kept.len() < MAX_KEPT {
            kept.insert(url.to_owned(), (now, document.clone()));
        }
        Ok(document)
    }
}

impl ClientDocuments for HttpsDocuments {
    fn fetch<'a>(&'a self, url: &'a str) -> Pending<'a, Vec<u8>> {
        Box::pin(self.document(url))
    }
}

fn fetch(agent: &Agent, url: &str) -> Result<Vec<u8>, String> {
    let response = agent.get(url).header("accept", "application/json").call();
    let mut response = response.map_err(|error| match error {
        Error::HostNotFound => "its host has no public address".to_owned(),
        error => format!("it can't be fetched: {error}"),
    })?;
    if response.status() != 200 {
        return Err(format!("its server answers {}", response.status()));
    }
    let kind = response.headers().get("content-type");
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    if kind != "application/json" && !kind.ends_with("+json") {
        return Err("it isn't JSON by its content type".to_owned());
    }
    let limit = u64::try_from(MAX_CLIENT_DOCUMENT).unwrap_or(u64::MAX);
    let body = response.body_mut().with_config().limit(limit).read_to_vec();
    body.map_err(|error| format!("it can't be read: {error}"))
}

/// The settings of TLS: the certificates of a file count in place of the usual ones.
///
/// # Errors
/// The file has no certificate, or can't be read.
pub(crate) fn tls(certificates: Option<&Path>) -> anyhow::Result<TlsConfig> {
    let roots = match certificates {
        Some(file) => RootCerts::from(read_certificates(file)?),
        None => RootCerts::WebPki,
    };
    Ok(TlsConfig::builder().root_certs(roots).build())
}

fn read_certificates(file: &Path) -> anyhow::Result<Vec<Certificate<'static>>> {
    let (Some(folder), Some(name)) = (file.parent(), file.file_name()) else {
        anyhow::bail!("{} is not a file of certificates", file.display());
    };
    let name = SkillPath::new(&name.to_string_lossy())?;
    let text = Root::open(folder)?.read(&name, MAX_CERTIFICATES)?.bytes;
    let certificates: Vec<Certificate<'static>> = parse_pem(&text)
        .filter_map(|item| match item {
            Ok(PemItem::Certificate(certificate)) => Some(certificate),
            _ => None,
        })
        .collect();
    anyhow::ensure!(
        !certificates.is_empty(),
        "{} has no certificate",
        file.display()
    );
    Ok(certificates)
}
