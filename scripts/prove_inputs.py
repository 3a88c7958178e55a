#!/usr/bin/env python3
"""Proves that no malformed request to the REST API makes a server with accounts panic, hang, end or grow.

    prove_inputs.py [--gongfu BIN] [--count N] [--seed N] [--workers N] [--limit SECONDS]

Several processes send requests that are made from a seed (malformed_requests.py), most on connections that are kept, and
read every answer: it comes soon, and its status is none of the 500s. Now and then a request that is as it should be is
answered as it should be. A server with a fault (500, silence, a closed connection) has to be found first.

Prints the inputs by kind and the answers by status. Exits 1 on a fault, when the server panicked or ended, or when its
memory grew.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import random
import socket
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from account_site import Home, Probe, Site, User, program, sign_in
from malformed_requests import Maker, Operation
from server import Server, resident

# By how many MiB a warm server may grow.
MAX_GROWTH = 64
CONTROL = 500
MIN_RATE_OF_ANSWERS = 0.7
FAULTS = ["fault", "silence", "close"]


@dataclass
class Tally:
    inputs: Counter[str] = field(default_factory=Counter)
    answers: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    controls: int = 0
    slowest: float = 0.0
    slow_kind: str = ""


class Connection:
    """A connection that is kept while it can be."""

    def __init__(self, host: str, limit: float) -> None:
        name, port = host.split(":")
        self.address, self.limit = (name, int(port)), limit
        self.socket: socket.socket | None = None
        self.ahead = b""

    def close(self) -> None:
        if self.socket:
            self.socket.close()
        self.socket, self.ahead = None, b""

    def send(self, content: bytes, ends: bool) -> int:
        """Sends a request; the status of the answer, 0 when it is closed without one."""
        if not self.socket:
            self.socket = socket.create_connection(self.address, timeout=self.limit)
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            self.socket.sendall(content)
            if ends:
                self.socket.shutdown(socket.SHUT_WR)
        except (BrokenPipeError, ConnectionResetError, OSError):
            # It may have answered and closed before all is written.
            pass
        try:
            status, closes = self.answer(content.startswith(b"HEAD "))
        except ConnectionResetError:
            status, closes = 0, True
        if ends or closes or not status:
            self.close()
        return status

    def answer(self, is_head: bool) -> tuple[int, bool]:
        while True:
            end = self.ahead.find(b"\r\n\r\n")
            if end >= 0:
                head, self.ahead = self.ahead[:end].lower(), self.ahead[end + 4 :]
                status = int(head[9:12])
                if status != 100:
                    break
                continue
            if not self.more():
                return 0, True
        at = head.find(b"content-length: ")
        length = 0 if at < 0 or is_head else int(head[at + 16 :].split(b"\r\n", 1)[0])
        if b"transfer-encoding: chunked" in head:
            return status, True
        while len(self.ahead) < length:
            if not self.more():
                return 0, True
        self.ahead = self.ahead[length:]
        return status, b"connection: close" in head

    def more(self) -> bool:
        assert self.socket
        part = self.socket.recv(1 << 16)
        self.ahead += part
        return bool(part)


def work(host: str, seed: int, count: int, credentials: list[str], ids: list[str], operations: list[Operation], limit: float) -> Tally:
    maker = Maker(random.Random(seed), host, credentials, ids, operations)
    connection, tally = Connection(host, limit), Tally()
    control = f"GET /api/v1/users/me HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {credentials[0]}\r\n\r\n".encode()
    for number in range(count):
        made = maker.make()
        started = time.monotonic()
        for turn in range(2):
            kept = connection.socket is not None
            try:
                status = connection.send(made.content, ends=not made.whole)
            except TimeoutError:
                status = -1
                connection.close()
            # A connection that was kept may have been closed in between.
            if status or not kept:
                break
        took = time.monotonic() - started
        if took > tally.slowest:
            tally.slowest, tally.slow_kind = took, made.kind
        tally.inputs[made.kind] += 1
        tally.answers[{0: "closed", -1: "silence"}.get(status, str(status))] += 1
        if status >= 500 and status not in (501, 505) or status == -1 or (status == 0 and made.whole):
            tally.faults.append(f"{made.kind}, input {number} of seed {seed}: {status} after {took:.2f} s: {made.content[:300]!r}")
            if len(tally.faults) > 20:
                break
        if number % CONTROL == CONTROL - 1:
            tally.controls += 1
            answer = connection.send(control, ends=False) or connection.send(control, ends=False)
            if answer != 200:
                tally.faults.append(f"the control after input {number} of seed {seed}: {answer}")
    return tally


def operations_of(document: dict[str, Any]) -> list[Operation]:
    found = []
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            content = operation.get("requestBody", {}).get("content", {})
            schema = content.get("application/json", {}).get("schema", {})
            body = {name: one.get("example", "text") for name, one in schema.get("properties", {}).items()} if schema else None
            query = [one["name"] for one in operation["parameters"] if one["in"] == "query"]
            # What would end the control's own sign-in is refused: its password isn't known here.
            found.append(Operation(method.upper(), path, body, query, next(iter(content), "application/json")))
    return found


def planted(kind: str) -> list[str]:
    """What is found wrong with a server that has a fault now and then."""
    server = socket.create_server(("127.0.0.1", 0))
    asked = 0

    def serve(connection: socket.socket) -> None:
        nonlocal asked
        try:
            while connection.recv(1 << 20):
                asked += 1
                if asked % 150 == 0:
                    if kind == "silence":
                        time.sleep(3)
                    if kind == "fault":
                        connection.sendall(b"HTTP/1.1 500 Internal\r\ncontent-length: 0\r\n\r\n")
                        continue
                    break
                connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
        except OSError:
            pass
        connection.close()

    def accept() -> None:
        while True:
            connection, _ = server.accept()
            threading.Thread(target=serve, args=(connection,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    host = f"127.0.0.1:{server.getsockname()[1]}"
    operation = Operation("POST", "/api/v1/skills", {"name": "a"}, [], "application/json")
    maker_kinds = work(host, 1, 1_000, ["token"], ["id"], [operation], 1.0)
    return maker_kinds.faults


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gongfu", type=Path)
    parser.add_argument("--count", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--limit", type=float, default=1.0, help="the longest that an answer may take, in seconds")
    options = parser.parse_args()
    missed = [kind for kind in FAULTS if not planted(kind)]
    print(f"planted faults found: {len(FAULTS) - len(missed)} of {len(FAULTS)}", *missed, flush=True)
    total, faults = Tally(), []
    with tempfile.TemporaryDirectory(prefix="gongfu-inputs-") as name:
        home = Home(program(options.gongfu), Path(name)).make("access_minutes = 600\nskills = 1000000\n")
        user, admin = User("ann"), User("zed")
        home.add_user(user)
        home.add_user(admin, "--admin")
        with Server(home.gongfu, "serve", "--accounts", variables=home.variables, folder=home.folder) as server:
            site = Site(server.url)
            for one in (user, admin):
                one.token, one.access = home.token(one, "one"), sign_in(site, one)["access_token"]
            body = {"name": "one", "description": "Does one. Use it for tests."}
            skill = json.loads(site.send(Probe("", "", "POST", "/api/v1/skills", body), user).body)["id"]
            credentials = [user.access, user.access, user.token, admin.access]
            operations = operations_of(site.get("/openapi.json"))
            host = site.url.removeprefix("http://")
            share, started, warm = options.count // options.workers, time.monotonic(), 0
            with multiprocessing.Pool(options.workers) as pool:
                jobs = [(host, options.seed * 1000 + at, share, credentials, [skill, "0" * 32], operations, options.limit) for at in range(options.workers)]
                running = pool.starmap_async(work, jobs)
                while not running.ready():
                    running.wait(5)
                    # A server is warm after a tenth.
                    warm = warm or (resident(server.process.pid) if time.monotonic() - started > 20 else 0)
                tallies = running.get()
            took = time.monotonic() - started
            last = site.send(Probe("", "", "GET", "/api/v1/users/me", is_person=True), user)
            end = resident(server.process.pid)
            if not last.is_good:
                faults.append(f"the last control: {last}")
            panics = [line for line in server.lines if "panic" in line]
        for tally in tallies:
            total.inputs += tally.inputs
            total.answers += tally.answers
            total.controls += tally.controls
            faults += tally.faults
            if tally.slowest > total.slowest:
                total.slowest, total.slow_kind = tally.slowest, tally.slow_kind
    for line in [*faults[:20], *panics[:5]]:
        print(f"fault: {line}")
    count = sum(total.inputs.values())
    print("inputs: " + ", ".join(f"{kind} {number}" for kind, number in sorted(total.inputs.items())))
    print("answers: " + ", ".join(f"{status} {number}" for status, number in sorted(total.answers.items())))
    hangs = total.answers["silence"]
    print(
        f"prove-inputs: {count} inputs in {took:.0f} s ({count / took:.0f}/s), {len(faults)} faults, {len(panics)} panics, {hangs} hangs, "
        f"slowest {total.slowest * 1000:.0f} ms ({total.slow_kind}), {total.controls} controls, memory {warm or end} MiB warm, {end} MiB at the end"
    )
    answered = 1 - (total.answers["closed"] + hangs) / count
    grown = end - (warm or end)
    return 0 if not (faults or panics or missed) and answered > MIN_RATE_OF_ANSWERS and grown < MAX_GROWTH else 1


if __name__ == "__main__":
    sys.exit(main())
