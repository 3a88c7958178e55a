#!/usr/bin/env python3
"""Proves that many sessions use one set of servers, and that no kill leaves a process, loses an approval or stops the next call.

    prove_shared.py [--gongfu BIN] [--tools FOLDER] [--sessions N] [--kills N] [--process-kills N] [--seed N] [--short]

First the sessions: each is a `gongfu mcp` that calls all ten connections, which are seven real servers. They run once with
`--standalone`, each with servers of its own, and once with the servers that all share. It prints the processes and their
memory (PSS: shared pages count in parts) of both, when all sessions have made their calls.

Then the kills (-9) at random moments. A client is killed with a call in flight, and another one goes on: an approval that
was given just before has to hold for one call and no second one, an approval that lasts still holds, and a plain call is
answered. The shared process is killed under the calls of four clients: each may lose the calls that were in flight,
and the next call of each has to be answered. Never may more servers run than there are connections, and in the end nothing
may be left. A process that is planted must be found, and a call that nobody allowed must be refused, each time.

Exits 1 when anything of that isn't so. `--short` has 4 sessions, 20 kills of clients and 6 of the process.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

from clients import REPOSITORY, binary
from faulty_world import outcome
from stdio_client import GoneError, StdioClient, marked, text

MARK = "GONGFU_SHARED_MARK"
SCRIPTS = Path(__file__).resolve().parent
# How long a first call may take, how long processes may take to end, and the shared one after its last client.
FIRST, END, LINGER = 120.0, 10.0, 10.0
# The connections whose clients are killed: a plain one, one that always needs a person, and one whose calls take long.
KILLED = {"plain": ([], []), "guarded": (["--safety", "high"], []), "slow": ([], ["20"])}
# What a call may get whose process was killed while it ran.
LOST = "SERVER_UNAVAILABLE"


class World:
    """A home with connections that are approved."""

    def __init__(self, folder: Path, gongfu: Path, mark: str) -> None:
        self.folder, self.gongfu, self.mark = folder, gongfu, mark
        (folder / "user").mkdir(parents=True)
        (folder / "home").mkdir(mode=0o700)
        (folder / "home" / "config.toml").write_text("[tools]\nbudget = 100000000\n")
        kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        self.variables = {**kept, "HOME": str(folder / "user"), "GONGFU_HOME": str(folder / "home"), MARK: mark}

    def command(self, *words: str) -> str:
        run = subprocess.run([self.gongfu, *words], env=self.variables, cwd=self.folder, capture_output=True, text=True, timeout=FIRST)
        if run.returncode:
            raise AssertionError(f"gongfu {' '.join(words)}: {run.stdout}{run.stderr}")
        return run.stdout

    def connect(self, name: str, command: list[str], *options: str) -> None:
        self.command("connection", "add", name, *options, "--env", f"{MARK}={self.mark}", "--", *command)
        self.command("connection", "approve", name, "--yes")

    def client(self, *options: str) -> StdioClient:
        return StdioClient([str(self.gongfu), "mcp", "--no-default-dirs", *options], self.variables, self.folder)

    def processes(self) -> dict[int, str]:
        """All processes of gongfu and of its servers."""
        return marked(MARK, self.mark)

    def shared(self) -> int | None:
        """The process that runs the servers, if there is one."""
        wanted = [str(self.gongfu), "servers"]
        for number in self.processes():
            with contextlib.suppress(OSError):
                program = os.readlink(f"/proc/{number}/exe")
                words = Path(f"/proc/{number}/cmdline").read_bytes().split(b"\0")
                if [program, words[1].decode()] == wanted:
                    return number
        return None

    def until(self, is_good: Callable[[dict[int, str]], bool], seconds: float) -> dict[int, str]:
        """The processes once they are good, or after so long."""
        deadline = time.monotonic() + seconds
        while not is_good(found := self.processes()) and time.monotonic() < deadline:
            time.sleep(0.05)
        return found

    def left(self) -> dict[int, str]:
        """The processes that stay; they are ended."""
        left = self.until(lambda found: not found, LINGER + END)
        for number in left:
            os.kill(number, signal.SIGKILL)
        return left


@contextlib.contextmanager
def page() -> Iterator[str]:
    """The address of a page, for the server that fetches pages."""

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/plain")
            self.end_headers()
            self.wfile.write(b"a page of this machine")

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/"
    finally:
        server.shutdown()


@dataclass
class Real:
    """A real server, and a call with what its answer has to contain."""

    name: str
    command: list[str]
    tool: str
    arguments: dict[str, Any]
    expected: str


def real_servers(tools: Path, folder: Path, address: str) -> list[Real]:
    modules = tools / "node_modules" / "@modelcontextprotocol"

    def npm(name: str, *arguments: str) -> list[str]:
        return ["node", str(modules / f"server-{name}" / "dist" / "index.js"), *arguments]

    def python(name: str, *arguments: str) -> list[str]:
        return [str(tools / "python" / "bin" / f"mcp-server-{name}"), *arguments]

    notes, code = folder / "notes", folder / "code"
    for each in (notes, code):
        each.mkdir()
        (each / "hello.txt").write_text(f"hello from {each.name}")
        message = ["-m", f"the first of {each.name}"]
        for words in (["init", "-q"], ["add", "."], ["-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-q", *message]):
            subprocess.run(["git", *words], cwd=each, check=True)
    thought = {"thought": "one", "nextThoughtNeeded": False, "thoughtNumber": 1, "totalThoughts": 1}
    return [
        Real("everything", npm("everything"), "echo", {"message": "hello"}, "Echo: hello"),
        Real("notes", npm("filesystem", str(notes)), "read_text_file", {"path": str(notes / "hello.txt")}, "hello from notes"),
        Real("code", npm("filesystem", str(code)), "read_text_file", {"path": str(code / "hello.txt")}, "hello from code"),
        Real("memory", npm("memory"), "read_graph", {}, "entities"),
        Real("thinking", npm("sequential-thinking"), "sequentialthinking", thought, "thoughtNumber"),
        Real("history", python("git", "--repository", str(notes)), "git_log", {"repo_path": str(notes)}, "the first of notes"),
        Real("git", python("git", "--repository", str(code)), "git_log", {"repo_path": str(code)}, "the first of code"),
        Real("time", python("time"), "get_current_time", {"timezone": "UTC"}, "UTC"),
        Real("tokyo", python("time", "--local-timezone", "Asia/Tokyo"), "get_current_time", {"timezone": "Asia/Tokyo"}, "Asia/Tokyo"),
        Real("fetch", python("fetch", "--ignore-robots-txt", "--allow-private-ips"), "fetch", {"url": address}, "a page of this machine"),
    ]


@dataclass
class Size:
    """What runs at one moment; the processes that guard servers are gongfu's."""

    gongfu: int
    servers: int
    memory: float


