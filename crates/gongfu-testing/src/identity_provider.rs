//! A provider of identities whose people a test names.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard};
use std::task::Poll;

use gongfu_core::port::{
    IdentityProvider, Pending, PortError, ProviderPerson, ProviderRequest, ready,
};

/// A provider with people by their subjects. Codes and refresh tokens are good once, as a strict provider has them.
#[derive(Default)]
pub struct FakeProvider {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    people: HashMap<String, ProviderPerson>,
    requests: Vec<ProviderRequest>,
    codes: HashMap<String, (ProviderRequest, String)>,
    refresh_tokens: HashMap<String, String>,
    asked: usize,
    given: usize,
    is_down: bool,
    is_slow: bool,
    gives_no_refresh_token: bool,
}

/// A person with an address and groups.
pub fn provider_person(name: &str, groups: &[&str]) -> ProviderPerson {
    ProviderPerson {
        subject: name.to_owned(),
        email: Some(format!("{name}@example.com")),
        is_email_verified: Some(true),
        username: Some(name.to_owned()),
        groups: Some(groups.iter().map(|group| (*group).to_owned()).collect()),
        refresh_token: None,
    }
}

impl FakeProvider {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// Knows a person from now on, in place of one with the same subject.
    pub fn has(&self, person: ProviderPerson) {
        self.lock().people.insert(person.subject.clone(), person);
    }

    /// Knows a person no more.
    pub fn removes(&self, subject: &str) {
        self.lock().people.remove(subject);
    }

    /// Answers no more, or again.
    pub fn is_down(&self, is_down: bool) {
        self.lock().is_down = is_down;
    }

    /// Takes a while for each answer to a refresh token.
    pub fn is_slow(&self) {
        self.lock().is_slow = true;
    }

    /// Gives no refresh tokens.
    pub fn gives_no_refresh_token(&self) {
        self.lock().gives_no_refresh_token = true;
    }

    /// The number of refresh tokens that it was asked with since the last question.
    pub fn take_asked(&self) -> usize {
        std::mem::take(&mut self.lock().asked)
    }

    /// Signs somebody in on its page; the answers are the state and the code that go back.
    pub fn signs_in(&self, page: &str, subject: &str) -> (String, String) {
        let mut state = self.lock();
        let request = state.requests.iter().find(|one| page.ends_with(&one.state));
        let request = request.unwrap().clone();
        state.given += 1;
        let code = format!("code-{}", state.given);
        let answer = (request.state.clone(), code.clone());
        state.codes.insert(code, (request, subject.to_owned()));
        answer
    }

    fn answer(state: &mut State, subject: &str) -> Result<ProviderPerson, PortError> {
        let person = state.people.get(subject).cloned();
        let mut person = person.ok_or_else(|| PortError::Denied("invalid_grant".to_owned()))?;
        if !state.gives_no_refresh_token {
            state.given += 1;
            let token = format!("refresh-{}", state.given);
            state
                .refresh_tokens
                .insert(token.clone(), subject.to_owned());
            person.refresh_token = Some(token);
        }
        Ok(person)
    }

    fn refreshed(&self, subject: &str, token: &str) -> Result<ProviderPerson, PortError> {
        let mut state = self.lock();
        state.asked += 1;
        if state.is_down {
            return Err(PortError::Unavailable("no route".to_owned()));
        }
        match state.refresh_tokens.remove(token) {
            Some(owner) if owner == subject => Self::answer(&mut state, subject),
            _ => Err(PortError::Denied("invalid_grant".to_owned())),
        }
    }
}

impl IdentityProvider for FakeProvider {
    fn page<'a>(&'a self, request: &'a ProviderRequest) -> Pending<'a, String> {
        let mut state = self.lock();
        if state.is_down {
            return ready(Err(PortError::Unavailable("no route".to_owned())));
        }
        state.requests.push(request.clone());
        ready(Ok(format!(
            "https://login.example.com/page?state={}",
            request.state
        )))
    }

    fn exchange<'a>(
        &'a self,
        code: &'a str,
        request: &'a ProviderRequest,
    ) -> Pending<'a, ProviderPerson> {
        let mut state = self.lock();
        ready(match state.codes.remove(code) {
            Some((begun, subject)) if begun == *request => Self::answer(&mut state, &subject),
            _ => Err(PortError::Denied("invalid_grant".to_owned())),
        })
    }

    fn refresh<'a>(
        &'a self,
        subject: &'a str,
        refresh_token: &'a str,
    ) -> Pending<'a, ProviderPerson> {
        let mut waits = self.lock().is_slow;
        Box::pin(std::future::poll_fn(move |context| {
            if std::mem::take(&mut waits) {
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
            Poll::Ready(self.refreshed(subject, refresh_token))
        }))
    }

    fn finish(&self, work: Pending<'static, ()>) -> Pending<'static, ()> {
        work
    }
}
