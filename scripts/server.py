"""One server on this machine, on a free port if no other is named, for the checks that speak HTTP."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Mapping
from pathlib import Path

# What the server prints once it listens.
ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+/mcp")
# How long it may take to start, and to end after a signal.
START = 60.0
END = 15.0


def resident(process: int) -> int:
    """The memory of a process, in MiB."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) // 1024


class ServerError(Exception):
    """The server did not start, or did not end as it should."""


class Server:
    """A server that runs for the length of a `with` block; its address is `url`."""

    def __init__(
        self, program: Path, *arguments: str, variables: Mapping[str, str], folder: Path, port: int = 0
    ) -> None:
        self.command = [str(program), *arguments, "--listen", f"127.0.0.1:{port}"]
        self.variables = variables
        self.folder = folder
        self.lines: list[str] = []
        self.url = ""
        self._started = threading.Event()

    def __enter__(self) -> Server:
        self.process = subprocess.Popen(
            self.command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            env={**os.environ, **self.variables},
            cwd=self.folder,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self._started.wait(START)
        if not self.url:
            self.process.kill()
            self.process.wait()
            raise ServerError(f"the server said no address: {self.said()}")
        return self

    def _read(self) -> None:
        """Reads what the server prints to its end, so that it never waits for a reader."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line.rstrip())
            found = ADDRESS.search(line)
            if found and not self.url:
                self.url = found.group()
                self._started.set()
        self._started.set()

    def said(self) -> str:
        """The last lines that it printed."""
        return " | ".join(self.lines[-5:]) or "it printed nothing"

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        problem = self.end()
        # A failure inside of the block says more.
        if problem and kind is None:
            raise ServerError(problem)

    def end(self) -> str:
        """Asks the server to end, and says what was wrong with that."""
        if self.process.poll() is not None:
            return f"the server ended by itself with {self.process.returncode}: {self.said()}"
        started = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(END)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            return f"the server did not end within {END:g} s of a signal: {self.said()}"
        self._reader.join(5)
        if code != 0:
            return f"the server ended with {code} after {time.monotonic() - started:.1f} s: {self.said()}"
        if any("panicked" in line for line in self.lines):
            return f"the server panicked: {self.said()}"
        return ""
