//! The other servers of a space, as the port has them.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use gongfu_core::capability::Safety;
use gongfu_core::connection::ConnectionName;
use gongfu_core::port::{
    ConnectionStatus, Discovery, Pending, PortError, ServerAnswer, ServerCall, ServerContents,
    ServerReply, ServerRequest, ServerSkills, ServerTools, Servers, SignIn,
};
use tokio::sync::watch;

use crate::link::Link;
use crate::parts::{ConnectionEntry, ServerParts};
use crate::upstream::Upstream;

/// The time between two looks at what a person approved in another process.
const LOOK: Duration = Duration::from_secs(2);

/// A link, whose server ends with its last owner.
struct OwnedLink(Arc<Link>);

impl Drop for OwnedLink {
    fn drop(&mut self) {
        self.0.close();
    }
}

impl Deref for OwnedLink {
    type Target = Link;

    fn deref(&self) -> &Link {
        &self.0
    }
}

/// The other servers of a space. Each is started when it is first needed.
pub struct LocalServers {
    links: BTreeMap<ConnectionName, Arc<OwnedLink>>,
    default_safety: Safety,
    version: watch::Sender<u64>,
}

impl LocalServers {
    /// The servers of these connections. Those of the former ones that are declared as before go on.
    pub fn new(declared: Vec<ConnectionEntry>, parts: &ServerParts, former: Option<&Self>) -> Self {
        let version = former.map_or_else(|| watch::Sender::new(0), |one| one.version.clone());
        let links = declared.into_iter().map(|declared| {
            let name = declared.connection.name.clone();
            let kept = former.and_then(|former| former.links.get(&name));
            let kept = kept.filter(|link| *link.declared() == declared);
            let link = kept.map_or_else(
                || {
                    let upstream = Upstream::new(declared, parts.clone(), None);
                    Arc::new(OwnedLink(Link::new(Arc::new(upstream), version.clone())))
                },
                Arc::clone,
            );
            (name, link)
        });
        Self {
            links: links.collect(),
            default_safety: parts.default_safety,
            version,
        }
    }

    /// The servers of one space, with sessions of its own.
    pub(crate) fn of(all: impl IntoIterator<Item = Arc<Upstream>>, default_safety: Safety) -> Self {
        let version = watch::Sender::new(0);
        let links = all.into_iter().map(|upstream| {
            let name = upstream.connection().name.clone();
            let link = Link::new(upstream, version.clone());
            (name, Arc::new(OwnedLink(link)))
        });
        Self {
            links: links.collect(),
            default_safety,
            version,
        }
    }

    /// The number of changes so far.
    pub(crate) fn version(&self) -> u64 {
        *self.version.borrow()
    }

    /// Returns true if each client has a server of its own.
    pub(crate) fn is_own(&self, name: &ConnectionName) -> bool {
        let link = self.links.get(name);
        link.is_some_and(|link| !link.connection().is_shared)
    }

    /// Returns true if there is such a connection.
    pub(crate) fn has_own(&self) -> bool {
        self.links.values().any(|link| !link.connection().is_shared)
    }

    fn link(&self, name: &ConnectionName) -> Result<&Link, PortError> {
        let link = self.links.get(name).ok_or(PortError::NotFound)?;
        Ok(link)
    }
}

/// Waits for another number than this one.
async fn other(version: &mut watch::Receiver<u64>, since: u64) -> u64 {
    let waiting = version.wait_for(|version| *version != since);
    waiting.await.map_or(since, |version| *version)
}

impl Servers for LocalServers {
    fn statuses(&self) -> Pending<'_, Vec<ConnectionStatus>> {
        Box::pin(async move {
            let mut statuses = Vec::new();
            for link in self.links.values() {
                let status = link.status().await;
                statuses.push(status.unwrap_or_else(|error| link.broken(&error)));
            }
            Ok(statuses)
        })
    }

    fn tools(&self) -> Pending<'_, Vec<ServerTools>> {
        Box::pin(async move {
            let mut all = Vec::new();
            for (name, link) in &self.links {
                let definitions = match link.tools().await {
                    Ok(definitions) => definitions,
                    Err(error) => {
                        tracing::warn!(connection = %name, %error, "its tools are left out");
                        continue;
                    }
                };
                if !definitions.is_empty() {
                    all.push(ServerTools {
                        connection: name.clone(),
                        target: link.connection().target.digest(),
                        safety: link.connection().safety.unwrap_or(self.default_safety),
                        definitions,
                    });
                }
            }
            Ok(all)
        })
    }

    fn skills(&self) -> Pending<'_, Vec<ServerSkills>> {
        Box::pin(async move {
            let mut all = Vec::new();
            for (name, link) in &self.links {
                match link.skills().await {
                    Ok(skills) if skills.usable().next().is_some() => all.push(skills),
                    Ok(_) => {}
                    Err(error) => {
                        tracing::warn!(connection = %name, %error, "its skills are left out");
                    }
                }
            }
            Ok(all)
        })
    }

    fn fetch<'a>(&'a self, name: &'a ConnectionName, uri: &'a str) -> Pending<'a, Vec<u8>> {
        Box::pin(async move { self.link(name)?.fetch(uri).await })
    }

    fn contents(&self) -> Pending<'_, Vec<ServerContents>> {
        Box::pin(async move {
            let mut all = Vec::new();
            for (name, link) in &self.links {
                let content = match link.content().await {
                    Ok(content) => content,
                    Err(error) => {
                        tracing::warn!(connection = %name, %error, "its lists are left out");
                        continue;
                    }
                };
                if let Some(content) = content {
                    all.push(ServerContents {
                        connection: name.clone(),
                        target: link.connection().target.digest(),
                        safety: link.connection().safety.unwrap_or(self.default_safety),
                        content,
                    });
                }
            }
            Ok(all)
        })
    }

    fn request(&self, request: ServerRequest) -> Pending<'_, ServerReply> {
        Box::pin(async move { self.link(&request.connection)?.request(request).await })
    }

    fn changed(&self, since: u64) -> Pending<'_, u64> {
        Box::pin(async move {
            if self.links.is_empty() {
                std::future::pending::<()>().await;
            }
            let mut version = self.version.subscribe();
            loop {
                let waiting = other(&mut version, since);
                if let Ok(version) = tokio::time::timeout(LOOK, waiting).await {
                    return Ok(version);
                }
                for link in self.links.values() {
                    link.look().await;
                }
            }
        })
    }

    fn discover<'a>(&'a self, name: &'a ConnectionName) -> Pending<'a, Discovery> {
        Box::pin(async move { self.link(name)?.discover().await })
    }

    fn sign_in<'a>(
        &'a self,
        name: &'a ConnectionName,
        redirect: String,
    ) -> Pending<'a, Box<dyn SignIn>> {
        Box::pin(async move {
            let login = self.link(name)?.sign_in(redirect).await?;
            Ok(Box::new(login) as Box<dyn SignIn>)
        })
    }

    fn sign_out<'a>(&'a self, name: &'a ConnectionName) -> Pending<'a, bool> {
        Box::pin(async move { self.link(name)?.sign_out().await })
    }

    fn call(&self, call: ServerCall) -> Pending<'_, ServerAnswer> {
        Box::pin(async move { self.link(&call.connection)?.call(call).await })
    }
}
