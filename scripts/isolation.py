#!/usr/bin/env python3
"""Asks a server with accounts for what a user and a team have, as others.

    isolation.py [--gongfu BIN]

The probes come from `/openapi.json` and from `tools/list` of every profile, so a new route or tool is probed by itself.
Each is first made by the user whose data it asks for: only if that succeeds does the refusal of the other prove anything;
otherwise it is void and listed. Names of what a user has carry one random word of theirs, contents another, and no answer
to the other may hold them, whatever its status. The other asks first, so that a change by them would fail the owner's.

There are three owners: ann, bob, and a team of ann in which carl is a member. Bob asks for what ann and the team have,
carl for what ann has, and ann for what carl has. A last round gives bob the credentials of ann, and has to find leaks.

Prints the number of probes, void ones and leaks. Exits 1 on a leak, if more than 2 % are void, when nothing ran, and when
the last round finds nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import secrets
import subprocess
import sys
import tempfile
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from server import Server

REPOSITORY = Path(__file__).resolve().parent.parent
BINARIES = [REPOSITORY / "target" / build / "gongfu" for build in ("release", "debug")]
PROFILES = ["standard", "agentskills", "autosnippet", "skills", "read_skill"]
MAX_VOID = 0.02
META = "io.modelcontextprotocol"
# Stands in bodies for the name of the one who asks.
ASKER = "the-asker"
# Requests that end the session or the account of the one who makes them, and the one whose body is the permission.
LEFT_OUT = {"auth_logout", "user_delete", "password_change", "team_join"}


@dataclass
class Team:
    word: str
    secret: str

    @property
    def name(self) -> str:
        return f"team-{self.word}"

    @property
    def skill(self) -> str:
        return f"papers-{self.word}"


@dataclass
class Answer:
    status: int
    head: str
    body: str

    @property
    def text(self) -> str:
        return self.head + self.body

    @property
    def is_good(self) -> bool:
        return 200 <= self.status < 300


@dataclass
class User:
    """A user with something of every kind: `word` is in its names, `secret` in its contents."""

    name: str
    word: str
    secret: str
    token: str = ""
    access: str = ""
    ids: dict[str, str] = field(default_factory=dict)
    # The team that they made: its names and contents have words of their own.
    team: Team | None = None

    @property
    def skill(self) -> str:
        return f"notes-{self.word}"

    @property
    def password(self) -> str:
        return f"four unrelated words of {self.name}"


@dataclass
class Probe:
    """One request about the first user's data, over one surface. Of several with one subject, one has to succeed."""

    subject: str
    name: str
    method: str
    path: str
    body: Any = None
    is_person: bool = False
    is_change: bool = False
    headers: dict[str, str] = field(default_factory=dict)


@dataclass
class Outcome:
    probes: int = 0
    void: list[str] = field(default_factory=list)
    leaks: list[str] = field(default_factory=list)


