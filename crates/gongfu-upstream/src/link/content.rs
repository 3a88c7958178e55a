//! The prompts and resources of a connection, as its server listed them last.

use std::sync::{Arc, PoisonError};
use std::time::Instant;

use gongfu_core::connection::ServerContent;
use gongfu_core::pin;
use gongfu_core::port::{PortError, ServerReply, ServerRequest, Version};

use super::Link;
use super::turn::Turn;
use crate::session::Session;

/// The lists that are known.
#[derive(Clone, Default)]
pub(super) struct LastContent {
    /// Those of the record.
    noted: Arc<ServerContent>,
    version: Option<Version>,
    is_read: bool,
    /// Those of the user's own session, where users share the record.
    own: Option<Arc<ServerContent>>,
}

impl Link {
    fn last_content(&self) -> LastContent {
        let last = self.content.lock().unwrap_or_else(PoisonError::into_inner);
        last.clone()
    }

    /// The lists of the record, as it is now.
    pub(super) async fn noted_content(&self) -> Result<Arc<ServerContent>, PortError> {
        let known = self.last_content();
        let (records, name) = (&*self.upstream.parts.records, &self.connection().name);
        let newer = pin::read_newer_content(records, name, known.version.as_ref()).await?;
        let Some((content, version)) = newer else {
            return Ok(known.noted);
        };
        let is_news = content != *known.noted;
        let noted = if is_news {
            Arc::new(content)
        } else {
            known.noted
        };
        let mut last = self.content.lock().unwrap_or_else(PoisonError::into_inner);
        last.noted = Arc::clone(&noted);
        last.version = version;
        let was_read = std::mem::replace(&mut last.is_read, true);
        drop(last);
        if is_news && was_read {
            self.version.send_modify(|version| *version += 1);
        }
        Ok(noted)
    }

    /// The prompts and resources of an approved connection whose server has such lists; `None` for another one.
    pub(crate) async fn content(&self) -> Result<Option<Arc<ServerContent>>, PortError> {
        let pin = self.upstream.pin().await?;
        if !self.upstream.is_covered(&pin) {
            return Ok(None);
        }
        let noted = self.noted_content().await?;
        let content = self.last_content().own.unwrap_or(noted);
        Ok((content.target == pin.target).then_some(content))
    }

    /// Lists the prompts and resources of its server now, and notes them.
    pub(super) async fn list_content(&self, session: &Session) {
        if !session.has_prompts() && !session.has_resources() {
            return;
        }
        let asked = Instant::now();
        let mut listed = self.listing.lock().await;
        // Those who wait for one listing share it.
        if listed.is_some_and(|listed| listed > asked) {
            return;
        }
        let target = self.connection().target.digest().to_string();
        let content = Box::pin(session.content(target)).await;
        *listed = Some(Instant::now());
        drop(listed);
        if self.upstream.room.is_some() {
            // A user's session may list the user's own things.
            let mut last = self.content.lock().unwrap_or_else(PoisonError::into_inner);
            let is_news = last.own.as_deref() != Some(&content);
            last.own = Some(Arc::new(content));
            drop(last);
            if is_news {
                self.version.send_modify(|version| *version += 1);
            }
            return;
        }
        let (records, name) = (&*self.upstream.parts.records, &self.connection().name);
        let noted = match self.noted_content().await {
            Ok(known) if *known == content => Ok(()),
            _ => pin::note_content(records, name, &content).await,
        };
        if let Err(error) = noted {
            tracing::warn!(connection = %name, %error, "its prompts and resources can't be noted");
        }
        // A change is told by that.
        let _ = self.noted_content().await;
    }

    /// Asks its server for a prompt or a resource.
    pub(crate) async fn request(&self, request: ServerRequest) -> Result<ServerReply, PortError> {
        let pin = self.upstream.recent_pin().await?;
        self.upstream.covered(&pin)?;
        let _turn = Turn::new(&self.calls).await;
        let mut session = self.session().await?;
        self.touch();
        let mut reply = session.ask(request.clone()).await;
        // Without a sign-in nothing was done.
        let is_unsigned = matches!(&reply, Err(trouble) if trouble.is_of_sign_in());
        if is_unsigned && self.is_outdated(&session).await {
            self.replace(None);
            session = self.session().await?;
            reply = session.ask(request).await;
        }
        self.touch();
        match reply {
            Ok(reply) => Ok(reply),
            Err(trouble) => {
                self.unsigned(&trouble).await;
                Err(self.upstream.told(trouble))
            }
        }
    }
}
