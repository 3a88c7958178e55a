"""The differences between `gongfu skill add` and `npx skills add` that are meant, for prove_import.py.

docs/npx-skills.md says the same to people.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

# The folder of a skill, and the links of Claude Code to it.
SKILL = r"(work/project/)?\.(agents|claude)/skills/"
LOCK = r"(work/project/skills-lock\.json|\.agents/\.skill-lock\.json)"
UNREAD = ["12", "bare", "colon", "list", "lower", "no-description", "no-end", "no-name", "null-name", "number-description", "open-quote", "tab", "trailing", "twice-key-2"]
REFUSED = r"work/project/\.agents|work/project/\.claude/skills|work/project/skills-lock\.json|\.agents|\.claude/skills"


@dataclass(frozen=True)
class Expected:
    """A difference that is meant: the cases and the lines that it explains, as regular expressions."""

    about: str
    case: str
    what: str
    reason: str

    def concerns(self, case: str) -> bool:
        return re.fullmatch(self.case, case) is not None

    def is_met(self, case: str, line: str) -> bool:
        return self.concerns(case) and re.fullmatch(self.what, line) is not None


DIFFERENCES = [
    Expected(
        "a lock of its own",
        r"(?!.* (outward|doubles),).*(?<!missing)",
        r"(work/project|\.agents|\.local/state/skills)/gongfu\.lock: only gongfu",
        "npx skills' digest mixes up paths and contents, so nothing can be verified by it",
    ),
    Expected(
        "letters that aren't Latin stay in the names of folders",
        r"git scripts, .*",
        rf"{SKILL}(unnamed-skill|and|1): only npx",
        "without them, skills of one language overwrite each other in `unnamed-skill`",
    ),
    Expected(
        "the same, as gongfu names them",
        r"git scripts, .*",
        rf"{SKILL}(中文技能|ñandú|навык-1): only gongfu",
        "see above",
    ),
    Expected(
        "skills without an exact frontmatter are installed",
        r"(git|folder) quirks, .*",
        rf"{SKILL}({'|'.join(UNREAD)}): only gongfu",
        "agents read them; gongfu says what is wrong, and keeps them out of npx skills' lock, which can't find them again",
    ),
    Expected(
        "names that differ only in case or form are refused",
        r"git doubles, .*",
        rf"exit status 1 / 0: error\[SOURCE_REFUSED\]: .* where letter case doesn't count|({REFUSED}): only npx",
        "one file would overwrite the other on macOS and Windows",
    ),
    Expected(
        "attributes of a repository have no effect",
        r"git attributes, .*",
        rf"{SKILL}attributes/(lines\.txt|version\.id): content|{LOCK}#attributes\.(computedHash|skillFolderHash): .*",
        "nothing of a source acts; the files are those of the commit, on every machine",
    ),
    Expected(
        "links that lead out of the source are refused",
        r"(git|folder) outward, .*",
        rf"exit status 1 / 0: error\[SOURCE_REFUSED\]: .* a link that leads outside the (source|folder)|({REFUSED}): only npx",
        "npx skills copies what they lead to on this machine, such as a key",
    ),
    Expected(
        "programs of zips and of archives of an index stay programs",
        r"(zip|zip in a folder|index v2), .*",
        rf"{SKILL}.*\.sh: mode 755 / 644",
        "a script that can't be started is broken",
    ),
    Expected(
        "the owner can change each file",
        r"folder modes, .*",
        rf"{SKILL}modes/4(00|44)\.sh: mode 6(00|44) / 4(00|44)",
        "a read-only copy, as of a package store, can't be edited",
    ),
    Expected(
        "a folder of which nothing is installed isn't made",
        r"(git mixed|folder mixed|git over file|git, all folders|zip|tar), .*",
        rf"{SKILL}left-out/deep: only npx",
        "git and locks know files alone",
    ),
    Expected(
        "an agent that a project has a folder for gets links",
        r"git, another client, project",
        r"work/project/\.goose/skills: only gongfu",
        "a colleague uses it, though it isn't installed here",
    ),
    Expected(
        "skills of packages are copied",
        r"package(, built)?, project",
        rf"{SKILL}(first|second): folder / link|{SKILL}(first|second)/metadata\.json: only npx",
        "a link into node_modules changes with the next install, unseen by a lock",
    ),
    Expected(
        "skills of packages are in gongfu's lock alone",
        r"package(, built)?, project",
        r"work/project/skills-lock\.json: only npx",
        "npx skills removes those entries unless package.json lists the package",
    ),
]
