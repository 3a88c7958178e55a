"""One session of a client with a scripted model, and what gongfu itself has for a client of that name."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from client_programs import Program
from model_server import ModelServer
from model_wires import Action, Turn

# What a client may take, in seconds.
TIMEOUT = 120.0
# How much of a text a transcript shows, in characters.
SHOWN = 1_200
# The first words of gongfu's instructions, after the number of skills.
INSTRUCTIONS = "Before you start a task, find the skill"


def environment(home: Path) -> dict[str, str]:
    """The variables of a person who has just logged in: nothing of this shell's."""
    path = "/usr/local/bin:/usr/bin:/bin"
    return {"HOME": str(home), "PATH": path, "LANG": "C.UTF-8", "USER": "me", "TERM": "dumb"}


@dataclass
class Session:
    """What the model was sent, and what the client printed; the code is None when it took too long."""

    model: ModelServer
    command: list[str]
    printed: str
    code: int | None
    seconds: float

    def turns(self) -> list[Turn]:
        """The requests of the conversation itself, oldest first: those that offer tools."""
        turns = [exchange.turn for exchange in self.model.exchanges]
        return [turn for turn in turns if turn and turn.tools]

    def transcript(self, program: Program, installed: str, prompt: str, names: dict[str, str]) -> str:
        """The session as a page, with what the requests have of gongfu; paths get the names of a person's."""

        def clipped(text: str) -> str:
            for path, name in names.items():
                text = text.replace(path, name)
            return text if len(text) <= SHOWN else f"{text[:SHOWN]}\n[… {len(text) - SHOWN} more characters]"

        parts = [
            f"# {program.name} {program.version()}\n",
            f"```console\n$ gongfu client install {program.name}\n{clipped(installed.strip())}\n```\n",
            f"```console\n$ {program.said.replace('PROMPT', repr(prompt))}\n{clipped(self.printed.strip())}\n```\n",
            "What the model was sent of gongfu, and what it answered:\n",
        ]
        known: set[str] = set()
        results = 0
        for number, turn in enumerate(self.turns(), 1):
            parts.append(f"## Request {number}\n")
            for result in turn.results[results:]:
                parts.append(f"The answer of the tool:\n\n```text\n{clipped(result)}\n```\n")
            results = len(turn.results)
            start = turn.context.find(INSTRUCTIONS)
            if start >= 0 and INSTRUCTIONS not in known:
                known.add(INSTRUCTIONS)
                begin = turn.context.rfind("\n", 0, start) + 1
                parts.append(f"The instructions of the server:\n\n```text\n{clipped(turn.context[begin:])}\n```\n")
            tools = [name for name in turn.tools if "gongfu" in name and name not in known]
            known.update(tools)
            if tools:
                lines = [f"{name}: {turn.tools[name].splitlines()[0]}" for name in tools]
                parts.append("Tools, of each the first line:\n\n```text\n" + "\n".join(lines) + "\n```\n")
            action = next(exchange.action for exchange in self.model.exchanges if exchange.turn is turn) or Action()
            said = f"{action.tool} {json.dumps(action.arguments)}" if action.tool else action.text
            parts.append(f"The model: `{said}`\n")
        return "\n".join(parts)


def run_client(program: Program, home: Path, project: Path, prompt: str, script: Callable[[Turn], Action]) -> Session:
    """Starts a client on a prompt, in a group of its own that is ended with it."""
    with ModelServer(script) as model, tempfile.TemporaryFile() as output:
        arguments, variables = program.start(model.url, prompt)
        command = [*program.command(), *arguments]
        begun = time.monotonic()
        process = subprocess.Popen(
            command,
            cwd=project,
            env={**environment(home), **variables},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            code: int | None = process.wait(TIMEOUT)
        except subprocess.TimeoutExpired:
            code = None
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        seconds = time.monotonic() - begun
        output.seek(0)
        printed = output.read().decode(errors="replace")
    return Session(model, command, printed, code, seconds)


def ask_gongfu(
    gongfu: Path, home: Path, project: Path, arguments: list[str], client: str, version: str
) -> tuple[str, dict[str, str]]:
    """The instructions and the descriptions of tools that gongfu has for a client of this name."""
    info = {"name": client, "version": version}
    requests = [
        {"id": 1, "method": "initialize",
         "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info}},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/list"},
    ]  # fmt: skip
    # A client that waits only briefly gets less the first time, when the skills were never read.
    subprocess.run(
        [gongfu, "skill", "list", *arguments], env=environment(home), cwd=project, timeout=TIMEOUT, capture_output=True
    )
    process = subprocess.Popen(
        [gongfu, "mcp", *arguments], env=environment(home), cwd=project, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    assert process.stdin and process.stdout
    results: dict[int, dict] = {}
    with process:
        for request in requests:
            process.stdin.write(json.dumps({"jsonrpc": "2.0", **request}) + "\n")
            process.stdin.flush()
            while "id" in request and request["id"] not in results:
                answer = json.loads(process.stdout.readline())
                if "id" in answer:
                    results[answer["id"]] = answer["result"]
        process.stdin.close()
    tools = {tool["name"]: tool["description"] for tool in results[2]["tools"]}
    return results[1]["instructions"], tools
