"""Starts an MCP server on standard input and output, and asks which tools it offers."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

# How long a server may take to start and to list its tools, in seconds.
PATIENCE = 180.0
MAX_PAGES = 100
ABOUT = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "tool-definitions", "version": "1"}}


class SilentError(Exception):
    """The server doesn't list its tools: why."""


def list_tools(command: list[str], programs: Path, variables: dict[str, str]) -> list[dict[str, Any]]:
    """The tools of a server; it is started in an empty home, and ended with all that it started."""
    with tempfile.TemporaryDirectory(prefix="tool-definitions-", ignore_cleanup_errors=True) as home, open(Path(home) / "stderr", "w+b") as said:
        path = f"{programs}:{os.environ['PATH']}"
        variables = {"PATH": path, "LANG": "C.UTF-8", "HOME": home, "TMPDIR": home, **variables}
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=said, env=variables, cwd=home, start_new_session=True)
        try:
            return _ask(process)
        except (SilentError, OSError, KeyError, TypeError) as error:
            said.seek(0)
            words = said.read().decode(errors="replace").strip()[-300:]
            raise SilentError(f"{error}: {words}" if words else str(error)) from None
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _ask(process: subprocess.Popen[bytes]) -> list[dict[str, Any]]:
    lines: queue.Queue[bytes | None] = queue.Queue()
    threading.Thread(target=_read, args=(process, lines), daemon=True).start()
    deadline = time.monotonic() + PATIENCE

    def send(message: dict[str, Any]) -> None:
        assert process.stdin is not None
        process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        process.stdin.flush()

    def answer(number: int) -> dict[str, Any]:
        while True:
            try:
                line = lines.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                raise SilentError("it doesn't answer in time") from None
            if line is None:
                raise SilentError("it ends")
            try:
                message = json.loads(line)
            except ValueError:
                continue  # Some print a banner first.
            if isinstance(message, dict) and message.get("id") == number and "method" not in message:
                if "result" not in message:
                    raise SilentError(str(message.get("error"))[:200])
                return message["result"]

    send({"id": 0, "method": "initialize", "params": ABOUT})
    answer(0)
    send({"method": "notifications/initialized"})
    tools: list[dict[str, Any]] = []
    cursor: dict[str, Any] = {}
    for number in range(1, MAX_PAGES):
        send({"id": number, "method": "tools/list", "params": cursor})
        page = answer(number)
        tools += page["tools"]
        if not page.get("nextCursor"):
            return tools
        cursor = {"cursor": page["nextCursor"]}
    raise SilentError("its list doesn't end")


def _read(process: subprocess.Popen[bytes], lines: queue.Queue[bytes | None]) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        lines.put(line)
    lines.put(None)
