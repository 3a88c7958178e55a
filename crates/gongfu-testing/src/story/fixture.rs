//! The fixture of a story: a backend with fresh storage, and threads to write from.

use std::sync::Arc;

use gongfu_core::account::{Owner, UserId};
use gongfu_core::port::{PortError, RecordKey, Space, SpaceParts, Transactions};
use gongfu_core::skill::Digest;
use tokio::runtime::Runtime;

use super::Port;

/// Opened storage, as one process has it.
pub trait Storage: Send + Sync {
    /// The parts of an owner's space. All parts of one owner share their state.
    fn parts(&self, owner: &Owner) -> SpaceParts;

    /// The same records as those of the space, where they can change together.
    ///
    /// # Panics
    /// The backend doesn't offer [`Port::Transactions`].
    fn transactions(&self, _owner: &Owner) -> Arc<dyn Transactions> {
        panic!("this backend has no transactions")
    }
}

/// A backend that can be opened several times, as by processes that share it.
pub trait Backend: Send + Sync {
    /// Returns true if the backend implements a port, so that its promises are checked.
    fn offers(&self, port: Port) -> bool;

    /// Opens the storage.
    fn open(&self) -> Arc<dyn Storage>;

    /// The stored bytes of a record.
    fn record(&self, owner: &Owner, key: &RecordKey) -> Vec<u8>;

    /// Replaces the stored bytes of a record, valid or not.
    fn damage_record(&self, owner: &Owner, key: &RecordKey, bytes: &[u8]);

    /// Replaces the stored bytes of a blob.
    fn damage_blob(&self, owner: &Owner, digest: &Digest, bytes: &[u8]);
}

/// The number of threads that write at once.
const WRITERS: usize = 4;

/// A backend, opened once, and a runtime for what waits.
pub struct Fixture {
    pub(super) backend: Box<dyn Backend>,
    storage: Arc<dyn Storage>,
    runtime: Runtime,
}

impl Fixture {
    /// The fixture over a backend with empty storage.
    pub fn new(backend: Box<dyn Backend>) -> Self {
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        Self {
            storage: backend.open(),
            backend,
            runtime: runtime.worker_threads(2).enable_time().build().unwrap(),
        }
    }

    pub(super) fn wait<T>(&self, future: impl Future<Output = T>) -> T {
        self.runtime.block_on(future)
    }

    /// The space of the local person.
    pub(super) fn local(&self) -> Space {
        self.space(&Owner::Local)
    }

    /// The space of a user.
    pub(super) fn other(&self) -> Space {
        self.space(&ann())
    }

    /// The transactions of the local person.
    pub(super) fn transactions(&self) -> Arc<dyn Transactions> {
        self.storage.transactions(&Owner::Local)
    }

    /// The transactions of a user.
    pub(super) fn other_transactions(&self) -> Arc<dyn Transactions> {
        self.storage.transactions(&ann())
    }

    /// The transactions of the local person in storage that is opened again.
    pub(super) fn reopened_transactions(&self) -> Arc<dyn Transactions> {
        self.backend.open().transactions(&Owner::Local)
    }

    fn space(&self, owner: &Owner) -> Space {
        Space::new(self.storage.parts(owner))
    }

    /// The space of the local person in storage that is opened again, as by another process.
    pub(super) fn reopened(&self) -> Space {
        Space::new(self.backend.open().parts(&Owner::Local))
    }

    /// Writes from several threads at once, every second one as another process.
    pub(super) fn write_at_once(&self, write: impl Fn(&Space, usize) + Sync) {
        write_to(&[self.local(), self.reopened()], write);
    }

    /// The same with records that change together.
    pub(super) fn commit_at_once(&self, write: impl Fn(&dyn Transactions, usize) + Sync) {
        let records = [self.transactions(), self.reopened_transactions()];
        write_to(&records, |records, writer| write(&**records, writer));
    }
}

fn write_to<T: Sync>(targets: &[T; 2], write: impl Fn(&T, usize) + Sync) {
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (target, write) = (&targets[writer % 2], &write);
            scope.spawn(move || write(target, writer));
        }
    });
}

/// Another owner than the local person.
pub(super) fn ann() -> Owner {
    Owner::User(UserId::new("ann").unwrap())
}

/// Asserts that an answer is an error of a kind.
macro_rules! assert_refused {
    ($answer:expr, $kind:pat) => {
        match $answer {
            Err(error) => assert!(matches!(error, $kind), "{error:?}"),
            Ok(_) => panic!("{} is not refused", stringify!($answer)),
        }
    };
}
pub(super) use assert_refused;

/// Asserts that two answers are errors that nobody can tell apart.
#[track_caller]
pub(super) fn assert_alike<T, U>(foreign: Result<T, PortError>, unknown: Result<U, PortError>) {
    let text = |error: Option<PortError>| error.map(|error| format!("{error:?}"));
    let (foreign, unknown) = (text(foreign.err()), text(unknown.err()));
    assert!(foreign.is_some(), "the data of another owner is answered");
    assert_eq!(foreign, unknown, "the data of another owner is told apart");
}
