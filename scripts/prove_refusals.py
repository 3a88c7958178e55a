#!/usr/bin/env python3
"""Proves that a server with accounts refuses every credential that isn't good, at every operation and every tool.

    prove_refusals.py [--gongfu BIN] [--plant]

The operations come from `/openapi.json`, the tools from `tools/list` of every profile. Each is asked with each credential
that has to be refused, and then by its rightful caller: only if that succeeds do the refusals before it prove anything, and
none of them had an effect. Each credential was good itself before it was spoiled.

Then it measures how soon an ended credential is refused, and that the second use of a refresh token ends the sign-in.

A second round uses good credentials in place of the spoiled ones, and has to find a fault in each column; `--plant` does so
in the first one, which therefore fails.

Prints a table. Exits 1 on a cell that isn't refused as it should be, if more than 2 % are void, when a credential is
good for a second after its end, and when the second round misses a fault.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import refused_credentials
from account_probes import PROFILES, in_order, is_refused_inside, route_probes, tool_probes, without_echo
from account_site import Answer, Home, Probe, Site, User, populate, program, sign_in
from faulty_model import FaultyModel
from refused_credentials import SCOPES, Cast, Credential, code_of, refusal_time
from server import Server

MAX_VOID = 0.02
# The longest that an ended credential may stay good, in seconds.
MAX_GOOD = 1.0
# How often each way to end a credential is measured.
TIMES = 5
# Arguments that name something of a user.
NAMING = {"skill_name", "skillName", "skill", "skill_id", "id", "uri"}
PUBLIC = {"auth_register", "auth_login", "auth_refresh", "auth_logout"}


@dataclass
class Needs:
    """What the rightful caller of a probe has."""

    is_person: bool
    is_admin: bool = False
    scopes: tuple[str, ...] = ()


@dataclass
class Outcome:
    cells: Counter[str] = field(default_factory=Counter)
    faults: list[tuple[str, str]] = field(default_factory=list)
    void: list[str] = field(default_factory=list)
    subjects: int = 0


@dataclass
class World:
    """A server with its users, their credentials and the probes."""

    site: Site
    home: Home
    cast: Cast
    credentials: list[Credential]
    lacking: dict[str, str]
    narrow: str
    needs: dict[str, Needs]


def needs_of(site: Site, document: dict[str, Any], owner: User) -> dict[str, Needs]:
    found = {"GET /metrics": Needs(False, scopes=("admin",))}
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            ways = operation.get("security", [])
            scopes = next((tuple(way["token"]) for way in ways if "token" in way), ())
            is_person = bool(ways) and not any("token" in way for way in ways)
            is_admin = "signed-in admins" in operation["description"]
            found[f"{method.upper()} {path}"] = Needs(is_person, is_admin, scopes)
    for profile in PROFILES:
        listed = site.send(Probe("", "", "GET", f"/api/v1/tools?profile={profile}"), owner)
        for tool in json.loads(listed.body)["items"]:
            for surface in ("rest", "mcp"):
                found[f"{surface} {profile} {tool['name']}"] = Needs(False, scopes=(tool["scope"],))
    return found


def names_something(probe: Probe, world: World) -> bool:
    """Whether a probe is about one thing of the owner's that others don't have."""
    owner = world.cast.owner
    if probe.subject.startswith(("rest ", "mcp ")):
        tool = probe.subject.split(" ")[2]
        arguments = probe.body if probe.subject.startswith("rest ") else probe.body["params"].get("arguments", probe.body["params"])
        named = [str(value) for name, value in arguments.items() if name in NAMING or (tool == "prompts/get" and name == "name")]
        return any(owner.skill in value or value in owner.ids.values() for value in named)
    return any(value in probe.path for value in owner.ids.values())


def columns(probe: Probe, world: World) -> list[tuple[Credential, str | None]]:
    """The credentials that have to be refused for a probe."""
    owner, other = world.cast.owner, world.cast.other
    needs = world.needs.get(probe.subject, Needs(probe.is_person))
    all_columns = [(credential, credential.of(probe)) for credential in world.credentials]

    def add(name: str, token: str, status: int, *codes: str) -> None:
        all_columns.append((Credential(name, token, frozenset(codes), status), token))

    if needs.is_person:
        add("token where a person is needed", owner.token, 403, "FORBIDDEN")
    if needs.is_admin:
        add("person where an admin is needed", other.access, 403, "FORBIDDEN")
    for scope in needs.scopes:
        add("wrong scope", world.lacking[scope], 403, "FORBIDDEN", "SCOPE_MISSING")
    if names_something(probe, world) and not needs.is_admin:
        elsewhere = ("NOT_FOUND", "SKILL_NOT_FOUND", "CHANGE_SET_NOT_FOUND", "RESOURCE_NOT_FOUND")
        add("other user's id", other.access if needs.is_person else other.token, 404, *elsewhere)
        if not needs.is_person and "change" not in probe.subject and names_a_skill(probe, world):
            # A skill that the body names is a wrong value there.
            is_in_body = not probe.path.startswith("/mcp") and isinstance(probe.body, dict) and "skill" in probe.body
            status, codes = (422, ("VALIDATION_ERROR",)) if is_in_body else (404, elsewhere)
            add("skill not allowed", world.narrow, status, *codes)
    return all_columns


def names_a_skill(probe: Probe, world: World) -> bool:
    owner = world.cast.owner
    asked = f"{probe.path} {probe.body}"
    return any(name in asked for name in (owner.skill, owner.team.skill, owner.ids["skill"], owner.ids["team skill"]))


def is_refused(answer: Answer, credential: Credential, probe: Probe, owner: User) -> bool:
    if owner.secret in without_echo(answer.text, probe, owner.secret):
        return False
    code = code_of(answer)
    if probe.path.startswith("/mcp") and answer.status == 200 and credential.status != 401:
        # A refusal of a tool, inside of an answer.
        return is_refused_inside(answer)
    return answer.status == credential.status and code in credential.codes


def ask(world: World, probes: list[Probe], is_planted: bool) -> Outcome:
    outcome, owner = Outcome(), world.cast.owner
    cells: dict[str, Counter[str]] = {}
    failed: dict[str, str] = {}
    good = set()
    for probe in in_order(probes):
        mine = cells.setdefault(probe.subject, Counter())
        for credential, token in columns(probe, world):
            if is_planted:
                token = owner.access if probe.is_person else owner.token
            answer = world.site.send(probe, User("", token=token or "", access=token or "") if token else None)
            mine[credential.name] += 1
            if not is_refused(answer, credential, probe, owner):
                outcome.faults.append((credential.name, f"{probe.name}: {answer.status} {answer.body[:200]}"))
        answer = world.site.send(probe, owner)
        if answer.is_good and not is_refused_inside(answer):
            good.add(probe.subject)
        else:
            failed[probe.subject] = f"{probe.name}: {answer.status} {answer.body[:200]}"
    for subject, mine in cells.items():
        if subject in good:
            outcome.cells += mine
        else:
            outcome.void.append(failed[subject])
    outcome.subjects = len(cells)
    return outcome


def last_probes(owner: User) -> list[Probe]:
    """What ends the owner's sign-in, and then the account."""
    new = {"current_password": owner.password, "new_password": owner.password + " and more"}
    path = "/api/v1/users/me"
    change = Probe(f"PUT {path}/password", "change", "PUT", f"{path}/password", new, True, True)
    delete = Probe(f"DELETE {path}", "delete", "DELETE", path, {"password": new["new_password"]}, True, True)
    return [change, delete]


