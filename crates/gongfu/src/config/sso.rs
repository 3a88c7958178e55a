//! The settings of the sign-in by the company's provider.

use std::collections::BTreeMap;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The sign-in by the company's provider (OIDC). It is on where `issuer` is set.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct SsoSection {
    /// The URL of the provider, as its own documents have it, such as `https://login.example.com`.
    pub(crate) issuer: Option<String>,
    /// The id of gongfu at the provider. The redirect URI is the server's URL with `/login/sso/callback`.
    pub(crate) client_id: Option<String>,
    /// The file with the secret of gongfu at the provider; without it gongfu is a public client.
    pub(crate) client_secret_file: Option<PathBuf>,
    /// The name of the provider on the login page.
    pub(crate) name: String,
    /// The scopes that gongfu asks for. Without `offline_access`, most providers can't be asked again, and users sign in
    /// every 30 minutes.
    pub(crate) scopes: Vec<String>,
    /// The claim with the groups of a user.
    pub(crate) groups_claim: String,
    /// The team of each group, by name or by the id that stays when it is renamed: its members are members of the team.
    pub(crate) teams: BTreeMap<String, String>,
    /// Groups whose members are admins, and nobody else; empty to make admins with gongfu.
    pub(crate) admins: Vec<String>,
    /// Let users sign in by password, too.
    pub(crate) passwords: bool,
    /// The minutes after which the provider is asked again about a user who is active; at most 30 count.
    #[schemars(range(min = 1))]
    pub(crate) check_minutes: u32,
    /// A file with the certificates that vouch for the provider, in place of the usual ones.
    pub(crate) ca_file: Option<PathBuf>,
}

impl Default for SsoSection {
    fn default() -> Self {
        let scopes = ["openid", "email", "profile", "offline_access"];
        Self {
            issuer: None,
            client_id: None,
            client_secret_file: None,
            name: "SSO".to_owned(),
            scopes: scopes.map(str::to_owned).to_vec(),
            groups_claim: "groups".to_owned(),
            teams: BTreeMap::new(),
            admins: Vec::new(),
            passwords: true,
            check_minutes: 15,
            ca_file: None,
        }
    }
}
