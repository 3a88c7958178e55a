//! The English table of messages.

use std::fmt::Write as _;

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
                listed("the tools here are", nearest),
            ),
            Self::MissingArgument { name, about } => (
                format!("the argument `{name}` is missing"),
                format!("give `{name}`: {about}"),
            ),
            Self::UnknownArgument { name, known } => (
                format!("there is no argument `{}`", clipped(name)),
                match near::meant(name, known.iter().map(String::as_str)) {
                    Some(meant) => {
                        format!("did you mean `{meant}`? {}", listed("the arguments are", known))
                    }
                    None => listed("the arguments are", known),
                },
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
                format!("`{}` can't be the name of a skill: {reason}", clipped(name)),
                "give a name or a full name as `skill_list` shows it, never a path".to_owned(),
            ),
            Self::SkillUnknown {
                name,
                nearest,
                total,
            } => (
                format!("there is no skill `{}`", clipped(name)),
                skills_hint(nearest, *total),
            ),
            Self::SkillDisabled { name, full_name } => (
                format!("the skill `{}` is switched off", clipped(name)),
                format!("a person can switch it on: gongfu skill enable {full_name}"),
            ),
            Self::SkillUnreadable { name, reason } => (
                format!("the skill `{}` can't be read: {reason}", clipped(name)),
                format!(
                    "a person can look: gongfu skill check, on the folder of {}",
                    clipped(name)
                ),
            ),
            Self::FilePath { path, reason } => (
                format!(
                    "`{}` is no path inside of the skill: {reason}",
                    clipped(path)
                ),
                "give a path relative to the skill's folder, e.g. references/guide.md".to_owned(),
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
                listed("the files are", nearest),
            ),
            Self::FileTooLarge { path, bytes, limit } => (
                format!("`{}` is {bytes} bytes large", clipped(path)),
                format!(
                    "an answer carries at most {limit} bytes of such a file; use it where it lies"
                ),
            ),
            Self::SectionUnknown { section, headings } => (
                format!("there is no section `{}`", clipped(section)),
                listed("the headings are", headings),
            ),
            Self::ResourceUri { uri, reason } => (
                format!("`{}` is no URI that can be used here: {reason}", clipped(uri)),
                "write it as skill://source/path/name/SKILL.md, or take it from a list".to_owned(),
            ),
            Self::ResourceUnknown { uri, nearest } => (
                format!("there is nothing at `{}`", clipped(uri)),
                listed("nearest first, there are", nearest),
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
                        listed("nearest first, there are", nearest)
                    ),
                },
            ),
            Self::CursorUnknown { list } => (
                format!("the cursor is none of {list} as it is now"),
                "start again without a cursor".to_owned(),
            ),
            Self::PlacePath { path, reason } => (
                format!("`{}` can't be reached: {reason}", clipped(path)),
                "give a path below the workspace, e.g. src/main.py, or an absolute one below a folder that the operator mounted (--mount)".to_owned(),
            ),
            Self::PlaceUnknown { path } => (
                format!("there is nothing at `{}`", clipped(path)),
                "list the folder above it to see what is there".to_owned(),
            ),
            Self::SourceReadOnly { place, instead } => (
                format!("`{}` is not written to", clipped(place)),
                match instead {
                    Some(folder) => format!(
                        "skills are written to {folder}: make one there under another name, or ask a person to change this one where it lies"
                    ),
                    None => "a person can name a folder to write to: --skills-dir for skills, --mount without `:ro` for files".to_owned(),
                },
            ),
            Self::SkillExists { name, full_name } => (
                format!("there is a skill `{}` already: {full_name}", clipped(name)),
                "choose another name, or change that one".to_owned(),
            ),
            Self::SkillInvalid { reason, hint } => (
                format!("that would be no skill that can be loaded: {reason}"),
                format!("{hint}; nothing was written"),
            ),
            Self::FileNotText { path } => (
                format!("`{}` is not text", clipped(path)),
                "use it where it lies, e.g. by a script".to_owned(),
            ),
            Self::IsAFolder { path } => (
                format!("`{}` is a folder", clipped(path)),
                "give the path of a file".to_owned(),
            ),
            Self::NotAFolder { path } => (
                format!("`{}` is not a folder, or something above it is none", clipped(path)),
                "give the path of a folder, or of something below one".to_owned(),
            ),
            Self::EditRefused { path, why } => (
                format!("`{}` can't be changed: {why}", clipped(path)),
                match why {
                    EditError::Ambiguous(_) => "give more of the text around it, so that it is unique".to_owned(),
                    EditError::Encoding => "convert the file to UTF-8 first".to_owned(),
                    EditError::Empty | EditError::Missing => {
                        "read the file again and give the text exactly as it stands there".to_owned()
                    }
                },
            ),
            Self::Conflict { path, reason } => (
                format!("`{}` was not written: {reason}", clipped(path)),
                "read it again, then change what is there now".to_owned(),
            ),
            Self::RoleTooLow { tool, access } => (
                format!("this caller may not use `{tool}`"),
                format!("it needs the scope {}", access.scope()),
            ),
            Self::PersonOnly { operation } => (
                format!("only a person may use `{operation}`"),
                "ask the person to do it at the command line; see `gongfu --help`".to_owned(),
            ),
            Self::ChangeSetUnknown { id } => (
                format!("no change set `{}` waits", clipped(id)),
                "it was applied or dropped, or there never was one; see `change_list`, or `gongfu changes list`"
                    .to_owned(),
            ),
            Self::ChangeSetBusy { id, reason } => (
                format!("the change set `{}` is in use: {reason}", clipped(id)),
                "look again in a moment whether it still waits".to_owned(),
            ),
            Self::TooManyRuns { limit } => (
                format!("{limit} runs are going on already, the most at once"),
                "nothing was run; try again when some of them have ended".to_owned(),
            ),
            Self::TooManyQuestions => (
                "too many calls wait for a person already".to_owned(),
                "nothing was done; a person answers them with `gongfu approve list`, and then `allow` or `deny`"
                    .to_owned(),
            ),
            Self::Cancelled => (
                "the call was cancelled".to_owned(),
                "call again if it is still wanted".to_owned(),
            ),
            Self::PartBroken { part, reason } => (
                format!("{part} can't be used: {reason}"),
                "see `gongfu doctor`; nothing was changed".to_owned(),
            ),
            Self::SandboxUnavailable { reason } => (
                format!("nothing was run: {reason}"),
                "a person can see what this machine lacks: gongfu doctor".to_owned(),
            ),
            Self::RunRefused { reason } => (
                format!("it can't be run: {reason}"),
                "give a folder that is there: /skill, /workspace, a mounted one, or one below them"
                    .to_owned(),
            ),
            Self::CommandBlocked { reason } => (
                reason.clone(),
                "nothing was run; write another command, asking again changes nothing".to_owned(),
            ),
            Self::Declined {
                reason,
                is_command: true,
            } => (
                format!("a person declined this command: {reason}"),
                "nothing was run; don't try it again, do it another way".to_owned(),
            ),
            Self::Declined { reason, .. } => (
                format!("a person declined this call: {reason}"),
                "nothing was changed; don't try it again, do it another way".to_owned(),
            ),
            Self::ApprovalWaiting {
                reason,
                id,
                is_command,
                ..
            } => (
                if *is_command {
                    format!("a person has to allow this command: {reason}")
                } else {
                    format!("a person has to allow this call: {reason}")
                },
                format!(
                    "nothing was run; whoever runs gongfu allows it by `gongfu approve allow {id}`, then call again with the same arguments"
                ),
            ),
            Self::Dependencies {
                language,
                from,
                failure,
            } => (
                format!(
                    "the {} packages that {} names can't be installed: {}",
                    language.title(),
                    clipped(from),
                    failure.why
                ),
                format!("nothing was run; {}", failure.kind.advice()),
            ),
            Self::RunEnded { why, said, .. } => (
                why.clone(),
                if said.is_empty() {
                    "it said nothing until then".to_owned()
                } else {
                    format!("until then it said:\n{said}")
                },
            ),
            Self::Fault { reason } => (
                format!("a fault of gongfu's own: {reason}"),
                "please report it with the call that led to it".to_owned(),
            ),
        };
        Text { message, hint }
    }
}

fn skills_hint(nearest: &[String], total: usize) -> String {
    if nearest.is_empty() {
        return "the library is empty: a person can name a folder of skills by --skills-dir"
            .to_owned();
    }
    let mut hint = listed("nearest first, there are", nearest);
    if total > nearest.len().min(NAMES_IN_HINT) {
        let _ = write!(hint, " ({total} in all: see `skill_list`)");
    }
    hint
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
