#!/usr/bin/env python3
"""Compares `gongfu skills` with `npx skills`: the same command has to leave the same files, modes, links and locks.

    compare_skills_words.py [--gongfu BIN] [--npx CLI.MJS] [--node NODE] [--only WORDS]

Each case runs commands with both programs, in two equal homes with an empty project and the same sources (a git repository
and a folder), without a network. Everything below the home is compared afterwards, apart from gongfu's own lock and the times
in the lock of a person. Agents that gongfu leaves out are named in LEFT_OUT. Where gongfu refuses what the other program does
in part, or overwrites, it has to leave all as it was. A difference is planted first, and has to be
found. Exits 1 for a difference.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from clients import REPOSITORY, binary

TOOLS = REPOSITORY / ".tools/node/node_modules"
# gongfu's lock, and the folder of an agent (`eve`) that gets a rewritten SKILL.md there, which gongfu doesn't make.
LEFT_OUT = re.compile(r"(.*/)?gongfu\.lock|project/agent(/.*)?")
TIME = re.compile(r'"(installedAt|updatedAt)": "[^"]*"')
State = dict[str, tuple[str, str]]


@dataclass(frozen=True)
class Case:
    """Commands that both programs run, and what is made before."""

    commands: tuple[str, ...]
    made: tuple[str, ...] = ()
    # A file that a person changes before the last command.
    edited: str = ""
    # A template for people differs in its words.
    only_paths: bool = False
    # gongfu refuses the last command where the other program goes halfway, or overwrites: it has to change nothing.
    is_refused: bool = False


GIT, LOCAL = "{git}", "{local}"
REMOVED = f"add {GIT} -y -a claude-code -a codex"
CASES = [
    *(
        Case((f"add {source} -y {words}",))
        for source in (GIT, LOCAL)
        for words in (
            "-a claude-code",
            "-a codex",
            "-a claude-code -a codex",
            "-a claude-code cursor roo",
            "-a *",
            "--copy -a claude-code -a cursor",
            "-s one -a claude-code codex",
            "-s one 'two things' -a codex",
            "-s *",
            "-g -a claude-code",
            "-g -a codex",
            "-g -a claude-code -a cursor",
            "-g --copy -a claude-code -a cursor -s one",
            "-g",
            "--full-depth",
            "--all",
            "-l",
        )
    ),
    Case((f"a {GIT} -y",), made=("home/.claude", "home/.codex")),
    Case((f"install {GIT} -y",), made=("home/.roo", "project/.goose")),
    Case((f"i {LOCAL} -y -g",), made=("home/.cursor", "home/.roo")),
    Case((f"add {GIT} -y -a *",), made=("project/.roo", "project/.windsurf")),
    Case((f"add {GIT} -y -a claude-code", f"add {GIT} -y -a claude-code codex")),
    Case((f"add {GIT} -y -a claude-code codex", f"add {GIT} -y -a claude-code")),
    Case((f"add {GIT} -y -a codex", f"add {LOCAL} -y -a codex")),
    Case((f"add {GIT} -y -s one absent -a codex",), is_refused=True),
    Case((f"add {GIT} -y -a codex", f"add {GIT} -y -a codex"), edited="project/.agents/skills/one/SKILL.md", is_refused=True),
    Case((f"add {GIT} -y -a codex -s one", f"add {GIT} -y -a codex -a claude-code -s one"), edited="project/.claude/skills/one/mine", is_refused=True),
    Case((f"add {GIT} -a codex",)),
    Case((f"add {GIT} -y -s absent",)),
    Case((f"add {GIT} -y -a nobody",)),
    Case((REMOVED, "remove one -y")),
    Case((REMOVED, "rm -y -s one two-things")),
    Case((REMOVED, "remove --all")),
    Case((REMOVED, "remove * -y")),
    Case((REMOVED, "remove -y -a claude-code -s one")),
    Case((REMOVED, "remove -y -a claude-code -s one"), made=("home/.codex",)),
    Case((REMOVED, "remove -y -a codex -s one"), made=("home/.claude",)),
    Case((f"add {GIT} -y -a claude-code", "r one -y")),
    Case((f"add {GIT} -y --copy -a claude-code -a cursor", "remove one -y")),
    Case((f"add {LOCAL} -y -g -a claude-code -a codex", "remove -g one -y")),
    Case((f"add {LOCAL} -y -g -a claude-code -a codex", "remove -g --all")),
    Case((REMOVED, "remove absent -y")),
    Case(("init foo",), only_paths=True),
    Case(("init",), only_paths=True),
    Case(("init foo", "init foo"), only_paths=True),
]


def write(path: Path, text: str, mode: int = 0o644) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)


def sources(folder: Path) -> dict[str, str]:
    """A folder with skills, and a repository of the same."""
    local = folder / "source"
    write(local / "skills/one/SKILL.md", "---\nname: one\ndescription: The first.\n---\n\nSteps.\n")
    write(local / "skills/one/scripts/run.sh", "#!/bin/sh\necho one\n", 0o755)
    write(local / "skills/one/notes/Ünïcode name.md", "Text.\n")
    write(local / "skills/one/metadata.json", "{}\n")
    write(local / "skills/two/SKILL.md", "---\nname: Two Things\ndescription: The second.\n---\n\nSteps.\n")
    write(local / "skills/internal/SKILL.md", "---\nname: internal\ndescription: Not for others.\nmetadata:\n  internal: true\n---\n")
    write(local / "skills/nameless/SKILL.md", "---\ndescription: It has no name.\n---\n")
    write(local / "other/deep/three/SKILL.md", "---\nname: three\ndescription: Elsewhere.\n---\n")
    repository = folder / "repository"
    shutil.copytree(local, repository)
    git = ["git", "-C", str(repository), "-c", "user.name=a", "-c", "user.email=a@example.com"]
    for words in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-q", "-m", "All"]):
        subprocess.run([*git, *words], check=True, env={"PATH": os.environ["PATH"], "HOME": str(folder)})
    return {"git": f"file://{repository}", "local": str(local)}


class World:
    """A home and a project that one program changes. Both programs see theirs at the same path."""

    def __init__(self, folder: Path, command: list[str], own: Path, path: str, sources: dict[str, str]) -> None:
        self.folder, self.command, self.sources = folder, command, sources
        self.before: State = {}
        self.environment = {"HOME": str(folder / "home"), "GONGFU_HOME": str(own), "PATH": path, "CI": "1", "DISABLE_TELEMETRY": "1", "LC_ALL": "C.UTF-8"}

    def run(self, case: Case) -> tuple[State, str]:
        shutil.rmtree(self.folder, ignore_errors=True)
        for name in ("home", "project", *case.made):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        told = ""
        for number, words in enumerate(case.commands, 1):
            if number == len(case.commands):
                if case.edited:
                    write(self.folder / case.edited, "A person wrote this.\n")
                self.before = state(self.folder, case.only_paths)
            command = [*self.command, *(word.format(**self.sources) for word in shlex.split(words))]
            ran = subprocess.run(command, cwd=self.folder / "project", env=self.environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
            told += f"$ {words}\n{ran.stdout}{ran.stderr}exit {ran.returncode}\n"
        return state(self.folder, case.only_paths), told


def state(folder: Path, only_paths: bool) -> State:
    """Files, links, and folders that have nothing else in them, with their modes and contents."""
    found: State = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if LEFT_OUT.fullmatch(name):
            continue
        if path.is_symlink():
            found[name] = ("link", os.readlink(path))
        elif path.is_file():
            text = path.read_bytes().decode(errors="surrogateescape")
            found[name] = (oct(path.stat().st_mode), "" if only_paths else TIME.sub(r"\1", text))
        elif not any(path.iterdir()):
            found[name] = ("empty folder", "")
    return found


def differences(npx: State, own: State) -> list[str]:
    return [f"{name}: npx {npx.get(name)}, gongfu {own.get(name)}" for name in sorted(npx.keys() | own.keys()) if npx.get(name) != own.get(name)]


def check_control(npx: World) -> bool:
    """Differences of each kind are planted, and have to be found."""
    first, _ = npx.run(Case((f"add {GIT} -y -a claude-code codex",)))
    project = npx.folder / "project"
    faults = [
        lambda: (project / ".agents/skills/one/scripts/run.sh").chmod(0o644),
        lambda: (project / ".agents/skills/one/SKILL.md").write_text("other"),
        lambda: ((project / ".claude/skills/one").unlink(), (project / ".claude/skills/one").symlink_to("../../elsewhere")),
        lambda: (project / "skills-lock.json").unlink(),
        lambda: (project / ".roo/skills").mkdir(parents=True),
    ]
    last = first
    for number, fault in enumerate(faults):
        fault()
        changed = state(npx.folder, only_paths=False)
        if len(differences(last, changed)) != 1:
            print(f"planted difference {number} isn't found", file=sys.stderr)
            return False
        last = changed
    return True


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gongfu", type=Path)
    parser.add_argument("--npx", type=Path, default=TOOLS / "skills/bin/cli.mjs", help="cli.mjs of the package `skills`, 1.7.4")
    parser.add_argument("--node", type=Path, default=TOOLS / ".bin/node")
    parser.add_argument("--only", default="", help="cases whose commands have this text")
    parser.add_argument("--verbose", action="store_true")
    arguments = parser.parse_args()
    gongfu = binary(arguments.gongfu)
    if not arguments.npx.is_file():
        print(f"error: there is no {arguments.npx}; install the package `skills`, or name its cli.mjs with --npx", file=sys.stderr)
        return 1
    version = json.loads((arguments.npx.parent.parent / "package.json").read_text())["version"]
    # No network: what it would send or ask goes nowhere.
    apart = ["unshare", "-rn"]
    failed = 0
    with tempfile.TemporaryDirectory(prefix="gongfu-words-") as name:
        folder = Path(name).resolve()
        made = sources(folder)
        path = f"{arguments.node.resolve().parent}:/usr/bin:/bin"
        world = folder / "world"
        npx = World(world, [*apart, str(arguments.node.resolve()), str(arguments.npx.resolve())], folder / "unused", path, made)
        own = World(world, [*apart, str(gongfu), "skills"], folder / "own", path, made)
        if not check_control(npx):
            return 1
        cases = [case for case in CASES if arguments.only in " && ".join(case.commands)]
        for case in cases:
            title = " && ".join(case.commands) + "".join(f" (with {made})" for made in case.made)
            expected, told = npx.run(case)
            got, own_told = own.run(case)
            if case.is_refused:
                expected = own.before if differences(expected, got) else {}
            found = differences(expected, got)
            failed += bool(found)
            outcome = "differs" if found else "refused" if case.is_refused else "same"
            print(f"{outcome:8} {len(expected):3} entries  {title}")
            if found or arguments.verbose:
                print("\n".join(f"    {line}" for line in found[:20]))
                print("".join(f"    | {line}\n" for line in (told[-1500:] + own_told[-1500:]).splitlines() if line.strip()))
    print(f"skills {version}: {len(cases) - failed} of {len(cases)} cases leave the same on disk, or are refused as a whole")
    return 1 if failed or not cases else 0


if __name__ == "__main__":
    sys.exit(main())
