//! The steps of a build in the sandbox, and the reasons why they fail.

use std::sync::Arc;

use gongfu_core::change::Change;
use gongfu_core::dependency::{Failure, FailureKind, Language};
use gongfu_core::port::{Listener, PortError};
use gongfu_core::sandbox::{
    Command, Contact, Exit, Input, Limits, Mode, Mount, Outcome, Reason, Spec, Stream,
};

use crate::index::Index;
use crate::recipe::{CERTIFICATES, ENVIRONMENT, INPUTS, Recipe, Step};
use crate::storage::BuildFolder;
use crate::{Inner, read_only};

/// The limit of what is kept of a step's output, in bytes.
pub(crate) const MAX_OUTPUT: usize = 1024 * 1024;
/// The link to the interpreter leads out of the environment, so that the server makes it later.
const INTERPRETER_LINK: &str = "/env/bin/python";

/// The sandbox of one build.
pub(crate) struct BuildSandbox<'a> {
    pub(crate) inner: &'a Inner,
    pub(crate) language: Language,
    pub(crate) folder: Arc<BuildFolder>,
    pub(crate) listener: Listener,
    /// The index, once a step needed it.
    pub(crate) index: Option<Index>,
    /// The hosts that steps asked for.
    pub(crate) contacts: Vec<Contact>,
}

impl BuildSandbox<'_> {
    /// Tells the listener a line.
    pub(crate) fn report(&self, line: &str) {
        (self.listener)(Stream::Stderr, format!("gongfu: {line}\n").as_bytes());
    }

    /// The index for people; empty before any step needed it.
    pub(crate) fn index_shown(&self) -> String {
        self.index.as_ref().map(Index::shown).unwrap_or_default()
    }

    /// Runs a step to its end; answers its standard output.
    pub(crate) async fn run(&mut self, recipe: &Recipe, step: Step) -> Result<String, Failure> {
        if step.is_online && self.index.is_none() {
            self.index = Some(self.find_index(recipe).await?);
        }
        let index = self.index.clone().filter(|_| step.is_online);
        self.run_script(recipe, step.script, index.as_ref()).await
    }

    /// The index to install from, the configured one or the installer's own, with the hosts of its files.
    async fn find_index(&mut self, recipe: &Recipe) -> Result<Index, Failure> {
        let sources = self.inner.settings.sources.as_ref();
        let sources = sources.map_err(|why| Failure::new(FailureKind::Other, why))?;
        let mut index = Index::configured(self.language, sources)?;
        if index.url.is_none() {
            let printed = self.run_script(recipe, recipe.default_index, None).await?;
            index.set_default(&printed)?;
        }
        let printed = self.run_script(recipe, recipe.file_urls, Some(&index));
        index.add_file_hosts(&printed.await?);
        Ok(index)
    }

    /// Runs a script, which reaches the index if one is given.
    async fn run_script(
        &mut self,
        recipe: &Recipe,
        script: &str,
        index: Option<&Index>,
    ) -> Result<String, Failure> {
        let mut environment = recipe.variables.clone();
        environment.extend(
            index
                .map(|index| index.variables(recipe))
                .unwrap_or_default(),
        );
        let start = index.map_or("", Index::script_start);
        let secrets = index.map(Index::secrets).unwrap_or_default();
        let root = self.folder.root.clone();
        let mut mounts = vec![
            Mount {
                sources: vec![root.clone()],
                target: ENVIRONMENT.to_owned(),
                mode: Mode::Layered,
                keep: Some(root),
            },
            read_only(&self.folder.inputs, INPUTS),
        ];
        mounts.extend(recipe.mounts.iter().cloned());
        let certificates = self.inner.certificates();
        mounts.extend(certificates.map(|file| read_only(file, CERTIFICATES)));
        let spec = Spec {
            command: Command::Line(format!("{start}{script}")),
            folder: "/tmp".to_owned(),
            mounts,
            programs: recipe.programs.clone(),
            environment,
            input: Input::Nothing,
            reach: index.map(Index::reach).unwrap_or_default(),
            limits: Limits {
                shown: MAX_OUTPUT,
                ..self.inner.settings.limits
            },
            logs: None,
            links: Vec::new(),
            hidden: Vec::new(),
            holding: None,
        };
        let hiding = secrets.listener(Arc::clone(&self.listener));
        let listener: Listener = {
            let hiding = hiding.clone();
            Arc::new(move |stream, bytes| hiding.take(stream, bytes))
        };
        let outcome = self.inner.run(self.language, spec, listener).await;
        hiding.flush();
        let outcome = outcome.map_err(|failure| Failure {
            why: secrets.hide(&failure.why),
            ..failure
        })?;
        self.contacts.extend(outcome.contacts);
        Ok(String::from_utf8_lossy(&outcome.stdout.head).into_owned())
    }
}

