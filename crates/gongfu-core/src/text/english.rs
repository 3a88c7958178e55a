//! English.

use gongfu_skills_ref::Reason;

use super::Text;
use crate::skill::Finding;
use crate::skill::name::NameFault;

/// The words for a finding about a skill.
#[expect(
    clippy::too_many_lines,
    reason = "one table, so that the compiler misses the words of a new finding"
)]
pub fn finding(finding: &Finding) -> Text {
    match finding {
        Finding::PathMissing { path } => Text::new(
            format!("there is nothing at {path}"),
            "check the spelling of the path",
        ),
        Finding::PathNotAFolder { path } => Text::new(
            format!("{path} is not a folder"),
            "name a skill's folder, a folder of skills, or a SKILL.md",
        ),
        Finding::FolderUnreadable { reason } => Text::new(
            format!("the folder can't be read: {reason}"),
            "make it readable for you, or name another one",
        ),
        Finding::SkillFileMissing => Text::new(
            "the folder has no SKILL.md",
            "create SKILL.md with a frontmatter that holds `name` and `description`",
        ),
        Finding::SkillFileIsCode { marker } => Text::new(
            format!("the skill is defined in Python only (`{marker}`)"),
            "write its name, description and instructions into a SKILL.md; gongfu never imports code to find skills",
        ),
        Finding::SkillFileSpelling { name } => Text::new(
            format!("the file is called {name}"),
            "rename it to SKILL.md; many clients look for that spelling only",
        ),
        Finding::SkillFileEmpty => Text::new(
            "SKILL.md is empty",
            "add a frontmatter with `name` and `description`, and the instructions below it",
        ),
        Finding::SkillFileUnreadable { reason } => Text::new(
            format!("SKILL.md can't be read: {reason}"),
            "make it a regular file inside the skill's folder that you may read",
        ),
        Finding::SkillFileNotText => Text::new("SKILL.md is not text", "save it as UTF-8 text"),
        Finding::SkillFileTooLarge { bytes, limit } => Text::new(
            format!("SKILL.md is {bytes} bytes long"),
            format!("keep it below {limit} bytes; move material to references/"),
        ),
        Finding::EntriesLeftOut { limit } => Text::new(
            format!("more than {limit} files and folders; the rest was left out"),
            "name a smaller folder",
        ),
        Finding::FoldersLeftOut { limit, example } => Text::new(
            format!(
                "more than {limit} folders below this one; {example} and what follows was left out"
            ),
            "name the folder that you mean by --skills-dir, which reads much larger trees",
        ),
        Finding::DepthLeftOut { limit, example } => Text::new(
            format!("{example} lies more than {limit} levels deep and was left out"),
            "move its skills up, or name the folder by --skills-dir",
        ),
        Finding::ByteOrderMark => Text::new(
            "the file starts with a byte order mark",
            "save it as UTF-8 without a mark; many readers take the frontmatter for missing",
        ),
        Finding::EncodingUtf16 => Text::new("the file is UTF-16", "save it as UTF-8"),
        Finding::EncodingInvalid { count } => Text::new(
            format!(
                "{count} {} no UTF-8",
                plural(*count, "sequence is", "sequences are")
            ),
            "save the file as UTF-8",
        ),
        Finding::ControlCharacters { count, first } => Text::new(
            format!(
                "{count} control {}, first U+{:04X}",
                plural(*count, "character", "characters"),
                u32::from(*first)
            ),
            "remove them; YAML and many readers refuse them",
        ),
        Finding::HiddenCharacters { count, first } => Text::new(
            format!(
                "{count} hidden {}, first U+{:04X}",
                plural(*count, "character", "characters"),
                u32::from(*first)
            ),
            "look at what they hide before you trust this skill, and remove them: a model reads what a person doesn't see",
        ),
        Finding::FrontmatterMissing => Text::new(
            "there is no frontmatter",
            "start the file with a line `---`, then `name:` and `description:`, then another `---`",
        ),
        Finding::FrontmatterNotFirst => Text::new(
            "something blank stands before the frontmatter",
            "make `---` the first line of the file",
        ),
        Finding::FrontmatterUnclosed => Text::new(
            "the frontmatter has no closing `---`",
            "put a line `---` between the fields and the text",
        ),
        Finding::FrontmatterTooLarge { bytes, limit } => Text::new(
            format!("the frontmatter is {bytes} bytes long"),
            format!("keep it below {limit} bytes; move text into the body"),
        ),
        Finding::YamlUnquoted { field } => Text::new(
            format!("the value of `{field}` needs quotes to be YAML"),
            "put the value in double quotes, with `\\` before each `\"` in it",
        ),
        Finding::YamlInvalid { problem } => Text::new(
            format!("the frontmatter is not YAML: {problem}"),
            "fix the YAML at this place; only plain `key: value` lines were read",
        ),
        Finding::YamlNotAMapping => Text::new(
            "the frontmatter is not a list of fields",
            "write `key: value` lines between the two `---`",
        ),
        Finding::YamlTooDeep { limit } => Text::new(
            format!("the frontmatter is nested deeper than {limit} levels"),
            "flatten it",
        ),
        Finding::YamlTooManyNodes { limit } => Text::new(
            format!("the frontmatter holds more than {limit} values"),
            "shorten it, and don't nest aliases",
        ),
        Finding::YamlDuplicateKey { key } => Text::new(
            format!("the field `{key}` is given twice"),
            "keep one of them; the last one counts here",
        ),
        Finding::NameMissing { folder } => Text::new(
            "the field `name` is missing",
            format!("add `name: {folder}`; the folder's name stands in"),
        ),
        Finding::NameNotText => Text::new(
            "the field `name` is not a text",
            "write the name as one word",
        ),
        Finding::NameUnusable { reason } => Text::new(
            format!("the name can't be used: {reason}"),
            "use lower-case letters, digits and single hyphens; the folder's name stands in",
        ),
        Finding::NameBreaksRule { name, fault } => name_fault(name, *fault),
        Finding::NameDiffersFromFolder { name, folder } => Text::new(
            format!(
                "the name `{}` differs from the folder's, `{}`",
                clipped(name),
                clipped(folder)
            ),
            "rename the folder or change `name` so that they are equal",
        ),
        Finding::NameMixedScript { name, odd } => Text::new(
            format!(
                "the name `{}` mixes letters of several scripts, U+{:04X} for one",
                clipped(name),
                u32::from(*odd)
            ),
            "look whether it is to pass for another skill before you trust it; write the name in letters of one script",
        ),
        Finding::NameNotInUri { name } => Text::new(
            format!("the name `{}` can't stand in a URI as it is", clipped(name)),
            "use ASCII letters, digits and hyphens; until then hosts that load skills by URI don't see it, tools and prompts do",
        ),
        Finding::DescriptionMissing { stand_in: true } => Text::new(
            "the field `description` is missing",
            "say what the skill does and when to use it; the first paragraph stands in",
        ),
        Finding::DescriptionMissing { stand_in: false } => Text::new(
            "the field `description` is missing",
            "say what the skill does and when to use it; without it no agent will find the skill",
        ),
        Finding::DescriptionNotText => Text::new(
            "the field `description` is not a text",
            "write it as one text",
        ),
        Finding::DescriptionTooLong { length, limit } => Text::new(
            format!("the description is {length} characters long"),
            format!("shorten it to {limit}; details belong in the body"),
        ),
        Finding::CompatibilityNotText => Text::new(
            "the field `compatibility` is not a text",
            "write it as one text",
        ),
        Finding::CompatibilityTooLong { length, limit } => Text::new(
            format!("`compatibility` is {length} characters long"),
            format!("shorten it to {limit}"),
        ),
        Finding::MetadataNotAMapping => Text::new(
            "the field `metadata` is not a list of fields",
            "write `key: value` lines below it",
        ),
        Finding::MetadataNested { key } => Text::new(
            format!("`metadata.{key}` holds more than a text"),
            "write a text; clients that follow the format turn anything else into one",
        ),
        Finding::AllowedToolsShape => Text::new(
            "`allowed-tools` is not a list separated by blanks",
            "write one text, e.g. `allowed-tools: Bash(git:*) Read`",
        ),
        Finding::FieldUnknown {
            field,
            near: Some(near),
        } => Text::new(
            format!("the field `{}` is not known", clipped(field)),
            format!("did you mean `{near}`? What is your own belongs below `metadata`"),
        ),
        Finding::FieldUnknown { field, near: None } => Text::new(
            format!("the field `{}` is not known", clipped(field)),
            "move it below `metadata`",
        ),
        Finding::BodyEmpty => Text::new(
            "there are no instructions below the frontmatter",
            "write what an agent should do",
        ),
        Finding::BodyTooLong { lines, tokens } => Text::new(
            format!("the body is long: {lines} lines, about {tokens} tokens"),
            "keep it below 500 lines and 5,000 tokens; move details to references/ and link to them",
        ),
        Finding::ReferenceDangling { target } => Text::new(
            format!("`{}` is not in the skill", clipped(target)),
            "add the file, or correct the path (relative to the skill's folder)",
        ),
        Finding::ReferenceOutside { target } => Text::new(
            format!("`{}` leads out of the skill", clipped(target)),
            "name the other skill instead, or copy the file into this one; what lies outside is never served",
        ),
        Finding::FileUnreadable { reason } => Text::new(
            format!("the file can't be read: {reason}"),
            "make it readable, or remove it",
        ),
        Finding::FileSpecial { kind } => Text::new(
            format!("{kind} is not a file"),
            "remove it; only regular files are served",
        ),
        Finding::FileNameUnusable { name } => Text::new(
            format!("the file name {} can't be served", clipped(name)),
            "rename it: UTF-8, without backslashes and control characters, not `~` and no drive letter",
        ),
        Finding::LinkOutside => Text::new(
            "the link leads out of the folder",
            "copy what it points to here, or name its folder by --skills-dir; links out are never followed",
        ),
        Finding::SkillLinkOutside => Text::new(
            "the skill's folder is a link that leads out of the one that was looked at",
            "name the real folder by --skills-dir; links out are never followed",
        ),
        Finding::LinkDangling => Text::new("the link points to nothing", "fix or remove it"),
        Finding::LinkLoop => Text::new("the link leads to itself", "remove it"),
        Finding::FilesTooMany { files, limit } => Text::new(
            format!("the skill has {files} files"),
            format!(
                "keep it at {limit} or less; over MCP it is served without digests, and some hosts refuse it"
            ),
        ),
        Finding::SkillTooLarge { bytes, limit } => Text::new(
            format!("the skill is {bytes} bytes large"),
            format!(
                "keep it at {limit} or less; over MCP it is served without digests, and some hosts refuse it"
            ),
        ),
        Finding::ScriptWithoutInterpreter => Text::new(
            "nothing says what runs this script",
            "start it with a line like `#!/usr/bin/env python3`, or give it an ending",
        ),
        Finding::ScriptShebangCarriageReturn => Text::new(
            "the first line ends with a carriage return",
            "end it with a line feed alone; the system looks for an interpreter of that name otherwise",
        ),
        Finding::ScriptDependenciesUndeclared { packages, manifest } => {
            undeclared(packages, manifest)
        }
        Finding::NameTaken { name, winner } => Text::new(
            format!("the name `{}` belongs to {winner}", clipped(name)),
            "use the full name to reach this one, rename it, or disable the other",
        ),
        Finding::Strict(reason) => Text::new(reason.to_string(), strict_hint(reason)),
    }
}

