#!/usr/bin/env python3
"""Asks a server with accounts for what users and teams have, as others.

    isolation.py [--gongfu BIN]

The probes come from `/openapi.json` and from `tools/list` of every profile, so a new route or tool is probed by itself.
Each is first made by the user whose data it asks for: only if that succeeds does the refusal of the other prove anything;
otherwise it is void and listed. Names of what a user has carry one random word of theirs, contents another, and no answer
to the other may hold them, whatever its status. The other asks first, so that a change by them would fail the owner's.

Ann, bob and carl each have skills and a team of their own; carl is a member of ann's, too. Bob asks for what ann and her
team have, carl for what ann has, and ann for what carl and his team have. The operator offers a server that remembers what it
was told, and each has told it a secret. A last round gives bob the credentials of ann,
and has to find leaks.

Prints the number of probes, void ones and leaks. Exits 1 on a leak, if more than 2 % are void, when nothing ran, and when
the last round finds nothing.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from account_probes import in_order, is_refused_inside, route_probes, tool_probes, without_echo
from account_site import Home, Probe, Site, Team, User, populate, program
from faulty_model import FaultyModel
from server import Server

MAX_VOID = 0.02


@dataclass
class Outcome:
    probes: int = 0
    void: list[str] = field(default_factory=list)
    leaks: list[str] = field(default_factory=list)


def ask(site: Site, owner: User, other: User, probes: list[Probe], kept: list[User | Team]) -> Outcome:
    """Asks for what is kept as the other first: a change of the owner's would hide one of the other's, or what it leads to."""
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
        for one in kept:
            if one.secret in without_echo(told, probe, one.secret):
                outcome.leaks.append(f"{other.name}: {probe.name}: {foreign.status} {foreign.body[:300]}")
            elif not probe.is_change and one.word in without_echo(told, probe, one.word):
                outcome.leaks.append(f"{other.name}: {probe.name}: name: {foreign.status} {foreign.body[:300]}")
    outcome.void = [f"{other.name}: {line}" for subject, line in failed.items() if subject not in succeeded]
    return outcome


def check(gongfu: Path, asker: str, is_planted: bool = False) -> Outcome:
    """Starts a server with three users and their teams, and asks for what others have as one of them."""
    with tempfile.TemporaryDirectory() as folder, FaultyModel() as model:
        home = Home(gongfu, Path(folder)).make('registration = "invited"\n').offer().let_chat(model)
        users = {name: User(name) for name in ("ann", "bob", "carl")}
        ann, carl, other = users["ann"], users["carl"], users[asker]
        for user in users.values():
            home.add_user(user, *(["--admin"] if user is ann else []))
        with Server(gongfu, "serve", "--accounts", variables=home.variables, folder=home.folder) as server:
            site = Site(server.url)
            for user in users.values():
                populate(site, home, user, *([carl] if user is ann else []))
            if is_planted:
                other.token, other.access = ann.token, ann.access
            owner = carl if asker == "ann" else ann
            kept: list[User | Team] = [owner] if asker == "carl" else [owner, owner.team]
            probes = tool_probes(site, owner) + route_probes(site.get("/openapi.json"), owner)
            if asker == "ann":
                # An admin lists users and teams, and nobody else may.
                probes = [probe for probe in probes if not probe.path.startswith("/api/v1/admin")]
            return ask(site, owner, other, probes, kept)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gongfu", type=Path)
    arguments = parser.parse_args()
    gongfu = program(arguments.gongfu)
    outcome = Outcome()
    for asker in ("bob", "carl", "ann"):
        found = check(gongfu, asker)
        print(f"isolation: asked by {asker}: {found.probes} probes, {len(found.void)} void, {len(found.leaks)} leaks")
        outcome.probes += found.probes
        outcome.void += found.void
        outcome.leaks += found.leaks
    for name, lines in (("void", outcome.void), ("leak", outcome.leaks)):
        for line in lines:
            print(f"{name}: {line}")
    print(f"isolation: {outcome.probes} probes, {len(outcome.void)} void, {len(outcome.leaks)} leaks")
    planted = check(gongfu, "bob", is_planted=True)
    print(f"isolation: with a planted leak: {len(planted.leaks)} leaks")
    few_void = len(outcome.void) <= MAX_VOID * (outcome.probes + len(outcome.void))
    is_good = outcome.probes > 0 and not outcome.leaks and few_void and planted.leaks
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
