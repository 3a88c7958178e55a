"""A machine of its own for imports: what it has is digested, so that nothing is written unseen."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

# What `gongfu explain` says of imports.
CODES = {
    "SOURCE_INVALID", "SOURCE_UNREACHABLE", "SOURCE_REFUSED", "SOURCE_TOO_LARGE", "SKILL_NOT_IN_SOURCE", "SKILL_NAME_TAKEN",
    "SKILL_CHANGED", "PROGRAM_MISSING", "LOCK_UNREADABLE", "LOCK_NEWER", "LOCK_MISMATCH", "PLACE_UNWRITABLE", "INVALID_VALUE",
    "UNKNOWN_OPTION",
}  # fmt: skip
# The most memory of one run, in MiB, and the longest that one may take, in seconds.
MAX_MEMORY = 400
MAX_TIME = 60.0

# The longest content that is kept in memory: what gongfu takes is measured from what this program has.
LONG = 1024 * 1024
# The files of skills by their folders: content as `brief` has it, and whether each is a program.
Files = dict[str, tuple[bytes, bool]]
Skills = dict[str, Files]
State = dict[str, tuple[int, str]]


def document(name: str, text: str = "Read it.") -> bytes:
    return f"---\nname: {name}\ndescription: Does {name}. Use it for tests.\n---\n\n{text}\n".encode()


def brief(content: bytes) -> bytes:
    """A content, or its digest where it is long."""
    return content if len(content) <= LONG else hashlib.sha256(content).digest()


def digest(path: str | Path) -> bytes:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").digest()


def state(folder: Path) -> State:
    """Everything below a folder: mode, and the digest of the content."""
    found: State = {}
    for place, folders, files in os.walk(folder):
        for name in folders + files:
            path = os.path.join(place, name)
            stat = os.lstat(path)
            if os.path.islink(path):
                found[path] = (stat.st_mode, os.readlink(path))
            elif os.path.isfile(path):
                found[path] = (stat.st_mode, digest(path).hex())
            else:
                found[path] = (stat.st_mode, "")
    return found


def differences(before: State, after: State) -> list[str]:
    return sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))


def hexadecimal(digest: str | list[int]) -> str:
    """A digest of a lock, as text or as bytes."""
    return digest.removeprefix("sha256:") if isinstance(digest, str) else bytes(digest).hex()


@dataclass
class Run:
    """The end of a program."""

    status: int
    output: str
    messages: str
    seconds: float
    memory: int

    @property
    def code(self) -> str:
        try:
            answer = json.loads(self.output)
        except ValueError:
            return ""
        return str(answer["error"]["code"]) if isinstance(answer, dict) and "error" in answer else ""

    def shown(self) -> str:
        return f"{self.status} {self.code or self.output[:200]!r} {self.messages[:200]!r}"


@dataclass
class World:
    """A project, a person's home and gongfu's, deep enough that no `../` of a test leaves the folder."""

    folder: Path
    gongfu: Path
    variables: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.top = self.folder / "1/2/3/4/5/6/7/8"
        self.home, self.project, self.user = self.top / "home", self.top / "project", self.top / "user"
        self.outside, self.temporary = self.top / "outside", self.top / "tmp"
        for folder in [self.home, self.project / ".git", self.project / ".claude", self.user, self.outside, self.temporary]:
            folder.mkdir(parents=True)
        (self.project / ".git/HEAD").write_text("ref: refs/heads/main\n")
        (self.project / ".claude/settings.json").write_text("{}\n")
        (self.outside / "secret.txt").write_text("outside\n")
        self.variables = {
            "HOME": str(self.user), "PATH": os.environ["PATH"], "GONGFU_HOME": str(self.home), "TMPDIR": str(self.temporary),
            "GIT_CONFIG_NOSYSTEM": "1", "npm_config_update_notifier": "false", **self.variables,
        }  # fmt: skip

    @property
    def skills(self) -> Path:
        return self.project / ".agents/skills"

    def start(self, *words: str, output: bool = False) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [self.gongfu, *words], env=self.variables, cwd=self.project, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE if output else subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip

    def run(self, *words: str, limit: float = MAX_TIME) -> Run:
        """Runs gongfu, which is killed after the limit, and measures its memory."""
        with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as messages:
            started = time.monotonic()
            process = subprocess.Popen(
                [self.gongfu, *words], env=self.variables, cwd=self.project, stdin=subprocess.DEVNULL, stdout=output, stderr=messages
            )
            memory = status = 0
            while True:
                done, status, usage = os.wait4(process.pid, os.WNOHANG)
                if done:
                    memory = usage.ru_maxrss // 1024
                    break
                if time.monotonic() - started > limit:
                    process.send_signal(signal.SIGKILL)
                    os.waitpid(process.pid, 0)
                    status = signal.SIGKILL
                    break
                time.sleep(0.002)
            process.returncode = os.waitstatus_to_exitcode(status)
            texts = []
            for file in (output, messages):
                file.seek(0)
                texts.append(file.read(1_000_000).decode(errors="replace"))
            return Run(process.returncode, texts[0], texts[1], time.monotonic() - started, memory)

    def warm(self) -> None:
        """Lets gongfu make what it makes once in its home."""
        source = self.folder / "warm"
        source.mkdir()
        (source / "SKILL.md").write_bytes(document("warm"))
        run = self.add(str(source))
        if run.status != 0 or not self.installed():
            raise SystemExit(f"error: a skill can't be added: {run.shown()}")
        self.reset()

    def add(self, *words: str, limit: float = MAX_TIME) -> Run:
        return self.run("skill", "add", *words, "--yes", "--json", limit=limit)

    def state(self) -> State:
        """Everything but the empty files of locks among processes, and the index of the library."""
        found = state(self.folder)
        locks, index = f"{self.home}/imports/", f"{self.home}/index"
        return {path: one for path, one in found.items() if not (path.startswith(locks) and path.endswith(".lock")) and not path.startswith(index)}

    def installed(self) -> Skills:
        found: Skills = {}
        for skill in sorted(self.skills.iterdir()) if self.skills.is_dir() else []:
            files = sorted(path for path in skill.rglob("*") if path.is_symlink() or not path.is_dir())
            found[skill.name] = {
                str(path.relative_to(skill)): (f"-> {path.readlink()}".encode(), False) if path.is_symlink()
                else (path.read_bytes() if path.stat().st_size <= LONG else digest(path), bool(path.stat().st_mode & 0o111))
                for path in files
            }  # fmt: skip
        return found

    def reset(self) -> None:
        """Removes what an import adds, and that alone."""
        for folder in [self.project / ".agents", self.project / ".claude/skills"]:
            shutil.rmtree(folder, ignore_errors=True)
        for cached in (self.home / "imports/skills").glob("*"):
            cached.unlink()
        for name in ["gongfu.lock", "skills-lock.json"]:
            (self.project / name).unlink(missing_ok=True)

    def judge(self, run: Run, before: State, expected: Skills | None, memory: int = MAX_MEMORY) -> list[str]:
        """What is wrong with the end of an import; afterwards all is as before it."""
        faults = []
        if run.status not in (0, 1, 2) or "panicked" in run.messages:
            faults.append(f"ended by {run.shown()}")
        if run.memory > memory:
            faults.append(f"took {run.memory} MiB")
        if expected is None:
            if run.status == 0:
                faults.append(f"was accepted: {run.output[:300]}")
            elif run.code not in CODES:
                faults.append(f"has an unknown code: {run.shown()}")
        else:
            found = self.installed()
            if run.status != 0:
                faults.append(f"was refused: {run.shown()} {run.output[:300]}")
            elif found != expected:
                wrong = {name for name in found.keys() | expected.keys() if found.get(name) != expected.get(name)}
                paths = [sorted(found.get(name, {})) for name in sorted(wrong)]
                faults.append(f"has other files than expected: {sorted(wrong)} {paths}"[:300])
            else:
                faults += self.check_locks(expected)
            if run.status == 0:
                self.reset()
        changed = differences(before, self.state())
        faults += [f"left {path.removeprefix(f'{self.folder}/')}" for path in changed[:5]]
        if changed:
            self.reset()
        return faults

    def check_locks(self, expected: Skills) -> list[str]:
        """The locks name the skills, and each has its link."""
        faults = []
        own: dict[str, Any] = json.loads((self.project / "gongfu.lock").read_text())["skills"]
        for name, files in expected.items():
            locked = {path: hexadecimal(file["digest"]) for path, file in own.get(name, {}).get("files", {}).items()}
            if locked != {path: digest(self.skills / name / path).hex() for path in files}:
                faults.append(f"`{name}` isn't locked as it is")
            if not (self.project / ".claude/skills" / name / "SKILL.md").is_file():
                faults.append(f"`{name}` isn't linked")
        if own.keys() != expected.keys():
            faults.append(f"locked: {sorted(own)}")
        return faults