fn name_fault(name: &str, fault: NameFault) -> Text {
    let name = clipped(name);
    match fault {
        NameFault::TooLong(length) => Text::new(
            format!("the name is {length} characters long"),
            "shorten it to 64",
        ),
        NameFault::Uppercase => Text::new(
            format!("the name `{name}` has upper-case letters"),
            "write it in lower case",
        ),
        NameFault::EdgeHyphen => Text::new(
            format!("the name `{name}` starts or ends with a hyphen"),
            "remove that hyphen",
        ),
        NameFault::DoubleHyphen => Text::new(
            format!("the name `{name}` has two hyphens in a row"),
            "use single hyphens",
        ),
        NameFault::Character(odd) => Text::new(
            format!("the name `{name}` holds {odd:?}"),
            "use letters, digits and hyphens only",
        ),
    }
}

fn strict_hint(reason: &Reason) -> &'static str {
    match reason {
        Reason::NotUtf8 => "save the file as UTF-8",
        Reason::MissingFrontmatter => {
            "make `---` the very first characters of the file, without a byte order mark"
        }
        Reason::UnclosedFrontmatter => "put a line `---` between the fields and the text",
        Reason::Yaml { .. } | Reason::Crash { .. } => {
            "the reference reads a small part of YAML only: block style, each key once, no flow collections, anchors or tags, and no `---` inside a value"
        }
        Reason::NotAMapping => "write `key: value` lines between the two `---`",
        Reason::UnexpectedFields { .. } => "move them below `metadata`",
        _ => "change the field as the format asks",
    }
}

fn undeclared(packages: &[String], manifest: &str) -> Text {
    let names = packages.join(", ");
    let hint = if manifest == "package.json" {
        "add a package.json with these dependencies".to_owned()
    } else {
        let list: Vec<String> = packages
            .iter()
            .map(|package| format!("\"{package}\""))
            .collect();
        format!(
            "declare them in the script (PEP 723): `# /// script`, `# dependencies = [{}]`, `# ///`; or add a requirements.txt",
            list.join(", ")
        )
    };
    Text::new(
        format!(
            "imports {} nowhere: {names}",
            plural(
                packages.len(),
                "a package that is declared",
                "packages that are declared"
            )
        ),
        hint,
    )
}

fn plural(count: usize, one: &'static str, many: &'static str) -> &'static str {
    if count == 1 { one } else { many }
}

/// A stranger's text on one line, cut to what fits in a message.
fn clipped(text: &str) -> String {
    super::clipped(text, 80, ' ')
}