def check(gongfu: Path, is_planted: bool, is_short: bool) -> tuple[Outcome, list[str]]:
    with tempfile.TemporaryDirectory(prefix="gongfu-refusals-") as folder, FaultyModel() as model:
        home = Home(gongfu, Path(folder)).make('registration = "invited"\n').offer().let_chat(model)
        cast = Cast().make(home)
        with Server(gongfu, "serve", "--accounts", variables=home.variables, folder=home.folder) as server:
            site = Site(server.url)
            for user in (cast.owner, cast.other):
                populate(site, home, user)
            credentials, problems = refused_credentials.make(site, home, cast)
            cast.other.access = sign_in(site, cast.other)["access_token"]
            document = site.get("/openapi.json")
            lacking = {
                scope: home.token(cast.owner, f"not {scope}", *(f"--scope={one}" for one in SCOPES if one != scope))
                for scope in [*SCOPES, "admin"]
            }
            narrow = home.token(cast.owner, "narrow", "--skill", "another-skill")
            needs = needs_of(site, document, cast.owner)
            world = World(site, home, cast, credentials, lacking, narrow, needs)
            metrics = Probe("GET /metrics", "GET /metrics", "GET", "/metrics", is_person=True)
            # Tools first: among the operations is one that disables the skill.
            # To a team that its rightful caller isn't in.
            path, invitation = "/api/v1/teams/join", {"invitation": cast.other.invitation}
            join = Probe(f"POST {path}", f"POST {path}", "POST", path, invitation, True, True)
            probes = [*tool_probes(site, cast.owner), *route_probes(document, cast.owner), metrics, join]
            if is_short:
                probes = [probe for probe in probes if not probe.is_change]
            outcome = ask(world, probes, is_planted)
            if not is_short:
                for probe in last_probes(cast.owner):
                    more = ask(world, [probe], is_planted)
                    outcome.cells += more.cells
                    outcome.faults += more.faults
                    outcome.void += more.void
                    outcome.subjects += 1
                    if probe.method == "PUT":
                        again = {"email": cast.owner.email, "password": cast.owner.password + " and more"}
                        signed_in = site.send(Probe("", "", "POST", "/api/v1/auth/login", again), None)
                        cast.owner.access = json.loads(signed_in.body)["access_token"]
                operations = {operation["operationId"] for methods in document["paths"].values() for operation in methods.values()}
                asked = {subject for subject in {probe.subject for probe in probes} if subject.split(" ")[0].isupper()}
                unasked = len(operations) - len(PUBLIC) - 2 - (len(asked) - 1) - 1
                if unasked:
                    return outcome, [f"{unasked} operations were not asked"]
            return outcome, [f"{name} was refused before it was spoiled" for name in problems]


