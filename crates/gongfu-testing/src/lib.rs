//! Ports in memory and fakes, for tests alone.
//!
//! Every port that stores has an implementation in memory, and one [`story`] that both it and the one
//! on files pass. The sandbox, environments and the clock are fakes that a test scripts. A [`client`]
//! speaks MCP with a server in this process or another.

#![expect(
    clippy::unwrap_used,
    clippy::missing_panics_doc,
    reason = "a test that meets a poisoned lock or an impossible name should fail"
)]

pub mod client;
mod client_documents;
mod credentials;
mod environments;
mod folder;
mod identity_provider;
pub mod json;
mod memory;
pub mod sample;
pub mod sandbox;
mod servers;
mod spaces;
pub mod story;
mod time;

pub use client_documents::FakeClientDocuments;
pub use credentials::{FakePasswords, FakeSecrets};
pub use environments::FakeEnvironments;
pub use folder::TestFolder;
pub use identity_provider::{FakeProvider, provider_person};
pub use memory::{
    MemoryBlobs, MemoryChangeSets, MemoryFiles, MemoryLayers, MemoryRecords, MemorySearch,
    MemorySkills, SkillFiles,
};
pub use sandbox::{FakeRunFolders, ScriptedSandbox};
pub use servers::FakeServers;
pub use spaces::{MemorySpace, MemorySpaces};
pub use time::FixedClock;

/// The answer of a future that is ready at once, as everything in memory is.
///
/// # Panics
/// The future isn't ready.
pub fn now<T>(future: impl Future<Output = T>) -> T {
    let mut future = std::pin::pin!(future);
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    match future.as_mut().poll(&mut context) {
        std::task::Poll::Ready(answer) => answer,
        std::task::Poll::Pending => panic!("nothing in memory waits"),
    }
}
