#!/usr/bin/env python3
"""Measures a server with accounts that has 10,000 users with 10 skills each, beside one with 10 users.

    prove_scale.py [--gongfu BIN] [--users N] [--skills N] [--samples N] [--memory-folder DIR] [--disk-folder DIR]

Users and skills are created over REST, in a home in memory, which is then moved to the disk: only the waiting for the disk
is saved. Then the server starts, and answers users at random: most of them for the first time, so that their skills are
opened; then one user again and again.

Prints the time of generation, start, p50 and p99 of signing in, listing, searching and loading, memory and disk, for both
servers. Exits 1 when an answer is wrong, or when one user's search takes more than half as long again as among 10 users.
"""

from __future__ import annotations

import argparse
import http.client
import json
import multiprocessing
import random
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from account_site import Home, Probe, Site, User, program, sign_in
from server import Server, resident

WORKERS = 8
MAX_RATIO = 1.5
WORDS = "merge split rotate invoice report photo video sound table chart letter contract index search backup restore deploy review translate summarise".split()
PASSWORD = "four unrelated words of many"


@dataclass
class Figures:
    """Milliseconds by what was asked."""

    times: dict[str, list[float]] = field(default_factory=dict)

    def measure(self, name: str, ask: Any) -> Any:
        started = time.perf_counter()
        answer = ask()
        self.times.setdefault(name, []).append((time.perf_counter() - started) * 1000)
        return answer

    def at(self, name: str, share: float) -> float:
        ordered = sorted(self.times[name])
        return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


class Caller:
    """Requests on one connection that is kept."""

    def __init__(self, host: str) -> None:
        self.connection = http.client.HTTPConnection(host, timeout=120)

    def call(self, method: str, path: str, body: Any = None, token: str = "") -> Any:
        headers = {"authorization": f"Bearer {token}"} if token else {}
        data = None if body is None else json.dumps(body)
        if data is not None:
            headers["content-type"] = "application/json"
        self.connection.request(method, path, data, headers)
        answer = self.connection.getresponse()
        text = answer.read()
        assert answer.status < 300, f"{method} {path}: {answer.status} {text[:200]!r}"
        return json.loads(text) if text else None


def name_of(user: int) -> str:
    return f"user-{user}"


def secret_of(user: int) -> str:
    """A word that only this user's skills have."""
    return f"word{user}x"


def create(host: str, admin: str, users: range, skills: int) -> None:
    caller = Caller(host)
    for user in users:
        chance = random.Random(user)
        name = name_of(user)
        caller.call("POST", "/api/v1/admin/users", {"username": name, "email": f"{name}@example.com", "password": PASSWORD}, admin)
        token = caller.call("POST", "/api/v1/auth/login", {"email": name, "password": PASSWORD})["access_token"]
        for skill in range(skills):
            words = " ".join(chance.choices(WORDS, k=6))
            body = {
                "name": f"skill-{skill}",
                "description": f"Does {words}. Use it for {secret_of(user) if skill == 0 else words}.",
                "instructions": f"# Skill {skill}\n\nFirst {words}. Then tell the user.\n",
            }
            caller.call("POST", "/api/v1/skills", body, token)


