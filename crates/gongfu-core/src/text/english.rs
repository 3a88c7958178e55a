//! English.

use gongfu_skills_ref::Reason;

use super::Text;
use crate::import::Language;
use crate::skill::Finding;
use crate::skill::name::NameFault;

/// The words for a finding about a skill.
#[expect(
    clippy::too_many_lines,
    reason = "one table, so that the compiler misses the words of a new finding"
)]
pub fn finding(finding: &Finding) -> Text {
    match finding {
        Finding::PathMissing { path } => {
            Text::new(format!("{path} doesn't exist"), "check the path")
        }
        Finding::PathNotAFolder { path } if is_archive(path) => Text::new(
            format!("{path} is an archive, not a folder"),
            "unpack it, and pass the folder that holds SKILL.md",
        ),
        Finding::PathNotAFolder { path } => Text::new(
            format!("{path} is not a folder"),
            "pass a skill's folder, a folder of skills, or a SKILL.md",
        ),
        Finding::FolderUnreadable { reason } => Text::new(
            format!("the folder can't be read: {reason}"),
            "make it readable, or pass another one",
        ),
        Finding::SkillFileMissing => Text::new(
            "the folder has no SKILL.md",
            "create SKILL.md with `name` and `description` in its frontmatter; `gongfu skill new` does",
        ),
        Finding::SkillPacked => Text::new(
            "this skill is packed, and gongfu doesn't load archives",
            "unpack it here: a folder of its own, with SKILL.md at the top",
        ),
        Finding::SkillFileIsCode { marker } => Text::new(
            format!("the skill is defined in Python only (`{marker}`)"),
            "put its name, description and instructions in a SKILL.md; gongfu never runs code to find skills",
        ),
        Finding::SkillFileSpelling { name } => Text::new(
            format!("the file is called {name}, not SKILL.md"),
            "rename it; many clients accept only SKILL.md",
        ),
        Finding::SkillFileEmpty => Text::new(
            "SKILL.md is empty",
            "write `name` and `description` in its frontmatter, and the instructions below",
        ),
        Finding::SkillFileUnreadable { reason } => Text::new(
            format!("SKILL.md can't be read: {reason}"),
            "it must be a readable, regular file in the skill's folder",
        ),
        Finding::SkillFileNotText => Text::new("SKILL.md is not text", "save it as UTF-8 text"),
        Finding::SkillFileTooLarge { bytes, limit } => Text::new(
            format!("SKILL.md is {bytes} bytes long; the limit is {limit}"),
            "move material to references/",
        ),
        Finding::EntriesLeftOut { limit } => Text::new(
            format!("more than {limit} files and folders; the rest was skipped"),
            "pass a smaller folder",
        ),
        Finding::FoldersLeftOut { limit, example } => Text::new(
            format!(
                "more than {limit} folders in this one; {example} and everything after it were skipped"
            ),
            "pass the folder with the skills as --skills-dir, which has higher limits",
        ),
        Finding::DepthLeftOut { limit, example } => Text::new(
            format!("{example} is more than {limit} levels deep and was skipped"),
            "move its skills up, or pass the folder as --skills-dir",
        ),
        Finding::ByteOrderMark => Text::new(
            "the file starts with a byte order mark",
            "save it as UTF-8 without the mark; many readers don't see the frontmatter after it",
        ),
        Finding::EncodingUtf16 => Text::new("the file is UTF-16", "save it as UTF-8"),
        Finding::EncodingInvalid { count } => Text::new(
            format!(
                "{count} {} not UTF-8",
                plural(*count, "byte sequence is", "byte sequences are")
            ),
            "save the file as UTF-8",
        ),
        Finding::ControlCharacters { count, first } => Text::new(
            format!(
                "{count} control {}, first U+{:04X}",
                plural(*count, "character", "characters"),
                u32::from(*first)
            ),
            "remove them; YAML and many readers reject them",
        ),
        Finding::HiddenCharacters { count, first } => Text::new(
            format!(
                "{count} hidden {}, first U+{:04X}",
                plural(*count, "character", "characters"),
                u32::from(*first)
            ),
            "see what they hide before you trust this skill, and remove them: a model reads text that people can't see",
        ),
        Finding::FrontmatterMissing => Text::new(
            "there is no frontmatter",
            "start the file with a line `---`, then `name:` and `description:`, then another `---`",
        ),
        Finding::FrontmatterNotFirst => Text::new(
            "blank lines before the frontmatter",
            "make `---` the first line",
        ),
        Finding::FrontmatterUnopened => Text::new(
            "the frontmatter has no opening `---`",
            "make `---` the first line",
        ),
        Finding::FrontmatterUnclosed => Text::new(
            "the frontmatter has no closing `---`",
            "add a line `---` between the fields and the text",
        ),
        Finding::FrontmatterTooLarge { bytes, limit } => Text::new(
            format!("the frontmatter is {bytes} bytes long; the limit is {limit}"),
            "move text to the body",
        ),
        Finding::YamlUnquoted { field } => Text::new(
            format!("the value of `{field}` is not valid YAML without quotes"),
            "put the value in double quotes, with `\\` before each `\"` in it",
        ),
        Finding::YamlInvalid { problem } => Text::new(
            format!("the frontmatter is not valid YAML: {problem}"),
            "fix the YAML here; until then only plain `key: value` lines are read",
        ),
        Finding::YamlNotAMapping => Text::new(
            "the frontmatter has no fields",
            "write `key: value` lines between the two `---`",
        ),
        Finding::YamlTooDeep { limit } => Text::new(
            format!("the frontmatter is nested deeper than {limit} levels"),
            "flatten it",
        ),
        Finding::YamlTooManyNodes { limit } => Text::new(
            format!("the frontmatter has more than {limit} values"),
            "shorten it, and don't nest aliases",
        ),
        Finding::YamlDuplicateKey { key } => Text::new(
            format!("duplicate field `{key}`"),
            "keep one; gongfu uses the last",
        ),
        Finding::NameMissing { folder } => Text::new(
            "the field `name` is missing",
            format!("add `name: {folder}`; until then the folder's name is used"),
        ),
        Finding::NameNotText => Text::new(
            "the field `name` is not a string",
            "write the name as one word",
        ),
        Finding::NameUnusable { reason } => Text::new(
            format!("the name can't be used: {reason}"),
            "use lower-case letters, digits and single hyphens; until then the folder's name is used",
        ),
        Finding::NameBreaksRule { name, fault } => name_fault(name, *fault),
        Finding::NameDiffersFromFolder { name, folder } => Text::new(
            format!(
                "the name `{}` differs from its folder `{}`",
                clipped(name),
                clipped(folder)
            ),
            "rename one of them; they must be equal",
        ),
        Finding::NameMixedScript { name, odd } => Text::new(
            format!(
                "the name `{}` mixes letters of several scripts, such as U+{:04X}",
                clipped(name),
                u32::from(*odd)
            ),
            "check that it doesn't imitate another skill before you trust it; use letters of one script",
        ),
        Finding::NameNotInUri { name } => Text::new(
            format!("the name `{}` must be escaped in a URI", clipped(name)),
            "use ASCII letters, digits and hyphens; clients that load skills by URI don't see it otherwise",
        ),
        Finding::DescriptionMissing { stand_in: true } => Text::new(
            "the field `description` is missing",
            "say what the skill does and when to use it; until then the first paragraph is used",
        ),
        Finding::DescriptionMissing { stand_in: false } => Text::new(
            "the field `description` is missing",
            "say what the skill does and when to use it; without it no agent finds the skill",
        ),
        Finding::DescriptionVague => Text::new(
            "the description fits any skill",
            "say what this one does and when to use it, in words that people use for the task",
        ),
        Finding::DescriptionNotText => Text::new(
            "the field `description` is not a string",
            "write it as one string",
        ),
        Finding::DescriptionTooLong { length, limit } => Text::new(
            format!("the description is {length} characters long; the limit is {limit}"),
            "shorten it; details belong in the body",
        ),
        Finding::CompatibilityNotText => Text::new(
            "the field `compatibility` is not a string",
            "write it as one string",
        ),
        Finding::CompatibilityTooLong { length, limit } => Text::new(
            format!("`compatibility` is {length} characters long; the limit is {limit}"),
            "shorten it",
        ),
        Finding::MetadataNotAMapping => Text::new(
            "the field `metadata` has no fields",
            "write indented `key: value` lines below it",
        ),
        Finding::MetadataNested { key } => Text::new(
            format!("`metadata.{key}` is not a string"),
            "write a string; clients that follow the format convert anything else to one",
        ),
        Finding::AllowedToolsShape => Text::new(
            "`allowed-tools` is not a space-separated string",
            "write one string, such as `allowed-tools: Bash(git:*) Read`",
        ),
        Finding::FieldUnknown {
            field,
            near: Some(near),
        } => Text::new(
            format!("unknown field `{}`", clipped(field)),
            format!("did you mean `{near}`? Fields of your own belong in `metadata`"),
        ),
        Finding::FieldUnknown { field, near: None } => Text::new(
            format!("unknown field `{}`", clipped(field)),
            "move it to `metadata`",
        ),
        Finding::TemplateUntouched { text } => Text::new(
            format!("text of the template: \"{}\"", clipped(text)),
            "replace it with your own",
        ),
        Finding::BodyEmpty => Text::new(
            "no instructions after the frontmatter",
            "write what an agent should do",
        ),
        Finding::BodyTooLong { lines, tokens } => Text::new(
            format!("the body is long: {lines} lines, about {tokens} tokens"),
            "keep it under 500 lines and 5,000 tokens; move details to references/ and link to them",
        ),
        Finding::ReferenceDangling { target } => Text::new(
            format!("`{}` is not in the skill", clipped(target)),
            "add the file, or fix the path; it is relative to the skill's folder",
        ),
        Finding::ReferenceOutside { target } => Text::new(
            format!("`{}` is outside the skill", clipped(target)),
            "refer to the other skill by name, or copy the file into this one; files outside are never served",
        ),
        Finding::FileUnreadable { reason } => Text::new(
            format!("the file can't be read: {reason}"),
            "make it readable, or remove it",
        ),
        Finding::FileSpecial { kind } => Text::new(
            format!("{kind} is not a regular file"),
            "remove it; only regular files are served",
        ),
        Finding::FileNameUnusable { name } => Text::new(
            format!("the file name {} can't be served", clipped(name)),
            "rename it: UTF-8, no backslashes or control characters, not `~`, no drive letter",
        ),
        Finding::LinkOutside => Text::new(
            "the link leads outside the skill",
            "copy its target into the skill; links that lead out are never followed",
        ),
        Finding::SkillLinkOutside => Text::new(
            "the link leads to a skill in a folder that is not a source of skills",
            "pass the real folder as --skills-dir; links to other folders are not followed",
        ),
        Finding::SkillsLinkOutside => Text::new(
            "the folder of skills is a link out of the project, which isn't trusted",
            "review where it leads, then run `gongfu trust`; until then it is not followed",
        ),
        Finding::LinkDangling => Text::new("broken link", "fix or remove it"),
        Finding::LinkLoop => Text::new("the link leads back to itself", "remove it"),
        Finding::FilesTooMany { files, limit } => Text::new(
            format!("the skill has {files} files; clients accept {limit}"),
            "remove some; over MCP it is served without digests, and some clients reject it",
        ),
        Finding::SkillTooLarge { bytes, limit } => Text::new(
            format!("the skill is {bytes} bytes; clients accept {limit}"),
            "shrink it; over MCP it is served without digests, and some clients reject it",
        ),
        Finding::ScriptWithoutInterpreter => Text::new(
            "the script names no interpreter",
            "start it with a line like `#!/usr/bin/env python3`, or add an extension",
        ),
        Finding::ScriptShebangCarriageReturn => Text::new(
            "the first line ends with a carriage return",
            "end it with a line feed only; the carriage return becomes part of the interpreter's name",
        ),
        Finding::ScriptDependenciesUndeclared {
            language,
            packages,
            unknown,
        } => undeclared(*language, packages, unknown),
        Finding::NameTaken { name, winner } => Text::new(
            format!("the name `{}` is taken by {winner}", clipped(name)),
            "use the full name, rename it, or disable the other",
        ),
        Finding::Strict(reason) => Text::new(reason.to_string(), strict_hint(reason)),
    }
}