def measure(gongfu: Path) -> tuple[dict[str, float], list[str]]:
    """The longest time until an ended credential is refused, by the way in which it ended; and faults of refreshing."""
    longest: dict[str, float] = {}
    with tempfile.TemporaryDirectory(prefix="gongfu-refusals-") as folder:
        home = Home(gongfu, Path(folder)).make('registration = "invited"\n')
        cast = Cast().make(home)
        with Server(gongfu, "serve", "--accounts", variables=home.variables, folder=home.folder) as server:
            site = Site(server.url)
            for turn in range(TIMES):
                for path in ("/api/v1/skills", "/mcp"):
                    user = User(f"user-{turn}-{len(path)}")
                    home.add_user(user)
                    user.access = sign_in(site, user)["access_token"]
                    made = site.send(Probe("", "", "POST", "/api/v1/tokens", {"name": "one"}, True), user)
                    one = json.loads(made.body)
                    revoke = Probe("", "", "DELETE", f"/api/v1/tokens/{one['id']}", is_person=True)
                    session = sign_in(site, user)
                    logout = Probe("", "", "POST", "/api/v1/auth/logout", {"refresh_token": session["refresh_token"]})
                    two = home.token(user, "two")
                    ways = {
                        "revoked over REST": (one["token"], lambda: site.send(revoke, user)),
                        "signed out": (session["access_token"], lambda: site.send(logout, None)),
                        "user disabled by the command": (two, lambda: home.command("user", "disable", user.name)),
                    }
                    for way, (token, end) in ways.items():
                        took = refusal_time(site, token, path, end)
                        key = f"{way}, {'MCP' if path == '/mcp' else 'REST'}"
                        longest[key] = max(longest.get(key, 0.0), took)
            return longest, refresh_faults(site, cast.other)


