//! An example of each error, and what to do about it.

use super::ErrorCode;

impl ErrorCode {
    /// A call that fails with it, and how to fix that.
    #[expect(
        clippy::too_many_lines,
        reason = "one table, so that the compiler misses the text of a new code"
    )]
    pub fn example_and_fix(self) -> (&'static str, &'static str) {
        match self {
            Self::ModelNotConfigured => (
                "gongfu chat without a model in the settings or a key in the environment",
                "Set a model: gongfu config set models.default PROVIDER/NAME, and the provider's key in its variable.",
            ),
            Self::ModelRefused => (
                "gongfu chat with a key that the provider doesn't know",
                "Check the key, the name of the model and the base URL; the message says what the provider said.",
            ),
            Self::ModelUnavailable => (
                "gongfu chat while the provider is overloaded",
                "Continue with gongfu chat --resume: what was done is kept. Where the answer was too long, ask for less at a time.",
            ),
            Self::SessionNotFound => (
                "gongfu chat --session nightly",
                "Use a session of `gongfu chat list`.",
            ),
            Self::SessionInvalid => (
                "a session whose log was edited, or lost its beginning",
                "Start a new session; `gongfu chat show ID` prints what can be read.",
            ),
            Self::ToolNotFound => (
                "gongfu tool call skill_lod", // typos: ignore
                "Use a name of `gongfu tool list`; another profile may have it: --profile NAME.",
            ),
            Self::MissingArgument => (
                "gongfu tool call skill_load",
                "Pass the argument that the message names.",
            ),
            Self::UnknownArgument => (
                "gongfu tool call skill_load name=pdf",
                "Use an argument of the tool's schema: gongfu tool list --json.",
            ),
            Self::InvalidArgument => (
                "gongfu tool call skill_search query=pdf limit=0",
                "Pass a value that the tool's schema allows.",
            ),
            Self::ArgumentsTooLarge => (
                "file_write with 100 MB of content",
                "Pass less in one call, or write the file by a script.",
            ),
            Self::InvalidSkillName => (
                "gongfu skill show ../pdf",
                "Use a name of `gongfu skill list`; a path is not a name.",
            ),
            Self::SkillNotFound => (
                "gongfu skill show pdff",
                "Use one of the names that the message lists, or find one: gongfu skill search WORDS.",
            ),
            Self::Outdated => (
                "PUT of a skill over REST with an old ETag as If-Match",
                "Read it again, and send its new ETag.",
            ),
            Self::SkillDeactivated => (
                "gongfu run pdf after gongfu skill disable pdf",
                "Enable it: gongfu skill enable NAME. Only a person can.",
            ),
            Self::ProjectUntrusted => (
                "gongfu run on a skill of a repository that was just cloned",
                "Read the project's skills, then trust it: gongfu trust FOLDER. Only a person can.",
            ),
            Self::SkillsReadError => (
                "a SKILL.md that was made unreadable",
                "Check the skill: gongfu skill check FOLDER.",
            ),
            Self::InvalidFilePath => (
                "gongfu skill read pdf ../../etc/passwd",
                "Pass a path relative to the skill's folder, without `..`.",
            ),
            Self::FileNotFound => (
                "gongfu skill read pdf scripts/nosuch.py",
                "List the skill's files: gongfu skill show NAME.",
            ),
            Self::FileTooLarge => (
                "skill_read of a file of 100 MB",
                "Read it in parts, or process it with a script.",
            ),
            Self::SectionNotFound => (
                "gongfu skill read pdf --section Usag", // typos: ignore
                "Use one of the headings that the message lists.",
            ),
            Self::InvalidUri => (
                "resources/read of file:///etc/passwd",
                "Use a URI that resources/list returned.",
            ),
            Self::ResourceNotFound => (
                "resources/read of skill://home/removed/SKILL.md",
                "List the resources again; the skill was removed or renamed.",
            ),
            Self::PromptNotFound => (
                "prompts/get of a skill that was disabled",
                "List the prompts again.",
            ),
            Self::InvalidCursor => (
                "a cursor of another list, or from before an update",
                "Start the list again without a cursor.",
            ),
            Self::SourceReadOnly => (
                "skill_write to a skill in .claude/skills",
                "Write to a skill in gongfu's home, or pass the folder as --skills-dir, first in order.",
            ),
            Self::SkillExists => (
                "skill_create with a name that is taken",
                "Choose another name, or change the skill: skill_write.",
            ),
            Self::SkillInvalid => (
                "skill_write of a SKILL.md without a name",
                "Fix what the message lists: gongfu explain CODE explains each.",
            ),
            Self::FileNotText => (
                "skill_write that edits an image",
                "Replace the file as a whole, or change it with a script.",
            ),
            Self::IsAFolder => (
                "file_read of /workspace",
                "Pass a file in it; file_list lists them.",
            ),
            Self::NotAFolder => (
                "file_list of /workspace/report.pdf",
                "Pass the folder; file_read reads a file.",
            ),
            Self::EditRefused => (
                "skill_write that replaces a text which occurs twice",
                "Pass a longer part of the file, as it is now.",
            ),
            Self::ChangeSetNotFound => (
                "gongfu changes apply of a change set that was dropped",
                "List those that wait: gongfu changes list.",
            ),
            Self::Conflict => (
                "two writers of one file",
                "Read it again, and repeat the change.",
            ),
            Self::Forbidden => (
                "a call that only a person may make",
                "Make it at the command line.",
            ),
            Self::ApprovalRequired => (
                "skill_run with `rm -rf /workspace`",
                "A person decides: gongfu approve list, then allow or deny ID. Then repeat the call.",
            ),
            Self::CommandBlocked => (
                "skill_run with a command that a person denied",
                "Use another command; the message says why this one is refused.",
            ),
            Self::DependenciesInvalid => (
                "a requirements.txt with a package that doesn't exist",
                "Fix the declaration; gongfu skill check proposes packages.",
            ),
            Self::DependenciesUnavailable => (
                "gongfu env build without a network",
                "Try again when the package index can be reached: gongfu env build NAME.",
            ),
            Self::Unavailable => ("a full disk", "Find out what doesn't work: gongfu doctor."),
            Self::SandboxUnavailable => (
                "gongfu run where user namespaces are disabled",
                "See what is missing: gongfu doctor.",
            ),
            Self::ConnectionNotFound => (
                "gongfu connection show githup", // typos: ignore
                "Use a name of `gongfu connection list`.",
            ),
            Self::ConnectionNotApproved => (
                "a server whose tool changed its description",
                "See the change, and approve it: gongfu connection approve NAME.",
            ),
            Self::SkillUnverified => (
                "skill_load of a server's skill whose SKILL.md changed",
                "Ask a person to see what changed, and to approve it: gongfu connection approve NAME.",
            ),
            Self::SignInRequired => (
                "a server whose sign-in has ended",
                "Sign in: gongfu connection login NAME.",
            ),
            Self::ServerUnavailable => (
                "a server that exits at once",
                "See why: gongfu connection test NAME.",
            ),
            Self::NestedScript => (
                "a script of tool_script that calls tool_script",
                "Call the tools from the one script.",
            ),
            Self::QuotaExceeded => (
                "a script that writes 100 GB",
                "Let it use less memory, disk or processes, or raise the limit in config.toml.",
            ),
            Self::Timeout => (
                "gongfu run pdf --timeout 1 -- sleep 5",
                "Raise --timeout, or give it less to do.",
            ),
            Self::Cancelled => (
                "a client that closes the request",
                "Repeat the call if it is still needed.",
            ),
            Self::Internal => (
                "a fault in gongfu",
                "Report it with the message and the output of gongfu doctor.",
            ),
        }
    }
}