def size(world: World) -> Size:
    found, memory, own = world.processes(), 0, 0
    for number in found:
        with contextlib.suppress(OSError):
            rollup = Path(f"/proc/{number}/smaps_rollup").read_text()
            memory += int(re.findall(r"^Pss: +(\d+)", rollup, re.MULTILINE)[0])
            own += os.readlink(f"/proc/{number}/exe") == str(world.gongfu)
    return Size(own, len(found) - own, memory / 1024)


def sessions(world: World, real: list[Real], count: int, options: list[str]) -> tuple[Size, float, list[str]]:
    """What runs when so many sessions have called every server; how long that took; wrong answers, and processes that are left."""
    # The commands that connected the servers have started some.
    world.until(lambda found: not found, LINGER + END)
    started = time.monotonic()
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(world.client(*options)) for _ in range(count)]

        def use(client: StdioClient) -> list[str]:
            answers = [(one, text(client.call(f"{one.name}__{one.tool}", one.arguments, FIRST))) for one in real]
            return [f"{one.name}: {answer[:200]}" for one, answer in answers if one.expected not in answer]

        with ThreadPoolExecutor(4) as pool:
            wrong = [words for found in pool.map(use, clients) for words in found]
        took = time.monotonic() - started
        at_work = size(world)
        for client in clients:
            client.end()
    return at_work, took, wrong + [f"left: {words}" for words in world.left().values()]