class Site:
    def __init__(self, url: str) -> None:
        self.url = url.removesuffix("/mcp")

    def send(self, probe: Probe, user: User | None) -> Answer:
        headers = dict(probe.headers)
        data = None
        if isinstance(probe.body, bytes):
            data = probe.body
        elif probe.body is not None:
            data = json.dumps(probe.body).replace(ASKER, user.name if user else "").encode()
            headers.setdefault("content-type", "application/json")
        if user:
            credential = user.access if probe.is_person else user.token
            headers["authorization"] = f"Bearer {credential}"
        request = urllib.request.Request(self.url + probe.path, data, headers, method=probe.method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return Answer(answer.status, str(answer.headers), answer.read().decode(errors="replace"))
        except urllib.error.HTTPError as error:
            return Answer(error.code, str(error.headers), error.read().decode(errors="replace"))

    def get(self, path: str) -> Any:
        with urllib.request.urlopen(self.url + path, timeout=60) as answer:
            return json.load(answer)


def mcp(method: str, params: dict[str, Any], profile: str, name: str) -> Probe:
    """A request over MCP, without a session."""
    params = params | {
        "_meta": {
            f"{META}/protocolVersion": "2026-07-28",
            f"{META}/clientInfo": {"name": "isolation", "version": "1"},
            f"{META}/clientCapabilities": {},
        }
    }
    headers = {
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": method,
    }
    target = params.get("name") or params.get("uri")
    if target:
        headers["mcp-name"] = str(target)
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    return Probe(f"mcp {profile} {name.split(' ')[0]}", f"mcp {profile} {name}", "POST", f"/mcp?profile={profile}", body, headers=headers)


def values(owner: User) -> dict[str, list[Any]]:
    """Values of parameters and arguments by their names: what leads to the owner's data, and nothing that holds it."""
    skill, word, team = owner.skill, owner.word, owner.team
    return {
        "skill_name": [skill, f"own/{skill}", *([f"team-{team.name}/{team.skill}"] if team else [])],
        "skillName": [skill],
        "skill": [skill],
        "skill_id": [owner.ids["skill"]],
        "query": [owner.secret, word, *([team.secret] if team else [])],
        "q": [owner.secret],
        "path": [f"skills/{skill}/plan.md", "plan.md", f"{word}.txt", f"skills/{skill}", ""],
        "file_name": ["plan.md"],
        "command": [f"cat /workspace/{word}.txt; cat plan.md; ls -R /workspace"],
        "uri": [f"skill://own/{skill}/SKILL.md", f"skill://own/{skill}"],
        "team": [owner.ids.get("team", "team-0")],
        "user": [owner.ids.get("member", "0")],
        "invitation": [owner.ids.get("invitation", "0")],
        "role": ["member"],
        "content": ["other text"],
        "description": ["Does other things. Use it for other things."],
        "instructions": ["Read it."],
        "section": ["Plan"],
        "name": [f"other-{secrets.token_hex(6)}"],
        "cwd": ["", f"skills/{skill}"],
        "action": ["drop"],
    }


def combinations(surface: str, tool: str, schema: dict[str, Any], owner: User) -> list[dict[str, Any]]:
    """Arguments for a schema: every value of each property that leads somewhere, the others with their first."""
    properties = schema.get("properties", {})
    known = values(owner)
    if tool.startswith("change_"):
        known["id"] = [owner.ids[f"change over {surface}"]]
    if tool == "skills_run":
        known["name"] = [owner.skill]
    wanted = (*schema.get("required", []), "path", "content", "id")
    used = [name for name in properties if name in wanted]
    lists = {name: known.get(name) or [sample(properties[name])] for name in used}
    first = {name: choices[0] for name, choices in lists.items()}
    found = [first]
    for name, choices in lists.items():
        found.extend(first | {name: choice} for choice in choices[1:])
    return found


def sample(schema: dict[str, Any]) -> Any:
    if "enum" in schema:
        return schema["enum"][0]
    kind = schema.get("type", "string")
    kind = kind[0] if isinstance(kind, list) else kind
    return {"integer": 1, "number": 1, "boolean": False, "array": [], "object": {}}.get(kind, "x")


def tool_probes(site: Site, owner: User) -> list[Probe]:
    probes = []
    for profile in PROFILES:
        listed = site.send(mcp("tools/list", {}, profile, "tools/list"), owner)
        tools = json.loads(listed.body)["result"]["tools"]
        assert tools, f"no tools in {profile}"
        probes.append(mcp("tools/list", {}, profile, "tools/list"))
        for tool in tools:
            changes = not tool.get("annotations", {}).get("readOnlyHint", False)
            for surface in ("mcp", "rest"):
                for arguments in combinations(surface, tool["name"], tool["inputSchema"], owner):
                    name = f"{tool['name']} {json.dumps(arguments)[:120]}"
                    if surface == "mcp":
                        call = {"name": tool["name"], "arguments": arguments}
                        probe = mcp("tools/call", call, profile, name)
                    else:
                        path = f"/api/v1/tools/{tool['name']}?profile={profile}"
                        subject = f"rest {profile} {tool['name']}"
                        probe = Probe(subject, f"rest {profile} {name}", "POST", path, arguments)
                    probe.is_change = changes
                    probes.append(probe)
    uri = f"skill://own/{owner.skill}"
    for method, params in [
        ("server/discover", {}),
        ("skills/list", {}),
        ("skills/get", {"uri": f"{uri}/SKILL.md"}),
        ("resources/list", {}),
        ("resources/read", {"uri": f"{uri}/SKILL.md"}),
        ("resources/read", {"uri": f"{uri}/plan.md"}),
        ("resources/directory/read", {"uri": uri}),
        ("prompts/list", {}),
        ("prompts/get", {"name": owner.skill}),
    ]:
        probes.append(mcp(method, params, "standard", f"{method} {json.dumps(params)}"))
    return probes


def route_probes(document: dict[str, Any], owner: User) -> list[Probe]:
    """The probes of every operation of the API, but tools, which are probed one by one."""
    probes = []
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            name = operation["operationId"]
            if name in LEFT_OUT or name == "tool_call" or path.startswith("/api/v1/auth/"):
                continue
            security = operation.get("security", [])
            is_person = not any("token" in way for way in security)
            for target, body, headers in requests(path, method, operation, document, owner):
                probes.append(
                    Probe(
                        f"{method.upper()} {path}",
                        f"{method.upper()} {target}",
                        method.upper(),
                        target,
                        body,
                        is_person,
                        method != "get",
                        headers,
                    )
                )
    return probes


def requests(
    path: str, method: str, operation: dict[str, Any], document: dict[str, Any], owner: User
) -> list[tuple[str, Any, dict[str, str]]]:
    known = values(owner)
    ids = {"skills": "skill", "tokens": "token", "approvals": "approval", "users": "user"}
    target = path
    family = path.split("/")[3] if path.count("/") > 2 else ""
    family = path.split("/")[4] if family == "admin" and path.count("/") > 3 else family
    if family == "teams" and path.count("/") > 4:
        family = path.split("/")[5]
        ids["skills"] = "team skill"
    if path.startswith("/api/v1/admin/teams"):
        known["team"], known["user"] = [owner.ids.get("spare team", "team-0")], [owner.ids["user"]]
    query = {}
    for parameter in operation.get("parameters", []):
        name = parameter["name"]
        known["path"] = ["plan.md"]
        value = owner.ids.get(ids[family], "0") if name == "id" else (known.get(name) or ["x"])[0]
        if parameter["in"] == "path":
            target = target.replace("{" + name + "}", urllib.parse.quote(str(value)))
        elif parameter["in"] == "query" and (parameter.get("required") or name == "q"):
            query[name] = value
    if query:
        target += "?" + urllib.parse.urlencode(query)
    content = operation.get("requestBody", {}).get("content", {})
    if "application/json" in content:
        schema = content["application/json"]["schema"]
        while "$ref" in schema:
            schema = document["components"]["schemas"][schema["$ref"].rsplit("/", 1)[-1]]
        body = {
            name: (known.get(name) or [sample(schema["properties"][name])])[0]
            for name in schema.get("required", [])
        }
        body |= special(operation["operationId"], owner)
        return [(target, body, {})]
    if "multipart/form-data" in content:
        boundary = secrets.token_hex(8)
        parts = [
            f'--{boundary}\r\ncontent-disposition: form-data; name="skill_id"\r\n\r\n{owner.ids.get(ids["skills"], "0")}\r\n',
            f'--{boundary}\r\ncontent-disposition: form-data; name="file"; filename="up.md"\r\n\r\nup\r\n--{boundary}--\r\n',
        ]
        return [(target, "".join(parts).encode(), {"content-type": f"multipart/form-data; boundary={boundary}"})]
    if content:
        return [(target, f"put {owner.word}".encode(), {"content-type": next(iter(content))})]
    return [(target, None, {})]


def special(name: str, owner: User) -> dict[str, Any]:
    """Members of bodies whose values must fit together."""
    made = secrets.token_hex(4)
    return {
        "account_create": {
            "username": f"made-{made}",
            "email": f"made-{made}@example.com",
            "password": "four unrelated words",
        },
        "user_change": {"username": f"{ASKER}-{made}"},
        "team_create": {"name": f"made-{ASKER}-{made}"},
        "team_rename": {"name": f"made-{ASKER}-{made}"},
        "team_skill_share": {"skill": owner.ids["skill"], "replace": True},
        "approval_reply": {"reply": "deny"},
    }.get(name, {})


def populate(site: Site, gongfu: Path, variables: dict[str, str], user: User) -> None:
    """Gives a user something of every kind."""

    def command(*arguments: str, text: str = "") -> str:
        done = subprocess.run(
            [gongfu, *arguments], input=text, capture_output=True, text=True, env=os.environ | variables, check=True
        )
        return done.stdout.strip()

    user.token = command("token", "create", "--user", user.name, "--name", f"token {user.word}", "--quiet")
    login = {"email": f"{user.name}@example.com", "password": user.password}
    signed_in = site.send(Probe("login", "login", "POST", "/api/v1/auth/login", login), None)
    user.access = json.loads(signed_in.body)["access_token"]

    def done(method: str, path: str, body: Any, person: bool = False, headers: dict[str, str] | None = None) -> Any:
        answer = site.send(Probe(path, path, method, path, body, person, headers=headers or {}), user)
        assert answer.is_good, f"{method} {path}: {answer}"
        return json.loads(answer.body) if answer.body.startswith("{") else None

    secret = user.secret
    made = done(
        "POST",
        "/api/v1/skills",
        {
            "name": user.skill,
            "description": f"Keeps notes of {secret}. Use it for {secret}.",
            "instructions": f"# Plan\n\nThe plan of {secret}.\n",
        },
    )
    user.ids["skill"] = made["id"]
    plan = {"content-type": "application/octet-stream"}
    done("PUT", f"/api/v1/skills/{made['id']}/files/plan.md", f"plan of {secret}".encode(), headers=plan)
    done("POST", "/api/v1/tools/file_write", {"path": f"{user.word}.txt", "content": f"file of {secret}\n"})
    done("POST", "/api/v1/tools/file_write", {"path": "plan.md", "content": f"file of {secret}\n"})
    for surface, hook in (("mcp", "pre-commit"), ("rest", "pre-push")):
        hook = f"/workspace/.git/hooks/{hook}"
        script = f"echo {secret} > left.txt; echo {secret}; mkdir -p /workspace/.git/hooks; echo 'echo {secret}' > {hook}"
        done("POST", "/api/v1/tools/skill_run", {"skill_name": user.skill, "command": script})
        waiting = [one["id"] for one in done("POST", "/api/v1/tools/change_list", {})["data"]["sets"]]
        user.ids[f"change over {surface}"] = next(one for one in waiting if one not in user.ids.values())
    hook_write = {"path": ".git/hooks/post-commit", "content": f"echo {secret}"}
    site.send(Probe("ask", "ask", "POST", "/api/v1/tools/file_write", hook_write), user)
    asked = done("GET", "/api/v1/approvals", None, person=True)
    user.ids["approval"] = asked["items"][0]["id"]
    user.ids["token"] = done("POST", "/api/v1/tokens", {"name": f"spare {user.word}"}, person=True)["id"]
    add = ["user", "add", f"{user.name}-{user.word}", "--email", f"{user.word}@example.com", "--password-stdin", "--json"]
    user.ids["user"] = json.loads(command(*add, text=user.password))["id"]
    if user.team:
        make_team(user, user.team, command, done)


def make_team(user: User, team: Team, command: Any, done: Any) -> None:
    """Gives a user a team with a skill, an invitation and members: carl, and one to be removed."""
    made = done("POST", "/api/v1/teams", {"name": team.name}, person=True)
    user.ids["team"] = made["id"]
    add = ["user", "add", "dave", "--email", "dave@example.com", "--password-stdin", "--json"]
    user.ids["member"] = json.loads(command(*add, text=user.password))["id"]
    for member in ("carl", "dave"):
        command("team", "add-member", team.name, member)
    path = f"/api/v1/teams/{made['id']}"
    skill = {
        "name": team.skill,
        "description": f"Keeps papers of {team.secret}. Use it for {team.secret}.",
        "instructions": f"# Plan\n\nThe papers of {team.secret}.\n",
    }
    user.ids["team skill"] = done("POST", f"{path}/skills", skill)["id"]
    plan = {"content-type": "application/octet-stream"}
    target = f"{path}/skills/{user.ids['team skill']}/files/plan.md"
    done("PUT", target, f"papers of {team.secret}".encode(), headers=plan)
    user.ids["invitation"] = done("POST", f"{path}/invitations", {}, person=True)["id"]
    user.ids["spare team"] = done("POST", "/api/v1/teams", {"name": f"spare-{team.word}"}, person=True)["id"]


def is_refused_inside(answer: Answer) -> bool:
    """A refusal of MCP or of a tool, which comes with status 200."""
    return '"isError":true' in answer.text or '"error":{' in answer.text


def ask(site: Site, owner: User, other: User, probes: list[Probe], kept: list[User | Team]) -> Outcome:
    """Asks for what is kept as the other first: a change of the owner's would hide one of the other's."""
    outcome = Outcome()
    failed: dict[str, str] = {}
    succeeded = set()
    order = {"GET": 0, "POST": 1, "PUT": 2, "DELETE": 3}

    def place(probe: Probe) -> tuple[bool, int, int]:
        """Reads come first, since what the other changes has the owner's names; files are deleted before skills."""
        deepest = -probe.path.count("/") if probe.method == "DELETE" else 0
        return probe.is_change, order[probe.method], deepest

    for probe in sorted(probes, key=place):
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


def without_echo(told: str, probe: Probe, word: str) -> str:
    """An answer without the texts of the request that it may repeat."""
    texts: set[str] = set()

    def walk(value: Any) -> None:
        if isinstance(value, dict):
            for one in value.values():
                walk(one)
        elif isinstance(value, str) and word in value:
            texts.add(value)
            # A path or a name in it.
            texts.update(part for part in value.replace(";", " ").replace("/", " ").split() if word in part)
            texts.update(part for part in value.replace(";", " ").split() if word in part)

    walk(probe.body)
    walk(urllib.parse.unquote(probe.path))
    for text in sorted(texts, key=len, reverse=True):
        quoted = json.dumps(text)[1:-1]
        told = told.replace(quoted, "").replace(text, "")
    return told


def check(gongfu: Path, asker: str, is_planted: bool = False) -> Outcome:
    """Starts a server with three owners, and asks for what others have as one of them."""
    with tempfile.TemporaryDirectory() as folder:
        variables = {"GONGFU_HOME": f"{folder}/home", "HOME": folder}
        Path(f"{folder}/home").mkdir(mode=0o700)
        Path(f"{folder}/home/config.toml").write_text("[accounts]\nrequest_limits = false\n")
        names = ("ann", "bob", "carl")
        users = {name: User(name, "n" + secrets.token_hex(6), "s" + secrets.token_hex(6)) for name in names}
        ann = users["ann"]
        ann.team = Team("n" + secrets.token_hex(6), "s" + secrets.token_hex(6))
        for user in users.values():
            add = [gongfu, "user", "add", user.name, "--email", f"{user.name}@example.com", "--password-stdin"]
            add += ["--admin"] if user is ann else []
            done = subprocess.run(add, input=user.password, text=True, env=os.environ | variables, capture_output=True)
            assert done.returncode == 0, done.stderr
        with Server(gongfu, "serve", "--accounts", variables=variables, folder=Path(folder)) as server:
            site = Site(server.url)
            for user in users.values():
                populate(site, gongfu, variables, user)
            owner, kept = (users["carl"], [users["carl"]]) if asker == "ann" else (ann, [ann])
            if asker == "bob":
                kept = [ann, ann.team]
            other = users[asker]
            if is_planted:
                other.token, other.access = ann.token, ann.access
            probes = tool_probes(site, owner) + route_probes(site.get("/openapi.json"), owner)
            if asker == "ann":
                # An admin lists all users, and carl has no team.
                probes = [probe for probe in probes if not is_about_teams_or_admins(probe.path)]
            return ask(site, owner, other, probes, kept)


def is_about_teams_or_admins(path: str) -> bool:
    return path.startswith(("/api/v1/admin", "/api/v1/teams"))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gongfu", type=Path)
    arguments = parser.parse_args()
    gongfu = arguments.gongfu or next((file for file in BINARIES if file.exists()), None)
    if not gongfu:
        print("isolation: there is no gongfu: run `cargo build`", file=sys.stderr)
        return 1
    gongfu = gongfu.resolve()
    outcome = Outcome()
    for asker in ("bob", "carl", "ann"):
        found = check(gongfu, asker)
        print(f"isolation: asked by {asker}: {found.probes} probes, {len(found.void)} void, {len(found.leaks)} leaks")
        outcome.probes += found.probes
        outcome.void += found.void
        outcome.leaks += found.leaks
    for name, found in (("void", outcome.void), ("leak", outcome.leaks)):
        for line in found:
            print(f"{name}: {line}")
    print(f"isolation: {outcome.probes} probes, {len(outcome.void)} void, {len(outcome.leaks)} leaks")
    planted = check(gongfu, "bob", is_planted=True)
    print(f"isolation: with a planted leak: {len(planted.leaks)} leaks")
    few_void = len(outcome.void) <= MAX_VOID * (outcome.probes + len(outcome.void))
    is_good = outcome.probes > 0 and not outcome.leaks and few_void and planted.leaks
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
