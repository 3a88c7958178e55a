//! A connection: starts its server when it is needed, watches over it, and starts it again.

mod call;
mod content;
mod skill;
mod start;
mod supervision;
mod turn;

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use gongfu_core::connection::{
    Connection, ConnectionPin, Definition, Health, State, Target, Verdict,
};
use gongfu_core::port::{ConnectionStatus, Discovery, PortError};
use tokio::sync::{Semaphore, watch};

use self::content::LastContent;
use self::skill::{LastSkills, with_changed_skills};
use crate::parts::ConnectionEntry;
use crate::room::Guest;
use crate::session::Session;
use crate::sign_in::Login;
use crate::trouble::Trouble;
use crate::upstream::{News, Upstream};

/// The calls of one server at once; more wait.
const MAX_CALLS: usize = 32;

/// A connection of a space.
pub(crate) struct Link {
    upstream: Arc<Upstream>,
    health: Mutex<Health>,
    /// The session, while there is one.
    current: Mutex<Option<Arc<Session>>>,
    /// Held while a session is started: when that failed last, and why.
    starting: tokio::sync::Mutex<Option<(Instant, Trouble)>>,
    /// The time before which a dead server is not started again.
    pause: Mutex<Option<Instant>>,
    last_use: Mutex<Instant>,
    /// The time of the last connect.
    since: Mutex<Instant>,
    calls: Arc<Semaphore>,
    /// Counts what may change the tools that can be called.
    version: watch::Sender<u64>,
    /// All that decided which tools were listed last.
    seen: Mutex<Option<News>>,
    skills: Mutex<Option<LastSkills>>,
    content: Mutex<LastContent>,
    /// Held while prompts and resources are listed: when that ended last.
    listing: tokio::sync::Mutex<Option<Instant>>,
    this: Weak<Self>,
    closing: watch::Sender<bool>,
}

impl Link {
    pub(crate) fn new(upstream: Arc<Upstream>, version: watch::Sender<u64>) -> Arc<Self> {
        Arc::new_cyclic(|this| Self {
            upstream,
            health: Mutex::new(Health::new("it was not started yet")),
            current: Mutex::default(),
            starting: tokio::sync::Mutex::default(),
            pause: Mutex::default(),
            last_use: Mutex::new(Instant::now()),
            since: Mutex::new(Instant::now()),
            calls: Arc::new(Semaphore::new(MAX_CALLS)),
            version,
            seen: Mutex::default(),
            skills: Mutex::default(),
            content: Mutex::default(),
            listing: tokio::sync::Mutex::default(),
            this: this.clone(),
            closing: watch::Sender::new(false),
        })
    }

    pub(crate) fn connection(&self) -> &Connection {
        self.upstream.connection()
    }

    pub(crate) fn declared(&self) -> &ConnectionEntry {
        &self.upstream.declared
    }

    /// Ends its server for good.
    pub(crate) fn close(&self) {
        self.closing.send_replace(true);
    }

    fn health(&self) -> MutexGuard<'_, Health> {
        self.health.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes its health, and reports a change of its state.
    fn update<T>(&self, change: impl FnOnce(&mut Health) -> T) -> T {
        let mut health = self.health();
        let before = (health.state(), health.reason());
        let answer = change(&mut health);
        let after = (health.state(), health.reason());
        drop(health);
        if before != after {
            let (state, reason) = after;
            let name = &self.connection().name;
            tracing::info!(connection = %name, state = state.as_str(), reason, "its state changed");
            self.version.send_modify(|version| *version += 1);
        }
        answer
    }

    /// Notices what a person approved in another process.
    pub(crate) async fn look(&self) {
        // Both tell of what is new.
        let _ = self.skill_pin().await;
        let _ = self.noted_content().await;
        let Ok(now) = self.upstream.pin().await else {
            return;
        };
        if !self.is_news(&now) {
            return;
        }
        if !self.upstream.is_covered(&now) {
            self.replace(None);
            self.update(|health| health.stopped("it is not approved any more"));
        } else if let Some(session) = self.running() {
            let verdict = self.judge(&now, &session);
            self.update(|health| health.listed(&verdict));
        }
        self.version.send_modify(|version| *version += 1);
    }

    /// Returns true if other tools may be listed under a pin than were listed last; it counts as listed from now on.
    fn is_news(&self, pin: &Arc<ConnectionPin>) -> bool {
        let news = self.upstream.news(pin);
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.as_ref() == Some(&news) {
            return false;
        }
        seen.replace(news).is_some()
    }

    /// The connection and its state.
    pub(crate) async fn status(&self) -> Result<ConnectionStatus, PortError> {
        let pin = self.upstream.pin().await?;
        let is_approved = self.upstream.is_covered(&pin);
        let tools = self.usable(&pin);
        let skills = self.skill_pin().await?;
        let (state, reason) = with_changed_skills(self.state(&pin), &skills);
        let usable = skills.usable(&self.connection().target);
        let usable = usable.filter(|_| is_approved);
        let reason = match (is_approved, pin.target.is_empty()) {
            (true, _) => reason,
            (false, true) => Some("nobody has approved it yet".to_owned()),
            (false, false) => Some("it changed since it was approved".to_owned()),
        };
        Ok(ConnectionStatus {
            connection: self.connection().clone(),
            source: self.upstream.declared.source.clone(),
            state,
            reason,
            is_approved,
            tools: tools.into_iter().map(|tool| tool.name).collect(),
            skills: usable
                .map(|pinned| pinned.skill.name().to_owned())
                .collect(),
        })
    }

