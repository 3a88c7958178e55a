//! The hosts that a run asked for.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gongfu_core::sandbox::Contact;

/// The most hosts that are reported.
pub(super) const MAX_CONTACTS: usize = 100;
/// The reason for a host that is still being connected to.
const UNKNOWN_RESULT: &str = "the run ended before the connection was decided";

/// The hosts that a run asked for, and whether they were reached: each once, reached ones before others.
#[derive(Debug, Clone, Default)]
pub(super) struct Contacts(Arc<Mutex<Vec<Contact>>>);

impl Contacts {
    /// Notes that a host is asked for.
    pub(super) fn open(&self, host: &str) {
        self.add(Contact {
            host: host.to_owned(),
            refused: Some(UNKNOWN_RESULT.to_owned()),
        });
    }

    /// Notes whether the host was reached.
    pub(super) fn close(&self, contact: Contact) {
        let mut all = self.lock();
        all.retain(|known| {
            known.host != contact.host || known.refused.as_deref() != Some(UNKNOWN_RESULT)
        });
        drop(all);
        self.add(contact);
    }

    /// Takes all of them.
    pub(super) fn take(&self) -> Vec<Contact> {
        std::mem::take(&mut *self.lock())
    }

    fn add(&self, contact: Contact) {
        let mut all = self.lock();
        if all.contains(&contact) {
            return;
        }
        if all.len() >= MAX_CONTACTS && contact.refused.is_none() {
            // A run could ask for refused hosts without end, to hide those that it reached.
            let refused = all.iter().rposition(|known| known.refused.is_some());
            refused.map(|at| all.remove(at));
        }
        if all.len() < MAX_CONTACTS {
            all.push(contact);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Contact>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
