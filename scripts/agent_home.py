"""A home with settings and skills, and gongfu's agent in it, for the checks that let it speak with `faulty_model.py`."""

from __future__ import annotations

import json
import os
import re
import signal
import sqlite3
import subprocess
from functools import cache
from pathlib import Path

from clients import Failure
from faulty_model import Run
from scripted_wires import Json

KEY = "sk-proof-4f1c9b7ae2d84f60"
# What the address of a provider ends with.
LINKS = {"openai": "/v1", "anthropic": ""}
# The longest that a command may take, in seconds.
LIMIT = 60.0
# 50 users, each with orders, as the scenario `test-data` wants them.
COMMAND = "python3 scripts/make_data.py --users 50 --orders-per-user 1-5 --seed 7 --out /workspace/{file}"


@cache
def offline() -> tuple[str, ...]:
    """The start of a command that has no network; nothing where this machine doesn't allow that. Under CI it must."""
    wrapper = ("unshare", "-rn")
    try:
        is_possible = subprocess.run([*wrapper, "true"], check=False, capture_output=True).returncode == 0
    except OSError:
        is_possible = False
    if not is_possible and os.environ.get("CI") in ("true", "1"):
        raise Failure("`unshare -rn` doesn't work here: a replay can't be shown to need no network")
    return wrapper if is_possible else ()


class AgentHome:
    """A home, a project, and the model that the variables name."""

    def __init__(self, gongfu: Path, folder: Path, skills: dict[str, dict[str, str]], settings: str = "", run: Run | None = None, wire: str = "openai") -> None:
        self.gongfu, self.folder, self.project = gongfu, folder, folder / "project"
        for name in ("user", "home", "project"):
            (folder / name).mkdir(mode=0o700, parents=True)
        (folder / "home" / "config.toml").write_text(settings)
        self.add(skills)
        self.variables = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        self.variables |= {"HOME": str(folder / "user"), "GONGFU_HOME": str(folder / "home"), "GONGFU_STANDALONE": "1"}
        self.model = {}
        if run:
            self.asks(run, wire)

    def add(self, skills: dict[str, dict[str, str]]) -> None:
        for skill, files in skills.items():
            for path, text in files.items():
                file = self.folder / "home" / "skills" / skill / path
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text)

    def asks(self, run: Run, wire: str = "openai") -> None:
        """The next chats ask this model."""
        self.model = {f"{wire.upper()}_BASE_URL": run.url + LINKS[wire], f"{wire.upper()}_API_KEY": KEY}

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """A command in a process group of its own."""
        return subprocess.Popen(
            [self.gongfu, *arguments], env=self.variables | self.model, cwd=self.project, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace", start_new_session=True,
        )  # fmt: skip

    def ends(self, process: subprocess.Popen[str], limit: float = LIMIT) -> tuple[int | None, str, str]:
        """The code, the output and the errors; no code where it takes too long."""
        try:
            stdout, stderr = process.communicate(timeout=limit)
            return process.returncode, stdout, stderr
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return None, *process.communicate()

    def says(self, *arguments: str) -> Json:
        """The JSON of a command."""
        code, stdout, stderr = self.ends(self.start(*arguments, "--json"))
        try:
            return dict(json.loads(stdout))
        except (ValueError, TypeError):
            return {"error": f"`gongfu {' '.join(arguments)}` ends with {code}: {stderr or stdout}"}

    def chat(self, prompt: str, *arguments: str, model: str = "openai/scripted") -> Json:
        return self.says("chat", "--print", prompt, "--model", model, *arguments)

    def replay(self, session: str) -> Json:
        """A session again, without a model: no variable names one, and nothing answers."""
        command = [*offline(), self.gongfu, "chat", "replay", session, "--json"]
        done = subprocess.run(command, check=False, env=self.variables, cwd=self.project, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT)
        try:
            return dict(json.loads(done.stdout))
        except ValueError:
            return {"entries": 0, "divergence": {"what": done.stderr}}

    def logs(self, kind: str = "session-log") -> list[Path]:
        return sorted((self.folder / "home" / "records" / kind).glob("*/*.jsonl"))

    def trace(self, answer: Json) -> str:
        """The calls, the reply and the usage. Times differ, and so do the folders; times are told with their unit."""
        calls = [{**call, "duration_ms": 0} for call in answer.get("tool_calls", [])]
        shown = json.dumps([calls, answer.get("reply"), answer.get("end"), answer.get("usage")])
        return re.sub(r"\d+(\.\d+)? ?(ms|s)\b", "TIME", shown.replace(str(self.folder), "FOLDER"))


def rows(path: Path, database: sqlite3.Connection | None = None) -> list[str]:
    """What is wrong with the rows: 50 users, orders of each, and no order of anybody else."""
    if not path.is_file():
        return [f"there is no {path.name}"]
    database = database or sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    users, without = database.execute("SELECT count(*), sum(id NOT IN (SELECT user_id FROM orders)) FROM users").fetchone()
    orders, strange = database.execute("SELECT count(*), sum(user_id NOT IN (SELECT id FROM users)) FROM orders").fetchone()
    is_met = (users, without, strange) == (50, 0, 0) and orders >= users
    return [] if is_met else [f"there are {users} users, {without} without an order, and {orders} orders, {strange} of nobody"]


def entries(log: Path) -> list[Json]:
    """The whole entries of a log."""
    return [json.loads(line) for line in log.read_bytes().split(b"\n")[:-1]]


def difference(one: str, other: str) -> str:
    """The first place where two traces differ."""
    at = len(os.path.commonprefix([one, other]))
    return f"{one[max(0, at - 40) : at + 60]!r} and {other[max(0, at - 40) : at + 60]!r}"
