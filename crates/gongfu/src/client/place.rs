//! Where things lie on each system; knows no client.

use std::path::PathBuf;

use crate::environment::Environment;

/// A kind of system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Platform {
    Linux,
    MacOs,
    Windows,
}

impl Platform {
    /// That of this program; what is neither is like Linux here.
    pub(super) fn own() -> Self {
        if cfg!(target_os = "macos") {
            Self::MacOs
        } else if cfg!(windows) {
            Self::Windows
        } else {
            Self::Linux
        }
    }
}

/// The folders that clients keep their configuration in.
pub(crate) struct Places<'e> {
    pub(super) platform: Platform,
    pub(super) user: PathBuf,
    pub(super) environment: &'e Environment,
}

impl<'e> Places<'e> {
    /// Those of this machine.
    pub(super) fn own(environment: &'e Environment) -> Self {
        Self {
            platform: Platform::own(),
            user: environment.user.clone().unwrap_or_default(),
            environment,
        }
    }

    /// A folder that a variable names.
    pub(super) fn named(&self, variable: &str) -> Option<PathBuf> {
        self.environment.client_folders.get(variable).cloned()
    }

    /// `~/.config`, or where `XDG_CONFIG_HOME` leads; for clients that have it so on every system.
    pub(super) fn config(&self) -> PathBuf {
        self.named("XDG_CONFIG_HOME")
            .unwrap_or_else(|| self.user.join(".config"))
    }

    /// Where the system wants the settings of applications.
    pub(super) fn applications(&self) -> PathBuf {
        match self.platform {
            Platform::Linux => self.config(),
            Platform::MacOs => self.user.join("Library/Application Support"),
            Platform::Windows => self
                .named("APPDATA")
                .unwrap_or_else(|| self.user.join("AppData").join("Roaming")),
        }
    }
}
