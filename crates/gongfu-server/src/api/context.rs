//! The context of a request: the caller, and the parts that an endpoint uses.

use std::net::IpAddr;
use std::sync::Arc;

use axum::body::Bytes;
use axum::response::Response;
use gongfu_core::account::{Actor, Role, TeamId};
use gongfu_core::port::Timestamp;
use gongfu_core::registry::{Accounts, Credential, Identity};
use gongfu_core::set::SetChoice;
use gongfu_core::text::clipped;
use gongfu_hub::Catalog;
use gongfu_hub::agent::ChatAgent;
use gongfu_hub::surface::Operation;
use http::HeaderMap;
use http::header::{HeaderName, USER_AGENT};

use super::revocation;
use super::team_access::team_path;
use super::{AccountApiParts, Api};
use crate::problem::Problem;
use crate::rate::HashingPermit;

/// The most characters of a client's name that are kept.
const MAX_CLIENT: usize = 200;

/// The context of a request, beside its input.
pub(crate) struct Context {
    pub(super) api: Arc<Api>,
    pub(super) identity: Option<Arc<Identity>>,
    /// The team for which the caller acts.
    pub(super) team: Option<TeamId>,
    /// The address of the client.
    pub(super) address: IpAddr,
    pub(super) headers: HeaderMap,
    /// The body, where the endpoint takes bytes or a form.
    pub(super) body: Bytes,
}

impl Context {
    /// The user and their credential.
    ///
    /// # Errors
    /// The endpoint is for everybody.
    pub(super) fn identity(&self) -> Result<&Identity, Problem> {
        self.identity.as_deref().ok_or(Problem::CredentialMissing)
    }

    /// The parts of a server with accounts.
    ///
    /// # Errors
    /// It has none: then only the endpoints for its own user are there.
    pub(super) fn server(&self) -> Result<&AccountApiParts, Problem> {
        self.api.parts.accounts.as_ref().ok_or(Problem::Fault)
    }

    /// The accounts of the server.
    ///
    /// # Errors
    /// It has none.
    pub(super) fn accounts(&self) -> Result<&Accounts, Problem> {
        Ok(&self.server()?.accounts)
    }

    /// gongfu's own agent.
    ///
    /// # Errors
    /// It isn't for the callers of this server.
    pub(super) fn agent(&self) -> Result<&Arc<dyn ChatAgent>, Problem> {
        self.api.parts.agent.as_ref().ok_or(Problem::AgentOff)
    }

    pub(super) fn catalog(&self) -> &Catalog {
        &self.api.parts.catalog
    }

    /// The caller for the gate, acting for the team of the request if it has one.
    ///
    /// # Errors
    /// The endpoint is for everybody.
    pub(super) fn actor(&self) -> Result<Actor, Problem> {
        let user = self.user_actor()?;
        Ok(match &self.team {
            Some(team) => user.for_team(team.clone()),
            None => user,
        })
    }

    /// The caller for the gate, acting for themselves: an API token is an agent's, an access token a person's, and
    /// without accounts it is a program of the server's user.
    ///
    /// # Errors
    /// The endpoint is for everybody.
    pub(super) fn user_actor(&self) -> Result<Actor, Problem> {
        let client = self.header(USER_AGENT).unwrap_or("rest");
        let client = clipped(client, MAX_CLIENT, char::REPLACEMENT_CHARACTER);
        if self.api.parts.accounts.is_none() {
            return Ok(Actor::local(Role::ExternalAgent, client));
        }
        let identity = self.identity()?;
        let role = match identity.credential {
            Credential::ApiToken(_) => Role::ExternalAgent,
            Credential::SignIn(_) => Role::Developer,
        };
        Ok(identity.actor(role, client))
    }

    /// The caller as an agent that works with a set: with the one that the request names, else the server's.
    ///
    /// # Errors
    /// The endpoint is for everybody, or there is no such set.
    pub(super) fn actor_in(&self, set: Option<&str>) -> Result<Actor, Problem> {
        let mut actor = self.actor()?;
        actor.permissions.set = match set {
            Some(name) => {
                let found = self.api.parts.sets.find(name);
                Some(found.map_err(|why| Problem::field("set", why))?)
            }
            None => self.api.parts.set.as_ref().map(SetChoice::set),
        };
        Ok(actor)
    }

    /// The result of some work that may take long: it ends once the credential of the request is revoked.
    ///
    /// # Errors
    /// The endpoint is for everybody, or the credential was revoked.
    pub(super) async fn unless_revoked<T>(
        &self,
        work: impl Future<Output = T>,
    ) -> Result<T, Problem> {
        let Some(server) = &self.api.parts.accounts else {
            return Ok(work.await);
        };
        let identity = self.identity.as_ref();
        let identity = identity.ok_or(Problem::CredentialMissing)?;
        revocation::unless_revoked(&server.accounts, identity, work).await
    }

    /// The same response; a stream of events ends once the credential of the request is revoked.
    pub(super) fn watched(&self, response: Response) -> Response {
        match (&self.identity, &self.api.parts.accounts) {
            (Some(identity), Some(server)) => {
                revocation::watched(response, Arc::clone(identity), &server.accounts)
            }
            _ => response,
        }
    }

    /// Does an operation as the caller, through the gate.
    ///
    /// # Errors
    /// The endpoint is for everybody, the gate refuses, or the operation fails.
    pub(super) async fn operate<O: Operation>(&self, operation: O) -> Result<O::Output, Problem> {
        Ok(self.catalog().operate(operation, &self.actor()?).await?)
    }

    /// The path of something that the request is about, whose path for a user is this.
    pub(super) fn path(&self, path: &str) -> String {
        match &self.team {
            Some(team) => team_path(path, team.as_str()),
            None => path.to_owned(),
        }
    }

    /// A header as text.
    pub(super) fn header(&self, name: HeaderName) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    pub(super) fn now(&self) -> Timestamp {
        self.api.clock.now()
    }

    /// Permission to hash a password.
    ///
    /// # Errors
    /// Too many requests wait for it.
    pub(super) fn hashing(&self) -> Result<HashingPermit, Problem> {
        self.server()?.rates.hashing().map_err(Problem::RateLimited)
    }
}
