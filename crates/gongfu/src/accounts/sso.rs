//! The sign-in by the company's provider, from the settings.

use std::path::Path;
use std::sync::Arc;

use anyhow::Context as _;
use gongfu_core::port::Clock;
use gongfu_core::registry::Accounts;
use gongfu_core::registry::sso::{MAX_CHECK_AGE, SsoSettings};
use gongfu_core::skill::SkillPath;
use gongfu_files::disk::Root;

use super::provider::{OidcProvider, ProviderSettings};
use crate::clock::SystemClock;
use crate::config::Config;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::wiring::expanded;

/// The longest file with a secret, in bytes.
const MAX_SECRET: u64 = 16 * 1024;

/// The accounts with the sign-in by a provider, where the settings name one.
///
/// # Errors
/// The settings of the provider can't be used.
pub(super) fn with_sso(
    accounts: Accounts,
    config: &Config,
    environment: &Environment,
) -> anyhow::Result<Accounts> {
    let sso = &config.accounts.sso;
    let Some(issuer) = sso.issuer.clone() else {
        return Ok(accounts);
    };
    let client_id = sso.client_id.clone();
    let client_id = client_id.ok_or_else(|| unusable("`accounts.sso.client_id` is missing"))?;
    let file = |file: &Path| expanded(file, environment.user.as_deref());
    let secret = sso.client_secret_file.as_deref().map(file);
    let secret = secret.map(|file| {
        read_secret(&file).map_err(|error| unusable(format!("{}: {error:#}", file.display())))
    });
    let settings = ProviderSettings {
        issuer: issuer.clone(),
        client_id,
        client_secret: secret.transpose()?,
        scopes: sso.scopes.clone(),
        groups_claim: sso.groups_claim.clone(),
    };
    let usual = environment.packages.certificates.clone();
    let certificates = sso.ca_file.as_deref().map(file).or(usual);
    let clock = Arc::new(SystemClock) as Arc<dyn Clock>;
    let provider = OidcProvider::new(settings, certificates.as_deref(), clock);
    let provider =
        provider.map_err(|error| unusable(format!("`accounts.sso.issuer`: {error:#}")))?;
    let check_after = i64::from(sso.check_minutes.max(1)) * 60 * 1_000;
    let settings = SsoSettings {
        issuer,
        name: sso.name.clone(),
        teams: sso.teams.clone(),
        admins: sso.admins.iter().cloned().collect(),
        passwords: sso.passwords,
        check_after: check_after.min(MAX_CHECK_AGE),
    };
    Ok(accounts.with_sso(Arc::new(provider), settings))
}

fn read_secret(file: &Path) -> anyhow::Result<String> {
    let file = std::path::absolute(file)?;
    let (Some(folder), Some(name)) = (file.parent(), file.file_name()) else {
        anyhow::bail!("it is not a file");
    };
    let name = SkillPath::new(&name.to_string_lossy())?;
    let read = Root::open(folder)?.read(&name, MAX_SECRET)?;
    let text = String::from_utf8(read.bytes).context("it isn't text")?;
    let secret = text.trim();
    anyhow::ensure!(!secret.is_empty(), "it is empty");
    Ok(secret.to_owned())
}

fn unusable(why: impl Into<String>) -> Failure {
    let hint =
        "correct the section [accounts.sso] of the settings; `gongfu config schema` describes it";
    Failure::new("SSO_INVALID", why.into(), hint)
}