impl Inner {
    /// Runs something with the interpreters in its view.
    pub(crate) async fn run(
        &self,
        language: Language,
        mut spec: Spec,
        listener: Listener,
    ) -> Result<Outcome, Failure> {
        for other in self.interpreters.others() {
            spec.mounts.extend(other.mounts.iter().cloned());
            spec.programs.push(other.programs.clone());
            spec.links.extend(other.links.iter().cloned());
        }
        let outcome = self.sandbox.run(spec, listener).await;
        let outcome = outcome.map_err(|error| port_failure(&error))?;
        match failure(language, &outcome) {
            Some(failure) => Err(failure),
            None => Ok(outcome),
        }
    }
}

/// The reason why a step failed.
fn failure(language: Language, outcome: &Outcome) -> Option<Failure> {
    let (kind, why) = match (outcome.reason, outcome.exit) {
        (Reason::Ok, Some(Exit::Code(0))) => {
            let refused = outcome.artifacts.iter().find_map(|artifact| {
                let Change::Refused(why) = &artifact.change else {
                    return None;
                };
                (artifact.path != INTERPRETER_LINK)
                    .then(|| format!("{} can't be kept: {why}", artifact.path))
            });
            (FailureKind::TooLarge, refused?)
        }
        (Reason::Ok, Some(Exit::Code(127))) => {
            let program = match language {
                Language::Python => "`uv` or the interpreter of Python",
                Language::Node => "`node` or `npm`",
            };
            let why = format!("{program} isn't installed where the sandbox sees it");
            (FailureKind::ToolMissing, why)
        }
        (Reason::Ok, _) => {
            let output = String::from_utf8_lossy(&outcome.stderr.head);
            let failure = Failure::from_output(language, &output);
            return Some(with_refusal(failure, &outcome.contacts));
        }
        (Reason::Timeout, _) => (
            FailureKind::TooSlow,
            "the build exceeds its time limit: the index is slow, or it needs too many packages"
                .to_owned(),
        ),
        (Reason::Disk | Reason::Oom, _) => (
            FailureKind::TooLarge,
            "the environment exceeds its size limit".to_owned(),
        ),
        (Reason::Cancelled, _) => (FailureKind::Other, "the build was cancelled".to_owned()),
        (Reason::Pids | Reason::Output | Reason::Denied, _) => (
            FailureKind::Other,
            "an installer did what the sandbox forbids".to_owned(),
        ),
    };
    Some(Failure::new(kind, why))
}

/// Adds why a host wasn't reached: the installers don't tell what a proxy says.
fn with_refusal(failure: Failure, contacts: &[Contact]) -> Failure {
    let is_network = matches!(
        failure.kind,
        FailureKind::IndexUnreachable | FailureKind::Other
    );
    let refused = contacts.iter().find_map(|contact| contact.refused.as_ref());
    match refused.filter(|_| is_network) {
        Some(refused) => Failure {
            why: format!("{refused}: {}", failure.why),
            ..failure
        },
        None => failure,
    }
}

/// A failure of another part of gongfu.
pub(crate) fn port_failure(error: &PortError) -> Failure {
    Failure::new(FailureKind::Sandbox, error.to_string())
}
