//! The folders that programs keep their settings in, on each platform.

use std::path::PathBuf;

use crate::environment::Environment;

/// An operating system. Any but the named ones counts as Linux.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Platform {
    Linux,
    MacOs,
    Windows,
}

impl Platform {
    /// The platform of this binary.
    pub(super) fn current() -> Self {
        if cfg!(target_os = "macos") {
            Self::MacOs
        } else if cfg!(windows) {
            Self::Windows
        } else {
            Self::Linux
        }
    }
}

/// The folders of one person on one machine.
pub(crate) struct Folders<'e> {
    pub(super) platform: Platform,
    pub(super) user: PathBuf,
    pub(super) environment: &'e Environment,
}

impl<'e> Folders<'e> {
    /// The folders of this machine.
    pub(super) fn current(environment: &'e Environment) -> Self {
        Self {
            platform: Platform::current(),
            user: environment.user.clone().unwrap_or_default(),
            environment,
        }
    }

    /// The folder in an environment variable.
    pub(super) fn variable(&self, name: &str) -> Option<PathBuf> {
        self.environment.client_folders.get(name).cloned()
    }

    /// The same with a default.
    pub(super) fn variable_or(&self, variable: &str, default: impl Fn() -> PathBuf) -> PathBuf {
        self.variable(variable).unwrap_or_else(default)
    }

    /// `~/.config` or `XDG_CONFIG_HOME`, for clients that use it on every platform.
    pub(super) fn config(&self) -> PathBuf {
        self.variable_or("XDG_CONFIG_HOME", || self.user.join(".config"))
    }

    /// The platform's folder for the settings of applications.
    pub(super) fn applications(&self) -> PathBuf {
        match self.platform {
            Platform::Linux => self.config(),
            Platform::MacOs => self.user.join("Library/Application Support"),
            Platform::Windows => {
                self.variable_or("APPDATA", || self.user.join("AppData").join("Roaming"))
            }
        }
    }
}
