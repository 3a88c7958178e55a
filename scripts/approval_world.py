"""A gongfu whose only connection has tools that need a person, and two clients of it, for `prove_approvals.py`."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from stdio_client import StdioClient

SERVER = Path(__file__).resolve().parent / "counting_server.py"
# A tool that a person allowed for always: its call starts the server.
BASE = "base"
# The longest that gongfu may take to notice a definition that changed, and that a call may take.
NOTICE, ANSWER = 20.0, 60.0
HOUR = 60 * 60 * 1000

Answer = dict[str, Any]


class World:
    """A home with a connection to a server that counts what it executed."""

    def __init__(self, folder: Path, gongfu: Path, tools: list[str]) -> None:
        self.folder, self.gongfu, self.home, self.count = folder, gongfu, folder / "home", folder / "count"
        for made in (folder / "user", self.count):
            made.mkdir()
        kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        self.variables = {**kept, "HOME": str(folder / "user"), "GONGFU_HOME": str(self.home), "GONGFU_STANDALONE": "1"}
        command = [sys.executable, str(SERVER), str(self.count), BASE, *tools]
        self.run("connection", "add", "other", "--safety", "high", "--", *command)
        self.approve_definitions()
        self.clients: dict[str, StdioClient] = {}
        self.starts = 0
        self.start()
        refused = self.call("blind", BASE, 0)
        self.run("approve", "allow", refused["approval"], "--always", "--any-arguments")
        shutil.copytree(self.home, folder / "fresh")

    def run(self, *words: str) -> str:
        run = subprocess.run([self.gongfu, *words], env=self.variables, cwd=self.folder, capture_output=True, text=True, timeout=90)
        if run.returncode:
            raise AssertionError(f"gongfu {' '.join(words)}: {run.stdout}{run.stderr}")
        return run.stdout

    def refresh(self) -> None:
        """As it was at first: no answers, no calls, no changed definition."""
        self.stop()
        shutil.rmtree(self.home)
        shutil.copytree(self.folder / "fresh", self.home)
        for file in self.count.iterdir():
            file.unlink()
        self.start()

    def approve_definitions(self) -> None:
        self.run("connection", "approve", "other", "--yes")

    def start(self) -> None:
        """Starts both clients: `asks` shows questions to its person, `blind` can't."""
        self.starts += 1
        command = [str(self.gongfu), "mcp", "--no-default-dirs"]
        for name, capabilities in (("asks", {"elicitation": {"form": {}}}), ("blind", {})):
            self.clients[name] = StdioClient(command, self.variables, self.folder, capabilities)

    def stop(self, is_killed: bool = False) -> None:
        for client in self.clients.values():
            if is_killed:
                client.process.send_signal(signal.SIGKILL)
            client.end()
        self.clients = {}

    def session(self, client: str) -> str:
        """The name of the session of a client, which ends with its process."""
        return f"{client} {self.starts}"

    def begin(self, client: str, tool: str, n: int) -> Any:
        return self.clients[client].start("tools/call", {"name": f"other__{tool}", "arguments": {"n": n}})[1]

    def call(self, client: str, tool: str, n: int, reply: Answer | None = None) -> Answer:
        """Calls a tool, and answers the question that may come; what the caller got, and whether somebody was asked."""
        asker, answer = self.clients[client], self.begin(client, tool, n)
        deadline, was_asked = time.monotonic() + ANSWER, False
        while not answer.done():
            while asker.notifications:
                message = asker.notifications.pop(0)
                if message.get("method") == "elicitation/create":
                    was_asked = True
                    asker.reply(message["id"], reply or {"action": "cancel"})
            if time.monotonic() > deadline:
                raise TimeoutError(f"no answer to a call of {tool}")
            time.sleep(0.0005)
        return {"was_asked": was_asked, **outcome(answer.result())}

    def twice(self, client: str, tool: str, n: int) -> list[Answer]:
        """The same call twice at once."""
        both = [self.begin(client, tool, n) for _ in range(2)]
        return [outcome(one.result(ANSWER)) for one in both]

    def until_hidden(self, tools: list[str]) -> None:
        """Starts the servers of both clients, and waits until tools that changed are hidden."""
        deadline = time.monotonic() + NOTICE
        for name, client in self.clients.items():
            self.call(name, BASE, 0)
            while {f"other__{tool}" for tool in tools} & {tool["name"] for tool in client.tools()}:
                if time.monotonic() > deadline:
                    raise TimeoutError("a tool that changed is listed")
                time.sleep(0.02)

    def executed(self) -> list[str]:
        """What the server executed so far."""
        path = self.count / "calls"
        lines = path.read_text().splitlines() if path.exists() else []
        return [line for line in lines if not line.startswith(BASE)]

    def records(self) -> list[dict[str, Any]]:
        """The questions and answers, as a person sees them."""
        return [one for one in json.loads(self.run("approve", "list", "--json")) if one["tool"] != f"other__{BASE}"]

    def pass_time(self, hours: int) -> None:
        """Lets time pass: every time in the record is as much earlier."""
        path = self.home / "approvals.json"
        if not path.exists():
            return
        approvals = json.loads(path.read_text())
        for one in approvals["all"]:
            for name in ("asked", "until"):
                if one.get(name) is not None:
                    one[name] -= hours * HOUR
        path.write_text(json.dumps(approvals))


def outcome(answer: Answer) -> Answer:
    """What a caller got: whether it ran, else the code of the refusal, and the id of the question."""
    result = answer.get("result", {})
    structured = result.get("structuredContent") or {}
    ran = "error" not in answer and not result.get("isError")
    return {"ran": ran, "code": "" if ran else structured.get("code", "error"), "approval": structured.get("approval")}
