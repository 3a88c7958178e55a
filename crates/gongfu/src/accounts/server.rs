//! A server with accounts: the catalog over the spaces of its users.

use std::sync::Arc;

use gongfu_core::dependency::Installs;
use gongfu_core::port::{Clock, Materialize, SkillStore};
use gongfu_files::{Home, PrivatePaths};
use gongfu_hub::{AuditObserver, Catalog, Quota};
use gongfu_library::SharedSkills;

use super::space::Shared;
use super::{AccountSpaces, ServerAccounts, skill_dir};
use crate::clock::SystemClock;
use crate::config::Config;
use crate::environment::Environment;
use crate::package;
use crate::wiring::{self, Parts};

/// The catalog of a server, whose parts share the operator's skills with all users.
///
/// # Errors
/// The folder of the accounts' skills isn't absolute.
pub(crate) fn catalog(
    parts: &Parts,
    open: &ServerAccounts,
    home: &Home,
    config: &Config,
    environment: &Environment,
    observer: AuditObserver,
) -> anyhow::Result<Arc<Catalog>> {
    let shared = Shared {
        home: home.clone(),
        skill_dir: skill_dir(home, config, environment)?,
        database: Arc::clone(&open.database),
        skills: SharedSkills {
            skills: Arc::clone(&parts.skills) as Arc<dyn SkillStore>,
            folders: Arc::clone(&parts.skills) as Arc<dyn Materialize>,
        },
        runner: Arc::clone(&parts.sandbox),
        builder: wiring::builder(&parts.sandbox),
        interpreters: Arc::new(package::interpreters(environment, config)),
        environments: package::settings(environment, config),
        private: PrivatePaths::new(home, environment.user.as_deref()),
        limits: config.sandbox.limits(),
        installs: Installs {
            declared: config.dependencies.install,
            inferred: config.dependencies.auto_install,
        },
        store_limits: config.accounts.store_limits(),
        clock: Arc::new(SystemClock) as Arc<dyn Clock>,
    };
    let runs = usize::try_from(config.accounts.runs.max(1)).unwrap_or(usize::MAX);
    let quota = Quota::new(runs).with_rate(config.accounts.runs_per_hour.max(1));
    let observer = wiring::requests_first(&parts.sandbox, Some(observer));
    let spaces = Arc::new(AccountSpaces::new(shared));
    let catalog = Catalog::new(spaces, quota, Some(observer));
    Ok(Arc::new(catalog.with_audit(config.audit.arguments.into())))
}
