#!/usr/bin/env python3
"""Signs people in to a server with accounts by a provider of identities, and attacks that.

    sso.py [--gongfu BIN]

The provider is npm `oidc-provider` on this machine, which `scripts/test --install` installs; `node/provider.mjs` spoils
what it answers where an attack wants that. The person is `browser.py`. Each attack stands beside the same without it,
which must succeed.

Prints one table. Exits 1 on any failure; 77 when a program is not installed.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sign_in
from browser import Browser, Document
from clients import NODE, NOT_INSTALLED, REPOSITORY, Row, Table, binary, described, expect, print_table
from sign_in import PASSWORD, PythonClient, Site, free_port

TIMEOUT = 60.0
# Somebody who is removed at the provider is asked about after this time, in seconds.
CHECK = 60.0
CALLBACK = "/login/sso/callback"
# The redirects that one way may take.
MAX_REDIRECTS = 12


class Provider:
    """The provider, and who is known there."""

    def __init__(self, *sites: Site) -> None:
        self.issuer = f"http://127.0.0.1:{free_port()}"
        self.people: dict[str, Any] = {}
        port = self.issuer.rsplit(":", 1)[1]
        script = REPOSITORY / "scripts" / "node" / "provider.mjs"
        redirects = [site.issuer + CALLBACK for site in sites]
        self.command = [str(NODE / "node"), str(script), str(NODE.parent.parent), port, *redirects]

    def __enter__(self) -> Provider:
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        expect(self.read().get("issuer") == self.issuer, "the provider doesn't start")
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()

    def read(self) -> dict[str, Any]:
        limit = threading.Timer(TIMEOUT, self.process.kill)
        limit.start()
        try:
            return json.loads(self.process.stdout.readline() or "{}")
        finally:
            limit.cancel()

    def order(self, **order: Any) -> None:
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()
        self.read()
        expect(self.process.poll() is None, f"the provider ends at {order}")

    def has(self, name: str, **more: Any) -> None:
        self.people[name] = {"email": f"{name}@example.com"} | more
        self.order(people=self.people)

    def removes(self, name: str) -> None:
        del self.people[name]
        self.order(people=self.people)


@dataclass
class Person(Browser):
    """Somebody with a browser, whom the provider knows by their name."""

    site: Site | None = None

    def follow(self, url: str, until: Callable[[str], bool]) -> tuple[int, str, str]:
        """Goes where redirects lead, up to a URL that isn't opened any more; answers the status, it and its page."""
        fields = None
        for _ in range(MAX_REDIRECTS):
            if until(url):
                return 0, url, ""
            status, headers, body = self.request(url, fields)
            fields = None
            if status in (302, 303):
                url = urllib.parse.urljoin(url, headers["location"])
                continue
            page = Document(body)
            if status == 200 and page.next:
                url = urllib.parse.urljoin(url, page.next)
                continue
            form = next((form for form in page.forms if "login" in form.fields), None)
            if status != 200 or form is None:
                return status, url, body
            self.logins += 1
            url = urllib.parse.urljoin(url, form.action)
            fields = form.fields | {"login": self.user, "password": "any"}
        raise AssertionError(f"after {MAX_REDIRECTS} redirects it is still at {url}")

    def link(self, page: str) -> str:
        """The link of a login page to the provider."""
        found = re.search(r'href="([^"]*/login/sso[^"]*)"', page)
        expect(found is not None, f"the page has no link to the provider: {Document(page).text[:200]}")
        return self.site.issuer + found.group(1).replace("&amp;", "&")

    def comes_back(self) -> str:
        """Signs in at the provider; answers the URL that leads back, before it is opened."""
        _, _, page = self.request(f"{self.site.issuer}/login")
        is_back = lambda url: url.startswith(self.site.issuer + CALLBACK)  # noqa: E731
        status, url, page = self.follow(self.link(page), is_back)
        expect(status == 0, f"{status} at {url}: {Document(page).text[:300]}")
        return url

    def opens(self, url: str) -> tuple[int, str]:
        """Opens a URL; answers the status and the text of the last page."""
        status, _, page = self.follow(url, lambda _: False)
        return status, Document(page).text

    def signs_in(self) -> tuple[int, str]:
        return self.opens(self.comes_back())

    @property
    def is_in(self) -> bool:
        status, _, _ = self.request(f"{self.site.issuer}/account")
        expect(status in (200, 303), status)
        return status == 200

    def authorize(self, url: str, decision: str = "allow") -> str:
        """Opens the URL of a client, and signs in by the provider on the way."""
        status, at, page = self.follow(url, lambda _: False)
        if "/login?" in at:
            status, at, page = self.follow(self.link(page), lambda _: False)
        expect(status == 200, f"{status} at {at}: {Document(page).text[:300]}")
        action, fields = self.fill(at, Document(page), decision)
        status, headers, _ = self.request(action, fields)
        expect(status in (302, 303), status)
        return headers["location"]


