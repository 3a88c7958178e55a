//! One story for each port that stores: the promises of its documentation, as checks that run on
//! every backend.
//!
//! A backend opens a space for each owner. The same checks run on files, in memory, and on backends
//! with a planted fault, which must break the promises that name the fault.

mod blobs;
mod fault;
mod files;
mod fixture;
mod layers;
mod records;
mod search;
mod skills;
mod transactions;

pub use fault::{Fault, Faulty};
pub use fixture::{Backend, Fixture, Storage};

/// A port that stores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Port {
    /// Skills, and the local folders of them.
    Skills,
    /// The workspace.
    Files,
    /// The layers above skills.
    Layers,
    /// Content by digest.
    Blobs,
    /// Records and logs.
    Records,
    /// Records that change together.
    Transactions,
    /// Search over skills.
    Search,
}

impl Port {
    /// All ports that store.
    pub const ALL: [Self; 7] = [
        Self::Skills,
        Self::Files,
        Self::Layers,
        Self::Blobs,
        Self::Records,
        Self::Transactions,
        Self::Search,
    ];

    /// The name of the port.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Skills => "skills",
            Self::Files => "files",
            Self::Layers => "layers",
            Self::Blobs => "blobs",
            Self::Records => "records",
            Self::Transactions => "transactions",
            Self::Search => "search",
        }
    }

    /// Its promises.
    pub fn promises(self) -> &'static [Promise] {
        match self {
            Self::Skills => skills::PROMISES,
            Self::Files => files::PROMISES,
            Self::Layers => layers::PROMISES,
            Self::Blobs => blobs::PROMISES,
            Self::Records => records::PROMISES,
            Self::Transactions => transactions::PROMISES,
            Self::Search => search::PROMISES,
        }
    }
}

/// A promise of a port's documentation.
pub struct Promise {
    /// The promise.
    pub text: &'static str,
    /// The fault that must break it.
    pub broken_by: Option<Fault>,
    /// Panics when it is broken.
    pub check: fn(&Fixture),
}

impl Promise {
    /// A promise that no planted fault has to break.
    const fn new(text: &'static str, check: fn(&Fixture)) -> Self {
        Self {
            text,
            broken_by: None,
            check,
        }
    }

    /// A promise that this fault must break.
    const fn broken_by(fault: Fault, text: &'static str, check: fn(&Fixture)) -> Self {
        Self {
            text,
            broken_by: Some(fault),
            check,
        }
    }
}
