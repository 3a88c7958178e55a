//! The start of a connection's server, and of one that has ended.

use std::pin::Pin;
use std::sync::{Arc, PoisonError, Weak};
use std::time::{Duration, Instant};

use gongfu_core::connection::{Health, Target};
use gongfu_core::port::PortError;
use tokio::time::sleep;

use super::Link;
use super::supervision::{closed, watch_over};
use crate::room::Place;
use crate::session::Session;
use crate::trouble::Trouble;

/// The longest pause that a call waits for.
const WORTH_WAITING: Duration = Duration::from_secs(2);
/// The pause before a server is tried again that stays dead.
const GIVEN_UP: Duration = Duration::from_mins(1);

impl Link {
    /// The session, which is started where it isn't there.
    ///
    /// # Errors
    /// Nobody approved it, or it doesn't work.
    pub(super) async fn session(&self) -> Result<Arc<Session>, PortError> {
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
    pub(super) async fn unsigned(&self, trouble: &Trouble) -> bool {
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
    pub(super) fn lost(&self, why: String) {
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
}

/// A number from 0 to 1 that is another one each time.
fn jitter() -> f64 {
    use std::hash::{BuildHasher as _, Hasher as _, RandomState};
    let random = RandomState::new().build_hasher().finish();
    #[expect(clippy::cast_precision_loss, reason = "only a fraction is needed")]
    let fraction = (random >> 11) as f64 / (1_u64 << 53) as f64;
    fraction
}
