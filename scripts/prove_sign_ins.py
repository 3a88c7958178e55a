#!/usr/bin/env python3
"""Proves that a sign-in at another server lasts: over short tokens, several processes, their ends, and a network that fails.

    prove_sign_ins.py [--gongfu BIN] [--seconds N] [--seed N] [--short]

A provider on this machine gives tokens that live for two seconds, and rotates the refresh tokens: a second use of one ends
the sign-in. A person signs in once. Then four processes call the server behind it for ten minutes. At random moments one of
them is ended, or killed (-9), and started again; the network is cut, which also loses answers with new tokens; and both.
Nobody may be asked to sign in again, and a call that no cut or its aftermath touched has to be answered.

Then a refresh token is stolen: somebody else uses it first. The provider ends the sign-in at its next use. Each process has
to say at once that a person must sign in, and none may send the void token again and again. One sign-in has to be enough
for all of them. With `--short` it takes 20 seconds instead of ten minutes.

The control: a gongfu without access to the others' tokens (a copy of the home) must end the sign-in.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections import Counter
from pathlib import Path

from clients import binary
from faulty_world import outcome
from rotating_provider import Provider
from stdio_client import GoneError, StdioClient

NAME, TOOL = "work", "work__echo"
LIFE = 2.0
PROCESSES = 4
# How long after a cut gongfu may take to call again: it tries again after pauses that grow.
AFTERMATH = 10.0
TIMEOUT = 30.0
# The longest that a call may take which says that a person must sign in.
REFUSAL = 2.0


class World:
    """A home with one connection, whose person has signed in."""

    def __init__(self, folder: Path, gongfu: Path, provider: Provider) -> None:
        self.folder, self.gongfu, self.provider = folder, gongfu, provider
        (folder / "user").mkdir(parents=True)
        self.variables = {"PATH": os.environ["PATH"], "HOME": str(folder / "user"), "GONGFU_HOME": str(folder / "home")}
        self.command("connection", "add", NAME, "--url", f"{provider.url}/mcp")
        self.run("connection", "approve", NAME, "--yes")
        self.sign_in()
        self.command("connection", "approve", NAME, "--yes")

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([self.gongfu, *words], env=self.variables, cwd=self.folder, capture_output=True, text=True, timeout=TIMEOUT)

    def command(self, *words: str) -> None:
        run = self.run(*words)
        if run.returncode:
            raise AssertionError(f"gongfu {' '.join(words)}: {run.stdout}{run.stderr}")

    def sign_in(self) -> None:
        """What a person does in a browser that knows them."""
        command = [str(self.gongfu), "connection", "login", NAME, "--no-browser"]
        login = subprocess.Popen(command, env=self.variables, cwd=self.folder, stderr=subprocess.PIPE, text=True)
        assert login.stderr
        for line in login.stderr:
            if page := re.search(r"https?://\S+response_type=\S+", line):
                opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
                opener.open(page.group(), timeout=TIMEOUT).close()
        if login.wait(TIMEOUT):
            raise AssertionError("the sign-in failed")

    def client(self) -> StdioClient:
        command = [str(self.gongfu), "mcp", "--no-default-dirs", "--standalone"]
        return StdioClient(command, self.variables, self.folder)


class Caller:
    """A process that calls all the time, and is ended and started again now and then."""

    def __init__(self, world: World, number: int, moments: random.Random) -> None:
        self.world, self.number, self.random = world, number, moments
        self.got: Counter[str] = Counter()
        # When a call began and ended that was not answered, and its outcome.
        self.failed: list[tuple[float, float, str]] = []
        self.ends: Counter[str] = Counter()
        self.wrong: list[str] = []

    def run(self, until: float) -> None:
        try:
            while time.monotonic() < until:
                self.one(min(until, time.monotonic() + self.random.uniform(1, 10)))
        except (AssertionError, GoneError, OSError, TimeoutError) as error:
            self.wrong.append(f"caller {self.number}: {error!r}")

    def one(self, until: float) -> None:
        """Calls until then, and ends as the moment has it: while a call, and so perhaps a refresh, is under way."""
        client, turn = self.world.client(), 0
        while time.monotonic() < until:
            turn, started = turn + 1, time.monotonic()
            got = outcome(client.call(TOOL, {"message": f"{self.number} {turn}"}, TIMEOUT))
            if got == f"Echo: {self.number} {turn}":
                self.got["answered"] += 1
            else:
                self.got[got] += 1
                self.failed.append((started, time.monotonic(), got))
            time.sleep(self.random.uniform(0, 0.1))
        client.start("tools/call", {"name": TOOL, "arguments": {"message": "the last"}})
        time.sleep(self.random.uniform(0, 0.05))
        if self.random.random() < 0.5:
            self.ends["killed"] += 1
            client.process.kill()
            client.process.wait()
        else:
            self.ends["ended"] += 1
            if client.end() != 0:
                self.wrong.append(f"caller {self.number}: it didn't end by itself")


def cuts(provider: Provider, until: float, moments: random.Random) -> list[tuple[float, float]]:
    """Cuts the network now and then; when it was cut."""
    found = []
    while time.monotonic() + 8 < until:
        time.sleep(moments.uniform(2, 8))
        # Often when a refresh was just answered, so that its answer is lost.
        refreshes, deadline = provider.counts["refreshes"], time.monotonic() + LIFE
        while moments.random() < 0.999 and provider.counts["refreshes"] == refreshes and time.monotonic() < deadline:
            time.sleep(0.002)
        started = time.monotonic()
        provider.cut(True)
        time.sleep(moments.choice([0.0, 0.05, 0.5, 3.0]))
        provider.cut(False)
        found.append((started, time.monotonic()))
    return found


def lasting(world: World, seconds: float, seed: int) -> list[str]:
    """Four processes call for so long; what is wrong."""
    provider, until = world.provider, time.monotonic() + seconds
    callers = [Caller(world, number, random.Random(seed * 100 + number)) for number in range(PROCESSES)]
    threads = [threading.Thread(target=caller.run, args=(until,)) for caller in callers]
    for thread in threads:
        thread.start()
    times = cuts(provider, until, random.Random(seed))
    for thread in threads:
        thread.join()
    got = sum((caller.got for caller in callers), Counter())
    ends = sum((caller.ends for caller in callers), Counter())
    wrong = [words for caller in callers for words in caller.wrong]
    latest = 0.0
    for started, ended, code in (failed for caller in callers for failed in caller.failed):
        near = [cut for cut in times if cut[0] <= ended and started <= cut[1] + AFTERMATH]
        if not near:
            wrong.append(f"a call that no cut touched: {code}")
        else:
            latest = max(latest, ended - near[-1][1])
    print(f"{seconds:.0f} s, seed {seed}: {len(times)} cuts, {dict(ends)}, calls {dict(got)}")
    print(f"the provider saw {dict(provider.counts)}")
    print(f"the last call that failed ended {latest:.1f} s after its cut")
    if provider.counts["sign-ins"] != 1:
        wrong.append(f"{provider.counts['sign-ins']} sign-ins")
    if got["SIGN_IN_REQUIRED"] or provider.counts["families ended by reuse"]:
        wrong.append("a sign-in was lost")
    # What proves nothing is wrong as well.
    if got["answered"] < seconds * 5 or provider.counts["refreshes"] < seconds / LIFE / 2 or not times:
        wrong.append("there was too little traffic")
    return wrong


def refresh(provider: Provider, token: str) -> bool:
    """Somebody else uses a refresh token."""
    form = urllib.parse.urlencode({"grant_type": "refresh_token", "refresh_token": token, "client_id": "client-1"}).encode()
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(f"{provider.url}/token", form, timeout=TIMEOUT) as answer:
            token = re.findall(rb'"access_token": "(\w+)"', answer.read())[0].decode()
        return provider.is_good(token)
    except urllib.error.HTTPError:
        return False


def stolen(world: World) -> list[str]:
    """A refresh token is stolen; what is wrong."""
    provider, wrong = world.provider, []
    clients = [world.client() for _ in range(PROCESSES)]
    for client in clients:
        if (got := outcome(client.call(TOOL, {"message": "a"}))) != "Echo: a":
            wrong.append(f"before: {got}")
    before = provider.counts.copy()
    if not refresh(provider, provider.families[-1].refresh[-1]):
        wrong.append("the thief got no token")
    time.sleep(LIFE + 0.5)
    longest = 0.0
    for turn in range(3):
        for number, client in enumerate(clients):
            started = time.monotonic()
            got = outcome(client.call(TOOL, {"message": "b"}))
            longest = max(longest, time.monotonic() - started)
            if got != "SIGN_IN_REQUIRED":
                wrong.append(f"process {number} after the theft, call {turn + 1}: {got}")
    if longest > REFUSAL:
        wrong.append(f"a refusal took {longest:.1f} s")
    seen = provider.counts - before
    if seen["families ended by reuse"] != 1 or seen["refreshes of an ended family"]:
        wrong.append(f"the theft: {dict(seen)}")
    world.sign_in()
    started = time.monotonic()
    for number, client in enumerate(clients):
        if (got := outcome(client.call(TOOL, {"message": "c"}))) != "Echo: c":
            wrong.append(f"process {number} after the sign-in: {got}")
        client.end()
    print(f"a stolen token: {dict(seen)}, a refusal took {longest:.2f} s at most, one sign-in later all call ({time.monotonic() - started:.1f} s)")
    return wrong


def control(world: World, folder: Path) -> list[str]:
    """Two homes with the same tokens know nothing of each other, so the provider must end the sign-in."""
    shutil.copytree(world.folder / "home", folder)
    clients = [world.client()]
    world.variables = {**world.variables, "GONGFU_HOME": str(folder)}
    clients.append(world.client())
    ended = world.provider.counts["families ended by reuse"]
    got = []
    for _ in range(3):
        got += [outcome(client.call(TOOL, {"message": "d"})) for client in clients]
        time.sleep(LIFE)
    for client in clients:
        client.end()
    is_found = "SIGN_IN_REQUIRED" in got and world.provider.counts["families ended by reuse"] > ended
    return [] if is_found else [f"a sign-in that had to be lost was not: {got}"]


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--gongfu", type=Path)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--short", action="store_true")
    options = parser.parse_args()
    gongfu = binary(options.gongfu).resolve()
    with tempfile.TemporaryDirectory(prefix="sign-ins-") as name:
        try:
            world = World(Path(name) / "world", gongfu, Provider(LIFE))
            wrong = lasting(world, 20 if options.short else options.seconds, options.seed)
            wrong += stolen(world)
            wrong += control(world, Path(name) / "copy")
        except (AssertionError, GoneError, TimeoutError) as error:
            wrong = [repr(error)]
    for words in wrong[:20]:
        print(f"WRONG {words}")
    print(f"{len(wrong)} wrong")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
