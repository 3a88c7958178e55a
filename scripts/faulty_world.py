"""A gongfu with good servers and one that gets a fault, and calls to the good ones all the time, for `prove_faults.py`."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stdio_client import GoneError, StdioClient, marked, text

SERVER = Path(__file__).resolve().parent / "faulty_server.py"
MARK = "GONGFU_FAULTS_MARK"
GOOD = ["good-1", "good-2", "good-3"]
# The pause between two calls of one good server, and how long each call may take.
PAUSE = 0.01
LONGEST = 10.0
# How long gongfu may take to notice something, and processes to end.
NOTICE, LEFT = 20.0, 10.0

Answer = dict[str, Any]


def outcome(answer: Answer) -> str:
    """What a caller got: the code of an error, or the start of the text."""
    if "error" in answer:
        return str(answer["error"].get("data", {}).get("code", answer["error"]["code"]))
    structured = answer["result"].get("structuredContent") or {}
    return str(structured["code"]) if "code" in structured else text(answer)[:40]


class World:
    """A home with approved servers, and gongfu in it."""

    def __init__(self, folder: Path, gongfu: Path, mark: str, is_short: bool) -> None:
        self.folder, self.mark, self.is_short = folder, mark, is_short
        self.gongfu = folder / "gongfu"
        shutil.copy(gongfu, self.gongfu)
        self.fault, self.log = folder / "fault", folder / "fault.log"
        (folder / "user").mkdir()
        kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        self.variables = {**kept, "HOME": str(folder / "user"), "GONGFU_HOME": str(folder / "home"), MARK: mark}
        # The faults of a server, and not what other clients have to do with them, are the matter here.
        self.variables["GONGFU_STANDALONE"] = "1"
        self.client: StdioClient
        # The median of calls with a server that works, in milliseconds.
        self.usual = float("nan")
        self.fault.write_text("none")
        for name in [*GOOD, "bad"]:
            argument = f"@{self.fault}" if name == "bad" else "none"
            self.command("connection", "add", name, "--env", f"{MARK}={mark}", "--", sys.executable, str(SERVER), argument)
            self.command("connection", "approve", name, "--yes")
        # Every tool is listed, however many there are.
        (folder / "home" / "config.toml").write_text("[tools]\nbudget = 100000000\n")
        shutil.copytree(folder / "home", folder / "approved")

    def command(self, *words: str) -> str:
        run = subprocess.run([self.gongfu, *words], env=self.variables, cwd=self.folder, capture_output=True, text=True, timeout=90)
        if run.returncode:
            raise AssertionError(f"gongfu {' '.join(words)}: {run.stdout}{run.stderr}")
        return run.stdout

    def start(self, words: str, is_approved_anew: bool) -> None:
        """Starts gongfu on a fresh home, with the fault in the server."""
        shutil.rmtree(self.folder / "home")
        shutil.copytree(self.folder / "approved", self.folder / "home")
        self.fault.write_text(words)
        self.log.unlink(missing_ok=True)
        if is_approved_anew:
            self.command("connection", "approve", "bad", "--yes", "--json")
        variables = {**self.variables, "GONGFU_LOG": "info", "GONGFU_LOG_FORMAT": "json"}
        self.client = StdioClient([str(self.gongfu), "mcp", "--no-default-dirs"], variables, self.folder)

    def notes(self, word: str) -> int:
        """How often the faulty server noted something."""
        return self.log.read_text().split().count(word) if self.log.exists() else 0

    def states(self) -> list[tuple[float, str, str]]:
        """The states of the faulty server so far, as the running gongfu logged them: when, which, why."""
        lines = [(at, json.loads(line)) for at, line in self.client.log if '"its state changed"' in line]
        return [(at, one["state"], one.get("reason", "")) for at, one in lines if one["connection"] == "bad"]

    def listed(self) -> set[str]:
        """The faulty server's tools that a client sees."""
        return {tool["name"].removeprefix("bad__") for tool in self.client.tools() if tool["name"].startswith("bad__")}

    def left(self) -> dict[int, str]:
        """The processes that belong to this run."""
        found = marked(MARK, self.mark)
        for folder in Path("/proc").iterdir():
            try:
                words = (folder / "cmdline").read_bytes()
                if folder.name.isdigit() and words.startswith(bytes(self.gongfu)):
                    found[int(folder.name)] = words.replace(b"\0", b" ").decode(errors="replace").strip()
            except OSError:
                continue
        return found

    def until_nothing_is_left(self) -> tuple[float, dict[int, str]]:
        """How long processes are left, and those that stay."""
        started = gone = time.monotonic()
        # A second look finds those that were just being started.
        while (left := self.left()) or time.monotonic() - gone < 0.1:
            if left:
                gone = time.monotonic()
                if gone - started > LEFT:
                    break
            time.sleep(0.02)
        for number in left:
            os.kill(number, signal.SIGKILL)
        return gone - started, left

    def call(self, tool: str = "echo", timeout: float = NOTICE) -> str:
        return outcome(self.client.call(f"bad__{tool}", {"text": "hello"}, timeout))


@dataclass
class Traffic:
    """Calls of the good servers, one after another for each."""

    client: StdioClient
    times: list[tuple[float, float]] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    is_over: bool = False

    def run(self, name: str) -> None:
        turn = 0
        while not self.is_over:
            turn += 1
            started = time.monotonic()
            try:
                got = text(self.client.call(f"{name}__echo", {"text": f"{name} {turn}"}, LONGEST))
            except (TimeoutError, GoneError, OSError) as error:
                got = repr(error)
            self.times.append((started, time.monotonic() - started))
            if got != f"{name} {turn}":
                self.wrong.append(f"{name}: {got[:100]}")
                return
            time.sleep(PAUSE)

    def __enter__(self) -> Traffic:
        for name in GOOD:  # They are started before they are measured.
            self.client.call(f"{name}__echo", {"text": "first"})
        self.threads = [threading.Thread(target=self.run, args=(name,)) for name in GOOD]
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.is_over = True
        for thread in self.threads:
            thread.join()

    def figures(self, since: float, until: float) -> tuple[int, float, float]:
        """The number of calls in a time, and their median and 99th percentile in milliseconds."""
        took = sorted(took for at, took in self.times if since <= at < until) or [float("nan")]
        return len(took), took[len(took) // 2] * 1000, took[len(took) * 99 // 100] * 1000


def highest(process: int) -> int:
    """The most memory that a process ever had, in MiB."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) // 1024
