//! A connection: starts its server when it is needed, watches over it, and starts it again.

mod content;
mod skill;

use std::collections::HashSet;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use gongfu_core::connection::{
    Connection, ConnectionPin, Definition, Health, Outcome, State, Target, Verdict,
};
use gongfu_core::port::{ConnectionStatus, Discovery, PortError, ServerAnswer, ServerCall};
use serde_json::Map;
use tokio::sync::{Semaphore, watch};
use tokio::time::sleep;

use self::content::LastContent;
use self::skill::{LastSkills, with_changed_skills};
use crate::call::CallError;
use crate::room::{Guest, Place};
use crate::session::Session;
use crate::sign_in::Login;
use crate::trouble::Trouble;
use crate::upstream::{News, Upstream};

/// The time between two probes of a server that is not used.
const PROBE_INTERVAL: Duration = Duration::from_secs(30);
/// The time after which a server is stopped that nobody used.
const IDLE: Duration = Duration::from_mins(10);
/// The calls of one server at once; more wait.
const MAX_CALLS: usize = 32;
/// The longest pause that a call waits for.
const WORTH_WAITING: Duration = Duration::from_secs(2);
/// The pause before a server is tried again that stays dead.
const GIVEN_UP: Duration = Duration::from_mins(1);

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
    calls: Semaphore,
    /// Counts what may change the tools that can be called.
    version: watch::Sender<u64>,
    /// All that decided which tools were listed last.
    seen: Mutex<Option<News>>,
    skills: Mutex<Option<LastSkills>>,
    content: Mutex<LastContent>,
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
            calls: Semaphore::new(MAX_CALLS),
            version,
            seen: Mutex::default(),
            skills: Mutex::default(),
            content: Mutex::default(),
            this: this.clone(),
            closing: watch::Sender::new(false),
        })
    }

    pub(crate) fn connection(&self) -> &Connection {
        self.upstream.connection()
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

    /// The session, which is started where it isn't there.
    ///
    /// # Errors
    /// Nobody approved it, or it doesn't work.
    async fn session(&self) -> Result<Arc<Session>, PortError> {
        if let Some(session) = self.running() {
            return Ok(session);
        }
        let asked = Instant::now();
        let mut failed = self.starting.lock().await;
        if let Some(session) = self.running() {
            return Ok(session);
        }
        // Those who wait for one start share its outcome.
        if let Some((_, trouble)) = failed.as_ref().filter(|(when, _)| *when > asked) {
            return Err(self.upstream.told(trouble.clone()));
        }
        self.replace(None);
        let pin = self.upstream.pin().await?;
        self.upstream.covered(&pin)?;
        self.pause().await?;
        let place = self.place()?;
        self.update(Health::starting);
        match self.start().await {
            Ok(session) => {
                let session = session.placed(place, pin.approved);
                self.upstream.note(&pin, &session.offered.borrow());
                self.is_news(&pin);
                let session = Arc::new(session);
                let verdict = self.judge(&pin, &session);
                *self.since.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
                // Set before the change is reported: the tools are listed by it.
                self.replace(Some(Arc::clone(&session)));
                self.update(|health| health.connected(&verdict));
                if let Some(this) = self.this.upgrade() {
                    tokio::spawn(watch_over(this, Arc::clone(&session)));
                }
                Ok(session)
            }
            Err(trouble) => {
                if !self.unsigned(&trouble).await {
                    self.lost(PortError::from(trouble.clone()).to_string());
                }
                *failed = Some((Instant::now(), trouble.clone()));
                Err(self.upstream.told(trouble))
            }
        }
    }

    /// A place for a session, where users share the room.
    fn place(&self) -> Result<Option<Place>, PortError> {
        let Some(room) = &self.upstream.room else {
            return Ok(None);
        };
        let this = Weak::<Self>::clone(&self.this);
        let place = room.take(this).ok_or_else(|| {
            let why = "too many users have sessions with servers now; try again in a moment";
            PortError::Unavailable(why.to_owned())
        });
        place.map(Some)
    }

    async fn start(&self) -> Result<Session, Trouble> {
        let mut closing = self.closing.subscribe();
        let starting = async {
            let connection = self.connection();
            match &connection.target {
                Target::Program(program) => {
                    let processes = &*self.upstream.parts.processes;
                    let spec = self.upstream.spec(program);
                    Session::of_program(processes, spec, connection.name.to_string()).await
                }
                Target::Url(url) => Session::of_url(url, &self.upstream.sign_ins()).await,
            }
        };
        tokio::select! {
            started = starting => started,
            () = closed(&mut closing) => Err(Trouble::Other("it was stopped".to_owned())),
        }
    }

    /// Notes that a person must sign in, where that is the trouble. Nothing is tried again before the next call.
    async fn unsigned(&self, trouble: &Trouble) -> bool {
        match trouble {
            Trouble::SignIn(challenge) => self.upstream.sign_ins().challenged(challenge).await,
            Trouble::Scope(scopes) => self.upstream.sign_ins().want(scopes).await,
            Trouble::Token(_) | Trouble::Unreachable(_) | Trouble::Other(_) => return false,
        }
        self.replace(None);
        let reason = self.upstream.advice("login", "must sign in");
        self.update(|health| health.stopped(&reason));
        true
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

    /// Waits until a server that has ended may be started again, where that is soon.
    ///
    /// # Errors
    /// It is not.
    async fn pause(&self) -> Result<(), PortError> {
        let until = *self.pause.lock().unwrap_or_else(PoisonError::into_inner);
        match until.and_then(|until| until.checked_duration_since(Instant::now())) {
            Some(left) if left > WORTH_WAITING => {
                let why = Trouble::Other(self.health().reason().unwrap_or_default());
                let why = self.upstream.told(why);
                let seconds = left.as_secs() + 1;
                Err(PortError::Unavailable(format!(
                    "{why}; it is tried again in {seconds} s"
                )))
            }
            Some(left) => {
                sleep(left).await;
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Notes that its server ended or could not be started, and lets it be started again after a pause.
    fn lost(&self, why: String) {
        let since = *self.since.lock().unwrap_or_else(PoisonError::into_inner);
        let pause = self.update(|health| health.ended(why, since.elapsed(), jitter()));
        // Its tools are hidden while it is dead, so no call would bring it back.
        let pause = pause.unwrap_or(GIVEN_UP);
        let until = Instant::now() + pause;
        *self.pause.lock().unwrap_or_else(PoisonError::into_inner) = Some(until);
        // The tools that users share stay listed, so a call starts it.
        let Some(this) = self.this.upgrade().filter(|_| self.upstream.room.is_none()) else {
            return;
        };
        let restarting: Pin<Box<dyn Future<Output = ()> + Send>> = Box::pin(async move {
            let mut closing = this.closing.subscribe();
            tokio::select! {
                () = sleep(pause) => {}
                () = closed(&mut closing) => return,
            }
            // If it fails, this is called again.
            let _ = this.session().await;
        });
        tokio::spawn(restarting);
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

    /// Calls a tool.
    pub(crate) async fn call(&self, call: ServerCall) -> Result<ServerAnswer, PortError> {
        let pin = self.upstream.recent_pin().await?;
        let connection = self.connection();
        let pinned = pin.tools.get(&call.tool);
        let Some(pinned) = pinned.filter(|_| connection.wants(&call.tool)) else {
            return Err(PortError::NotFound);
        };
        self.upstream.covered(&pin)?;
        let _permit = self.calls.acquire().await;
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
    async fn is_outdated(&self, session: &Session) -> bool {
        self.upstream.is_url() && self.upstream.sign_ins().client().await != session.client
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
        let is_idle = self.calls.available_permits() == MAX_CALLS;
        is_idle.then(|| self.unused())
    }

    fn leave(&self) {
        self.replace(None);
        self.update(|health| health.stopped("it made room for others; a call starts it"));
    }
}

/// Waits until a connection is closed.
async fn closed(closing: &mut watch::Receiver<bool>) {
    let _ = closing.wait_for(|closing| *closing).await;
}

/// Watches over a session until it ends.
async fn watch_over(link: Arc<Link>, session: Arc<Session>) {
    let mut closing = link.closing.subscribe();
    // They may have changed while it didn't run.
    session.service.service().resources_change();
    session.service.service().prompts_change();
    let end = loop {
        tokio::select! {
            end = session.ended() => break Some(end),
            () = closed(&mut closing) => break None,
            // It was replaced, and ends with its last call.
            () = session.released() => return,
            () = session.tools_changed() => {
                if let Err(trouble) = session.list().await {
                    let error = PortError::from(trouble);
                    tracing::warn!(%error, connection = %link.connection().name, "its tools can't be listed");
                    continue;
                }
                let Ok(pin) = link.upstream.pin().await else { continue };
                let verdict = link.judge(&pin, &session);
                link.update(|health| health.listed(&verdict));
                link.version.send_modify(|version| *version += 1);
            }
            () = session.service.service().resources_changed() => {
                link.skills_changed(&session).await;
                link.list_content(&session).await;
            }
            () = session.service.service().prompts_changed() => link.list_content(&session).await,
            () = sleep(PROBE_INTERVAL) => {
                link.look().await;
                if link.unused() > IDLE {
                    link.replace(None);
                    link.update(|health| health.stopped("nobody needs it now; a call starts it"));
                    return;
                }
                // A server that is busy with calls may not get to answer.
                let is_busy = link.calls.available_permits() < MAX_CALLS;
                let is_answered = is_busy || session.probe().await;
                if !link.update(|health| health.probed(is_answered)) {
                    break Some("it doesn't answer".to_owned());
                }
            }
        }
    };
    let is_same = |current: &mut Arc<Session>| Arc::ptr_eq(current, &session);
    if link.current().take_if(is_same).is_none() {
        return;
    }
    drop(session);
    if let Some(end) = end
        && link.health().state() != State::Dead
    {
        link.lost(end);
    }
}

/// A number from 0 to 1 that is another one each time.
fn jitter() -> f64 {
    use std::hash::{BuildHasher as _, Hasher as _, RandomState};
    let random = RandomState::new().build_hasher().finish();
    #[expect(clippy::cast_precision_loss, reason = "only a fraction is needed")]
    let fraction = (random >> 11) as f64 / (1_u64 << 53) as f64;
    fraction
}
