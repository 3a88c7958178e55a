#!/usr/bin/env python3
"""Compares `gongfu skills` with `npx skills`: the same command has to leave the same files, modes, links and locks.

    compare_skills_words.py [--gongfu BIN] [--npx CLI.MJS] [--node NODE] [--only WORDS]

Each case runs commands with both programs, in two equal homes with an empty project and the same sources (a git repository
and a folder), in a namespace with no network but its own loopback. Everything below the home is compared afterwards, apart from gongfu's own lock and the times
in the lock of a person. Agents that gongfu leaves out are named in LEFT_OUT. Where gongfu refuses what the other program does
in part, or overwrites, it has to leave all as it was. Last, both programs add skills from a site that `gongfu skill publish`
wrote, and from `gongfu serve --publish`: both install the files that were published. A difference is planted first, and has to be
found. Exits 1 for a difference.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import re
import shlex
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import time
import urllib.request
from dataclasses import dataclass
from pathlib import Path

from clients import REPOSITORY, binary

TOOLS = REPOSITORY / ".tools/node/node_modules"
# gongfu's lock, and the folder of an agent (`eve`) that gets a rewritten SKILL.md there, which gongfu doesn't make.
LEFT_OUT = re.compile(r"(.*/)?gongfu\.lock|project/agent(/.*)?")
# Set in the namespace without a network.
APART = "GONGFU_COMPARED_APART"
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


def bring_up_loopback() -> None:
    """Starts the one interface of a new namespace."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        request = struct.pack("16sh14x", b"lo", 0x1)  # IFF_UP
        fcntl.ioctl(any_socket, 0x8914, request)  # SIOCSIFFLAGS


def compare_sites(gongfu: Path, npx: World, own: World, folder: Path) -> int:
    """The number of sites whose skills one of the programs installs otherwise than they were published."""
    offered = folder / "offered"
    write(offered / "one/SKILL.md", "---\nname: one\ndescription: The first.\n---\n\nSteps.\n")
    write(offered / "one/scripts/run.sh", "#!/bin/sh\necho one\n", 0o755)
    write(offered / "one/notes/Ünïcode name.md", "Text.\n")
    write(offered / "plain/SKILL.md", "---\nname: plain\ndescription: A document.\n---\n\nSteps.\n")
    places = ["--no-default-dirs", "--skills-dir", str(offered)]
    for name in ("site", "again"):
        subprocess.run([gongfu, "skill", "publish", str(offered), "--out", str(folder / name), "--name", "team"], check=True, env=own.environment, capture_output=True)
    failed = 0
    if differences(state(folder / "site", False), state(folder / "again", False)):
        print("differs: a second publication has other bytes")
        failed += 1
    static = subprocess.Popen([sys.executable, "-u", "-m", "http.server", "--bind", "127.0.0.1", "--directory", str(folder / "site"), "0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    served = subprocess.Popen([gongfu, "serve", "--listen", "127.0.0.1:0", "--publish", "*", *places], env={**own.environment, "GONGFU_HOME": str(folder / "server")}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert static.stdout and served.stdout
        port = re.search(r"port (\d+)", static.stdout.readline())
        assert port
        bases = {"a static site": f"http://127.0.0.1:{port[1]}", "gongfu serve": served.stdout.readline().split()[-1].removesuffix("/mcp")}
        wait_for(f"{bases['gongfu serve']}/.well-known/agent-skills/index.json")
        for title, base in bases.items():
            case = Case((f"add {base} -y -a codex",))
            (expected, told), (got, own_told) = npx.run(case), own.run(case)
            # Without the permissions: the other program writes no programs from an archive.
            bytes_of = {name: value[1] for name, value in expected.items()}
            found = [name for name in expected.keys() | got.keys() if bytes_of.get(name) != got.get(name, ("", None))[1]]
            published = {f"project/.agents/skills/{name}": value for name, value in state(offered, False).items()}
            found += [f"published {line}" for line in differences(published, {name: value for name, value in got.items() if "/skills/" in name})]
            failed += bool(found)
            print(f"{'differs' if found else 'same':8} {len(expected):3} entries  add from {title}")
            if found:
                print("\n".join(f"    {line}" for line in found), told[-1500:], own_told[-1500:], sep="\n")
    finally:
        for process in (static, served):
            process.terminate()
            process.wait()
    return failed


def wait_for(address: str) -> None:
    """Waits until a server has read its library."""
    for _ in range(600):
        try:
            with urllib.request.urlopen(address, timeout=10):
                return
        except OSError:
            time.sleep(0.05)
    raise SystemExit(f"error: nothing at {address}")


def main() -> int:
    if APART not in os.environ:
        os.execvpe("unshare", ["unshare", "-rn", sys.executable, *sys.argv], {**os.environ, APART: "1"})
    bring_up_loopback()
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
    failed = 0
    with tempfile.TemporaryDirectory(prefix="gongfu-words-") as name:
        folder = Path(name).resolve()
        made = sources(folder)
        path = f"{arguments.node.resolve().parent}:/usr/bin:/bin"
        world = folder / "world"
        npx = World(world, [str(arguments.node.resolve()), str(arguments.npx.resolve())], folder / "unused", path, made)
        own = World(world, [str(gongfu), "skills"], folder / "own", path, made)
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
        sites = compare_sites(gongfu, npx, own, folder) if not arguments.only else 0
    print(f"skills {version}: {len(cases) - failed} of {len(cases)} cases leave the same on disk, or are refused as a whole")
    return 1 if failed or sites or not cases else 0


if __name__ == "__main__":
    sys.exit(main())