def generate(home: Home, users: int, skills: int) -> float:
    admin = User("zed")
    home.add_user(admin, "--admin")
    with Server(home.gongfu, "serve", "--accounts", variables=home.variables, folder=home.folder) as server:
        site = Site(server.url)
        access = sign_in(site, admin)["access_token"]
        host = site.url.removeprefix("http://")
        started = time.monotonic()
        step = max(1, min(50, users // WORKERS))
        jobs = [(host, access, range(first, min(users, first + step)), skills) for first in range(0, users, step)]
        with multiprocessing.Pool(WORKERS) as pool:
            pool.starmap(create, jobs, chunksize=1)
        print(f"{users} users, {users * skills} skills: created in {time.monotonic() - started:.0f} s, memory {resident(server.process.pid)} MiB", flush=True)
        return time.monotonic() - started


def disk(folder: Path) -> tuple[int, int]:
    """MiB and files below a folder."""
    used = subprocess.run(["du", "-sm", folder], capture_output=True, text=True, check=True).stdout.split()[0]
    inodes = subprocess.run(["du", "-s", "--inodes", folder], capture_output=True, text=True, check=True).stdout.split()[0]
    return int(used), int(inodes)


def measure(home: Home, users: int, skills: int, samples: int) -> Figures:
    figures, chance = Figures(), random.Random(1)
    used, files = disk(home.path)
    started = time.monotonic()
    with Server(home.gongfu, "serve", "--accounts", variables=home.variables, folder=home.folder) as server:
        start = time.monotonic() - started
        idle = resident(server.process.pid)
        caller = Caller(Site(server.url).url.removeprefix("http://"))

        def search(user: int, token: str) -> None:
            found = caller.call("GET", f"/api/v1/search?q={secret_of(user)}", token=token)
            assert secret_of(user) in found["results"][0]["description"], found

        def load(token: str) -> None:
            loaded = caller.call("POST", "/api/v1/tools/skill_load", {"skill_name": "own/skill-0"}, token)
            assert "Then tell the user" in json.dumps(loaded), loaded

        for sample in range(samples):
            user = chance.randrange(users)
            login = {"email": name_of(user), "password": PASSWORD}
            token = figures.measure("sign in", lambda: caller.call("POST", "/api/v1/auth/login", login))["access_token"]
            page = figures.measure("list, another user each time", lambda: caller.call("GET", "/api/v1/skills?limit=100", token=token))
            assert sum(one["source"] == "own" for one in page["items"]) == skills, page["total"]
            figures.measure("search, another user each time", lambda: search(user, token))
            figures.measure("load, another user each time", lambda: load(token))
        for _ in range(max(samples, 300)):
            figures.measure("list, one user", lambda: caller.call("GET", "/api/v1/skills?limit=100", token=token))
            figures.measure("search, one user", lambda: search(user, token))
            figures.measure("load, one user", lambda: load(token))
        print(
            f"{users} users: starts in {start:.2f} s, memory {idle} MiB then, {resident(server.process.pid)} MiB after {samples} users; "
            f"disk {used} MiB, {files} files"
        )
    for name in figures.times:
        print(f"  {name:32} p50 {figures.at(name, 0.5):7.2f} ms  p99 {figures.at(name, 0.99):7.2f} ms")
    return figures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gongfu", type=Path)
    parser.add_argument("--users", type=int, default=10_000)
    parser.add_argument("--skills", type=int, default=10)
    parser.add_argument("--samples", type=int, default=300)
    parser.add_argument("--memory-folder", type=Path, default=Path("/dev/shm"))
    parser.add_argument("--disk-folder", type=Path, default=Path(tempfile.gettempdir()))
    options = parser.parse_args()
    gongfu = program(options.gongfu)
    both = []
    for users in (10, options.users):
        with tempfile.TemporaryDirectory(prefix="gongfu-scale-", dir=options.disk_folder) as name:
            with tempfile.TemporaryDirectory(prefix="gongfu-scale-", dir=options.memory_folder) as fast:
                made = Home(gongfu, Path(fast)).make("access_minutes = 600\n")
                generate(made, users, options.skills)
                home = Home(gongfu, Path(name))
                shutil.copytree(made.path, home.path, symlinks=True)
            both.append(measure(home, users, options.skills, options.samples))
    few, many = both
    print(f"prove-scale: {options.users} users × {options.skills} skills beside 10 users, p50:")
    for name in few.times:
        print(f"  {name:32} {many.at(name, 0.5) / few.at(name, 0.5):5.2f} times as long")
    ratio = many.at("search, one user", 0.5) / few.at("search, one user", 0.5)
    return 0 if ratio < MAX_RATIO else 1


if __name__ == "__main__":
    sys.exit(main())