@dataclass
class Kills:
    """Kills of clients and of the process, and what was found wrong."""

    world: World
    random: random.Random
    got: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    turn: int = 0

    def expect(self, what: str, is_good: bool, seen: object) -> None:
        self.got[what] += 1
        if not is_good:
            self.wrong.append(f"turn {self.turn}: {what}: {str(seen)[:200]}")

    def echo(self, client: StdioClient, name: str, message: str) -> str:
        return outcome(client.call(f"{name}__echo", {"message": message}))

    def answer(self, refused: str, *words: str) -> None:
        """Answers the question of a call that was refused."""
        ids = re.findall(r"gongfu approve allow (\S+?)`", refused)
        if not ids:
            raise AssertionError(f"a call that nobody allowed: {refused}")
        self.world.command("approve", words[0], ids[0], *words[1:])

    def allow(self, client: StdioClient, message: str, *options: str) -> None:
        """Makes a call that needs a person, who allows it."""
        self.answer(text(client.call("guarded__echo", {"message": message})), "allow", *options)

    def holds(self, client: StdioClient, message: str) -> None:
        """What has to be so after each kill."""
        got = self.echo(client, "plain", message)
        self.expect("a plain call is answered", got == f"Echo: {message}", got)
        got = self.echo(client, "guarded", message)
        self.expect("a call that was allowed once is answered", got == f"Echo: {message}", got)
        again = client.call("guarded__echo", {"message": message})
        got = outcome(again)
        self.expect("the same call again is refused", got == "APPROVAL_REQUIRED", got)
        if got == "APPROVAL_REQUIRED":
            # Only so many questions may wait at once.
            self.answer(text(again), "deny")
        got = self.echo(client, "guarded", "always")
        self.expect("a call that is always allowed is answered", got == "Echo: always", got)

    def few(self) -> None:
        """No server may run twice for longer than a moment."""
        servers = str(SCRIPTS / "quick_server.py")

        def count(found: dict[int, str]) -> int:
            return sum(servers in words for words in found.values())

        found = self.world.until(lambda found: count(found) <= len(KILLED), END)
        self.expect("no server runs twice", count(found) <= len(KILLED), found)

    def client(self, client: StdioClient) -> StdioClient:
        """Kills a client while it calls; the one that takes its place."""
        message = f"client {self.turn}"
        self.allow(client, message)
        # A kill may come while the call is on its way to the process, runs there, or comes back.
        for _ in range(3):
            client.start("tools/call", {"name": "slow__echo", "arguments": {"message": message}})
        time.sleep(self.random.uniform(0, 0.1))
        client.process.kill()
        client.process.wait()
        after = self.world.client()
        self.holds(after, message)
        return after

    def process(self, clients: list[StdioClient]) -> None:
        """Kills the process that runs the servers while four clients call."""
        message = f"process {self.turn}"
        self.allow(clients[0], message)
        waiting = [client.start("tools/call", {"name": f"{name}__echo", "arguments": {"message": "x"}})[1] for client in clients for name in ("slow", "plain")]
        time.sleep(self.random.uniform(0, 0.06))
        number = self.world.shared()
        self.expect("there is a process to kill", number is not None, None)
        if number is not None:
            os.kill(number, signal.SIGKILL)
        for each in waiting:
            got = outcome(each.result(FIRST))
            self.got["calls in flight that were lost"] += got == LOST
            self.expect("a call in flight is answered or lost", got in ("Echo: x", LOST), got)
        for client in clients[1:]:
            got = self.echo(client, "plain", message)
            self.expect("the next call is answered", got == f"Echo: {message}", got)
        self.holds(clients[0], message)

    def run(self, clients: int, processes: int) -> None:
        client = self.world.client()
        self.allow(client, "always", "--always")
        for self.turn in range(1, clients + 1):
            client = self.client(client)
            if self.turn % 10 == 0:
                self.few()
        others = [client, *(self.world.client() for _ in range(3))]
        for self.turn in range(clients + 1, clients + processes + 1):
            self.process(others)
            self.few()
        # The last ones are killed as well: nobody tells the process that it isn't needed.
        for client in others:
            client.process.kill()
            client.process.wait()
        left = self.world.left()
        self.expect("nothing is left", not left, left)


def measured(world: World, tools: Path, count: int) -> list[str]:
    """Connects the real servers, and prints what so many sessions cost."""
    with page() as address:
        real = real_servers(tools, world.folder, address)
        for one in real:
            world.connect(one.name, one.command)
        print(f"{count} sessions, {len(real)} connections", "gongfu", "servers", "memory, MiB", "s", sep=" | ")
        wrong: list[str] = []
        for name, options in (("standalone", ["--standalone"]), ("shared", [])):
            at_work, took, found = sessions(world, real, count, options)
            print(name, at_work.gongfu, at_work.servers, f"{at_work.memory:,.0f}", f"{took:.1f}", sep=" | ", flush=True)
            wrong += [f"{name}: {words}" for words in found]
            if not at_work.servers:
                wrong.append(f"{name}: no server was found")
        return wrong


def killed(world: World, clients: int, processes: int, seed: int) -> list[str]:
    """Connects servers that are quick, kills, and prints what came of it."""
    for name, (options, arguments) in KILLED.items():
        world.connect(name, [sys.executable, str(SCRIPTS / "quick_server.py"), *arguments], *options)
    planted = subprocess.Popen(["sleep", "600"], env={**world.variables})
    is_found = planted.pid in world.processes()
    planted.kill()
    planted.wait()
    kills = Kills(world, random.Random(seed))
    started = time.monotonic()
    kills.run(clients, processes)
    print(f"{clients} kills of clients and {processes} of the process in {time.monotonic() - started:.0f} s, seed {seed}:")
    for what, count in kills.got.items():
        print(f"  {count:>6}  {what}")
    return kills.wrong + ([] if is_found else ["a process that was planted wasn't found"])


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--gongfu", type=Path)
    parser.add_argument("--tools", type=Path, default=REPOSITORY / ".tools" / "servers")
    parser.add_argument("--sessions", type=int, default=20)
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--process-kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--short", action="store_true")
    options = parser.parse_args()
    if options.short:
        options.sessions, options.kills, options.process_kills = 4, 20, 6
    gongfu = binary(options.gongfu).resolve()
    wrong: list[str] = []
    with tempfile.TemporaryDirectory(prefix="shared-") as name:
        try:
            world = World(Path(name) / "sessions", gongfu, f"{os.getpid()}-sessions")
            wrong += measured(world, options.tools.resolve(), options.sessions)
            world = World(Path(name) / "kills", gongfu, f"{os.getpid()}-kills")
            wrong += killed(world, options.kills, options.process_kills, options.seed)
        except (AssertionError, GoneError, TimeoutError) as error:
            wrong.append(repr(error))
    for words in wrong[:20]:
        print(f"WRONG {words}")
    print(f"{len(wrong)} wrong")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