fn name_fault(name: &str, fault: NameFault) -> Text {
    let name = clipped(name);
    match fault {
        NameFault::TooLong(length) => Text::new(
            format!("the name is {length} characters long; the limit is 64"),
            "shorten it",
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
            format!("the name `{name}` contains {odd:?}"),
            "use only letters, digits and hyphens",
        ),
    }
}

fn strict_hint(reason: &Reason) -> &'static str {
    match reason {
        Reason::NotUtf8 => "save the file as UTF-8",
        Reason::MissingFrontmatter => "start the file with `---`, without a byte order mark",
        Reason::UnclosedFrontmatter => "add a line `---` between the fields and the text",
        Reason::Yaml { .. } | Reason::Crash { .. } => {
            "the reference reads a subset of YAML: block style, each key once, no flow collections, anchors or tags, no `---` inside a value"
        }
        Reason::NotAMapping => "write `key: value` lines between the two `---`",
        Reason::UnexpectedFields { .. } => "move them to `metadata`",
        _ => "change the field to what the format allows",
    }
}

fn undeclared(language: Language, packages: &[String], unknown: &[String]) -> Text {
    let names = |names: &[String], mark: &str| {
        let quoted: Vec<String> = names
            .iter()
            .map(|name| format!("{mark}{name}{mark}"))
            .collect();
        quoted.join(", ")
    };
    let mut undeclared = Vec::new();
    let mut hints = Vec::new();
    if !packages.is_empty() {
        let what = plural(packages.len(), "the package", "the packages");
        undeclared.push(format!("{what} {}", names(packages, "")));
        hints.push(match language {
            Language::Python => format!(
                "declare them in the script (PEP 723): `# /// script`, `# dependencies = [{}]`, `# ///`; or add a requirements.txt",
                names(packages, "\"")
            ),
            Language::Node => "add a package.json with these dependencies".to_owned(),
        });
    }
    if !unknown.is_empty() {
        let what = match (language, unknown.len()) {
            (Language::Python, 1) => "the module",
            (Language::Python, _) => "the modules",
            (Language::Node, 1) => "the import",
            (Language::Node, _) => "the imports",
        };
        undeclared.push(format!("{what} {}", names(unknown, "`")));
        hints.push(format!(
            "gongfu doesn't know which {} {}: look up the package before you declare it",
            plural(unknown.len(), "package provides", "packages provide"),
            names(unknown, "`")
        ));
    }
    Text::new(
        format!("undeclared dependencies: {}", undeclared.join(" and ")),
        hints.join("; "),
    )
}

/// Returns true if a path is that of a packed skill.
fn is_archive(path: &str) -> bool {
    let extension = path.rsplit_once('.').map(|(_, extension)| extension);
    extension.is_some_and(|extension| {
        ["zip", "skill"]
            .iter()
            .any(|archive| extension.eq_ignore_ascii_case(archive))
    })
}

fn plural(count: usize, one: &'static str, many: &'static str) -> &'static str {
    if count == 1 { one } else { many }
}

/// A stranger's text on one line, cut to what fits in a message.
fn clipped(text: &str) -> String {
    super::clipped(text, 80, ' ')
}
