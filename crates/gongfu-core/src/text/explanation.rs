//! The meaning of each code of a finding, with an example and the way to fix it.

mod strict;

use crate::skill::Severity;
use crate::skill::finding::Finding;

/// The explanation of a code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Explanation {
    /// The code.
    pub code: &'static str,
    /// Its severity.
    pub severity: Severity,
    /// Its meaning, and why it matters.
    pub meaning: &'static str,
    /// Something that has this finding.
    pub example: &'static str,
    /// The way to fix it.
    pub fix: &'static str,
}

/// The explanation of a code; `None` for a code that isn't one of a finding.
pub fn explanation(code: &str) -> Option<Explanation> {
    explanations().find(|explained| explained.code == code)
}

/// The explanations of all codes, those of the reference validator last.
pub fn explanations() -> impl Iterator<Item = Explanation> {
    let own = Finding::CODES.iter().map(|&(code, severity)| {
        let row = ROWS.iter().find(|row| row.0 == code);
        let &(_, meaning, example, fix) = row.unwrap_or(&(code, "", "", ""));
        Explanation {
            code,
            severity,
            meaning,
            example,
            fix,
        }
    });
    own.chain(strict::explanations())
}

/// Code, meaning, example and fix. An example with a line break is a SKILL.md in the folder `pdf-tools`.
const ROWS: &[(&str, &str, &str, &str)] = &[
    (
        "path-missing",
        "The path that was passed, or a configured folder of skills, doesn't exist.",
        "gongfu skill check ./no-such-folder",
        "Fix the path, or remove the folder from `skills_dirs` in config.toml.",
    ),
    (
        "path-not-a-folder",
        "The path is a file. Skills are folders; an archive must be unpacked first.",
        "gongfu skill check pdf-tools.zip",
        "Pass a skill's folder, a folder of skills, or a SKILL.md.",
    ),
    (
        "folder-unreadable",
        "The folder can't be listed, so its skills are not found.",
        "chmod 000 skills/pdf-tools",
        "Make it readable: chmod u+rx FOLDER.",
    ),
    (
        "skill-file-missing",
        "There is no SKILL.md in the folder or below it, so there is no skill.",
        "a folder with only a README.md",
        "Create one: gongfu skill new NAME.",
    ),
    (
        "skill-packed",
        "A .skill file or a .zip with a SKILL.md is among skills. gongfu and most clients load only folders, so the skill is missing.",
        "~/.claude/skills/pdf-tools.skill",
        "Unpack it next to the archive: unzip pdf-tools.skill -d pdf-tools. Then remove the archive.",
    ),
    (
        "skill-file-is-code",
        "A skill is defined only in Python. gongfu never runs code to find skills, so it isn't loaded.",
        "tools/pdf.py with SKILL_MANIFEST = {...}",
        "Write a SKILL.md with its name, description and instructions beside the code.",
    ),
    (
        "skill-file-spelling",
        "The file isn't called SKILL.md. Many clients accept only that spelling; on file systems that tell upper from lower case, they don't find the skill.",
        "pdf-tools/skill.md",
        "Rename it to SKILL.md. --fix does, unless both files exist.",
    ),
    (
        "skill-file-empty",
        "SKILL.md has no text.",
        "a SKILL.md of 0 bytes",
        "Write a frontmatter with `name` and `description`, and the instructions.",
    ),
    (
        "skill-file-unreadable",
        "SKILL.md can't be read: its permissions forbid it, or it is a link that leads outside the skill.",
        "SKILL.md -> ../../shared/SKILL.md",
        "Put a readable, regular file there.",
    ),
    (
        "skill-file-not-text",
        "SKILL.md contains binary data.",
        "a SKILL.md that is an image",
        "Save it as UTF-8 text.",
    ),
    (
        "skill-file-too-large",
        "SKILL.md is larger than 16 MiB and isn't loaded.",
        "a SKILL.md with a data set in it",
        "Move material to references/ or assets/.",
    ),
    (
        "entries-left-out",
        "The folder has more files and folders than gongfu walks; the rest was skipped.",
        "--skills-dir /",
        "Pass the folder that holds the skills.",
    ),
    (
        "folders-left-out",
        "A conventional folder such as .claude/skills has more folders than gongfu walks there; the rest was skipped.",
        "a checkout of a large repository in .claude/skills",
        "Pass the folder that holds the skills as --skills-dir.",
    ),
    (
        "depth-left-out",
        "Folders are nested deeper than gongfu walks; those below were skipped.",
        "skills/a/b/c/d/e/f/g/h/i",
        "Move the skills up, or pass their folder as --skills-dir.",
    ),
    (
        "byte-order-mark",
        "The file starts with a UTF-8 byte order mark. Readers that expect `---` as its first bytes don't see the frontmatter.",
        "\u{feff}---\nname: pdf-tools\ndescription: Reads PDF files.\n---\nRead them.\n",
        "Save it as UTF-8 without the mark. --fix removes it.",
    ),
    (
        "encoding-utf16",
        "The file is UTF-16, as some Windows editors save it. Clients expect UTF-8.",
        "SKILL.md saved as \"Unicode\"",
        "Save it as UTF-8.",
    ),
    (
        "encoding-invalid",
        "Some bytes are not UTF-8; each was replaced by U+FFFD.",
        "a SKILL.md in Latin-1 with \"café\"",
        "Convert it: iconv -f latin1 -t utf-8.",
    ),
    (
        "control-characters",
        "The file has control characters. YAML forbids them, and many readers reject the file.",
        "---\nname: pdf-tools\ndescription: Reads PDF files.\n---\nRead\u{7} them with care, page by page.\n",
        "Remove them.",
    ),
    (
        "hidden-characters",
        "The file has characters that people don't see and models read, such as zero-width spaces and bidirectional controls. They can hide instructions.",
        "---\nname: pdf-tools\ndescription: Reads PDF files.\n---\nRead\u{200b} them.\n",
        "See what they hide before you trust the skill, then remove them.",
    ),
    (
        "frontmatter-missing",
        "The file doesn't start with a frontmatter, so it declares neither name nor description. gongfu uses the folder's name and the first paragraph; strict clients don't load the skill.",
        "# PDF tools\n\nReads PDF files.\n",
        "Start the file with ---, name:, description: and ---. --fix writes the name and the paragraph that gongfu uses.",
    ),
    (
        "frontmatter-not-first",
        "Blank lines come before the frontmatter; strict clients expect `---` as the first line.",
        "\n---\nname: pdf-tools\ndescription: Reads PDF files.\n---\nRead them.\n",
        "Remove the blank lines. --fix does.",
    ),
    (
        "frontmatter-unopened",
        "The fields are there, but the `---` before them is missing; strict clients see no frontmatter.",
        "name: pdf-tools\ndescription: Reads PDF files.\n---\nRead them.\n",
        "Make `---` the first line. --fix does.",
    ),
    (
        "frontmatter-unclosed",
        "The `---` after the fields is missing; strict clients don't load the skill. gongfu takes the fields to end at the first blank line, heading or sentence.",
        "---\nname: pdf-tools\ndescription: Reads PDF files.\n\n# PDF tools\n\nRead them.\n",
        "Add a line `---` after the fields. --fix does, where it is clear where they end.",
    ),
    (
        "frontmatter-too-large",
        "The frontmatter is larger than 64 KiB; only plain `key: value` lines are read.",
        "a description with a whole manual in it",
        "Move text to the body.",
    ),
    (
        "yaml-unquoted",
        "A value has characters that mean something in YAML, such as a colon followed by a space. gongfu reads it as if quoted; other readers fail.",
        "---\nname: pdf-tools\ndescription: Use when: a PDF is read\n---\nRead it.\n",
        "Put the value in double quotes. --fix does.",
    ),
    (
        "yaml-invalid",
        "The frontmatter isn't YAML. gongfu reads plain `key: value` lines from it; other readers fail.",
        "---\nname: pdf-tools\n\tdescription: Reads PDF files.\n---\nRead them.\n",
        "Fix the line that the message points to. Indent with spaces, never tabs.",
    ),
    (
        "yaml-not-a-mapping",
        "The frontmatter is a list or a single value, not fields.",
        "---\n- name\n- description\n---\nRead them.\n",
        "Write `key: value` lines.",
    ),
    (
        "yaml-too-deep",
        "The frontmatter is nested more than 64 levels deep and isn't read.",
        "metadata: [[[[…]]]]",
        "Flatten it.",
    ),
    (
        "yaml-too-many-nodes",
        "The frontmatter has more than 20,000 values, counting those that aliases repeat, and isn't read.",
        "a: &a [x, x], b: &b [*a, *a], …",
        "Shorten it, and don't nest aliases.",
    ),
    (
        "yaml-duplicate-key",
        "A field occurs twice. Readers differ in which one they use; gongfu uses the last.",
        "---\nname: pdf-tools\ndescription: Reads PDF files.\ndescription: Merges PDF files.\n---\nRead them.\n",
        "Keep one of them.",
    ),
    (
        "name-missing",
        "The frontmatter has no `name`, which the format requires. gongfu uses the folder's name.",
        "---\ndescription: Reads PDF files.\n---\nRead them.\n",
        "Add the folder's name as `name`. --fix does, where it is a valid name.",
    ),
    (
        "name-not-text",
        "The field `name` is a list or a mapping.",
        "---\nname: [pdf, tools]\ndescription: Reads PDF files.\n---\nRead them.\n",
        "Write one word.",
    ),
    (
        "name-unusable",
        "No skill can be addressed by this name: it is a path, or has control characters. gongfu uses the folder's name.",
        "---\nname: ../pdf\ndescription: Reads PDF files.\n---\nRead them.\n",
        "Use lower-case letters, digits and single hyphens.",
    ),
    (
        "name-differs-from-folder",
        "The format requires that a skill is called like its folder. Clients differ in which name they show.",
        "---\nname: pdf\ndescription: Reads PDF files.\n---\nRead them.\n",
        "Rename the folder, or change `name`. --fix changes `name`, where the folder's is valid, free, and not that of a repository's clone.",
    ),
    (
        "name-mixed-script",
        "The name mixes letters of several scripts, as a name does that imitates another: Cyrillic \"а\" looks like Latin \"a\".",
        "---\nname: pdf-t\u{43e}ols\ndescription: Reads PDF files.\n---\nRead them.\n",
        "Check where the skill comes from before you trust it. Use letters of one script.",
    ),
    (
        "name-not-in-uri",
        "The name has characters that must be escaped in a URI. Clients that load skills by URI don't see it; tools and prompts do.",
        "---\nname: pdf tools\ndescription: Reads PDF files.\n---\nRead them.\n",
        "Use ASCII letters, digits and hyphens.",
    ),
    (
        "description-missing",
        "The frontmatter has no `description`, which the format requires. It is what agents choose skills by.",
        "---\nname: pdf-tools\n---\nRead them.\n",
        "Say in one or two sentences what the skill does and when to use it.",
    ),
    (
        "description-vague",
        "The description has no word that tells this skill from any other, so no agent knows when to use it.",
        "---\nname: pdf-tools\ndescription: Does things.\n---\nRead them.\n",
        "Say what it does and when to use it, in words that people use: \"Merges and splits PDF files. Use when …\".",
    ),
    (
        "description-not-text",
        "The field `description` is a list or a mapping.",
        "---\nname: pdf-tools\ndescription: [Reads, PDF]\n---\nRead them.\n",
        "Write one string.",
    ),
    (
        "description-too-long",
        "The description is longer than 1,024 characters; clients cut it or reject the skill.",
        "a description with the whole manual",
        "Shorten it; details belong in the body.",
    ),
    (
        "compatibility-not-text",
        "The field `compatibility` is a list or a mapping.",
        "---\nname: pdf-tools\ndescription: Reads PDF files.\ncompatibility: [linux]\n---\nRead them.\n",
        "Write one string.",
    ),
    (
        "compatibility-too-long",
        "The field `compatibility` is longer than 500 characters.",
        "a list of every supported system",
        "Shorten it.",
    ),
    (
        "metadata-not-a-mapping",
        "The field `metadata` must be a list of `key: value` lines.",
        "---\nname: pdf-tools\ndescription: Reads PDF files.\nmetadata: mine\n---\nRead them.\n",
        "Write indented `key: value` lines below it.",
    ),
    (
        "metadata-nested",
        "The format allows only strings in `metadata`. Clients that follow it convert anything else to a string.",
        "---\nname: pdf-tools\ndescription: Reads PDF files.\nmetadata:\n  tags: [pdf]\n---\nRead them.\n",
        "Write a string: tags: \"pdf\".",
    ),
    (
        "allowed-tools-shape",
        "The format asks for one string with tools separated by spaces. Some clients read lists and commas, others don't.",
        "---\nname: pdf-tools\ndescription: Reads PDF files.\nallowed-tools: Read, Grep\n---\nRead them.\n",
        "Write allowed-tools: Read Grep. --fix does, unless a tool has spaces in it.",
    ),
    (
        "field-unknown",
        "The format doesn't have this field, and strict clients reject it.",
        "---\nname: pdf-tools\ndescription: Reads PDF files.\ncategory: office\n---\nRead them.\n",
        "Move it to `metadata`.",
    ),
    (
        "template-untouched",
        "Text of a template is still there: an agent would follow it as an instruction.",
        "---\nname: pdf-tools\ndescription: Reads PDF files.\n---\n1. The first thing to do.\n",
        "Replace it with your own.",
    ),
    (
        "body-empty",
        "There is nothing after the frontmatter, so the skill tells an agent nothing.",
        "---\nname: pdf-tools\ndescription: Reads PDF files.\n---\n",
        "Write what an agent should do, step by step.",
    ),
    (
        "body-too-long",
        "The body has more than 500 lines or about 5,000 tokens. All of it is loaded into the model's context at once.",
        "a SKILL.md of 900 lines",
        "Move details to references/ and link to them; agents read them when needed.",
    ),
    (
        "reference-dangling",
        "The text refers to a file that isn't in the skill. Paths are relative to the skill's folder.",
        "see [the guide](references/guide.md), and no such file",
        "Add the file, or fix the path.",
    ),
    (
        "reference-outside",
        "The text refers to a file outside the skill's folder, which is never served.",
        "see [the other skill](../docx/SKILL.md)",
        "Refer to the other skill by its name, or copy the file.",
    ),
    (
        "file-unreadable",
        "A file of the skill can't be read, so it isn't served.",
        "chmod 000 references/guide.md",
        "Make it readable, or remove it.",
    ),
    (
        "file-special",
        "A named pipe, socket or device is in the skill. It isn't opened.",
        "mkfifo skills/pdf-tools/pipe",
        "Remove it.",
    ),
    (
        "file-name-unusable",
        "A file's name can't be a path that clients agree on: it isn't UTF-8, or has backslashes or control characters.",
        "a file called `a\\b.md`",
        "Rename it.",
    ),
    (
        "link-outside",
        "A symbolic link in the skill leads outside it. It isn't followed: a stranger's skill could link to your keys.",
        "pdf-tools/data -> /home/me",
        "Copy the target into the skill.",
    ),
    (
        "skill-link-outside",
        "A symbolic link in a folder of skills leads to a skill in a folder that is not a source of skills. It isn't followed. Links as installers make them, from .claude/skills to .agents/skills, are.",
        ".claude/skills/pdf-tools -> /srv/shared/pdf-tools",
        "Pass the real folder as --skills-dir, or add it to `skills_dirs` in config.toml.",
    ),
    (
        "skills-link-outside",
        "A project that nobody trusts has a folder of skills that is a link to another place, or is behind one. It isn't followed: the author of the project chose where it leads.",
        ".claude/skills -> /home/me/private",
        "Review where the link leads, then trust the project: gongfu trust.",
    ),
    (
        "link-dangling",
        "A symbolic link leads to nothing.",
        "pdf-tools/guide.md -> removed.md",
        "Fix or remove it.",
    ),
    (
        "link-loop",
        "A symbolic link leads back to itself.",
        "pdf-tools/a -> b, pdf-tools/b -> a",
        "Remove it.",
    ),
    (
        "files-too-many",
        "The skill has more than 512 files. Over MCP it is served without digests, and some clients reject it.",
        "a skill with node_modules checked in elsewhere",
        "Remove files that agents don't need.",
    ),
    (
        "skill-too-large",
        "The skill is larger than 16 MiB. Over MCP it is served without digests, and some clients reject it.",
        "a skill with a video in assets/",
        "Remove large files, or let a script fetch them.",
    ),
    (
        "script-without-interpreter",
        "A script has neither a #! line nor an extension, so nothing can start it.",
        "scripts/convert without a first line",
        "Start it with a line like #!/usr/bin/env python3.",
    ),
    (
        "script-shebang-carriage-return",
        "The #! line ends with a carriage return, which becomes part of the interpreter's name: \"python3\\r: not found\".",
        "scripts/convert.py with Windows line ends",
        "End the line with a line feed only. --fix does.",
    ),
    (
        "script-dependencies-undeclared",
        "A script imports packages that the skill doesn't declare, so a run fails where they aren't installed. gongfu proposes packages from its table; a module that isn't in it may belong to any package.",
        "import yaml, and no declaration",
        "Declare them in the script (PEP 723), in requirements.txt or in package.json.",
    ),
    (
        "name-taken",
        "Another skill that comes first has this name, so the name alone doesn't reach this one.",
        "~/.claude/skills/pdf and .claude/skills/pdf",
        "Use the full name (SOURCE/PATH), rename it, or disable the other: gongfu skill disable FULL-NAME.",
    ),
    (
        "name-too-long",
        "The name is longer than the 64 characters of the format.",
        "a name that is a sentence",
        "Shorten it.",
    ),
    (
        "name-uppercase",
        "The format allows only lower-case letters in names.",
        "---\nname: PDF-tools\ndescription: Reads PDF files.\n---\nRead them.\n",
        "Write it in lower case, and rename the folder likewise.",
    ),
    (
        "name-edge-hyphen",
        "The name starts or ends with a hyphen.",
        "---\nname: pdf-tools-\ndescription: Reads PDF files.\n---\nRead them.\n",
        "Remove that hyphen.",
    ),
    (
        "name-double-hyphen",
        "The name has two hyphens in a row.",
        "---\nname: pdf--tools\ndescription: Reads PDF files.\n---\nRead them.\n",
        "Use single hyphens.",
    ),
    (
        "name-character",
        "The name has something other than letters, digits and hyphens.",
        "---\nname: pdf_tools\ndescription: Reads PDF files.\n---\nRead them.\n",
        "Use only letters, digits and hyphens.",
    ),
];

#[cfg(test)]
mod tests;
