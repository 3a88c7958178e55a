//! A call of a tool through a connection.

use std::time::Instant;

use gongfu_core::connection::Outcome;
use gongfu_core::port::{PortError, ServerAnswer, ServerCall};
use serde_json::Map;

use super::Link;
use super::turn::Turn;
use crate::call::CallError;
use crate::session::Session;
use crate::trouble::Trouble;

impl Link {
    /// Calls a tool.
    pub(crate) async fn call(&self, mut call: ServerCall) -> Result<ServerAnswer, PortError> {
        let pin = self.upstream.recent_pin().await?;
        let connection = self.connection();
        let pinned = pin.tools.get(&call.tool);
        let Some(pinned) = pinned.filter(|_| connection.wants(&call.tool)) else {
            return Err(PortError::NotFound);
        };
        self.upstream.covered(&pin)?;
        let turn = Turn::new(&self.calls).await;
        call.ask = self.asker(call.ask, &turn);
        let mut session = self.session().await?;
        if session.approved != pin.approved
            && self.offers(&session, &call.tool, &pinned.digest).is_err()
        {
            // Another definition was approved since it started, perhaps that of a newer server.
            self.replace(None);
            session = self.session().await?;
        }
        self.offers(&session, &call.tool, &pinned.digest)?;
        let mut answer = self.asked(&session, call.clone()).await;
        // Without a sign-in nothing was done.
        let is_unsigned = matches!(&answer, Err(CallError::Unanswered(why)) if why.is_of_sign_in());
        if is_unsigned && self.is_outdated(&session).await {
            self.replace(None);
            session = self.session().await?;
            self.offers(&session, &call.tool, &pinned.digest)?;
            answer = self.asked(&session, call).await;
        }
        match answer {
            Ok(answer) => Ok(answer),
            Err(CallError::Refused(why)) => Ok(ServerAnswer {
                content: vec![serde_json::json!({"type": "text", "text": why})],
                structured: None,
                is_error: true,
                meta: Map::new(),
            }),
            Err(CallError::Unanswered(trouble)) => {
                self.unsigned(&trouble).await;
                Err(self.upstream.told(trouble))
            }
        }
    }

    /// Refuses a tool that the server offers no more, or in another form than a person approved.
    fn offers(&self, session: &Session, tool: &str, digest: &str) -> Result<(), PortError> {
        let offered = session.offered.borrow().clone();
        let why = match offered.get(tool) {
            Some(now) if now.digest == digest => return Ok(()),
            Some(_) => {
                let since = self.upstream.advice("approve", "approved it");
                format!("its definition changed since {since}")
            }
            None => "its server doesn't offer it any more".to_owned(),
        };
        Err(PortError::Denied(why))
    }

    async fn asked(&self, session: &Session, call: ServerCall) -> Result<ServerAnswer, CallError> {
        self.touch();
        let started = Instant::now();
        let answer = session.call(call).await;
        self.touch();
        let outcome = match &answer {
            Err(CallError::Unanswered(
                Trouble::Token(_) | Trouble::Unreachable(_) | Trouble::Other(_),
            )) => Outcome::Failed,
            _ => Outcome::Answered(started.elapsed()),
        };
        self.update(|health| health.called(outcome));
        answer
    }

    /// Another client is signed in than when the session began.
    pub(super) async fn is_outdated(&self, session: &Session) -> bool {
        self.upstream.is_url() && self.upstream.sign_ins().client().await != session.client
    }
}
