//! The settings of a server with accounts.

use std::path::PathBuf;

use gongfu_core::registry::Registration;
use gongfu_library::StoreLimits;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::SsoSection;

const MIB: u64 = 1024 * 1024;

/// The accounts of `gongfu serve --accounts`.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct AccountSection {
    /// The people who may register: `closed` for nobody, so that an admin creates users; `invited` for people with a link of an
    /// admin; `open` for everybody who reaches the server.
    pub(crate) registration: RegistrationSetting,
    /// The database, such as `sqlite:/var/lib/gongfu/server.db`; without it `server.db` in gongfu's home.
    pub(crate) database: Option<String>,
    /// The folder of the accounts' skills, as `ID/SKILL`; without it `SKILL_STORAGE_PATH`, else `user-skills` in gongfu's
    /// home.
    pub(crate) skill_dir: Option<PathBuf>,
    /// Let MCP clients register themselves. Those that have a document of their own (a URL as their id) need not.
    pub(crate) client_registration: bool,
    /// Hosts whose documents of clients are fetched at any address, such as `clients.example.com`; those of others only
    /// at public addresses.
    pub(crate) client_hosts: Vec<String>,
    /// The most skills of an account.
    #[schemars(range(min = 1))]
    pub(crate) skills: u32,
    /// The most that the skills of an account take together, in MiB.
    #[schemars(range(min = 1))]
    pub(crate) skills_mib: u32,
    /// The most commands of an account that run at once.
    #[schemars(range(min = 1))]
    pub(crate) runs: u32,
    /// The most commands that an account starts in an hour.
    #[schemars(range(min = 1))]
    pub(crate) runs_per_hour: u32,
    /// The people who may let scripts reach hosts of the internet: `users` for all, `admins` for those alone. A host in the
    /// network of the server is for admins to grant.
    pub(crate) grants: GrantSetting,
    /// Your connections whose tools users may call, by name; you approve each with `gongfu connection approve`. Their servers
    /// run as you, with your credentials.
    pub(crate) connections: Vec<String>,
    /// The most sessions with servers of connections, of all users together: each user has sessions of their own.
    #[schemars(range(min = 1))]
    pub(crate) connection_sessions: u32,
    /// The life of an access token, in minutes.
    #[schemars(range(min = 1))]
    pub(crate) access_minutes: u32,
    /// Limit how many requests an address or a credential may send. Turn it off behind a proxy that does.
    pub(crate) request_limits: bool,
    /// The sign-in by the company's provider (OIDC).
    pub(crate) sso: SsoSection,
}

/// The people who may register.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum RegistrationSetting {
    /// Nobody: an admin creates users.
    #[default]
    Closed,
    /// People with a link of an admin.
    Invited,
    /// Everybody who reaches the server.
    Open,
}

/// The people who may let scripts reach hosts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum GrantSetting {
    /// All.
    #[default]
    Users,
    /// Admins alone.
    Admins,
}

impl Default for AccountSection {
    fn default() -> Self {
        let limits = StoreLimits::default();
        Self {
            registration: RegistrationSetting::default(),
            database: None,
            skill_dir: None,
            client_registration: true,
            client_hosts: Vec::new(),
            skills: u32::try_from(limits.skills).unwrap_or(u32::MAX),
            skills_mib: u32::try_from(limits.bytes / MIB).unwrap_or(u32::MAX),
            runs: 8,
            runs_per_hour: 1_000,
            grants: GrantSetting::default(),
            connections: Vec::new(),
            connection_sessions: 64,
            access_minutes: 15,
            request_limits: true,
            sso: SsoSection::default(),
        }
    }
}

impl AccountSection {
    /// The limits of the skills of an account.
    pub(crate) fn store_limits(&self) -> StoreLimits {
        StoreLimits {
            skills: usize::try_from(self.skills.max(1)).unwrap_or(usize::MAX),
            bytes: u64::from(self.skills_mib.max(1)) * MIB,
            ..StoreLimits::default()
        }
    }
}

impl From<RegistrationSetting> for Registration {
    fn from(setting: RegistrationSetting) -> Self {
        match setting {
            RegistrationSetting::Closed => Self::Closed,
            RegistrationSetting::Invited => Self::Invited,
            RegistrationSetting::Open => Self::Open,
        }
    }
}
