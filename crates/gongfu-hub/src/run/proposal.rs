//! The proposal of a run: everything that decides what it does, as a person sees it.

use gongfu_core::grant::Grants;
use gongfu_core::library::{Skill, SkillVersion};
use gongfu_core::network::Rule;
use gongfu_core::port::RunFolder;
use gongfu_core::sandbox::{Command, Input};
use gongfu_core::skill::Digest;
use gongfu_core::text::visible;

use super::RunRequest;
use crate::call::{Call, Proposal};
use crate::error::ToolError;
use crate::problem::Problem;

/// The longest text that is shown to a person, in characters: they must see all that they allow.
const MAX_SHOWN: usize = 8_192;
/// The end of a text that is longer.
const CUT: &str = "… (the rest is too long to show)";
/// The action of a proposal.
pub(crate) const RUN_COMMAND: &str = "run this command";
/// The digits of a digest that a person compares.
const DIGEST_DIGITS: usize = 16;

/// The proposal to run something, for a reason.
///
/// # Errors
/// The grants or the folder of the skill can't be read.
pub(super) async fn proposal(
    call: &Call,
    request: &RunRequest,
    folders: &[RunFolder],
    reason: String,
) -> Result<Proposal, ToolError> {
    let skill = request.skill_with_unlisted(call).await?;
    let skill = skill.as_deref();
    let hosts = match skill {
        Some(skill) => hosts(call, skill).await?,
        None => Vec::new(),
    };
    let (kind, words, what) = match &request.command {
        Command::Line(line) => ("line", vec![line.clone()], line.clone()),
        Command::Program(words) => ("program", words.clone(), quoted(words)),
    };
    let input = match &request.input {
        Input::Bytes(bytes) => Some(bytes.as_slice()),
        Input::Nothing | Input::Reader(_) => None,
    };
    let (what, mut is_whole) = shown(&what);
    let mut details = Vec::new();
    if let Some(input) = input {
        is_whole &= add_input(&mut details, input);
    }
    if kind == "program" {
        details.push("no shell; arguments are passed as written".to_owned());
    }
    details.extend(skill.map(|skill| {
        let (name, path) = (shown(&skill.full_name).0, shown(&skill.path).0);
        format!(
            "skill: {name} in {path}, version {}",
            skill.digest().hex(DIGEST_DIGITS)
        )
    }));
    details.push(format!("starts in: {}", shown(request.folder()).0));
    details.extend(folders.iter().filter_map(|folder| {
        let host = shown(folder.host.as_deref()?).0;
        let access = if folder.is_read_only {
            "reads"
        } else {
            "reads and writes"
        };
        Some(format!("{access}: {host} as {}", shown(&folder.guest).0))
    }));
    if !hosts.is_empty() {
        details.push(format!("reaches: {}", hosts.join(", ")));
    }
    let folders = folders.iter();
    let folders = folders.map(|folder| (&folder.guest, &folder.host, folder.is_read_only));
    let all = serde_json::json!([
        skill.map(|skill| (&*skill.full_name, &*skill.path, skill.digest().to_string())),
        request.folder(),
        kind,
        words,
        input.map(|input| Digest::of(input).to_string()),
        folders.collect::<Vec<_>>(),
        hosts,
    ]);
    Ok(Proposal {
        action: RUN_COMMAND,
        what,
        details,
        is_whole,
        reason,
        digest: Digest::of(all.to_string().as_bytes()),
        any: None,
        skill: skill.map(SkillVersion::of),
        trust: None,
    })
}

/// The hosts that a skill may reach, for people.
async fn hosts(call: &Call, skill: &Skill) -> Result<Vec<String>, ToolError> {
    let grants = Grants::read(call.space.records()).await;
    let grants = grants.map_err(|error| Problem::broken("the grants", &error).error())?;
    let reach = grants.reach(skill);
    let told = |rule: &Rule| {
        if reach.private.0.contains(rule) {
            format!("{rule} (on this network as well)")
        } else {
            rule.to_string()
        }
    };
    Ok(reach.rules.0.iter().map(told).collect())
}

/// Adds the standard input; returns whether all of it is shown.
fn add_input(details: &mut Vec<String>, input: &[u8]) -> bool {
    let length = input.len();
    let Ok(text) = std::str::from_utf8(input) else {
        details.push(format!("standard input: {length} bytes, binary"));
        return false;
    };
    let (text, is_whole) = shown(text);
    details.push(format!("standard input ({length} bytes):"));
    details.extend(text.lines().map(|line| format!("  | {line}")));
    is_whole
}

/// A text as a person sees it: its lines, and every character that a screen would hide or obey by its number.
/// Returns as well whether it is all of it.
fn shown(text: &str) -> (String, bool) {
    let cut: String = text.chars().take(MAX_SHOWN).collect();
    let mut shown = visible(&cut).into_owned();
    let is_whole = text.chars().nth(MAX_SHOWN).is_none();
    if !is_whole {
        shown.push_str(CUT);
    }
    (shown, is_whole)
}

/// Words as a shell would read them, so that their ends are visible.
pub(super) fn quoted(words: &[String]) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./:=@%+,".contains(letter);
    let words = words.iter().map(|word| {
        if !word.is_empty() && word.chars().all(is_plain) {
            word.clone()
        } else {
            format!("'{}'", word.replace('\'', "'\\''"))
        }
    });
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::{MAX_SHOWN, add_input, quoted, shown};

    #[test]
    fn everything_that_a_screen_hides_is_shown() {
        let text = "ls\u{1b}[2K\r\n\u{202e}x\u{e0041}\u{200b}\ty";
        let expected = "ls\\u{1b}[2K\\u{d}\n\\u{202e}x\\u{e0041}\\u{200b}\ty";
        assert_eq!(shown(text), (expected.to_owned(), true));
        let (long, is_whole) = shown(&"x".repeat(MAX_SHOWN + 1));
        assert!(!is_whole && long.ends_with("too long to show)"));
    }

    #[test]
    fn input_is_shown_line_by_line() {
        let mut details = Vec::new();
        assert!(add_input(&mut details, b"echo one\necho two\n"));
        assert_eq!(
            details,
            ["standard input (18 bytes):", "  | echo one", "  | echo two"]
        );
        assert!(!add_input(&mut details, b"\xff"));
        assert!(!add_input(&mut details, &[b'x'; MAX_SHOWN + 1]));
    }

    #[test]
    fn words_keep_their_ends() {
        let words = ["bash", "-c", "echo a; b", "it's", ""].map(str::to_owned);
        assert_eq!(quoted(&words), r"bash -c 'echo a; b' 'it'\''s' ''");
    }
}
