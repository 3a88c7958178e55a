//! The English table of messages.

use std::fmt::Write as _;

use gongfu_core::account::Scope;
use gongfu_core::edit::EditError;
use gongfu_core::near;

use super::{Problem, Text, clipped};

/// The names that a hint spells out.
const NAMES_IN_HINT: usize = 12;

impl Problem {
    /// The words for people, in English.
    #[expect(
        clippy::too_many_lines,
        reason = "one table, so that the compiler misses the words of a new problem"
    )]
    pub fn text(&self) -> Text {
        let (message, hint) = match self {
            Self::UnknownTool { name, nearest } => (
                format!("there is no tool `{}`", clipped(name)),
                guessed_of(name, "the tools are", nearest),
            ),
            Self::UnknownTarget { name, nearest } => (
                format!("there is no tool `{}`", clipped(name)),
                guessed_of(name, "the nearest are", nearest) + "; `tool_search` finds others",
            ),
            Self::MissingArgument { name, about } => (
                format!("the argument `{name}` is missing"),
                format!("pass `{name}`: {about}"),
            ),
            Self::UnknownArgument { name, known } => (
                format!("there is no argument `{}`", clipped(name)),
                guessed_of(name, "the arguments are", known),
            ),
            Self::WrongType {
                name,
                wanted,
                given,
            } => (
                format!("the argument `{name}` is {given}, not {wanted}"),
                format!("pass {wanted} as `{name}`"),
            ),
            Self::WrongValue { name, reason, hint } => (
                format!("the argument `{name}` can't be used: {reason}"),
                hint.clone(),
            ),
            Self::ArgumentsTooLarge { bytes, limit } => (
                format!("the arguments are {bytes} bytes long"),
                format!("keep them below {limit} bytes"),
            ),
            Self::SkillName { name, reason } => (
                format!("`{}` is not a valid skill name: {reason}", clipped(name)),
                "use a name or full name from `skill_list`, not a path".to_owned(),
            ),
            Self::SkillUnknown {
                name,
                nearest,
                total,
            } => (
                format!("there is no skill `{}`", clipped(name)),
                skills_hint(name, nearest, *total),
            ),
            Self::SkillDisabled { name, full_name } => (
                format!("the skill `{}` is disabled", clipped(name)),
                format!("a person can enable it: gongfu skill enable {full_name}"),
            ),
            Self::SkillUnreadable { name, reason } => (
                format!("the skill `{}` can't be read: {reason}", clipped(name)),
                format!(
                    "a person can find out why: run gongfu skill check on the folder of {}",
                    clipped(name)
                ),
            ),
            Self::FilePath { path, reason } => (
                format!(
                    "`{}` is not a path inside the skill: {reason}",
                    clipped(path)
                ),
                "use a path relative to the skill's folder, e.g. references/guide.md".to_owned(),
            ),
            Self::FileUnknown {
                skill,
                path,
                nearest,
            } => (
                format!(
                    "there is no file `{}` in the skill `{skill}`",
                    clipped(path)
                ),
                guessed(path, "the files are", nearest),
            ),
            Self::FileTooLarge { path, bytes, limit } => (
                format!("`{}` is {bytes} bytes large", clipped(path)),
                format!(
                    "an answer holds at most {limit} bytes of a file; use the file in a run instead"
                ),
            ),
            Self::SectionUnknown { section, headings } => (
                format!("there is no section `{}`", clipped(section)),
                guessed(section, "the headings are", headings),
            ),
            Self::ResourceUri { uri, reason } => (
                format!("`{}` is not a usable URI: {reason}", clipped(uri)),
                "take it from a list, or write it as skill://source/path/name/SKILL.md; that of another server as mcp:SERVER/URI".to_owned(),
            ),
            Self::ResourceUnknown { uri, nearest } => (
                format!("there is nothing at `{}`", clipped(uri)),
                listed("closest matches", nearest),
            ),
            Self::PromptUnknown {
                name,
                nearest,
                total,
            } => (
                format!("there is no prompt `{}`", clipped(name)),
                match total {
                    0 => "see `prompts/list`".to_owned(),
                    total => format!(
                        "{} ({total} in all: see `prompts/list`)",
                        listed("closest matches", nearest)
                    ),
                },
            ),
            Self::CursorUnknown { list } => (
                format!("the cursor doesn't belong to the current {list}"),
                "start again without a cursor".to_owned(),
            ),
            Self::PlacePath { path, reason } => (
                format!("`{}` can't be reached: {reason}", clipped(path)),
                "use a path in the workspace, e.g. src/main.py, or an absolute path in a mounted folder (--mount)".to_owned(),
            ),
            Self::PlaceUnknown { path } => (
                format!("there is nothing at `{}`", clipped(path)),
                "list its parent folder to see what exists".to_owned(),
            ),
            Self::SourceReadOnly { place, instead } => (
                format!("`{}` is read-only", clipped(place)),
                match instead {
                    Some(folder) => format!(
                        "new skills go to {folder}: create one there under another name, or ask a person to edit this one"
                    ),
                    None => "a person can add a writable folder: --skills-dir for skills, --mount without `:ro` for files".to_owned(),
                },
            ),
            Self::SkillExists { name, full_name } => (
                format!("the skill `{}` already exists: {full_name}", clipped(name)),
                "choose another name, or edit that skill if it is yours".to_owned(),
            ),
            Self::SkillInvalid { reason, hint } => (
                format!("the result would not load as a skill: {reason}"),
                format!("{hint}; nothing was written"),
            ),
            Self::FileNotText { path } => (
                format!("`{}` is not text", clipped(path)),
                "use it in a run, e.g. with a script".to_owned(),
            ),
            Self::IsAFolder { path } => (
                format!("`{}` is a folder", clipped(path)),
                "use the path of a file".to_owned(),
            ),
            Self::NotAFolder { path } => (
                format!("`{}` is not a folder, or one of its parents isn't", clipped(path)),
                "use the path of a folder, or of something in one".to_owned(),
            ),
            Self::EditRefused { path, why } => (
                format!("`{}` can't be changed: {why}", clipped(path)),
                match why {
                    EditError::Ambiguous(_) => "include more of the surrounding text so that it is unique".to_owned(),
                    EditError::Encoding => "convert the file to UTF-8 first".to_owned(),
                    EditError::Empty | EditError::Missing => {
                        "read the file again and pass the text exactly as it appears there".to_owned()
                    }
                },
            ),
            Self::Conflict { path, reason } => (
                format!("`{}` was not written: {reason}", clipped(path)),
                "read it again, then edit the current content".to_owned(),
            ),
            Self::RoleTooLow { tool, access } => (
                format!("this caller may not use `{tool}`"),
                format!("it needs the scope {}", Scope::of(*access)),
            ),
            Self::ScopeMissing { tool, scope } => (
                format!("the credential of this call may not use `{tool}`"),
                format!("it needs the scope {scope}; sign in again, or create a token that has it"),
            ),
            Self::PersonOnly { operation } => (
                format!("only a person may use `{operation}`"),
                "ask the person to do it at the command line; see `gongfu --help`".to_owned(),
            ),
            Self::OutOfReach { reason } => (
                clipped(reason),
                "use a token that reaches it, or ask the person".to_owned(),
            ),
            Self::ChangeSetUnknown { id } => (
                format!("there is no pending change set `{}`", clipped(id)),
                "it may have been applied or dropped; see `change_list` or `gongfu changes list`"
                    .to_owned(),
            ),
            Self::Outdated { skill } => (
                format!("the skill `{}` changed since it was read", clipped(skill)),
                "read it again, and send its new ETag as `If-Match`".to_owned(),
            ),
            Self::ChangeSetBusy { id, reason } => (
                format!("the change set `{}` is in use: {reason}", clipped(id)),
                "try again in a moment".to_owned(),
            ),
            Self::StorageFull { reason } => (
                format!("nothing was written: {reason}"),
                "delete what isn't needed, or ask the server's admin for more".to_owned(),
            ),
            Self::TooManyRuns { limit } => (
                format!("{limit} runs are already active, the maximum"),
                "nothing was run; try again when one of them has finished".to_owned(),
            ),
            Self::RunsUsedUp { limit } => (
                format!("{limit} commands were run in the last hour, the maximum"),
                "nothing was run; try again later".to_owned(),
            ),
            Self::TooManyQuestions => (
                "too many calls are already waiting for approval".to_owned(),
                "nothing was done; a person can answer them with `gongfu approve list`, then `allow` or `deny`"
                    .to_owned(),
            ),
            Self::TooManyCalls { limit } => (
                format!("the script has made {limit} calls, the maximum"),
                "the call wasn't made; do the rest in another script".to_owned(),
            ),
            Self::AnswerTooLarge { bytes, limit } => (
                format!("the answer is {bytes} bytes long"),
                format!("ask for less: a script gets at most {limit} bytes of a call"),
            ),
            Self::NestedScript => (
                "a script can't run another script".to_owned(),
                "call the tools from this one".to_owned(),
            ),
            Self::PythonMissing { reason } => (
                format!("there is no Python in the sandbox: {}", clipped(reason)),
                "a person can install Python 3 on this machine, or in the image of the sandbox"
                    .to_owned(),
            ),
            Self::Cancelled => (
                "the call was cancelled".to_owned(),
                "call again if it is still needed".to_owned(),
            ),
            Self::PartBroken { part, reason } => (
                format!("{part} can't be used: {reason}"),
                "see `gongfu doctor`; nothing was changed".to_owned(),
            ),
            Self::SandboxUnavailable { reason } => (
                format!("nothing was run: {reason}"),
                "a person can find out why: gongfu doctor".to_owned(),
            ),
            Self::ConnectionUnknown { name, nearest } => (
                format!("there is no connection `{}`", clipped(name)),
                if nearest.is_empty() {
                    "`gongfu connection add` adds one".to_owned()
                } else {
                    format!("the nearest are: {}", nearest.join(", "))
                },
            ),
            Self::ConnectionNotApproved {
                connection,
                reason,
                has_account,
            } => (
                format!("the connection `{connection}` can't be used: {reason}"),
                of_connection(*has_account, "can see and approve it", "approve", connection),
            ),
            Self::SignInRequired {
                connection,
                reason,
                has_account,
            } => (
                format!("the connection `{connection}` can't be used: {reason}"),
                of_connection(*has_account, "signs in with", "login", connection),
            ),
            Self::ServerUnavailable {
                connection,
                reason,
                has_account,
            } => (
                format!("the server of `{connection}` doesn't work: {reason}"),
                of_connection(*has_account, "can find out more", "test", connection),
            ),
            Self::SkillUnverified { skill, connection, reason } => (
                format!("`{}` isn't the skill that a person approved: {}", clipped(skill), clipped(reason)),
                format!(
                    "nothing of it was used; a person can see what changed: gongfu connection approve {connection}"
                ),
            ),
            Self::SkillOfServer { skill, connection } => (
                format!(
                    "`{}` is a skill of the server `{connection}`, of which nothing is run",
                    clipped(skill)
                ),
                "nothing was run; a person can copy the skill into a folder, and run it there".to_owned(),
            ),
            Self::RunRefused { reason } => (
                format!("the command can't run: {reason}"),
                "use an existing folder: /skill, /workspace, a mounted folder, or a folder below one of them"
                    .to_owned(),
            ),
            Self::CommandBlocked { reason } => (
                reason.clone(),
                "nothing was run; use another command, repeating this one won't help".to_owned(),
            ),
            Self::Declined {
                reason,
                is_command: true,
            } => (
                format!("a person declined this command: {reason}"),
                "nothing was run; don't try again, find another way".to_owned(),
            ),
            Self::Declined { reason, .. } => (
                format!("a person declined this call: {reason}"),
                "nothing was changed; don't try again, find another way".to_owned(),
            ),
            Self::ChangedSinceReview => (
                "what this call acts on changed after it was reviewed".to_owned(),
                "nothing was run or changed; call again, so that a person sees what it would do now"
                    .to_owned(),
            ),
            Self::ApprovalWaiting {
                reason,
                id,
                is_command,
                has_account,
                ..
            } => (
                if *is_command {
                    format!("this command needs a person's approval: {reason}")
                } else {
                    format!("this call needs a person's approval: {reason}")
                },
                {
                    let with = if *has_account {
                        format!("POST /api/v1/approvals/{id}")
                    } else {
                        format!("gongfu approve allow {id}")
                    };
                    format!(
                        "nothing was run; a person can allow it with `{with}`; then call again with the same arguments"
                    )
                },
            ),
            Self::ProjectUntrusted { skill, project } => (
                format!(
                    "{} is from the project {}, which isn't trusted yet",
                    clipped(skill),
                    clipped(project)
                ),
                format!(
                    "nothing was run; review the project's skills, then: gongfu trust {}",
                    clipped(project)
                ),
            ),
            Self::Dependencies {
                language,
                from,
                failure,
            } => (
                format!(
                    "can't install the {} packages listed in {}: {}",
                    language.title(),
                    clipped(from),
                    failure.why
                ),
                format!("nothing was run; {}", failure.kind.advice()),
            ),
            Self::RunEnded { why, said, .. } => (
                why.clone(),
                if said.is_empty() {
                    "there was no output".to_owned()
                } else {
                    format!("output so far:\n{said}")
                },
            ),
            Self::Model {
                model,
                error,
                session,
            } => super::agent::model_text(model, error, session.as_deref()),
            Self::BudgetUsedUp { reason } => (
                reason.clone(),
                "raise the limit in the settings, or start a new session".to_owned(),
            ),
            Self::SessionUnknown { id } => (
                format!("there is no session `{}`", clipped(id)),
                "`gongfu chat list` lists the sessions".to_owned(),
            ),
            Self::SessionInvalid { id, reason } => (
                format!("the session `{id}` can't be continued: {reason}"),
                format!("start a new session, or one with its first entries: gongfu chat fork {id} --at N"),
            ),
            Self::SessionOpen { id } => (
                format!("the last turn of the session `{id}` isn't finished"),
                format!("finish it first: `resume` with this session, or gongfu chat --session {id} --resume"),
            ),
            Self::SessionIdle { id } => (
                format!("the session `{id}` has nothing to resume: its last turn is finished"),
                "send a prompt instead".to_owned(),
            ),
            Self::SessionRunning { id } => (
                format!("a turn of the session `{id}` is running"),
                "wait until it is done, or stop it where it was started".to_owned(),
            ),
            Self::Fault { reason } => (
                format!("internal error: {reason}"),
                "please report this with the call that caused it".to_owned(),
            ),
        };
        Text { message, hint }
    }
}

