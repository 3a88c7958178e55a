"""A client of an MCP server on standard input and output, which sees every line, for the checks of connections."""

from __future__ import annotations

import json
import os
import subprocess
import threading
import time
from collections.abc import Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import Any

VERSION = "2025-11-25"
# How long an answer may take unless a check says otherwise, and how long a server may take to end.
ANSWER = 30.0
END = 15.0


class GoneError(Exception):
    """The server closed its output."""


class StdioClient:
    """A client that has greeted its server; requests may be sent from any thread."""

    def __init__(self, command: list[str], variables: Mapping[str, str], folder: Path, capabilities: dict[str, Any] | None = None) -> None:
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=dict(variables), cwd=folder
        )
        self.notifications: list[dict[str, Any]] = []
        # What it printed to standard error, and when.
        self.log: list[tuple[float, str]] = []
        self._waiting: dict[int, Future[dict[str, Any]]] = {}
        self._lock = threading.Lock()
        self._number = 0
        self._threads = [threading.Thread(target=read, daemon=True) for read in (self._read, self._read_log)]
        for thread in self._threads:
            thread.start()
        about = {"protocolVersion": VERSION, "capabilities": capabilities or {}, "clientInfo": {"name": "check", "version": "1"}}
        self.request("initialize", about)
        self.notify("notifications/initialized")

    def __enter__(self) -> StdioClient:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self.process.kill()
        self.process.wait()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            message = json.loads(line)
            with self._lock:
                waiting = self._waiting.pop(message.get("id"), None) if "method" not in message else None
            if waiting:
                waiting.set_result(message)
            else:
                self.notifications.append(message)
        with self._lock:
            left, self._waiting = self._waiting, {}
        for waiting in left.values():
            waiting.set_exception(GoneError("the server closed its output"))

    def _read_log(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.log.append((time.monotonic(), line.decode(errors="replace").rstrip()))

    def _write(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        line = json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"
        with self._lock:
            self.process.stdin.write(line)
            self.process.stdin.flush()

    def notify(self, method: str, params: dict[str, Any] | None = None) -> None:
        """Sends a notification."""
        self._write({"method": method, **({"params": params} if params else {})})

    def reply(self, number: Any, result: dict[str, Any]) -> None:
        """Answers a request of the server."""
        self._write({"id": number, "result": result})

    def start(self, method: str, params: dict[str, Any]) -> tuple[int, Future[dict[str, Any]]]:
        """Sends a request; its number and its answer to come."""
        waiting: Future[dict[str, Any]] = Future()
        with self._lock:
            self._number += 1
            number = self._number
            self._waiting[number] = waiting
        self._write({"id": number, "method": method, "params": params})
        return number, waiting

    def request(self, method: str, params: dict[str, Any], timeout: float = ANSWER) -> dict[str, Any]:
        """Sends a request and waits for the whole answer."""
        return self.start(method, params)[1].result(timeout)

    def call(self, tool: str, arguments: dict[str, Any], timeout: float = ANSWER) -> dict[str, Any]:
        """Calls a tool and waits for the whole answer."""
        return self.request("tools/call", {"name": tool, "arguments": arguments}, timeout)

    def tools(self) -> list[dict[str, Any]]:
        """Every tool that it lists, of all pages."""
        tools: list[dict[str, Any]] = []
        cursor: dict[str, Any] = {}
        while True:
            page = self.request("tools/list", cursor)["result"]
            tools += page["tools"]
            if not page.get("nextCursor"):
                return tools
            cursor = {"cursor": page["nextCursor"]}

    def end(self) -> int | None:
        """Closes the server's input, and waits for its end; the code, or None when it had to be killed."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        try:
            code: int | None = self.process.wait(END)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            code = None
        for thread in self._threads:
            thread.join(END)
        return code


def marked(name: str, value: str) -> dict[int, str]:
    """The processes of this machine that have a variable, however they are related: their arguments by their numbers."""
    wanted, found = f"{name}={value}".encode(), {}
    for folder in Path("/proc").iterdir():
        try:
            number = int(folder.name)
            is_dead = (folder / "stat").read_text().rpartition(")")[2].split()[0] in "ZX"
            if number != os.getpid() and not is_dead and wanted in (folder / "environ").read_bytes().split(b"\0"):
                found[number] = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
        except (OSError, ValueError):
            continue  # No process, or one that has just ended.
    return found


def text(answer: dict[str, Any]) -> str:
    """The words of an answer to a call: those of its tool, or of the error."""
    if "error" in answer:
        return str(answer["error"]["message"])
    return "\n".join(block.get("text", "") for block in answer["result"]["content"])
