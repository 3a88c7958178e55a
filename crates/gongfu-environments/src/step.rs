//! The steps of a build in the sandbox, and the reasons why they fail.

use std::sync::Arc;

use gongfu_core::change::Change;
use gongfu_core::dependency::{Failure, FailureKind, Language};
use gongfu_core::port::{Listener, PortError};
use gongfu_core::sandbox::{
    CapturedOutput, Command, Contact, Exit, Input, Limits, Mode, Mount, Outcome, Reason, Spec,
    Stream,
};
use gongfu_core::text::visible;

use crate::index::Index;
use crate::recipe::{CERTIFICATES, ENVIRONMENT, INPUTS, Recipe, SCRATCH, Step};
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
        let line = format!("gongfu: {}\n", visible(line));
        (self.listener)(Stream::Stderr, line.as_bytes());
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
        self.run_script(recipe, step, index.as_ref()).await
    }

    /// The index to install from, the configured one or the installer's own, with the hosts of its files.
    async fn find_index(&mut self, recipe: &Recipe) -> Result<Index, Failure> {
        let sources = self.inner.settings.sources.as_ref();
        let sources = sources.map_err(|why| Failure::new(FailureKind::Other, why))?;
        let mut index = Index::configured(self.language, sources)?;
        if index.url.is_none() {
            let step = Step::offline(recipe.default_index);
            index.set_default(&self.run_script(recipe, step, None).await?)?;
        }
        let printed = self.run_script(recipe, Step::online(recipe.file_urls), Some(&index));
        index.add_file_hosts(&printed.await?);
        Ok(index)
    }

    /// Runs a script, which reaches the index if one is given.
    async fn run_script(
        &mut self,
        recipe: &Recipe,
        step: Step,
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
        let (kept, target) = if step.is_in_scratch {
            (self.folder.scratch.clone(), SCRATCH)
        } else {
            (self.folder.root.clone(), ENVIRONMENT)
        };
        let mut mounts = vec![
            Mount {
                sources: vec![kept.clone()],
                target: target.to_owned(),
                mode: Mode::Layered,
                keep: Some(kept),
            },
            read_only(&self.folder.inputs, INPUTS),
        ];
        mounts.extend(recipe.mounts.iter().cloned());
        let certificates = self.inner.certificates();
        mounts.extend(certificates.map(|file| read_only(file, CERTIFICATES)));
        let spec = Spec {
            command: Command::Line(format!("{start}{}", step.script)),
            folder: "/tmp".to_owned(),
            mounts,
            programs: recipe.programs.clone(),
            environment,
            input: Input::Nothing,
            dialogue: None,
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
        let hide = |text: &str| secrets.hide(text);
        let outcome = self.inner.run(self.language, spec, listener, &hide).await;
        hiding.flush();
        let outcome = outcome?;
        self.contacts.extend(outcome.contacts);
        Ok(whole_lines(&outcome.stdout))
    }

    /// A text that a step printed, for people.
    pub(crate) fn hide(&self, printed: &str) -> String {
        let secrets = self.index.as_ref().map(Index::secrets).unwrap_or_default();
        secrets.hide(printed)
    }
}

impl Inner {
    /// Runs something with the interpreters in its view. `hide` takes the secrets out of what a failure tells.
    pub(crate) async fn run(
        &self,
        language: Language,
        mut spec: Spec,
        listener: Listener,
        hide: &(dyn Fn(&str) -> String + Sync),
    ) -> Result<Outcome, Failure> {
        for other in self.interpreters.others() {
            spec.mounts.extend(other.mounts.iter().cloned());
            spec.programs.push(other.programs.clone());
            spec.links.extend(other.links.iter().cloned());
        }
        let outcome = self.sandbox.run(spec, listener).await;
        let outcome = outcome.map_err(|error| port_failure(&error))?;
        match failure(language, &outcome, hide) {
            Some(failure) => Err(failure),
            None => Ok(outcome),
        }
    }
}

/// The reason why a step failed.
fn failure(
    language: Language,
    outcome: &Outcome,
    hide: &dyn Fn(&str) -> String,
) -> Option<Failure> {
    let (kind, why) = match (outcome.reason, outcome.exit) {
        (Reason::Ok, Some(Exit::Code(0))) => {
            let refused = outcome.artifacts.iter().find_map(|artifact| {
                let Change::Refused(why) = &artifact.change else {
                    return None;
                };
                (artifact.path != INTERPRETER_LINK)
                    .then(|| format!("{} can't be saved: {why}", artifact.path))
            });
            (FailureKind::TooLarge, refused?)
        }
        (Reason::Ok, Some(Exit::Code(127))) => {
            let program = match language {
                Language::Python => "`uv` or the interpreter of Python",
                Language::Node => "`node` or `npm`",
            };
            let why = format!("{program} isn't installed where the sandbox can see it");
            (FailureKind::ToolMissing, why)
        }
        (Reason::Ok, _) => {
            // Before the text is shortened: of a secret that is cut short, the beginning would be told.
            let output = hide(&whole_lines(&outcome.stderr));
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
            "an installer did something that the sandbox forbids".to_owned(),
        ),
    };
    Some(Failure::new(kind, why))
}

/// The lines of an output as far as all of each is there: of a secret that is cut short, the beginning would be told.
fn whole_lines(output: &CapturedOutput) -> String {
    let mut text = String::from_utf8_lossy(&output.head).into_owned();
    if output.left_out > 0 || !output.tail.is_empty() {
        text.truncate(text.rfind('\n').map_or(0, |at| at + 1));
    }
    text
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

#[cfg(test)]
mod tests {
    use gongfu_core::sandbox::CapturedOutput;

    use super::whole_lines;

    #[test]
    fn line_that_is_cut_short_is_left_out() {
        let whole = CapturedOutput {
            head: b"one\ntwo".to_vec(),
            ..CapturedOutput::default()
        };
        assert_eq!(whole_lines(&whole), "one\ntwo");
        let cut = CapturedOutput {
            left_out: 9,
            ..whole
        };
        assert_eq!(whole_lines(&cut), "one\n");
    }
}
