#!/usr/bin/env python3
"""Measures the calls of one server directly, through gongfu, and through the proxies of others.

    bench_connections.py [--gongfu BIN] [--tools FOLDER] [--seconds N] [--rounds N]

The servers are on standard input and output: three of the protocol's authors that do what people use them for (a file is
read, the state of a repository, the time), their server-everything, which answers with what it was sent, a server that
does as little as it can (quick_server.py), and the same with a millisecond of work in each call. Each is called directly,
through gongfu on standard input and output and over HTTP, and through FastMCP's proxy and mcp-proxy; one call after
another, and with 16 in flight, which over HTTP are as many connections. All take turns, for so many rounds. The clients
write requests and read answers as they are on the wire.

Prints the median of the rounds in calls a second and its share of the direct calls. `--tools` is where `just servers` has
installed what is measured; what isn't there is left out, with a note.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import selectors
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from clients import REPOSITORY, binary

SCRIPTS = Path(__file__).resolve().parent
VERSION = "2025-11-25"
MANY = 16
TIMEOUT = 60.0
ABOUT = {"protocolVersion": VERSION, "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}


def request(number: int | None, method: str, params: dict[str, Any]) -> bytes:
    named = {} if number is None else {"id": number}
    return json.dumps({"jsonrpc": "2.0", **named, "method": method, "params": params}).encode()


@dataclass
class Subject:
    """A server, and the call of it that is measured."""

    title: str
    command: list[str]
    tool: str = "echo"
    arguments: dict[str, str] | None = None
    """None for a message that is another one in each call."""
    expected: str = ""

    def call(self, number: int, tool: str) -> bytes:
        arguments = {"message": f"m{number}"} if self.arguments is None else self.arguments
        return request(number, "tools/call", {"name": tool, "arguments": arguments})

    def check(self, answer: Any) -> None:
        found = answer["result"]["content"][0]["text"]
        fits = found == f"Echo: m{answer['id']}" if self.arguments is None else self.expected in found
        if not fits:
            raise AssertionError(f"{found!r} is not the answer of {self.title}")


class Pipes:
    """A server on standard input and output; as many calls as wanted share its pipes."""

    def __init__(self, command: list[str], variables: dict[str, str], folder: Path) -> None:
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=variables, cwd=folder, bufsize=0)
        assert self.process.stdin and self.process.stdout
        self.input, self.output = self.process.stdin.fileno(), self.process.stdout.fileno()
        self.rest = b""
        os.write(self.input, request(0, "initialize", ABOUT) + b"\n")
        self.answers()
        os.write(self.input, request(None, "notifications/initialized", {}) + b"\n")

    def answers(self) -> list[Any]:
        """The next answers, at least one."""
        while True:
            more = os.read(self.output, 1 << 16)
            if not more:
                raise AssertionError("the server has ended")
            *lines, self.rest = (self.rest + more).split(b"\n")
            messages = [json.loads(line) for line in lines]
            if found := [message for message in messages if "method" not in message]:
                return found

    def measure(self, subject: Subject, tool: str, seconds: float, many: int) -> float:
        """The calls a second, with so many in flight."""
        number = 0

        def more(count: int) -> None:
            nonlocal number
            calls = []
            for _ in range(count):
                number += 1
                calls.append(subject.call(number, tool) + b"\n")
            os.write(self.input, b"".join(calls))

        started, done = time.monotonic(), 0
        more(many)
        while time.monotonic() - started < seconds:
            answers = self.answers()
            for answer in answers:
                subject.check(answer)
            done += len(answers)
            more(len(answers))
        took = time.monotonic() - started
        left = many
        while left:
            left -= len(self.answers())
        return done / took

    def close(self) -> None:
        self.process.kill()
        self.process.wait()


class Wire:
    """A connection that speaks as little HTTP as it needs."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), TIMEOUT)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.port, self.rest, self.session = port, b"", b""

    def send(self, body: bytes) -> None:
        lines = [b"POST /mcp HTTP/1.1", b"host: 127.0.0.1:%d" % self.port, b"content-type: application/json"]
        lines += [b"accept: application/json, text/event-stream", b"content-length: %d" % len(body), b"mcp-protocol-version: " + VERSION.encode()]
        lines += [b"mcp-session-id: " + self.session] if self.session else []
        self.socket.sendall(b"\r\n".join(lines) + b"\r\n\r\n" + body)

    def more(self) -> None:
        more = self.socket.recv(1 << 16)
        if not more:
            raise AssertionError("the connection was closed")
        self.rest += more

    def answer(self) -> Any:
        """The next answer; None where there is no body."""
        while b"\r\n\r\n" not in self.rest:
            self.more()
        head, _, self.rest = self.rest.partition(b"\r\n\r\n")
        fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:])
        self.session = self.session or next((line.split(b": ")[1] for line in head.split(b"\r\n") if line.lower().startswith(b"mcp-session-id")), b"")
        if b"chunked" in fields.get(b"transfer-encoding", b""):
            body = self.chunks()
        else:
            length = int(fields.get(b"content-length", b"0"))
            while len(self.rest) < length:
                self.more()
            body, self.rest = self.rest[:length], self.rest[length:]
        if not head.startswith(b"HTTP/1.1 2"):
            raise AssertionError(f"{head!r} {body!r}")
        if b"event-stream" in fields.get(b"content-type", b""):
            events = [json.loads(line[5:]) for line in body.splitlines() if line.startswith(b"data:") and line[5:].strip()]
            return next(event for event in events if "method" not in event)
        return json.loads(body) if body else None

    def chunks(self) -> bytes:
        body = b""
        while True:
            while b"\r\n" not in self.rest:
                self.more()
            size = int(self.rest.partition(b"\r\n")[0], 16)
            start = self.rest.index(b"\r\n") + 2
            while len(self.rest) < start + size + 2:
                self.more()
            body += self.rest[start : start + size]
            self.rest = self.rest[start + size + 2 :]
            if not size:
                return body