/// The next step of a person about a connection. Those of a server have no command line there.
fn of_connection(has_account: bool, what: &str, command: &str, connection: &str) -> String {
    if has_account {
        return "nothing that you can change; ask the operator of the server".to_owned();
    }
    format!("a person {what}: gongfu connection {command} {connection}")
}

fn skills_hint(name: &str, nearest: &[String], total: usize) -> String {
    if nearest.is_empty() && total > 0 {
        return format!("there are {total} skills; list them to see their names and ids");
    }
    if nearest.is_empty() {
        return "the library is empty; a person can add a folder of skills with --skills-dir"
            .to_owned();
    }
    let name = name.rsplit('/').next().unwrap_or(name);
    let mut hint = guessed(name, "closest matches", nearest);
    if total > nearest.len().min(NAMES_IN_HINT) {
        let _ = write!(hint, " ({total} in all: see `skill_list`)");
    }
    hint
}

/// Names the one that was probably meant, and lists all.
fn guessed(name: &str, lead: &str, names: &[String]) -> String {
    asked(name, names, listed(lead, names))
}

/// The same, with the list in the order of names: few are near, and the others need an order that a reader knows.
fn guessed_of(name: &str, lead: &str, names: &[String]) -> String {
    let mut sorted = names.to_vec();
    let number = sorted.len().min(NAMES_IN_HINT);
    if let Some(named) = sorted.get_mut(..number) {
        named.sort_unstable();
    }
    asked(name, names, listed(lead, &sorted))
}

fn asked(name: &str, names: &[String], listed: String) -> String {
    match near::meant(name, names.iter().map(String::as_str)) {
        Some(meant) => format!("did you mean `{}`? {listed}", clipped(meant)),
        None => listed,
    }
}

fn listed(lead: &str, names: &[String]) -> String {
    if names.is_empty() {
        return format!("{lead} none");
    }
    let mut shown: Vec<String> = names
        .iter()
        .take(NAMES_IN_HINT)
        .map(|name| clipped(name))
        .collect();
    if names.len() > NAMES_IN_HINT {
        shown.push(format!("… and {} more", names.len() - NAMES_IN_HINT));
    }
    format!("{lead}: {}", shown.join(", "))
}
