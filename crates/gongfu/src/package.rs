//! The installation of packages that scripts need: the indexes and interpreters that the settings and variables name.

use std::path::PathBuf;

use gongfu_environments::{self as environments, Interpreters};
use gongfu_files::disk::{self, EntryKind};

use crate::config::Config;
use crate::environment::Environment;
use crate::home::expanded;

/// The settings of environments.
pub(crate) fn settings(environment: &Environment, config: &Config) -> environments::Settings {
    environments::Settings {
        sources: package_sources(environment, config),
        limits: config.dependencies.limits(),
        frozen: config.dependencies.frozen,
        build: config.dependencies.build.clone(),
    }
}

/// The interpreters of the search path, and those that the settings list.
pub(crate) fn interpreters(environment: &Environment, config: &Config) -> Interpreters {
    let further = config.dependencies.interpreters.iter();
    let further = further.map(|file| expanded(file, environment.user.as_deref()));
    Interpreters::new(environment.search_path.clone(), further.collect())
}

/// The package sources: the settings, then variables, then the files of the installers. What is wrong
/// with them is told when something is to be installed.
fn package_sources(
    environment: &Environment,
    config: &Config,
) -> Result<environments::Sources, String> {
    let (said, config) = (&environment.packages, &config.dependencies);
    let is_file = |file: &&PathBuf| disk::kind_outside(file) == Some(EntryKind::File);
    let sources = environments::Sources {
        index: config.index.clone().or_else(|| said.index.clone()),
        extra: if config.extra_indexes.is_empty() {
            said.extra.clone()
        } else {
            config.extra_indexes.clone()
        },
        registry: config.registry.clone().or_else(|| said.registry.clone()),
        hosts: config.hosts.clone(),
        certificates: said.certificates.as_ref().filter(is_file).cloned(),
        ..environments::Sources::default()
    };
    let user = environment.user.as_deref();
    let files = |own: &Option<PathBuf>, places: &[&str], of_all: &[&str]| {
        let below = places.iter().filter_map(|place| Some(user?.join(place)));
        own.iter()
            .cloned()
            .chain(below)
            .chain(of_all.iter().map(PathBuf::from))
            .collect()
    };
    let files = environments::InstallerFiles {
        uv: files(&said.uv, &[".config/uv/uv.toml"], &["/etc/uv/uv.toml"]),
        pip: files(
            &said.pip,
            &[".config/pip/pip.conf", ".pip/pip.conf"],
            &["/etc/pip.conf"],
        ),
        npm: files(&said.npm, &[".npmrc"], &["/etc/npmrc"]),
        netrc: match &said.netrc {
            Some(file) => vec![file.clone()],
            None => files(&None, &[".netrc", "_netrc"], &[]),
        },
    };
    let proxy = environments::ProxySettings {
        setting: config.proxy.clone(),
        ..said.proxy.clone()
    };
    let completed = sources.or_from(&files, &proxy, &Environment::variable);
    completed.map_err(|error| error.to_string())
}