class Web:
    """A server over HTTP with a session; each call in flight has a connection."""

    def __init__(self, command: list[str], variables: dict[str, str], folder: Path, port: int) -> None:
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=variables, cwd=folder)
        deadline = time.monotonic() + TIMEOUT
        while True:
            try:
                first = Wire(port)
                break
            except OSError:
                if time.monotonic() > deadline or self.process.poll() is not None:
                    raise
                time.sleep(0.05)
        first.send(request(0, "initialize", ABOUT))
        first.answer()
        first.send(request(None, "notifications/initialized", {}))
        first.answer()
        self.wires = [first, *(Wire(port) for _ in range(MANY - 1))]
        for wire in self.wires:
            wire.session = first.session

    def measure(self, subject: Subject, tool: str, seconds: float, many: int) -> float:
        """The calls a second, with so many in flight."""
        number = 0

        def send(wire: Wire) -> int:
            nonlocal number
            number += 1
            wire.send(subject.call(number, tool))
            return number

        def check(wire: Wire, sent: int) -> None:
            answer = wire.answer()
            if answer["id"] != sent:
                raise AssertionError(f"{answer['id']} is not the id of the call {sent}")
            subject.check(answer)

        started, done = time.monotonic(), 0
        if many == 1:
            while time.monotonic() - started < seconds:
                check(self.wires[0], send(self.wires[0]))
                done += 1
            return done / (time.monotonic() - started)
        with selectors.DefaultSelector() as selector:
            waiting = {}
            for wire in self.wires[:many]:
                selector.register(wire.socket, selectors.EVENT_READ, wire)
                waiting[wire] = send(wire)
            while time.monotonic() - started < seconds:
                for key, _ in selector.select():
                    wire = key.data
                    check(wire, waiting[wire])
                    done += 1
                    waiting[wire] = send(wire)
            took = time.monotonic() - started
            for wire in waiting:
                wire.answer()
        return done / took

    def close(self) -> None:
        for wire in self.wires:
            wire.socket.close()
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@dataclass
class Way:
    """A way to a server, and the calls a second that were measured: one after another, and many at once."""

    name: str
    tool: str
    start: Callable[[], Pipes | Web]
    single: list[float] = field(default_factory=list)
    many: list[float] = field(default_factory=list)