def call(site: Site, path: str, token: str = "", fields: dict[str, Any] | None = None) -> tuple[int, Any]:
    headers = {"content-type": "application/json"} | ({"authorization": f"Bearer {token}"} if token else {})
    body = None if fields is None else json.dumps(fields).encode()
    try:
        with urllib.request.urlopen(urllib.request.Request(site.issuer + path, body, headers), timeout=TIMEOUT) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def user(site: Site, name: str) -> dict[str, Any] | None:
    users = json.loads(site.command("user", "list", "--json"))["users"]
    return next((user for user in users if user["username"] == name), None)


def members(site: Site) -> list[str]:
    teams = json.loads(site.command("team", "list", "--json"))["teams"]
    return sorted(member["username"] for member in teams[0]["members"])


class Check:
    """The steps, over a provider and the servers that know it."""

    def __init__(self, provider: Provider, site: Site, closed: Site) -> None:
        self.provider, self.site, self.closed = provider, site, closed
        self.tokens: dict[str, str] = {}
        self.people: dict[str, Person] = {}

    def person(self, name: str, site: Site | None = None) -> Person:
        return Person(name, "", site=site or self.site)

    def is_refused(self, person: Person, url: str, wanted: int, words: str) -> str:
        status, text = person.opens(url)
        expect(status == wanted and words in text, f"{status}: {text[:300]}")
        expect(not person.is_in, "they are in all the same")
        return f"{status} {words}"

    def newcomer(self) -> str:
        ann = self.person("ann")
        status, text = ann.signs_in()
        expect(status == 200 and "ann" in text, f"{status} {text[:300]}")
        expect(ann.is_in and ann.logins == 1, "they are not in")
        found = user(self.site, "ann")
        expect(found is not None and found["email"] == "ann@example.com", found)
        self.people["ann"] = ann
        return f"200, user {found['id'][:8]}"

    def again(self) -> str:
        before = user(self.site, "ann")
        again = self.person("ann")
        again.signs_in()
        expect(again.is_in, "they are not in")
        expect(user(self.site, "ann") == before or user(self.site, "ann")["id"] == before["id"], "it is another user")
        expect(user(self.site, "ann-2") is None, "there is another user")
        return "the same user"

    def client(self) -> str:
        self.provider.has("carl")
        carl = self.person("carl")
        client = PythonClient(self.site, carl)

        async def use(mcp: Any, _: Any) -> None:
            result = await mcp.call_tool("skill_list", {})
            expect(not result.is_error, result)

        client.run(use)
        expect((carl.logins, carl.consents) == (1, 1), f"{carl.logins} logins, {carl.consents} consents")
        self.people["carl"] = carl
        self.tokens["carl's client"] = client.storage.tokens.access_token
        return f"{len(client.trace)} requests, 1 login at the provider, 1 consent"

    def linked(self) -> str:
        self.site.command("user", "add", "erin", "--email", "erin@example.com", "--no-password")
        before = user(self.site, "erin")
        self.provider.has("erin")
        erin = self.person("erin")
        erin.signs_in()
        expect(erin.is_in, "they are not in")
        expect(user(self.site, "erin")["id"] == before["id"], "it is another user")
        return "the user whom an admin created"

    def role(self) -> str:
        self.provider.has("olga", groups=["staff"])
        self.provider.has("otto", groups=["others"])
        for name in ("olga", "otto"):
            person = self.person(name)
            person.signs_in()
            expect(person.is_in, f"{name} is not in")
        roles = [user(self.site, name)["is_admin"] for name in ("olga", "otto")]
        expect(roles == [True, False], roles)
        self.provider.has("olga", groups=[])
        self.person("olga").signs_in()
        expect(not user(self.site, "olga")["is_admin"], "the role stays")
        return "an admin, another not, and no longer one"

    def team(self) -> str:
        """A group is a team: its skills come with the group, and go with it while a client is in."""
        self.site.command("team", "add", "design", "--maintainer", "dora")
        self.provider.has("gina", groups=["designers"])
        gina = self.person("gina")
        gina.signs_in()
        expect(members(self.site) == ["dora", "gina"], members(self.site))
        self.provider.has("gina", groups=[])
        self.person("gina").signs_in()
        expect(members(self.site) == ["dora"], members(self.site))
        self.provider.has("gina", groups=["designers"])
        token = self.token("gina")
        time.sleep(CHECK + 1)
        expect(self.status(token) == 200 and members(self.site) == ["dora", "gina"], members(self.site))
        return "in with the group, out at the next sign-in, in again at the next check"

    # Attacks. Each has the same without it beside it.

    def other_browser(self) -> str:
        mallory, victim = self.person("mallory"), self.person("victim")
        self.provider.has("mallory")
        url = mallory.comes_back()
        victim.request(f"{self.site.issuer}/login")
        said = self.is_refused(victim, url, 400, "Start again")
        mallory.opens(url)
        expect(mallory.is_in, "the control: its own browser is refused, too")
        return said

    def replay(self) -> str:
        ann = self.person("ann")
        url = ann.comes_back()
        ann.opens(url)
        expect(ann.is_in, "the control: the first time is refused, too")
        for cookie in list(ann.cookies):
            if cookie.name == "gongfu":
                ann.cookies.clear(cookie.domain, cookie.path, cookie.name)
        return self.is_refused(ann, url, 400, "Start again")

    def injected_code(self) -> str:
        mallory, ann = self.person("mallory"), self.person("ann")
        code = urllib.parse.parse_qs(urllib.parse.urlsplit(mallory.comes_back()).query)["code"][0]
        url = ann.comes_back()
        return self.is_refused(ann, re.sub(r"code=[^&]*", f"code={code}", url), 403, "invalid_grant")

    def mixed_up(self) -> str:
        ann = self.person("ann")
        url = ann.comes_back()
        expect("iss=" in url, "the provider doesn't name itself")
        return self.is_refused(ann, re.sub(r"iss=[^&]*", "iss=https%3A%2F%2Fother.example", url), 403, "another provider")

    def spoiled(self, fault: str, words: str) -> str:
        ann = self.person("ann")
        self.provider.order(fault=fault)
        try:
            said = self.is_refused(ann, ann.comes_back(), 403, words)
        finally:
            self.provider.order(fault="")
        ann.signs_in()
        expect(ann.is_in, "the control: a good token is refused, too")
        return said

    def unverified(self) -> str:
        self.provider.has("fake", email="erin2@example.com", email_verified=False)
        fake = self.person("fake")
        said = self.is_refused(fake, fake.comes_back(), 403, "no verified e-mail")
        self.site.command("user", "add", "erin2", "--email", "erin2@example.com", "--no-password")
        again = self.person("fake")
        self.is_refused(again, again.comes_back(), 403, "no verified e-mail")
        self.provider.has("fake", email="erin2@example.com", email_verified=True)
        fake.signs_in()
        expect(fake.is_in, "the control: a verified address is refused, too")
        return said

    def takeover(self) -> str:
        self.provider.has("other-dora", email="DORA@example.com")
        dora = self.person("other-dora")
        said = self.is_refused(dora, dora.comes_back(), 409, "already")
        self.provider.has("other-dora", email="other-dora@example.com")
        dora.signs_in()
        expect(dora.is_in and user(self.site, "other-dora") is not None, "the control: another address is refused, too")
        return said

    def passwords(self) -> str:
        login = {"email": "dora@example.com", "password": PASSWORD}
        status, _ = call(self.site, "/api/v1/auth/login", fields=login)
        expect(status == 200, f"the control: {status}")
        status, answer = call(self.closed, "/api/v1/auth/login", fields=login)
        expect((status, answer.get("code")) == (403, "PASSWORDS_OFF"), f"{status} {answer}")
        for site, has_password in ((self.site, True), (self.closed, False)):
            _, _, page = Person("", "", site=site).request(f"{site.issuer}/login")
            expect(('type="password"' in page) == has_password, "the page has the wrong form")
        ann = self.person("ann", self.closed)
        ann.signs_in()
        expect(ann.is_in, "the provider's people are not in")
        return "403 PASSWORDS_OFF"

    def rotated(self) -> str:
        """A key that the server doesn't know yet; it asks for keys at most every ten seconds."""
        time.sleep(11)
        self.provider.order(rotate=True)
        ann = self.person("ann")
        ann.signs_in()
        expect(ann.is_in, "they are not in")
        return "the new key is fetched"

    def disabled(self) -> str:
        self.provider.has("dave")
        dave = self.person("dave")
        dave.signs_in()
        token = self.token("dave")
        expect(dave.is_in and self.status(token) == 200, "the control: they are not in before")
        self.site.command("user", "disable", "dave")
        started = time.monotonic()
        while (dave.is_in or self.status(token) == 200) and time.monotonic() - started < 5:
            time.sleep(0.05)
        took = time.monotonic() - started
        expect(took < 1, f"it takes {took:.1f} s")
        back = self.person("dave")
        self.is_refused(back, back.comes_back(), 403, "disabled")
        return f"refused after {took:.1f} s, and at the next sign-in"

    def token(self, name: str) -> str:
        return self.site.command("token", "create", "--user", name, "--name", "checks", "--quiet")

    def status(self, token: str) -> int:
        return call(self.site, "/api/v1/skills", token)[0]

    def removed(self) -> str:
        ann, bob = self.people["ann"], self.person("bob")
        self.provider.has("bob", groups=["staff"])
        bob.signs_in()
        tokens = {name: self.token(name) for name in ("ann", "bob", "carl")}
        before = [self.status(tokens[name]) for name in tokens] + [self.site.mcp_status(self.tokens["carl's client"])]
        expect(before[:3] == [200, 200, 200] and before[3] != 401, before)
        for name in ("ann", "carl"):
            self.provider.removes(name)
        self.provider.has("bob", groups=[])
        time.sleep(CHECK + 1)
        expect(not ann.is_in, "a browser is in after the removal")
        expect(self.status(tokens["ann"]) == 401, "an API token counts after the removal")
        expect(self.site.mcp_status(self.tokens["carl's client"]) == 401, "a client is in after the removal")
        expect(bob.is_in and self.status(tokens["bob"]) == 200, "the control: somebody else is out, too")
        expect(not user(self.site, "bob")["is_admin"], "a role stays that a group gave")
        self.provider.has("ann")
        again = self.person("ann")
        again.signs_in()
        expect(again.is_in and self.status(tokens["ann"]) == 200, "they are not in after they are back")
        expect(not ann.is_in, "the old session is back, too")
        return "browser, token and client refused after a minute; others stay; a token counts again after a sign-in"


