#!/usr/bin/env python3
"""Proves that a thousand wrong logins at once take a server with accounts little memory, and that it still answers.

    prove_logins.py [--gongfu BIN] [--count N]

All connections are open before the first login is sent. Half of the names are known, half aren't. Each is refused as a wrong
password or as too many requests; meanwhile others are served. Prints the answers, the time, and by how much the memory grew
at its highest. Exits 1 when it grew by 64 MiB, or when something was answered otherwise.
"""

from __future__ import annotations

import argparse
import json
import socket
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

from account_site import Home, Probe, Site, User, program, sign_in
from server import Server, resident

MAX_GROWTH = 64
KNOWN = 20


def peak(process: int) -> int:
    """The most memory that a process had so far, in MiB."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) // 1024


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gongfu", type=Path)
    parser.add_argument("--count", type=int, default=1000)
    options = parser.parse_args()
    answers: Counter[int] = Counter()
    with tempfile.TemporaryDirectory(prefix="gongfu-logins-") as name:
        home = Home(program(options.gongfu), Path(name)).make()
        users = [User(f"user-{number}") for number in range(KNOWN)]
        for user in users:
            home.add_user(user)
        with Server(home.gongfu, "serve", "--accounts", variables=home.variables, folder=home.folder) as server:
            site = Site(server.url)
            host, port = site.url.removeprefix("http://").split(":")
            good = User("other")
            home.add_user(good)
            good.access = sign_in(site, good)["access_token"]
            time.sleep(1)
            before = resident(server.process.pid)
            connections = [socket.create_connection((host, int(port)), timeout=120) for _ in range(options.count)]
            barrier = threading.Barrier(options.count + 1)

            def login(number: int, connection: socket.socket) -> None:
                who = users[number % KNOWN].email if number % 2 else f"nobody-{number}@example.com"
                body = json.dumps({"email": who, "password": "wrong words here"}).encode()
                head = f"POST /api/v1/auth/login HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Type: application/json\r\n"
                barrier.wait()
                connection.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
                answers[int(connection.recv(65536)[9:12])] += 1

            threads = [threading.Thread(target=login, args=(number, one)) for number, one in enumerate(connections)]
            for thread in threads:
                thread.start()
            barrier.wait()
            started = time.monotonic()
            slowest = 0.0
            while any(thread.is_alive() for thread in threads):
                asked = time.monotonic()
                served = site.send(Probe("", "", "GET", "/api/v1/users/me", is_person=True), good)
                slowest = max(slowest, time.monotonic() - asked)
                assert served.is_good, served
                time.sleep(0.02)
            took, grown = time.monotonic() - started, peak(server.process.pid) - before
            for connection in connections:
                connection.close()
            again = sign_in(site, good)
    counts = ", ".join(f"{count} × {status}" for status, count in sorted(answers.items()))
    print(
        f"prove-logins: {options.count} wrong logins at once in {took:.1f} s: {counts}; memory {before} MiB, {grown:+} MiB at its highest; "
        f"another user was served within {slowest * 1000:.0f} ms"
    )
    is_good = set(answers) <= {401, 429} and answers.total() == options.count and grown < MAX_GROWTH and again
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
