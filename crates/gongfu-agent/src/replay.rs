//! Replay: the loop runs again with the answers and results of the log, without a model and without effects.
//!
//! Instructions, tools and instructions of skills are read as they are now, so that a change of them is named.

use gongfu_core::account::Actor;
use gongfu_core::agent::replay::{Divergence, divergence};
use gongfu_core::agent::{Effect, Entry, EntryEvent, LoggedDigest, PlannedCall, Session};
use gongfu_hub::{Call, Events, ToolError};

use crate::agent::Agent;
use crate::calling::Calling;
use crate::turn;

/// A replay of a log.
pub(crate) struct Replay<'a> {
    pub(crate) agent: &'a Agent,
    pub(crate) call: &'a Call,
    pub(crate) actor: Actor,
}

impl Replay<'_> {
    /// The first difference; `None` where the replay is equal to the log.
    pub(crate) async fn run(&self, entries: &[Entry]) -> Result<Option<Divergence>, ToolError> {
        let mut session = Session::default();
        for entry in entries {
            let event = match self.event(&session, entry).await {
                Ok(event) => event,
                Err(what) => {
                    return Ok(Some(Divergence { n: entry.n, what }));
                }
            };
            let replayed = Entry {
                event,
                ..entry.clone()
            };
            let difference = divergence(entry, &replayed);
            if difference.is_some() {
                return Ok(difference);
            }
            if let Err(error) = session.apply(entry) {
                let what = error.to_string();
                return Ok(Some(Divergence { n: entry.n, what }));
            }
        }
        Ok(None)
    }

    /// The event that happens now where the log has this entry; a text where the loop does something else.
    async fn event(&self, session: &Session, entry: &Entry) -> Result<EntryEvent, String> {
        let next = session.next(session.tokens());
        Ok(match (&entry.event, next) {
            (EntryEvent::Asking { model, .. }, Effect::Ask { last }) => {
                // The log doesn't say whether the model called tools itself; its instructions do.
                let by_text = self.asking(session, model, false, last).await;
                if by_text == entry.event {
                    by_text
                } else {
                    self.asking(session, model, true, last).await
                }
            }
            (EntryEvent::Answered { answer, .. }, _) => {
                let mut event = entry.event.clone();
                if let EntryEvent::Answered { digest, .. } = &mut event {
                    *digest = LoggedDigest::of_json(answer);
                }
                event
            }
            (EntryEvent::Calling { id, .. }, Effect::Call(calls)) => {
                let call = planned(&calls, id)?;
                turn::calling(self.agent, &self.actor, call)
            }
            (EntryEvent::Called { id, .. }, Effect::Call(calls)) => {
                self.called(planned(&calls, id)?, &entry.event).await
            }
            (EntryEvent::Finished { .. }, Effect::Finish(event))
            | (EntryEvent::Compacted { .. }, Effect::Compact(event)) => event,
            // The person asked for it between two turns, or the conversation was too long for the model.
            (EntryEvent::Compacted { .. }, Effect::Wait | Effect::Ask { .. }) => session
                .compaction()
                .ok_or_else(|| "there is nothing to summarise here".to_owned())?,
            (
                EntryEvent::Started { .. }
                | EntryEvent::History { .. }
                | EntryEvent::Prompt { .. }
                | EntryEvent::Failed { .. }
                | EntryEvent::Interrupted,
                _,
            ) => entry.event.clone(),
            (
                EntryEvent::Asking { .. }
                | EntryEvent::Calling { .. }
                | EntryEvent::Called { .. }
                | EntryEvent::Finished { .. }
                | EntryEvent::Compacted { .. },
                next,
            ) => {
                return Err(format!(
                    "the replay takes a different path here: {}",
                    name(&next)
                ));
            }
        })
    }

    async fn asking(
        &self,
        session: &Session,
        model: &str,
        calls_tools: bool,
        last: bool,
    ) -> EntryEvent {
        let request = turn::request(self.agent, &self.actor, session, calls_tools, last).await;
        Session::asking(model, &request, last)
    }

    /// The end of a call: that of the log, but what loads a skill is called again.
    async fn called(&self, call: &PlannedCall, recorded: &EntryEvent) -> EntryEvent {
        let mut event = recorded.clone();
        let EntryEvent::Called {
            text,
            digest,
            skill,
            status,
            ..
        } = &mut event
        else {
            return event;
        };
        if skill.is_some() {
            let calling = Calling {
                catalog: &self.agent.catalog,
                actor: &self.actor,
                parent: self.call.id,
                call,
                events: Events::default(),
                cancel: self.call.cancel.child_token(),
                is_replay: true,
            };
            *text = calling.run().await.text;
        }
        *digest = LoggedDigest::of_result(*status, text);
        event
    }
}

fn planned<'a>(calls: &'a [PlannedCall], id: &str) -> Result<&'a PlannedCall, String> {
    let mut calls = calls.iter();
    let found = calls.find(|call| call.id == id);
    found.ok_or_else(|| format!("the model's answer has no call `{id}`"))
}

fn name(effect: &Effect) -> &'static str {
    match effect {
        Effect::Wait => "the turn is at its end",
        Effect::Compact(_) => "the conversation would be summarised",
        Effect::Ask { .. } => "the model would be asked",
        Effect::Call(_) => "tools would be called",
        Effect::Finish(_) => "the turn would end",
    }
}
