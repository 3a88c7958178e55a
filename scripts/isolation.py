#!/usr/bin/env python3
"""Asks a server with accounts for what one user has, as another one.

    isolation.py [--gongfu BIN]

The probes come from `/openapi.json` and from `tools/list` of every profile, so a new route or tool is probed by itself.
Each is first made by the user whose data it asks for: only if that succeeds does the refusal of the other prove anything;
otherwise it is void and listed. Names of what a user has carry one random word of theirs, contents another, and no answer
to the other may hold them, whatever its status. The other asks first, so that a change by them would fail the owner's.

A second round gives the other the first one's credentials, and has to find leaks.

Prints the number of probes, void ones and leaks. Exits 1 on a leak, if more than 2 % are void, when nothing ran, and when
the second round finds nothing.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from account_probes import in_order, is_refused_inside, route_probes, tool_probes, without_echo
from account_site import Home, Probe, Site, User, populate, program
from server import Server

MAX_VOID = 0.02


@dataclass
class Outcome:
    probes: int = 0
    void: list[str] = field(default_factory=list)
    leaks: list[str] = field(default_factory=list)


def ask(site: Site, owner: User, other: User, probes: list[Probe]) -> Outcome:
    """Asks as the other first: a change of the owner's would hide one of the other's, or what it leads to."""
    outcome = Outcome()
    failed: dict[str, str] = {}
    succeeded = set()
    for probe in in_order(probes):
        foreign = site.send(probe, other)
        own = site.send(probe, owner)
        if own.is_good and not is_refused_inside(own):
            succeeded.add(probe.subject)
            outcome.probes += 1
        else:
            failed[probe.subject] = f"{probe.name}: {own.status} {own.body[:200]}"
        told = foreign.text
        if owner.secret in without_echo(told, probe, owner.secret):
            outcome.leaks.append(f"{probe.name}: {foreign.status} {foreign.body[:300]}")
        elif not probe.is_change and owner.word in without_echo(told, probe, owner.word):
            outcome.leaks.append(f"{probe.name}: name: {foreign.status} {foreign.body[:300]}")
    outcome.void = [line for subject, line in failed.items() if subject not in succeeded]
    return outcome


def check(gongfu: Path, is_planted: bool) -> Outcome:
    """Starts a server with two users, and asks for what the first has as the second."""
    with tempfile.TemporaryDirectory() as folder:
        home = Home(gongfu, Path(folder)).make()
        owner, other = User("ann"), User("bob")
        home.add_user(owner, "--admin")
        home.add_user(other)
        with Server(gongfu, "serve", "--accounts", variables=home.variables, folder=home.folder) as server:
            site = Site(server.url)
            for user in (owner, other):
                populate(site, home, user)
            if is_planted:
                other.token, other.access = owner.token, owner.access
            probes = tool_probes(site, owner) + route_probes(site.get("/openapi.json"), owner)
            return ask(site, owner, other, probes)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gongfu", type=Path)
    arguments = parser.parse_args()
    gongfu = program(arguments.gongfu)
    outcome = check(gongfu, is_planted=False)
    for name, found in (("void", outcome.void), ("leak", outcome.leaks)):
        for line in found:
            print(f"{name}: {line}")
    print(f"isolation: {outcome.probes} probes, {len(outcome.void)} void, {len(outcome.leaks)} leaks")
    planted = check(gongfu, is_planted=True)
    print(f"isolation: with a planted leak: {len(planted.leaks)} leaks")
    few_void = len(outcome.void) <= MAX_VOID * (outcome.probes + len(outcome.void))
    is_good = outcome.probes > 0 and not outcome.leaks and few_void and planted.leaks
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
