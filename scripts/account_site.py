"""A server with accounts: its home, its users with something of every kind, and requests to it."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from faulty_model import FaultyModel, Scenario, Turn

REPOSITORY = Path(__file__).resolve().parent.parent
BINARIES = [REPOSITORY / "target" / build / "gongfu" for build in ("release", "debug")]
# The connection to a server that remembers what it was told in its session.
REMEMBERING = "memory"
# Stands in bodies for the name of the one who asks.
ASKER = "the-asker"


def program(named: Path | None) -> Path:
    """The binary: the named one, else what cargo built."""
    found = named or next((file for file in BINARIES if file.exists()), None)
    if not found or not found.exists():
        raise SystemExit("error: there is no gongfu\n  hint: run `cargo build --release`, or name one with --gongfu")
    return found.resolve()


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
class Team:
    """A team of a user, with a skill: its names and contents have words of their own."""

    word: str = field(default_factory=lambda: "n" + secrets.token_hex(6))
    secret: str = field(default_factory=lambda: "s" + secrets.token_hex(6))

    @property
    def name(self) -> str:
        return f"team-{self.word}"

    @property
    def skill(self) -> str:
        return f"papers-{self.word}"


@dataclass
class User:
    """A user with something of every kind: `word` is in its names, `secret` in its contents."""

    name: str
    word: str = field(default_factory=lambda: "n" + secrets.token_hex(6))
    secret: str = field(default_factory=lambda: "s" + secrets.token_hex(6))
    token: str = ""
    access: str = ""
    ids: dict[str, str] = field(default_factory=dict)
    team: Team = field(default_factory=Team)
    # The secret of an invitation to the team.
    invitation: str = ""

    @property
    def skill(self) -> str:
        return f"notes-{self.word}"

    @property
    def email(self) -> str:
        return f"{self.name}@example.com"

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

    def raw(self, probe: Probe, user: User) -> bytes:
        """The bytes of an answer."""
        headers = probe.headers | {"authorization": f"Bearer {user.token}"}
        with urllib.request.urlopen(urllib.request.Request(self.url + probe.path, headers=headers), timeout=60) as answer:
            return bytes(answer.read())

    def get(self, path: str) -> Any:
        with urllib.request.urlopen(self.url + path, timeout=60) as answer:
            return json.load(answer)


@dataclass
class Home:
    """The home of a server, with the variables that lead to it."""

    gongfu: Path
    folder: Path

    @property
    def path(self) -> Path:
        return self.folder / "home"

    @property
    def variables(self) -> Mapping[str, str]:
        return {"GONGFU_HOME": str(self.path), "HOME": str(self.folder), "GONGFU_STANDALONE": "1"}

    def make(self, settings: str = "") -> Home:
        """Creates it; requests are not limited."""
        self.path.mkdir(mode=0o700)
        (self.path / "config.toml").write_text(f"[accounts]\nrequest_limits = false\n{settings}")
        return self

    def offer(self) -> Home:
        """Offers users a connection whose server remembers what each told it; to be called after `make`."""
        script = REPOSITORY / "scripts" / "remembering_server.py"
        entry = {"command": sys.executable, "args": [str(script)], "tools": ["recall", "remember"]}
        file = self.path / "connections.json"
        file.write_text(json.dumps({"connections": {REMEMBERING: entry}}))
        file.chmod(0o600)
        with (self.path / "config.toml").open("a") as settings:
            settings.write(f'connections = ["{REMEMBERING}"]\n')
        self.command("connection", "approve", REMEMBERING, "--yes")
        return self

    def let_chat(self, model: FaultyModel) -> Home:
        """Lets users chat with an agent whose model always says the same; to be called after `offer`."""
        run = model.add(Scenario([Turn("Yes.")], repeats=True))
        with (self.path / "config.toml").open("a") as settings:
            settings.write(f'[agent]\naccounts = true\n[models]\ndefault = "local/yes"\n[models.urls]\nlocal = "{run.url}/v1"\n')
        return self

    @property
    def chats(self) -> bool:
        return "[agent]" in (self.path / "config.toml").read_text()

    @property
    def offers(self) -> bool:
        return (self.path / "connections.json").exists()

    def command(self, *arguments: str, text: str = "") -> str:
        """Runs gongfu, and returns what it prints."""
        environment = os.environ | self.variables
        done = subprocess.run([self.gongfu, *arguments], input=text, capture_output=True, text=True, env=environment)
        assert done.returncode == 0, f"{' '.join(arguments)}: {done.stderr}"
        return done.stdout.strip()

    def add_user(self, user: User, *more: str) -> str:
        """Creates a user, and returns the id."""
        add = ["user", "add", user.name, "--email", user.email, "--password-stdin", "--json", *more]
        return str(json.loads(self.command(*add, text=user.password))["id"])

    def token(self, user: User, name: str, *more: str) -> str:
        """Creates an API token, and returns its text."""
        return self.command("token", "create", "--user", user.name, "--name", name, "--quiet", *more)


def sign_in(site: Site, user: User) -> dict[str, Any]:
    """The tokens of a sign-in."""
    login = {"email": user.email, "password": user.password}
    answer = site.send(Probe("login", "login", "POST", "/api/v1/auth/login", login), None)
    assert answer.is_good, answer
    return dict(json.loads(answer.body))


def populate(site: Site, home: Home, user: User, *members: User) -> None:
    """Gives a user something of every kind, and a team with other members."""

    user.token = home.token(user, f"token {user.word}")
    user.access = sign_in(site, user)["access_token"]

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
    if home.chats:
        user.ids["session"] = done("POST", "/api/v1/agent/chat", {"prompt": f"Keep {secret}."})["session"]
        # It fails each time, so that it can be resumed as often as it is asked for.
        steps = [
            {"name": "keep", "tool": "value", "params": {"text": secret}},
            {"name": "miss", "tool": "file_read", "params": {"path": "missing"}, "dependsOn": ["keep"]},
        ]
        user.ids["run"] = done("POST", "/api/v1/agent/task", {"pipeline": {"name": "kept", "steps": steps}})["run"]
    if home.offers:
        done("POST", f"/api/v1/tools/{REMEMBERING}__remember", {"note": secret})
    user.ids["token"] = done("POST", "/api/v1/tokens", {"name": f"spare {user.word}"}, person=True)["id"]
    spare = User(f"{user.name}-{user.word}", user.word, user.secret)
    user.ids["user"] = home.add_user(spare)

    team = user.team
    path = f"/api/v1/teams/{done('POST', '/api/v1/teams', {'name': team.name}, person=True)['id']}"
    user.ids["team"] = path.rsplit("/", 1)[-1]
    removed = User(f"removed-{secrets.token_hex(4)}")
    user.ids["member"] = home.add_user(removed)
    for member in (removed, *members):
        home.command("team", "add-member", team.name, member.name)
    skill = {
        "name": team.skill,
        "description": f"Keeps papers of {team.secret}. Use it for {team.secret}.",
        "instructions": f"# Plan\n\nThe papers of {team.secret}.\n",
    }
    user.ids["team skill"] = done("POST", f"{path}/skills", skill)["id"]
    target = f"{path}/skills/{user.ids['team skill']}/files/plan.md"
    done("PUT", target, f"papers of {team.secret}".encode(), headers=plan)
    host = f"{user.word}.example.com"
    user.ids["grant"] = done("POST", "/api/v1/grants", {"skill": made["id"], "host": host}, person=True)["id"]
    shared = {"skill": user.ids["team skill"], "host": f"{team.word}.example.com"}
    user.ids["team grant"] = done("POST", f"{path}/grants", shared, person=True)["id"]
    user.ids["invitation"] = done("POST", f"{path}/invitations", {}, person=True)["id"]
    user.invitation = done("POST", f"{path}/invitations", {}, person=True)["invitation"]
    user.ids["spare team"] = done("POST", "/api/v1/teams", {"name": f"spare-{team.word}"}, person=True)["id"]