ATTACKS = [
    ("a nonce of another sign-in", "nonce", "nonce"),
    ("no nonce", "no nonce", "nonce"),
    ("another issuer in the token", "iss", "issuer"),
    ("another audience", "aud", "audience"),
    ("another audience besides", "aud and another", "audience"),
    ("another authorized party", "azp", "audience"),
    ("a token that has expired", "expired", "xpired"),
    ("a token from the future", "future", "future"),
    ("no signature", "none", "ignature"),
    ("HS256 with the public key", "hs256 with the public key", "ignature"),
    ("HS256 with the client's secret", "hs256 with the client's secret", "ignature"),
    ("a foreign key by the same name", "a foreign key", "ignature"),
    ("a claim that was changed", "a changed claim", "ignature"),
]


def settle(site: Site, provider: Provider, passwords: bool) -> None:
    """Writes the settings of a site, which has its users already."""
    home = site.folder / "home"
    secret = site.folder / "secret"
    secret.write_text("a secret of gongfu\n")
    settings = {
        "issuer": provider.issuer,
        "client_id": "gongfu",
        "client_secret_file": str(secret),
        "name": "Example",
        "admins": ["staff"],
        "passwords": passwords,
        "check_minutes": 1,
    }
    lines = "".join(f"{name} = {json.dumps(value)}\n" for name, value in settings.items())
    with (home / "config.toml").open("a") as file:
        file.write(f'[accounts.sso]\n{lines}[accounts.sso.teams]\ndesigners = "design"\n')


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gongfu", type=Path, help="the binary (default: what cargo built)")
    options = parser.parse_args()
    gongfu = binary(options.gongfu)
    if not (NODE / "node").exists() or not (NODE.parent / "oidc-provider").is_dir() or sign_in.Client is None:
        print("error: the provider or the Python package mcp is not installed", file=sys.stderr)
        print("  hint: run `scripts/test --install`, and this with .tools/venv/bin/python", file=sys.stderr)
        return NOT_INSTALLED
    table: Table = []
    notes: list[str] = []

    def step(what: str, by: str, run: Callable[[], str]) -> None:
        started, problem = time.monotonic(), ""
        try:
            notes.append(f"{by}: {what}: {run()}")
        except Exception as error:
            problem = described(error)
        table.append(Row(what, by, problem, round((time.monotonic() - started) * 1000)))

    with tempfile.TemporaryDirectory(prefix="gongfu-sso-") as name:
        sites = []
        for called in ("open", "closed"):
            folder = Path(name).resolve() / called
            folder.mkdir()
            site = Site(gongfu, folder, free_port())
            site.make()
            add = ("user", "add", "dora", "--email", "dora@example.com", "--admin", "--password-stdin")
            site.command(*add, text=PASSWORD)
            site.command("user", "delete", "ann", "--yes")
            sites.append(site)
        site, closed = sites
        with Provider(*sites) as provider:
            settle(site, provider, passwords=True)
            settle(closed, provider, passwords=False)
            with site.server(), closed.server():
                check = Check(provider, site, closed)
                provider.has("ann")
                step("sign in for the first time", "a browser", check.newcomer)
                step("sign in again", "a browser", check.again)
                step("sign in and call a tool", "Python mcp", check.client)
                step("sign in as a user without a password", "a browser", check.linked)
                step("an admin by a group", "a browser", check.role)
                step("a team by a group", "a browser", check.team)
                step("another browser's sign-in", "an attack", check.other_browser)
                step("a sign-in twice", "an attack", check.replay)
                step("a code of another sign-in", "an attack", check.injected_code)
                step("an answer of another provider", "an attack", check.mixed_up)
                for what, fault, words in ATTACKS:
                    run = lambda fault=fault, words=words: check.spoiled(fault, words)  # noqa: E731
                    step(what, "an attack", run)
                step("an address that isn't verified", "an attack", check.unverified)
                step("the address of a user with a password", "an attack", check.takeover)
                step("passwords that are switched off", "by hand", check.passwords)
                step("be disabled by an admin", "a browser", check.disabled)
                step("another key of the provider", "a browser", check.rotated)
                step("be removed at the provider", "a browser", check.removed)
    print_table(table)
    for note in notes:
        print(note)
    failed = sum(bool(row.problem) for row in table)
    print(f"sso: {len(table) - failed} ok, {failed} failed")
    return 1 if failed or not table else 0


if __name__ == "__main__":
    sys.exit(main())
