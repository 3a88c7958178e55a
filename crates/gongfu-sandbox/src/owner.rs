//! The sandbox port of one owner.

use std::sync::Arc;

use gongfu_core::account::Owner;
use gongfu_core::port::{Listener, Pending, Sandbox};
use gongfu_core::sandbox::{BackendStatus, Outcome, Spec};

use crate::Runner;

/// The sandbox of one owner.
pub struct OwnerSandbox {
    runner: Arc<Runner>,
    owner: Owner,
}

impl OwnerSandbox {
    /// Runs in this runner as this owner.
    pub fn new(runner: Arc<Runner>, owner: Owner) -> Self {
        Self { runner, owner }
    }
}

impl Sandbox for OwnerSandbox {
    fn statuses(&self) -> Pending<'_, Vec<BackendStatus>> {
        self.runner.statuses()
    }

    fn run(&self, spec: Spec, listener: Listener) -> Pending<'_, Outcome> {
        self.runner.run(&self.owner, spec, listener)
    }
}
