//! The skills of a connection: those that a person approved, and the end of an approval.

use std::sync::{Arc, PoisonError};

use gongfu_core::connection::{SkillOffer, SkillPin, SkillVerdict, State};
use gongfu_core::pin;
use gongfu_core::port::{PortError, ServerSkills, Version};
use gongfu_core::skill::Digest;

use super::Link;
use crate::session::Session;

/// The skills that a reason names.
const NAMED: usize = 3;

/// The approval that was read last.
#[derive(Clone)]
pub(super) struct LastSkills {
    pin: Arc<SkillPin>,
    version: Option<Version>,
}

impl Link {
    /// The approval of its skills, as it is now; the same one while nothing changed.
    pub(super) async fn skill_pin(&self) -> Result<Arc<SkillPin>, PortError> {
        let known = self.last_skills();
        let version = known.as_ref().and_then(|last| last.version);
        let (records, name) = (&*self.upstream.parts.records, &self.connection().name);
        let newer = pin::read_newer_skills(records, name, version.as_ref()).await?;
        let (pin, version) = match (newer, &known) {
            // Without a record nothing says that it is the same.
            (Some((pin, version)), Some(last)) if pin == *last.pin => {
                (Arc::clone(&last.pin), version)
            }
            (Some((pin, version)), _) => (Arc::new(pin), version),
            (None, Some(last)) => return Ok(Arc::clone(&last.pin)),
            (None, None) => (Arc::default(), None),
        };
        let is_news = known.is_some_and(|last| !Arc::ptr_eq(&last.pin, &pin));
        let mut last = self.skills.lock().unwrap_or_else(PoisonError::into_inner);
        *last = Some(LastSkills {
            pin: Arc::clone(&pin),
            version,
        });
        drop(last);
        if is_news {
            self.version.send_modify(|version| *version += 1);
        }
        Ok(pin)
    }

    fn last_skills(&self) -> Option<LastSkills> {
        let last = self.skills.lock().unwrap_or_else(PoisonError::into_inner);
        last.clone()
    }

    /// Its skills that a person approved.
    pub(crate) async fn skills(&self) -> Result<ServerSkills, PortError> {
        let connection = self.connection();
        Ok(ServerSkills {
            connection: connection.name.clone(),
            target: connection.target.clone(),
            pin: self.skill_pin().await?,
        })
    }

    /// Notes that the skills of its server may have changed.
    pub(super) async fn skills_changed(&self, session: &Session) {
        // Users get no skills of servers: a session of theirs ends no approval.
        if self.upstream.room.is_some() {
            return;
        }
        session.forget_skills().await;
        match self.skill_pin().await {
            Ok(pin) if pin.skills.is_empty() => {}
            _ => drop(self.compare(session).await),
        }
    }

    /// The skills that the server offers. An approval of something else has ended.
    async fn compare(&self, session: &Session) -> Arc<SkillOffer> {
        let (offer, is_new) = session.skills().await;
        let name = &self.connection().name;
        if let Some(why) = &offer.failure {
            tracing::warn!(connection = %name, "its skills can't be listed: {why}");
        } else if is_new {
            let ending = pin::end_skills(&*self.upstream.parts.records, name, &offer.skills);
            match ending.await {
                Ok(true) => {
                    tracing::info!(connection = %name, "skills changed since they were approved");
                    self.version.send_modify(|version| *version += 1);
                }
                Ok(false) => {}
                Err(error) => {
                    tracing::warn!(connection = %name, %error, "an approval can't be ended");
                }
            }
        }
        offer
    }

    /// The skills that the server offers now, beside the approved ones.
    pub(super) async fn discover_skills(
        &self,
        session: &Session,
    ) -> Result<(SkillOffer, SkillVerdict), PortError> {
        session.forget_skills().await;
        let offer = self.compare(session).await;
        let verdict = match &offer.failure {
            Some(_) => SkillVerdict::default(),
            None => self.skill_pin().await?.judge(&offer.skills),
        };
        Ok(((*offer).clone(), verdict))
    }

    /// Fetches a file of a skill that a person approved, and that the server still offers like that.
    pub(crate) async fn fetch(&self, uri: &str) -> Result<Vec<u8>, PortError> {
        self.approved(uri).await?;
        let _permit = self.calls.acquire().await;
        let session = self.session().await?;
        self.touch();
        self.compare(&session).await;
        let digest = self.approved(uri).await?;
        let fetched = session.fetch(uri).await;
        self.touch();
        match fetched {
            Ok(bytes) => {
                if Digest::of(&bytes).to_string() != digest {
                    // The caller refuses it. The server may have forgotten to say that the skill changed.
                    self.skills_changed(&session).await;
                }
                Ok(bytes)
            }
            Err(trouble) => {
                self.unsigned(&trouble).await;
                Err(trouble.into())
            }
        }
    }

    /// The digest of a file of a skill that a person approved; refuses any other.
    async fn approved(&self, uri: &str) -> Result<String, PortError> {
        let pin = self.skill_pin().await?;
        let mut skills = pin.usable(&self.connection().target);
        let digest = skills.find_map(|pinned| {
            let skill = &pinned.skill;
            let mut files = skill.files.iter();
            let file = files.find(|file| skill.uri_of(file) == uri)?;
            Some(file.digest.clone())
        });
        digest.ok_or_else(|| {
            let name = &self.connection().name;
            PortError::Denied(format!(
                "it changed since a person approved it: gongfu connection approve {name}"
            ))
        })
    }
}

/// The state of a connection and its reason, with the skills that changed since a person approved them.
pub(super) fn with_changed_skills(
    (mut state, reason): (State, Option<String>),
    pin: &SkillPin,
) -> (State, Option<String>) {
    let names = pin.ended().take(NAMED + 1);
    let mut names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
    if names.is_empty() {
        return (state, reason);
    }
    if names.len() > NAMED {
        names.truncate(NAMED);
        names.push("others".to_owned());
    }
    if state == State::Ready {
        state = State::Degraded;
    }
    let names = names.join(", ");
    let changed = format!("since you approved them, it changed the skills {names}");
    let reasons: Vec<String> = reason.into_iter().chain([changed]).collect();
    (state, Some(reasons.join("; ")))
}
