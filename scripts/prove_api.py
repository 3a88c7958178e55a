#!/usr/bin/env python3
"""Proves with made-up requests that the REST API does what `/openapi.json` says of it.

    prove_api.py --schemathesis PROGRAM [--gongfu BIN] [--seeds N…]

Schemathesis makes the requests: all of its checks, in all of its phases, once as an ordinary user and once as an admin for
each seed. Requests that end the account or the sign-in of the one who makes them are in a run of their own, where each has
a user of its own. The server counts which operations saw a success, so that refusals alone prove nothing.

Prints one line a run. Exits 1 on a failure, when the credential is refused at the end, when the server answered with a
fault, and when less than 90 % of the operations saw a success.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from account_site import REPOSITORY, Home, Probe, Site, User, program, sign_in
from server import Server

SETTINGS = """access_minutes = 600
skills = 100000
runs = 100
runs_per_hour = 1000000
registration = "open"
"""
# Operations that end the account or the sign-in of somebody, and those that need a secret of somebody to succeed.
ENDING = ["auth_login", "auth_refresh", "auth_logout", "user_delete", "password_change", "account_delete", "account_disable"]
MIN_SEEN = 0.9
# The longest that one run may take, in seconds.
TIMEOUT = 1200
COUNT = re.compile(r'gongfu_http_requests_total\{method="(\w+)",route="([^"]+)",status="(\d+)"\} (\d+)')


def counts(site: Site, watcher: User) -> list[tuple[str, str, int, int]]:
    """How many requests the server answered, by method, route and status."""
    answer = site.send(Probe("metrics", "metrics", "GET", "/metrics"), watcher)
    assert answer.is_good, answer
    found = COUNT.findall(answer.body)
    return [(method, route.replace("{*", "{"), int(status), int(count)) for method, route, status, count in found]


def run(tool: Path, site: Site, who: User, seed: int, folder: Path, is_ending: bool, admin: str, other: str) -> dict[str, Any]:
    """One run, and its report."""
    report = folder / "report.json"
    report.unlink(missing_ok=True)
    settings = REPOSITORY / "scripts" / "schemathesis"
    command = [str(tool), "--config-file", str(settings / "schemathesis.toml"), "run", f"{site.url}/openapi.json"]
    command += ["--checks", "all", "--seed", str(seed)]
    command += ["--phases", "examples,coverage,fuzzing,stateful", "--no-color"]
    command += ["--report", "json", "--report-json-path", str(report)]
    for name in ENDING:
        command += ["--include-operation-id" if is_ending else "--exclude-operation-id", name]
    if not is_ending:
        command += ["--header", f"Authorization: Bearer {who.access}"]
    hooks = {"SCHEMATHESIS_HOOKS": "ending" if is_ending else "things", "PYTHONPATH": str(settings)}
    variables = os.environ | hooks | {"GONGFU_URL": site.url, "GONGFU_ADMIN": admin, "GONGFU_OTHER": other}
    variables |= {} if is_ending else {"GONGFU_WHO": who.access}
    done = subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, timeout=TIMEOUT)
    assert report.exists(), done.stdout[-4000:] + done.stderr[-4000:]
    result: dict[str, Any] = json.loads(report.read_text())
    if done.returncode:
        print(done.stdout)
    result["code"] = done.returncode
    return result


def prove(gongfu: Path, tool: Path, seed: int, kind: str) -> tuple[bool, set[tuple[str, str]], set[tuple[str, str]]]:
    """A run on a server of its own: whether it's good, the operations that succeeded, and all of them."""
    with tempfile.TemporaryDirectory(prefix="gongfu-api-") as name:
        home = Home(gongfu, Path(name)).make(SETTINGS).offer()
        admin, user, watcher = User("ann"), User("bob"), User("zed")
        home.add_user(admin, "--admin")
        home.add_user(user)
        home.add_user(watcher, "--admin")
        other = home.add_user(User("pat"))
        watcher.token = home.token(watcher, "metrics", "--scope", "admin")
        who = user if kind == "user" else admin
        with Server(gongfu, "serve", "--accounts", variables=home.variables, folder=home.folder) as server:
            site = Site(server.url)
            who.access = sign_in(site, who)["access_token"]
            watcher.access = sign_in(site, watcher)["access_token"]
            started = time.monotonic()
            report = run(tool, site, who, seed, home.folder, kind == "ending", watcher.access, other)
            took = time.monotonic() - started
            last = site.send(Probe("me", "me", "GET", "/api/v1/users/me", is_person=True), who)
            seen = counts(site, watcher)
            document = site.get("/openapi.json")
        if not last.is_good:
            print(f"the token at the end: {last.status} {last.body}")
        failed = report["test_cases"]["unique_failures"] + report["test_cases"]["errored"]
        faults = sum(count for _, _, status, count in seen if status == 500)
        all_operations = {(method.upper(), path) for path, methods in document["paths"].items() for method in methods}
        good = {(method, route) for method, route, status, _ in seen if 200 <= status < 300} & all_operations
        requests = sum(count for _, _, _, count in seen)
        print(
            f"seed {seed}, {kind}: {report['operations']['tested']} operations, {report['test_cases']['generated']} cases, "
            f"{requests} requests, {failed} failures, {faults} faults, {len(good)} operations succeeded, "
            f"the token works at the end: {'yes' if last.is_good else 'no'}, {took:.0f} s",
            flush=True,
        )
        is_good = not failed and not faults and last.is_good and report["complete"] and not report["code"]
        return is_good, good, all_operations


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gongfu", type=Path)
    parser.add_argument("--schemathesis", type=Path, required=True)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--kinds", nargs="+", default=["user", "admin", "ending"], choices=["user", "admin", "ending"])
    options = parser.parse_args()
    gongfu = program(options.gongfu)
    succeeded: set[tuple[str, str]] = set()
    wanted: set[tuple[str, str]] = set()
    are_good = []
    for seed in options.seeds:
        for kind in options.kinds:
            is_good, good, wanted = prove(gongfu, options.schemathesis, seed, kind)
            are_good.append(is_good)
            succeeded |= good
    share = len(succeeded) / len(wanted)
    print(f"prove-api: {len(succeeded)} of {len(wanted)} operations ({share:.0%}) saw a success", end="")
    missing = ", ".join(f"{method} {path}" for method, path in sorted(wanted - succeeded))
    print(f"; not: {missing}" if missing else "")
    print(f"prove-api: {sum(are_good)} of {len(are_good)} runs without a failure")
    return 0 if all(are_good) and share >= MIN_SEEN else 1


if __name__ == "__main__":
    sys.exit(main())
