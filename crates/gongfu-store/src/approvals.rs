//! What a person said about calls that need one, kept across starts and shared by all processes of a
//! home: a file for each owner.

use std::io;

use gongfu_core::account::Owner;
use gongfu_core::approval::{Approval, Approvals, Decision, Request, Ruling};
use gongfu_core::port::{ApprovalStore, Pending, PortError, Timestamp};

use crate::home::Home;
use crate::record::Record;

const LOCK: &str = "approvals.lock";

/// The approvals of a home.
#[derive(Debug)]
pub struct LocalApprovals {
    record: Record,
}

impl LocalApprovals {
    /// Approvals below a home; the file is made with the first of them.
    pub fn new(home: Home) -> Self {
        Self {
            record: Record::new(home, LOCK),
        }
    }

    /// Has something be done to those of an owner.
    fn change<T>(&self, owner: &Owner, change: impl FnOnce(&mut Approvals) -> T) -> io::Result<T> {
        self.record.change(&file(owner), change)
    }
}

/// The file of an owner.
fn file(owner: &Owner) -> String {
    match owner {
        Owner::Local => "approvals.json".to_owned(),
        Owner::User(user) => format!("approvals.{}.json", user.as_str()),
    }
}

fn told<T: Send + 'static>(outcome: io::Result<T>) -> Pending<'static, T> {
    let outcome = outcome.map_err(|error| PortError::Unavailable(error.to_string()));
    Box::pin(std::future::ready(outcome))
}

impl ApprovalStore for LocalApprovals {
    fn decide<'a>(
        &'a self,
        owner: &'a Owner,
        request: &'a Request,
        now: Timestamp,
    ) -> Pending<'a, Decision> {
        told(self.change(owner, |approvals| approvals.decide(request, now)))
    }

    fn list<'a>(&'a self, owner: &'a Owner, now: Timestamp) -> Pending<'a, Vec<Approval>> {
        told(self.change(owner, |approvals| {
            approvals.forget(now);
            approvals.all.clone()
        }))
    }

    fn answer<'a>(
        &'a self,
        owner: &'a Owner,
        id: &'a str,
        answer: Ruling,
        until: Option<Timestamp>,
        now: Timestamp,
    ) -> Pending<'a, Option<Approval>> {
        told(self.change(owner, |approvals| approvals.answer(id, answer, until, now)))
    }
}

#[cfg(test)]
#[expect(
    clippy::disallowed_methods,
    reason = "tests make the folders that they look at"
)]
mod tests {
    use gongfu_core::account::{Owner, UserId};
    use gongfu_core::approval::Request;
    use gongfu_core::port::Timestamp;
    use gongfu_core::skill::Digest;

    use super::LocalApprovals;
    use crate::home::Home;

    fn request(what: &str) -> Request {
        Request {
            tool: "t".to_owned(),
            digest: Digest::of(what.as_bytes()),
            what: what.to_owned(),
            reason: "r".to_owned(),
        }
    }

    #[test]
    fn many_askers_lose_nothing_and_owners_are_apart() {
        let folder = tempfile::tempdir().unwrap();
        let approvals = LocalApprovals::new(Home::at(folder.path().join("home")));
        std::thread::scope(|scope| {
            for asker in 0..4 {
                let approvals = &approvals;
                scope.spawn(move || {
                    for number in 0..10 {
                        let request = request(&format!("{asker} {number}"));
                        let ask = |all: &mut super::Approvals| all.decide(&request, Timestamp(1));
                        approvals.change(&Owner::Local, ask).unwrap();
                    }
                });
            }
        });
        let count = |owner: &Owner| approvals.change(owner, |all| all.all.len()).unwrap();
        assert_eq!(count(&Owner::Local), 40);
        assert_eq!(count(&Owner::User(UserId::new("ann").unwrap())), 0);
    }

    #[test]
    fn a_damaged_file_allows_nothing_and_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("approvals.json");
        for damaged in ["{\"all\": [", "[]", "{\"other\": 1}"] {
            std::fs::write(&file, damaged).unwrap();
            let approvals = LocalApprovals::new(Home::at(folder.path()));
            let asked =
                approvals.change(&Owner::Local, |all| all.decide(&request("x"), Timestamp(1)));
            assert!(asked.unwrap_err().to_string().contains("damaged"));
            assert_eq!(std::fs::read_to_string(&file).unwrap(), damaged);
        }
    }
}
