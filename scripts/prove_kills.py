#!/usr/bin/env python3
"""Proves that a server with accounts that is killed again and again loses nothing that it acknowledged.

    prove_kills.py [--gongfu BIN] [--kills N] [--seed N] [--pause SECONDS]

Eight clients of four users create, edit, upload, delete and write to skills, and create and revoke tokens, all at once. The
server is killed (-9) at a random moment, and started again. Then every skill is downloaded: it is as its client left it
with its last acknowledged write, or as the one that was under way would have left it, and as nothing between; a token that
was created works, and one that was revoked doesn't. The audit is verified after each kill.

At the end the home is put back to an earlier copy, and the writes that are lost by that have to be noticed.

Prints a line each ten kills. Exits 1 on a fault, and when a restart took two seconds.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import io
import json
import random
import shutil
import signal
import sys
import tempfile
import threading
import time
import zipfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from account_site import Answer, Home, Probe, Site, User, program, sign_in
from hostile_archives import Entry, build
from prove_archives import upload
from server import Server

USERS, CLIENTS = 4, 8
MAX_SKILLS = 6
MAX_RESTART = 2.0

Files = dict[str, bytes]


@dataclass
class Client:
    """One client, and what it knows of its skills: their files, and what the write under way would make of them."""

    number: int
    user: User
    random: random.Random
    skills: dict[str, Files] = field(default_factory=dict)
    ids: dict[str, str] = field(default_factory=dict)
    under_way: tuple[str, Files | None] | None = None
    tokens: dict[str, str] = field(default_factory=dict)
    revoked: list[str] = field(default_factory=list)
    token_under_way: str = ""
    written: Counter[str] = field(default_factory=Counter)
    turn: int = 0
    faults: list[str] = field(default_factory=list)

    def text(self) -> str:
        return f"{self.number}-{self.turn} " + "text " * self.random.randint(0, 400)

    def write(self, site: Site) -> None:
        """One write, whatever it is."""
        self.turn += 1
        kinds = ["create"] if len(self.skills) < 2 else ["create", "edit", "file", "file", "upload", "remove", "delete", "token", "revoke"]
        kind = self.random.choice(kinds)
        if kind == "create" and len(self.skills) >= MAX_SKILLS:
            kind = "edit"
        if kind == "revoke" and not self.tokens:
            kind = "token"
        getattr(self, kind)(site)

    def done(self, kind: str, name: str, files: Files | None, send: Any) -> Answer:
        """Sends a write, and takes it as done once it is acknowledged."""
        self.under_way = (name, files)
        answer: Answer = send()
        if answer.is_good:
            self.written[kind] += 1
            if files is None:
                self.skills.pop(name)
            else:
                self.skills[name] = files
        else:
            self.faults.append(f"{kind} of {name}: {answer.status} {answer.body[:150]}")
        self.under_way = None
        return answer

    def ask(self, site: Site, method: str, path: str, body: Any = None) -> Answer:
        headers = {"content-type": "application/octet-stream"} if isinstance(body, bytes) else {}
        return site.send(Probe("", "", method, f"/api/v1/skills{path}", body, headers=headers), self.user)

    def document(self, name: str) -> tuple[str, bytes]:
        text = self.text()
        return text, f"---\nname: {name}\ndescription: Does {name}.\n---\n\n{text}\n".encode()

    def create(self, site: Site) -> None:
        name = f"skill-{self.number}-{self.turn}"
        text, whole = self.document(name)
        body = {"name": name, "description": f"Does {name}.", "instructions": text}
        answer = self.done("create", name, {"SKILL.md": whole}, lambda: self.ask(site, "POST", "", body))
        if answer.is_good:
            self.ids[name] = json.loads(answer.body)["id"]

    def edit(self, site: Site) -> None:
        name = self.random.choice(list(self.skills))
        text, whole = self.document(name)
        after = self.skills[name] | {"SKILL.md": whole}
        self.done("edit", name, after, lambda: self.ask(site, "PUT", f"/{self.ids[name]}", {"instructions": text}))

    def file(self, site: Site) -> None:
        name = self.random.choice(list(self.skills))
        path = self.random.choice(["a.txt", "b.txt", "scripts/run.py", "deep/er/c.md"])
        content = self.text().encode()
        after = self.skills[name] | {path: content}
        self.done("file", name, after, lambda: self.ask(site, "PUT", f"/{self.ids[name]}/files/{path}", content))

    def upload(self, site: Site) -> None:
        name = self.random.choice(list(self.skills))
        _, whole = self.document(name)
        after = {"SKILL.md": whole} | {f"part-{n}.txt": self.text().encode() for n in range(self.random.randint(0, 8))}
        archive = build([Entry(path.encode(), content) for path, content in after.items()])
        self.done("upload", name, after, lambda: upload(site, self.user, archive, self.ids[name]))

    def remove(self, site: Site) -> None:
        name = self.random.choice(list(self.skills))
        path = next((path for path in self.skills[name] if path != "SKILL.md"), None)
        if path is None:
            return self.file(site)
        after = {known: content for known, content in self.skills[name].items() if known != path}
        self.done("remove", name, after, lambda: self.ask(site, "DELETE", f"/{self.ids[name]}/files/{path}"))
        return None

    def delete(self, site: Site) -> None:
        name = self.random.choice(list(self.skills))
        self.done("delete", name, None, lambda: self.ask(site, "DELETE", f"/{self.ids[name]}"))

    def token(self, site: Site) -> None:
        answer = site.send(Probe("", "", "POST", "/api/v1/tokens", {"name": f"{self.number}-{self.turn}"}, True), self.user)
        if answer.is_good:
            made = json.loads(answer.body)
            self.tokens[made["id"]] = made["token"]
            self.written["token"] += 1

    def revoke(self, site: Site) -> None:
        at = self.random.choice(list(self.tokens))
        self.token_under_way = at
        answer = site.send(Probe("", "", "DELETE", f"/api/v1/tokens/{at}", None, True), self.user)
        if answer.is_good:
            self.revoked.append(self.tokens.pop(at))
            self.written["revoke"] += 1
        self.token_under_way = ""

    def work(self, site: Site) -> None:
        """Writes until the server is gone."""
        try:
            while True:
                self.write(site)
        except (OSError, http.client.HTTPException):
            pass

    def settle(self, found: dict[str, Files]) -> list[str]:
        """Compares what is there with what has to be, and takes it as the truth from here on."""
        faults, name, after = [], *(self.under_way or ("", None))
        for skill in self.skills.keys() | found.keys() | ({name} if name else set()):
            allowed = [self.skills.get(skill)] + ([after] if skill == name else [])
            if found.get(skill) not in allowed:
                faults.append(self.difference(skill, found.get(skill), allowed))
        self.skills, self.under_way = found, None
        return faults

    def difference(self, skill: str, found: Files | None, allowed: list[Files | None]) -> str:
        if found is None:
            return f"{skill} is lost"
        if allowed == [None]:
            return f"{skill} is there again"
        paths = [sorted(path for path in found.keys() | (one or {}).keys() if found.get(path) != (one or {}).get(path)) for one in allowed]
        return f"{skill} is none of its versions: {paths}"


def content(site: Site, user: User) -> dict[str, tuple[str, Files]]:
    """The skills of a user that the proof made: their ids and files by name."""
    found, cursor = {}, ""
    while True:
        page = json.loads(site.send(Probe("", "", "GET", f"/api/v1/skills?limit=100{cursor}"), user).body)
        for one in page["items"]:
            if not one["name"].startswith("skill-"):
                continue
            raw = site.raw(Probe("", "", "GET", f"/api/v1/skills/{one['id']}/download"), user)
            with zipfile.ZipFile(io.BytesIO(raw)) as archive:
                files = {info.filename.partition("/")[2]: archive.read(info) for info in archive.infolist()}
            found[one["name"]] = one["id"], files
        if not page["next_cursor"]:
            return found
        cursor = f"&cursor={page['next_cursor']}"


def check(site: Site, clients: list[Client]) -> list[str]:
    faults = []
    by_user = {client.user.name: content(site, client.user) for client in clients}
    for client in clients:
        mine = {name: one for name, one in by_user[client.user.name].items() if name.startswith(f"skill-{client.number}-")}
        faults += client.settle({name: files for name, (_, files) in mine.items()})
        client.ids |= {name: at for name, (at, _) in mine.items()}
        faults += client.faults
        client.faults = []
        listed = json.loads(site.send(Probe("", "", "GET", "/api/v1/tokens?limit=100", None, True), client.user).body)
        there = {one["id"] for one in listed["items"]}
        lost = [at for at in client.tokens if at not in there and at != client.token_under_way]
        if listed["total"] <= 100 and lost:
            faults.append(f"tokens are lost: {lost}")
        if client.token_under_way and client.token_under_way not in there:
            client.tokens.pop(client.token_under_way)
        client.token_under_way = ""
        tools = Probe("", "", "GET", "/api/v1/tools")
        for token in list(client.tokens.values())[-3:]:
            if not site.send(tools, User("", token=token)).is_good:
                faults.append("a token that was created is refused")
        for token in client.revoked[-3:]:
            if site.send(tools, User("", token=token)).status != 401:
                faults.append("a token that was revoked is good again")
        # A list stays one page long.
        while len(client.tokens) > 10:
            client.revoke(site)
    return faults


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gongfu", type=Path)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--pause", type=float, default=1.5, help="the longest that it runs before a kill, in seconds")
    options = parser.parse_args()
    chance = random.Random(options.seed)
    faults: list[str] = []
    starts: list[float] = []
    with tempfile.TemporaryDirectory(prefix="gongfu-kills-") as name, contextlib.ExitStack() as ends:
        home = Home(program(options.gongfu), Path(name)).make("access_minutes = 600\nskills = 10000\n")
        users = [User(f"user-{number}") for number in range(USERS)]
        for user in users:
            home.add_user(user)
            user.token = home.token(user, "one")
        clients = [Client(number, users[number % USERS], random.Random(f"{options.seed} {number}")) for number in range(CLIENTS)]

        def start(port: int) -> tuple[Server, Site]:
            started = time.monotonic()
            made = Server(home.gongfu, "serve", "--accounts", variables=home.variables, folder=home.folder, port=port)
            server = made.__enter__()
            ends.callback(server.process.kill)
            starts.append(time.monotonic() - started)
            return server, Site(server.url)

        server, site = start(0)
        # Access tokens name the address.
        port = int(site.url.rpartition(":")[2])
        for user in users:
            user.access = sign_in(site, user)["access_token"]
        for kill in range(1, options.kills + 1):
            threads = [threading.Thread(target=client.work, args=(site,)) for client in clients]
            for thread in threads:
                thread.start()
            time.sleep(chance.uniform(0.1, options.pause))
            server.process.send_signal(signal.SIGKILL)
            server.process.wait()
            for thread in threads:
                thread.join()
            try:
                home.command("audit", "verify")
            except AssertionError as error:
                faults.append(f"kill {kill}: {error}")
            server, site = start(port)
            faults += [f"kill {kill}: {line}" for line in check(site, clients)]
            if kill % 10 == 0:
                written = sum(sum(client.written.values()) for client in clients)
                print(f"{kill} kills, {written} acknowledged writes, {len(faults)} faults", flush=True)
        panics = [line for line in server.lines if "panicked" in line]
        # The plant: an earlier copy of the home.
        problem = server.end()
        shutil.copytree(home.path, home.folder / "earlier", symlinks=True)
        server, site = start(port)
        for client in clients:
            for _ in range(5):
                client.write(site)
        problem = problem or server.end()
        shutil.rmtree(home.path)
        (home.folder / "earlier").rename(home.path)
        server, site = start(port)
        noticed = check(site, clients)
        problem = problem or server.end()
        audit = home.command("audit", "verify").splitlines()[0]
    written_by_kind: Counter[str] = sum((client.written for client in clients), Counter())
    for line in [*faults[:40], *panics[:3], *([problem] if problem else [])]:
        print(f"fault: {line}")
    print("writes: " + ", ".join(f"{kind} {count}" for kind, count in written_by_kind.most_common()))
    print(f"planted: {len(noticed)} lost writes are noticed, such as: {noticed[0] if noticed else 'none'}")
    print(
        f"prove-kills: {options.kills} kills, {written_by_kind.total()} acknowledged writes, {len(faults)} faults; restart "
        f"{max(starts[1:]):.2f} s at most, {sum(starts[1:]) / len(starts[1:]):.2f} s on average; {audit}"
    )
    return 0 if not (faults or panics or problem) and noticed and max(starts) < MAX_RESTART else 1


if __name__ == "__main__":
    sys.exit(main())