def refresh_faults(site: Site, user: User) -> list[str]:
    """What is wrong with how sign-ins are refreshed."""
    faults = []

    def refresh(token: str) -> Answer:
        return site.send(Probe("", "", "POST", "/api/v1/auth/refresh", {"refresh_token": token}), None)

    def me(access: str) -> int:
        return site.send(Probe("", "", "GET", "/api/v1/users/me", is_person=True), User("", access=access)).status

    bystander = sign_in(site, user)
    tokens = [sign_in(site, user)]
    for _ in range(3):
        tokens.append(json.loads(refresh(tokens[-1]["refresh_token"]).body))
    again = refresh(tokens[-2]["refresh_token"])
    if not again.is_good or json.loads(again.body)["refresh_token"] != tokens[-1]["refresh_token"]:
        faults.append(f"the token before, within its grace: {again.status} {again.body[:100]}")
    if me(tokens[-1]["access_token"]) != 200:
        faults.append("the newest access token is refused before the reuse")
    reused = refresh(tokens[0]["refresh_token"])
    if (reused.status, code_of(reused)) != (401, "TOKEN_REVOKED"):
        faults.append(f"an old refresh token: {reused.status} {reused.body[:100]}")
    time.sleep(1)
    for name, status in (
        ("the newest refresh token after the reuse", refresh(tokens[-1]["refresh_token"]).status),
        ("the newest access token after the reuse", me(tokens[-1]["access_token"])),
    ):
        if status != 401:
            faults.append(f"{name}: {status}")
    if me(bystander["access_token"]) != 200:
        faults.append("another sign-in of the same user ended, too")
    return faults


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gongfu", type=Path)
    parser.add_argument("--plant", action="store_true", help="use good credentials, so that it has to fail")
    options = parser.parse_args()
    gongfu = program(options.gongfu)
    outcome, problems = check(gongfu, options.plant, is_short=False)
    found = Counter(name for name, _ in outcome.faults)
    width = max(map(len, outcome.cells), default=0)
    print(f"{'credential':{width}}  cells  not refused")
    for name, count in outcome.cells.items():
        print(f"{name:{width}}  {count:5}  {found[name]:11}")
    for name, line in outcome.faults[:40]:
        print(f"fault: {name}: {line}")
    for line in outcome.void:
        print(f"void: {line}")
    for line in problems:
        print(f"problem: {line}")
    cells = sum(outcome.cells.values())
    print(
        f"prove-refusals: {outcome.subjects} operations and tools, {len(outcome.void)} void, {cells} cells, "
        f"{len(outcome.faults)} not refused"
    )
    if options.plant:
        return 1 if outcome.faults else 0
    longest, faults = measure(gongfu)
    for way, took in longest.items():
        print(f"ended credentials: {way}: good for {took * 1000:.0f} ms at most, of {TIMES}")
    for line in faults:
        print(f"fault: refresh: {line}")
    planted, _ = check(gongfu, is_planted=True, is_short=True)
    missed = set(planted.cells) - {name for name, _ in planted.faults}
    print(f"prove-refusals: with good credentials planted: {len(planted.faults)} found in {len(planted.cells)} columns", end="")
    print(f"; missed: {', '.join(sorted(missed))}" if missed else "")
    few_void = len(outcome.void) <= MAX_VOID * outcome.subjects
    soon = max(longest.values()) < MAX_GOOD
    is_good = cells and not outcome.faults and not problems and few_void and soon and not faults and not missed
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