def ways(subject: Subject, home: Home, tools: Path) -> list[Way]:
    """Every way to a server that can be measured here."""
    kept, folder = home.variables, home.folder
    server, tool, ours = subject.command, subject.tool, f"one__{subject.tool}"
    gongfu = [str(home.gongfu), "mcp", "--no-default-dirs"]

    def serve() -> Web:
        port = free_port()
        return Web([str(home.gongfu), "serve", "--no-default-dirs", "--listen", f"127.0.0.1:{port}"], kept, folder, port)

    def fastmcp_web() -> Web:
        port = free_port()
        return Web([*fastmcp, str(port), *server], kept, folder, port)

    def proxy_web() -> Web:
        port = free_port()
        return Web([str(proxy), "--log-level", "ERROR", "--port", str(port), "--", *server], kept, folder, port)

    found = [
        Way("directly", tool, lambda: Pipes(server, kept, folder)),
        Way("gongfu, stdio", ours, lambda: Pipes(gongfu, kept, folder)),
        Way("gongfu, HTTP", ours, serve),
    ]
    fastmcp = [sys.executable, str(SCRIPTS / "bench_proxy.py")]
    if subprocess.run([sys.executable, "-c", "import fastmcp"], capture_output=True).returncode == 0:
        found += [Way("FastMCP proxy, stdio", tool, lambda: Pipes([*fastmcp, "0", *server], kept, folder)), Way("FastMCP proxy, HTTP", tool, fastmcp_web)]
    else:
        print("note: FastMCP isn't installed", file=sys.stderr)
    proxy = tools / "proxy" / "bin" / "mcp-proxy"
    if proxy.exists():
        found.append(Way("mcp-proxy, HTTP", tool, proxy_web))
    else:
        print("note: mcp-proxy isn't installed", file=sys.stderr)
    return found


def subjects(tools: Path, folder: Path) -> list[Subject]:
    """What is measured: what is installed of it."""
    node, python = tools / "node_modules" / ".bin", tools / "python" / "bin"
    files, repository = folder / "files", folder / "repository"
    files.mkdir()
    text = files / "text.txt"
    text.write_text("".join(f"line {number} of a text\n" for number in range(500)))
    subprocess.run(["git", "init", "--quiet", str(repository)], check=True)
    quick = [sys.executable, str(SCRIPTS / "quick_server.py")]
    all_subjects = [
        Subject("filesystem: a file", [str(node / "mcp-server-filesystem"), str(files)], "read_text_file", {"path": str(text)}, "line 499"),
        Subject("git: the status", [str(python / "mcp-server-git")], "git_status", {"repo_path": str(repository)}, "No commits yet"),
        Subject("time: now", [str(python / "mcp-server-time")], "get_current_time", {"timezone": "UTC"}, "UTC"),
        Subject("server-everything: echo", [str(node / "mcp-server-everything"), "stdio"]),
        Subject("a quick server", quick),
        Subject("1 ms a call", [*quick, "1"]),
    ]
    found = [subject for subject in all_subjects if Path(subject.command[0]).exists()]
    for subject in all_subjects:
        if subject not in found:
            print(f"note: {subject.title}: it isn't installed", file=sys.stderr)
    return found


class Home:
    """A home of gongfu's with one approved connection."""

    def __init__(self, folder: Path, gongfu: Path, server: list[str]) -> None:
        self.folder, self.gongfu = folder, gongfu
        (folder / "user").mkdir(parents=True)
        path = f"{REPOSITORY / '.tools' / 'node' / 'node_modules' / '.bin'}:{os.environ['PATH']}"
        self.variables = {"PATH": path, "LANG": "C.UTF-8", "HOME": str(folder / "user"), "GONGFU_HOME": str(folder / "home")}
        for words in (["add", "one", "--", *server], ["approve", "one", "--yes"]):
            run = subprocess.run([gongfu, "connection", *words], env=self.variables, cwd=folder, capture_output=True, text=True)
            if run.returncode:
                raise AssertionError(f"gongfu connection {words[0]}: {run.stdout}{run.stderr}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gongfu", type=Path)
    parser.add_argument("--tools", type=Path, default=REPOSITORY / ".tools" / "servers")
    parser.add_argument("--seconds", type=float, default=2.0, help="how long each is measured in a round")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    tools = options.tools.resolve()
    with tempfile.TemporaryDirectory(prefix="gongfu-bench-") as name:
        for number, subject in enumerate(subjects(tools, Path(name))):
            home = Home(Path(name) / str(number), binary(options.gongfu), subject.command)
            measured = ways(subject, home, tools)
            for _ in range(options.rounds):
                for way in measured:
                    with contextlib.closing(way.start()) as client:
                        client.measure(subject, way.tool, min(0.5, options.seconds), 1)  # The server is started, and everything is warm.
                        way.single.append(client.measure(subject, way.tool, options.seconds, 1))
                        way.many.append(client.measure(subject, way.tool, options.seconds, MANY))
            print(f"\n{subject.title:<24} {'calls/s':>9} {'of direct':>10}   {f'{MANY} at once':>10} {'of direct':>10}", flush=True)
            first = measured[0]
            for way in measured:
                single, many = median(way.single), median(way.many)
                print(f"  {way.name:<22} {single:>9,.0f} {single / median(first.single):>10.0%}   {many:>10,.0f} {many / median(first.many):>10.0%}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