    /// The state of a connection whose approval can't be read: it has none.
    pub(crate) fn broken(&self, error: &PortError) -> ConnectionStatus {
        ConnectionStatus {
            connection: self.connection().clone(),
            source: self.upstream.declared.source.clone(),
            state: State::Dead,
            reason: Some(format!("its approval can't be read: {error}")),
            is_approved: false,
            tools: Vec::new(),
            skills: Vec::new(),
        }
    }

    /// Its state and why it isn't ready. Without a session of its own, others may have shown that definitions changed.
    fn state(&self, pin: &Arc<ConnectionPin>) -> (State, Option<String>) {
        let own = self.health();
        let own = (own.state(), own.reason());
        let verdict = self.upstream.verdict(pin);
        let Some(verdict) = verdict.filter(|_| own.0 == State::Init) else {
            return own;
        };
        let mut shown = Health::new("");
        shown.connected(&verdict);
        match shown.state() {
            State::Degraded => (State::Degraded, shown.reason()),
            _ => own,
        }
    }

    /// The definitions that can be called. The caller hears of it when a person approves something else.
    pub(crate) async fn tools(&self) -> Result<Vec<Definition>, PortError> {
        let pin = self.upstream.pin().await?;
        self.is_news(&pin);
        Ok(self.usable(&pin))
    }

    /// The definitions that a person approved and that the server, as far as that is known, still offers.
    fn usable(&self, pin: &Arc<ConnectionPin>) -> Vec<Definition> {
        if !self.upstream.is_covered(pin) || !self.health().is_usable() {
            return Vec::new();
        }
        let all = pin.definitions(self.connection()).cloned();
        let verdict = match self.running() {
            Some(session) => Some(self.judge(pin, &session)),
            None => self.upstream.verdict(pin),
        };
        match verdict {
            Some(verdict) => {
                let usable: HashSet<String> = verdict.usable.into_iter().collect();
                all.filter(|tool| usable.contains(&tool.name)).collect()
            }
            None => all.collect(),
        }
    }

    fn judge(&self, pin: &ConnectionPin, session: &Session) -> Verdict {
        let offered = session.offered.borrow().clone();
        pin.judge(self.connection(), offered.values())
    }

    fn current(&self) -> MutexGuard<'_, Option<Arc<Session>>> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The session that goes on, if any; doesn't wait for one that is being started.
    fn running(&self) -> Option<Arc<Session>> {
        let session = self.current().clone();
        session.filter(|session| !session.has_ended())
    }

    /// Sets the session; the one before ends with its last call.
    fn replace(&self, session: Option<Arc<Session>>) {
        let before = std::mem::replace(&mut *self.current(), session);
        if let Some(before) = before {
            before.release();
        }
    }

    /// Begins a sign-in.
    pub(crate) async fn sign_in(&self, redirect: String) -> Result<Login, PortError> {
        let Target::Url(url) = &self.connection().target else {
            let why = "it is a program, which needs no sign-in";
            return Err(PortError::Denied(why.to_owned()));
        };
        let pin = self.upstream.pin().await?;
        self.upstream.covered(&pin)?;
        let beginning = self.upstream.sign_ins().begin(url, redirect).await;
        beginning.map_err(PortError::Unavailable)
    }

    /// Forgets the sign-in.
    pub(crate) async fn sign_out(&self) -> Result<bool, PortError> {
        let removed = self.upstream.sign_ins().remove().await?;
        self.replace(None);
        Ok(removed)
    }

    /// Lists the tools of its server now.
    pub(crate) async fn discover(&self) -> Result<Discovery, PortError> {
        // A person asks: it needn't wait.
        *self.pause.lock().unwrap_or_else(PoisonError::into_inner) = None;
        let session = self.session().await?;
        self.touch();
        let pin = self.upstream.pin().await?;
        let verdict = self.judge(&pin, &session);
        // A person may have approved something since the last look.
        self.update(|health| health.listed(&verdict));
        let (skills, skill_verdict) = self.discover_skills(&session).await?;
        self.list_content(&session).await;
        let (server, protocol) = session.server();
        let offered = session.offered.borrow().clone();
        Ok(Discovery {
            offered: offered
                .values()
                .map(|tool| tool.definition.clone())
                .collect(),
            verdict,
            skills,
            skill_verdict,
            server,
            protocol,
        })
    }

    fn touch(&self) {
        *self.last_use.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// The time since it was last used.
    fn unused(&self) -> Duration {
        self.last_use
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .elapsed()
    }
}

impl Guest for Link {
    fn idle(&self) -> Option<Duration> {
        (!self.is_busy()).then(|| self.unused())
    }

    fn leave(&self) {
        self.replace(None);
        self.update(|health| health.stopped("it made room for others; a call starts it"));
    }
}
